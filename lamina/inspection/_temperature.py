"""Temperature scaling: one number that makes a classifier's confidence honest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, softmax

from lamina._checks import check_real
from lamina._errors import DataError
from lamina._typing import Array, FloatArray, IntArray

from ._arrays import class_numbers, class_scores
from ._axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LARGEST_LOG = 700.0
"""Logs of temperatures stay within ± this, where exp is an ordinary float64."""


@dataclass(frozen=True, eq=False)
class TemperatureResult:
    """The temperature that logits are divided by, and what it gains.

    Attributes
    ----------
    temperature : float
        What to divide logits by: above 1 for an overconfident classifier. It is infinite where
        the logits are no better than none; probabilities are then all the same.
    nll_before, nll_after : float
        Mean of -ln p of the right class in nats, at temperature 1 and at `temperature`.
    at_bound : bool
        Whether a still lower temperature would be better, and `temperature` is the bound
        ``min_temperature``: as where every row is classified rightly.
    n_samples : int
        Rows it was fitted on.
    classes : ndarray of shape (n_classes,)
        The label of each column of the logits.
    curve : ndarray of shape (m, 2)
        Temperatures around the best one and 1, and the mean of -ln p at each.
    """

    temperature: float
    nll_before: float
    nll_after: float
    at_bound: bool
    n_samples: int
    classes: Array
    curve: FloatArray

    def apply(self, logits: Any) -> FloatArray:
        """Return the probabilities of logits at this temperature.

        Parameters
        ----------
        logits : array-like of shape (n_samples, n_classes) or (n_samples,)
            Raw outputs, as many classes as it was fitted with.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            Probabilities in the shape of the logits: of (n_samples,) those of the second class.
        """
        values = class_scores("logits", logits)
        n_classes = 2 if values.ndim == 1 else values.shape[1]
        if n_classes != len(self.classes):
            raise DataError(
                f"logits must have {len(self.classes)} classes, as in the fit. Got {n_classes}."
            )
        if values.ndim == 1:
            one: FloatArray = expit(_divided(values, self.temperature))
            return one
        gaps = _divided(_gaps(values), self.temperature)
        proba: FloatArray = softmax(gaps, axis=1)
        return proba

    def summary(self) -> str:
        """Return the numbers as a short text."""
        told = f"Temperature {self.temperature:.4g} from {self.n_samples} rows"
        if self.at_bound:
            told += " (the lowest allowed: the lower it is, the better these rows are told)"
        elif math.isinf(self.temperature):
            told += " (on these rows the logits are no better than equal probabilities)"
        return (
            f"{told}: the mean of -ln p of the right class goes from {self.nll_before:.4f} "
            f"to {self.nll_after:.4f} nats."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean of -ln p against the temperature."""
        from ._calibration_pictures import draw_temperature

        return draw_temperature(self, axes_or_new(ax))


