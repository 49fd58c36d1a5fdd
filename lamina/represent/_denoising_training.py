"""Training by restoring what was corrupted."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager

import torch

from lamina._checks import check_integer, check_real
from lamina._errors import DataError
from lamina._random import NOISE, generator
from lamina.nn import Network
from lamina.stack import NetworkEngine, Optimizer

from ._reconstruction import denoising_parts
from ._samplers import Sampler
from ._training import Views, largest_batch


class DenoisingTraining:
    """Train a network to restore corrupted rows and to say which cells were changed.

    Parameters
    ----------
    network : Network
        With D inputs, and 2 D raw outputs: the reconstruction and the log-odds of the mask.
        D outputs are enough where ``mask_weight`` is 0.
    sampler : InstanceBatches
        Which rows meet in a step.
    views : callable
        ``views(rows, generator)`` returns rows and corrupted rows, arrays of shape (B, D).
    mask_weight : float, default=1.0
        Weight of the mask's cross-entropy beside the squared error.
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

    Raises
    ------
    ParameterError
        If a parameter is not allowed.
    DataError
        If the network has another number of outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.represent import InstanceBatches, corrupt
    >>> X = np.random.default_rng(0).normal(size=(64, 5))
    >>> training = DenoisingTraining(
    ...     Network((5, 16, 10), random_state=0),
    ...     InstanceBatches(64, 32),
    ...     lambda rows, rng: (X[rows], corrupt(X[rows], 0.3, random_state=rng)[0]),
    ... )
    >>> losses = [training.step(0.01) for _ in range(200)]
    >>> losses[-1] < losses[0]
    True
    """

    def __init__(
        self,
        network: Network,
        sampler: Sampler,
        views: Views,
        *,
        mask_weight: float = 1.0,
        optimizer: str | Optimizer = "adam",
        weight_decay: float = 0.0,
        seed: int = 0,
        first_step: int = 0,
        max_batch_size: int | None = None,
    ) -> None:
        self._weight = check_real("mask_weight", mask_weight, 0.0)
        self._width = network.sizes[0]
        wanted = self._width * (2 if self._weight else 1)
        if network.sizes[-1] != wanted:
            raise DataError(f"network must have {wanted} outputs. Got {network.sizes[-1]}.")
        self._seed = seed
        self.n_steps = check_integer("first_step", first_step, 0)
        n = largest_batch(max_batch_size, sampler)
        self._engine = NetworkEngine(network, n, optimizer=optimizer, weight_decay=weight_decay)
        self._delta = torch.empty(n, wanted, dtype=network.dtype)
        self.feed(sampler, views)

    def feed(self, sampler: Sampler, views: Views) -> None:
        """Go on with other data, whose batches fit into the memory of the first."""
        self._sampler, self._views = sampler, views

    def resume(self, other: DenoisingTraining) -> None:
        """Go on from where a training of equal layers stands, by the settings of this one."""
        self._engine.resume(other._engine)
        self.n_steps = other.n_steps

    def step(self, learning_rate: float) -> float:
        """Take one step and return its loss."""
        rows = self._sampler.batch(self.n_steps)
        clean, corrupted = self._views(rows, generator(self._seed, NOISE, self.n_steps))
        x, seen = (torch.from_numpy(part).to(self._delta.dtype) for part in (clean, corrupted))
        raw = self._engine.forward(seen)
        restored, delta = raw[:, : self._width], self._delta[: len(rows)]
        if self._weight:
            mask = (x != seen).to(x.dtype)
            error, cross, to_x, to_mask = denoising_parts(
                restored, raw[:, self._width :], x, mask, self._weight
            )
            delta[:, self._width :] = to_mask
            loss = error.item() + self._weight * cross.item()
        else:
            gap = restored - x
            loss, to_x = gap.square().mean().item(), gap * (2.0 / gap.numel())
        delta[:, : self._width] = to_x
        if math.isfinite(loss):
            self._engine.backward(delta)
            self._engine.step(learning_rate)
        self.n_steps += 1
        return loss

    def threads(self) -> AbstractContextManager[None]:
        """Use one thread within the block where the network is small."""
        return self._engine.threads()

    def networks(self) -> list[Network]:
        """Return a copy of the network as it is now, in a list."""
        return [self._engine.network()]
