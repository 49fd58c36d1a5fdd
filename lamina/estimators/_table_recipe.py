"""How the table estimators train: what each preset means, for a table of a given size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from lamina._checks import check_sizes
from lamina._random import SPLIT, generator, spawn_seeds
from lamina._typing import Array, FloatArray, IntArray
from lamina.heads import Head
from lamina.nn import Activation, Gaussian, Initialisation, LayerPlace, get_activation
from lamina.stack import Member, Optimizer, Schedule

from ._members import QUIET

Preset: TypeAlias = Literal["default", "fast", "best"]

NumericEmbedding: TypeAlias = Literal["auto", "piecewise_linear", "periodic", "none"]
NUMERIC_EMBEDDINGS: tuple[str, ...] = get_args(NumericEmbedding)

N_FOLDS = 8
"""Each member holds out another eighth of the rows."""

N_HALVES = 2 * N_FOLDS
"""Of a regression, an eighth is two of these, one of which the next member holds out, too: such
rows tell how good the two are together."""

TOO_FEW = 10
"""With fewer rows nothing is held out."""

_MANY, _LARGE = 10_000, 20_000
"""Above so many rows half of the competing members do, and half of all members: each sees more,
and they differ less."""


@dataclass(frozen=True)
class Family:
    """Members that see the numbers of a table in one way.

    Attributes
    ----------
    name : str
        What they are called.
    bins : bool
        Whether they see in which bin a number lies.
    n_waves : int
        How many waves of a number they see, the longest first.
    """

    name: str
    bins: bool
    n_waves: int

    def columns(self, parts: Array) -> IntArray:
        """Return which columns of the encoder's matrix they see, given what each belongs to."""
        seen = {"", *(f"wave {i}" for i in range(1, self.n_waves + 1))}
        seen |= {"bin"} if self.bins else set()
        return np.flatnonzero([part in seen for part in parts])


_ALL = 8
"""Waves of a number: their periods go from 13 interquartile ranges down to half of one."""

BINS = Family("piecewise_linear", True, 0)
SLOW = Family("slow waves", False, 2)
FAST = Family("fast waves", False, _ALL)
PLAIN = Family("none", False, 0)

EMBEDDED: dict[str, tuple[Family, ...]] = {
    "piecewise_linear": (BINS,),
    "periodic": (SLOW, FAST),
    "none": (PLAIN,),
}
"""The families of each numeric embedding that one can ask for."""


@dataclass(frozen=True)
class Recipe:
    """Settings that were chosen by measurement on small and medium tables.

    Which embedding of numbers a table wants cannot be told beforehand, so families compete.
    Some tables want dropout and some do not, so members take turns, and their mean is near the
    better one.
    """

    n_members: int
    hidden_layer_sizes: tuple[int, ...]
    max_epochs: int
    min_epochs: int
    n_seen: int  # rows times epochs that a large table is trained for
    patience: int
    families: tuple[Family, ...]
    n_pilots: int  # members of each family that compete

    activation: str | Activation = "relu"
    learning_rate: float = 3e-3
    dropouts: tuple[float, ...] = (0.15, 0.0)
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    optimizer: str | Optimizer = "adamw"
    schedule: str | Schedule | None = "cosine"

    @property
    def embedding(self) -> Literal["piecewise_linear", "periodic", "both", "none"]:
        """What the encoder must make of numbers for all families together."""
        bins = any(family.bins for family in self.families)
        if any(family.n_waves for family in self.families):
            return "both" if bins else "periodic"
        return "piecewise_linear" if bins else "none"

    def members_for(self, n_samples: int) -> int:
        """Return the number of networks."""
        return self.n_members if n_samples <= _LARGE else max(1, self.n_members // 2)

    def pilots_for(self, n_samples: int) -> int:
        """Return how many members of each family compete: fewer tell as much of many rows."""
        return self.n_pilots if n_samples <= _MANY else max(1, self.n_pilots // 2)

    def epochs_for(self, n_samples: int) -> int:
        """Return the most epochs: fewer for many rows."""
        return int(np.clip(self.n_seen // n_samples, self.min_epochs, self.max_epochs))


PRESETS: dict[Preset, Recipe] = {
    "fast": Recipe(2, (128,), 40, 5, 200_000, 8, (BINS,), 0),
    "default": Recipe(8, (192, 96), 80, 12, 500_000, 16, (BINS, SLOW, FAST), 4),
    "best": Recipe(24, (256, 128), 120, 20, 1_200_000, 24, (BINS, SLOW, FAST), 8),
}


def adapted(
    recipe: Recipe,
    *,
    numeric_embedding: NumericEmbedding = "auto",
    hidden_layer_sizes: int | Sequence[int] | None = None,
    activation: str | Activation | None = None,
    learning_rate: float | None = None,
    dropout: float | None = None,
    weight_decay: float | None = None,
) -> Recipe:
    """Return a recipe with what is not None in the place of its own."""
    changes: dict[str, Any] = {"families": EMBEDDED.get(numeric_embedding, recipe.families)}
    if learning_rate is not None:
        changes["learning_rate"] = learning_rate
    if hidden_layer_sizes is not None:
        changes["hidden_layer_sizes"] = check_sizes("hidden_layer_sizes", hidden_layer_sizes)
    if activation is not None:
        changes["activation"] = get_activation(activation)
    if dropout is not None:
        changes["dropouts"] = (dropout,)
    if weight_decay is not None:
        changes["weight_decay"] = weight_decay
    return replace(recipe, **changes)


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


@dataclass(frozen=True, eq=False)
class Task:
    """What the members of all families have in common: the rows and what is learnt of them.

    ``codes`` are class numbers, by which the folds are stratified; None for a regression.
    ``start`` are the first biases of the raw outputs, where the head asks for some.
    """

    head: Head
    seed: int
    n_samples: int
    codes: IntArray | None
    weights: FloatArray | None
    monitor: Literal["valid_loss", "valid_score"]
    start: Array | None = None

    @property
    def holds_out(self) -> bool:
        """Whether there are rows enough to hold some out."""
        return self.n_samples >= TOO_FEW


def make_members(
    recipe: Recipe, family: Family, task: Task, numbers: Sequence[int], max_epochs: int
) -> list[Member]:
    """Return members of a family by their numbers.

    Members differ in their random draws and in the rows that they hold out: those of the same
    number hold out the same rows, whatever their family.
    """
    place = recipe.families.index(family)
    seeds = spawn_seeds(spawn_seeds(task.seed, place + 1)[-1], max(numbers, default=0) + 1)
    members = []
    for i in numbers:
        rows = valid = None
        if task.holds_out:
            held = held_out(i, task.seed, task.n_samples, task.codes)
            rows, valid = np.flatnonzero(~held), np.flatnonzero(held)
        members.append(
            Member(
                hidden_layer_sizes=recipe.hidden_layer_sizes,
                activation=recipe.activation,
                head=task.head,
                init="he" if task.start is None else Started(task.start),
                seed=seeds[i],
                rows=rows,
                validation_rows=valid,
                sample_weight=task.weights,
                batch_size=batch_size_for(task.n_samples),
                optimizer=recipe.optimizer,
                learning_rate=recipe.learning_rate,
                schedule=recipe.schedule,
                weight_decay=recipe.weight_decay,
                dropout=recipe.dropouts[i % len(recipe.dropouts)],
                clip_norm=recipe.clip_norm,
                max_epochs=max_epochs,
                patience=None if valid is None else recipe.patience,
                monitor="train_loss" if valid is None else task.monitor,
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
