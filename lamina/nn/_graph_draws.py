"""The first parameters of a graph: given by the user, or drawn unit by unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from lamina._checks import shown, suggestion
from lamina._errors import ParameterError
from lamina._typing import FloatArray, IntArray

from ._activation import Activation
from ._graph_edges import Edges
from ._initialisation import Initialisation, LayerPlace, Rng

UNLISTED = (str, Mapping, set, frozenset)
"""Several values that are no list: they have no order, or are no numbers."""


def drawn(
    edges: Edges,
    kinds: IntArray,
    functions: Sequence[Activation],
    rule: Initialisation,
    rng: Rng,
) -> tuple[FloatArray, FloatArray]:
    """Return weights and biases in the user's order.

    Units of one level with as many parents, which have as many children on average, are drawn
    like a layer. So a graph of layers gets the draws that the layered network has.
    """
    n_inputs, counts = edges.n_inputs, np.diff(edges.starts)
    weights, biases = np.zeros(len(edges.parents)), np.zeros(len(counts))
    if not counts.size:
        return weights, biases
    n_children = np.bincount(edges.parents, minlength=len(edges.names))
    ends = np.concatenate([[0], np.cumsum(n_children[edges.parents])])
    fan_out = np.diff(ends[edges.starts]) / np.maximum(counts, 1)
    is_output = np.zeros(len(edges.names), dtype=bool)
    is_output[edges.outputs] = True
    keys = np.stack(
        [
            *(edges.levels[n_inputs:], counts, np.maximum(np.rint(fan_out), 1).astype(np.int64)),
            *(kinds[n_inputs:], is_output[n_inputs:].astype(np.int64)),
        ],
        axis=1,
    )
    found, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    by_group = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    for i in np.lexsort((first, found[:, 0])):
        _, n_parents, n_out, kind, last = found[i].tolist()
        if not n_parents:
            continue
        place = LayerPlace(n_parents, n_out, functions[kind], bool(last))
        units = by_group[i]
        for start in range(0, len(units), n_out):
            here = units[start : start + n_out]
            W, b = rule.draw(place, rng)
            weights[edges.starts[here][:, None] + np.arange(n_parents)] = W[: len(here)]
            biases[here] = b[: len(here)]
    return weights, biases


def given_weights(edges: Edges, weights: Any) -> FloatArray:
    """Return the user's weights, unit after unit, or say what does not fit."""
    units = edges.names[edges.n_inputs :]
    counts = np.diff(edges.starts).tolist()
    fed = {unit for unit, n in zip(units, counts, strict=True) if n}
    lists = _by_unit("weights", weights, units, fed, "with parents")
    numbers: list[Any] = []
    for unit, n in zip(units, counts, strict=True):
        own = lists.get(unit, ())
        if isinstance(own, (np.ndarray, Tensor)):
            own = own.tolist()  # a number where it has no axis
        listed = isinstance(own, Iterable) and not isinstance(own, UNLISTED)
        values = list(own) if listed else own
        if not listed or len(values) != n:
            raise ParameterError(
                f"weights[{unit!r}] must have {n} numbers, one for each parent. "
                f"Got {len(values) if listed else shown(own)}."
            )
        numbers += values
    return _numbers("weights", numbers)


def given_biases(edges: Edges, biases: Any) -> FloatArray:
    """Return the user's biases, or say what does not fit."""
    units = edges.names[edges.n_inputs :]
    own = _by_unit("biases", biases, units, set(units), "that is no input")
    return _numbers("biases", [own[unit] for unit in units])


def _by_unit(
    parameter: str, values: Any, units: Sequence[str], needed: set[str], of_whom: str
) -> Mapping[str, Any]:
    """Return a mapping that has an entry for each unit that needs one, and for no stranger."""
    if not isinstance(values, Mapping):
        raise ParameterError(
            f"{parameter} must be a mapping from units to their own. Got {shown(values)}."
        )
    known = set(units)
    strangers = [key for key in values if key not in known]
    missing = [unit for unit in units if unit in needed and unit not in values]
    if missing or strangers:
        wrong = f"none for {shown(missing)}" if missing else f"one for {shown(strangers[0])}"
        near = "" if missing else suggestion(strangers[0], units)
        raise ParameterError(
            f"{parameter} must have an entry for each unit {of_whom}, and no other. "
            f"Got {wrong}.{near}"
        )
    return values


def _numbers(parameter: str, values: list[Any]) -> FloatArray:
    """Return finite numbers as float64."""
    try:
        values = [v.tolist() if isinstance(v, Tensor) else v for v in values]
        array = np.array(values, dtype=np.float64).reshape(len(values))
    except (TypeError, ValueError):
        raise ParameterError(f"{parameter} must be single numbers. Got {shown(values)}.") from None
    wrong = array[~np.isfinite(array)]
    if wrong.size:
        raise ParameterError(f"{parameter} must be finite. Got {wrong[0]}.")
    return array
