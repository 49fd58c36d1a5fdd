"""Several targets that are independent within each component of a mixture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np

from lamina._errors import ParameterError
from lamina._typing import FloatArray, IntArray

from ._arguments import joint_points, shares_of, targets_given, values_given
from ._joint import Joint
from ._log_sum import exponential, log_sum
from ._mixture import ComponentMixture
from ._predictive import Predictive


class ProductMixture(Joint):
    r"""A mixture of products: T targets, independent given the component.

    .. math:: p(y) = \sum_c \pi_c \prod_t p_{ct}(y_t)

    With one component the targets are independent; with more they are not. All targets have
    the same weights in each row.

    Parameters
    ----------
    targets : list of Predictive
        Mixtures of C components, one for each target, with the same rows and weights.

    Raises
    ------
    ParameterError
        If they do not share rows and weights.

    Examples
    --------
    >>> from lamina.distributions import BernoulliMixture
    >>> one, two = (BernoulliMixture([[9.0, -9.0]]) for _ in range(2))
    >>> ProductMixture([one, two]).pdf([[1.0, 1.0]]).round(3)
    array([0.5])
    """

    targets: list[ComponentMixture]
    log_weights: FloatArray
    _per_row: ClassVar[tuple[str, ...]] = ("log_weights",)

    def __init__(self, targets: Sequence[Any]) -> None:
        alike = bool(targets) and all(isinstance(target, ComponentMixture) for target in targets)
        if not alike or not all(
            np.array_equal(target.log_weights, targets[0].log_weights) for target in targets
        ):
            raise ParameterError(
                "targets must be mixtures of one target with the same rows and weights. "
                f"Got {targets!r}."
            )
        self.targets = list(targets)
        self.log_weights, self.rows = targets[0].log_weights, targets[0].rows
        self.n_targets = len(self.targets)
        self.is_discrete = all(target.is_discrete for target in targets)

    @property
    def weights(self) -> FloatArray:
        """Weights of the components, (N, C); each row sums to 1."""
        return exponential(self.log_weights)

    @property
    def n_components(self) -> int:
        """C, the number of components."""
        return int(self.log_weights.shape[1])

    def _take(self, places: IntArray | slice) -> Self:
        taken = super()._take(places)
        taken.targets = [target._take(places) for target in self.targets]
        return taken

    def _terms(self, y: FloatArray) -> FloatArray:
        """Return the log density of each component, (N, m, C), without weights."""
        terms: FloatArray = np.sum(
            [target._terms(y[..., t]) for t, target in enumerate(self.targets)], axis=0
        )
        return terms

    def _log_joint(self, y: FloatArray) -> FloatArray:
        return log_sum(self._terms(y) + self.log_weights[:, None])

    def _marginal(self, target: int) -> ComponentMixture:
        return self.targets[target]

    def covariance(self) -> FloatArray:
        """Return the covariance matrix of the targets, (N, T, T), all of it between components."""
        means = np.stack([target._component_means() for target in self.targets], axis=2)
        away = means - self.mean()[:, None]
        covariance: FloatArray = np.einsum("nc,ncs,nct->nst", self.weights, away, away)
        place = np.arange(self.n_targets)
        covariance[:, place, place] = self.variance()
        return covariance

    def n_effective(self) -> FloatArray:
        """Return the effective number of components, exp of the weights' entropy, (N,)."""
        return self.targets[0].n_effective()

    def responsibilities(self, y: Any) -> FloatArray:
        """Return how probable it is that y (N, T) came from each component, (N, C).

        Parameters
        ----------
        y : array-like of shape (N, T) or (N, m, T)
            What was observed.

        Returns
        -------
        ndarray of shape (N, C) or (N, m, C)
            Each sums to 1 over the components.
        """
        values, single = joint_points(y, len(self), self.n_targets, finite=True)
        shares = shares_of(self._terms(values) + self.log_weights[:, None], self.weights[:, None])
        return shares[:, 0] if single else shares

    def condition(self, given: dict[int, Any]) -> Predictive:
        """Return the distribution of the other targets: the weights change, nothing else.

        Parameters
        ----------
        given : dict of int to float or array-like of shape (N,)
            Values of the known targets, by their number.

        Returns
        -------
        Predictive
            Of the targets left, in their order.
        """
        known = targets_given(given, self.n_targets)
        weights = self.log_weights
        for number in known:
            values = values_given(given, number, len(self))
            weights = weights + self.targets[number]._terms(values[:, None])[:, 0]
        lost = ~np.isfinite(weights.max(axis=1, keepdims=True))
        weights = np.where(lost, self.log_weights, weights)
        weights = weights - log_sum(weights)[:, None]
        left = []
        for number, target in enumerate(self.targets):
            if number not in known:
                changed = target._take(slice(None))
                changed.log_weights = weights
                left.append(changed)
        return left[0] if len(left) == 1 else ProductMixture(left)

    def _from_uniforms(self, u: FloatArray) -> FloatArray:
        edges = np.cumsum(self.weights, axis=1)[:, None, :-1]
        component = (u[:, :, :1] >= edges).sum(axis=2)
        draws = [target._pick(component, u[:, :, 1 + t]) for t, target in enumerate(self.targets)]
        return np.stack(draws, axis=2)

    def entropy(self) -> FloatArray:
        """Return the joint entropy in nats, (N,): a sum for C = 1, else to about 1e-2."""
        if self.n_components > 1:
            return super().entropy()
        entropy: FloatArray = self._marginals(lambda target: target.entropy()).sum(axis=1)
        return entropy

    def affine(self, loc: Any = 0.0, scale: Any = 1.0) -> Self:
        """Return the distribution of loc + scale·y; log densities fall by Σ ln(scale)."""
        shift = np.broadcast_to(np.asarray(loc, dtype=np.float64), (self.n_targets,))
        factor = np.broadcast_to(np.asarray(scale, dtype=np.float64), (self.n_targets,))
        moved = self._take(slice(None))
        moved.targets = [
            cast(ComponentMixture, target.affine(shift[t], factor[t]))
            for t, target in enumerate(self.targets)
        ]
        return moved
