"""Which activation each unit of a graph has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lamina._checks import shown, suggestion
from lamina._errors import ParameterError
from lamina._typing import FloatArray, IntArray

from ._activation import Activation
from ._activations import get_activation
from ._graph_edges import Edges
from ._piecewise import Identity, PReLU

HIDDEN = "tanh"
"""Activation of hidden units that nobody gave another."""


def read_functions(
    edges: Edges, activation: Any
) -> tuple[IntArray, tuple[Activation, ...], FloatArray]:
    """Return the number of each unit's activation, the activations, and learned slopes.

    Inputs have the number −1. Units with a learned slope share one number whatever the slope;
    the slopes (n_units,) are NaN for the others.
    """
    n_inputs, n = edges.n_inputs, len(edges.names)
    own: Mapping[str, Any] = activation if isinstance(activation, Mapping) else {}
    default = get_activation(HIDDEN if isinstance(activation, Mapping) else activation)
    units = set(edges.names[n_inputs:])
    for unit in own:
        if unit not in units:
            raise ParameterError(
                f"activation must name units that are no inputs. Got {shown(unit)}."
                f"{suggestion(unit, units)}"
            )
    functions: dict[Activation, int] = {}
    kinds, slopes = np.full(n, -1, dtype=np.int64), np.full(n - n_inputs, np.nan)
    outputs = set(edges.outputs.tolist())
    specs: dict[Any, Activation] = {}
    for i in range(n_inputs, n):
        unit = edges.names[i]
        if unit in own:
            spec = own[unit]
            if not isinstance(spec, str) or spec not in specs:
                function = get_activation(spec, parameter=f"activation[{unit!r}]")
                specs[spec] = function
            function = specs[spec]
        else:
            function = Identity() if i in outputs else default
        if isinstance(function, PReLU):
            slopes[i - n_inputs], function = function.init, PReLU()
        kinds[i] = functions.setdefault(function, len(functions))
    return kinds, tuple(functions), slopes
