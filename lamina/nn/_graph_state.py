"""Turn a graph network into plain data for a file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from lamina._checks import check_choice, shown
from lamina._errors import FileError, ParameterError
from lamina._typing import DTYPES, Array, FloatArray

from ._activations import get_activation
from ._graph_structure import Structure

KEYS = ("units", "n_inputs", "outputs", "activations", "dtype")
Numbers = tuple[FloatArray, FloatArray, FloatArray]


def state_of_graph(
    structure: Structure, numbers: Numbers, dtype: str
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what describes the network as JSON, and its arrays in the user's order."""
    for activation in structure.functions:
        if get_activation(activation.spec) != activation:
            raise ParameterError(
                f"activation must be one of lamina.nn.ACTIVATIONS to be saved. "
                f"Got {shown(activation)}."
            )
    check_choice("dtype", dtype, DTYPES)
    edges = structure.edges
    config = {
        "units": list(edges.names),
        "n_inputs": edges.n_inputs,
        "outputs": edges.outputs.tolist(),
        "activations": [activation.spec for activation in structure.functions],
        "dtype": dtype,
    }
    weights, biases, slopes = numbers
    return config, {
        "starts": edges.starts,
        "parents": edges.parents,
        "kinds": structure.kinds[edges.n_inputs :],
        "weights": weights,
        "biases": biases,
        "slopes": slopes,
    }


def read_graph_state(
    config: Mapping[str, Any], arrays: Mapping[str, Array]
) -> tuple[Structure, Numbers, str]:
    """Return structure, numbers and dtype, or say what the file lacks."""
    missing = [key for key in KEYS if key not in config]
    if missing:
        raise FileError(f"The graph must have {missing[0]!r} in its description.")
    names, n_inputs = config["units"], config["n_inputs"]
    n = len(names) - n_inputs
    starts = _array(arrays, "starts", n + 1, "iu")
    parents = _array(arrays, "parents", int(starts[-1]), "iu")
    kinds = _array(arrays, "kinds", n, "iu")
    numbers = (
        _array(arrays, "weights", len(parents), "f"),
        _array(arrays, "biases", n, "f"),
        _array(arrays, "slopes", n, "f"),
    )
    wrong = (parents < 0).any() or (kinds < 0).any() or starts[0] or (np.diff(starts) < 0).any()
    if wrong or len(set(names)) < len(names):
        raise FileError("The graph must have units of different names and edges between them.")
    functions = [get_activation(spec) for spec in config["activations"]]
    above = [names[i] for i in parents]
    lists = {
        unit: above[start:stop]
        for unit, (start, stop) in zip(names[n_inputs:], pairwise(starts.tolist()), strict=True)
    }
    activations = {unit: functions[k] for unit, k in zip(lists, kinds, strict=True)}
    outputs = [names[i] for i in config["outputs"]]
    structure, _ = Structure.of(lists, names[:n_inputs], outputs, activations)
    if not np.isfinite(numbers[2][structure.learned]).all():
        raise FileError("The graph must have a slope for each unit that learns one. Got NaN.")
    return structure, numbers, config["dtype"]


def _array(arrays: Mapping[str, Array], name: str, n: int, kinds: str) -> Array:
    """Return one array, or say that it is not there or of another shape or kind."""
    found = arrays.get(name)
    if found is None or found.shape != (n,) or found.dtype.kind not in kinds:
        got = "no such array" if found is None else f"{found.dtype} of shape {found.shape}"
        raise FileError(f"The graph's array {name!r} must have shape ({n},). Got {got}.")
    return found
