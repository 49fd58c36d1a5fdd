"""Regression on a table as it comes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from sklearn.base import RegressorMixin
from torch import Tensor

from lamina._typing import Array, FloatArray
from lamina.heads import Custom, Head, Normal
from lamina.tables import TargetScaler, regression_target

from ._table_base import BaseTable, TableTarget
from ._table_state import below, from_state, to_state


class TableRegressor(RegressorMixin, BaseTable):  # type: ignore[misc]
    r"""Predict numbers from a table with columns of any kind.

    `TableEncoder` turns the table into a matrix, the target is standardised in float64, and an
    ensemble of small networks learns its mean by least squares. Each member holds out other
    rows, which stop it before it learns the others by heart, and the prediction is the members'
    mean, in units of y:

    .. math:: \hat y(x) = \bar y + \frac{s}{K} \sum_k a_k(x)

    Use `MLPRegressor` to choose architecture and training yourself.

    Parameters
    ----------
    preset : {"default", "fast", "best"}, default="default"
        How much effort to spend: up to 8, 2 or 24 networks; above 20,000 rows, half as many.
    time_limit : float or None, default=None
        Most seconds for fitting. The epoch that runs is finished, and the best weights so far
        are kept; members that never began are left out.
    n_members : int or None, default=None
        Number of networks; None leaves it to the preset.
    metric : {"rmse", "mae"} or None, default=None
        What training minimises and the best epoch is chosen by: the squared error, which leads
        to the mean, or the absolute error, which leads to the median. None is "rmse".
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
    target_scaler_ : TargetScaler
        Mean and standard deviation of the target.
    networks_ : list of Network
        The members that were trained. Their inputs are the encoder's columns, their outputs
        standardised.
    history_ : DataFrame
        A row for each member and epoch, with losses of the standardised target.
    target_name_ : str or None
        Name of ``y`` if it was a Series.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names; only if ``X`` was a DataFrame.

    Notes
    -----
    The default recipe: two hidden layers of 192 and 96 ReLU units, AdamW with a cosine schedule,
    numbers cut at their quantiles; half of the members with dropout, and from 10,000 rows on
    with two learning rates. ``python -m benchmarks.tables`` compares it with gradient boosting.
    With fewer than ten rows nothing is held out.

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
    """

    target_scaler_: TargetScaler

    _metrics: ClassVar[dict[str, Literal["valid_loss", "valid_score"]]] = {
        "rmse": "valid_loss",
        "mae": "valid_loss",
    }
    _target_type = "continuous"

    def _take_target(self, y: Any, weights: FloatArray | None) -> TableTarget:
        values = regression_target(y)
        scaler = TargetScaler().fit(values, weights)
        scaled = scaler.transform(values).reshape(len(values), -1)
        head: Head = Normal()
        if self.metric == "mae":
            head = Custom(_absolute_error, n_raw=scaled.shape[1], name="absolute error")
        return TableTarget(scaled, head, None, {"target_scaler_": scaler})

    @property
    def _mean_head(self) -> Head:
        return Normal()

    def predict(self, X: Any) -> FloatArray:
        """Return the expected target in units of y.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            A table with the columns seen at fitting.

        Returns
        -------
        y : ndarray of float64, shape (n_samples,) or (n_samples, n_outputs)
        """
        scaled = self._mean(X)
        predicted = self.target_scaler_.inverse_transform(scaled)
        return predicted[:, 0] if predicted.shape[1] == 1 else predicted

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return parameters, encoder, networks and scaler."""
        config, arrays = to_state(self)
        _, scaler = self.target_scaler_._to_state()
        return config, arrays | {f"target.{name}": array for name, array in scaler.items()}

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Restore a regressor."""
        model = from_state(cls, config, arrays)
        model.target_scaler_ = TargetScaler._from_state({}, below(arrays, "target."))
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _absolute_error(raw: Tensor, y: Tensor) -> Tensor:
    """Return the absolute error of each row, summed over the outputs."""
    return (raw - y).abs().sum(-1)
