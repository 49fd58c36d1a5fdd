"""Mixtures: a target with several possible answers, each normal or a row of bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from torch import Tensor
from torch.distributions import Bernoulli as TorchBernoulli
from torch.distributions import Categorical as TorchCategorical
from torch.distributions import Distribution, Independent, MixtureSameFamily

from lamina._checks import check_choice, check_integer, check_real
from lamina._errors import ParameterError
from lamina._typing import Array

from ._cholesky import Cholesky
from ._covariance import Covariance, Diagonal, Spherical, rows_first, rows_last, sum_of_targets
from ._floats import logistic, softplus
from ._head import Head
from ._metrics import accuracy, r2
from ._mixture_start import groups_along_main_axis, log_odds
from ._targets import float_columns, refuse

_COVARIANCES: dict[str, type[Covariance]] = {
    "spherical": Spherical,
    "diag": Diagonal,
    "full": Cholesky,
}


@dataclass(frozen=True)
class Mixture(Head):
    r"""A mixture density network: C components, whose parameters are all outputs.

    .. math:: p(y) = \sum_c \pi_c \, p_c(y), \qquad \pi = \operatorname{softmax}(a^\pi)

    The raw outputs are the C logits, the C·T component means (all targets of the first
    component, then of the second, …), and the raw scales of the components in the same order:
    one for each with ``"spherical"``, T with ``"diag"``, and with ``"full"`` the T(T+1)/2
    numbers of the lower Cholesky factor row by row, logs on the diagonal. A spherical mixture
    so has (T + 2) C raw outputs. With ``component="bernoulli"`` the C logits are followed by
    the C·T logits of the components' bits.

    With the responsibilities :math:`\gamma_c = \pi_c p_c(y) / p(y)` the gradient of the error
    :math:`E = -\ln p(y)` is, for spherical components and :math:`\sigma = e^{a^\sigma}`,

    .. math:: \frac{\partial E}{\partial a^\pi_c} = \pi_c - \gamma_c, \qquad
              \frac{\partial E}{\partial \mu_c} = \gamma_c \frac{\mu_c - y}{\sigma_c^2}, \qquad
              \frac{\partial E}{\partial a^\sigma_c} = \gamma_c \left( T -
                  \frac{\lVert y - \mu_c \rVert^2}{\sigma_c^2} \right)

    In words: a weight moves towards its component's share in this target, a mean is pulled to
    the target by that share, and a scale grows or shrinks to the distance of the target.

    Parameters
    ----------
    n_components : int, default=3
        Number of components C.
    covariance_type : {"spherical", "diag", "full"}, default="spherical"
        For normal components: one scale for all targets, one for each, or a full covariance.
    component : {"normal", "bernoulli"}, default="normal"
        Distribution of the targets within a component: normal, or independent bits.
    min_scale : float, default=1e-3
        The floor m of every scale, in the units of the ``y`` that the head is given:
        :math:`\sigma^2 = m^2 + e^{2 a^\sigma}`. It holds a component that shrinks onto a
        single point.

    Notes
    -----
    Everything is computed in log space. An error or gradient beyond the float range is put at
    its end, so nothing is infinite, also where every component is far from the target. With
    several targets, a mixture is dependent between them even where its components are not.

    References
    ----------
    .. [1] C. M. Bishop, Mixture density networks, 1994,
       https://publications.aston.ac.uk/id/eprint/373/
    .. [2] C. M. Bishop and H. Bishop, Deep Learning: Foundations and Concepts, section 6.5,
       2024, https://www.bishopbook.com

    Examples
    --------
    >>> import torch
    >>> head = Mixture(2, min_scale=0.0)
    >>> raw = torch.tensor([[0.0, 0.0, -1.0, 1.0, -1.0, -1.0]])  # ±1, each of scale 1/e
    >>> y = torch.tensor([[1.0]])
    >>> head.error(raw, y)
    tensor([0.6121])
    >>> head.responsibilities(raw, y)
    tensor([[3.8190e-07, 1.0000e+00]])
    >>> head.mean(raw)
    tensor([[0.]])
    """

    n_components: int = 3
    covariance_type: Literal["spherical", "diag", "full"] = "spherical"
    component: Literal["normal", "bernoulli"] = "normal"
    min_scale: float = 1e-3

    name: ClassVar[str] = "mixture"
    kernel: ClassVar[str | None] = "mixture"
    metric_name: ClassVar[str] = "R²"

    def __post_init__(self) -> None:
        n_components = check_integer("n_components", self.n_components, 1)
        object.__setattr__(self, "n_components", n_components)
        check_choice("covariance_type", self.covariance_type, _COVARIANCES)
        check_choice("component", self.component, ("normal", "bernoulli"))
        object.__setattr__(self, "min_scale", check_real("min_scale", self.min_scale, 0.0))
        if self._binary or self.covariance_type == "full":
            object.__setattr__(self, "kernel", None)
        if self._binary:
            if self.covariance_type != "spherical":
                raise ParameterError(
                    "covariance_type must be left as it is with component='bernoulli', whose "
                    f"bits are independent. Got {self.covariance_type!r}."
                )
            object.__setattr__(self, "metric_name", "accuracy")

    @property
    def location_scale(self) -> bool:
        """Whether the head can follow any shift and scale of the targets: not of bits."""
        return not self._binary

    @property
    def _binary(self) -> bool:
        return self.component == "bernoulli"

    @property
    def _covariance(self) -> Covariance:
        return _COVARIANCES[self.covariance_type](self.min_scale)

    def _n_scales(self, n_targets: int) -> int:
        """Return the raw scales of one component."""
        return 0 if self._binary else self._covariance.n_raw(n_targets)

    def _n_targets(self, n_raw: int) -> int:
        """Return T from the number of raw outputs."""
        each, rest = divmod(n_raw, self.n_components)
        for n_targets in range(1, each):
            if 1 + n_targets + self._n_scales(n_targets) == each and not rest:
                return n_targets
        raise ParameterError(
            f"raw must have (1 + T + number of scales) × {self.n_components} columns, the raw "
            f"outputs of {self!r}. Got {n_raw}."
        )

    def targets(self, y: Array) -> Array:
        """Return ``y`` as finite float64 of shape (N, T); bits for Bernoulli components."""
        columns = float_columns(y)
        if self._binary:
            refuse((columns != 0) & (columns != 1), columns, "0 or 1")
        return columns

    def n_raw(self, n_targets: int) -> int:
        """Return C (1 + T + S), where S is the number of scales of one component."""
        n_targets = super().n_raw(n_targets)
        return self.n_components * (1 + n_targets + self._n_scales(n_targets))

    def start(self, y: Array) -> Array:
        """Return even weights, means spread over ``y`` along its main axis, and its scales.

        The rows are sorted along the direction of the largest variance and cut into C equal
        parts: a component starts at the mean of its part. All scales start at the spread
        within the parts.
        """
        means, within = groups_along_main_axis(y, self.n_components)
        logits = np.zeros(self.n_components)
        if self._binary:
            return np.concatenate([logits, log_odds(means).ravel()])
        scales = np.tile(self._covariance.start(within), self.n_components)
        return np.concatenate([logits, means.ravel(), scales])

    def _check(self, raw: Tensor, y: Tensor) -> None:
        self._check_raw(raw, y)

    def _blocks(self, rows: Tensor, n_targets: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits (..., C, B), means (..., C, T, B) and raw scales (..., C, S, B)."""
        n, n_loc = self.n_components, self.n_components * n_targets
        *lead, _, n_rows = rows.shape
        loc = rows[..., n : n + n_loc, :].reshape(*lead, n, n_targets, n_rows)
        scale = rows[..., n + n_loc :, :].reshape(*lead, n, self._n_scales(n_targets), n_rows)
        return rows[..., :n, :], loc, scale

    def _log_joint(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return ln π_c + ln p_c(y) less its common part, (..., C, B), and that part.

        The log density of the nearest component may be so large that ln π would be lost in it.
        """
        logits, loc, scale = self._blocks(raw.mT, y.shape[-1])
        target = y.mT.unsqueeze(-3)
        if self._binary:
            errors = sum_of_targets(softplus(loc) - target * loc)
        else:
            errors = self._covariance.errors(loc - target, scale)
        nearest = errors.amin(-2, keepdim=True)
        return logits.log_softmax(-2) - (errors - nearest), nearest

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        log_joint, nearest = self._log_joint(raw, y)
        return nearest.squeeze(-2) - log_joint.logsumexp(-2)

    def responsibilities(self, raw: Tensor, y: Tensor) -> Tensor:
        r"""Return the posterior probability of each component given the target.

        .. math:: \gamma_c = \pi_c p_c(y) / \sum_k \pi_k p_k(y)

        Parameters
        ----------
        raw : Tensor of shape (..., B, Q)
            Raw outputs.
        y : Tensor of shape (..., B, T)
            Targets.

        Returns
        -------
        Tensor of shape (..., B, C)
            Numbers that add up to 1 in every row.

        Examples
        --------
        >>> import torch
        >>> raw = torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
        >>> Mixture(2).responsibilities(raw, torch.tensor([[5.0]]))
        tensor([[0.7311, 0.2689]])
        """
        self._check(raw, y)
        return self._log_joint(raw, y)[0].softmax(-2).mT

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error (..., B) and its gradient (..., B, Q), without checks."""
        rows, columns = rows_last(raw, y)
        logits, loc, scale = self._blocks(rows, columns.shape[-2])
        target = columns.unsqueeze(-3)
        if self._binary:
            errors = sum_of_targets(softplus(loc) - target * loc)
            parts = [logistic(loc) - target]
        else:
            errors, *parts = self._covariance.errors_and_gradients(loc - target, scale)
        log_weights = logits.log_softmax(-2)
        nearest = errors.amin(-2, keepdim=True)  # as in `_log_joint`
        log_joint = log_weights - (errors - nearest)
        error = nearest.squeeze(-2) - log_joint.logsumexp(-2)
        share = log_joint.softmax(-2)  # γ of shape (..., C, B)
        spread = share.unsqueeze(-2)
        blocks = [log_weights.exp() - share, *[(spread * d).flatten(-3, -2) for d in parts]]
        return error, rows_first(blocks)

    def _parameters(self, raw: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits (..., B, C), means (..., B, C, T) and raw scales (..., B, C, S)."""
        n_targets = self._n_targets(raw.shape[-1])
        logits, loc, scale = self._blocks(raw.mT, n_targets)
        return logits.mT, loc.movedim(-1, -3), scale.movedim(-1, -3)

    def distribution(self, raw: Tensor) -> Distribution:
        """Return mixtures with event shape (T,)."""
        logits, loc, scale = self._parameters(raw)
        component = (
            Independent(TorchBernoulli(logits=loc), 1)
            if self._binary
            else self._covariance.distribution(loc, scale)
        )
        return MixtureSameFamily(TorchCategorical(logits=logits), component)

    def mean(self, raw: Tensor) -> Tensor:
        """Return the mean of the mixture (..., B, T): of bits, their probabilities."""
        logits, loc, _ = self._parameters(raw)
        centres = loc.sigmoid() if self._binary else loc
        return (logits.softmax(-1).unsqueeze(-1) * centres).sum(-2)

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return R² of the mean; for bits, the share of rows right in each of them."""
        mean = self.mean(raw)
        if self._binary:
            return accuracy((mean > 0.5) == (y > 0.5), raw, weight)
        return r2(mean, y, weight)

    def _to_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "n_components": self.n_components,
            "covariance_type": self.covariance_type,
            "component": self.component,
            "min_scale": self.min_scale,
        }
