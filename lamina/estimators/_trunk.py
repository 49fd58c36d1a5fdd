"""The part of a fitted model that another task can use: its inputs and its lower layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _get_feature_names, check_is_fitted
from torch import nn

from lamina._checks import check_integer, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray
from lamina.nn import GraphNetwork, Identity, Network

from ._encoder_parts import cut
from ._mlp import BaseMLP
from ._prediction import raw_outputs
from ._state import _below
from ._table_base import BaseTable
from ._table_state import pack_classes, unpack_classes
from ._trunk_inputs import (
    Scaling,
    Step,
    does_nothing,
    finds_columns,
    prepared,
    step_of,
    steps_from_state,
    steps_to_state,
)
from ._trunk_rows import check_names


@dataclass(frozen=True, eq=False)
class Trunk:
    r"""The layers of a trained model that make features, with the scaling of its inputs.

    .. math:: h(x) = f_l(W^{(l)} \cdots f_1(W^{(1)} \tilde x + b^{(1)}) \cdots + b^{(l)})

    Make one with `Trunk.of`. A trunk has copies of everything, so that nothing that is done with
    it changes the model it came from, and it can be saved by `lamina.save`.

    Attributes
    ----------
    source : str
        Name of the class it was taken from.
    steps : tuple
        What turns rows into the network's inputs: an encoder of tables, or centre and scale.
    networks : tuple of Network
        The whole networks, of which the members of an ensemble are one each.
    n_layers : int
        How many layers, from the first, make the features.
    classes : ndarray of shape (n_classes,) or None
        Labels of the task that the networks' outputs belong to.
    feature_names : ndarray of str of shape (n_features,) or None
        Names of the columns, where they are known.
    logistic : bool
        Whether one output stands for two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lamina.estimators import MLPClassifier, Trunk
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MLPClassifier((16, 8), solver="lbfgs", alpha=1.0, tol=1e-2, random_state=0)
    >>> trunk = Trunk.of(model.fit(X, y), n_layers=1)
    >>> trunk, trunk.transform(X).shape
    (Trunk(MLPClassifier, 4 → 16), (150, 16))
    """

    source: str
    steps: tuple[Step, ...]
    networks: tuple[Network, ...]
    n_layers: int
    classes: Array | None = None
    feature_names: Array | None = None
    logistic: bool = False

    @classmethod
    def of(cls, model: Any, n_layers: int | None = None) -> Trunk:
        """Return the trunk of a fitted model.

        Parameters
        ----------
        model : Network, estimator, encoder, Pipeline or Trunk
            A fitted model. Of an estimator all layers but the last are its trunk, of an encoder
            all of ``network_``, and of a bare network all, but for a last layer without an
            activation. A Pipeline ends in one of these. A search is its ``best_estimator_``.
        n_layers : int, optional
            How many of these layers, from the first; all by default.

        Returns
        -------
        Trunk
            With copies of the networks.

        Raises
        ------
        ParameterError
            If the model has no hidden layer that could be copied, or is of another kind.
        sklearn.exceptions.NotFittedError
            If the model has not been fitted.
        """
        trunk = _read(model)
        if n_layers is None:
            return trunk
        n = check_integer("n_layers", n_layers, 1, trunk.n_layers)
        return replace(trunk, n_layers=n)

    def __repr__(self) -> str:
        sizes = " → ".join(map(str, self.networks[0].sizes[: self.n_layers + 1]))
        many = f"{len(self.networks)} × " if len(self.networks) > 1 else ""
        return f"Trunk({self.source}, {many}{sizes})"

    @property
    def reads_tables(self) -> bool:
        """Whether it takes tables as they come and not matrices of numbers."""
        return any(not isinstance(step, Scaling) for step in self.steps)

    def bodies(self, n_layers: int) -> list[Network | None]:
        """Return copies of the first layers of each network; None for no layers."""
        if n_layers == 0:
            return [None] * len(self.networks)
        return [cut(network, n_layers)[0] for network in self.networks]

    def inputs(self, X: Any) -> Any:
        """Return rows as the networks take them: encoded and scaled, of shape (N, D)."""
        self.check_names(_get_feature_names(X))
        matrix = prepared(self.steps, X)
        if matrix.shape[1] != self.networks[0].sizes[0]:
            raise DataError(
                f"X must have {self.networks[0].sizes[0]} features, as the pretrained "
                f"{self.source} has. Got {matrix.shape[1]}."
            )
        return matrix

    def check_names(self, names: Any) -> None:
        """Refuse the names of other columns than the model was fitted to, where they count."""
        if not finds_columns(self.steps):
            check_names("X", names, self.feature_names, "that the pretrained model was fitted to")

    def transform(self, X: Any) -> FloatArray:
        """Return the features of rows; of several networks side by side.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (n_samples, n_features)
            Rows as the model that the trunk was taken from wants them.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            In the precision of the networks.
        """
        matrix = self.inputs(X)
        made = [raw_outputs(body, matrix) for body in self.bodies(self.n_layers) if body]
        return np.concatenate(made, axis=1)

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        steps, arrays = steps_to_state(self.steps)
        networks = []
        for i, network in enumerate(self.networks):
            described, own = network._to_state()
            networks.append(described)
            arrays |= {f"network.{i}.{name}": array for name, array in own.items()}
        names = self.feature_names
        return {
            "source": self.source,
            "steps": steps,
            "networks": networks,
            "n_layers": self.n_layers,
            "logistic": self.logistic,
            "classes": None if self.classes is None else pack_classes(self.classes),
            "feature_names": None if names is None else [str(name) for name in names],
        }, arrays

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        classes, names = config["classes"], config["feature_names"]
        return cls(
            config["source"],
            steps_from_state(config["steps"], arrays),
            tuple(
                Network._from_state(described, _below(arrays, f"network.{i}."))
                for i, described in enumerate(config["networks"])
            ),
            check_integer("n_layers", config["n_layers"], 1),
            None if classes is None else unpack_classes(classes),
            None if names is None else np.array(names, dtype=object),
            bool(config["logistic"]),
        )


def _read(model: Any) -> Trunk:
    """Return the whole trunk of a fitted model."""
    if isinstance(model, Trunk):
        return model
    if isinstance(model, FrozenEstimator):
        return _read(model.estimator)
    if isinstance(model, Network):
        bare = isinstance(model.activations[-1], Identity)
        return _trunk(model, (), [model], drop_last=bare)
    if isinstance(model, Pipeline):
        return _read_pipeline(model)
    if isinstance(model, BaseMLP):
        check_is_fitted(model)
        return _trunk(model, _scaling_of(model), model.networks_, classes=_classes_of(model))
    if isinstance(model, BaseTable):
        check_is_fitted(model)
        steps = step_of(model.encoder_)
        assert steps is not None
        return _trunk(model, (steps,), model.networks_, classes=_classes_of(model))
    return _read_other(model)


def _read_other(model: Any) -> Trunk:
    """Return the trunk of what is known by its attributes: an encoder, a transfer, a search."""
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
        network = getattr(model, "network_", None)
        predictor = getattr(model, "predictor_", None)
        if isinstance(predictor, BaseMLP):  # a transfer, which may be transferred again
            return replace(
                _read(predictor),
                source=type(model).__name__,
                steps=getattr(model, "_steps", ()),
                feature_names=getattr(model, "feature_names_in_", None),
            )
        if isinstance(network, Network) and getattr(model, "input_mean_", None) is not None:
            return _trunk(model, _scaling_of(model), [network], drop_last=False)
        if getattr(model, "best_estimator_", None) is not None:
            return _read(model.best_estimator_)
    cure = slip_of(model) or "Give a fitted estimator or encoder of lamina, or a Network."
    if isinstance(model, GraphNetwork):
        cure = "Its units form no layers; GraphNetwork.to_network makes some where it can."
    elif isinstance(model, nn.Module):
        cure = "Make a Network of it: Network.from_torch(module)."
    raise ParameterError(
        f"pretrained must be a model whose layers can be copied. Got {shown(model)}. {cure}"
    )


def slip_of(model: Any) -> str:
    """Return what to do about a name or a class in the place of a model, or an empty string."""
    if isinstance(model, str):
        return f"Load a saved one first: lamina.load({model!r})."
    return f"Make one of the class: {model.__name__}()." if isinstance(model, type) else ""


def _read_pipeline(pipeline: Pipeline) -> Trunk:
    """Return the trunk of a pipeline's end, with what stands before it."""
    steps = [step_of(transformer) for _, transformer in pipeline.steps[:-1]]
    trunk = _read(pipeline.steps[-1][1])
    before = tuple(step for step in steps if step is not None)
    if not before:
        return trunk
    # the columns of a pipeline are those of its first step
    first = next(step for _, step in pipeline.steps if not does_nothing(step))
    names = getattr(first, "feature_names_in_", None)
    return replace(trunk, steps=(*before, *trunk.steps), feature_names=names)


