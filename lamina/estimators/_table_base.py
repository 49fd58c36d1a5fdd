"""What the two table estimators share: parameters, and the steps of a fit."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from lamina._checks import check_choice, check_integer, check_real, check_sizes
from lamina._errors import DataError
from lamina._typing import Array, FloatArray, IntArray
from lamina.heads import Head
from lamina.nn import Activation, Network
from lamina.tables import TableEncoder, target_name

from ._callbacks import CallbackBridge
from ._members import private_random_state
from ._prediction import mean_over_members
from ._table_competition import Competition
from ._table_recipe import (
    NUMERIC_EMBEDDINGS,
    PRESETS,
    NumericEmbedding,
    Preset,
    Recipe,
    Task,
    adapted,
)
from ._table_spread import HeldOut
from ._table_training import Listener, Progress, fitted_while_training
from ._weights import check_weights


@dataclass(frozen=True, eq=False)
class TableTarget:
    """The target as the networks learn it, and what it takes to undo that."""

    values: Array  # (N,) class numbers or (N, Q) standardised numbers
    head: Head
    codes: IntArray | None  # class numbers, for stratified folds
    attributes: dict[str, Any]
    monitor: Literal["valid_loss", "valid_score"] = "valid_loss"


class BaseTable(CallbackSupportMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A table estimator: encode the columns, train an ensemble as one stack, average it."""

    encoder_: TableEncoder
    networks_: list[Network]
    history_: pd.DataFrame
    families_: pd.DataFrame
    timed_out_: bool
    target_name_: str | None
    n_features_in_: int
    feature_names_in_: Array

    _metrics: ClassVar[tuple[str, ...]]
    _target_type: ClassVar[Literal["continuous", "classes"]]

    def __init__(
        self,
        preset: Preset = "default",
        *,
        time_limit: float | None = None,
        n_members: int | None = None,
        metric: str | None = None,
        numeric_embedding: NumericEmbedding = "auto",
        hidden_layer_sizes: int | Sequence[int] | None = None,
        activation: str | Activation | None = None,
        learning_rate: float | None = None,
        dropout: float | None = None,
        weight_decay: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        verbose: bool = False,
        categorical_features: Sequence[str | int] | None = None,
    ) -> None:
        self.preset = preset
        self.time_limit = time_limit
        self.n_members = n_members
        self.metric = metric
        self.numeric_embedding = numeric_embedding
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.learning_rate = learning_rate
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.random_state = random_state
        self.device = device
        self.verbose = verbose
        self.categorical_features = categorical_features

    @abstractmethod
    def _take_target(self, y: Any, weights: FloatArray | None) -> TableTarget:
        """Check the target and return it as the networks learn it."""

    @property
    @abstractmethod
    def _mean_head(self) -> Head:
        """The head whose mean of the raw outputs is the prediction."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit an ensemble of networks to a table.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            The table as it comes.
        y : array-like of shape (n_samples,) or, for a regression, (n_samples, n_outputs)
            The target.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; 0 leaves it out. The columns' scales and the frequencies of
            levels count all other rows alike.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        began = time.monotonic()
        self._check_parameters()
        given = {"X": X, "y": y, "metadata": _metadata(sample_weight)}
        self.target_name_ = target_name(y)
        X, y, weights = _without_weightless(X, y, sample_weight)
        _check_enough(X)

        random_state = private_random_state(self.random_state)
        seed = int(random_state.randint(np.iinfo(np.int32).max))
        target = self._take_target(y, weights)
        recipe = self._recipe()
        encoder = TableEncoder(
            categorical_features=self.categorical_features,
            numeric_embedding=recipe.embedding,
            target_type=self._target_type,
            random_state=seed,
        )
        matrix = encoder.fit_transform(X, target.values)
        attributes = target.attributes | {"encoder_": encoder}
        for name, value in (attributes | names_of(encoder)).items():
            setattr(self, name, value)
        task = Task(
            target.head,
            seed,
            len(matrix),
            target.codes,
            weights,
            target.monitor,
            self._start(matrix, target, weights, seed),
        )
        competition = Competition(
            recipe,
            task,
            self.n_members or recipe.members_for(len(matrix)),
            matrix,
            target.values,
            encoder._parts(),
            self.device,
            None if self.time_limit is None else began + self.time_limit,
        )
        self._train(competition, given, attributes)
        return self

    def _train(
        self, competition: Competition, given: dict[str, Any], attributes: dict[str, Any]
    ) -> None:
        """Train the members and take what came out."""
        listeners: list[Listener] = [Progress()] if self.verbose else []
        bridge = None
        if getattr(self, "_skl_callbacks", None):
            fitted = fitted_while_training(attributes | names_of(self.encoder_))
            bridge = CallbackBridge(self, given, fitted, max_epochs=None)
            listeners.append(bridge)
        trained = competition.run(listeners)
        self.history_, self.families_ = trained.history, trained.families
        self.timed_out_ = trained.timed_out
        task = competition.task
        held_out = HeldOut(competition.X, competition.y, task.weights, trained.members)
        for name, value in self._told_by(trained.networks, task.head, held_out).items():
            setattr(self, name, value)
        if bridge is not None:
            bridge.finish()

    def _recipe(self) -> Recipe:
        """Return the preset's recipe with what was asked for in its place."""
        return adapted(
            PRESETS[self.preset],
            numeric_embedding=self.numeric_embedding,
            hidden_layer_sizes=self.hidden_layer_sizes,
            activation=self.activation,
            learning_rate=self.learning_rate,
            dropout=self.dropout,
            weight_decay=self.weight_decay,
        )

    def _start(
        self, matrix: FloatArray, target: TableTarget, weights: FloatArray | None, seed: int
    ) -> Array | None:
        """Return the first biases of the raw outputs, or None for zeros."""
        return target.head.start(target.values)

    def _told_by(self, networks: list[Network], head: Head, held_out: HeldOut) -> dict[str, Any]:
        """Return the networks as they are to be used, and what their held-out rows tell."""
        return {"networks_": networks}

    def _mean(self, X: Any) -> FloatArray:
        """Return the mean over the members of what they expect, (N, Q)."""
        check_is_fitted(self)
        matrix = self.encoder_.transform(X)
        return mean_over_members(in_double(self.networks_), self._mean_head, matrix)

    def _check_parameters(self) -> None:
        check_choice("preset", self.preset, PRESETS)
        if self.time_limit is not None:
            check_real("time_limit", self.time_limit, 0.0, open_minimum=True)
        if self.n_members is not None:
            check_integer("n_members", self.n_members, 1)
        if self.metric is not None:
            check_choice("metric", self.metric, self._metrics)
        check_choice("numeric_embedding", self.numeric_embedding, NUMERIC_EMBEDDINGS)
        if self.hidden_layer_sizes is not None:
            check_sizes("hidden_layer_sizes", self.hidden_layer_sizes)
        if self.learning_rate is not None:
            check_real("learning_rate", self.learning_rate, 0.0, open_minimum=True)
        if self.dropout is not None:
            check_real("dropout", self.dropout, 0.0, 1.0, open_maximum=True)
        if self.weight_decay is not None:
            check_real("weight_decay", self.weight_decay, 0.0)

    def __sklearn_is_fitted__(self) -> bool:
        return "networks_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _metadata(sample_weight: Any) -> dict[str, Any] | None:
    return None if sample_weight is None else {"sample_weight": sample_weight}


