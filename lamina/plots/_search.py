"""Pictures of a search: candidates in their order, scores by rung, parameters side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._errors import DataError
from lamina._typing import FloatArray

from ._style import GREY, axes_or_new, colour, marker, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_search_history(
    scores: Any, rungs: Any = None, *, name: str = "score", ax: Axes | None = None
) -> Axes:
    """Draw the score of each candidate in the order of the search, and the best so far.

    Parameters
    ----------
    scores : array-like of shape (n_candidates,)
        Score of each; larger is better. NaN, of one that diverged, is left out.
    rungs : array-like of shape (n_candidates,), default=None
        The rung that each reached, from 0; each has a colour and a marker. The line of the best
        is over the last of them. None is one for all.
    name : str, default="score"
        Label of the vertical axis.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> from lamina.plots import plot_search_history
    >>> ax = plot_search_history([0.5, 0.7, 0.6, 0.8])
    >>> ax.lines[-1].get_ydata().tolist()
    [0.5, 0.7, 0.7, 0.8]
    """
    told, reached = _checked(scores, rungs)
    numbers = np.arange(1, len(told) + 1)
    with style():
        ax = axes_or_new(ax)
        for i, rung in enumerate(np.unique(reached)):
            own = (reached == rung) & np.isfinite(told)
            label = "candidates" if rungs is None else f"ended in rung {int(rung) + 1}"
            ax.plot(numbers[own], told[own], marker(i), color=colour(i), label=label)
        last = np.isfinite(told) & (reached == reached[np.isfinite(told)].max())
        best = np.maximum.accumulate(told[last])
        ax.step(numbers[last], best, where="post", color="black", linewidth=1.0, label="best")
        ax.set_xlabel("candidate")
        ax.set_ylabel(name)
        ax.legend(loc="best" if len(told) <= 200 else "lower right")
    return ax


def plot_search_rungs(
    paths: Sequence[Mapping[int, float]], *, name: str = "score", ax: Axes | None = None
) -> Axes:
    """Draw the score of each candidate by epoch, rung after rung: who went on, and who left.

    Parameters
    ----------
    paths : sequence of dict of int to float
        Of each candidate, its score after so many epochs.
    name : str, default="score"
        Label of the vertical axis.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into.

    Examples
    --------
    >>> from lamina.plots import plot_search_rungs
    >>> ax = plot_search_rungs([{10: 0.5, 30: 0.7}, {10: 0.4}])
    >>> [line.get_label() for line in ax.lines]
    ['candidate 2', 'candidate 1: best']
    """
    curves = [_curve(path) for path in paths]
    told = [(curve[-1, 0], curve[-1, 1], -i) for i, curve in enumerate(curves) if len(curve)]
    if not told:
        raise DataError("paths must hold a score of at least one candidate. Got none.")
    best = -max(told)[2]
    with style():
        ax = axes_or_new(ax)
        for i in [i for i in range(len(curves)) if i != best] + [best]:
            if len(curves[i]):
                _draw_curve(ax, curves[i], i, best=i == best)
        ax.set_xscale("log")
        ax.set_xticks(*_ticks(curves))
        ax.minorticks_off()
        ax.set_xlabel("epochs")
        ax.set_ylabel(name)
        n = len(told)
        ax.set_title(f"{n} candidate{'' if n == 1 else 's'}; the best is candidate {best + 1}")
    return ax


def _draw_curve(ax: Axes, curve: FloatArray, i: int, *, best: bool) -> None:
    ax.plot(
        curve[:, 0],
        curve[:, 1],
        marker="o",
        markersize=4 if best else 2,
        color=colour(0) if best else GREY,
        linewidth=2.0 if best else 0.7,
        alpha=1.0 if best else 0.6,
        label=f"candidate {i + 1}{': best' if best else ''}",
    )


def _curve(path: Mapping[int, float]) -> FloatArray:
    """Return epochs and finite scores, (n, 2)."""
    points = [(epoch, score) for epoch, score in sorted(path.items()) if math.isfinite(score)]
    return np.array(points, dtype=np.float64).reshape(-1, 2)


def _ticks(curves: Sequence[FloatArray]) -> tuple[list[float], list[str]]:
    """Return the epochs at which many candidates were scored: the ends of the rungs."""
    epochs, counts = np.unique(np.concatenate([c[:, 0] for c in curves]), return_counts=True)
    often = [epochs[i] for i in np.argsort(-counts, kind="stable")[:6]]
    kept: list[float] = []
    for epoch in often:  # those that would be written over one another are left out
        if all(abs(math.log(epoch / other)) > 0.2 for other in kept):
            kept.append(float(epoch))
    return kept, [f"{epoch:g}" for epoch in kept]


def _checked(scores: Any, rungs: Any) -> tuple[FloatArray, FloatArray]:
    """Return scores and rungs as arrays of one length."""
    told = np.asarray(scores, dtype=np.float64)
    reached = np.zeros(told.shape) if rungs is None else np.asarray(rungs, dtype=np.float64)
    if told.ndim != 1 or reached.shape != told.shape:
        raise DataError(
            "scores and rungs must have one entry for each candidate. Got shapes "
            f"{told.shape} and {reached.shape}."
        )
    if not np.isfinite(told).any():
        raise DataError("scores must hold at least one finite score. Got none.")
    return told, reached
