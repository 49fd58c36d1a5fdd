"""Views of a group's layers, and the working memory of one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from lamina.nn import Activation

from ._parameters import Layout, aligned_empty
from ._task import Task


@dataclass(frozen=True)
class Piece:
    """A contiguous slice of members that share one activation."""

    start: int
    stop: int
    activation: Activation


@dataclass(frozen=True)
class Layer:
    """Views of one layer's parameters and of their gradients."""

    weight: Tensor  # (K, out, in)
    weight_t: Tensor  # (K, in, out)
    bias: Tensor  # (K, 1, out)
    slope: Tensor | None  # (K, 1, out)
    weight_grad: Tensor
    bias_grad: Tensor  # (K, out)
    slope_grad: Tensor | None  # (K, out)


def layer_views(layout: Layout, theta: Tensor, grad: Tensor) -> list[Layer]:
    """Return the layers of a group as views of its flat buffers."""
    layers = []
    for i in range(layout.n_layers):
        weight, bias = layout.find("weight", i), layout.find("bias", i)
        learns = i < len(layout.learned) and layout.learned[i]
        slope = layout.find("slope", i) if learns else None
        w = weight.view(theta)
        layers.append(
            Layer(
                weight=w,
                weight_t=w.mT,
                bias=bias.view(theta).unsqueeze(1),
                slope=slope.view(theta).unsqueeze(1) if slope else None,
                weight_grad=weight.view(grad),
                bias_grad=bias.view(grad),
                slope_grad=slope.view(grad) if slope else None,
            )
        )
    return layers


def pieces_of(tasks: list[Task], layer: int) -> list[Piece]:
    """Return the slices of equal activation in one hidden layer."""
    pieces: list[Piece] = []
    for k, task in enumerate(tasks):
        activation = task.member.activations[layer]
        if pieces and pieces[-1].activation == activation:
            pieces[-1] = Piece(pieces[-1].start, k + 1, activation)
        else:
            pieces.append(Piece(k, k + 1, activation))
    return pieces


def unit_mask(tasks: list[Task], width: int, layer: int, like: Tensor) -> Tensor | None:
    """Return ``(K, 1, H)`` ones for true units, or None where padding is harmless.

    A padded unit has zero weights; it must be masked only where f(0) is not 0.
    """
    narrow = any(task.sizes[layer + 1] < width for task in tasks)
    if not narrow or all(task.member.activations[layer].at_zero == 0 for task in tasks):
        return None
    mask = torch.zeros(len(tasks), 1, width, dtype=like.dtype, device=like.device)
    for k, task in enumerate(tasks):
        mask[k, 0, : task.sizes[layer + 1]] = 1
    return mask


@dataclass
class Workspace:
    """Preallocated memory for the units of one batch, for K members and B rows.

    ``before`` holds pre-activations a, ``after`` activations h (the same memory where the
    derivative can be had from h), ``fed`` what the next layer receives (after dropout), and
    ``delta`` the derivative of the objective on the pre-activations.
    """

    before: list[Tensor] = field(default_factory=list)
    after: list[Tensor] = field(default_factory=list)
    fed: list[Tensor] = field(default_factory=list)
    masks: list[Tensor] = field(default_factory=list)
    delta: list[Tensor] = field(default_factory=list)

    def rows(self, n: int) -> Workspace:
        """Return views on the first ``n`` rows."""
        cut = Workspace()
        memo: dict[int, Tensor] = {}
        for name in ("before", "after", "fed", "masks", "delta"):
            for tensor in getattr(self, name):
                view = memo.setdefault(id(tensor), tensor[:, :n])
                getattr(cut, name).append(view)
        return cut


def workspace(
    sizes: Sequence[int],
    hidden: list[list[Piece]],
    k: int,
    batch: int,
    dropout: bool,
    like: Tensor,
) -> Workspace:
    """Allocate the working memory of a group for batches of at most ``batch`` rows."""
    space = Workspace()
    for width, pieces in zip(sizes[1:-1], hidden, strict=True):
        a = aligned_empty(k, batch, width, like)
        in_place = all(piece.activation.saves == "output" for piece in pieces)
        h = a if in_place else aligned_empty(k, batch, width, like)
        space.before.append(a)
        space.after.append(h)
        space.fed.append(aligned_empty(k, batch, width, like) if dropout else h)
        if dropout:
            space.masks.append(aligned_empty(k, batch, width, like))
        space.delta.append(aligned_empty(k, batch, width, like))
    space.before.append(aligned_empty(k, batch, sizes[-1], like))
    space.delta.append(aligned_empty(k, batch, sizes[-1], like))
    return space
