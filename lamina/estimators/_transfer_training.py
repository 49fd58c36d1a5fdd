"""How a transfer trains: what "auto" means in each of its two stages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ._parameters import hidden_sizes

PROBE_ALPHA, DEEP_ALPHA = 3.0, 0.1
PROBE_STEPS = 1000
LINEAR_RATE, DEEP_RATE, NEW_STEPS = 0.01, 0.001, 300
TUNE_RATE, TUNE_STEPS, TUNE_EPOCHS = 2e-4, 100, 10
TUNE_ALPHA = 0.0
PATIENCE = 10


@dataclass(frozen=True)
class Training:
    """What one stage gives to its perceptron."""

    solver: str
    alpha: float
    learning_rate_init: float
    max_iter: int
    n_iter_no_change: float

    def parameters(self) -> dict[str, Any]:
        """Return them by scikit-learn's names."""
        return dict(vars(self))


def training(transfer: Any, n_rows: int, *, tunes: bool, last: bool) -> Training:
    """Return how a stage trains.

    Parameters
    ----------
    transfer : TransferClassifier or TransferRegressor
        Whose parameters count in the last stage.
    n_rows : int
        Rows to train on.
    tunes : bool
        Whether copied weights move, which asks for small steps and few of them.
    last : bool
        Whether this stage makes the result, so that what the user asked for is meant for it.
    """
    stops = bool(transfer.early_stopping) and last
    stochastic = stops or (bool(transfer.dropout) and last)
    deep = len(hidden_sizes(transfer)) > 0
    convex = not (tunes or stochastic or deep or transfer._begins_at_outputs)
    solver = "lbfgs" if convex else "adam"
    alpha = TUNE_ALPHA if tunes else DEEP_ALPHA if deep else PROBE_ALPHA
    rate = TUNE_RATE if tunes else DEEP_RATE if deep else LINEAR_RATE
    given = {"solver": solver, "alpha": alpha, "learning_rate_init": rate}
    if last:
        for name in given:
            value = getattr(transfer, name)
            given[name] = given[name] if value == "auto" else value
    size = min(200, n_rows) if transfer.batch_size == "auto" else transfer.batch_size
    per_epoch = math.ceil(n_rows / max(1, size))
    epochs = PROBE_STEPS
    if given["solver"] != "lbfgs":
        steps = TUNE_STEPS if tunes else NEW_STEPS
        epochs = max(TUNE_EPOCHS, math.ceil(steps / per_epoch))
    if last and transfer.max_iter != "auto":
        epochs = int(transfer.max_iter)
    patience = max(PATIENCE, math.ceil(epochs / 10)) if stops else math.inf
    return Training(**given, max_iter=epochs, n_iter_no_change=patience)  # type: ignore[arg-type]
