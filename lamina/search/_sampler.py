"""Which candidates to try next: at random, or by one of Optuna's samplers, in batches."""

from __future__ import annotations

import bisect
import copy
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from sklearn.model_selection import ParameterSampler
from sklearn.utils.random import sample_without_replacement

from lamina._checks import check_choice, shown
from lamina._errors import MissingDependencyError, ParameterError
from lamina._optional import optional_import

from ._dimension import Categories, Dimension, label
from ._quiet import quiet
from ._space import Space, as_optuna, interval_of

SAMPLERS = ("random", "tpe")
"""Samplers known by name."""

_SEEDS = 1 << 32
"""NumPy's RandomState takes seeds below this."""
_LARGEST_GRID = 1 << 31
"""scikit-learn counts the points of a grid in integers of this machine."""


class Sampler(Protocol):
    """Something that proposes candidates in batches and hears how they did."""

    def ask(self, n: int) -> list[dict[str, Any]]:
        """Return up to ``n`` candidates; fewer once every one there is was given."""
        ...

    def tell(self, candidates: Sequence[int], scores: Sequence[float]) -> None:
        """Hear the scores of candidates, by their place in the order of asking; NaN: failed."""
        ...

    def distributions(self) -> dict[str, Any]:
        """Return Optuna's distributions by name, or an empty dict where it is not installed."""
        ...


def make_sampler(sampler: Any, space: Space, seed: int, direction: str = "maximize") -> Sampler:
    """Return a sampler of a space.

    Parameters
    ----------
    sampler : {"random", "tpe"} or optuna.samplers.BaseSampler
        ``"random"`` draws as scikit-learn's ParameterSampler does. ``"tpe"`` is Optuna's
        TPESampler over all parameters together; its first ten candidates and its first batch
        are random. A sampler of Optuna is copied, so that each search starts from it as given.
    space : Space
        What each parameter may be.
    seed : int
        Fixes the candidates, together with the scores told. A sampler of Optuna has its own.
    direction : {"maximize", "minimize"}, default="maximize"
        Which scores are better.

    Raises
    ------
    ParameterError
        If the sampler is unknown or cannot sample this space.
    MissingDependencyError
        If it needs Optuna and that is not installed.
    """
    check_choice("direction", direction, ("maximize", "minimize"))
    if isinstance(sampler, str):
        check_choice("sampler", sampler, SAMPLERS)
        if sampler == "random":
            return RandomSampler(space, seed)
    optuna = optional_import("optuna", extra="search", purpose=f"sampler={shown(sampler)}")
    if sampler == "tpe":
        with _without_remarks(optuna):
            sampler = optuna.samplers.TPESampler(
                multivariate=True, constant_liar=True, seed=seed % _SEEDS
            )
    elif isinstance(sampler, optuna.samplers.BaseSampler):
        sampler = copy.deepcopy(sampler)
    else:
        raise ParameterError(
            f"sampler must be 'random', 'tpe' or a sampler of Optuna. Got {shown(sampler)}."
        )
    return OptunaSampler(optuna, sampler, space, direction)


class RandomSampler:
    """Candidates as scikit-learn's ParameterSampler draws them.

    Where all parameters are lists, no candidate comes twice, also not in a later batch.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._rng = np.random.RandomState(seed % _SEEDS)
        self._given: list[int] = []  # sorted places in the grid

    def ask(self, n: int) -> list[dict[str, Any]]:
        """Return the next candidates."""
        total = self._space.n_combinations
        if total is None:
            return list(ParameterSampler(self._space.sources(), n, random_state=self._rng))
        return [self._space.combination(place) for place in self._places(n, total)]

    def tell(self, candidates: Sequence[int], scores: Sequence[float]) -> None:
        """Hear scores, which change nothing: draws are independent of them."""

    def distributions(self) -> dict[str, Any]:
        """Return Optuna's distributions by name, or an empty dict where it is not installed."""
        try:
            return self._space.optuna_distributions()
        except MissingDependencyError:
            return {}

    def _places(self, n: int, total: int) -> list[int]:
        """Return places in the grid that were not given before."""
        n = min(n, total - len(self._given))
        if total < _LARGEST_GRID:
            rest = total - len(self._given)
            ranks = sample_without_replacement(rest, n, random_state=self._rng)
            places = [self._of_rank(int(rank)) for rank in ranks]
        else:
            known, places = set(self._given), []
            n_bytes = total.bit_length() // 8 + 8
            while len(places) < n:
                place = int.from_bytes(self._rng.bytes(n_bytes), "little") % total
                if place not in known:
                    known.add(place)
                    places.append(place)
        for place in places:
            bisect.insort(self._given, place)
        return places

    def _of_rank(self, rank: int) -> int:
        """Return the place of the rank-th point of the grid among those not given before."""
        for place in self._given:
            if place > rank:
                break
            rank += 1
        return rank


