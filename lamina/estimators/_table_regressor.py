"""Regression on a table as it comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from lamina._checks import check_choice
from lamina._errors import ParameterError
from lamina._typing import Array, FloatArray
from lamina.distributions import Predictive
from lamina.heads import Bernoulli, Categorical, Custom, Head, Poisson, get_head
from lamina.nn import Activation, Network
from lamina.tables import TargetScaler, regression_target

from ._losses import is_squared_error
from ._parameters import REGRESSION_LOSSES
from ._prediction import predictive_distribution
from ._regression import NAMED
from ._table_base import BaseTable, TableTarget, in_double
from ._table_predictive import TablePredictive
from ._table_recipe import NumericEmbedding, Preset
from ._table_spread import HeldOut, noise_of_least_squares, widened
from ._table_state import below, from_state, to_state
from ._ties import warn_about_ties


class TableRegressor(TablePredictive, RegressorMixin, BaseTable):  # type: ignore[misc]
    r"""Predict numbers from a table with columns of any kind.

    `TableEncoder` turns the table into a matrix, the target is standardised in float64, and an
    ensemble of small networks learns it. Each member holds out other rows, which stop it before
    it learns the others by heart. The prediction is the members' mean, in units of y, and its
    distribution is the mixture of theirs:

    .. math:: \hat y(x) = \frac1K \sum_k \mathrm E_k[y \mid x], \qquad
              p(y \mid x) = \frac1K \sum_k p_k(y \mid x)

    Use `MLPRegressor` to choose architecture and training yourself.

    Parameters
    ----------
    preset : {"default", "fast", "best"}, default="default"
        How much effort to spend: up to 8, 2 or 24 networks; above 20,000 rows, half as many.
    loss : str or Head, default="squared_error"
        What is learnt of the target. "squared_error": its mean; the spread is that of the
        held-out residuals. "normal": a normal distribution with one learnt scale.
        "heteroscedastic": one whose scale depends on the row. "mixture": three normal
        components. "poisson": the rate of counts. A head says all else.
    time_limit : float or None, default=None
        Most seconds for fitting, encoding included. One epoch is timed first; if time is short,
        nothing competes, then there are fewer members, and then fewer epochs, whose learning
        rate comes down all the same. The epoch that runs is finished.
    n_members : int or None, default=None
        Number of networks; None leaves it to the preset.
    metric : {"rmse", "mae"} or None, default=None
        With ``loss="squared_error"``, what training minimises and the best epoch is chosen by:
        the squared error, which leads to the mean, or the absolute error, which leads to the
        median and to no distribution. None is "rmse", or the loss.
    numeric_embedding : {"auto", "piecewise_linear", "periodic", "none"}, default="auto"
        What networks see of a number beside its scaled value z. "piecewise_linear": how far it
        has come through each of its quantile bins. "periodic": cosines and sines of multiples
        of z. "auto" lets members with bins, with long waves only and with short ones, too,
        compete on the rows that they hold out; the ensemble is shared out among them.
    hidden_layer_sizes : int or sequence of int or None, default=None
        Units of each hidden layer; None leaves it to the preset.
    activation : str, Activation or None, default=None
        Activation of the hidden layers; None leaves it to the preset.
    learning_rate : float or None, default=None
        Size of the first steps of AdamW; None leaves it to the preset.
    dropout : float or None, default=None
        Share of hidden units that are switched off in each step; None leaves it to the preset,
        with which members differ.
    weight_decay : float or None, default=None
        How much weights shrink, times the learning rate; None leaves it to the preset.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, the held-out rows, the order of rows and dropout.
    device : str, default="auto"
        Where training runs: "auto" is a CUDA device where there is one, else the CPU.
    verbose : bool, default=False
        Whether to print the loss of each epoch.
    categorical_features : sequence of str or int, default=None
        Columns to take for categories whatever they hold, by name or position.

    Attributes
    ----------
    encoder_ : TableEncoder
        What the columns were taken for; see its ``report()``.
    target_scaler_ : TargetScaler or None
        Mean and standard deviation of the target. None where the loss has units of its own, such
        as that of counts.
    noise_scale_ : ndarray of shape (n_outputs,)
        Root mean squared residual of the members on the rows that they held out, in units of y.
        Only with least squares.
    scale_factor_ : float
        What the learnt scales were multiplied by, so that they fit the held-out rows. Not with
        least squares.
    min_scale_ : ndarray of shape (n_outputs,)
        The floor of the scales in units of y: the head's ``min_scale``, 0.001 unless said
        otherwise, times the standard deviation of the target. Only with a learnt scale.
    networks_ : list of Network
        The members that were trained. Their inputs are the encoder's columns, their outputs
        standardised.
    history_ : DataFrame
        A row for each member and epoch, with losses of the standardised target.
    families_ : DataFrame
        A row for each family of members that competed: how many were ``trained`` and ``kept``,
        the ``weight`` that its held-out rows give it, and the members' mean ``held_out_loss``.
    timed_out_ : bool
        Whether ``time_limit`` made the ensemble smaller or ended its training.
    target_name_ : str or None
        Name of ``y`` if it was a Series.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names; only if ``X`` was a DataFrame.

    Notes
    -----
    The default recipe: two hidden layers of 192 and 96 ReLU units, AdamW with a cosine schedule
    from 0.003 down, half of the members with dropout; of three ways to see a number, the best
    for this table or a mixture of them, for which members compete. What each of these buys is
    in docs/tables.md. ``python -m benchmarks.tables`` compares with gradient boosting and other
    networks. From 10,000 rows on fewer members compete, and above 20,000 half as many are kept.
    With fewer than ten rows nothing is held out.

    Each member holds out an eighth of the rows, half of which its neighbour holds out, too. So
    there are rows that neither has seen, and all scales are multiplied by one factor under which
    the mixture of the members is right for such rows. ``python -m benchmarks.intervals``
    compares coverage and log density with NGBoost. Of a target with few distinct values a
    learnt log density is set by the floor of the scales.

    Predictions are not clipped to the range of the fitted targets. Far outside the fitted range
    of a column they are constant in it, since its encoding is.

    References
    ----------
    .. [1] Yu. Gorishniy, I. Rubachev, A. Babenko, On embeddings for numerical features in tabular
       deep learning, NeurIPS 2022, https://arxiv.org/abs/2203.05556
    .. [2] B. Lakshminarayanan, A. Pritzel, C. Blundell, Simple and scalable predictive uncertainty
       estimation using deep ensembles, NeurIPS 2017, https://arxiv.org/abs/1612.01474

    Examples
    --------
    >>> import pandas as pd
    >>> from lamina import TableRegressor
    >>> table = pd.DataFrame({"kind": list("abcd") * 25, "size": range(100)})
    >>> price = 1e6 + 1e3 * table["size"]
    >>> model = TableRegressor(random_state=0).fit(table, price)
    >>> model.score(table, price) > 0.99
    True

    With the spread of each row:

    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(size=100) * np.where(table["kind"] == "a", 9, 1)
    >>> model = TableRegressor(loss="heteroscedastic", n_members=2, random_state=0)
    >>> wide, narrow, _, _ = model.fit(table, noise).predict(table[:4], return_std=True)[1]
    >>> bool(wide > 1.2 * narrow)
    True
    """

    target_scaler_: TargetScaler | None
    scale_factor_: float
    noise_scale_: FloatArray
    min_scale_: FloatArray

    _metrics: ClassVar[tuple[str, ...]] = ("rmse", "mae")
    _target_type = "continuous"

    def __init__(
        self,
        preset: Preset = "default",
        *,
        loss: str | Head = "squared_error",
        time_limit: float | None = None,
        n_members: int | None = None,
        metric: Literal["rmse", "mae"] | None = None,
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
        super().__init__(
            preset,
            time_limit=time_limit,
            n_members=n_members,
            metric=metric,
            numeric_embedding=numeric_embedding,
            hidden_layer_sizes=hidden_layer_sizes,
            activation=activation,
            learning_rate=learning_rate,
            dropout=dropout,
            weight_decay=weight_decay,
            random_state=random_state,
            device=device,
            verbose=verbose,
            categorical_features=categorical_features,
        )
        self.loss = loss

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.loss, Head):
            check_choice("loss", self.loss, REGRESSION_LOSSES)
        elif isinstance(self.loss, (Bernoulli, Categorical)):
            raise ParameterError(
                f"loss must describe numbers. Got {self.loss!r}. Use TableClassifier for classes."
            )
        if self.metric is not None and self.loss != "squared_error":
            raise ParameterError(
                "metric must be None unless loss is 'squared_error': any other loss is what the "
                f"best epoch is chosen by. Got metric={self.metric!r} and loss={self.loss!r}."
            )

    @property
    def _mean_head(self) -> Head:
        if isinstance(self.loss, Head):
            return self.loss
        return NAMED[self.loss] if self.loss in NAMED else get_head(self.loss)

    def _take_target(self, y: Any, weights: FloatArray | None) -> TableTarget:
        values = regression_target(y)
        head = self._mean_head
        columns = head.targets(values.reshape(len(values), -1))
        warn_about_ties(head, columns)
        attributes: dict[str, Any] = {"target_scaler_": None}
        if head.location_scale or is_squared_error(head):
            scaler = TargetScaler().fit(columns, weights)
            columns = scaler.transform(columns)
            attributes["target_scaler_"] = scaler
            floor: float | None = getattr(head, "min_scale", None)
            if floor is not None and head.location_scale:
                attributes["min_scale_"] = floor * _unit(scaler)
        if self.metric == "mae":
            head = Custom(_absolute_error, n_raw=columns.shape[1], name="absolute error")
        return TableTarget(columns, head, None, attributes)

    def _start(
        self, matrix: FloatArray, target: TableTarget, weights: FloatArray | None, seed: int
    ) -> Array | None:
        if not isinstance(target.head, Poisson):
            return super()._start(matrix, target, weights, seed)
        mean = np.average(target.values, axis=0, weights=weights)
        logs: FloatArray = np.log(np.maximum(mean, 1e-3))
        return logs

    def _told_by(self, networks: list[Network], head: Head, held_out: HeldOut) -> dict[str, Any]:
        if is_squared_error(head):
            assert self.target_scaler_ is not None
            noise = noise_of_least_squares(networks, held_out) * _unit(self.target_scaler_)
            return {"networks_": networks, "noise_scale_": noise}
        networks, factor = widened(networks, head, held_out)
        return {"networks_": networks, "scale_factor_": factor}

    def predict(
        self, X: Any, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the expected target in units of y.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            A table with the columns seen at fitting.
        return_std : bool, default=False
            Whether to return the standard deviation of the predicted distribution, too.

        Returns
        -------
        y : ndarray of float64, shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of float64 and the shape of y
            Standard deviations in units of y. Only with ``return_std=True``.
        """
        predicted = self._mean(X)
        if self.target_scaler_ is not None:
            predicted = self.target_scaler_.inverse_transform(predicted)
        predicted = predicted[:, 0] if predicted.shape[1] == 1 else predicted
        return (predicted, self.predict_dist(X).std()) if return_std else predicted

    def predict_dist(self, X: Any) -> Predictive:
        """Return the distribution of the target in each row, in units of y.

        With least squares every member says a normal distribution of standard deviation
        ``noise_scale_``; with any other loss it is what the loss describes. It is the mixture of
        the members'.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            A table with the columns seen at fitting.

        Returns
        -------
        Predictive
            Moments, quantiles, intervals, modes, densities, samples and scores of each row.

        Raises
        ------
        ParameterError
            If ``metric="mae"`` or the loss is a bare function: they describe no distribution.
        """
        check_is_fitted(self)
        if self.metric == "mae":
            raise ParameterError(
                "metric must be 'rmse' or None for a distribution. Got 'mae'. "
                "Use loss='heteroscedastic' and the median of what it predicts."
            )
        loc: Any = 0.0
        scale: Any = 1.0
        noise = None
        if self.target_scaler_ is not None:
            loc, scale = self.target_scaler_.mean_, _unit(self.target_scaler_)
        if is_squared_error(self._mean_head):
            noise = self.noise_scale_ / scale
        matrix = self.encoder_.transform(X)
        networks = in_double(self.networks_)
        return predictive_distribution(
            networks, self._mean_head, matrix, loc=loc, scale=scale, noise=noise
        )

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return parameters, encoder, networks and scaler."""
        config, arrays = to_state(self)
        if self.target_scaler_ is not None:
            _, scaler = self.target_scaler_._to_state()
            arrays |= {f"target.{name}": array for name, array in scaler.items()}
        for name in ("noise_scale_", "min_scale_"):
            if name in vars(self):
                arrays[name] = getattr(self, name)
        if "scale_factor_" in vars(self):
            config["scale_factor"] = self.scale_factor_
        return config, arrays

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Restore a regressor."""
        model = from_state(cls, config, arrays)
        scaler = below(arrays, "target.")
        model.target_scaler_ = TargetScaler._from_state({}, scaler) if scaler else None
        for name in ("noise_scale_", "min_scale_"):
            if name in arrays:
                setattr(model, name, arrays[name])
        if "scale_factor" in config:
            model.scale_factor_ = float(config["scale_factor"])
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self.loss == "poisson" or isinstance(self.loss, Poisson)
        return tags


def _unit(scaler: TargetScaler) -> FloatArray:
    """Return what one unit of the standardised target is in y.

    Of a constant target it is the rounding error of the constant, so that a distribution sits
    on it.
    """
    size = np.abs(scaler.mean_)
    rounding = np.finfo(np.float64).eps * np.where(size > 0, size, 1.0)
    return np.where(scaler.scale_ > 0, scaler.scale_, rounding)


def _absolute_error(raw: Tensor, y: Tensor) -> Tensor:
    """Return the absolute error of each row, summed over the outputs."""
    return (raw - y).abs().sum(-1)
