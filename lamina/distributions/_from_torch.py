"""From what a head returns to numbers: one family for each kind of torch distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch import distributions as td

from lamina._errors import ParameterError
from lamina._typing import FloatArray

from ._count_families import BernoulliMixture, NegativeBinomialMixture, PoissonMixture
from ._interpolated import InterpolatedQuantiles
from ._mixture import ComponentMixture
from ._mixture_of import MixtureOf
from ._multivariate_normal import MultivariateNormalMixture
from ._normal_mixture import NormalMixture
from ._predictive import Predictive
from ._product import ProductMixture
from ._quantile_torch import QuantileFunction
from ._rebuilt import rebuilt
from ._torch_distribution import TorchDistribution
from ._univariate import Univariate

_SMALLEST = 1e-290


def predictive(dist: td.Distribution, *, loc: Any = 0.0, scale: Any = 1.0) -> Predictive:
    """Return the predictive distribution of y = loc + scale·z, z being a torch distribution.

    Parameters
    ----------
    dist : torch.distributions.Distribution
        Distribution of z with batch shape (N,); the event shape is () or (T,). One target of
        event shape (1,) counts as one target.
    loc, scale : float or array-like of shape (T,), default=0.0 and 1.0
        How the target was standardised: its mean and standard deviation.

    Returns
    -------
    Predictive
        The family that fits: mixtures of normals in closed form, counts, quantiles. Any other
        continuous distribution keeps torch's own density and cdf; several targets of it must
        be independent.

    Raises
    ------
    ParameterError
        If the batch shape is not (N,), or nothing is known about the kind of distribution.

    Examples
    --------
    >>> import torch
    >>> z = torch.distributions.Normal(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.5]))
    >>> predictive(z, loc=10.0, scale=4.0).mean()
    array([10., 14.])
    """
    if not isinstance(dist, td.Distribution):
        raise ParameterError(
            f"dist must be a torch.distributions.Distribution. Got {type(dist).__name__}."
        )
    if len(dist.batch_shape) != 1 or len(dist.event_shape) > 1 or not dist.batch_shape[0]:
        raise ParameterError(
            "dist must have batch shape (N,), N of at least 1, and event shape () or (T,). "
            f"Got {tuple(dist.batch_shape)} and {tuple(dist.event_shape)}. "
            "Wrap it into torch.distributions.Independent if the last axis is one of targets."
        )
    with torch.no_grad():
        return _family(dist).affine(loc, scale)


def _family(dist: td.Distribution) -> Predictive:
    """Return the family of z itself."""
    weights: FloatArray | None = None
    if isinstance(dist, td.MixtureSameFamily):
        weights = _array(dist.mixture_distribution.logits)
        dist = dist.component_distribution
    base = dist.base_dist if isinstance(dist, td.Independent) else dist
    n_targets = dist.event_shape[0] if dist.event_shape else None
    if isinstance(base, td.Normal | td.MultivariateNormal | td.LowRankMultivariateNormal):
        return _normal(base, n_targets, weights)
    if n_targets is None:
        return _one_target(base, weights)
    if not base.batch_shape or base.batch_shape == dist.batch_shape:
        raise ParameterError(
            f"the targets of {type(base).__name__} depend on one another, and its marginals are "
            "not known. Use a normal mixture, or Independent of a distribution of one target."
        )
    targets = [_one_target(_part(base, t), weights) for t in range(n_targets)]
    if n_targets == 1:
        return targets[0]
    return ProductMixture(
        [each if isinstance(each, ComponentMixture) else MixtureOf([each]) for each in targets]
    )


def _part(base: td.Distribution, place: int) -> td.Distribution:
    """Return one place of the last batch axis: a target, or a component."""
    if isinstance(base, QuantileFunction):
        return QuantileFunction(base.levels, base.quantiles[..., place, :], validate_args=False)

    def one(values: Tensor) -> Tensor:
        return values[..., place]

    return rebuilt(base, one)


def _array(tensor: Tensor) -> FloatArray:
    """Return a tensor as float64 in NumPy."""
    return np.array(tensor.detach().to("cpu", torch.float64).numpy())


def _normal(
    base: td.Normal | td.MultivariateNormal | td.LowRankMultivariateNormal,
    n_targets: int | None,
    weights: FloatArray | None,
) -> NormalMixture | MultivariateNormalMixture:
    loc = _array(base.loc)
    if isinstance(base, td.Normal):
        scale = _array(base.scale)
        if n_targets is None:
            return NormalMixture(loc, scale, weights)
        if n_targets == 1:
            return NormalMixture(loc[..., 0], scale[..., 0], weights)
        return MultivariateNormalMixture(loc, scale[..., None] * np.eye(n_targets), weights)
    tril = _array(base.scale_tril)
    if n_targets == 1:
        return NormalMixture(loc[..., 0], tril[..., 0, 0], weights)
    return MultivariateNormalMixture(loc, tril, weights)


def _one_target(base: td.Distribution, weights: FloatArray | None) -> Univariate:
    """Return the family of one target, of batch shape (N,), or (N, C) with weights."""
    if isinstance(base, td.Poisson):
        return PoissonMixture(_log(base.rate), weights)
    if isinstance(base, td.NegativeBinomial):
        size = _log(base.total_count)
        return NegativeBinomialMixture(size + _array(base.logits), -size, weights)
    if isinstance(base, td.Bernoulli):
        return BernoulliMixture(_array(base.logits), weights)
    if isinstance(base, QuantileFunction):
        quantiles = _array(base.quantiles)
        return InterpolatedQuantiles(_array(base.levels), quantiles, weights)
    if isinstance(base, td.Categorical | td.OneHotCategorical):
        raise ParameterError(
            "a class has no mean and no quantiles, so Categorical is no predictive "
            "distribution. Use its probabilities."
        )
    if weights is None:
        return TorchDistribution(base)
    members = [TorchDistribution(_part(base, c)) for c in range(weights.shape[1])]
    return MixtureOf(members, weights)


def _log(values: Tensor) -> FloatArray:
    """Return logs in float64; what has vanished in the float type at hand is the least one."""
    logs: FloatArray = np.log(np.maximum(_array(values), _SMALLEST))
    return logs
