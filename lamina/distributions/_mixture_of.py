"""Mixtures of predictive distributions of any families: an ensemble as one distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np

from lamina._errors import ParameterError
from lamina._typing import FloatArray, IntArray

from ._arguments import normalised_weights
from ._continuous import Continuous
from ._mixture import ComponentMixture

_LEVELS = np.array([1e-3, 0.1, 0.5, 0.9, 0.999])


class MixtureOf(ComponentMixture, Continuous):
    r"""The mixture of C predictive distributions of one target, whatever their families.

    .. math:: F(y) = \sum_c \pi_c F_c(y)

    Cdf, density and moments are exact sums; quantiles are bracketed roots, CRPS and entropy
    quadrature, and modes are searched between 245 quantiles. `mixture_of` makes one where the
    members do not share a family.

    Parameters
    ----------
    members : list of Predictive
        Distributions of one continuous target and the same rows.
    log_weights : array-like of shape (N, C) or (C,), default=None
        Logs of the mixing weights, up to a constant of each row. None gives equal weights.

    Raises
    ------
    ParameterError
        If a member is not a continuous distribution of one target.

    Examples
    --------
    >>> import torch
    >>> from lamina.distributions import NormalMixture, TorchDistribution
    >>> laplace = torch.distributions.Laplace(torch.zeros(1), torch.ones(1))
    >>> both = MixtureOf([NormalMixture([0.0], [1.0]), TorchDistribution(laplace)])
    >>> both.variance()
    array([1.5])
    """

    members: list[Continuous]
    _per_row: ClassVar[tuple[str, ...]] = ("log_weights",)

    def __init__(self, members: Sequence[Any], log_weights: Any = None) -> None:
        for member in members:
            if not isinstance(member, Continuous) or len(member) != len(members[0]):
                raise ParameterError(
                    "members must be distributions of one continuous target and of the same "
                    f"rows. Got {member!r} beside {members[0]!r}."
                )
        if not members:
            raise ParameterError("members must hold one distribution or more. Got none.")
        self.members = list(members)
        self.log_weights = normalised_weights(log_weights, (len(members[0]), len(members)))
        self.rows = members[0].rows

    def _take(self, places: IntArray | slice) -> Self:
        taken = super()._take(places)
        taken.members = [member._take(places) for member in self.members]
        return taken

    def _terms(self, y: FloatArray) -> FloatArray:
        return np.stack([member._log_pdf(y) for member in self.members], axis=2)

    def _tails(self, y: FloatArray, upper: Any) -> FloatArray:
        above = np.broadcast_to(upper, y.shape)
        if above.all():
            tails = [member._sf(y) for member in self.members]
        elif above.any():
            tails = [np.where(above, member._sf(y), member._cdf(y)) for member in self.members]
        else:
            tails = [member._cdf(y) for member in self.members]
        return np.stack(tails, axis=2)

    def _component_means(self) -> FloatArray:
        return np.stack([member.mean() for member in self.members], axis=1)

    def _component_stds(self) -> FloatArray:
        return np.stack([member.std() for member in self.members], axis=1)

    def _component_quantiles(self, q: FloatArray) -> FloatArray:
        return np.stack([member._quantile(q) for member in self.members], axis=2)

    def _knots(self) -> FloatArray:
        return np.concatenate([member._quantile(_LEVELS) for member in self.members], axis=1)

    def _edges(self) -> FloatArray:
        edges = np.concatenate([member._edges() for member in self.members], axis=1)
        return np.sort(edges, axis=1)

    def _reach(self, log_threshold: FloatArray) -> tuple[FloatArray, FloatArray]:
        ends = [member._reach(log_threshold) for member in self.members]
        return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)

    def _log_slope(self, y: FloatArray) -> FloatArray:
        slopes = np.stack([member._log_slope(y) for member in self.members], axis=2)
        slope: FloatArray = np.einsum("nmc,nmc->nm", self._responsibilities(y), slopes)
        return slope

    def _pick(self, component: Any, u: FloatArray) -> FloatArray:
        return self._picked(component, np.stack([u, u], axis=2))

    def _picked(self, component: Any, u: FloatArray) -> FloatArray:
        draws = np.stack([member._from_uniforms(u) for member in self.members], axis=2)
        return np.take_along_axis(draws, component[:, :, None], axis=2)[:, :, 0]

    def _from_uniforms(self, u: FloatArray) -> FloatArray:
        edges = np.cumsum(self.weights, axis=1)
        edges[:, -1] = 1.0
        component = (u[:, :, :1] >= edges[:, None, :-1]).sum(axis=2)
        # What is left of the first number, after it has picked the member, picks inside it.
        row = np.arange(len(self))[:, None]
        width = self.weights[row, component]
        left = (u[:, :, 0] - (edges[row, component] - width)) / width
        left = np.clip(left, 2.0**-54, 1 - 2.0**-53)
        return self._picked(component, np.stack([left, u[:, :, 1]], axis=2))

    def affine(self, loc: Any = 0.0, scale: Any = 1.0) -> Self:
        """Return the distribution of loc + scale·y; log densities fall by ln(scale)."""
        moved = self._take(slice(None))
        moved.members = [cast(Continuous, member.affine(loc, scale)) for member in self.members]
        return moved
