"""A fitted encoder as plain data and arrays, and back: what `save` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lamina._errors import ParameterError
from lamina._typing import Array
from lamina.nn import Network

from ._state import _below, _pack, _unpack

if TYPE_CHECKING:
    from ._encoder_base import BaseEncoder

Arrays = dict[str, Array]
Encoder = TypeVar("Encoder", bound="BaseEncoder")


def to_state(encoder: BaseEncoder) -> tuple[dict[str, Any], Arrays]:
    """Return what JSON can hold, and the arrays; the optimiser's moments are not kept."""
    fitted = vars(encoder)
    parameters = encoder.get_params(deep=False)
    for name, value in parameters.items():
        if callable(value):
            raise ParameterError(
                f"{name} must be a name to be saved, since a function is code. Got {value!r}. "
                "Save network_, input_mean_ and input_scale_ instead."
            )
    arrays: Arrays = {name: np.asarray(fitted[name]) for name in encoder._arrays}
    arrays["loss_curve"] = np.asarray(encoder.loss_curve_, dtype=np.float64)
    config: dict[str, Any] = {
        "parameters": {name: _pack(name, value) for name, value in parameters.items()},
        "figures": {name: _pack(name, fitted[name]) for name in encoder._figures},
        "seed": encoder._seed,
        "networks": {},
    }
    for name in encoder._names:
        if name in fitted:
            config[name.removesuffix("_in_")] = [str(column) for column in fitted[name]]
    for name in ("network_", *encoder._heads):
        if fitted[name] is not None:
            config["networks"][name], own = fitted[name]._to_state()
            arrays |= {f"{name}.{key}": array for key, array in own.items()}
    return config, arrays


def from_state(kind: type[Encoder], config: dict[str, Any], arrays: Arrays) -> Encoder:
    """Return the encoder that `to_state` described."""
    encoder = kind(**{name: _unpack(value) for name, value in config["parameters"].items()})
    attributes: dict[str, Any] = {
        name: _unpack(value) for name, value in config["figures"].items()
    }
    attributes |= {name: arrays[name] for name in kind._arrays}
    attributes |= {"loss_curve_": arrays["loss_curve"].tolist(), "_seed": config["seed"]}
    for name in ("network_", *kind._heads):
        described = config["networks"].get(name)
        attributes[name] = (
            None
            if described is None
            else Network._from_state(described, _below(arrays, f"{name}."))
        )
    if attributes["network_"] is None:
        raise ParameterError("network_ must be there. Got none.")
    for name in kind._names:
        if (columns := config.get(name.removesuffix("_in_"))) is not None:
            attributes[name] = np.array(columns, dtype=object)
    for name, value in attributes.items():
        setattr(encoder, name, value)
    return encoder
