"""From what a head returns to numbers: one family for each kind of torch distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch import distributions as td

from lamina._errors import ParameterError
from lamina._typing import FloatArray

from ._multivariate_normal import MultivariateNormalMixture
from ._normal_mixture import NormalMixture
from ._predictive import Predictive


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
        The family that fits: mixtures of normals in closed form, counts, quantiles.

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
    if len(dist.batch_shape) != 1 or len(dist.event_shape) > 1:
        raise ParameterError(
            "dist must have batch shape (N,) and event shape () or (T,). "
            f"Got {tuple(dist.batch_shape)} and {tuple(dist.event_shape)}. "
            "Wrap it into torch.distributions.Independent if the last axis is one of targets."
        )
    weights, component = _split(dist)
    return _normal(weights, component).affine(loc, scale)


def _split(dist: td.Distribution) -> tuple[FloatArray | None, td.Distribution]:
    """Return log weights (N, C) and the distribution of the components, or None and itself."""
    if isinstance(dist, td.MixtureSameFamily):
        return array(dist.mixture_distribution.logits), dist.component_distribution
    return None, dist


def array(tensor: Tensor) -> FloatArray:
    """Return a tensor as float64 in NumPy."""
    return np.array(tensor.detach().to("cpu", torch.float64).numpy())


def _normal(weights: FloatArray | None, dist: td.Distribution) -> Predictive:
    base = dist.base_dist if isinstance(dist, td.Independent) else dist
    if isinstance(base, td.Normal):
        loc, scale = array(base.loc), array(base.scale)
        if not dist.event_shape:
            return NormalMixture(loc, scale, weights)
        if dist.event_shape[0] == 1:
            return NormalMixture(loc[..., 0], scale[..., 0], weights)
        tril: FloatArray = scale[..., None] * np.eye(scale.shape[-1])
        return MultivariateNormalMixture(loc, tril, weights)
    if isinstance(base, td.MultivariateNormal):
        loc, tril = array(base.loc), array(base.scale_tril)
        if dist.event_shape[0] == 1:
            return NormalMixture(loc[..., 0], tril[..., 0, 0], weights)
        return MultivariateNormalMixture(loc, tril, weights)
    raise ParameterError(f"Nothing is known about {type(dist).__name__}.")
