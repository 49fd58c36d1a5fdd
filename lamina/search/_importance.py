"""How much each parameter of a search has mattered for how candidates ranked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import KFold

from lamina._checks import check_integer
from lamina._errors import DataError
from lamina._typing import FloatArray, IntArray

FEWEST = 10
"""Candidates with a score without which nothing can be said."""

_TREES, _REPEATS, _FOLDS = 100, 10, 5


@dataclass(frozen=True)
class ImportanceResult:
    """How much each parameter has mattered.

    Attributes
    ----------
    importances : dict of str to float
        By the name of each parameter that varied, the largest first; they add up to 1, or are
        all 0 where nothing could be learnt.
    explained : float
        Share of the variance of the ranks that the parameters tell of candidates that were not
        looked at, from 0 to 1. Where it is small, so is what the importances say.
    """

    importances: dict[str, float]
    explained: float

    def summary(self) -> str:
        """Return the result as text."""
        lines = [f"{name}: {value:.0%}" for name, value in self.importances.items()]
        return "\n".join([*lines, f"The parameters explain {self.explained:.0%} of the ranks."])


def parameter_importance(
    params: Sequence[Mapping[str, Any]],
    scores: Sequence[float],
    rungs: Sequence[float] | None = None,
    *,
    random_state: int = 0,
) -> ImportanceResult:
    r"""Say how much each parameter of a search has mattered.

    A random forest learns the ranks of the candidates from their parameters. The importance of
    one is how much worse it foretells other candidates when that parameter is shuffled among
    them, each pair of candidates and forest being strangers,

    .. math:: I_j \propto \max\left(0,\;
              \mathrm{E}\,(r - f(x_{\pi(j)}))^2 - \mathrm{E}\,(r - f(x))^2\right)

    Ranks have no outliers: a diverged candidate is the last, however bad it was.

    Parameters
    ----------
    params : sequence of dict
        Parameters of each candidate, as ``cv_results_["params"]``.
    scores : array-like of shape (n_candidates,)
        Score of each; larger is better, and NaN is worst.
    rungs : array-like of shape (n_candidates,), default=None
        The rung that each reached; a later one ranks first, whatever the scores. None is one
        for all.
    random_state : int, default=0
        Seed of the forest.

    Returns
    -------
    ImportanceResult
        Importances by name, and how much of the ranks they explain.

    Raises
    ------
    DataError
        If fewer than 10 candidates have a score, or nothing varied.

    References
    ----------
    .. [1] L. Breiman, Random forests, Machine Learning 45, 2001,
       https://doi.org/10.1023/A:1010933404324

    Examples
    --------
    >>> params = [{"width": i % 4, "seed": i // 4} for i in range(40)]
    >>> result = parameter_importance(params, [p["width"] for p in params])
    >>> result.importances["width"] > 0.95, result.explained > 0.9
    (True, True)
    """
    check_integer("random_state", random_state, 0, 2**32 - 1)
    ranks = _ranks(params, scores, rungs)
    blocks = {name: _block([p.get(name) for p in params]) for name in _varied(params)}
    if not blocks:
        raise DataError("params must differ in at least one parameter. Got equal candidates.")
    X = np.concatenate(list(blocks.values()), axis=1)
    places = np.cumsum([0, *(block.shape[1] for block in blocks.values())])
    error, worse = _errors(X, ranks, places, random_state)
    gains = np.maximum(worse - error, 0.0)
    total, variance = gains.sum(), ranks.var()
    shares = gains / total if total > 0 else np.zeros_like(gains)
    ordered = sorted(zip(blocks, shares.tolist(), strict=True), key=lambda pair: -pair[1])
    explained = max(0.0, 1 - error / variance) if variance > 0 else 0.0
    return ImportanceResult(dict(ordered), float(explained))


def _ranks(
    params: Sequence[Mapping[str, Any]], scores: Sequence[float], rungs: Sequence[float] | None
) -> FloatArray:
    """Return ranks from 0 (worst) to 1 (best), equals sharing the mean."""
    told = np.asarray(scores, dtype=np.float64)
    reached = np.zeros(len(told)) if rungs is None else np.asarray(rungs, dtype=np.float64)
    if told.shape != (len(params),) or reached.shape != told.shape:
        raise DataError(
            "params, scores and rungs must have one entry for each candidate. Got "
            f"{len(params)}, {np.shape(scores)} and {np.shape(reached)}."
        )
    known = np.isfinite(told)
    if known.sum() < FEWEST:
        raise DataError(
            f"At least {FEWEST} candidates must have a score to tell what mattered. "
            f"Got {int(known.sum())}."
        )
    keys = list(zip(known, np.where(known, reached, 0), np.where(known, told, 0), strict=True))
    order = {key: place for place, key in enumerate(sorted(set(keys)))}
    ranks: FloatArray = rankdata([order[key] for key in keys])
    return (ranks - 1) / (len(ranks) - 1)


def _varied(params: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of parameters that have at least two values."""
    names = dict.fromkeys(name for own in params for name in own)
    return [name for name in names if len({repr(own.get(name)) for own in params}) > 1]


def _block(values: Sequence[Any]) -> FloatArray:
    """Return columns (n, k): a number as it is, anything else a column for each value."""
    if all(_is_number(value) for value in values):
        return np.asarray(values, dtype=np.float64)[:, None]
    labels = [repr(value) for value in values]
    levels = sorted(set(labels))
    columns: FloatArray = np.equal.outer(labels, levels).astype(np.float64)
    return columns


def _is_number(value: Any) -> bool:
    numbers = (int, float, np.integer, np.floating)
    return isinstance(value, numbers) and not isinstance(value, bool) and math.isfinite(value)


def _errors(
    X: FloatArray, ranks: FloatArray, places: IntArray, seed: int
) -> tuple[float, FloatArray]:
    """Return the mean square error on candidates left out, and with each parameter shuffled."""
    rng = np.random.default_rng(seed)
    error, worse = 0.0, np.zeros(len(places) - 1)
    for rows, left_out in KFold(_FOLDS, shuffle=True, random_state=seed).split(X):
        forest = RandomForestRegressor(_TREES, min_samples_leaf=2, random_state=seed)
        forest.fit(X[rows], ranks[rows])
        target, n = ranks[left_out], len(left_out)
        error += float(((forest.predict(X[left_out]) - target) ** 2).sum()) / len(X)
        shuffled = np.tile(X[left_out], ((len(places) - 1) * _REPEATS, 1))
        for j, (start, stop) in enumerate(pairwise(places)):
            for repeat in range(_REPEATS):
                first = (j * _REPEATS + repeat) * n
                own = X[left_out][rng.permutation(n), start:stop]
                shuffled[first : first + n, start:stop] = own
        squares = (forest.predict(shuffled).reshape(-1, n) - target) ** 2
        worse += squares.sum(axis=1).reshape(-1, _REPEATS).mean(axis=1) / len(X)
    return error, worse
