"""The normal distribution with unit scale: regression by least squares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent
from torch.distributions import Normal as TorchNormal

from lamina._checks import check_choice
from lamina._typing import Array

from ._head import Head, over_outputs
from ._metrics import r2
from ._targets import float_columns

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Normal(Head):
    r"""Targets that are normal around the raw outputs, with scale 1.

    The raw outputs are the mean (identity output), and the error is half the squared distance
    plus a constant:

    .. math:: E = \tfrac12 \lVert y - a \rVert^2 + \tfrac{Q}{2} \ln 2\pi,
              \qquad \partial E / \partial a = a - y

    Parameters
    ----------
    scale : {"unit"}, default="unit"
        Standard deviation of the noise: 1 in the units of ``y``.

    Notes
    -----
    Minimising E over the network is least squares whatever the true scale is; the best
    constant variance afterwards is the mean squared residual over all rows and targets.

    References
    ----------
    .. [1] C. M. Bishop and H. Bishop, Deep Learning: Foundations and Concepts, section 6.4,
       2024, https://www.bishopbook.com

    Examples
    --------
    >>> import torch
    >>> head = Normal()
    >>> raw, y = torch.tensor([[1.0], [3.0]]), torch.tensor([[1.0], [1.0]])
    >>> head.error(raw, y)
    tensor([0.9189, 2.9189])
    >>> head.gradient(raw, y)
    tensor([[0.],
            [2.]])
    """

    scale: Literal["unit"] = "unit"

    name: ClassVar[str] = "normal"
    canonical: ClassVar[bool] = True
    kernel: ClassVar[str | None] = "normal"
    metric_name: ClassVar[str] = "R²"

    def __post_init__(self) -> None:
        check_choice("scale", self.scale, ("unit",))

    def targets(self, y: Array) -> Array:
        """Return ``y`` as finite float64 of shape (N, Q)."""
        return float_columns(y)

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        return over_outputs((raw - y).square()) * 0.5 + raw.shape[-1] * _HALF_LOG_TWO_PI

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error (..., B) and its gradient a - y, without checks."""
        residual = raw - y
        error = over_outputs(residual.square()).mul_(0.5).add_(raw.shape[-1] * _HALF_LOG_TWO_PI)
        return error, residual

    def distribution(self, raw: Tensor) -> Distribution:
        """Return independent normals with mean ``raw`` and scale 1."""
        return Independent(TorchNormal(raw, torch.ones_like(raw)), 1)

    def mean(self, raw: Tensor) -> Tensor:
        """Return ``raw`` itself."""
        return raw

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return R², averaged over the targets."""
        return r2(raw, y, weight)

    def _to_config(self) -> dict[str, Any]:
        return {"name": self.name, "scale": self.scale}
