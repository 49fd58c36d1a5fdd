"""How good predictive distributions are, beside a forecast that does not look at the inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_real, shown
from lamina._errors import ParameterError
from lamina._typing import FloatArray

from ._arrays import column
from ._axes import axes_or_new
from ._baseline import counted_log_probability, empirical_crps, normal_log_density
from ._distribution import Distribution, is_discrete, targets, told

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_AT_FLOOR = 1.01
"""A scale up to this many times the floor counts as at the floor."""


@dataclass(frozen=True, eq=False)
class ScoresResult:
    """Scores of predictive distributions, and what may make them look better than they are.

    Attributes
    ----------
    n_samples : int
        Rows.
    row_nll : ndarray of shape (n_samples,)
        -ln p(y) of each row, in nats; infinite where y was impossible.
    row_crps : ndarray of shape (n_samples,)
        Continuous ranked probability score of each row, in units of y; 0 is best.
    baseline_nll, baseline_crps : float or None
        Means of the baseline; None without one.
    min_scale : float or None
        The floor of the scale, in units of y; None where it was not given.
    n_at_floor : int or None
        Rows whose target is told by a component with a scale at the floor (within 1 %). Their
        log density is set by the floor. None where there is no floor or no scale.
    n_components : int or None
        Components of each row's mixture; None for a distribution without components.
    n_effective : ndarray of shape (n_samples,) or None
        Effective number of components of each row: from 1 up to `n_components`.
    nll, crps : float
        Means over the rows.
    nll_gain : float or None
        How much lower `nll` is than that of the baseline, in nats.
    crps_skill : float or None
        1 - crps / baseline_crps: 1 is perfect, 0 no better than the baseline.
    """

    n_samples: int
    row_nll: FloatArray
    row_crps: FloatArray
    baseline_nll: float | None
    baseline_crps: float | None
    min_scale: float | None
    n_at_floor: int | None
    n_components: int | None
    n_effective: FloatArray | None

    @property
    def nll(self) -> float:
        """Mean of -ln p(y), in nats."""
        return float(self.row_nll.mean())

    @property
    def crps(self) -> float:
        """Mean of the continuous ranked probability score, in units of y."""
        return float(self.row_crps.mean())

    @property
    def nll_gain(self) -> float | None:
        """How much lower the mean of -ln p(y) is than the baseline's, in nats."""
        return None if self.baseline_nll is None else self.baseline_nll - self.nll

    @property
    def crps_skill(self) -> float | None:
        """1 - crps / baseline_crps: 1 is perfect, 0 no better than the baseline."""
        return 1 - self.crps / self.baseline_crps if self.baseline_crps else None

    def summary(self) -> str:
        """Return the numbers as a short text."""
        nll, crps = f"NLL   {self.nll:.4f} nats", f"CRPS  {self.crps:.4g}"
        if self.baseline_nll is not None:
            nll += f"  baseline {self.baseline_nll:.4f}, gain {self.nll_gain:.4f}"
        if self.baseline_crps is not None:
            crps += f"  baseline {self.baseline_crps:.4g}"
        if self.crps_skill is not None:
            crps += f", skill {self.crps_skill:.3f}"
        lines = [f"Scores on {self.n_samples} rows", nll, crps, *self._remarks()]
        return "\n".join(lines)

    def _remarks(self) -> list[str]:
        """Return lines on impossible targets, the floor of the scale and the components."""
        lines = []
        n_impossible = int(np.isposinf(self.row_nll).sum())
        if n_impossible:
            lines.append(f"{n_impossible} rows have a target that was impossible")
        if self.n_at_floor is not None:
            lines.append(
                f"{self.n_at_floor} rows ({self.n_at_floor / self.n_samples:.1%}) are told by a "
                f"component at the floor of the scale, {self.min_scale:.4g}"
            )
        if self.n_effective is not None:
            low, middle, high = np.quantile(self.n_effective, [0.0, 0.5, 1.0])
            lines.append(
                f"effective components of {self.n_components}: median {middle:.2f}, "
                f"from {low:.2f} to {high:.2f}"
            )
        return lines

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the histogram of -ln p(y), with its mean and the baseline's."""
        from ._distribution_pictures import draw_scores

        return draw_scores(self, axes_or_new(ax))


