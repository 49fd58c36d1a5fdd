"""Ensembles: several predictive distributions of the same rows as the mixture of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina._errors import ParameterError
from lamina._typing import FloatArray

from ._arguments import numbers
from ._continuous import Continuous
from ._count_families import BernoulliMixture, NegativeBinomialMixture, PoissonMixture
from ._interpolated import InterpolatedQuantiles
from ._mixture import ComponentMixture
from ._mixture_of import MixtureOf
from ._multivariate_normal import MultivariateNormalMixture
from ._normal_mixture import NormalMixture
from ._predictive import Predictive
from ._product import ProductMixture

_JOINED = (
    *(NormalMixture, MultivariateNormalMixture, InterpolatedQuantiles),
    *(PoissonMixture, NegativeBinomialMixture, BernoulliMixture),
)
"""Families of which a mixture of mixtures is a mixture with more components."""


def mixture_of(members: Sequence[Predictive], weights: Any = None) -> Predictive:
    r"""Return several predictive distributions of the same rows as one: their mixture.

    .. math:: p(y) = \sum_k w_k\, p_k(y)

    Members of one family become one distribution of that family with more components, so that
    everything stays exact. Continuous members of different families of one target are mixed
    as they are.

    Parameters
    ----------
    members : sequence of Predictive
        Distributions of the same rows and targets.
    weights : array-like of shape (n_members,), default=None
        How much each member counts; not negative, their sum is taken as 1. None counts all
        the same.

    Returns
    -------
    Predictive
        The mixture; its rows have the numbers of the first member's.

    Raises
    ------
    ParameterError
        If the members differ in rows or targets, or are of families that cannot be mixed.

    Examples
    --------
    >>> from lamina.distributions import NormalMixture
    >>> both = mixture_of([NormalMixture([0.0], [1.0]), NormalMixture([4.0], [1.0])])
    >>> both.mean(), both.variance()
    (array([2.]), array([5.]))
    """
    members = list(members)
    _check_members(members)
    logs = _log_shares(weights, len(members))
    if len(members) == 1:
        return members[0]
    if all(isinstance(member, ProductMixture) for member in members):
        return _mixed_products([m for m in members if isinstance(m, ProductMixture)], logs)
    if _of_one_family(members):
        joined: Predictive = _joined(members, logs)
        return joined
    if all(isinstance(member, Continuous) for member in members):
        return MixtureOf(members, logs)
    raise ParameterError(
        "members must be of one family, or continuous distributions of one target. Got "
        f"{', '.join(sorted({type(member).__name__ for member in members}))}."
    )


def _check_members(members: list[Predictive]) -> None:
    if not members or not all(isinstance(member, Predictive) for member in members):
        raise ParameterError(f"members must be a list of one or more Predictive. Got {members!r}.")
    sizes = {(len(member), member.n_targets) for member in members}
    if len(sizes) > 1:
        raise ParameterError(
            "members must have the same rows and targets. Got (rows, targets) "
            f"{', '.join(map(str, sorted(sizes)))}."
        )


def _log_shares(weights: Any, n_members: int) -> FloatArray:
    """Return normalised log weights (n_members,)."""
    values = np.ones(n_members) if weights is None else numbers("weights", weights)
    good = values.shape == (n_members,) and bool((values >= 0).all()) and values.sum() > 0
    if not good or not np.isfinite(values).all():
        raise ParameterError(
            f"weights must be {n_members} numbers, one for each member, none below 0 and not "
            f"all 0. Got {weights!r}."
        )
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(values) - np.log(values.sum())
    return logs


def _of_one_family(members: list[Predictive]) -> bool:
    first = members[0]
    alike = type(first) in _JOINED and all(type(member) is type(first) for member in members)
    if alike and isinstance(first, InterpolatedQuantiles):
        return all(
            isinstance(member, InterpolatedQuantiles)
            and np.array_equal(member.levels, first.levels)
            for member in members
        )
    return alike


def _joined(members: Sequence[Any], logs: FloatArray) -> Any:
    """Return one mixture with the components of all members."""
    joined = members[0]._take(slice(None))
    for name in joined._per_row:
        parts = [getattr(member, name) for member in members]
        if name == "log_weights":
            parts = [part + share for part, share in zip(parts, logs, strict=True)]
        setattr(joined, name, np.concatenate(parts, axis=1))
    return joined


def _mixed_products(members: list[ProductMixture], logs: FloatArray) -> ProductMixture:
    targets: list[ComponentMixture] = []
    for number in range(members[0].n_targets):
        column = [member.targets[number] for member in members]
        if _of_one_family(list(column)):
            targets.append(_joined(column, logs))
        elif all(isinstance(target, MixtureOf) for target in column):
            targets.append(_joined_members([t for t in column if isinstance(t, MixtureOf)], logs))
        else:
            raise ParameterError(
                f"members must have the same family for target {number}. Got "
                f"{', '.join(type(target).__name__ for target in column)}."
            )
    return ProductMixture(targets)


def _joined_members(mixtures: list[MixtureOf], logs: FloatArray) -> MixtureOf:
    """Return one mixture of all members of some mixtures."""
    joined = mixtures[0]._take(slice(None))
    joined.members = [member for mixture in mixtures for member in mixture.members]
    parts = [mixture.log_weights + share for mixture, share in zip(mixtures, logs, strict=True)]
    joined.log_weights = np.concatenate(parts, axis=1)
    return joined