def _without_weightless(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, FloatArray | None]:
    """Return the rows that have a weight, since the others are as good as absent."""
    if sample_weight is None:
        return X, y, None
    weights = check_weights(sample_weight, np.empty((_num_samples(X), 1)))
    assert weights is not None
    rows = np.flatnonzero(weights)
    if len(rows) == len(weights):
        return X, y, weights
    return _safe_indexing(X, rows), _safe_indexing(y, rows), weights[rows]


def _check_enough(X: Any) -> None:
    n_samples = _num_samples(X)
    if n_samples < 2 and np.ndim(X) == 2:  # what is no table is refused by the encoder
        raise DataError(  # scikit-learn's sentence
            f"Found array with {n_samples} sample(s) while a minimum of 2 is required. "
            "X must have at least two rows."
        )


def in_double(networks: Sequence[Network]) -> list[Network]:
    """Return the networks in float64, so that a row says the same whatever rows stand beside it.

    In float32 a matrix product of other rows rounds in another way, which can be seen.
    """
    return [
        Network.from_arrays(
            network.layers(), network.activations[:-1], slopes=network.slopes, dtype="float64"
        )
        for network in networks
    ]


def names_of(encoder: TableEncoder) -> dict[str, Any]:
    """Return scikit-learn's attributes that tell the columns seen at fitting."""
    names = {"n_features_in_", "feature_names_in_"}
    return {name: value for name, value in vars(encoder).items() if name in names}
