"""One step of each optimiser on a group's flat buffers.

What differs between members, such as the learning rate, is a column ``(K, 1)``; a member alone
has a ``float`` in its place, which is quicker. A stack always has columns, also where its
members agree: the two round differently, and a member's bits must not depend on whether its
neighbours happen to have the same rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from lamina._typing import FloatArray

from ._optimizers import LBFGS, SGD, Adam, AdamW, Muon, Optimizer, RMSprop
from ._parameters import Layout, aligned_empty

Column: TypeAlias = float | Tensor


def column(values: Sequence[float] | FloatArray, like: Tensor) -> Column:
    """Return the number of a member alone, or a tensor ``(K, 1)`` for a stack."""
    array = np.asarray(values, dtype=np.float64)
    if len(array) == 1:
        return float(array[0])
    return torch.as_tensor(array, dtype=like.dtype, device=like.device).unsqueeze(1)


def add_scaled_(target: Tensor, source: Tensor, scale: Column) -> None:
    """Compute target += scale · source in place."""
    if isinstance(scale, float):
        target.add_(source, alpha=scale)
    else:
        target.addcmul_(source, scale)


def bias_correction(beta_1: float, beta_2: float, t: FloatArray) -> FloatArray:
    """Return √(1 − β₂ᵗ)/(1 − β₁ᵗ) for steps t from 1."""
    factor: FloatArray = np.sqrt(1 - beta_2**t) / (1 - beta_1**t)
    return factor


class Updater:
    """Moves a group's parameters; one for each kind of optimiser.

    Parameters
    ----------
    optimizer : Optimizer
        Settings, shared by the members of the group.
    layout : Layout
        Places of the blocks.
    sizes : sequence of sequence of int
        The members' true layer sizes.
    like : Tensor of shape (K, P)
        The parameters; gives dtype and device.
    """

    n_moments = 0

    def __init__(
        self,
        optimizer: Optimizer,
        layout: Layout,
        sizes: Sequence[Sequence[int]],
        like: Tensor,
    ) -> None:
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

    def shrink(self, weights: Tensor, share: Column) -> None:
        """Take ``share`` off the weights, the first columns of the buffer: decoupled decay."""
        weights.mul_(1.0 - share)


class SGDUpdater(Updater):
    """Momentum: v ← μv − ηg."""

    n_moments = 1

    def __init__(
        self, optimizer: SGD, layout: Layout, sizes: Sequence[Sequence[int]], like: Tensor
    ) -> None:
        super().__init__(optimizer, layout, sizes, like)
        self.momentum, self.nesterov = optimizer.momentum, optimizer.nesterov

    def step(
        self, theta: Tensor, grad: Tensor, moments: list[Tensor], rate: Column, plain: Column
    ) -> None:
        """Move by the velocity, or by the look-ahead of Nesterov."""
        (velocity,) = moments
        velocity.mul_(self.momentum)
        add_scaled_(velocity, grad, -rate)
        if self.nesterov:
            theta.add_(velocity, alpha=self.momentum)
            add_scaled_(theta, grad, -rate)
        else:
            theta.add_(velocity)


class AdamUpdater(Updater):
    """Adam and AdamW: running means of the gradient and of its square."""

    n_moments = 2

    def __init__(
        self, optimizer: Adam | Muon, layout: Layout, sizes: Sequence[Sequence[int]], like: Tensor
    ) -> None:
        super().__init__(optimizer, layout, sizes, like)
        self.beta_1, self.beta_2 = optimizer.beta_1, optimizer.beta_2
        self.epsilon = optimizer.epsilon

    def rates(self, rates: FloatArray, steps: FloatArray) -> FloatArray:
        """Correct for the zeros with which the running means began."""
        return rates * bias_correction(self.beta_1, self.beta_2, steps)

    def step(
        self, theta: Tensor, grad: Tensor, moments: list[Tensor], rate: Column, plain: Column
    ) -> None:
        """Move by m/(√s + ε)."""
        self._adam(theta, grad, moments, self.scratch, rate)

    def _adam(
        self, theta: Tensor, grad: Tensor, moments: list[Tensor], tmp: Tensor, rate: Column
    ) -> None:
        mean, square = moments
        mean.lerp_(grad, 1 - self.beta_1)
        square.mul_(self.beta_2).addcmul_(grad, grad, value=1 - self.beta_2)
        torch.sqrt(square, out=tmp).add_(self.epsilon)
        if isinstance(rate, float):
            theta.addcdiv_(mean, tmp, value=-rate)
        else:
            torch.div(mean, tmp, out=tmp)
            theta.addcmul_(tmp, -rate)


class RMSpropUpdater(Updater):
    """Steps divided by the running root mean square of the gradient."""

    n_moments = 2

    def __init__(
        self, optimizer: RMSprop, layout: Layout, sizes: Sequence[Sequence[int]], like: Tensor
    ) -> None:
        super().__init__(optimizer, layout, sizes, like)
        self.rho, self.momentum = optimizer.rho, optimizer.momentum
        self.epsilon = optimizer.epsilon

    def step(
        self, theta: Tensor, grad: Tensor, moments: list[Tensor], rate: Column, plain: Column
    ) -> None:
        """Move by the momentum of g/(√s + ε)."""
        square, velocity = moments
        square.mul_(self.rho).addcmul_(grad, grad, value=1 - self.rho)
        torch.sqrt(square, out=self.scratch).add_(self.epsilon)
        velocity.mul_(self.momentum).addcdiv_(grad, self.scratch)
        add_scaled_(theta, velocity, -rate)


class MuonUpdater(AdamUpdater):
    """Orthogonalised momentum for all weight matrices but the last; AdamW for the rest."""

    n_moments = 2

    def __init__(
        self, optimizer: Muon, layout: Layout, sizes: Sequence[Sequence[int]], like: Tensor
    ) -> None:
        super().__init__(optimizer, layout, sizes, like)
        self.optimizer = optimizer
        self.matrices = [layout.find("weight", i) for i in range(layout.n_layers - 1)]
        self.split = layout.find("weight", layout.n_layers - 1).start
        # √max(1, out/in) of each member's true matrices, (K, 1, 1)
        self.scales = [
            like.new_tensor([max(1.0, s[i + 1] / s[i]) ** 0.5 for s in sizes])[:, None, None]
            for i in range(len(self.matrices))
        ]

    def rates(self, rates: FloatArray, steps: FloatArray) -> FloatArray:
        """Return AdamW's corrected rates; Muon itself uses the plain ones."""
        return super().rates(rates * self.optimizer.adamw_ratio, steps)

    def step(
        self, theta: Tensor, grad: Tensor, moments: list[Tensor], rate: Column, plain: Column
    ) -> None:
        """Move hidden matrices by Muon, everything behind them in the buffer by AdamW."""
        tail, tail_grad, tail_scratch, *tail_moments = (
            t[:, self.split :] for t in (theta, grad, self.scratch, *moments)
        )
        self._adam(tail, tail_grad, tail_moments, tail_scratch, rate)
        for block, scale in zip(self.matrices, self.scales, strict=True):
            weight, gradient, momentum = (block.view(t) for t in (theta, grad, moments[0]))
            self._orthogonal_step(weight, gradient, momentum, scale, _cube(plain))

    def shrink(self, weights: Tensor, share: Column) -> None:
        """Take less off the output layer, whose learning rate is smaller."""
        weights[:, : self.split].mul_(1.0 - share)
        weights[:, self.split :].mul_(1.0 - self.optimizer.adamw_ratio * share)

    def _orthogonal_step(
        self, weight: Tensor, grad: Tensor, momentum: Tensor, scale: Tensor, rate: Column
    ) -> None:
        momentum.mul_(self.optimizer.momentum).add_(grad)
        ahead = momentum
        if self.optimizer.nesterov:
            ahead = grad + self.optimizer.momentum * momentum
        direction = orthogonalize(ahead, self.optimizer.n_steps)
        add_scaled_(weight, direction.mul_(scale), -rate)


