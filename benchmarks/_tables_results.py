"""Figures of fits on a file of lines, so that a killed run goes on, and what they say together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks._table import aligned


@dataclass(frozen=True)
class Figures:
    """What one fit brought."""

    table: str
    rows: int
    task: str
    split: int
    model: str
    score: float  # accuracy or R²
    error: float  # log loss in nats or RMSE
    seconds: float


class Results:
    """All figures so far; each is written down at once where a file is given."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known: dict[tuple[str, int, str], Figures] = {}
        if file is not None and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                if line.endswith("}"):  # a killed run may leave half a line
                    self._remember(Figures(**json.loads(line)))

    def __contains__(self, key: tuple[str, int, str]) -> bool:
        return key in self._known

    def add(self, figures: Figures) -> None:
        """Keep figures, and append them to the file."""
        self._remember(figures)
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(figures)) + "\n")

    def _remember(self, figures: Figures) -> None:
        self._known[figures.table, figures.split, figures.model] = figures

    def of(self, table: str, model: str, splits: Iterable[int]) -> list[Figures]:
        """Return the figures of the splits that are there."""
        keys = [(table, split, model) for split in splits]
        return [self._known[key] for key in keys if key in self._known]

    def tables(self) -> dict[str, Figures]:
        """Return one of the figures of each table, in the order in which they came."""
        first: dict[str, Figures] = {}
        for figures in self._known.values():
            first.setdefault(figures.table, figures)
        return first


def summary(results: Results, models: Sequence[str], splits: Sequence[int]) -> str:
    """Return three tables (errors, scores, seconds) and who wins how often against the first."""
    ours, *rivals = models
    parts = [
        _printed(results, models, splits, "error", "log loss in nats, or RMSE; mean ± spread"),
        _printed(results, models, splits, "score", "accuracy, or R²"),
        _printed(results, models, splits, "seconds", "seconds to fit"),
        "",
    ]
    parts += [_duel(results, ours, rival, splits) for rival in rivals]
    return "\n".join(parts)


def _printed(
    results: Results, models: Sequence[str], splits: Sequence[int], what: str, title: str
) -> str:
    rows = [["table", "rows", *models]]
    for name, one in results.tables().items():
        cells = [_cell(results.of(name, model, splits), what, len(splits)) for model in models]
        if any(cells):
            rows.append([name, str(one.rows), *cells])
    return f"\n{title}\n{aligned(rows)}"


def _cell(found: Sequence[Figures], what: str, n_splits: int) -> str:
    if not found:
        return ""
    values = np.array([getattr(one, what) for one in found])
    if what == "seconds":
        return f"{values.mean():.3g}"
    spread = f" ± {values.std(ddof=1):.2g}" if len(values) > 1 else ""
    fewer = f" ({len(values)})" if len(values) < n_splits else ""
    return f"{values.mean():.4g}{spread}{fewer}"


def _duel(results: Results, ours: str, rival: str, splits: Sequence[int]) -> str:
    """Return how often our mean error is the smaller one, on the splits that both have."""
    ratios, plain, wins = [], {"classification": [], "regression": []}, []
    for name, one in results.tables().items():
        mine = {f.split: f.error for f in results.of(name, ours, splits)}
        theirs = {f.split: f.error for f in results.of(name, rival, splits)}
        both = sorted(mine.keys() & theirs.keys())
        if both:
            means = [float(np.mean([errors[s] for s in both])) for errors in (mine, theirs)]
            ratios.append(means[0] / means[1])
            plain[one.task].append(means)
            wins.append(means[0] < means[1])
    if not wins:
        return f"{rival}: nothing to compare with"
    told = [
        f"mean {'log loss' if task == 'classification' else 'RMSE'} "
        f"{np.mean([a for a, _ in pairs]):.4g} against {np.mean([b for _, b in pairs]):.4g}"
        for task, pairs in plain.items()
        if pairs
    ]
    return (
        f"{ours} has the smaller error than {rival} on {sum(wins)} of {len(wins)} tables; "
        f"error / {rival}'s: geometric mean {np.exp(np.mean(np.log(ratios))):.4f}; "
        + "; ".join(told)
    )
