"""One step of each optimiser on a group's flat buffers.

A setting is a ``float`` where all members agree and a tensor ``(K, 1)`` where they differ; both
broadcast alike, so that each rule is written once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from lamina._typing import FloatArray

from ._optimizers import LBFGS, SGD, Adam, Muon, Optimizer, RMSprop
from ._parameters import Block, Layout

Column: TypeAlias = float | Tensor


def column(values: Sequence[float] | FloatArray, like: Tensor) -> Column:
    """Return one number if all are equal, else a tensor ``(K, 1)``."""
    array = np.asarray(values, dtype=np.float64)
    if (array == array[0]).all():
        return float(array[0])
    return torch.as_tensor(array, dtype=like.dtype, device=like.device).unsqueeze(1)


def add_scaled_(target: Tensor, source: Tensor, scale: Column) -> None:
    """Compute target += scale · source in place."""
    if isinstance(scale, float):
        target.add_(source, alpha=scale)
    else:
        target.addcmul_(source, scale)


def bias_correction(beta_1: FloatArray, beta_2: FloatArray, t: FloatArray) -> FloatArray:
    """Return √(1 − β₂ᵗ)/(1 − β₁ᵗ) for steps t from 1."""
    return np.sqrt(1 - beta_2**t) / (1 - beta_1**t)


class Updater:
    """Moves a group's parameters; one for each kind of optimiser.

    Parameters
    ----------
    optimizers : sequence of Optimizer
        The members' settings, all of one class.
    layout : Layout
        Places of the blocks.
    like : Tensor of shape (K, P)
        The parameters; gives dtype and device.
    """

    n_moments = 0

    def __init__(self, optimizers: Sequence[Optimizer], layout: Layout, like: Tensor) -> None:
        settings = [optimizer.hyperparameters() for optimizer in optimizers]
        self.values = {name: np.array([s[name] for s in settings]) for name in settings[0]}
        self.setting = {name: column(values, like) for name, values in self.values.items()}
        self.layout = layout
        self.scratch = torch.empty_like(like)

    def rates(self, rates: FloatArray, steps: FloatArray) -> FloatArray:
        """Return the step sizes ``(S, K)`` from learning rates and step numbers from 1."""
        return rates

    def step(
        self, theta: Tensor, grad: Tensor, moments: list[Tensor], rate: Column, plain: Column
    ) -> None:
        """Move ``theta`` in place; ``rate`` comes from `rates`, ``plain`` is uncorrected."""
        raise NotImplementedError(f"{type(self).__name__} must define step().")


class SGDUpdater(Updater):
    """Momentum: v ← μv − ηg."""

    n_moments = 1

    def step(
        self, theta: Tensor, grad: Tensor, moments: list[Tensor], rate: Column, plain: Column
    ) -> None:
        """Move by the velocity, or by the look-ahead of Nesterov."""
        (velocity,) = moments
        momentum = self.setting["momentum"]
        velocity.mul_(momentum)
        add_scaled_(velocity, grad, -rate)
        nesterov = self.values["nesterov"]
        if not nesterov.any():
            theta.add_(velocity)
        elif nesterov.all():
            add_scaled_(theta, velocity, momentum)
            add_scaled_(theta, grad, -rate)
        else:
            ahead = torch.mul(velocity, momentum, out=self.scratch)
            add_scaled_(ahead, grad, -rate)
            looks = torch.from_numpy(nesterov > 0).to(theta.device).unsqueeze(1)
            theta.add_(torch.where(looks, ahead, velocity))


class AdamUpdater(Updater):
    """Adam and AdamW: running means of the gradient and of its square."""

    n_moments = 2

    def rates(self, rates: FloatArray, steps: FloatArray) -> FloatArray:
        """Correct for the zeros with which the running means began."""
        return rates * bias_correction(self.values["beta_1"], self.values["beta_2"], steps)

    def step(
        self, theta: Tensor, grad: Tensor, moments: list[Tensor], rate: Column, plain: Column
    ) -> None:
        """Move by m/(√s + ε)."""
        self._adam(theta, grad, moments[0], moments[1], rate, self.scratch)

    def _adam(
        self, theta: Tensor, grad: Tensor, mean: Tensor, square: Tensor, rate: Column, tmp: Tensor
    ) -> None:
        mean.lerp_(grad, 1 - self.setting["beta_1"])
        torch.mul(grad, grad, out=tmp)
        square.lerp_(tmp, 1 - self.setting["beta_2"])
        torch.sqrt(square, out=tmp)
        tmp.add_(self.setting["epsilon"])
        if isinstance(rate, float):
            theta.addcdiv_(mean, tmp, value=-rate)
        else:
            torch.div(mean, tmp, out=tmp)
            theta.addcmul_(tmp, -rate)


class RMSpropUpdater(Updater):
    """Steps divided by the running root mean square of the gradient."""

    n_moments = 2

    def step(
        self, theta: Tensor, grad: Tensor, moments: list[Tensor], rate: Column, plain: Column
    ) -> None:
        """Move by the momentum of g/(√s + ε)."""
        square, velocity = moments
        tmp = torch.mul(grad, grad, out=self.scratch)
        square.lerp_(tmp, 1 - self.setting["rho"])
        torch.sqrt(square, out=tmp)
        tmp.add_(self.setting["epsilon"])
        torch.div(grad, tmp, out=tmp)
        velocity.mul_(self.setting["momentum"]).add_(tmp)
        add_scaled_(theta, velocity, -rate)


class MuonUpdater(AdamUpdater):
    """Orthogonalised momentum for all weight matrices but the last; AdamW for the rest."""

    n_moments = 2

    def __init__(self, optimizers: Sequence[Optimizer], layout: Layout, like: Tensor) -> None:
        super().__init__(optimizers, layout, like)
        hidden = range(layout.n_layers - 1)
        self.matrices = [layout.find("weight", i) for i in hidden]
        self.split = layout.find("weight", layout.n_layers - 1).start
        self.scales: list[Tensor] = []

    def set_sizes(self, sizes: Sequence[Sequence[int]], like: Tensor) -> None:
        """Store √max(1, out/in) of each member's true matrices."""
        for i in range(len(self.matrices)):
            values = [max(1.0, s[i + 1] / s[i]) ** 0.5 for s in sizes]
            scale = torch.tensor(values, dtype=like.dtype, device=like.device)
            self.scales.append(scale[:, None, None])

    def rates(self, rates: FloatArray, steps: FloatArray) -> FloatArray:
        """Return AdamW's corrected rates; Muon itself uses the plain ones."""
        return super().rates(rates * self.values["adamw_ratio"], steps)

    def step(
        self, theta: Tensor, grad: Tensor, moments: list[Tensor], rate: Column, plain: Column
    ) -> None:
        """Move hidden matrices by Muon, everything behind them in the buffer by AdamW."""
        rest = slice(self.split, None)
        mean, square = moments
        self._adam(
            theta[:, rest],
            grad[:, rest],
            mean[:, rest],
            square[:, rest],
            rate,
            self.scratch[:, rest],
        )
        for block, scale in zip(self.matrices, self.scales, strict=True):
            self._orthogonal_step(block, scale, theta, grad, mean, plain)

    def _orthogonal_step(
        self, block: Block, scale: Tensor, theta: Tensor, grad: Tensor, mean: Tensor, plain: Column
    ) -> None:
        weight, g, momentum = block.view(theta), block.view(grad), block.view(mean)
        mu = _cube(self.setting["momentum"])
        momentum.mul_(mu).add_(g)
        nesterov = _cube(self.setting["nesterov"])
        ahead = momentum * (1 + (mu - 1) * nesterov) + g * nesterov
        direction = orthogonalize(ahead, int(self.values["n_steps"].max()), self._active())
        add_scaled_(weight, direction.mul_(scale), -_cube(plain))

    def _active(self) -> Tensor | None:
        """Return, where members differ in it, each member's number of iterations."""
        steps = self.setting["n_steps"]
        return None if isinstance(steps, float) else steps.unsqueeze(2)


