"""Torch distributions with other parameters: in float64, of some rows, of one target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, is_tensor
from torch import distributions as td

from lamina._errors import ParameterError

Change = Callable[[Tensor], Tensor]


def rebuilt(dist: td.Distribution, change: Change) -> td.Distribution:
    """Return the same kind of distribution with every parameter changed.

    Parameters
    ----------
    dist : torch.distributions.Distribution
        A distribution whose ``arg_constraints`` name its parameters, or one made of such.
    change : callable
        From a parameter of shape batch shape (+ event shape) to another one.
    """
    if isinstance(dist, td.Independent):
        base = rebuilt(dist.base_dist, change)
        return td.Independent(base, dist.reinterpreted_batch_ndims, validate_args=False)
    named = _parameter_names(dist)
    if named:
        changed: dict[str, Any] = {name: change(getattr(dist, name)) for name in named}
        changed["validate_args"] = False
        return type(dist)(**changed)
    if type(dist) is td.TransformedDistribution:
        base = rebuilt(dist.base_dist, change)
        transforms = [_transform(transform, change) for transform in dist.transforms]
        return td.TransformedDistribution(base, transforms, validate_args=False)
    raise ParameterError(
        f"{type(dist).__name__} does not say what its parameters are, so its rows cannot be told "
        "apart. Name them in arg_constraints, as torch's own distributions do."
    )


def _parameter_names(dist: td.Distribution) -> list[str]:
    """Return the parameters that a distribution is made from; of probs and logits the logits."""
    names = list(dist.arg_constraints)
    if "logits" in names and "probs" in names:
        names.remove("probs")
    return names


def _transform(transform: td.Transform, change: Change) -> td.Transform:
    if isinstance(transform, td.AffineTransform):
        loc, scale = (
            change(value) if is_tensor(value) and value.ndim else value
            for value in (transform.loc, transform.scale)
        )
        return td.AffineTransform(loc, scale, event_dim=transform.event_dim)
    if any(is_tensor(value) and value.ndim for value in vars(transform).values()):
        raise ParameterError(
            f"{type(transform).__name__} has parameters of its own, so the rows of the "
            "distribution cannot be told apart."
        )
    return transform
