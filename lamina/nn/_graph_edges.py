"""Units by name and who feeds whom, read into arrays and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from lamina._checks import shown, suggestion
from lamina._errors import CycleError, ParameterError
from lamina._typing import IntArray

SHOWN_UNITS = 20
"""A cycle with more units than this is shortened in its message."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Units as numbers, inputs first, the others in the order in which the user lists them.

    Attributes
    ----------
    names : tuple of str
        Of all units.
    n_inputs : int
        How many of them are inputs.
    starts : int array of shape (n_units + 1,)
        Where the parents of each unit that is no input begin.
    parents : int array of shape (n_edges,)
        The parents of each such unit, one unit after another.
    levels : int array of shape (n_inputs + n_units,)
        0 for inputs; one more than the highest parent's, or 1, for the others.
    outputs : int array of shape (n_outputs,)
        The output units.
    """

    names: tuple[str, ...]
    n_inputs: int
    starts: IntArray
    parents: IntArray
    levels: IntArray
    outputs: IntArray


def read_edges(parents: Any, inputs: Any, outputs: Any) -> Edges:
    """Return the graph as arrays, or say what does not fit together."""
    lists = parent_lists(parents)
    sources = _inputs(lists, inputs)
    first = set(sources)
    names = (*sources, *(unit for unit in lists if unit not in first))
    number = {unit: i for i, unit in enumerate(names)}
    starts, flat = _arrays(lists, names[len(sources) :], number)
    levels = _levels(names, len(sources), starts, flat)
    targets = _outputs(names, len(sources), flat, number, outputs)
    return Edges(names, len(sources), starts, flat, levels, targets)


def _arrays(
    lists: dict[str, tuple[str, ...]], units: Sequence[str], number: dict[str, int]
) -> tuple[IntArray, IntArray]:
    """Return where the parents of each unit begin, and the parents as numbers."""
    above = chain.from_iterable(lists.values())
    try:
        flat = np.array([number[unit] for unit in above], dtype=np.int64)
    except KeyError:
        raise _unknown_parent(lists, number) from None
    counts = [len(lists[unit]) for unit in units]
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]), flat


def refuse_a_cycle(lists: dict[str, tuple[str, ...]]) -> None:
    """Name the cycle of a graph without inputs, where it has one."""
    units = tuple(lists)
    starts, flat = _arrays(lists, units, {unit: i for i, unit in enumerate(units)})
    _levels(units, 0, starts, flat)


def parent_lists(parents: Any) -> dict[str, tuple[str, ...]]:
    """Return the parents of each unit as tuples."""
    if not isinstance(parents, Mapping):
        raise ParameterError(
            "parents must be a mapping from units to the names of their parents. "
            f"Got {shown(parents)}."
        )
    lists = {}
    for unit, above in parents.items():
        _check_text(unit)
        if isinstance(above, str) or not isinstance(above, Iterable):
            raise ParameterError(
                f"parents[{unit!r}] must be a list of names. Got {shown(above)}. "
                "Write the name of a single parent in a list too."
            )
        _check_order(f"parents[{unit!r}]", above)
        lists[unit] = tuple(above)
        for parent in lists[unit]:
            _check_text(parent)
    return lists


def _check_text(unit: Any) -> None:
    """Refuse what is no name."""
    if not isinstance(unit, str) or not unit:
        raise ParameterError(
            f"parents must have texts as names of units. Got {shown(unit)}. "
            "Write str(unit) for each."
        )


def _check_order(parameter: str, units: Any) -> None:
    """Refuse a set, which another run of Python reads in another order."""
    if isinstance(units, (set, frozenset)):
        raise ParameterError(
            f"{parameter} must be in an order. Got {shown(units)}. Give a list, as sorted() does."
        )


def unit_names(parameter: str, units: Any, rule: str) -> tuple[str, ...]:
    """Return names that the user listed, each once."""
    if isinstance(units, str) or not isinstance(units, Iterable):
        raise ParameterError(f"{parameter} must be {rule}. Got {shown(units)}. Give a list.")
    _check_order(parameter, units)
    names = tuple(units)
    wrong = not names or not all(isinstance(name, str) for name in names)
    if wrong or len(set(names)) < len(names):
        raise ParameterError(f"{parameter} must be {rule}. Got {shown(names)}.")
    return names


def _inputs(lists: dict[str, tuple[str, ...]], inputs: Any) -> tuple[str, ...]:
    """Return the input units: those given, or all that stand only as parents."""
    rule = "names of units without parents, each once"
    if inputs is not None:
        names = unit_names("inputs", inputs, rule)
        fed = [unit for unit in names if lists.get(unit)]
        if fed:
            raise ParameterError(
                f"inputs must be {rule}. Got {shown(names)}, where {fed[0]!r} has parents."
            )
        return names
    above = chain.from_iterable(lists.values())
    found = tuple(dict.fromkeys(unit for unit in above if unit not in lists))
    if not found:
        refuse_a_cycle(lists)
        raise ParameterError(
            "inputs must be given where no parent is without an entry in parents of its own. "
            "A unit with an empty list of parents is a constant; an input has no entry."
        )
    return found


def _outputs(
    names: tuple[str, ...], n_inputs: int, parents: IntArray, number: dict[str, int], outputs: Any
) -> IntArray:
    """Return the output units: those given, or all that feed no other unit."""
    if outputs is None:
        fed = np.zeros(len(names), dtype=bool)
        fed[parents] = True
        sinks = np.flatnonzero(~fed)
        found: IntArray = sinks[sinks >= n_inputs]
        if not found.size:
            raise ParameterError("parents must have at least one unit that is no input. Got none.")
        return found
    given = unit_names("outputs", outputs, "names of units, each once")
    strangers = [unit for unit in given if unit not in number]
    if strangers:
        near = suggestion(strangers[0], number)
        raise ParameterError(
            f"outputs must be names of units, each once. Got {shown(given)}, where "
            f"{strangers[0]!r} is none.{near}"
        )
    return np.array([number[unit] for unit in given], dtype=np.int64)


def _unknown_parent(lists: dict[str, tuple[str, ...]], number: dict[str, int]) -> ParameterError:
    """Return the sentence on the first parent that is no unit."""
    unit, parent = next((u, p) for u, above in lists.items() for p in above if p not in number)
    near = suggestion(parent, number)
    return ParameterError(f"parents[{unit!r}] must be units. Got {shown(parent)}.{near}")


def transposed(starts: IntArray, parents: IntArray, n_inputs: int) -> tuple[IntArray, IntArray]:
    """Return where the children of each unit begin, and the children, as unit numbers."""
    n = n_inputs + len(starts) - 1
    units = np.repeat(np.arange(n_inputs, n), np.diff(starts))
    by_parent = np.argsort(parents, kind="stable")
    ends = np.cumsum(np.bincount(parents, minlength=n))
    return np.concatenate([[0], ends]), units[by_parent]


def _levels(
    names: tuple[str, ...], n_inputs: int, starts: IntArray, parents: IntArray
) -> IntArray:
    """Return each unit's level, unit by unit as their parents are done (Kahn), or the cycle."""
    child_starts, children = (a.tolist() for a in transposed(starts, parents, n_inputs))
    waiting = [0] * n_inputs + np.diff(starts).tolist()
    levels = [0] * n_inputs + [1] * (len(names) - n_inputs)
    done = [unit for unit, n in enumerate(waiting) if not n]
    for unit in done:  # grows while it is read
        above = levels[unit] + 1
        for child in children[child_starts[unit] : child_starts[unit + 1]]:
            if levels[child] < above:
                levels[child] = above
            waiting[child] -= 1
            if not waiting[child]:
                done.append(child)
    if len(done) < len(names):
        raise CycleError(_cycle_sentence([names[i] for i in _cycle(waiting, starts, parents)]))
    return np.array(levels, dtype=np.int64)


def _cycle(waiting: list[int], starts: IntArray, parents: IntArray) -> list[int]:
    """Return the units of a cycle, from parent to child, the first once more at the end."""
    n_inputs = len(waiting) - len(starts) + 1
    unit = next(i for i, n in enumerate(waiting) if n)
    place: dict[int, int] = {}
    # Every unit that still waits has a parent that does: going up must come back.
    while unit not in place:
        place[unit] = len(place)
        own = parents[starts[unit - n_inputs] : starts[unit - n_inputs + 1]].tolist()
        unit = next(parent for parent in own if waiting[parent])
    return [unit, *list(place)[place[unit] :][::-1]]


def _cycle_sentence(cycle: list[str]) -> str:
    if len(cycle) > SHOWN_UNITS:
        hidden = f"… ({len(cycle) - SHOWN_UNITS:,} more units) …"
        cycle = [*cycle[: SHOWN_UNITS // 2], hidden, *cycle[-SHOWN_UNITS // 2 :]]
    return f"The graph must have no cycle. Got {' → '.join(cycle)}."