class OptunaSampler:
    """Candidates from a sampler of Optuna, over a study in memory.

    A score of NaN is told as the worst there can be, minus infinity, so that the sampler
    learns to stay away; it is ranked and never part of a sum.
    """

    def __init__(self, optuna: Any, sampler: Any, space: Space, direction: str) -> None:
        if len(space.parts) > 1:
            raise ParameterError(
                "param_distributions must be one dict for a sampler that learns. Got a list of "
                f"{len(space.parts)} dicts. Use sampler='random' for these."
            )
        self._optuna = optuna
        self._space = space
        self._worst = -math.inf if direction == "maximize" else math.inf
        self._dimensions = space.parts[0]
        self._labels = {name: _labels(d) for name, d in self._dimensions.items()}
        self._distributions = {name: self._searched(name) for name in self._dimensions}
        with quiet("optuna"):
            self._study = optuna.create_study(direction=direction, sampler=sampler)
        self._trials: list[Any] = []
        self._exhausted = False

    def ask(self, n: int) -> list[dict[str, Any]]:
        """Return the next candidates."""
        if self._exhausted:
            return []
        with _without_remarks(self._optuna), quiet("optuna"):
            trials = [self._study.ask(self._distributions) for _ in range(n)]
        self._trials += trials
        return [self._candidate(trial) for trial in trials]

    def tell(self, candidates: Sequence[int], scores: Sequence[float]) -> None:
        """Hear the scores of candidates, by their place in the order of asking."""
        for candidate, score in zip(candidates, scores, strict=True):
            value = self._worst if math.isnan(score) else float(score)
            try:
                with _without_remarks(self._optuna), quiet("optuna"):
                    self._study.tell(self._trials[candidate], value)
            except RuntimeError as error:
                # A sampler that has run through its grid stops the study, which Optuna allows
                # within its own loop only. The score is stored before that.
                if "Study.stop" not in str(error):
                    raise
                self._exhausted = True

    def distributions(self) -> dict[str, Any]:
        """Return Optuna's distributions by name."""
        return self._space.optuna_distributions()

    def _searched(self, name: str) -> Any:
        """Return the distribution that the sampler works on."""
        if self._labels[name]:
            return self._optuna.distributions.CategoricalDistribution(self._labels[name])
        interval = interval_of(self._dimensions[name])
        if interval is None:
            raise ParameterError(
                f"param_distributions[{name!r}] must be a list, a uniform, loguniform or randint "
                "of SciPy, or an Optuna distribution for a sampler that learns. Got "
                f"{shown(getattr(self._dimensions[name], 'source', None))}. "
                "Use sampler='random' for other distributions."
            )
        return as_optuna(self._optuna, interval)

    def _candidate(self, trial: Any) -> dict[str, Any]:
        """Return the parameters of a trial as the user wrote them."""
        found = {}
        for name, dimension in self._dimensions.items():
            value = trial.params[name]
            if isinstance(dimension, Categories):
                value = dimension.values[self._labels[name].index(value)]
            found[name] = value
        return found


def _labels(dimension: Dimension) -> list[Any]:
    """Return a different label for each category, its own value where that is possible."""
    if not isinstance(dimension, Categories):
        return []
    labels = [label(value) for value in dimension.values]
    # True == 1 == 1.0, so they cannot stand beside one another.
    if len(set(labels)) == len(labels):
        return labels
    return [f"{place}: {text!r}" for place, text in enumerate(labels)]


@contextmanager
def _without_remarks(optuna: Any) -> Iterator[None]:
    """Leave out Optuna's remarks that a part of it may change, and on scores of -infinity."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Clip non-finite values")
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        yield
