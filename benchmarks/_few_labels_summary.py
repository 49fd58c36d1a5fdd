"""Means and spreads of accuracy, and who beats whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks._table import aligned
from benchmarks._tables_results import Results


def summary(
    results: Results, tables: Sequence[str], models: Sequence[str], splits: Iterable[int]
) -> str:
    """Return a row a table, a column a model: mean ± standard deviation over the draws."""
    draws = list(splits)
    rows = [["", *models]]
    for table in tables:
        cells = [table]
        for model in models:
            scores = 100 * np.array([f.score for f in results.of(table, model, draws)])
            cells.append(f"{scores.mean():.1f} ± {scores.std():.1f}" if len(scores) else "")
        rows.append(cells)
    return aligned(rows)
