"""A distribution given by some of its quantiles, for torch: flat in between, exponential tails."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Size, Tensor
from torch.distributions import Distribution, constraints

from lamina._checks import shown
from lamina._errors import ParameterError


class QuantileFunction(Distribution):
    r"""The distribution with quantiles :math:`q_1 \le \dots \le q_L` at levels τ.

    The quantile function is linear between the levels, so the density there is
    :math:`(\tau_{j+1} - \tau_j) / (q_{j+1} - q_j)`. Below :math:`q_1` and above :math:`q_L` the
    density falls exponentially, from the height that it has in the outermost interval:

    .. math:: Q(p) = q_1 + b \ln (p / \tau_1) \quad (p < \tau_1), \qquad
              b = \tau_1 (q_2 - q_1) / (\tau_2 - \tau_1)

    Parameters
    ----------
    levels : Tensor of shape (L,)
        Strictly increasing numbers in (0, 1), at least two.
    quantiles : Tensor of shape (..., L)
        Quantiles at these levels, not decreasing.
    validate_args : bool, optional
        Whether the order of the quantiles is checked, as in torch.

    Attributes
    ----------
    levels : Tensor of shape (L,)
        The levels.
    quantiles : Tensor of shape (..., L)
        The quantiles.

    Raises
    ------
    ParameterError
        If the levels or the quantiles are not so.

    Notes
    -----
    Two equal quantiles hold the probability between their levels in one point, where the
    density is infinite.

    Examples
    --------
    >>> levels = torch.tensor([0.25, 0.5, 0.75])
    >>> dist = QuantileFunction(levels, torch.tensor([[0.0, 1.0, 2.0]]))
    >>> dist.icdf(torch.tensor(0.375))
    tensor([0.5000])
    >>> dist.mean, dist.cdf(torch.tensor([1.5]))
    (tensor([1.]), tensor([0.6250]))
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    support = constraints.real

    def __init__(
        self, levels: Tensor, quantiles: Tensor, validate_args: bool | None = None
    ) -> None:
        levels = torch.as_tensor(levels).to(quantiles)
        gaps = levels.diff()
        inside = bool(((levels > 0) & (levels < 1)).all())
        if levels.ndim != 1 or levels.numel() < 2 or not inside or not bool((gaps > 0).all()):
            raise ParameterError(
                "levels must be two or more increasing numbers in (0, 1). "
                f"Got {shown(levels.tolist())}."
            )
        if quantiles.shape[-1:] != levels.shape:
            raise ParameterError(
                f"quantiles must have shape (..., {len(levels)}), one for each level. "
                f"Got {tuple(quantiles.shape)}."
            )
        self.levels, self.quantiles = levels, quantiles
        self._widths = quantiles.diff(dim=-1)
        super().__init__(quantiles.shape[:-1], validate_args=validate_args)
        if self._validate_args and not bool((self._widths >= 0).all()):
            raise ParameterError(
                "quantiles must not decrease along their last axis. Got a row that does, or one "
                "that is not finite."
            )

    def expand(self, batch_shape: Any, _instance: Any = None) -> QuantileFunction:
        """Return the same distribution with another batch shape."""
        quantiles = self.quantiles.expand(*batch_shape, len(self.levels))
        return QuantileFunction(self.levels, quantiles, validate_args=False)

    @property
    def _tails(self) -> tuple[Tensor, Tensor]:
        """Return the scales of the lower and the upper exponential tail."""
        slope = self._widths / self.levels.diff()
        return self.levels[0] * slope[..., 0], (1 - self.levels[-1]) * slope[..., -1]

    def _spread(self, values: Tensor) -> Tensor:
        """Return values of a shape that the batch's broadcasts to."""
        return values.expand((values + self.quantiles[..., 0]).shape)

    def _piece(self, index: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return level and quantile at the start of each piece, and how far it goes."""
        shape = (*index.shape, -1)
        place = index.unsqueeze(-1)
        low = self.quantiles.expand(shape).gather(-1, place).squeeze(-1)
        width = self._widths.expand(shape).gather(-1, place).squeeze(-1)
        return self.levels[index], low, self.levels.diff()[index], width

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantiles at probabilities ``value``, which broadcast with the batch."""
        p = torch.as_tensor(value).to(self.quantiles)
        p = self._spread(p)
        index = torch.searchsorted(self.levels, p.contiguous(), right=True) - 1
        level, low, step, width = self._piece(index.clamp(0, len(self.levels) - 2))
        lower, upper = self._tails
        inner = low + (p - level) / step * width
        below = self.quantiles[..., 0] + torch.xlogy(lower, p / self.levels[0])
        above = self.quantiles[..., -1] - torch.xlogy(upper, (1 - p) / (1 - self.levels[-1]))
        return torch.where(
            p < self.levels[0], below, torch.where(p > self.levels[-1], above, inner)
        )

    def _located(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return values of the batch's shape, and in which piece each of them is."""
        if self._validate_args:
            self._validate_sample(value)
        y = self._spread(value)
        index = (self.quantiles <= y.unsqueeze(-1)).sum(-1) - 1
        return y, index.clamp(0, len(self.levels) - 2)

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of at most ``value``."""
        y, index = self._located(value)
        level, low, step, width = self._piece(index)
        inside = torch.where(width > 0, (y - low) / torch.where(width > 0, width, 1.0), 1.0)
        lower, upper = self._tails
        first, last = self.quantiles[..., 0], self.quantiles[..., -1]
        below = self.levels[0] * _decay(first - y, lower)
        above = 1 - (1 - self.levels[-1]) * _decay(y - last, upper)
        return torch.where(y < first, below, torch.where(y >= last, above, level + step * inside))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log density; infinite where two quantiles are equal."""
        y, index = self._located(value)
        _, _, step, width = self._piece(index)
        lower, upper = self._tails
        first, last = self.quantiles[..., 0], self.quantiles[..., -1]
        below = _log_tail(first - y, lower, self.levels[0])
        above = _log_tail(y - last, upper, 1 - self.levels[-1])
        inner = torch.where(y < first, below, torch.where(y > last, above, (step / width).log()))
        at_start = self.quantiles[..., :-1] == y.unsqueeze(-1)
        point = ((self._widths == 0) & at_start).any(-1)
        return torch.where(point, torch.inf, inner)

    def _masses(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return probability, mean and variance of every piece, tails first, (..., L + 1)."""
        shape = self.batch_shape
        lower, upper = (t.unsqueeze(-1) for t in self._tails)
        first, last = self.quantiles[..., :1], self.quantiles[..., -1:]
        mass = torch.cat([self.levels[:1], 1 - self.levels[-1:], self.levels.diff()])
        middle = self.quantiles[..., :-1] + self._widths / 2
        mean = torch.cat([first - lower, last + upper, middle], -1)
        spread = torch.cat([lower.square(), upper.square(), self._widths.square() / 12], -1)
        return mass.expand(*shape, -1), mean, spread

    @property
    def mean(self) -> Tensor:
        """The mean."""
        mass, mean, _ = self._masses()
        return (mass * mean).sum(-1)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        mass, mean, spread = self._masses()
        return (mass * (spread + (mean - self.mean.unsqueeze(-1)).square())).sum(-1)

    def entropy(self) -> Tensor:
        """Return the differential entropy in nats."""
        lower, upper = self._tails
        steps, left, right = self.levels.diff(), self.levels[0], 1 - self.levels[-1]
        inner = (steps * (self._widths / steps).log()).sum(-1)
        return inner + left * (1 + (lower / left).log()) + right * (1 + (upper / right).log())

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Return random values of shape ``sample_shape`` + batch shape."""
        shape = self._extended_shape(Size(sample_shape))
        with torch.no_grad():
            p = torch.rand(shape, dtype=self.quantiles.dtype, device=self.quantiles.device)
            return self.icdf(p.clamp(min=torch.finfo(p.dtype).tiny))


def _decay(distance: Tensor, scale: Tensor) -> Tensor:
    """Return exp(−d/b) for d > 0, which is 0 for a tail of scale 0."""
    positive = torch.where(scale > 0, scale, 1.0)
    return torch.where(scale > 0, (-distance.clamp(min=0) / positive).exp(), 0.0)


def _log_tail(distance: Tensor, scale: Tensor, mass: Tensor) -> Tensor:
    """Return the log density of an exponential tail of this probability."""
    positive = torch.where(scale > 0, scale, 1.0)
    log_density = (mass / positive).log() - distance / positive
    return torch.where(scale > 0, log_density, -torch.inf)
