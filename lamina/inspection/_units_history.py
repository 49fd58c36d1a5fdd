"""Watch units and gradients while networks train."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer, check_real
from lamina._errors import ParameterError
from lamina._typing import Array

from ._axes import BLUE, axes_or_new
from ._gradients import GradientsResult, gradients
from ._units import UnitLayer, UnitsResult, units

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class UnitHistory:
    """A callback for training that keeps, epoch by epoch, what the units and gradients do.

    Hand it to ``lamina.stack.train(callbacks=[...])``, or to ``set_callbacks`` of an estimator.
    It changes nothing and never stops the training. With `observe` it takes in networks at any
    other time: before the training, as epoch 0, from which movement is then measured, or after
    it. A second ``fit`` of an estimator starts the history anew.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows to look at: as the networks take them, or, in ``set_callbacks``, as the estimator
        does, for example a table.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
        Their targets. Only used with ``head``.
    head : head of lamina.heads, or callable, default=None
        The error whose gradient is measured, see `gradients`. None leaves gradients out.
    every : int, default=1
        Look after each so many epochs.
    saturation : float, default=0.05
        See `units`.

    Attributes
    ----------
    columns : dict of str to list
        The columns of `history`.
    dead : list of tuple
        Of each look: member, epoch, and the dead hidden units as (layer, unit).

    Raises
    ------
    ParameterError
        If ``every`` is no positive whole number, or one of ``y`` and ``head`` is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.inspection import UnitHistory
    >>> from lamina.nn import Network
    >>> from lamina.stack import Member, train
    >>> X = np.linspace(-1, 1, 32)[:, None]
    >>> start = Network((1, 8, 1), random_state=0)
    >>> watch = UnitHistory(X)
    >>> watch.observe([start])
    >>> result = train([Member((8,), init=start, max_epochs=3)], X, X[:, 0], callbacks=[watch])
    >>> watch.history[["epoch", "layer", "n_units"]].values.tolist()
    [[0, 1, 8], [1, 1, 8], [2, 1, 8], [3, 1, 8]]

    In an estimator:

    >>> from lamina import MLPRegressor
    >>> watch = UnitHistory(X)
    >>> model = MLPRegressor(hidden_layer_sizes=(8,), tol=1.0, n_iter_no_change=1, random_state=0)
    >>> model = model.set_callbacks(watch).fit(X, X[:, 0])
    >>> watch.history[["epoch", "layer", "n_units"]].values.tolist()
    [[1, 1, 8], [2, 1, 8], [3, 1, 8]]
    """

    def __init__(
        self, X: Any, y: Any = None, head: Any = None, *, every: int = 1, saturation: float = 0.05
    ) -> None:
        if (y is None) != (head is None):
            raise ParameterError(
                "y and head must be given together, or neither. Got only one. "
                "Both are needed for gradients, none for units."
            )
        self._X, self._y, self._head = X, y, head
        self._every = check_integer("every", every, 1)
        self._saturation = check_real("saturation", saturation, 0.0, 1.0)
        self._start: dict[int, Any] = {}
        self._rows: Any = X
        self._fitted = False
        self.columns: dict[str, list[Any]] = {}
        self.dead: list[tuple[int, int, list[tuple[int, int]]]] = []

    def __call__(self, report: Any) -> None:
        """Look at the networks of an epoch; ``train`` calls it."""
        if report.epoch % self._every == 0:
            self.observe(report.networks(), report.epoch, report.members)

    def setup(self, estimator: Any, context: Any) -> None:
        """Forget an earlier ``fit``; the estimator calls it."""
        if self._fitted:
            self._start, self.columns, self.dead, self._fitted = {}, {}, [], False

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing; scikit-learn asks a callback to have it."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing; scikit-learn asks a callback to have it."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool:
        """Look at the networks of an epoch; ``fit`` of an estimator calls it."""
        report = getattr(context, "report", None)
        if report is not None and fitted_estimator is not None:
            self._rows, self._fitted = _network_rows(fitted_estimator, self._X), True
            self(report)
        return False

    def observe(
        self, networks: Sequence[Any], epoch: int = 0, members: Sequence[int] | None = None
    ) -> None:
        """Look at networks, by default before the training.

        Parameters
        ----------
        networks : sequence of Network or torch module
            The networks.
        epoch : int, default=0
            Epochs that they have been trained. Movement is measured from epoch 0.
        members : sequence of int, default=None
            Places of the networks among the members. None counts from 0.
        """
        places = range(len(networks)) if members is None else members
        for member, network in zip(places, networks, strict=True):
            if epoch == 0:
                self._start[member] = network
            start = self._start.get(member)
            found = units(network, self._rows, initial=start, saturation=self._saturation)
            told = None
            if self._head is not None:
                told = gradients(network, self._rows, self._y, self._head)
            self._keep(member, epoch, found, told)

    def _keep(
        self, member: int, epoch: int, found: UnitsResult, told: GradientsResult | None
    ) -> None:
        """Add a row for each layer, the output left out unless it is all there is."""
        self.dead.append((member, epoch, found.dead))
        for layer in found.layers[:-1] or found.layers:
            row = {"member": member, "epoch": epoch, **_row(layer)}
            if told is not None:
                gradient = told.layers[layer.layer - 1]
                row |= {"gradient_norm": gradient.norm, "signal": gradient.signal}
            for name, value in row.items():
                self.columns.setdefault(name, []).append(value)

    @property
    def history(self) -> pd.DataFrame:
        """A table with a row for each look, member and hidden layer.

        Columns: member, epoch, layer, n_units, dead, always_on, constant (numbers of units),
        saturated_share (mean of the units), moved (their mean; NaN without a look at epoch 0),
        and with a head gradient_norm and signal, see `gradients`.
        """
        import pandas as pd

        return pd.DataFrame(self.columns)

    def plot(self, what: str = "dead", *, member: int = 0, ax: Axes | None = None) -> Axes:
        """Draw a column of the history against the epoch, a line for each layer.

        Parameters
        ----------
        what : str, default="dead"
            Name of a column.
        member : int, default=0
            Which member.
        ax : Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        Axes
            The axes drawn into.
        """
        numbers = sorted(set(self.columns) - {"member", "epoch", "layer"})
        if what not in numbers:
            raise ParameterError(f"what must be one of {numbers}. Got {what!r}.")
        arrays: dict[str, Array] = {name: np.array(v) for name, v in self.columns.items()}
        own = arrays["member"] == member
        if not own.any():
            raise ParameterError(f"member must be one that was looked at. Got {member!r}.")
        axes = axes_or_new(ax)
        layers = np.unique(arrays["layer"][own]).tolist()
        for layer in layers:
            rows = own & (arrays["layer"] == layer)
            # Early layers dark, late ones light: an order, and one that prints in grey.
            shade = (
                1.0 if len(layers) == 1 else 1.0 - 0.7 * layers.index(layer) / (len(layers) - 1)
            )
            axes.plot(
                arrays["epoch"][rows],
                arrays[what][rows],
                color=BLUE,
                alpha=shade,
                label=f"layer {layer}",
            )
        axes.set_xlabel("epoch")
        axes.set_ylabel(what.replace("_", " "))
        axes.legend(loc="best")
        return axes


def _network_rows(estimator: Any, X: Any) -> Any:
    """Return rows as the networks of a fitted estimator take them: encoded or standardised."""
    encoder = getattr(estimator, "encoder_", None)
    if encoder is not None:
        return encoder.transform(X)
    mean = getattr(estimator, "input_mean_", None)
    return X if mean is None else (np.asarray(X) - mean) / estimator.input_scale_


def _row(layer: UnitLayer) -> dict[str, Any]:
    """Return what is kept of a layer."""
    return {
        "layer": layer.layer,
        "n_units": layer.n_units,
        "dead": int(layer.dead.sum()),
        "always_on": int(layer.always_on.sum()),
        "constant": int(layer.constant.sum()),
        "saturated_share": float(layer.saturated_share.mean()),
        "moved": float("nan") if layer.moved is None else float(layer.moved.mean()),
    }