def _cube(value: Column) -> Column:
    """Return a column as ``(K, 1, 1)``."""
    return value if isinstance(value, float) else value.unsqueeze(2)


def orthogonalize(matrix: Tensor, n_steps: int) -> Tensor:
    r"""Return nearly :math:`UV^\top` of ``matrix = UΣV^T`` by Newton–Schulz iterations.

    Each iteration maps singular values by :math:`3.4445σ − 4.7750σ^3 + 2.0315σ^5`, which takes
    everything above about 0.01 of the norm to between 0.68 and 1.14. ``matrix`` is
    ``(K, out, in)``.
    """
    tall = matrix.shape[1] > matrix.shape[2]
    source = matrix.mT if tall else matrix
    k, short, long = source.shape
    # Aligned, so that a member's bits do not depend on its place in the stack.
    x, other = (aligned_empty(k, short, long, matrix) for _ in range(2))
    gram, poly = (aligned_empty(k, short, short, matrix) for _ in range(2))
    # The largest entry first: squares of tiny or huge gradients are no float32.
    torch.div(source, source.abs().amax((1, 2), keepdim=True).clamp_min(1e-38), out=x)
    x.div_(torch.linalg.vector_norm(x, dim=(1, 2), keepdim=True).clamp_min(1e-30))
    for _ in range(n_steps):
        torch.bmm(x, x.mT, out=gram)
        torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315, out=poly)
        torch.baddbmm(x, poly, x, beta=3.4445, out=other)
        x, other = other, x
    return x.mT if tall else x


_UPDATERS: dict[type[Optimizer], type[Updater]] = {
    SGD: SGDUpdater,
    Adam: AdamUpdater,
    AdamW: AdamUpdater,
    RMSprop: RMSpropUpdater,
    Muon: MuonUpdater,
    LBFGS: Updater,
}


def make_updater(
    optimizer: Optimizer, layout: Layout, sizes: Sequence[Sequence[int]], like: Tensor
) -> Updater:
    """Return what moves a group by an optimiser; L-BFGS is moved by SciPy and has no moments."""
    return _UPDATERS[type(optimizer)](optimizer, layout, sizes, like)
