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
from ._predictive import Modes, Predictive
from ._spread_points import spread_points
from ._streams import seed_of, uniforms
from ._univariate import Univariate

_N_POINTS = 2048
_N_LAGS = 32


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

    def modes(self) -> Modes:
        """Raise a sentence: of this family only the modes of each target are known."""
        raise ParameterError(
            f"modes of {self.n_targets} targets together are known for normal mixtures only. "
            "Use marginal(target).modes()."
        )

    def highest_density(self, level: float = 0.9) -> list[FloatArray]:
        """Raise a sentence: a region of several targets is no list of intervals."""
        raise ParameterError(
            "highest_density returns intervals, so it needs one target. Got "
            f"{self.n_targets} targets. Use marginal(target).highest_density({level!r})."
        )

    def entropy(self) -> FloatArray:
        """Return the joint entropy in nats, (N,), from evenly spread points: about 1e-3."""
        draws = self._from_uniforms(self._spread(_N_POINTS, 1 + self.n_targets))
        entropy: FloatArray = -self._log_joint(draws).mean(axis=1)
        return entropy

    def energy_score(self, y: Any) -> FloatArray:
        """Return the energy score of y (N, T), from evenly spread points: about 1 %."""
        values, single = joint_points(y, len(self), self.n_targets, finite=True)
        draws = self._from_uniforms(self._spread(_N_POINTS, 1 + self.n_targets))
        lags = _N_POINTS * (np.arange(_N_LAGS) + 1) // (2 * _N_LAGS)
        pairs = [_lengths(draws - np.roll(draws, lag, axis=1)) for lag in lags]
        away = [_lengths(draws - values[:, place, None]) for place in range(values.shape[1])]
        spread: FloatArray = np.mean(pairs, axis=0)
        answer: FloatArray = np.stack(away, axis=1) - 0.5 * spread[:, None]
        return answer[:, 0] if single else answer

    def _spread(self, n: int, each: int) -> FloatArray:
        return np.tile(spread_points(n, each), (len(self), 1, 1))

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


def _lengths(vectors: FloatArray) -> FloatArray:
    """Return the mean length (N,) of vectors (N, n, T)."""
    lengths: FloatArray = np.linalg.norm(vectors, axis=2).mean(axis=1)
    return lengths
