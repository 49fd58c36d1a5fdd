"""A fitted perceptron as plain data and arrays, and back: what `save` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lamina._errors import DataError, ParameterError
from lamina._typing import Array
from lamina.heads import Head, head_from_config
from lamina.nn import Activation, Network, get_activation

from ._labels import Labels

if TYPE_CHECKING:
    from ._mlp import BaseMLP

Arrays = dict[str, Array]
Estimator = TypeVar("Estimator", bound="BaseMLP")

FIGURES = (
    "n_features_in_",
    "n_iter_",
    "n_layers_",
    "n_outputs_",
    "out_activation_",
    "t_",
    "loss_",
    "loss_curve_",
    "best_loss_",
    "validation_scores_",
    "best_validation_score_",
    "_no_improvement_count",
)
"""Fitted attributes that are numbers, texts or lists of them; L-BFGS has not all of them."""


def to_state(mlp: BaseMLP) -> tuple[dict[str, Any], Arrays]:
    """Return what JSON can hold, and the arrays.

    The optimiser's moments are not kept: after loading, partial_fit begins with fresh ones.
    """
    fitted = vars(mlp)
    arrays: Arrays = {}
    config: dict[str, Any] = {
        "parameters": {name: _pack(name, v) for name, v in mlp.get_params(deep=False).items()},
        "figures": {name: fitted[name] for name in FIGURES if name in fitted},
        "networks": [],
    }
    if "feature_names_in_" in fitted:
        config["feature_names"] = [str(name) for name in fitted["feature_names_in_"]]
    for i, network in enumerate(mlp.networks_):
        described, own = network._to_state()
        config["networks"].append(described)
        arrays |= {f"network.{i}.{name}": array for name, array in own.items()}
    arrays |= {f"history.{name}": np.asarray(column) for name, column in mlp._history.items()}
    labels: Labels | None = getattr(mlp, "_labels", None)
    if labels is not None:
        config["labels"] = _pack_labels(labels, arrays)
    return config, arrays


def from_state(kind: type[Estimator], config: dict[str, Any], arrays: Arrays) -> Estimator:
    """Return the estimator that `to_state` described."""
    mlp = kind(**{name: _unpack(value) for name, value in config["parameters"].items()})
    attributes: dict[str, Any] = dict(config["figures"])
    if "feature_names" in config:
        attributes["feature_names_in_"] = np.array(config["feature_names"], dtype=object)
    if "labels" in config:
        labels = _unpack_labels(config["labels"], arrays)
        attributes |= {"_labels": labels, "classes_": labels.classes}
    networks = [
        Network._from_state(described, _below(arrays, f"network.{i}."))
        for i, described in enumerate(config["networks"])
    ]
    if len({network.sizes for network in networks}) != 1:
        raise ParameterError("networks must be one or more, with layers of equal sizes.")
    history = {name: column.tolist() for name, column in _below(arrays, "history.").items()}
    mlp._set(attributes | {"_history": history} | mlp._weights_of(networks))
    mlp._set({"_activations": networks[0].activations[:-1], "_head": mlp._head_of_fit()})
    return mlp


def _below(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names begin with the prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def _pack(name: str, value: Any) -> Any:
    """Return a parameter as JSON can hold it; objects are told apart by a key of their own."""
    if isinstance(value, Activation):
        return {"activation": value.spec}
    if isinstance(value, Head):
        return {"head": value._to_config()}
    if isinstance(value, np.random.RandomState):
        return None  # a stream that has been used has no seed to write down
    if isinstance(value, dict):
        return {"mapping": [[_pack(name, k), _pack(name, v)] for k, v in value.items()]}
    if isinstance(value, np.ndarray):
        return [_pack(name, item) for item in value.tolist()]
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_pack(name, item) for item in value]}
    if isinstance(value, np.generic):
        return value.item()
    return value


def _unpack(value: Any) -> Any:
    """Undo `_pack`."""
    if isinstance(value, list):
        return np.array(value)
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    match kind:
        case "activation":
            return get_activation(content)
        case "head":
            return head_from_config(content)
        case "mapping":
            return {_unpack(k): _unpack(v) for k, v in content}
        case "tuple":
            return tuple(_unpack(item) for item in content)
        case "list":
            return [_unpack(item) for item in content]
        case _:
            raise ParameterError(f"a parameter must be of a known kind. Got {kind!r}.")


def _pack_labels(labels: Labels, arrays: Arrays) -> dict[str, Any]:
    """Return texts and objects as a list; numbers and truth values go to the arrays."""
    classes = labels.classes
    described: dict[str, Any] = {"multilabel": labels.multilabel, "sparse": labels.sparse}
    if classes.dtype.kind in "biuf":
        arrays["classes"] = classes
        return described
    values = classes.tolist()
    for value in values:
        if not isinstance(value, (str, bool, int, float)):
            raise DataError(
                f"classes_ must be texts, numbers or truth values to be saved. Got {value!r}."
            )
    return described | {"values": values, "dtype": classes.dtype.str}


def _unpack_labels(described: dict[str, Any], arrays: Arrays) -> Labels:
    """Undo `_pack_labels`."""
    if "values" in described:
        classes = np.array(described["values"], dtype=described["dtype"])
    else:
        classes = arrays["classes"]
    return Labels(classes, described["multilabel"], described["sparse"])
