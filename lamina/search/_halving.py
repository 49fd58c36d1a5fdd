"""Successive halving: when a rung ends, who goes on, and in what groups they train.

References
----------
.. [1] K. Jamieson and A. Talwalkar, Non-stochastic best arm identification and hyperparameter
   optimization, AISTATS 2016, https://arxiv.org/abs/1502.07943
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lamina._typing import IntArray

SHARD_SIZE = 32
"""Most candidates of one shard: enough to keep the cores busy, and little to lose."""


@dataclass(frozen=True)
class Shard:
    """Candidates that train together on one fold."""

    number: int
    fold: int
    candidates: tuple[int, ...]


def make_shards(candidates: Sequence[Sequence[int]]) -> list[Shard]:
    """Return the shards of a rung, from the candidates that train on each fold.

    They depend on nothing else, so that every process makes the same.
    """
    parts = []
    for fold, own in enumerate(candidates):
        n_parts = math.ceil(len(own) / SHARD_SIZE)
        cut = np.array_split(np.asarray(own, dtype=np.int64), n_parts) if n_parts else []
        parts += [(i, fold, tuple(part.tolist())) for i, part in enumerate(cut)]
    # All folds of some candidates come before the others, so that a search that is stopped
    # knows some of them in full.
    return [Shard(number, fold, part) for number, (_, fold, part) in enumerate(sorted(parts))]


def pause_after(rung: int, min_epochs: int, factor: float | None) -> int | None:
    """Return the epochs after which the members of a rung pause; None runs them to their end."""
    if factor is None:
        return None
    return max(rung + 1, math.ceil(min_epochs * factor**rung))


def survivors(scores: Mapping[int, float], factor: float | None, at_least: int = 1) -> list[int]:
    """Return the candidates with the best scores, in the order of their numbers.

    A score of NaN never goes on. Of equal scores the lower number goes first.
    """
    if factor is None:
        return sorted(scores)
    n = max(at_least, math.ceil(len(scores) / factor))
    told = [candidate for candidate, score in scores.items() if not math.isnan(score)]
    return sorted(sorted(told, key=lambda candidate: (-scores[candidate], candidate))[:n])


def ranks(rungs: Sequence[int], scores: Sequence[float]) -> IntArray:
    """Return ranks from 1: by the rung that was reached, then by the score there.

    What has no score is last, whatever its rung; equals share the better rank.
    """
    told = ~np.isnan(scores)
    keys = [
        (-int(ok), -rung if ok else 0, -score if ok else 0.0)
        for ok, rung, score in zip(told, rungs, scores, strict=True)
    ]
    ordered = sorted(keys)
    first = {key: ordered.index(key) + 1 for key in set(keys)}
    return np.array([first[key] for key in keys], dtype=np.int32)
