"""One network's passes and steps, for whoever has a loss of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from lamina._checks import check_integer, check_real, shown
from lamina._errors import DataError, ParameterError
from lamina.nn import Network

from ._layers import Piece, layer_views, workspace
from ._optimizers import LBFGS, Optimizer, get_optimizer
from ._parameters import Layout
from ._passes import Program, backward, forward
from ._threads import one_thread
from ._update import make_updater

ALONE = 50_000_000
"""Multiply-adds of a layer from which a second thread pays.

It is less than for members of a stack, which have others to share the cores with.
"""


class NetworkEngine:
    r"""Forward, backward and step of one network on memory that is allocated once.

    Use it for a loss that couples the rows of a batch, or two networks, which the heads of
    `train` cannot say: take the raw outputs, give back the loss's derivative on them.

    .. math:: a = f_\theta(x), \qquad
              g = \sum_b \Big(\frac{\partial a_b}{\partial\theta}\Big)^{\!\top}
                  \frac{\partial E}{\partial a_b}, \qquad \theta \leftarrow \text{step}(\theta, g)

    Parameters
    ----------
    network : Network
        What to begin with; it is copied and stays as it is. Its precision and device are the
        engine's.
    max_rows : int
        Most rows of a batch.
    optimizer : str or Optimizer, default="adam"
        How the weights move; L-BFGS has no steps of its own.
    weight_decay : float, default=0.0
        λ: adds λW to the gradient of the weights, or shrinks them directly with AdamW and Muon.

    Attributes
    ----------
    n_steps : int
        Steps taken so far.
    theta, grad : Tensor of shape (1, P)
        Parameters and the gradient of the last backward pass, in one flat buffer each.

    Raises
    ------
    ParameterError
        If the network's output has an activation, or a parameter is not allowed.

    Examples
    --------
    >>> import torch
    >>> from lamina.nn import Network
    >>> engine = NetworkEngine(Network((2, 8, 1), "tanh", random_state=0), max_rows=4)
    >>> x = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    >>> before = float(engine.forward(x).square().sum())
    >>> for _ in range(50):
    ...     raw = engine.forward(x)
    ...     engine.backward(2 * raw)
    ...     engine.step(0.01)
    >>> float(engine.forward(x).square().sum()) < before / 10
    True
    """

    def __init__(
        self,
        network: Network,
        max_rows: int,
        *,
        optimizer: str | Optimizer = "adam",
        weight_decay: float = 0.0,
    ) -> None:
        self._optimizer = get_optimizer(optimizer)
        if isinstance(self._optimizer, LBFGS):
            raise ParameterError(
                "optimizer must be one that takes steps. Got 'lbfgs'. Use 'adam'."
            )
        if network.activations[-1].name != "identity":
            raise ParameterError(
                "network must have raw outputs, without an activation. "
                f"Got {shown(network.activations[-1].spec)}."
            )
        self.max_rows = check_integer("max_rows", max_rows, 1)
        self._decay = check_real("weight_decay", weight_decay, 0.0)
        self._activations = network.activations
        hidden = network.activations[:-1]
        layout = self._layout = Layout(network.sizes, [a.learned for a in hidden])
        like = network.weights[0]
        self.theta = torch.zeros(1, layout.n_total, dtype=network.dtype, device=like.device)
        slopes = [slope for slope in network.slopes if slope is not None]
        with torch.no_grad():
            for block, values in zip(
                layout.blocks, [*network.weights, *network.biases, *slopes], strict=True
            ):
                block.view(self.theta)[0].copy_(values.reshape(block.shape))
        self.grad = torch.zeros_like(self.theta)
        pieces = [[Piece(0, 1, activation)] for activation in hidden]
        views = layer_views(layout, self.theta, self.grad)
        self._program = Program(views, pieces, [None] * len(hidden), None)
        self._space = workspace(layout.sizes, pieces, 1, self.max_rows, False, self.theta)
        self._updater = make_updater(self._optimizer, layout, [network.sizes], self.theta)
        self._moments = [torch.zeros_like(self.theta) for _ in range(self._updater.n_moments)]
        self._cuts = {self.max_rows: self._space}
        self._x: Tensor | None = None
        self.n_steps = 0

    def forward(self, x: Tensor) -> Tensor:
        """Return the raw outputs of a batch, in memory that the next call uses again.

        Parameters
        ----------
        x : Tensor of shape (B, D)
            At most ``max_rows`` rows, in the network's dtype.

        Returns
        -------
        Tensor of shape (B, Q)
        """
        n = len(x)
        if x.ndim != 2 or x.shape[1] != self._layout.sizes[0] or not 1 <= n <= self.max_rows:
            raise DataError(
                f"x must have shape (B, {self._layout.sizes[0]}) with B from 1 to "
                f"{self.max_rows}. Got {tuple(x.shape)}."
            )
        if n not in self._cuts:
            self._cuts[n] = self._space.rows(n)
        self._x = x.unsqueeze(0)
        return forward(self._program, self._x, self._cuts[n], None)[0]

    def backward(self, delta: Tensor) -> None:
        """Fill ``grad`` from the loss's derivative on the outputs of the last forward pass.

        Parameters
        ----------
        delta : Tensor of shape (B, Q)
            One row for each row of the batch.
        """
        if self._x is None or len(delta) != self._x.shape[1]:
            rows = 0 if self._x is None else self._x.shape[1]
            raise DataError(
                f"delta must have a row for each of the {rows} rows of the last forward pass. "
                f"Got {len(delta)}."
            )
        space = self._cuts[len(delta)]
        space.delta[-1][0].copy_(delta)
        backward(self._program, self._x, space)

    def step(self, learning_rate: float) -> None:
        """Move the parameters by the optimiser and the gradient of the last backward pass."""
        self.n_steps += 1
        rates = np.array([learning_rate], dtype=np.float64)
        corrected = self._updater.rates(rates, np.array([float(self.n_steps)]))
        weights = self.theta[:, : self._layout.n_weights]
        if self._decay and self._optimizer.decoupled:
            self._updater.shrink(weights, float(learning_rate) * self._decay)
        elif self._decay:
            self.grad[:, : self._layout.n_weights].add_(weights, alpha=self._decay)
        self._updater.step(
            self.theta, self.grad, self._moments, float(corrected[0]), float(learning_rate)
        )

    def resume(self, other: NetworkEngine) -> None:
        """Go on from the parameters, the moments and the step of an engine of equal layers."""
        self.theta.copy_(other.theta)
        for own, its in zip(self._moments, other._moments, strict=True):
            own.copy_(its)
        self.n_steps = other.n_steps

    def network(self) -> Network:
        """Return a network with a copy of the parameters as they are now."""
        parts: dict[str, list[Tensor]] = {"weight": [], "bias": [], "slope": []}
        slopes: list[Tensor | None] = [None] * len(self._activations)
        for block in self._layout.blocks:
            values = block.view(self.theta)[0].clone()
            parts[block.kind].append(values)
            if block.kind == "slope":
                slopes[block.layer] = values
        return Network.from_arrays(
            list(zip(parts["weight"], parts["bias"], strict=True)),
            self._activations[:-1] or "identity",
            slopes=slopes,
        )

    @contextmanager
    def threads(self) -> Iterator[None]:
        """Use one thread within the block where a second one is not worth its risk."""
        with one_thread(self.largest_product < ALONE):
            yield

    @property
    def largest_product(self) -> int:
        """Multiply-adds of the largest matrix product of a step."""
        return max(self.max_rows * a * b for a, b in pairwise(self._layout.sizes))
