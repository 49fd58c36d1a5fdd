"""An ensemble of fitted estimators as plain data and arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import lamina.estimators
from lamina._errors import FileError, ParameterError
from lamina._typing import Array, FloatArray


def pack(models: Sequence[Any], weights: FloatArray) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what JSON can hold, and the arrays."""
    members = []
    arrays: dict[str, Array] = {"weights": np.asarray(weights)}
    for i, model in enumerate(models):
        if not hasattr(model, "_to_state"):
            raise ParameterError(
                f"An ensemble of pipelines cannot be saved by lamina, which knows nothing of "
                f"their other steps. Got a {type(model).__name__}. Use pickle or joblib.dump, "
                "or search over an estimator alone."
            )
        config, own = model._to_state()
        members.append({"kind": type(model).__name__, "state": config})
        arrays |= {f"member.{i}.{name}": array for name, array in own.items()}
    return {"members": members}, arrays


def unpack(config: dict[str, Any], arrays: dict[str, Array]) -> tuple[list[Any], FloatArray]:
    """Return the members and their weights."""
    models = []
    for i, member in enumerate(config["members"]):
        kind = member["kind"]
        if kind not in lamina.estimators.__all__ or not isinstance(
            getattr(lamina.estimators, kind), type
        ):
            raise FileError(f"A member of an ensemble must be an estimator. Got {kind!r}.")
        start = f"member.{i}."
        own = {name[len(start) :]: a for name, a in arrays.items() if name.startswith(start)}
        models.append(getattr(lamina.estimators, kind)._from_state(member["state"], own))
    if not models:
        raise ValueError("an ensemble has at least one member")
    return models, np.asarray(arrays["weights"], dtype=np.float64)
