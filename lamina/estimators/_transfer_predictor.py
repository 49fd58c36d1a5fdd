"""One perceptron that predicts with the whole networks of a transfer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina.nn import Network

from ._mlp import BaseMLP

NOT_CARRIED = frozenset(
    {
        *("coefs_", "intercepts_", "_networks", "_slopes", "_activations", "_starts"),
        *("n_features_in_", "feature_names_in_", "n_layers_", "_history", "_optimizer"),
    }
)
"""Fitted attributes that a whole network has of its own, or that nobody needs any more."""


def predictor_of(transfer: Any, tops: Sequence[BaseMLP], networks: Sequence[Network]) -> BaseMLP:
    """Return a fitted perceptron made of whole networks, with what training told of the tops."""
    first, whole = tops[0], networks[0]
    parameters = first.get_params(deep=False)
    parameters |= {
        "hidden_layer_sizes": whole.sizes[1:-1],
        "activation": list(whole.activations[:-1]),
        "n_members": len(networks),
        "dtype": transfer.dtype,
    }
    predictor: BaseMLP = transfer._predictor_kind(**parameters)
    fitted = {
        name: value
        for name, value in vars(first).items()
        if name not in NOT_CARRIED and name not in parameters
    }
    if "noise_scale_" in fitted and len(tops) > 1:
        squares = [np.square(top.noise_scale_) for top in tops]
        fitted["noise_scale_"] = np.sqrt(np.mean(squares, axis=0))
    predictor._set(fitted)
    predictor._set(predictor._weights_of(list(networks)))
    predictor._set(
        {
            "_activations": whole.activations[:-1],
            "n_features_in_": whole.sizes[0],
            "n_layers_": len(whole.sizes),
            "_history": _history(tops),
        }
    )
    return predictor


def _history(tops: Sequence[BaseMLP]) -> dict[str, list[float]]:
    """Return the rows of all, members numbered on."""
    joined: dict[str, list[float]] = {}
    before = 0
    for top in tops:
        for name, values in top._history.items():
            column = [value + before for value in values] if name == "member" else values
            joined.setdefault(name, []).extend(column)
        before += len(top.networks_)
    return joined
