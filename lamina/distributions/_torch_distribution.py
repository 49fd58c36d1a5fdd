"""Any torch distribution of one target that has a density and a cdf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import torch
from scipy.special import betainc, betaincinv, gammainc, gammaincc, gammaincinv, stdtr, stdtrit
from torch import Tensor
from torch import distributions as td

from lamina._errors import ParameterError
from lamina._typing import FloatArray, IntArray

from ._arguments import affine_pair, row_numbers
from ._continuous import Continuous
from ._panels import integral
from ._rebuilt import rebuilt
from ._roots import increasing_roots

_HALVINGS = 1100


class TorchDistribution(Continuous):
    """A torch distribution of one target, with batch shape (N,), as it is.

    Density, cdf and moments are torch's own; a cdf that torch lacks (Student's t, beta) is
    SciPy's. Quantiles are torch's, or else roots of the cdf. Moments that torch lacks, CRPS and
    entropy are quadrature; modes are searched between 245 quantiles.

    Parameters
    ----------
    dist : torch.distributions.Distribution
        A continuous distribution with batch shape (N,) and event shape ().
    rows : array-like of int of shape (N,), default=None
        Numbers of the rows, which their random streams belong to. None counts from 0.

    Raises
    ------
    ParameterError
        If the distribution is not of one target, has no density, or no cdf is known.

    Examples
    --------
    >>> import torch
    >>> dist = TorchDistribution(torch.distributions.Laplace(torch.zeros(2), torch.ones(2)))
    >>> dist.interval(0.9).round(3)
    array([[-2.303,  2.303],
           [-2.303,  2.303]])
    """

    dist: td.Distribution
    loc: FloatArray
    scale: FloatArray
    middle: FloatArray
    _per_row: ClassVar[tuple[str, ...]] = ("loc", "scale", "middle")

    def __init__(self, dist: td.Distribution, *, rows: Any = None) -> None:
        if len(dist.batch_shape) != 1 or dist.event_shape:
            raise ParameterError(
                "dist must have batch shape (N,) and event shape (). Got "
                f"{tuple(dist.batch_shape)} and {tuple(dist.event_shape)}."
            )
        if dist.support is not None and dist.support.is_discrete:
            raise ParameterError(
                f"{type(dist).__name__} is discrete. Of discrete targets only Poisson, "
                "NegativeBinomial and Bernoulli have predictive distributions."
            )
        self.dist = rebuilt(dist, lambda parameter: parameter.detach().to("cpu", torch.float64))
        n_rows = int(dist.batch_shape[0])
        self.loc, self.scale = np.zeros(n_rows), np.ones(n_rows)
        self.rows = row_numbers(rows, n_rows)
        if self._known(self.dist.cdf, torch.full((n_rows,), 0.5)) is None and not self._special():
            raise ParameterError(
                f"no cdf is known of {type(dist).__name__}. Give it a method cdf, as torch's own "
                "distributions have."
            )
        # A point that is surely inside the support, to look at in the place of one that is not.
        self.middle = np.zeros(n_rows)
        self.middle = self._z_quantile(np.full((n_rows, 1), 0.5))[:, 0]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Torch's transforms lose their inverses when pickled, so the distribution is made anew.
        self.dist = rebuilt(self.dist, lambda parameter: parameter)

    @staticmethod
    def _known(tell: Callable[[Tensor], Tensor], at: Tensor) -> Tensor | None:
        """Return what torch tells, or None where it has not been implemented."""
        try:
            return tell(at.double())
        except NotImplementedError:
            return None

    def _special(self) -> type[td.Distribution] | None:
        """Return the kind of which SciPy knows the cdf better than torch."""
        kinds = (td.StudentT, td.Beta, td.Gamma)
        return next((kind for kind in kinds if isinstance(self.dist, kind)), None)

    def _take(self, places: IntArray | slice) -> Self:
        taken = super()._take(places)
        index = places if isinstance(places, slice) else torch.from_numpy(np.asarray(places))
        taken.dist = rebuilt(self.dist, lambda parameter: parameter[index])
        return taken

    def _standardised(self, y: FloatArray) -> FloatArray:
        z: FloatArray = (y - self.loc[:, None]) / self.scale[:, None]
        return z

    def _by_torch(self, tell: Callable[[Tensor], Tensor], z: FloatArray) -> FloatArray:
        """Return what torch tells at z (N, m); torch has the batch on the last axis."""
        told = tell(torch.from_numpy(np.ascontiguousarray(z.T)))
        return np.array(told.detach().numpy().T)

    def _inside(self, z: FloatArray) -> FloatArray:
        support = self.dist.support
        inside = np.isfinite(z)
        if support is not None:
            inside &= self._by_torch(support.check, z).astype(bool)
        return inside

    def _log_pdf(self, y: FloatArray) -> FloatArray:
        z = self._standardised(y)
        inside = self._inside(z)
        safe = np.where(inside, z, self.middle[:, None])
        logs = self._by_torch(self.dist.log_prob, safe) - np.log(self.scale)[:, None]
        return np.where(inside, logs, -np.inf)

    def _log_slope(self, y: FloatArray) -> FloatArray:
        z = self._standardised(y)
        inside = self._inside(z)
        at = torch.from_numpy(np.where(inside, z, self.middle[:, None]).T.copy()).requires_grad_()
        with torch.enable_grad():
            total = self.dist.log_prob(at).sum()
            if not total.requires_grad:  # the density does not depend on y, or not by torch
                return np.zeros_like(y)
            (slope,) = torch.autograd.grad(total, at)
        told = np.nan_to_num(slope.numpy().T) / self.scale[:, None]
        return np.where(inside, told, 0.0)

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self._tail(self._standardised(y), upper=False)

    def _sf(self, y: FloatArray) -> FloatArray:
        return self._tail(self._standardised(y), upper=True)

    def _parameters(self, *names: str) -> list[FloatArray]:
        return [getattr(self.dist, name).numpy()[:, None] for name in names]

    def _tail(self, z: FloatArray, upper: bool) -> FloatArray:
        kind = self._special()
        if kind is td.StudentT:
            df, loc, scale = self._parameters("df", "loc", "scale")
            standard = (z - loc) / scale
            return np.asarray(stdtr(df, -standard if upper else standard))
        if kind is td.Gamma:
            shape, rate = self._parameters("concentration", "rate")
            return np.asarray((gammaincc if upper else gammainc)(shape, rate * np.maximum(z, 0)))
        if kind is td.Beta:
            a, b = self._parameters("concentration1", "concentration0")
            share = np.clip(z, 0, 1)
            return np.asarray(betainc(b, a, 1 - share) if upper else betainc(a, b, share))
        return self._torch_tail(z, upper)

    def _torch_tail(self, z: FloatArray, upper: bool) -> FloatArray:
        inside = self._inside(z)
        safe = np.where(inside, z, 0.5)
        cdf = self._by_torch(self.dist.cdf, safe)
        if not inside.all():
            low, high = _ends(self.dist)
            cdf = np.where(inside, cdf, np.where(z >= high, 1.0, np.where(z <= low, 0.0, cdf)))
        return 1 - cdf if upper else cdf

    def _z_quantile(self, p: FloatArray) -> FloatArray:
        """Return quantiles of z (N, m) at probabilities (N, m)."""
        kind = self._special()
        if kind is td.StudentT:
            df, loc, scale = self._parameters("df", "loc", "scale")
            return np.asarray(loc + scale * stdtrit(df, p))
        if kind is td.Gamma:
            shape, rate = self._parameters("concentration", "rate")
            return np.asarray(gammaincinv(shape, p) / rate)
        if kind is td.Beta:
            a, b = self._parameters("concentration1", "concentration0")
            return np.asarray(betaincinv(a, b, p))
        known = self._known(self.dist.icdf, torch.from_numpy(np.ascontiguousarray(p.T)))
        if known is not None:
            return np.array(known.detach().numpy().T)
        return self._bracketed(p)

    def _bracketed(self, p: FloatArray) -> FloatArray:
        """Return roots of cdf - p, between the ends of the support or growing brackets."""
        low_end, high_end = _ends(self.dist)
        reach = np.ones(p.shape)
        low = np.full(p.shape, max(low_end, -1.0) if high_end > -1 else high_end - 1)
        high = np.full(p.shape, min(high_end, 1.0) if low_end < 1 else low_end + 1)
        for _ in range(_HALVINGS):
            short = (self._tail(low, False) > p) & (low > low_end)
            far = (self._tail(high, True) > 1 - p) & (high < high_end)
            if not (short | far).any():
                break
            reach = np.where(short | far, 2 * reach, reach)
            low = np.where(short, np.maximum(low - reach, low_end), low)
            high = np.where(far, np.minimum(high + reach, high_end), high)
        inner = (p > 0) & (p < 1)
        answer = np.where(p <= 0, low_end, high_end)
        rows, _ = np.nonzero(inner)
        target = p[inner]

        def evaluate(places: IntArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
            part = self._take(rows[places])
            lower, above = part._tail(z[:, None], False)[:, 0], part._tail(z[:, None], True)[:, 0]
            goal = target[places]
            density = part._by_torch(part.dist.log_prob, z[:, None])[:, 0]
            return np.where(goal > 0.5, (1 - goal) - above, lower - goal), np.exp(density)

        middle = low[inner] + 0.5 * (high[inner] - low[inner])
        tolerance = 1e-14 * np.minimum(target, 1 - target)
        answer[inner] = increasing_roots(evaluate, low[inner], high[inner], middle, tolerance)
        return answer

    def _at_probabilities(self, p: FloatArray) -> FloatArray:
        y: FloatArray = self.loc[:, None] + self.scale[:, None] * self._z_quantile(p)
        return y

    def _quantile(self, q: FloatArray) -> FloatArray:
        return self._at_probabilities(np.tile(q, (len(self), 1)))

    def _from_uniforms(self, u: FloatArray) -> FloatArray:
        return self._at_probabilities(u[:, :, 1])

    def mean(self) -> FloatArray:
        """Return the expected value, (N,); NaN or infinite where there is none."""
        try:
            mean = self.dist.mean.numpy()
        except NotImplementedError:
            return integral(lambda y: y * np.exp(self._log_pdf(y)), self._edges())
        return np.asarray(self.loc + self.scale * mean)

    def std(self) -> FloatArray:
        """Return the standard deviation, (N,); NaN or infinite where there is none."""
        try:
            std = self.dist.variance.sqrt().numpy()
        except NotImplementedError:
            mean = self.mean()[:, None]
            return np.sqrt(
                integral(lambda y: (y - mean) ** 2 * np.exp(self._log_pdf(y)), self._edges())
            )
        return np.asarray(self.scale * std)

    def affine(self, loc: Any = 0.0, scale: Any = 1.0) -> Self:
        """Return the distribution of loc + scale·y; log densities fall by ln(scale)."""
        shift, factor = affine_pair(loc, scale, 1)
        moved = self._take(slice(None))
        moved.loc, moved.scale = shift + factor * self.loc, factor * self.scale
        return moved


def _ends(dist: td.Distribution) -> tuple[float, float]:
    """Return the least and the largest possible value over all rows."""
    support = dist.support
    low = getattr(support, "lower_bound", -np.inf)
    high = getattr(support, "upper_bound", np.inf)
    return float(torch.as_tensor(low).min()), float(torch.as_tensor(high).max())
