"""Scikit-learn's lines of progress on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lamina.stack import EpochReport

if TYPE_CHECKING:
    from ._mlp import BaseMLP


class ProgressLines:
    """Print loss, validation score and changes of the learning rate after each epoch.

    For an ensemble the figures are the means over the members that are still training.
    """

    def __init__(self, mlp: BaseMLP) -> None:
        self._mlp = mlp
        self._rate: float | None = None

    def __call__(self, report: EpochReport) -> None:
        """Print what is new."""
        rate = float(report.learning_rate.max())
        if self._mlp.learning_rate == "adaptive" and self._rate is not None and rate < self._rate:
            print(f"{idle_sentence(self._mlp)} Setting learning rate to {rate:f}")
        self._rate = rate
        print(f"Iteration {report.epoch}, loss = {np.mean(report.train_loss):.8f}")
        if np.isfinite(report.valid_loss).any():
            print(f"Validation score: {np.mean(report.valid_score):f}")


def idle_sentence(mlp: BaseMLP) -> str:
    """Return why training stops or slows down."""
    what = "Validation score" if mlp.early_stopping else "Training loss"
    return (
        f"{what} did not improve more than tol={mlp.tol:f} for {mlp.n_iter_no_change} "
        "consecutive epochs."
    )


def print_stop(mlp: BaseMLP) -> None:
    """Print that patience ran out."""
    slow = " Learning rate too small." if mlp.learning_rate == "adaptive" else ""
    print(f"{idle_sentence(mlp)}{slow} Stopping.")
