"""Whether a classifier's probabilities are frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lamina._checks import check_choice, check_integer, shown
from lamina._errors import ParameterError
from lamina._typing import Array

from ._arrays import class_numbers, probabilities
from ._axes import axes_or_new
from ._reliability import Reliability, bin_edges, reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class CalibrationResult:
    """How far the probabilities of a classifier are from frequencies.

    Attributes
    ----------
    n_samples : int
        Rows.
    classes : ndarray of shape (n_classes,)
        The label of each column of the probabilities.
    accuracy : float
        How often the class with the highest probability was the right one.
    mean_confidence : float
        The mean of the highest probability. Above `accuracy` the classifier is overconfident.
    log_loss : float
        Mean of -ln p of the right class, in nats; infinite where a right class had p = 0.
    brier : float
        Mean squared distance of probabilities and outcomes, summed over the classes; of two
        classes half of it, which is that of the second class.
    n_impossible : int
        Rows whose right class had a probability of exactly 0.
    top_label : Reliability
        The table of the highest probability and of whether that class was right.
    by_class : tuple of Reliability
        The table of each class.
    ece, mce : float
        Expected and maximum calibration error of the highest probability.
    classwise_ece : float
        Mean of the expected calibration errors of the classes.
    """

    n_samples: int
    classes: Array
    accuracy: float
    mean_confidence: float
    log_loss: float
    brier: float
    n_impossible: int
    top_label: Reliability
    by_class: tuple[Reliability, ...]

    @property
    def ece(self) -> float:
        """Expected calibration error of the highest probability."""
        return self.top_label.ece

    @property
    def mce(self) -> float:
        """Maximum calibration error of the highest probability."""
        return self.top_label.mce

    @property
    def classwise_ece(self) -> float:
        """Mean of the expected calibration errors of the classes."""
        return float(np.mean([table.ece for table in self.by_class]))

    def summary(self) -> str:
        """Return the numbers as a short text."""
        over = self.mean_confidence - self.accuracy
        word = "overconfident" if over > 0 else "underconfident"
        infinite = f", since p = 0 in {self.n_impossible} rows" if self.n_impossible else ""
        return "\n".join(
            [
                f"Calibration on {self.n_samples} rows of {len(self.classes)} classes",
                f"accuracy         {self.accuracy:.4f}",
                f"mean confidence  {self.mean_confidence:.4f} ({word} by {abs(over):.4f})",
                f"ECE              {self.ece:.4f} ({self.top_label.ece_by_chance:.4f} by chance)",
                f"MCE              {self.mce:.4f}",
                f"classwise ECE    {self.classwise_ece:.4f}",
                f"log loss         {self.log_loss:.4f} nats{infinite}",
                f"Brier score      {self.brier:.4f}",
            ]
        )

    def plot(self, label: Any = None, ax: Axes | None = None) -> Axes:
        """Draw the reliability diagram.

        Parameters
        ----------
        label : object, default=None
            The class whose probabilities are drawn. None draws the second of two classes, and
            of more classes the highest probability.
        ax : Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        Axes
            The axes drawn into.
        """
        from ._calibration_pictures import draw_reliability

        return draw_reliability(self._table_of(label), axes_or_new(ax))

    def _table_of(self, label: Any) -> Reliability:
        """Return the table of a class, or the one to show first."""
        known = self.classes.tolist()
        if label is None:
            return self.by_class[1] if len(known) == 2 else self.top_label
        if label not in known:
            raise ParameterError(f"label must be one of {shown(known)}. Got {shown(label)}.")
        number: int = known.index(label)
        return self.by_class[number]


def calibration(
    y: Any,
    proba: Any,
    *,
    n_bins: int = 15,
    strategy: Literal["uniform", "quantile"] = "uniform",
    classes: Any = None,
) -> CalibrationResult:
    r"""Compare the probabilities of a classifier with what came, on rows it has not seen.

    Rows are put into bins by their probability. In a bin of :math:`n_b` of N rows, with mean
    probability :math:`\bar p_b`, a share :math:`\bar o_b` came true:

    .. math:: \mathrm{ECE} = \sum_b \frac{n_b}{N}\,|\bar o_b - \bar p_b|

    Large networks are usually overconfident [1]_; `temperature` is the cure.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.
    proba : array-like of shape (n_samples, n_classes) or (n_samples,)
        Probability of each class; of shape (n_samples,) that of the second of two.
    n_bins : int, default=15
        Number of bins between 0 and 1. A bin holds its lower end, the last one holds 1.0, too.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of one width, or bins that hold about as many rows.
    classes : array-like of shape (n_classes,), default=None
        The label of each column. None takes the sorted labels of ``y``, which then has to hold
        every class; two classes may be called 0 and 1.

    Returns
    -------
    CalibrationResult
        Tables for the highest probability and for each class, and the errors.

    Raises
    ------
    DataError
        If ``proba`` holds no probabilities, or ``y`` other labels than the classes.

    Notes
    -----
    On few rows even perfect probabilities have an ECE above 0. The result tells about how
    much, from :math:`\mathrm E|Z| = \sqrt{2/\pi}` of a normal variable in each bin.

    References
    ----------
    .. [1] C. Guo et al., On calibration of modern neural networks, ICML 2017,
       https://proceedings.mlr.press/v70/guo17a.html

    Examples
    --------
    >>> from lamina.inspection import calibration
    >>> result = calibration([0, 0, 1, 1], [0.1, 0.4, 0.6, 1.0], n_bins=2)
    >>> round(result.ece, 3), round(result.brier, 4)
    (0.225, 0.0825)
    """
    check_integer("n_bins", n_bins, 1)
    check_choice("strategy", strategy, ("uniform", "quantile"))
    table = probabilities(proba)
    codes, known = class_numbers(y, len(table), table.shape[1], classes)
    own = table[np.arange(len(table)), codes]
    top, confidence = table.argmax(axis=1), table.max(axis=1)
    outcome = np.arange(len(known)) == codes[:, None]
    with np.errstate(divide="ignore"):
        log_loss = -float(np.log(own).mean())
    brier = float(((table - outcome) ** 2).sum(axis=1).mean())
    right = top == codes
    edges = bin_edges(confidence, n_bins, strategy)
    return CalibrationResult(
        n_samples=len(table),
        classes=known,
        accuracy=float(right.mean()),
        mean_confidence=float(confidence.mean()),
        log_loss=log_loss,
        brier=brier / 2 if len(known) == 2 else brier,
        n_impossible=int((own == 0).sum()),
        top_label=reliability("highest probability", confidence, right, edges),
        by_class=tuple(
            reliability(f"class {label}", p, came, bin_edges(p, n_bins, strategy))
            for label, p, came in zip(known.tolist(), table.T, outcome.T, strict=True)
        ),
    )
