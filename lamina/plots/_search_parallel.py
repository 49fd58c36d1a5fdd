"""Parallel coordinates: a line for each candidate through the values of its parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from lamina._errors import DataError
from lamina._typing import FloatArray

from ._search import _checked
from ._style import panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 14
"""Letters of a label that are written."""


@dataclass(frozen=True)
class _Axis:
    """One upright axis: places from 0 to 1, and what is written at some of them."""

    title: str
    places: FloatArray
    ticks: list[tuple[float, str]]


def plot_search_parameters(
    params: Sequence[Mapping[str, Any]],
    scores: Any,
    rungs: Any = None,
    *,
    name: str = "score",
    ax: Axes | None = None,
) -> Axes:
    """Draw parallel coordinates: a line for each candidate through its parameters and score.

    The better a candidate ranks, the darker and thicker its line, and the later it is drawn.
    Numbers that span more than a factor of 20 have a logarithmic axis.

    Parameters
    ----------
    params : sequence of dict
        Parameters of each candidate, as ``cv_results_["params"]``. Those that never vary are
        left out.
    scores : array-like of shape (n_candidates,)
        Score of each; larger is better. Candidates without one are left out.
    rungs : array-like of shape (n_candidates,), default=None
        The rung that each reached: a later one ranks first. None is one for all.
    name : str, default="score"
        Title of the last axis.
    ax : Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    Axes
        The axes drawn into; the heights are places between the ends of each axis.

    Examples
    --------
    >>> from lamina.plots import plot_search_parameters
    >>> params = [{"width": 8, "act": "relu"}, {"width": 64, "act": "tanh"}]
    >>> [text.get_text() for text in plot_search_parameters(params, [0.5, 0.7]).get_xticklabels()]
    ['width', 'act', 'score']
    """
    told, reached = _checked(scores, rungs)
    if len(params) != len(told):
        raise DataError(
            "params must have one entry for each score. Got "
            f"{len(params)} entries and {len(told)} scores."
        )
    rows = np.flatnonzero(np.isfinite(told))
    own = [params[row] for row in rows.tolist()]
    names = dict.fromkeys(name for part in own for name in part)
    axes = [_axis(key, [part.get(key) for part in own]) for key in names]
    axes = [axis for axis in axes if axis is not None and len(np.unique(axis.places)) > 1]
    score = _axis(name, told[rows].tolist(), plain=True)
    assert score is not None
    every = [*[axis for axis in axes if axis is not None], score]
    with style():
        if ax is None:
            ax = panels(size=(1.3 * len(every) + 1.2, 4.0))[0, 0]
        _draw_lines(ax, every, told[rows], reached[rows], rows)
        _draw_axes(ax, every)
    return ax


def _axis(title: str, values: list[Any], *, plain: bool = False) -> _Axis | None:
    """Return the axis of a parameter: of numbers, or of categories in the order of their text."""
    if not values:
        return None
    if not all(_is_number(value) for value in values):
        labels = [_text(value) for value in values]
        levels = sorted(set(labels), key=_naturally)
        place = {label: i / max(1, len(levels) - 1) for i, label in enumerate(levels)}
        return _Axis(title, np.array([place[x] for x in labels]), [(place[x], x) for x in levels])
    numbers = np.asarray(values, dtype=np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    log = low > 0 and high / low > 20 and not plain
    scaled = np.log(numbers) if log else numbers
    span = float(scaled.max() - scaled.min())
    places = (scaled - scaled.min()) / span if span > 0 else np.full(len(numbers), 0.5)
    distinct = np.unique(numbers)
    shown = distinct if len(distinct) <= 5 else np.array([low, high])
    ticks = [(float(places[np.flatnonzero(numbers == x)[0]]), f"{x:.3g}") for x in shown]
    return _Axis(title, places, ticks)


def _is_number(value: Any) -> bool:
    numbers = (int, float, np.integer, np.floating)
    return isinstance(value, numbers) and not isinstance(value, bool) and math.isfinite(value)


def _naturally(label: str) -> list[tuple[bool, int, str]]:
    """Return a key by which 64-32 comes before 128."""
    parts = re.findall(r"\d+|\D+", label)
    return [(p.isdigit(), int(p) if p.isdigit() else 0, p) for p in parts]


def _text(value: Any) -> str:
    """Return a value as a short label: (64, 32) as 64-32."""
    if isinstance(value, (tuple, list)) and all(isinstance(item, int) for item in value):
        return "-".join(map(str, value)) or "none"
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _draw_lines(
    ax: Axes, axes: Sequence[_Axis], scores: FloatArray, rungs: FloatArray, rows: Any
) -> None:
    """Draw the worst first; place in the ranking is the colour, of a map for all eyes."""
    import matplotlib

    colours = matplotlib.colormaps["cividis_r"]
    keys = list(zip(rungs, scores, strict=True))
    order = {key: i for i, key in enumerate(sorted(set(keys)))}
    rank = rankdata([order[key] for key in keys])
    share = (rank - 1) / max(1, len(rank) - 1)  # 1 is the best
    places = np.stack([axis.places for axis in axes], axis=1)
    for i in np.argsort(share, kind="stable"):
        ax.plot(
            range(len(axes)),
            places[i],
            color=colours(0.1 + 0.9 * share[i]),
            linewidth=0.6 + 2.0 * share[i] ** 4,
            alpha=0.35 + 0.65 * share[i] ** 2,
            label=f"candidate {rows[i] + 1}",
        )


def _draw_axes(ax: Axes, axes: Sequence[_Axis]) -> None:
    """Draw the upright axes with their numbers and names."""
    for x, axis in enumerate(axes):
        ax.axvline(x, color="black", linewidth=0.8)
        for place, text in axis.ticks:
            ax.annotate(
                text, (x, place), xytext=(3, 0), textcoords="offset points", fontsize=8,
                va="center", bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7,
                                   "pad": 0.5},
            )  # fmt: skip
    ax.set_xticks(range(len(axes)), [axis.title for axis in axes], rotation=20, ha="right")
    ax.set_xlim(-0.1, len(axes) - 0.4)
    ax.set_ylim(-0.04, 1.04)
    ax.set_yticks([])
    ax.grid(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.set_title("The darker and thicker a line, the better the candidate ranks")
