"""Training by pairs across two modalities, each with its own network."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import Any

import torch

from lamina._checks import check_integer, check_real
from lamina._errors import DataError
from lamina._random import NOISE, generator
from lamina.nn import Network
from lamina.stack import NetworkEngine, Optimizer

from ._in_batch import MAX_LOG_SCALE, pair_loss, references
from ._samplers import Sampler
from ._training import Things, Views, largest_batch
from ._units import unit_rows


class CrossModalTraining:
    """Train two networks so that the two sides of a pair come close, and the temperature.

    Parameters
    ----------
    networks : sequence of two Networks
        The encoder of each side, with raw outputs of one width.
    sampler : InstanceBatches
        Which pairs meet in a step.
    views : callable
        ``views(rows, generator)`` returns the two sides, arrays of shapes (B, D) and (B, E).
    temperature : float, default=0.07
        Where the learned temperature begins, at least 0.01.
    learn_temperature : bool, default=True
        Whether it is learned, or stays.
    ids : array of shape (n_samples,) or (n_samples, m), optional
        What each pair shows; pairs that agree in a column share their positives.
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
    DataError
        If the networks have outputs of different widths.

    Warns
    -----
    DataWarning
        Once, if all pairs of a batch are the same thing, so that there is no negative.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.represent import InstanceBatches
    >>> X = np.random.default_rng(0).normal(size=(64, 5))
    >>> sides = [Network((5, 16, 8), random_state=0), Network((2, 16, 8), random_state=1)]
    >>> training = CrossModalTraining(
    ...     sides, InstanceBatches(64, 32), lambda rows, rng: (X[rows], X[rows][:, :2])
    ... )
    >>> losses = [training.step(0.01) for _ in range(100)]
    >>> losses[-1] < losses[0]
    True
    """

    def __init__(
        self,
        networks: Any,
        sampler: Sampler,
        views: Views,
        *,
        temperature: float = 0.07,
        learn_temperature: bool = True,
        ids: Any = None,
        optimizer: str | Optimizer = "adam",
        weight_decay: float = 0.0,
        seed: int = 0,
        first_step: int = 0,
        max_batch_size: int | None = None,
    ) -> None:
        one, other = networks
        if one.sizes[-1] != other.sizes[-1]:
            raise DataError(
                "networks must have outputs of one width. "
                f"Got {one.sizes[-1]} and {other.sizes[-1]}."
            )
        least = math.exp(-MAX_LOG_SCALE)
        self._log_scale = -math.log(check_real("temperature", temperature, least))
        self._learns, self._moments = learn_temperature, (0.0, 0.0)
        self._seed = seed
        self.n_steps = check_integer("first_step", first_step, 0)
        n = largest_batch(max_batch_size, sampler)
        self._engines = [
            NetworkEngine(network, n, optimizer=optimizer, weight_decay=weight_decay)
            for network in (one, other)
        ]
        self._dtype = one.dtype
        self.n_zero_rows = 0
        self.feed(sampler, views, ids=ids)

    def feed(self, sampler: Sampler, views: Views, *, ids: Any = None) -> None:
        """Go on with other data, whose batches fit into the memory of the first."""
        self._sampler, self._views = sampler, views
        self._things = Things(ids)

    def resume(self, other: CrossModalTraining) -> None:
        """Go on from where a training of equal layers stands, by the settings of this one."""
        for own, its in zip(self._engines, other._engines, strict=True):
            own.resume(its)
        self._moments = other._moments
        if math.isclose(self.temperature, other.temperature):  # equal but for rounding
            self._log_scale = other._log_scale
        self.n_steps, self.n_zero_rows = other.n_steps, other.n_zero_rows

    @property
    def temperature(self) -> float:
        """The temperature as it is now."""
        return math.exp(-self._log_scale)

    def step(self, learning_rate: float) -> float:
        """Take one step and return its loss in nats."""
        rows = self._sampler.batch(self.n_steps)
        sides = self._views(rows, generator(self._seed, NOISE, self.n_steps))
        a, b = (
            unit_rows(engine.forward(torch.from_numpy(side).to(self._dtype)))
            for engine, side in zip(self._engines, sides, strict=True)
        )
        self.n_zero_rows += a.n_zero_rows + b.n_zero_rows
        found = pair_loss(a, b, math.exp(self._log_scale), self._things.no_negatives(rows), True)
        loss = found.value.item()
        if math.isfinite(loss):
            for engine, delta in zip(self._engines, (found.to_a, found.to_b), strict=True):
                engine.backward(delta)
                engine.step(learning_rate)
            if self._learns:
                self._move_temperature(found.to_log_scale.item(), learning_rate)
        self.n_steps += 1
        return loss

    def _move_temperature(self, gradient: float, learning_rate: float) -> None:
        """Take a step of Adam with the logarithm of 1/τ, which stays between 0 and ln 100."""
        t = self._engines[0].n_steps
        mean, square = self._moments
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        self._moments = (mean, square)
        step = (mean / (1 - 0.9**t)) / (math.sqrt(square / (1 - 0.999**t)) + 1e-8)
        self._log_scale = min(max(self._log_scale - learning_rate * step, 0.0), MAX_LOG_SCALE)

    def references(self) -> tuple[float, float]:
        """Return the loss at collapse and its floor, for the first batch and this temperature."""
        rows = self._sampler.batch(0)
        return references(
            self._things.no_negatives(rows), len(rows), math.exp(self._log_scale), True
        )

    def threads(self) -> AbstractContextManager[None]:
        """Use one thread within the block where both networks are small."""
        return max(self._engines, key=lambda engine: engine.largest_product).threads()

    def networks(self) -> list[Network]:
        """Return copies of both networks as they are now."""
        return [engine.network() for engine in self._engines]
