"""What each trick of the table estimators buys: the default recipe with one thing changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks._table import aligned
from benchmarks._tables_results import Results
from benchmarks._tables_rivals import Problem
from lamina import TableClassifier, TableRegressor
from lamina.estimators._table_base import TableTarget
from lamina.estimators._table_recipe import BINS, FAST, PLAIN, PRESETS, SLOW, Recipe
from lamina.heads import Categorical
from lamina.stack import AdamW, Muon


class Smoothed(TableClassifier):
    """A table classifier with label smoothing."""

    def _take_target(self, y: Any, weights: Any) -> TableTarget:
        target = super()._take_target(y, weights)
        n_classes = len(target.attributes["classes_"])
        return replace(target, head=Categorical(n_classes, label_smoothing=0.1))


def with_rate(recipe: Recipe, factor: float) -> Recipe:
    """Return the recipe with its learning rate multiplied."""
    return replace(recipe, learning_rate=factor * recipe.learning_rate)


CHANGES: dict[str, Callable[[Recipe], Recipe]] = {
    "no competition: bins only": lambda r: replace(r, families=(BINS,)),
    "no competition: long waves only": lambda r: replace(r, families=(SLOW,)),
    "no competition: short waves only": lambda r: replace(r, families=(FAST,)),
    "no competition: scaled values only": lambda r: replace(r, families=(PLAIN,)),
    "no long waves": lambda r: replace(r, families=(BINS, FAST)),
    "no short waves": lambda r: replace(r, families=(BINS, SLOW)),
    "no bins": lambda r: replace(r, families=(SLOW, FAST)),
    "one network": lambda r: replace(r, n_members=1, n_pilots=1),
    "no dropout": lambda r: replace(r, dropouts=(0.0,)),
    "dropout 0.3 in half of the members": lambda r: replace(r, dropouts=(0.3, 0.0)),
    "no weight decay": lambda r: replace(r, weight_decay=0.0),
    "learning rate / 3": lambda r: with_rate(r, 1 / 3),
    "learning rate x 2": lambda r: with_rate(r, 2.0),
    "constant learning rate": lambda r: replace(r, schedule=None),
    "Adam's beta_2 = 0.95": lambda r: replace(r, optimizer=AdamW(beta_2=0.95)),
    "Muon": lambda r: with_rate(replace(r, optimizer=Muon()), 5.0),
    "SiLU": lambda r: replace(r, activation="silu"),
    "PReLU (a learned slope a unit)": lambda r: replace(r, activation="prelu"),
    "three layers of 256": lambda r: replace(r, hidden_layer_sizes=(256, 256, 256)),
    "one layer of 192": lambda r: replace(r, hidden_layer_sizes=(192,)),
    "label smoothing 0.1": lambda r: r,
}
"""Recipes by what is changed."""


@contextmanager
def changed(name: str) -> Iterator[None]:
    """Let the default preset be another recipe for a while."""
    with patch.dict(PRESETS, {"default": CHANGES[name](PRESETS["default"])}):
        yield


def estimator(name: str, data: Problem, seed: int) -> Any:
    """Return the estimator to fit under a change."""
    if not data.classifies:
        return TableRegressor(random_state=seed)
    smoothed = name.startswith("label smoothing")
    return (Smoothed if smoothed else TableClassifier)(random_state=seed)


def ablation_table(results: Results, base: str, splits: Sequence[int]) -> str:
    """Return how much larger the error is under each change, table by table, in percent."""
    tables = list(results.tables())
    rows = [["change", *tables, "mean", "time"]]
    for name in CHANGES:
        cells, ratios, times = [], [], []
        for table in tables:
            mine = {f.split: f for f in results.of(table, name, splits)}
            usual = {f.split: f for f in results.of(table, base, splits)}
            both = sorted(mine.keys() & usual.keys())
            cells.append("")
            if both:
                ratios.append(
                    np.mean([mine[s].error for s in both])
                    / np.mean([usual[s].error for s in both])
                )
                times += [mine[s].seconds / usual[s].seconds for s in both]
                cells[-1] = f"{100 * (ratios[-1] - 1):+.1f}"
        if ratios:
            mean = 100 * (np.exp(np.mean(np.log(ratios))) - 1)
            rows.append([name, *cells, f"{mean:+.1f}", f"{np.median(times):.2f}"])
    return f"error with one thing changed, percent more than the default's\n{aligned(rows)}"
