"""What the two transfers share: reading a source, two stages of training, and what comes out."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, _clone_parametrized, clone
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from lamina._errors import ParameterError
from lamina._typing import Array, DtypeName, FloatArray
from lamina.nn import Activation, Network
from lamina.tables import target_name

from ._mlp import BaseMLP
from ._parameters import CONSTRAINTS, SOLVERS, Names, hidden_sizes
from ._transfer_fit import Fitting, Outcome
from ._transfer_inputs import Data, check_data, is_fitted, new_rows, pretrain, tags_of
from ._transfer_outputs import Outputs
from ._transfer_report import TransferResult
from ._transfer_state import from_state, to_state
from ._transfer_unit import TargetUnit
from ._trunk import Trunk
from ._trunk_inputs import Step

Strategy = Literal["frozen", "last", "fine_tune"]

TRANSFER_CONSTRAINTS: dict[str, list[Any]] = {
    **{
        name: CONSTRAINTS[name]
        for name in (
            *("hidden_layer_sizes", "activation", "batch_size", "dropout", "early_stopping"),
            *("validation_fraction", "n_members", "random_state", "verbose", "device", "dtype"),
        )
    },
    "pretrained": "no_validation",  # type: ignore[dict-item]
    "strategy": [Names({"frozen", "last", "fine_tune"})],
    "n_layers": [Interval(Integral, 1, None, closed="left")],
    "solver": [Names({*SOLVERS, "auto"})],
    "alpha": [Names({"auto"}), Interval(Real, 0, None, closed="left")],
    "learning_rate_init": [Names({"auto"}), Interval(Real, 0, None, closed="neither")],
    "max_iter": [Names({"auto"}), Interval(Integral, 1, None, closed="left")],
}


class BaseTransfer(BaseEstimator, ABC):  # type: ignore[misc]
    """A network whose lower layers come from another task."""

    pretrained: Any
    strategy: Strategy
    n_layers: int
    hidden_layer_sizes: Any
    activation: str | Activation | list[Any] | tuple[Any, ...]
    solver: str
    alpha: float | Literal["auto"]
    batch_size: int | Literal["auto"]
    learning_rate_init: float | Literal["auto"]
    max_iter: int | Literal["auto"]
    dropout: float
    early_stopping: bool
    validation_fraction: float
    n_members: int
    random_state: int | np.random.RandomState | None
    verbose: bool | int
    device: str
    dtype: DtypeName | None

    predictor_: BaseMLP
    source_: Trunk | None
    transfer_: TransferResult
    n_features_in_: int
    target_name_: str | None

    _numeric_target: ClassVar[bool]
    _predictor_kind: ClassVar[type[BaseMLP]]
    _tables: bool
    _steps: tuple[Step, ...]

    @abstractmethod
    def _top(self) -> BaseMLP:
        """Return a new perceptron with the parameters of this task: loss, class weights."""

    @abstractmethod
    def _first_outputs(self, trunk: Trunk, k: int, y: Any) -> Outputs | None:
        """Return the output rows that are copied from network k, if any."""

    def _unit_of(self, y: Any, weight: FloatArray | None) -> TargetUnit | None:
        """Return the unit of a target that is learned standardised, if it is."""
        return None

    @abstractmethod
    def _label_origins(self, trunk: Trunk | None, predictor: Any) -> dict[Any, str]:
        """Return what became of the output row of each label."""

    @property
    def _begins_at_outputs(self) -> bool:
        """Whether output rows are copied, so that the place where training begins counts."""
        return False

    def _fit(self, X: Any, y: Any, sample_weight: Any, X_unlabelled: Any) -> Self:
        """Read the source, train what is to be trained, and compose the whole networks."""
        self._validate_params()
        self._check_strategy()
        fresh = copy.copy(self)  # so that a fit that fails leaves the one before as it was
        fresh.target_name_ = target_name(y)
        data = check_data(fresh, X, y, sample_weight, X_unlabelled)
        trunk = None if fresh.pretrained is None else pretrain(fresh, data)
        outcome = Fitting(fresh, trunk, data).run()
        fresh._take(outcome, trunk, data)
        self.__dict__ = fresh.__dict__
        return self

    def _take(self, outcome: Outcome, trunk: Trunk | None, data: Data) -> None:
        self.source_, self._steps = trunk, outcome.steps
        self.transfer_, self.predictor_ = outcome.report, outcome.predictor
        self._tables = data.tables

    def _check_strategy(self) -> None:
        """Refuse parameters that would do nothing, and depths that the source cannot have."""
        if self.n_layers != 1 and self.strategy != "last":
            raise ParameterError(
                f"n_layers must be 1 unless strategy='last', which retrains so many layers. Got "
                f"{self.n_layers} with strategy={self.strategy!r}."
            )
        if self.pretrained is None and self.strategy == "last":
            raise ParameterError(
                "strategy must be 'frozen' or 'fine_tune' without a pretrained model, which mean "
                "the same there. Got 'last', and there are no layers to count."
            )
        only_outputs = self.pretrained is None or self.strategy == "frozen"
        if self.dropout and only_outputs and not hidden_sizes(self):
            raise ParameterError(
                f"dropout must be 0.0 where outputs alone are trained, which have no hidden units "
                f"to switch off. Got {self.dropout}. Add hidden_layer_sizes, or let copied layers "
                "be trained."
            )
        if self.early_stopping and self.solver == "lbfgs":
            raise ParameterError(
                "early_stopping must be False with solver='lbfgs', which runs to the minimum. "
                "Got True. Choose another solver, or solver='auto'."
            )

    def inputs(self, X: Any) -> Any:
        """Return rows as `networks_` take them: encoded and scaled.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (n_samples, n_features)
            Inputs, as the source takes them.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_inputs)
        """
        check_is_fitted(self)
        return new_rows(self, X)

    @property
    def networks_(self) -> list[Network]:
        """The whole networks, from prepared inputs to raw outputs, one for each member."""
        check_is_fitted(self)
        return self.predictor_.networks_

    @property
    def network_(self) -> Network:
        """The whole network; only with one member."""
        networks = self.networks_
        if len(networks) > 1:
            raise AttributeError(
                f"network_ belongs to one network, and this {type(self).__name__} has "
                f"{len(networks)}. Use networks_[i]."
            )
        return networks[0]

    @property
    def n_iter_(self) -> int:
        """Epochs, or iterations of L-BFGS, of the last stage."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("n_iter_ is there once the estimator has been fitted.")
        return self.predictor_.n_iter_

    @property
    def history_(self) -> Any:
        """A row for each member and epoch of the last stage of training."""
        check_is_fitted(self)
        return self.predictor_.history_

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with ``deep`` those of an unfitted source, too.

        Parameters
        ----------
        deep : bool, default=True
            Whether parameters of the source are told. Those of a fitted one change nothing.

        Returns
        -------
        dict
            Values by name.
        """
        params: dict[str, Any] = super().get_params(deep=False)
        if deep and not is_fitted(self.pretrained) and isinstance(self.pretrained, BaseEstimator):
            inner = self.pretrained.get_params()
            params |= {f"pretrained__{name}": value for name, value in inner.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, and those of an unfitted source by ``pretrained__name``.

        Parameters
        ----------
        **params
            Values by name.

        Returns
        -------
        self : TransferClassifier or TransferRegressor
            The estimator.
        """
        source = params.get("pretrained", self.pretrained)
        inner = [name for name in params if name.startswith("pretrained__")]
        if inner and is_fitted(source):
            found = "none" if source is None else f"a fitted {type(source).__name__}"
            raise ParameterError(
                f"{inner[0]} must belong to a source that is not fitted yet. Got {found}, of "
                "which the weights alone are read. Give an unfitted encoder to have it fitted "
                "with other parameters."
            )
        super().set_params(**params)
        return self

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that keeps a fitted source, whose weights are the point."""
        shell = copy.copy(self)
        shell.pretrained = None
        copied: Self = _clone_parametrized(shell)
        fitted = self.pretrained is None or is_fitted(self.pretrained)
        copied.pretrained = self.pretrained if fitted else clone(self.pretrained)
        return copied

    def __sklearn_is_fitted__(self) -> bool:
        return "predictor_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: rows are what the source takes."""
        tags = super().__sklearn_tags__()
        source = tags_of(self.pretrained)
        tags.input_tags.sparse = source is None or source.input_tags.sparse
        if source is not None:
            for name in ("allow_nan", "categorical", "string"):
                setattr(tags.input_tags, name, getattr(source.input_tags, name))
        return tags

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what describes the fitted estimator as JSON, and its arrays."""
        return to_state(self)

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the estimator that `_to_state` described."""
        return from_state(cls, config, arrays)