def scores(
    dist: Distribution, y: Any, *, baseline: Any = None, min_scale: Any = None
) -> ScoresResult:
    r"""Score predictive distributions by their log density and by the CRPS.

    .. math:: \mathrm{NLL} = -\frac1N\sum_i \ln p_i(y_i), \qquad
              \mathrm{CRPS} = \frac1N\sum_i \int (F_i(x) - [x \ge y_i])^2\,dx

    Both are lowest for the true distribution [1]_. The first punishes what was thought nearly
    impossible; the second is in units of y, and for a sure forecast the absolute error.

    Parameters
    ----------
    dist : Predictive
        Distribution of one target in each row: what ``predict_dist(X)`` returns.
    y : array-like of shape (n_samples,)
        What was observed.
    baseline : array-like of shape (m,) or Predictive, default=None
        The training targets, or another distribution of the same rows. Of training targets the
        NLL is that of the normal distribution with their mean and standard deviation, and the
        CRPS that of their empirical distribution. Of a discrete target the NLL is that of their
        frequencies, each whole number from the lowest to the highest being counted once more.
    min_scale : float, default=None
        The floor of the scale in units of y: ``model.min_scale_``. Only used for normal
        distributions and their mixtures.

    Returns
    -------
    ScoresResult
        The scores of each row and their means, rows at the floor, effective components.

    Raises
    ------
    DataError
        If ``y`` or the baseline does not have finite numbers.
    ParameterError
        If ``dist`` is no distribution of one target, or has no scale that a floor could be for.

    Notes
    -----
    The effective number of components is :math:`\exp(-\sum_c \pi_c \ln \pi_c)`. Of several
    targets the joint error is ``-dist.log_prob(y).mean()``.

    References
    ----------
    .. [1] T. Gneiting, A. E. Raftery, Strictly proper scoring rules, prediction, and
       estimation, JASA 2007, https://doi.org/10.1198/016214506000001437

    Examples
    --------
    >>> from lamina.distributions import NormalMixture
    >>> from lamina.inspection import scores
    >>> result = scores(NormalMixture([1.0, 2.0], [0.5, 0.5]), [1.5, 2.0], baseline=[0, 1, 2, 3])
    >>> round(result.nll, 4), round(result.crps, 4), round(result.crps_skill, 4)
    (0.4758, 0.209, 0.4426)
    """
    observed = targets(dist, y, ("log_prob", "crps"))
    n, discrete = len(observed), is_discrete(dist, observed)
    baseline_nll, baseline_crps = _baseline(baseline, observed, discrete)
    floor = None if min_scale is None else _floor(min_scale)
    effective = getattr(dist, "n_effective", None)
    count = getattr(dist, "n_components", None)
    return ScoresResult(
        n_samples=n,
        row_nll=-told("log_prob", dist.log_prob(observed), (n,)),
        row_crps=told("crps", dist.crps(observed), (n,)),
        baseline_nll=baseline_nll,
        baseline_crps=baseline_crps,
        min_scale=floor,
        n_at_floor=None if floor is None else _count_at_floor(dist, observed, floor),
        n_components=None if count is None else int(count),
        n_effective=told("n_effective", effective(), (n,)) if callable(effective) else None,
    )


def _baseline(baseline: Any, y: FloatArray, discrete: bool) -> tuple[float | None, float | None]:
    """Return the mean NLL and CRPS of a baseline."""
    if baseline is None:
        return None, None
    if callable(getattr(baseline, "log_prob", None)):
        same = targets(baseline, y, ("log_prob", "crps"))
        return -float(np.mean(baseline.log_prob(same))), float(np.mean(baseline.crps(same)))
    train = column("baseline", baseline)
    if discrete:
        is_whole = train == np.floor(train)
        if not is_whole.all():
            raise ParameterError(
                "baseline must be whole numbers where the distribution is of counts. "
                f"Got {train[~is_whole][0]:g}."
            )
    logs = (counted_log_probability if discrete else normal_log_density)(train, y)
    return -float(logs.mean()), float(empirical_crps(train, y).mean())


def _floor(min_scale: Any) -> float:
    """Return the floor as a number; an array of one target's floor counts as one."""
    one = np.asarray(min_scale)
    value = one.item() if one.ndim and one.size == 1 else min_scale
    return check_real("min_scale", value, 0.0)


def _count_at_floor(dist: Any, y: FloatArray, floor: float) -> int:
    """Return of how many rows the component most responsible for y is at the floor."""
    scale, shares = getattr(dist, "scale", None), getattr(dist, "responsibilities", None)
    if not isinstance(scale, np.ndarray) or scale.ndim != 2 or not callable(shares):
        raise ParameterError(
            "min_scale must be None for a distribution without scales of normal components. "
            f"Got {shown(floor)} for {type(dist).__name__}."
        )
    told_by = np.argmax(told("responsibilities", shares(y), scale.shape), axis=1)
    return int((scale[np.arange(len(y)), told_by] <= _AT_FLOOR * floor).sum())
