"""A fitted table estimator as plain data and arrays, and back: what `save` writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from lamina._errors import DataError, ParameterError
from lamina._typing import Array
from lamina.heads import Head, head_from_config
from lamina.nn import Activation, Network, get_activation
from lamina.tables import TableEncoder

from ._table_base import BaseTable, names_of

Arrays = dict[str, Array]
Estimator = TypeVar("Estimator", bound=BaseTable)


def to_state(model: BaseTable) -> tuple[dict[str, Any], Arrays]:
    """Return what JSON can hold, and the arrays."""
    arrays: Arrays = {}
    encoder, own = model.encoder_._to_state()
    arrays |= {f"encoder.{name}": array for name, array in own.items()}
    networks = []
    for i, network in enumerate(model.networks_):
        described, own = network._to_state()
        networks.append(described)
        arrays |= {f"network.{i}.{name}": array for name, array in own.items()}
    for name in model.history_.columns:
        arrays[f"history.{name}"] = model.history_[name].to_numpy()
    config = {
        "parameters": {name: _plain(v) for name, v in model.get_params(deep=False).items()},
        "target_name": model.target_name_,
        "encoder": encoder,
        "networks": networks,
        "families": model.families_.to_dict("list"),
        "timed_out": model.timed_out_,
    }
    return config, arrays


def from_state(kind: type[Estimator], config: dict[str, Any], arrays: Arrays) -> Estimator:
    """Return the estimator that `to_state` described, but for what its target needs."""
    model = kind(**{name: _given(value) for name, value in config["parameters"].items()})
    model.target_name_ = config["target_name"]
    model.encoder_ = TableEncoder._from_state(config["encoder"], below(arrays, "encoder."))
    for name, value in names_of(model.encoder_).items():
        setattr(model, name, value)
    model.networks_ = [
        Network._from_state(described, below(arrays, f"network.{i}."))
        for i, described in enumerate(config["networks"])
    ]
    if not model.networks_ or len({network.sizes for network in model.networks_}) != 1:
        raise ParameterError("networks must be one or more, with layers of equal sizes.")
    model.families_ = pd.DataFrame(config["families"])
    model.timed_out_ = bool(config["timed_out"])
    model.history_ = pd.DataFrame(below(arrays, "history."))
    return model


def below(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names begin with the prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def pack_classes(classes: Array) -> dict[str, Any]:
    """Return class labels as JSON can hold them."""
    values = classes.tolist()
    for value in values:
        if not isinstance(value, (str, bool, int, float)):
            raise DataError(
                f"classes_ must be texts, numbers or truth values to be saved. Got {value!r}."
            )
    return {"values": values, "dtype": classes.dtype.str}


def unpack_classes(described: dict[str, Any]) -> Array:
    """Undo `pack_classes`."""
    return np.array(described["values"], dtype=described["dtype"])


def _given(value: Any) -> Any:
    """Undo `_plain`."""
    if not isinstance(value, dict):
        return value
    if "activation" in value:
        return get_activation(value["activation"])
    return head_from_config(value["head"])


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    if isinstance(value, Head):
        return {"head": value._to_config()}
    if isinstance(value, Activation):
        return {"activation": value.spec}
    if isinstance(value, np.random.RandomState):
        return None  # a stream that has been used has no seed to write down
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
