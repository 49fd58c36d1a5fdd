"""How the table estimators train: what each preset means, for a table of a given size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from lamina._random import SPLIT, generator, spawn_seeds
from lamina._typing import Array, FloatArray, IntArray
from lamina.heads import Head
from lamina.nn import Gaussian, Initialisation, LayerPlace
from lamina.stack import Member

from ._members import QUIET

Preset: TypeAlias = Literal["default", "fast", "best"]

N_FOLDS = 8
"""Each member holds out another eighth of the rows."""

N_HALVES = 2 * N_FOLDS
"""Of a regression, an eighth is two of these, one of which the next member holds out, too: such
rows tell how good the two are together."""

TOO_FEW = 10
"""With fewer rows nothing is held out."""

_MANY = 10_000
"""From so many rows on, epochs are too few for small steps alone."""

_LARGE = 20_000
"""Above so many rows half of the members do: each sees more, and they differ less."""


@dataclass(frozen=True)
class Recipe:
    """Settings that were chosen by measurement on small and medium tables.

    Some tables want dropout and some do not, so members take turns, and their mean is near the
    better one. Likewise with the size of steps on tables that are too large for many epochs; on
    small ones large steps only make the noise stick.
    """

    n_members: int
    hidden_layer_sizes: tuple[int, ...]
    max_epochs: int
    min_epochs: int
    n_seen: int  # rows times epochs that a large table is trained for
    patience: int

    dropouts: tuple[float, ...] = (0.15, 0.0)
    small_rates: tuple[float, ...] = (1e-3,)
    large_rates: tuple[float, ...] = (1e-3, 3e-3)
    weight_decay: float = 0.01
    clip_norm: float = 1.0

    def variant(self, i: int, n_samples: int) -> tuple[float, float]:
        """Return learning rate and dropout of a member."""
        rates = self.small_rates if n_samples < _MANY else self.large_rates
        return rates[i % len(rates)], self.dropouts[i // len(rates) % len(self.dropouts)]

    def members_for(self, n_samples: int) -> int:
        """Return the number of networks."""
        return self.n_members if n_samples <= _LARGE else max(1, self.n_members // 2)

    def epochs_for(self, n_samples: int) -> int:
        """Return the most epochs: fewer for many rows."""
        return int(np.clip(self.n_seen // n_samples, self.min_epochs, self.max_epochs))


PRESETS: dict[Preset, Recipe] = {
    "fast": Recipe(2, (128,), 40, 5, 200_000, 8, small_rates=(2e-3,), large_rates=(3e-3,)),
    "default": Recipe(8, (192, 96), 80, 12, 500_000, 16),
    "best": Recipe(24, (256, 128), 120, 20, 1_200_000, 24),
}


@dataclass(frozen=True, eq=False)
class Started(Initialisation):
    """The rule "he", but the raw outputs begin at given biases and with small weights."""

    biases: Array  # (Q,)

    def draw(
        self, place: LayerPlace, rng: np.random.Generator | np.random.RandomState
    ) -> tuple[FloatArray, FloatArray]:
        """Return weights and biases of a layer."""
        weights, biases = Gaussian("he").draw(place, rng)
        return (QUIET * weights, self.biases) if place.is_output else (weights, biases)


def batch_size_for(n_samples: int) -> int:
    """Return the rows per step."""
    return 64 if n_samples < 2000 else 128 if n_samples < 20_000 else 256


def make_members(
    recipe: Recipe,
    head: Head,
    *,
    n_members: int,
    seed: int,
    n_samples: int,
    codes: IntArray | None,
    weights: FloatArray | None,
    monitor: Literal["valid_loss", "valid_score"],
    start: Array | None = None,
) -> list[Member]:
    """Return members that differ in their random draws and in the rows that they hold out.

    ``codes`` are class numbers, by which the folds are stratified; None for a regression.
    ``start`` are the first biases of the raw outputs, where the head asks for some.
    """
    members = []
    for i, member_seed in enumerate(spawn_seeds(seed, n_members)):
        learning_rate, dropout = recipe.variant(i, n_samples)
        rows = valid = None
        if n_samples >= TOO_FEW:
            held = held_out(i, seed, n_samples, codes)
            rows, valid = np.flatnonzero(~held), np.flatnonzero(held)
        members.append(
            Member(
                hidden_layer_sizes=recipe.hidden_layer_sizes,
                activation="relu",
                head=head,
                init="he" if start is None else Started(start),
                seed=member_seed,
                rows=rows,
                validation_rows=valid,
                sample_weight=weights,
                batch_size=batch_size_for(n_samples),
                optimizer="adamw",
                learning_rate=learning_rate,
                schedule="cosine",
                weight_decay=recipe.weight_decay,
                dropout=dropout,
                clip_norm=recipe.clip_norm,
                max_epochs=recipe.epochs_for(n_samples),
                patience=None if valid is None else recipe.patience,
                monitor="train_loss" if valid is None else monitor,
            )
        )
    return members


def held_out(i: int, seed: int, n_samples: int, codes: IntArray | None) -> Array:
    """Return which rows (N,) member i holds out; a new split when each fold had its turn."""
    if codes is None:
        n_folds = min(N_HALVES, n_samples)
        own = [i % n_folds, (i + 1) % n_folds]
    else:
        n_folds = min(N_FOLDS, n_samples // 2)
        own = [i % n_folds]
    return np.isin(folds(n_samples, n_folds, spawn_seeds(seed, 1 + i // n_folds)[-1], codes), own)


def folds(n_samples: int, n_folds: int, seed: int, codes: IntArray | None) -> IntArray:
    """Return the fold in which each row is held out; -1 for the only row of its class.

    Every fold holds a like number of rows, and of each class.
    """
    order = generator(seed, SPLIT).permutation(n_samples)
    if codes is None:
        kept = np.zeros(n_samples, dtype=bool)
    else:
        order = order[np.argsort(codes[order], kind="stable")]
        kept = np.bincount(codes)[codes] == 1
    order = order[~kept[order]]
    fold = np.full(n_samples, -1)
    fold[order] = np.arange(len(order)) % n_folds
    return fold
