"""Which rows a group meets in which step, each member in its own order.

The order of an epoch is a function of the member's seed and the epoch's number. Rows are
gathered some steps at a time, ``(steps, K, B, D)``, so that a step itself only takes views.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lamina._random import permutation
from lamina._typing import FloatArray, IntArray

from ._data import Rows
from ._parameters import ALIGNMENT
from ._task import Task

CHUNK_BYTES = 2**20
"""How much is gathered at a time; larger chunks leave the cache."""


def epoch_order(task: Task, epoch: int) -> IntArray:
    """Return the rows of the data in the order in which a member meets them in an epoch."""
    if task.n_steps == 1 or not task.member.shuffle:
        return np.arange(task.n_rows) if task.rows is None else task.rows
    order = permutation(task.member.seed, epoch, task.n_rows)
    return order if task.rows is None else task.rows[order]


class Batch(NamedTuple):
    """One step's rows.

    Attributes
    ----------
    x : Tensor of shape (K, B, D)
    y : Tensor of shape (K, B, Q) or (K, B)
    scale : float or Tensor of shape (K, B, 1)
        Weight of each row divided by the weight of the batch.
    share : float or Tensor of shape (K,)
        Rows of this batch divided by the rows of the epoch.
    weight : float or Tensor of shape (K, 1)
        Summed weight of the batch.
    """

    x: Tensor
    y: Tensor
    scale: float | Tensor
    share: float | Tensor
    weight: float | Tensor


class Batches:
    """The batches of a group.

    Parameters
    ----------
    tasks : sequence of Task
        Members that run; they share batch size and steps per epoch.
    group : sequence of Task
        All members of the group. They decide on shapes and on weighting, so that a member's
        arithmetic does not change when a neighbour leaves.
    rows : Rows
        Inputs.
    y : Tensor of shape (N, Q) or (N,)
        Targets as the head takes them.
    """

    def __init__(
        self, tasks: Sequence[Task], group: Sequence[Task], rows: Rows, y: Tensor
    ) -> None:
        self.tasks = list(tasks)
        self.rows = rows
        self.y = y
        self.n_steps = tasks[0].n_steps
        self.batch_size = max(task.batch_size for task in group)
        self.counts = np.array([task.n_rows for task in tasks])
        most = max(task.n_rows for task in group)
        self.last = most - (self.n_steps - 1) * self.batch_size
        self.even = all(t.sample_weight is None and t.n_rows == most for t in group)
        self.whole_rows = self.even and all(task.rows is None for task in group)
        # A member's slice of a gathered chunk starts aligned when B·D is a multiple.
        unit = ALIGNMENT // gcd(rows.n_features, ALIGNMENT)
        self.stride = -(-self.batch_size // unit) * unit
        self._whole: Batch | None = None

    def epoch(self, epochs: IntArray) -> Iterator[Batch]:
        """Yield the batches of one epoch; ``epochs`` is each member's own epoch number."""
        if self.n_steps == 1:
            if self._whole is None:
                self._whole = self._full_batch()
            yield self._whole
            return
        index = self._index(epochs)
        per_step = index[0].size * self.rows.n_features * self.rows.dtype.itemsize
        chunk = max(1, CHUNK_BYTES // max(per_step, 1))
        weights = None if self.even else self._weights(index)
        for start in range(0, self.n_steps, chunk):
            part = index[start : start + chunk]
            x, y = self._gather(part)
            for i, (x_step, y_step) in enumerate(zip(x.unbind(), y.unbind(), strict=True)):
                yield self._batch(start + i, x_step, y_step, weights)

    def _full_batch(self) -> Batch:
        """Return all rows as one batch, without a copy where all members share them."""
        if self.whole_rows:
            k, x = len(self.tasks), self.rows.all()
            n = x.shape[0]
            return Batch(x.expand(k, *x.shape), self.y.expand(k, *self.y.shape), 1 / n, 1.0, n)
        index = self._index(np.zeros(len(self.tasks), dtype=np.int64))
        x, y = self._gather(index)
        weights = None if self.even else self._weights(index)
        return self._batch(0, x[0], y[0], weights)

    def _index(self, epochs: IntArray) -> IntArray:
        """Return row numbers ``(S, K, stride)``; places without a row repeat a row."""
        steps, size = self.n_steps, self.batch_size
        flat = np.empty((len(self.tasks), steps * size), dtype=np.int32)
        for k, task in enumerate(self.tasks):
            order = epoch_order(task, int(epochs[k]))
            flat[k, : len(order)], flat[k, len(order) :] = order, order[0]
        index = np.zeros((steps, len(self.tasks), self.stride), dtype=np.int32)
        index[:, :, :size] = flat.reshape(len(self.tasks), steps, size).transpose(1, 0, 2)
        return index

    def _gather(self, index: IntArray) -> tuple[Tensor, Tensor]:
        shape = index.shape
        x = self.rows.take(index.reshape(-1)).view(*shape, self.rows.n_features)
        flat = torch.from_numpy(index.reshape(-1)).to(self.y.device)
        y = self.y.index_select(0, flat).view(*shape, *self.y.shape[1:])
        return x, y

    def _weights(self, index: IntArray) -> FloatArray:
        """Return the weight of each place ``(S, K, B)``, zero where there is no row."""
        place = np.arange(self.n_steps * self.batch_size).reshape(self.n_steps, 1, -1)
        weights = (place < self.counts[None, :, None]).astype(np.float64)
        for k, task in enumerate(self.tasks):
            if task.sample_weight is not None:
                weights[:, k] *= task.sample_weight[index[:, k, : self.batch_size]]
        return weights

    def _batch(self, step: int, x: Tensor, y: Tensor, weights: FloatArray | None) -> Batch:
        n = self.batch_size if step < self.n_steps - 1 else self.last
        if n != self.stride:
            x, y = x[:, :n], y[:, :n]
        if weights is None:
            return Batch(x, y, 1.0 / n, n / float(self.counts[0]), float(n))
        here = weights[step, :, :n]
        total = here.sum(axis=1)
        rows = np.clip(self.counts - step * self.batch_size, 0, n)

        def tensor(values: FloatArray) -> Tensor:
            return torch.from_numpy(values).to(x.dtype).to(x.device)

        scale = tensor(here / total[:, None]).unsqueeze(2)
        share = torch.from_numpy(rows / self.counts).to(x.device)
        return Batch(x, y, scale, share, tensor(total).unsqueeze(1))
