"""A head from any function of the raw outputs that returns a torch distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.distributions import Distribution

from lamina._checks import check_integer, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array

from ._head import Head
from ._metrics import weighted_mean
from ._targets import float_columns

Make = Callable[[Tensor], Distribution]


@dataclass(frozen=True, init=False)
class FromDistribution(Head):
    r"""Any conditional distribution that torch can write down.

    .. math:: E = -\ln p(y \mid a), \qquad p = \mathrm{make}(a)

    The gradient comes from automatic differentiation over the raw outputs alone.

    Parameters
    ----------
    make : callable
        ``make(raw)`` for a tensor of shape (..., B, Q) returns a
        :class:`torch.distributions.Distribution` of batch shape (..., B) and event shape (T,),
        or () for a single target. Its ``log_prob`` is differentiable.
    n_raw : int
        Number of raw outputs Q.
    name : str, default="from_distribution"
        What messages and tables call it.

    Notes
    -----
    Keep scales and rates away from 0 and infinity yourself, since raw outputs are any numbers:
    ``softplus(a) + 1e-3``. A row whose raw outputs are not finite has the error NaN. `score` is
    the mean log density. A model with this head cannot be saved, since a file holds no code.

    Examples
    --------
    >>> import torch
    >>> from torch.distributions import Laplace
    >>> def laplace(raw):
    ...     return Laplace(raw[..., 0], torch.nn.functional.softplus(raw[..., 1]) + 1e-3)
    >>> head = FromDistribution(laplace, n_raw=2)
    >>> raw, y = torch.tensor([[0.0, 0.5413]]), torch.tensor([[2.0]])
    >>> head.error(raw, y)
    tensor([2.6922])
    >>> head.gradient(raw, y)
    tensor([[-0.9990, -0.6303]])
    """

    make: Make
    n_raw_outputs: int
    label: str

    name: ClassVar[str] = "from_distribution"
    metric_name: ClassVar[str] = "log density"

    def __init__(self, make: Make, n_raw: int, name: str = "from_distribution") -> None:
        if not callable(make):
            raise ParameterError(f"make must be a function of raw. Got {shown(make)}.")
        object.__setattr__(self, "make", make)
        object.__setattr__(self, "n_raw_outputs", check_integer("n_raw", n_raw, 1))
        object.__setattr__(self, "label", name)

    def n_raw(self, n_targets: int) -> int:
        """Return the ``n_raw`` given at construction."""
        return self.n_raw_outputs

    def targets(self, y: Array) -> Array:
        """Return ``y`` as finite float64 of shape (N, T)."""
        return float_columns(y)

    def _check(self, raw: Tensor, y: Tensor) -> None:
        self._check_raw(raw, y)

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        finite = raw.isfinite().all(-1, keepdim=True)
        distribution = self.distribution(torch.where(finite, raw, 0.0))
        columns = y.shape[-1]
        event = distribution.event_shape
        if event != (columns,) and (event or columns != 1):
            raise ParameterError(
                f"make must return distributions of event shape ({columns},), the columns of y. "
                f"Got {tuple(event)} from {self.label!r}."
            )
        try:
            log_prob = distribution.log_prob(y if event else y.squeeze(-1))
        except ValueError as error:
            raise DataError(
                f"y must be in the support of {type(distribution).__name__}, which {self.label!r} "
                f"returns: {' '.join(str(error).split())}"
            ) from error
        return torch.where(finite.squeeze(-1), -log_prob, torch.nan)

    def distribution(self, raw: Tensor) -> Distribution:
        """Return ``make(raw)``, checked for its batch shape."""
        try:
            distribution = self.make(raw)
        except ValueError as error:
            raise ParameterError(
                f"make must return a distribution for all finite raw outputs. {self.label!r} "
                f"says: {' '.join(str(error).split())}"
            ) from error
        if not isinstance(distribution, Distribution):
            raise ParameterError(
                "make must return a torch.distributions.Distribution. "
                f"Got {type(distribution).__name__} from {self.label!r}."
            )
        if distribution.batch_shape != raw.shape[:-1]:
            raise ParameterError(
                f"make must return distributions of batch shape {tuple(raw.shape[:-1])}, one for "
                f"each row. Got {tuple(distribution.batch_shape)} from {self.label!r}. Wrap it "
                "into torch.distributions.Independent if its last axis is one of targets."
            )
        return distribution

    def mean(self, raw: Tensor) -> Tensor:
        """Return the distribution's own mean, shape (..., B, T)."""
        distribution = self.distribution(raw)
        try:
            mean = distribution.mean
        except NotImplementedError as error:
            raise ParameterError(
                f"head must be one with a mean. Got {type(distribution).__name__} from "
                f"{self.label!r}, which has none."
            ) from error
        return mean if distribution.event_shape else mean.unsqueeze(-1)

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return the mean log density."""
        return -weighted_mean(self._error(raw, y), weight)

    def _to_config(self) -> dict[str, Any]:
        raise ParameterError(
            f"head must be one of lamina's to be saved. Got {self.label!r}, a Python function, "
            "and a saved model holds no code."
        )
