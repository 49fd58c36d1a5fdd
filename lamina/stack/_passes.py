r"""Forward and backward through a group's layers, written out.

With h⁰ = x and one activation f per layer and member,

.. math::

   a^l &= h^{l-1} W^{l\top} + b^l, \qquad h^l = f(a^l) \\
   \delta^{l-1} &= (\delta^l W^l) \odot f'(a^{l-1}), \qquad
   \partial E/\partial W^l = \delta^{l\top} h^{l-1}, \qquad
   \partial E/\partial b^l = \textstyle\sum_b \delta^l_b

for all K members at once by batched matrix products, in place on preallocated memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ._dropout import DropoutPlan
from ._layers import Layer, Piece, Workspace, workspace


@dataclass(frozen=True)
class Program:
    """A group's layers with what is needed to run them.

    ``hidden`` are the activation slices of each hidden layer, ``unit_masks`` the masks of
    padded units where they are needed. The last ``n_shared`` raw outputs do not depend on the
    inputs: the weights into them stay zero.
    """

    layers: list[Layer]
    hidden: list[list[Piece]]
    unit_masks: list[Tensor | None]
    dropout: DropoutPlan | None
    n_shared: int = 0

    def workspace(self, batch: int, *, training: bool) -> Workspace:
        """Allocate working memory for batches of at most ``batch`` rows."""
        like = self.layers[0].weight
        sizes = (like.shape[2], *(layer.weight.shape[1] for layer in self.layers))
        dropout = training and self.dropout is not None
        return workspace(sizes, self.hidden, len(like), batch, dropout, like)

    def forward(self, x: Tensor, space: Workspace, step: int | None) -> Tensor:
        """Return `forward` of this program."""
        return forward(self, x, space, step)

    def backward(self, x: Tensor, space: Workspace) -> None:
        """Do `backward` with this program."""
        backward(self, x, space)


def forward(program: Program, x: Tensor, space: Workspace, step: int | None) -> Tensor:
    """Return the raw outputs ``(K, B, Q)`` of a batch ``x (K, B, D)``.

    ``step`` is the number of the training step, which fixes the dropout masks; None means
    prediction, without dropout.
    """
    h = x
    for i, pieces in enumerate(program.hidden):
        layer = program.layers[i]
        a, after = space.before[i], space.after[i]
        torch.baddbmm(layer.bias, h, layer.weight_t, out=a)
        _activate(pieces, layer.slope, a, after)
        mask = program.unit_masks[i]
        if mask is not None:
            after.mul_(mask)
        h = after
        if program.dropout is not None and step is not None:
            program.dropout.fill_mask(space.masks[i], step, i)
            h = torch.mul(after, space.masks[i], out=space.fed[i])
    last = program.layers[-1]
    return torch.baddbmm(last.bias, h, last.weight_t, out=space.before[-1])


def backward(program: Program, x: Tensor, space: Workspace) -> None:
    """Fill the gradient buffers from ``space.delta[-1]``, the derivative on the raw outputs."""
    for i in range(len(program.layers) - 1, -1, -1):
        layer, delta = program.layers[i], space.delta[i]
        fed = x if i == 0 else space.fed[i - 1]
        torch.bmm(delta.mT, fed, out=layer.weight_grad)
        torch.sum(delta, dim=1, out=layer.bias_grad)
        if program.n_shared and i == len(program.layers) - 1:
            layer.weight_grad[:, -program.n_shared :].zero_()
        if i == 0:
            return
        below = torch.bmm(delta, layer.weight, out=space.delta[i - 1])
        if program.dropout is not None:
            below.mul_(space.masks[i - 1])
        _pull_back(program, i - 1, below, space)


def _pull_back(program: Program, i: int, delta: Tensor, space: Workspace) -> None:
    """Multiply δ of hidden layer i by f'(a), and take the gradient of learned slopes."""
    layer, a, h = program.layers[i], space.before[i], space.after[i]
    pieces = program.hidden[i]
    if len(pieces) == 1 and layer.slope is None:
        pieces[0].activation.backward_(delta, a, h)
        return
    for piece in pieces:
        here = slice(piece.start, piece.stop)
        part, a_part, h_part = delta[here], a[here], h[here]
        if layer.slope is None or layer.slope_grad is None:
            piece.activation.backward_(part, a_part, h_part)
        else:
            layer.slope_grad[here] = piece.activation.slope_gradient(part, a_part).sum(dim=1)
            piece.activation.backward_(part, a_part, h_part, layer.slope[here])


def _activate(pieces: list[Piece], slope: Tensor | None, a: Tensor, out: Tensor) -> None:
    """Write f(a) of each slice's activation into ``out``, which may be ``a``."""
    if len(pieces) == 1 and slope is None:
        pieces[0].activation.forward(a, out=out)
        return
    for piece in pieces:
        here = slice(piece.start, piece.stop)
        part = None if slope is None else slope[here]
        piece.activation.forward(a[here], part, out=out[here])