def _cube(value: Column) -> Column:
    """Return a column as ``(K, 1, 1)``."""
    return value if isinstance(value, float) else value.unsqueeze(2)


def orthogonalize(matrix: Tensor, n_steps: int, steps: Tensor | None = None) -> Tensor:
    r"""Return nearly :math:`UV^\top` of ``matrix = UΣV^T`` by Newton–Schulz iterations.

    Each iteration maps singular values by :math:`3.4445σ − 4.7750σ^3 + 2.0315σ^5`, which takes
    everything above about 0.01 of the norm to between 0.7 and 1.2. ``matrix`` is
    ``(K, out, in)``; ``steps`` gives each member its own number of iterations.
    """
    x: Tensor = matrix / torch.linalg.vector_norm(matrix, dim=(1, 2), keepdim=True).clamp_min(
        1e-30
    )
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.mT
    for i in range(n_steps):
        gram = x @ x.mT
        new = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
        x = new if steps is None else torch.where(steps > i, new, x)
    return x.mT if tall else x


_UPDATERS: dict[type[Optimizer], type[Updater]] = {
    SGD: SGDUpdater,
    RMSprop: RMSpropUpdater,
    Muon: MuonUpdater,
    LBFGS: Updater,  # never steps: SciPy moves the buffer
}


def make_updater(
    optimizers: Sequence[Optimizer], layout: Layout, sizes: Sequence[Sequence[int]], like: Tensor
) -> Updater:
    """Return the updater of a group's optimisers, which are all of one class."""
    kind = type(optimizers[0])
    family = AdamUpdater if issubclass(kind, Adam) else _UPDATERS[kind]
    updater = family(optimizers, layout, like)
    if isinstance(updater, MuonUpdater):
        updater.set_sizes(sizes, like)
    return updater
