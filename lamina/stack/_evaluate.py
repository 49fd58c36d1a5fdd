"""Loss and score of each member on its own held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lamina._typing import FloatArray, IntArray

from ._data import Rows
from ._graph import GraphProgram
from ._parameters import aligned
from ._passes import Program
from ._task import Task

CHUNK_ROWS = 2048
"""Rows that are run at a time."""


class Validation:
    """The held-out rows of a group's members; members without any are passed over.

    Parameters
    ----------
    tasks : sequence of Task
        Members that run.
    group : sequence of Task
        All members of the group; they decide on shapes.
    rows : Rows
        Inputs.
    y : Tensor of shape (N, Q) or (N,)
        Targets as the head takes them.
    """

    def __init__(
        self, tasks: Sequence[Task], group: Sequence[Task], rows: Rows, y: Tensor
    ) -> None:
        self.head = tasks[0].head
        self.rows, self.y = rows, y
        held_out = [task.validation_rows for task in group]
        first = next(r for r in held_out if r is not None)
        self.shared = all(r is not None and np.array_equal(r, first) for r in held_out)
        # A multiple of the alignment, so that each member's rows start alike.
        self.n = aligned(max(len(r) for r in held_out if r is not None))
        self.index = np.zeros((1 if self.shared else len(tasks), self.n), dtype=np.int64)
        weights = np.zeros((len(tasks), self.n))
        for k, task in enumerate(tasks):
            r = task.validation_rows
            if r is None:
                continue
            self.index[k if not self.shared else 0, : len(r)] = r
            weights[k, : len(r)] = 1.0 if task.sample_weight is None else task.sample_weight[r]
        self.weights = torch.from_numpy(weights).to(y.device)  # (K, V) in float64
        self._space: Any = None

    def measure(self, forward: Callable[[IntArray], Tensor]) -> tuple[FloatArray, FloatArray]:
        """Return loss and score ``(K,)``; NaN for members without held-out rows.

        ``forward`` returns the raw outputs ``(K, n, Q)`` of row numbers ``(K or 1, n)``.
        """
        errors, raws, targets = [], [], []
        for start in range(0, self.n, CHUNK_ROWS):
            part = np.ascontiguousarray(self.index[:, start : start + CHUNK_ROWS])
            raw, y = forward(part), self._targets(part)
            errors.append(self.head.error_and_gradient(raw, y)[0].to(torch.float64))
            raws.append(raw)
            targets.append(y)
        error, raw, y = torch.cat(errors, 1), torch.cat(raws, 1), torch.cat(targets, 1)
        weight = self.weights
        kept = torch.where(weight > 0, error, torch.zeros_like(error))
        loss = (kept * weight).sum(1) / weight.sum(1)
        score = self.head.score(raw, y, weight.to(raw.dtype))
        return loss.cpu().numpy(), score.to(torch.float64).cpu().numpy()

    def forward(self, program: Program | GraphProgram, part: IntArray) -> Tensor:
        """Return the raw outputs ``(K, n, Q)`` of row numbers ``(K or 1, n)`` by torch."""
        k, n = len(self.weights), part.shape[1]
        if self._space is None:
            self._space = program.workspace(min(self.n, CHUNK_ROWS), training=False)
        x = self.rows.take(part.reshape(-1)).view(-1, n, self.rows.n_features)
        x = x.expand(k, *x.shape[1:])
        raw = program.forward(x, self._space.rows(n), None)
        return raw.clone()

    def _targets(self, part: IntArray) -> Tensor:
        index = torch.from_numpy(part.reshape(-1)).to(self.y.device)
        y = self.y.index_select(0, index).view(*part.shape, *self.y.shape[1:])
        return y.expand(len(self.weights), *y.shape[1:])