def temperature(
    y: Any, logits: Any, *, classes: Any = None, min_temperature: float = 1e-2
) -> TemperatureResult:
    r"""Find the temperature at which logits give the best probabilities, on held-out rows.

    .. math:: p = \operatorname{softmax}(z / T), \qquad
              T = \arg\min_T -\frac1N \sum_i \ln p_{i, y_i}

    In :math:`\beta = 1/T` this is convex, and its only root is found to rounding. The order of
    the classes in a row, and so the accuracy, does not change. Take rows that the network was
    not trained on: on its own rows it looks better than it is.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    logits : array-like of shape (n_samples, n_classes) or (n_samples,)
        Raw outputs; of shape (n_samples,) the log odds of the second of two classes.
    classes : array-like of shape (n_classes,), default=None
        The label of each column. None takes the sorted labels of ``y``, which then has to hold
        every class; two classes may be called 0 and 1.
    min_temperature : float, default=0.01
        The lowest temperature. Where every row is classified rightly, no temperature is the
        best: the lower, the better. Then this one is taken, and the result says so.

    Returns
    -------
    TemperatureResult
        The temperature, the error before and after, and ``apply(logits)``.

    Raises
    ------
    DataError
        If logits are not finite, or ``y`` holds other labels than the classes.

    Notes
    -----
    Logits of any size are fine: only their distances to the highest one of a row enter, in
    units of the largest of these.

    References
    ----------
    .. [1] C. Guo et al., On calibration of modern neural networks, ICML 2017,
       https://proceedings.mlr.press/v70/guo17a.html

    Examples
    --------
    Three of four rows are right, so that a probability of 3/4 is right for all:

    >>> import numpy as np
    >>> from lamina.inspection import temperature
    >>> logits = np.array([8.0, 8.0, 8.0, 8.0])
    >>> result = temperature([1, 1, 1, 0], logits)
    >>> round(result.temperature, 4), result.apply(logits).round(4).tolist()
    (7.2819, [0.75, 0.75, 0.75, 0.75])
    """
    lowest = check_real("min_temperature", min_temperature, 0.0, open_minimum=True)
    values = class_scores("logits", logits)
    table = np.column_stack([np.zeros_like(values), values]) if values.ndim == 1 else values
    codes, known = class_numbers(y, len(table), table.shape[1], classes)
    others, own = _parts(_gaps(table), codes)
    best, at_bound = _best_temperature(others, own, lowest)
    around = best if math.isfinite(best) else 1.0
    ends = min(math.log(around), 0.0) - 1.5, max(math.log(around), 0.0) + 1.5
    logs = np.linspace(max(ends[0], -_LARGEST_LOG), min(ends[1], _LARGEST_LOG), 41)
    curve = [(float(t), _nll(others, own, float(t))) for t in np.exp(logs)]
    return TemperatureResult(
        temperature=best,
        nll_before=_nll(others, own, 1.0),
        nll_after=_nll(others, own, best),
        at_bound=at_bound,
        n_samples=len(table),
        classes=known,
        curve=np.array(curve),
    )


def _gaps(logits: FloatArray) -> FloatArray:
    """Return logits less the highest of each row, (N, K); those beyond float64 are its lowest."""
    with np.errstate(over="ignore"):
        gaps: FloatArray = logits - logits.max(axis=1, keepdims=True)
    return np.maximum(gaps, -np.finfo(np.float64).max)


def _divided(values: FloatArray, by: float) -> FloatArray:
    """Return a quotient in which what is beyond float64 is infinite, without a word."""
    with np.errstate(over="ignore"):
        quotient: FloatArray = values / by
    return quotient


def _parts(gaps: FloatArray, codes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the gaps of all but a highest class, (N, K - 1), and that of the right one, (N,)."""
    below = np.ones(gaps.shape, dtype=bool)
    below[np.arange(len(gaps)), gaps.argmax(axis=1)] = False
    others: FloatArray = gaps[below].reshape(len(gaps), -1)
    own: FloatArray = gaps[np.arange(len(codes)), codes]
    return others, own


def _nll(others: FloatArray, own: FloatArray, at: float) -> float:
    """Return the mean of -ln p of the right class at a temperature."""
    errors = np.log1p(np.exp(_divided(others, at)).sum(axis=1)) - _divided(own, at)
    # Shares and not a sum, since the sum of very large errors may be beyond float64.
    return float((errors / len(errors)).sum())


def _best_temperature(others: FloatArray, own: FloatArray, lowest: float) -> tuple[float, bool]:
    """Return the temperature with the lowest error, and whether it is the lowest allowed."""
    unit = float(-others.min())
    if unit == 0:
        return 1.0, False  # equal logits: every temperature gives the same
    others, own = others / unit, own / unit

    def slope(log_beta: float) -> float:
        shares = np.exp(others * math.exp(log_beta))
        mean = np.einsum("nk,nk->n", shares, others) / (1 + shares.sum(axis=1))
        return float((mean - own).mean())

    n_classes = others.shape[1] + 1
    if (others.sum(axis=1) / n_classes - own).mean() >= 0:
        return math.inf, False
    end = min(math.log(unit) - math.log(lowest), _LARGEST_LOG)
    if not own.any() or slope(end) <= 0:
        return lowest, True
    start = min(end, 0.0)
    while slope(start) >= 0:
        start -= 2.0
        if start < -_LARGEST_LOG:
            return math.inf, False
    log_beta = float(brentq(slope, start, end, xtol=1e-15, rtol=4 * np.finfo(float).eps))
    return unit * math.exp(-log_beta), False
