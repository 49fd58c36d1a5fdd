"""Training by pairs: two views of a row, or rows of a class."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from lamina._checks import check_integer
from lamina._random import NOISE, generator
from lamina._typing import IntArray
from lamina.nn import Network
from lamina.stack import NetworkEngine, Optimizer

from ._in_batch import pair_loss, references
from ._labels import class_numbers
from ._loss import check_temperature
from ._samplers import Sampler
from ._supervised import positives_of, supervised_loss, supervised_references
from ._training import Things, Views, largest_batch
from ._units import unit_rows


class ContrastiveTraining:
    r"""Train a network so that two views of a row, or rows of a class, come close.

    Without labels each step minimises :func:`in_batch_info_nce` of the network's outputs for
    two views of the rows of a batch, with labels :func:`supervised_contrastive` of both views
    of all rows.

    Parameters
    ----------
    network : Network
        Encoder and projection in one, with raw outputs.
    sampler : InstanceBatches or ClassBatches
        Which rows meet in a step.
    views : callable
        ``views(rows, generator)`` returns two arrays of shape (B, D).
    temperature : float, default=0.1
        τ, above 0.
    labels : array of shape (n_samples,), optional
        Classes of all rows; missing (None, NaN) where unknown, which is a class of its own.
    ids : array of shape (n_samples,) or (n_samples, m), optional
        What each row is; rows that agree share their positives. With labels, those of which one
        has no class are each other's positives.
    optimizer : str or Optimizer, default="adam"
        How the weights move.
    weight_decay : float, default=0.0
        λ.
    seed : int, default=0
        Seed of what the views draw.
    first_step : int, default=0
        Number of the first step, where a training goes on.
    max_batch_size : int, optional
        Most rows of a batch that `feed` will bring; by default those of the sampler.

    Attributes
    ----------
    n_steps : int
        Steps taken, ``first_step`` included.
    n_zero_rows : int
        Embeddings so far that had no direction.

    Raises
    ------
    ParameterError
        If a parameter is not allowed.

    Warns
    -----
    DataWarning
        Once, if all rows of a batch are the same thing, so that there is no negative.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.represent import InstanceBatches
    >>> X = np.random.default_rng(0).normal(size=(64, 5))
    >>> network = Network((5, 16, 8), random_state=0)
    >>> training = ContrastiveTraining(
    ...     network, InstanceBatches(64, 32), lambda rows, rng: (X[rows], X[rows] * 0.9)
    ... )
    >>> first = training.step(0.01)
    >>> last = [training.step(0.01) for _ in range(50)][-1]
    >>> last < first
    True
    """

    def __init__(
        self,
        network: Network,
        sampler: Sampler,
        views: Views,
        *,
        temperature: float = 0.1,
        labels: Any = None,
        ids: Any = None,
        optimizer: str | Optimizer = "adam",
        weight_decay: float = 0.0,
        seed: int = 0,
        first_step: int = 0,
        max_batch_size: int | None = None,
    ) -> None:
        self._scale = 1.0 / check_temperature(temperature)
        self._seed = seed
        self.n_steps = check_integer("first_step", first_step, 0)
        n = 2 * largest_batch(max_batch_size, sampler)
        self._engine = NetworkEngine(network, n, optimizer=optimizer, weight_decay=weight_decay)
        self._x = torch.empty(n, network.sizes[0], dtype=network.dtype)
        self.n_zero_rows = 0
        self.feed(sampler, views, labels=labels, ids=ids)

    def feed(self, sampler: Sampler, views: Views, *, labels: Any = None, ids: Any = None) -> None:
        """Go on with other data, whose batches fit into the memory of the first."""
        self._sampler, self._views = sampler, views
        self._labels = None if labels is None else class_numbers(labels)
        self._things = Things(ids)

    def resume(self, other: ContrastiveTraining) -> None:
        """Go on from where a training of equal layers stands, by the settings of this one."""
        self._engine.resume(other._engine)
        self.n_steps, self.n_zero_rows = other.n_steps, other.n_zero_rows

    def step(self, learning_rate: float) -> float:
        """Take one step and return its loss in nats."""
        rows = self._sampler.batch(self.n_steps)
        first, second = self._views(rows, generator(self._seed, NOISE, self.n_steps))
        n = len(rows)
        x = self._x[: 2 * n]
        x[:n], x[n:] = torch.from_numpy(first), torch.from_numpy(second)
        value, delta = self._loss(self._engine.forward(x), rows)
        loss = value.item()
        if math.isfinite(loss):
            self._engine.backward(delta)
            self._engine.step(learning_rate)
        self.n_steps += 1
        return loss

    def _loss(self, z: Tensor, rows: IntArray) -> tuple[Tensor, Tensor]:
        """Return the loss of a batch and its derivative on the outputs of both views."""
        n = len(rows)
        if self._labels is not None:
            units = unit_rows(z)
            self.n_zero_rows += units.n_zero_rows
            return supervised_loss(units, self._positives(self._labels, rows), self._scale)
        a, b = unit_rows(z[:n]), unit_rows(z[n:])
        self.n_zero_rows += a.n_zero_rows + b.n_zero_rows
        found = pair_loss(a, b, self._scale, self._things.no_negatives(rows), True)
        return found.value, torch.cat([found.to_a, found.to_b])

    def _positives(self, labels: Tensor, rows: IntArray) -> Tensor:
        """Return which of both views of the rows belong together by class."""
        codes = labels[torch.from_numpy(rows)].repeat(2)
        return positives_of(codes, self._things.same(rows, n_views=2))

    def references(self) -> tuple[float, float]:
        """Return the loss at collapse and a floor, for the first batch."""
        rows = self._sampler.batch(0)
        if self._labels is None:
            return references(self._things.no_negatives(rows), len(rows), self._scale, True)
        return supervised_references(self._positives(self._labels, rows), self._scale)

    def threads(self) -> AbstractContextManager[None]:
        """Use one thread within the block where the network is small."""
        return self._engine.threads()

    def networks(self) -> list[Network]:
        """Return a copy of the network as it is now, in a list."""
        return [self._engine.network()]
