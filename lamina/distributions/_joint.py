"""Several targets: what follows from their marginals and their joint density."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from lamina._checks import check_integer, shown
from lamina._errors import ParameterError
from lamina._typing import FloatArray

from ._arguments import joint_points, target_number
from ._predictive import Predictive
from ._streams import seed_of, uniforms
from ._univariate import Univariate


class Joint(Predictive):
    """A predictive distribution of T targets; quantiles and the like are of each by itself."""

    @abstractmethod
    def _log_joint(self, y: FloatArray) -> FloatArray:
        """Return the joint log density (N, m) at (N, m, T)."""

    @abstractmethod
    def _marginal(self, target: int) -> Univariate:
        """Return the distribution of one target, without checks."""

    @abstractmethod
    def _from_uniforms(self, u: FloatArray) -> FloatArray:
        """Return draws (N, n, T) from uniform numbers (N, n, 1 + T)."""

    def marginal(self, target: int) -> Univariate:
        """Return the distribution of one target, whatever the others are."""
        number = target_number(target, self.n_targets)
        if number is None:
            raise ParameterError(
                f"target must be a number from 0 to {self.n_targets - 1}. Got {shown(target)}."
            )
        return self._marginal(number)

    def _marginals(self, tell: Callable[[Univariate], FloatArray]) -> FloatArray:
        """Return what each marginal tells, side by side on the last axis."""
        told = [tell(self._marginal(target)) for target in range(self.n_targets)]
        return np.stack(told, axis=-1)

    def _at_marginals(
        self, y: Any, tell: Callable[[Univariate, FloatArray], FloatArray], finite: bool = False
    ) -> FloatArray:
        values, single = joint_points(y, len(self), self.n_targets, finite=finite)
        told = [tell(self._marginal(j), values[..., j]) for j in range(self.n_targets)]
        answer = np.stack(told, axis=-1)
        return answer[:, 0] if single else answer

    def mean(self) -> FloatArray:
        """Return the expected value, (N, T)."""
        return self._marginals(lambda target: target.mean())

    def std(self) -> FloatArray:
        """Return the standard deviation of each target, (N, T)."""
        return self._marginals(lambda target: target.std())

    def quantile(self, q: Any) -> FloatArray:
        """Return quantiles of each target by itself, (N, T), of m probabilities (N, m, T)."""
        return self._marginals(lambda target: target.quantile(q))

    def cdf(self, y: Any) -> FloatArray:
        """Return the probability of at most y for each target by itself, in the shape of y."""
        return self._at_marginals(y, lambda target, at: target.cdf(at))

    def log_marginal(self, y: Any) -> FloatArray:
        """Return the log density of each target by itself in nats, in the shape of y."""
        return self._at_marginals(y, lambda target, at: target.log_prob(at))

    def crps(self, y: Any) -> FloatArray:
        """Return the CRPS of each target by itself, in the shape and units of y."""
        return self._at_marginals(y, lambda target, at: target.crps(at), finite=True)

    def log_prob(self, y: Any) -> FloatArray:
        """Return the joint log density in nats: y (N, T) to (N,), or (N, m, T) to (N, m)."""
        values, single = joint_points(y, len(self), self.n_targets)
        answer = self._log_joint(values)
        return answer[:, 0] if single else answer

    def sample(self, n: int = 1, random_state: Any = None) -> FloatArray:
        """Draw n vectors a row, (N, n, T), each row from its own random stream."""
        count = check_integer("n", n, 1)
        numbers = uniforms(seed_of(random_state), self.rows, count, 1 + self.n_targets)
        return self._from_uniforms(numbers)
