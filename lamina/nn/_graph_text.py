"""A graph of units in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ._graph_readings import GraphReadings

LONGEST = 60
"""Names of a level are cut after so many characters."""

MOST_LEVELS = 24
"""Of a deeper graph the first and the last levels are shown."""


def describe_graph(network: GraphReadings) -> str:
    """Return a title, a table of levels, and who takes no part."""
    structure = network._structure
    n_edges = len(network.edge_weights)
    title = (
        f"GraphNetwork of {_count(len(network.inputs), 'input')}, "
        f"{_count(len(network.unit_biases), 'unit')} and {_count(n_edges, 'edge')}, "
        f"{network.dtype_name}, {_count(network.n_parameters, 'parameter')}"
    )
    n_parents = np.concatenate([np.zeros(len(network.inputs)), np.diff(structure.edges.starts)])
    rows = [("level", "units", "edges", "activation", "names")]
    for i, level in enumerate(structure.plan.levels):
        specs = dict.fromkeys(piece.activation.spec for piece in level.pieces)
        units = structure.plan.units[level.start : level.stop]
        own = (f"{len(units):,}", f"{int(n_parents[units].sum()):,}", ", ".join(specs))
        rows.append((str(i), *own, _cut(structure.order[level.start : level.stop])))
    if len(rows) > MOST_LEVELS:
        half = MOST_LEVELS // 2
        rows = [*rows[: half + 1], ("…", "", "", "", ""), *rows[-half:]]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = [
        f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  "
        f"{row[3]:<{widths[3]}}  {row[4]}"
        for row in rows
    ]
    for text, names in (
        ("outputs", network.outputs),
        ("without a path from an input", network.constant),
        ("without a path to an output", network.unused),
    ):
        if names:
            lines.append(f"{text}: {_cut(names)}")
    return "\n".join([title, *lines])


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _cut(names: tuple[str, ...]) -> str:
    """Return names with commas between them on one line, some of them where they are many."""
    names = tuple(_short(name) for name in names[: LONGEST + 1])
    text = ", ".join(names[:LONGEST])
    if len(text) <= LONGEST and len(names) <= LONGEST:
        return text
    kept = text[:LONGEST].rsplit(", ", 1)[0]
    return f"{kept}, …"


def _short(name: str) -> str:
    """Return a name that fits into its line."""
    text = name if name.isprintable() else repr(name)[1:-1]
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
