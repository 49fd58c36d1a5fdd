"""Loss by epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lamina._checks import shown, suggestion
from lamina._errors import DataError

from ._style import axes_or_new, colour, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_CURVES = {"train_loss": "training", "valid_loss": "held out"}


def plot_history(
    history: pd.DataFrame, *, name: str = "loss", log: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw training and held-out loss against the epoch, a thin line per member.

    The axis is logarithmic unless a loss is zero or negative, as a density's may be: then it is
    linear. A dot marks each member's lowest held-out loss.

    Parameters
    ----------
    history : DataFrame
        Columns ``epoch``, ``train_loss``, and where known ``member`` and ``valid_loss``: the
        ``history_`` of an estimator or the ``history`` of a stack.
    name : str, default="loss"
        Label of the vertical axis, with its unit.
    log : bool, default=True
        Whether to use a logarithmic axis where that is possible.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> import pandas as pd
    >>> from lamina.plots import plot_history
    >>> history = pd.DataFrame({"epoch": [1, 2, 3], "train_loss": [1.0, 0.1, 0.01]})
    >>> plot_history(history).get_yscale()
    'log'
    """
    _check_columns(history)
    with style():
        ax = axes_or_new(ax)
        drawn = [
            _draw_curves(ax, history, column, label, index)
            for index, (column, label) in enumerate(_CURVES.items())
            if column in history and bool(history[column].notna().any())
        ]
        if log and all(lowest > 0 for lowest in drawn):
            ax.set_yscale("log")
        ax.set_xlabel("epoch")
        ax.set_ylabel(name)
        ax.legend()
    return ax


def _check_columns(history: pd.DataFrame) -> None:
    """Raise if a column that is needed is missing."""
    for column in ("epoch", "train_loss"):
        if column not in history:
            raise DataError(
                f"history must have a column {column!r}. Got {shown(list(history.columns))}."
                f"{suggestion(column, map(str, history.columns))}"
            )


def _draw_curves(ax: Axes, history: pd.DataFrame, column: str, label: str, index: int) -> float:
    """Draw one column, a line per member; return its lowest value."""
    members = history["member"] if "member" in history else np.zeros(len(history), dtype=int)
    groups = [rows.dropna(subset=[column]) for _, rows in history.groupby(members)]
    groups = [rows for rows in groups if len(rows)]
    alone = len(groups) == 1
    for i, rows in enumerate(groups):
        ax.plot(
            rows["epoch"],
            rows[column],
            color=colour(index),
            linewidth=1.6 if alone else 0.7,
            alpha=1.0 if alone else 0.6,
            label=label if i == 0 else None,
        )
        if column == "valid_loss":
            best = rows.iloc[[int(np.argmin(rows[column]))]]
            ax.plot(best["epoch"], best[column], "o", color=colour(index), label=None)
    return min(float(rows[column].min()) for rows in groups)
