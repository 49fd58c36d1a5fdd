"""The normal distribution: its scale is 1, learnt for each target, or an output of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Distribution, Independent
from torch.distributions import Normal as TorchNormal

from lamina._checks import check_choice, check_real
from lamina._errors import ParameterError
from lamina._typing import Array

from ._covariance import Diagonal, rows_first, rows_last
from ._floats import HALF_LOG_TWO_PI
from ._head import Head, over_outputs
from ._metrics import r2
from ._targets import float_columns


@dataclass(frozen=True, repr=False)
class Normal(Head):
    r"""Targets that are normal around the first raw outputs.

    With ``scale="unit"`` the raw outputs are the mean (identity output), and the error is half
    the squared distance plus a constant:

    .. math:: E = \tfrac12 \lVert y - a \rVert^2 + \tfrac{Q}{2} \ln 2\pi,
              \qquad \partial E / \partial a = a - y

    Otherwise the T means μ are followed by T raw outputs s for the scales:

    .. math:: \sigma_t^2 = m^2 + e^{2 s_t}, \qquad
              E = \sum_t \frac{(y_t - \mu_t)^2}{2 \sigma_t^2} + \ln \sigma_t
                  + \tfrac12 \ln 2\pi,

    .. math:: \frac{\partial E}{\partial \mu_t} = \frac{\mu_t - y_t}{\sigma_t^2}, \qquad
              \frac{\partial E}{\partial s_t} = \left(1 - \frac{(y_t - \mu_t)^2}{\sigma_t^2}
                  \right) \frac{e^{2 s_t}}{\sigma_t^2}

    Parameters
    ----------
    scale : {"unit", "shared", "per_row"}, default="unit"
        Standard deviation σ of the noise: 1 in the units of ``y``; one learnt number for each
        target; or, for noise that depends on the inputs, an output of the network.
    beta : float in [0, 1], default=0.0
        For ``scale="per_row"``: each target's gradient is multiplied by :math:`\sigma_t^{2\beta}`
        taken as a constant, so that rows of large noise still pull on the mean (β-NLL). The
        error that is reported stays E; for β > 0 the gradient is no longer that of E.
    min_scale : float, default=1e-3
        The floor m of a learnt σ, in the units of the ``y`` that the head is given.

    Notes
    -----
    With unit scale, minimising E over the network is least squares whatever the true scale is;
    the best constant variance afterwards is the mean squared residual over all rows and
    targets, which is what ``scale="shared"`` learns along with the weights.

    An error or gradient beyond the float range is put at its end, so nothing is infinite.

    References
    ----------
    .. [1] C. M. Bishop and H. Bishop, Deep Learning: Foundations and Concepts, section 6.4,
       2024, https://www.bishopbook.com
    .. [2] D. A. Nix and A. S. Weigend, Estimating the mean and variance of the target
       probability distribution, ICNN 1994, https://doi.org/10.1109/ICNN.1994.374138
    .. [3] M. Seitzer et al., On the pitfalls of heteroscedastic uncertainty estimation with
       probabilistic neural networks, ICLR 2022, https://arxiv.org/abs/2203.09168

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
    >>> wide = torch.tensor([[3.0, 0.6931]])
    >>> Normal("per_row", min_scale=0.0).error(wide, y[1:])
    tensor([2.1121])
    """

    scale: Literal["unit", "shared", "per_row"] = "unit"
    beta: float = 0.0
    min_scale: float = 1e-3

    name: ClassVar[str] = "normal"
    canonical: ClassVar[bool] = True
    kernel: ClassVar[str | None] = "normal"
    metric_name: ClassVar[str] = "R²"

    def __post_init__(self) -> None:
        check_choice("scale", self.scale, ("unit", "shared", "per_row"))
        beta = check_real("beta", self.beta, 0.0, 1.0)
        if beta and self.scale != "per_row":
            raise ParameterError(
                f"beta must be 0 unless scale is 'per_row'. Got {beta} with scale={self.scale!r}."
            )
        object.__setattr__(self, "beta", beta)
        object.__setattr__(self, "min_scale", check_real("min_scale", self.min_scale, 0.0))
        if self.scale != "unit":
            object.__setattr__(self, "canonical", False)
            # None too for a subclass, which may compute something else.
            known = type(self).kernel is not None and beta == 0
            object.__setattr__(self, "kernel", "mixture" if known else None)

    def __repr__(self) -> str:
        learnt = f", beta={self.beta}, min_scale={self.min_scale}" if self._learns else ""
        return f"{type(self).__name__}(scale={self.scale!r}{learnt})"

    @property
    def _learns(self) -> bool:
        return self.scale != "unit"

    @property
    def location_scale(self) -> bool:
        """Whether the head can follow any shift and scale of the targets: not with unit scale."""
        return self._learns

    @property
    def _covariance(self) -> Diagonal:
        return Diagonal(self.min_scale)

    def targets(self, y: Array) -> Array:
        """Return ``y`` as finite float64 of shape (N, T)."""
        return float_columns(y)

    def n_raw(self, n_targets: int) -> int:
        """Return T with unit scale, else 2 T."""
        return super().n_raw(n_targets) * (2 if self._learns else 1)

    def shared_raw(self, n_targets: int) -> int:
        """Return T with ``scale="shared"``, else 0."""
        return n_targets if self.scale == "shared" else 0

    def start(self, y: Array) -> Array | None:
        """Return mean and log standard deviation of each target; None with unit scale."""
        if not self._learns:
            return None
        loc = y.mean(0)
        return np.concatenate([loc, self._covariance.start(y - loc)])

    def _check(self, raw: Tensor, y: Tensor) -> None:
        if self._learns:
            self._check_raw(raw, y)
        else:
            super()._check(raw, y)

    def _loc(self, raw: Tensor) -> Tensor:
        return raw[..., : raw.shape[-1] // 2] if self._learns else raw

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        if not self._learns:
            return over_outputs((raw - y).square()) * 0.5 + raw.shape[-1] * HALF_LOG_TWO_PI
        loc, scale = raw.mT.chunk(2, -2)
        return self._covariance.errors(loc - y.mT, scale)

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error (..., B) and its gradient (..., B, Q), without checks."""
        if self._learns:
            rows, y = rows_last(raw, y)
            loc, scale = rows.chunk(2, -2)
            error, d_loc, d_scale = self._covariance.errors_and_gradients(
                loc - y, scale, self.beta
            )
            return error, rows_first([d_loc, d_scale])
        residual = raw - y
        error = over_outputs(residual.square()).mul_(0.5).add_(raw.shape[-1] * HALF_LOG_TWO_PI)
        return error, residual

    def distribution(self, raw: Tensor) -> Distribution:
        """Return independent normals, event shape (T,)."""
        if not self._learns:
            return Independent(TorchNormal(raw, torch.ones_like(raw)), 1)
        loc, scale = raw.chunk(2, -1)
        return self._covariance.distribution(loc, scale)

    def mean(self, raw: Tensor) -> Tensor:
        """Return the means: ``raw`` itself with unit scale, else its first half."""
        return self._loc(raw)

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return R² of the mean, averaged over the targets."""
        return r2(self._loc(raw), y, weight)

    def _to_config(self) -> dict[str, Any]:
        learnt = {"beta": self.beta, "min_scale": self.min_scale} if self._learns else {}
        return {"name": self.name, "scale": self.scale} | learnt
