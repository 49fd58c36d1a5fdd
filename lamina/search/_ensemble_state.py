"""An ensemble of fitted estimators as plain data and arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

import lamina.estimators
from lamina._errors import FileError, ParameterError
from lamina._typing import Array, FloatArray

from ._encoded import EncodedClassifier, EncodedRegressor

_ENCODED = {kind.__name__: kind for kind in (EncodedClassifier, EncodedRegressor)}


def pack(
    models: Sequence[Any], weights: FloatArray, target_name: str | None
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what JSON can hold, and the arrays."""
    members = []
    arrays: dict[str, Array] = {"weights": np.asarray(weights)}
    for i, model in enumerate(models):
        saveable = _saveable(model, target_name)
        config, own = saveable._to_state()
        members.append({"kind": type(saveable).__name__, "state": config})
        arrays |= {f"member.{i}.{name}": array for name, array in own.items()}
    return {"members": members, "target_name": target_name}, arrays


def _saveable(model: Any, target_name: str | None) -> Any:
    """Return a member in a form that saves, or raise."""
    if isinstance(model, Pipeline):
        kind = EncodedClassifier if is_classifier(model) else EncodedRegressor
        try:
            return kind.from_pipeline(model, target_name)
        except ParameterError:
            pass
    elif type(model).__name__ in lamina.estimators.__all__ or isinstance(
        model, tuple(_ENCODED.values())
    ):
        return model
    raise ParameterError(
        "An ensemble of pipelines cannot be saved by lamina, unless they are of a TableEncoder "
        f"and a network: it knows nothing of other steps. Got a {type(model).__name__}. Use "
        "pickle or joblib.dump, or search over an estimator alone."
    )


def unpack(config: dict[str, Any], arrays: dict[str, Array]) -> tuple[list[Any], FloatArray]:
    """Return the members and their weights."""
    models = []
    for i, member in enumerate(config["members"]):
        kind = _class_of(member["kind"])
        start = f"member.{i}."
        own = {name[len(start) :]: a for name, a in arrays.items() if name.startswith(start)}
        models.append(kind._from_state(member["state"], own))
    if not models:
        raise ValueError("an ensemble has at least one member")
    return models, np.asarray(arrays["weights"], dtype=np.float64)


def _class_of(name: str) -> Any:
    """Return the class of a member, of those that may be one."""
    if name in _ENCODED:
        return _ENCODED[name]
    known = lamina.estimators.__all__
    kind = getattr(lamina.estimators, name) if name in known else None
    if not isinstance(kind, type):
        raise FileError(f"A member of an ensemble must be an estimator. Got {name!r}.")
    return kind
