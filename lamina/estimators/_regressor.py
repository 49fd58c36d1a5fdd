"""The multilayer perceptron as a regressor."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from lamina._typing import DtypeName, FloatArray
from lamina.heads import Custom, Head, Normal, Poisson, get_head
from lamina.nn import Activation

from ._inputs import check_new_data, check_training_data, refuse_text_target
from ._mlp import BaseMLP
from ._parameters import REGRESSOR_CONSTRAINTS
from ._prediction import mean_over_members
from ._problem import Problem
from ._weights import check_weights


class MLPRegressor(RegressorMixin, BaseMLP):  # type: ignore[misc]
    """Doc."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = REGRESSOR_CONSTRAINTS

    def __init__(
        self,
        loss: str | Head = "squared_error",
        hidden_layer_sizes: Any = (100,),
        activation: str | Activation | list[Any] | tuple[Any, ...] = "relu",
        *,
        solver: str = "adam",
        alpha: float = 0.0001,
        batch_size: int | Literal["auto"] = "auto",
        learning_rate: str = "constant",
        learning_rate_init: float = 0.001,
        power_t: float = 0.5,
        max_iter: int = 200,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        tol: float = 1e-4,
        verbose: bool | int = False,
        warm_start: bool = False,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: float = 10,
        max_fun: int = 15000,
        dropout: float = 0.0,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
        n_members: int = 1,
        device: str = "auto",
        dtype: DtypeName | None = None,
    ) -> None:
        super().__init__(
            hidden_layer_sizes=hidden_layer_sizes,
            activation=activation,
            solver=solver,
            alpha=alpha,
            batch_size=batch_size,
            learning_rate=learning_rate,
            learning_rate_init=learning_rate_init,
            power_t=power_t,
            max_iter=max_iter,
            loss=loss,
            shuffle=shuffle,
            random_state=random_state,
            tol=tol,
            verbose=verbose,
            warm_start=warm_start,
            momentum=momentum,
            nesterovs_momentum=nesterovs_momentum,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            n_iter_no_change=n_iter_no_change,
            max_fun=max_fun,
            dropout=dropout,
            weight_decay=weight_decay,
            clip_norm=clip_norm,
            n_members=n_members,
            device=device,
            dtype=dtype,
        )

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the network to data and targets.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0. A row of weight 0 is as good as absent.

        Returns
        -------
        self : MLPRegressor
            The fitted regressor.
        """
        return self._fit(X, y, sample_weight, incremental=False)

    @available_if(lambda self: self._check_solver())
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train for one epoch over the given data, from where the last call ended.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0.

        Returns
        -------
        self : MLPRegressor
            The regressor after one more epoch.
        """
        return self._fit(X, y, sample_weight, incremental=True)

    def _problem(
        self, X: Any, y: Any, sample_weight: Any, *, fresh: bool, incremental: bool, classes: Any
    ) -> Problem:
        X, y = check_training_data(self, X, y, dtype=self.dtype, reset=fresh, numeric_target=True)
        refuse_text_target(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        head = Normal() if self.loss == "squared_error" else get_head(self.loss)
        targets = head.targets(y)
        return Problem(
            X=X,
            y=targets,
            head=head,
            n_raw=head.n_raw(head.n_targets(targets)),
            out_activation="exp" if isinstance(head, Poisson) else "identity",
            weight=check_weights(sample_weight, X),
        )

    def predict(self, X: Any) -> FloatArray:
        """Return the predicted targets: the mean of the head, and of the members.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions in the precision of the network.
        """
        check_is_fitted(self)
        mean = mean_over_members(self.networks_, self._head, check_new_data(self, X))
        return mean.ravel() if mean.shape[1] == 1 else mean
