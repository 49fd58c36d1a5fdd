"""Save a fitted model to a folder and load it again, without pickle."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from lamina._checks import shown, suggestion
from lamina._errors import FileError, ParameterError
from lamina._files import read_model, write_model
from lamina._typing import Array, Path

KINDS = {
    "GraphNetwork": "lamina.nn",
    "Network": "lamina.nn",
    "MLPClassifier": "lamina.estimators",
    "MLPRegressor": "lamina.estimators",
    "MixtureDensityRegressor": "lamina.estimators",
    "MultitaskNetwork": "lamina.estimators",
    "EncodedClassifier": "lamina.search",
    "EncodedRegressor": "lamina.search",
    "StackedEnsembleClassifier": "lamina.search",
    "StackedEnsembleRegressor": "lamina.search",
    "ContrastiveEncoder": "lamina.estimators",
    "CrossModalEncoder": "lamina.estimators",
    "DenoisingEncoder": "lamina.estimators",
    "TableClassifier": "lamina.estimators",
    "TableRegressor": "lamina.estimators",
    "TransferClassifier": "lamina.estimators",
    "TransferRegressor": "lamina.estimators",
    "Trunk": "lamina.estimators",
}
"""Name of each class that can be saved, and the room it is public in. No other name is ever
imported on behalf of a file."""

_MISFITS = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
)


class Saveable(Protocol):
    """What `save` needs of a class."""

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what JSON can hold, and the arrays."""
        ...

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Saveable:
        """Return an equal model from the two."""
        ...


def save(model: object, path: Path) -> None:
    """Save a fitted model to a folder.

    The folder holds ``model.json`` (what the model is, readable) and ``weights.safetensors``
    (its arrays). Nothing in it is code, and loading it runs none. Predictions of the loaded
    model equal those of the saved one bit for bit on the same machine and libraries.

    Parameters
    ----------
    model : Network, GraphNetwork or an estimator of lamina.estimators
        The model. An estimator has to be fitted.
    path : str or path-like
        The folder to write. Missing parents are made; a saved model in its place is replaced;
        anything else in its place is refused and stays as it is.

    Raises
    ------
    ParameterError
        If the model is of another class.
    sklearn.exceptions.NotFittedError
        If the estimator has not been fitted.
    FileError
        If the folder cannot be written.

    See Also
    --------
    load : Load the folder again.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from lamina import Network, load, save
    >>> network = Network([2, 3, 1], random_state=0)
    >>> X = np.array([[0.5, -1.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(network, f"{folder}/model")
    ...     same = load(f"{folder}/model")
    >>> bool(np.all(same.predict_raw(X) == network.predict_raw(X)))
    True
    """
    kind = _kind_of(model)
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    config, arrays = cast(Saveable, model)._to_state()
    write_model(path, {"kind": kind, "state": config}, arrays)


def load(path: Path) -> Any:
    """Load a model that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        The folder.

    Returns
    -------
    Network, GraphNetwork or an estimator of lamina.estimators
        The model, ready to predict.

    Raises
    ------
    FileError
        If the folder is missing, is no model, was damaged or changed, or was written by a newer
        lamina.

    See Also
    --------
    save : Save a model.

    Examples
    --------
    >>> import tempfile
    >>> from lamina.nn import Network
    >>> network = Network((2, 3, 1), random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(network, f"{folder}/model")
    ...     same = load(f"{folder}/model")
    >>> bool((same.weights[0] == network.weights[0]).all())
    True
    """
    config, arrays = read_model(path)
    kind = config.get("kind") if isinstance(config, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        known = ", ".join(KINDS)
        raise FileError(
            f"The kind of the model in {str(path)!r} must be one of {known}. Got {shown(kind)}."
            f"{suggestion(kind, KINDS)}"
        )
    try:
        return _class_of(kind)._from_state(config["state"], arrays)
    except _MISFITS as error:
        raise FileError(
            f"{str(path)!r} must hold a whole {kind}. Got a state that does not make one: "
            f"{error}. Save the model again with this version of lamina."
        ) from error


def _class_of(kind: str) -> type[Saveable]:
    """Return the class of a kind from the fixed table."""
    return cast("type[Saveable]", getattr(import_module(KINDS[kind]), kind))


def _kind_of(model: object) -> str:
    """Return the kind of an object that can be saved."""
    kind = type(model).__name__
    if kind in KINDS and type(model) is _class_of(kind):
        return kind
    known = ", ".join(KINDS)
    raise ParameterError(f"model must be one of {known} to be saved. Got {shown(model)}.")