def _trunk(
    model: Any,
    steps: tuple[Step, ...],
    networks: Sequence[Network],
    *,
    classes: Array | None = None,
    drop_last: bool = True,
) -> Trunk:
    """Return the trunk of these networks; refuse those that have no hidden layer."""
    kind = type(model).__name__
    n_layers = len(networks[0].activations) - drop_last
    if n_layers == 0:
        raise ParameterError(
            f"pretrained must have a hidden layer, of which its features could be copied. Got a "
            f"{kind} with layers of {networks[0].sizes} units, of which nothing can be copied."
        )
    names = getattr(model, "feature_names_in_", None)
    return Trunk(
        kind,
        steps,
        tuple(Network.from_torch(network) for network in networks),
        n_layers,
        None if classes is None else classes.copy(),
        None if names is None else np.array(names, dtype=object),
        getattr(model, "out_activation_", "") == "logistic",
    )


def _scaling_of(model: Any) -> tuple[Step, ...]:
    """Return how the model scales its inputs, if it does."""
    mean = getattr(model, "input_mean_", None)
    if mean is None:
        return ()
    return (Scaling(np.array(mean, dtype=np.float64), np.array(model.input_scale_, np.float64)),)


def _classes_of(model: Any) -> Array | None:
    """Return the labels that a classifier's outputs stand for, one each."""
    labels = getattr(model, "_labels", None)
    if not is_classifier(model) or (labels is not None and labels.multilabel):
        return None
    classes: Array = model.classes_
    return classes
