"""What one call of fit has to solve, once X, y and the weights are checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lamina._typing import Array, FloatArray, IntArray
from lamina.heads import Head


@dataclass(frozen=True, eq=False)
class Problem:
    """Checked data and the head that fits them.

    Attributes
    ----------
    X : ndarray or CSR of shape (N, D)
        Inputs.
    y : ndarray of shape (N,) or (N, Q)
        Targets in the form that the head's ``targets`` takes.
    head : Head
        What the raw outputs mean.
    n_raw : int
        Raw outputs of the network.
    out_activation : str
        Name of what turns raw outputs into predictions, in scikit-learn's words.
    weight : ndarray of shape (N,) or None
        Weights of the rows.
    numbers : ndarray of shape (N,) or None
        Class numbers by which a validation split is stratified.
    attributes : dict
        What else the fitted estimator needs: a classifier its labels.
    loss_shift : float
        Nats to add to the losses that the engine reports, so that they are those of y itself
        where the head is trained on a standardised target.
    alpha : float or None
        L2 penalty of the sum of the errors of all rows, α/2 ‖W‖², where it is not the
        estimator's own, which scikit-learn divides by the rows of a batch.
    by_likelihood : bool
        Whether held-out rows are judged by the head's error and not by its score.
    """

    X: Any
    y: Array
    head: Head
    n_raw: int
    out_activation: str
    weight: FloatArray | None
    numbers: IntArray | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    loss_shift: float = 0.0
    alpha: float | None = None
    by_likelihood: bool = False

    @property
    def rows(self) -> IntArray:
        """Rows that have a weight: the others are as good as absent."""
        if self.weight is None:
            return np.arange(self.X.shape[0])
        return np.flatnonzero(self.weight > 0)
