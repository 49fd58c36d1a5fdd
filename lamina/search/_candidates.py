"""The candidates of a search, what they are tried on, and how much is tried."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lamina._typing import IntArray

from ._outcome import LOST, Outcome
from ._work import Parameters


@dataclass(frozen=True)
class Schedule:
    """How much is tried and for how long.

    Attributes
    ----------
    batches : tuple of int
        Candidates of each batch.
    min_epochs : int
        Epochs of the first rung.
    factor : float or None
        One of how many goes on to the next; None lets all train to their end.
    at_least : int
        Fewest that go on.
    deadline : float or None
        When to stop, on the clock of ``time.monotonic``.
    """

    batches: tuple[int, ...]
    min_epochs: int
    factor: float | None
    at_least: int = 1
    deadline: float | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """What the candidates are tried on."""

    X: Any
    y: Any
    folds: Sequence[tuple[IntArray, IntArray]]
    weight: Any = None
    score_params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Candidate:
    """A candidate, and what is known of it.

    Attributes
    ----------
    rung : int
        The last rung that it went through, from 0; -1 before the first.
    outcomes : dict
        By fold, the newest.
    fit_seconds, score_seconds : dict
        By fold, of all rungs.
    path : dict
        Mean score of the metric by epochs.
    """

    number: int
    batch: int
    parameters: Parameters
    rung: int = -1
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    fit_seconds: dict[int, float] = field(default_factory=dict)
    score_seconds: dict[int, float] = field(default_factory=dict)
    path: dict[int, float] = field(default_factory=dict)

    def enter(self, rung: int, outcomes: Iterable[Outcome], metric: str) -> None:
        """Take what a rung brought; a fold that had come to its end keeps what it has."""
        self.rung = rung
        for outcome in outcomes:
            fold = outcome.fold
            self.outcomes[fold] = outcome
            for seconds, more in (
                (self.fit_seconds, outcome.fit_seconds),
                (self.score_seconds, outcome.score_seconds),
            ):
                seconds[fold] = seconds.get(fold, 0.0) + more
        self.path[math.ceil(self.n_epochs)] = self.mean(metric)

    def mean(self, metric: str) -> float:
        """Return the mean score over the folds, NaN if a fit failed or nothing is known."""
        return mean_score(self.outcomes.values(), metric)

    @property
    def n_epochs(self) -> float:
        """Mean epochs over the folds."""
        return float(np.mean([outcome.n_epochs for outcome in self.outcomes.values()] or [0]))

    @property
    def going(self) -> bool:
        """Whether it could train on."""
        return any(outcome.end == "paused" for outcome in self.outcomes.values())

    def trains_on(self, fold: int) -> bool:
        """Whether it has not come to its end on a fold."""
        return fold not in self.outcomes or self.outcomes[fold].end == "paused"


def mean_score(outcomes: Iterable[Outcome], metric: str) -> float:
    """Return the mean of a score over folds; NaN if there is none, or if a fit failed."""
    outcomes = list(outcomes)
    if any(outcome.end in LOST for outcome in outcomes):
        return math.nan  # the number that stands for its score must not make it win
    scores = [outcome.scores.get(metric, math.nan) for outcome in outcomes]
    return float(np.mean(scores)) if scores else math.nan
