"""Which rows meet in a batch: each row once an epoch, or some of each class."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from lamina._checks import check_integer
from lamina._errors import DataError, ParameterError
from lamina._random import ORDER, generator, permutation
from lamina._typing import IntArray

from ._labels import labels_of


class Sampler(Protocol):
    """What a training loop asks for its batches; each is a function of seed and step."""

    batch_size: int

    def batch(self, step: int) -> IntArray:
        """Return the rows of a step, none of them twice."""
        ...


class InstanceBatches:
    """Batches of rows, each row at most once an epoch.

    All batches have one size. The rows that are left over at the end of an epoch wait for the
    next, whose order is another, so that there is never a batch of one.

    Parameters
    ----------
    n_samples : int
        Rows to choose from, at least 2.
    batch_size : int
        Rows of a batch, at least 2; with fewer rows than that, all of them.
    seed : int, default=0
        Seed of the order.

    Attributes
    ----------
    n_per_epoch : int
        Batches of an epoch.

    Raises
    ------
    ParameterError
        If there is a batch of one, which has no negatives.

    Examples
    --------
    >>> batches = InstanceBatches(10, 4, seed=0)
    >>> [len(batches.batch(step)) for step in range(3)], batches.n_per_epoch
    ([4, 4, 4], 2)
    """

    def __init__(self, n_samples: int, batch_size: int, seed: int = 0) -> None:
        self.n_samples = check_integer("n_samples", n_samples, 2)
        self.batch_size = min(check_batch_size(batch_size), self.n_samples)
        self.n_per_epoch = self.n_samples // self.batch_size
        self._seed = seed
        self._epoch = -1
        self._order: IntArray = np.arange(0)

    def batch(self, step: int) -> IntArray:
        """Return the rows of a step, counted from 0."""
        epoch, place = divmod(step, self.n_per_epoch)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, permutation(self._seed, epoch, self.n_samples)
        return self._order[place * self.batch_size : (place + 1) * self.batch_size]


class ClassBatches:
    """Batches with the same number of rows from each of some classes, of two at least.

    A class with fewer rows than its share gives what it has, so that no row is in a batch twice;
    more classes then fill the batch, as far as there are any. The last class gives what still
    fits.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Class of each row.
    batch_size : int
        Most rows of a batch, at least 2.
    per_class : int, default=4
        Rows of a class: more where the classes are too few to fill a batch, fewer where a batch
        would hold no other class.
    seed : int, default=0
        Seed of the draws.

    Attributes
    ----------
    n_per_epoch : int
        Batches that have about as many rows as there are.
    n_single : int
        Classes with one row. Alone it has no positive; give it several views.

    Raises
    ------
    DataError
        If there is one row, or a label is missing.
    ParameterError
        If there is a batch of one.

    Examples
    --------
    >>> y = np.repeat(["a", "b", "c"], 8)
    >>> rows = ClassBatches(y, 6, per_class=3, seed=0).batch(0)
    >>> sorted(np.unique(y[rows], return_counts=True)[1].tolist())
    [3, 3]
    """

    def __init__(self, labels: Any, batch_size: int, per_class: int = 4, seed: int = 0) -> None:
        known = labels_of("labels", labels, len(labels))
        classes, codes = np.unique(known, return_inverse=True)
        if len(codes) < 2:
            raise DataError(f"labels must be those of at least 2 rows. Got {len(codes)}.")
        self.batch_size = check_batch_size(batch_size)
        self._members = [np.flatnonzero(codes == i) for i in range(len(classes))]
        # A batch of one class has no negatives, so that two share the smallest.
        share = min(check_integer("per_class", per_class, 1), (self.batch_size + 1) // 2)
        n_classes = min(len(classes), max(2, self.batch_size // share))
        self._share = max(share, self.batch_size // n_classes)
        self._seed = seed
        self.n_per_epoch = max(1, len(codes) // self.batch_size)
        self.n_single = sum(len(rows) == 1 for rows in self._members)

    def batch(self, step: int) -> IntArray:
        """Return the rows of a step, counted from 0."""
        rng = generator(self._seed, ORDER, step)
        chosen: list[IntArray] = []
        room = self.batch_size
        for i in rng.permutation(len(self._members)):
            chosen.append(_some(self._members[i], min(self._share, room), rng))
            room -= len(chosen[-1])
            if not room:
                break
        return np.concatenate(chosen)


def _some(rows: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """Return at most n of the rows, none twice."""
    return rows if len(rows) <= n else rng.choice(rows, n, replace=False)


def check_batch_size(batch_size: Any) -> int:
    """Return a batch size of at least 2."""
    if isinstance(batch_size, (int, np.integer)) and batch_size == 1:
        raise ParameterError(
            "batch_size must be at least 2: the loss of one row, which has no negatives, is 0 "
            "whatever its embedding. Got 1."
        )
    return check_integer("batch_size", batch_size, 2)


def row_ids(X: Any) -> IntArray:
    """Return a number for each row (n,), the same for rows that are equal bit for bit.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows of numbers; 0 and -0 are equal.

    Returns
    -------
    ndarray of int of shape (n,)
        Counted from 0 in the order in which the rows are met.

    Examples
    --------
    >>> row_ids(np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0]])).tolist()
    [0, 1, 0]
    """
    array = np.ascontiguousarray(X)
    if array.dtype.kind == "f":
        array = array + 0.0  # -0 becomes 0
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in array], dtype=np.int64)
