"""From raw outputs of a task to what a user asked for, and how good that is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import r2_score

from lamina._typing import Array, FloatArray
from lamina.tables import regression_target

from ._multitask_targets import Task, observed_in


def in_units(task: Task, raw: FloatArray) -> FloatArray:
    """Return probabilities (N, K), or numbers (N,) in units of the target."""
    if task.classes is None:
        return task.centre + task.scale * raw[:, 0].astype(np.float64)
    logits = torch.from_numpy(np.ascontiguousarray(raw)).double()
    if len(task.classes) == 2:
        logits = torch.cat([-logits, logits], dim=1)
        return logits.sigmoid().numpy()  # σ(−a), which stays exact where 1 − σ(a) is 0
    proba: FloatArray = logits.softmax(-1).numpy()
    return proba


def decoded(task: Task, mean: FloatArray) -> Array:
    """Return the labels or numbers of a task."""
    if task.classes is None:
        return mean
    labels: Array = task.classes[mean.argmax(axis=1)]
    return labels


def as_given(answers: dict[str, Array], given: str, index: Any) -> Any:
    """Return the answers in what the target came in."""
    if given == "dict":
        return answers
    if given == "frame":
        return pd.DataFrame(answers, index=index)
    if len(answers) == 1:
        return next(iter(answers.values()))
    mixed = len({column.dtype.kind in "biuf" for column in answers.values()}) > 1
    columns = [column.astype(object) if mixed else column for column in answers.values()]
    return np.column_stack(columns)


def task_score(
    task: Task, column: Array, answer: Array, weight: FloatArray | None
) -> float | None:
    """Return accuracy or R² over the observed targets, None where there are none."""
    there = observed_in(column)
    if weight is not None:
        there = there & (weight > 0)
    if not there.any():
        return None
    own = None if weight is None else weight[there]
    if task.classes is None:
        if there.sum() < 2:
            return None
        truth = regression_target(column[there], task.name)
        return float(r2_score(truth, answer[there], sample_weight=own))
    right = [a == b for a, b in zip(column[there], answer[there], strict=True)]
    return float(np.average(right, weights=own))
