"""What the two multilayer perceptrons share: parameters, and the steps of a fit."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from lamina._errors import DivergedWarning
from lamina._typing import Array, DtypeName, FloatArray
from lamina.heads import Head
from lamina.nn import Activation, Network
from lamina.stack import EpochReport, StackResult, train

from ._begun import Begun, Preparation
from ._callbacks import CallbackBridge
from ._members import LastTraining, Layer, make_plan, sklearns_draw
from ._outcome import (
    History,
    fitted_attributes,
    fitted_weights,
    in_units_of_y,
    survivors,
    told_in_units_of_y,
    warn_about_end,
)
from ._parameters import hidden_activations, near_miss, refuse_what_does_nothing
from ._problem import Problem
from ._progress import ProgressLines
from ._state import from_state, to_state

if TYPE_CHECKING:
    import pandas as pd

REPLACED = (
    *("coefs_", "intercepts_", "_networks", "_slopes", "_no_improvement_count"),
    *("loss_curve_", "best_loss_", "validation_scores_", "best_validation_score_"),
    *("noise_scale_", "min_scale_"),
)
"""Attributes that not every fit sets, so that a new one must not leave an old one's behind."""


class BaseMLP(CallbackSupportMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A multilayer perceptron with scikit-learn's parameters, trained by the stack.

    With one member ``coefs_`` and ``intercepts_`` are the fitted state, which a user may read
    and change, as in scikit-learn; with several it is a list of networks.
    """

    n_features_in_: int
    n_iter_: int
    n_layers_: int
    n_outputs_: int
    out_activation_: str
    t_: int
    loss_: float
    loss_curve_: list[float]
    best_loss_: float | None
    validation_scores_: list[float] | None
    best_validation_score_: float | None

    _runs_its_course: ClassVar[bool] = False
    """Whether all epochs are meant to be run, so that their end is no reason to warn."""

    input_noise: float = 0.0
    max_iter: int | Literal["auto"]
    alpha: float | Literal["auto"]

    _networks: list[Network] | None = None
    _slopes: list[FloatArray | None] | None = None
    _activations: tuple[Activation, ...]
    _head: Head
    _history: History
    _no_improvement_count: int
    _optimizer: LastTraining

    def __init__(
        self,
        *,
        hidden_layer_sizes: Any,
        activation: str | Activation | list[Any] | tuple[Any, ...],
        solver: str,
        alpha: float | Literal["auto"],
        batch_size: int | Literal["auto"],
        learning_rate: str,
        learning_rate_init: float,
        power_t: float,
        max_iter: int,
        loss: str | Head,
        shuffle: bool,
        random_state: int | np.random.RandomState | None,
        tol: float,
        verbose: bool | int,
        warm_start: bool,
        momentum: float,
        nesterovs_momentum: bool,
        early_stopping: bool,
        validation_fraction: float,
        beta_1: float,
        beta_2: float,
        epsilon: float,
        n_iter_no_change: float,
        max_fun: int,
        dropout: float,
        weight_decay: float,
        clip_norm: float | None,
        n_members: int,
        device: str,
        dtype: DtypeName | None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.loss = loss
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.max_fun = max_fun
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.clip_norm = clip_norm
        self.n_members = n_members
        self.device = device
        self.dtype = dtype

    @abstractmethod
    def _problem(
        self, X: Any, y: Any, sample_weight: Any, *, fresh: bool, incremental: bool, classes: Any
    ) -> Problem:
        """Check the data of one call, and return them with the head that fits."""

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, *, incremental: bool, classes: Any = None
    ) -> Self:
        """Check, plan, train, and take what came out; nothing fitted changes before that."""
        fit = self._prepare(X, y, sample_weight, incremental=incremental, classes=classes)
        bridge = None
        if not incremental and getattr(self, "_skl_callbacks", None):
            metadata = None if sample_weight is None else {"sample_weight": sample_weight}
            data = {"X": X, "y": y, "metadata": metadata}
            epochs = fit.plan.members[0].max_epochs if self.n_members == 1 else None
            fitted = self._fitted_by_report(fit.problem, fit.dtype)
            bridge = CallbackBridge(self, data, fitted, max_epochs=epochs)
        self._take(self._train(fit, bridge), fit)
        if bridge is not None:
            bridge.finish()
        return self

    def _begin(self, X: Any, y: Any, sample_weight: Any = None) -> Begun:
        """Check and plan a fit that somebody else trains."""
        self._validate_params()
        fit = self._prepare(X, y, sample_weight, incremental=False)

        def finish(result: StackResult) -> None:
            self._take(in_units_of_y(result, fit.problem), fit)

        return Begun(
            members=fit.plan.members,
            X=fit.problem.X,
            y=fit.problem.y,
            dtype=fit.precision,
            device=self.device,
            finish=finish,
            states=fit.plan.states,
        )

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, *, incremental: bool, classes: Any = None
    ) -> Preparation:
        refuse_what_does_nothing(self, incremental=incremental)
        activations = hidden_activations(self)
        fresh = not self.__sklearn_is_fitted__() or not (self.warm_start or incremental)
        problem = self._problem(
            X, y, sample_weight, fresh=fresh, incremental=incremental, classes=classes
        )
        before = None if fresh else self._networks_with(activations)
        plan = make_plan(self, problem, before, incremental=incremental)
        dtype = problem.X.dtype if before is None else before[0].layers()[0][0].dtype
        return Preparation(plan, problem, dtype, fresh, incremental)

    def _first_layers(
        self, sizes: Sequence[int], random_state: np.random.RandomState
    ) -> list[Layer]:
        """Draw weights and biases of a member."""
        return sklearns_draw(self, sizes, random_state)

    def _epochs(self, n_rows: int, batch_size: int) -> int:
        """Return the most epochs of a training on so many rows."""
        return int(self.max_iter)

    def _train(self, fit: Preparation, bridge: CallbackBridge | None) -> StackResult:
        """Run the engine, telling the terminal and the callbacks about each epoch."""
        problem = fit.problem
        listeners: list[Callable[[EpochReport], bool | None]] = []
        if self.verbose:
            listeners.append(ProgressLines(self))
        if bridge is not None:
            listeners.append(bridge)
        # A member that diverged is reported in this room's own words.
        with warnings.catch_warnings(action="ignore", category=DivergedWarning):
            result = train(
                fit.plan.members,
                problem.X,
                problem.y,
                device=self.device,
                dtype=fit.precision,
                callbacks=[told_in_units_of_y(listener, problem) for listener in listeners],
                states=fit.plan.states,
            )
        return in_units_of_y(result, problem)

    def _take(self, result: StackResult, fit: Preparation) -> None:
        """Set every fitted attribute, and warn about what a user should know."""
        kept = survivors(self, result)
        curves = fitted_attributes(
            self,
            result,
            fit.plan,
            fit.problem,
            kept,
            fresh=fit.fresh,
            incremental=fit.incremental,
        )
        networks = [result.networks[i] for i in kept]
        fitted = self._fitted_by_networks(networks, fit.problem, fit.dtype)
        if fit.fresh:
            for name in REPLACED:
                self.__dict__.pop(name, None)
        self._set(fitted | curves)
        warn_about_end(self, result, incremental=fit.incremental)

    def _set(self, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    def _fitted_by_report(
        self, problem: Problem, dtype: np.dtype[Any]
    ) -> Callable[[EpochReport], dict[str, Any]]:
        """Return what makes, from a report, the attributes of an estimator that can predict."""

        def attributes(report: EpochReport) -> dict[str, Any]:
            fitted = self._fitted_by_networks(report.networks(), problem, dtype)
            return fitted | {"n_iter_": report.epoch}

        return attributes

    def _fitted_by_networks(
        self, networks: list[Network], problem: Problem, dtype: np.dtype[Any]
    ) -> dict[str, Any]:
        """Return the attributes that prediction needs."""
        return {
            **self._weights_of(networks, dtype),
            **problem.attributes,
            "_activations": hidden_activations(self),
            "_head": problem.head,
            "n_layers_": len(networks[0].sizes),
            "n_outputs_": problem.n_raw,
            "out_activation_": problem.out_activation,
        }

    def _weights_of(
        self, networks: list[Network], dtype: np.dtype[Any] | None = None
    ) -> dict[str, Any]:
        """Return the attributes that hold the weights: arrays of one network, or all networks."""
        return fitted_weights(networks, dtype, alone=self.n_members == 1)

    @abstractmethod
    def _head_of_fit(self) -> Head:
        """Return the head that the parameters, and for a classifier its labels, ask for."""

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what describes the fitted estimator as JSON, and its arrays."""
        return to_state(self)

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the estimator that `_to_state` described."""
        return from_state(cls, config, arrays)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are weights."""
        return self._networks is not None or "coefs_" in vars(self)

    @property
    def coefs_(self) -> list[FloatArray]:
        """Weights of each layer, arrays of shape (in, out)."""
        return self._of_one_member("coefs_")

    @coefs_.setter
    def coefs_(self, value: list[FloatArray]) -> None:
        self.__dict__["coefs_"] = value

    @property
    def intercepts_(self) -> list[FloatArray]:
        """Biases of each layer, arrays of shape (out,)."""
        return self._of_one_member("intercepts_")

    @intercepts_.setter
    def intercepts_(self, value: list[FloatArray]) -> None:
        self.__dict__["intercepts_"] = value

    def _of_one_member(self, name: str) -> list[FloatArray]:
        if self._networks is not None:
            raise AttributeError(
                f"{name} belongs to one network, and this {type(self).__name__} has "
                f"{len(self._networks)} members. Read networks_[i].layers() for those of one."
            )
        if name not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        arrays: list[FloatArray] = vars(self)[name]
        return arrays

    @property
    def networks_(self) -> list[Network]:
        """The fitted networks, one for each member."""
        check_is_fitted(self)
        return self._networks_with(getattr(self, "_activations", hidden_activations(self)))

    def _networks_with(self, activations: tuple[Activation, ...]) -> list[Network]:
        """Return the networks; one member's shares the memory of ``coefs_``."""
        if self._networks is not None:
            return list(self._networks)
        layers = [(w.T, b) for w, b in zip(self.coefs_, self.intercepts_, strict=True)]
        return [
            Network.from_arrays(layers, activations or "identity", slopes=self._slopes, copy=False)
        ]

    @property
    def history_(self) -> pd.DataFrame:
        """A row for each member and epoch, in the units of ``loss_curve_``."""
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame(self._history)

    def _validate_params(self) -> None:
        """Check the parameters by scikit-learn's rules; a near miss is suggested."""
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            raise InvalidParameterError(f"{error}{near_miss(str(error), self)}") from error

    def _check_solver(self) -> bool:
        """Say that partial_fit does not exist for L-BFGS."""
        if self.solver == "lbfgs":
            raise AttributeError(
                f"partial_fit is only available for stochastic optimizers. {self.solver} is not "
                "stochastic."
            )
        return True

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: sparse input is fine."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
