"""The multivariate normal distribution: targets whose noise is correlated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from torch import Tensor
from torch.distributions import Distribution

from lamina._checks import check_choice, check_real
from lamina._errors import ParameterError
from lamina._typing import Array

from ._cholesky import Cholesky
from ._covariance import rows_first, rows_last
from ._head import Head
from ._metrics import r2
from ._targets import float_columns


@dataclass(frozen=True)
class MultivariateNormal(Head):
    r"""T targets with normal noise of full covariance, from a lower Cholesky factor L.

    The T means μ are followed by the lower triangle of L row by row, T(T+1)/2 raw outputs s:
    those off the diagonal are the entries themselves, those on it give

    .. math:: L_{tt}^2 = m^2 + e^{2 s_{tt}}, \qquad \Sigma = L L^\top, \qquad
              E = \tfrac12 \lVert z \rVert^2 + \sum_t \ln L_{tt} + \tfrac{T}{2} \ln 2\pi

    with :math:`z = L^{-1} (y - \mu)`. With :math:`u = L^{-\top} z` the gradients are

    .. math:: \frac{\partial E}{\partial \mu} = -u, \qquad
              \frac{\partial E}{\partial L_{ij}} = [i = j] \frac{1}{L_{ii}} - u_i z_j

    Parameters
    ----------
    covariance : {"shared", "per_row"}, default="shared"
        One learnt covariance for all rows, or outputs of the network.
    min_scale : float, default=1e-3
        The floor m of the factor's diagonal, in the units of the ``y`` that the head is given:
        the standard deviation of a target given those before it.

    Notes
    -----
    Any raw outputs are a valid covariance. An error or gradient beyond the float range is put
    near its end, so nothing is infinite.

    References
    ----------
    .. [1] P. M. Williams, Using neural networks to model conditional multivariate densities,
       Neural Computation 8, 1996, https://doi.org/10.1162/neco.1996.8.4.843

    Examples
    --------
    >>> import torch
    >>> head = MultivariateNormal(min_scale=0.0)
    >>> raw = torch.tensor([[0.0, 0.0, 0.0, 3.0, 0.0]])  # L is [[1, 0], [3, 1]]
    >>> head.error(raw, torch.tensor([[1.0, 3.0]]))
    tensor([2.3379])
    >>> head.distribution(raw).covariance_matrix
    tensor([[[ 1.,  3.],
             [ 3., 10.]]])
    """

    covariance: Literal["shared", "per_row"] = "shared"
    min_scale: float = 1e-3

    name: ClassVar[str] = "multivariate_normal"
    metric_name: ClassVar[str] = "R²"

    def __post_init__(self) -> None:
        check_choice("covariance", self.covariance, ("shared", "per_row"))
        object.__setattr__(self, "min_scale", check_real("min_scale", self.min_scale, 0.0))

    @property
    def location_scale(self) -> bool:
        """Whether the head can follow any shift and scale of the targets: yes."""
        return True

    @property
    def _factor(self) -> Cholesky:
        return Cholesky(self.min_scale)

    def targets(self, y: Array) -> Array:
        """Return ``y`` as finite float64 of shape (N, T)."""
        return float_columns(y)

    def n_raw(self, n_targets: int) -> int:
        """Return T + T(T+1)/2."""
        n_targets = super().n_raw(n_targets)
        return n_targets + self._factor.n_raw(n_targets)

    def shared_raw(self, n_targets: int) -> int:
        """Return T(T+1)/2 for a shared covariance, else 0."""
        return self._factor.n_raw(n_targets) if self.covariance == "shared" else 0

    def start(self, y: Array) -> Array:
        """Return the mean of ``y`` and the Cholesky factor of its covariance."""
        loc = y.mean(0)
        return np.concatenate([loc, self._factor.start(y - loc)])

    def _check(self, raw: Tensor, y: Tensor) -> None:
        self._check_raw(raw, y)

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        rows, n_targets = raw.mT, y.shape[-1]
        return self._factor.errors(rows[..., :n_targets, :] - y.mT, rows[..., n_targets:, :])

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error (..., B) and its gradient (..., B, Q), without checks."""
        rows, target = rows_last(raw, y)
        n_targets = target.shape[-2]
        error, *gradient = self._factor.errors_and_gradients(
            rows[..., :n_targets, :] - target, rows[..., n_targets:, :]
        )
        return error, rows_first(gradient)

    def _n_targets(self, raw: Tensor) -> int:
        """Return T from T + T(T+1)/2 columns."""
        n_raw = raw.shape[-1]
        n_targets = (math.isqrt(9 + 8 * n_raw) - 3) // 2
        if n_targets < 1 or self.n_raw(n_targets) != n_raw:
            raise ParameterError(
                f"raw must have T + T(T+1)/2 columns, so 2, 5, 9, 14, … Got {n_raw}."
            )
        return n_targets

    def distribution(self, raw: Tensor) -> Distribution:
        """Return multivariate normals with ``scale_tril`` L, event shape (T,)."""
        n_targets = self._n_targets(raw)
        return self._factor.distribution(raw[..., :n_targets], raw[..., n_targets:])

    def mean(self, raw: Tensor) -> Tensor:
        """Return the first T raw outputs."""
        return raw[..., : self._n_targets(raw)]

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return R² of the mean, averaged over the targets."""
        return r2(raw[..., : y.shape[-1]], y, weight)

    def _to_config(self) -> dict[str, Any]:
        return {"name": self.name, "covariance": self.covariance, "min_scale": self.min_scale}
