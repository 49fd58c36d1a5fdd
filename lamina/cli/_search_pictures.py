"""The pictures of ``lamina search show --plots``, each with its numbers beside it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from lamina._errors import DataError

from ._search_metrics import label, unsigned
from ._search_report import value_of
from ._search_space import short

if TYPE_CHECKING:
    from lamina.search import StudyView


def write_pictures(view: StudyView, folder: Path) -> list[Path]:
    """Draw history, rungs and parameters of the candidates that have ended."""
    from lamina.plots import (
        plot_search_history,
        plot_search_parameters,
        plot_search_rungs,
        save_figure,
    )

    from ._search_show import reached

    trials = view.trials
    if not any(math.isfinite(trial.score) for trial in trials):
        raise DataError("--plots must have a candidate with a score. Got none so far.")
    metric = str(view.spec.get("metric", "score"))
    name = label(metric) if unsigned(metric, 1.0) > 0 else f"− {label(metric)}"
    scores = [trial.score for trial in trials]
    last = max(len(trial.values) for trial in trials)
    rungs = [int(min(reached(trial), last)) - 1 for trial in trials]
    params = [
        {short(key): value_of(value) for key, value in trial.params.items()} for trial in trials
    ]
    pictures = {
        "history": plot_search_history(scores, rungs, name=name),
        "rungs": plot_search_rungs([trial.values for trial in trials], name=name),
        "parameters": plot_search_parameters(params, scores, rungs, name=name),
    }
    files: list[Path] = []
    for title, axes in pictures.items():
        files.extend(save_figure(axes, folder / f"{title}.png", numbers=True))
    return files
