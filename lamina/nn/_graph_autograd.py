"""A graph as one operation of autograd, which can be differentiated more than once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ._graph_passes import GraphParameters, make_buffers, run_backward, run_forward
from ._graph_plan import Bags, Level, LevelPlan


class GraphFunction(torch.autograd.Function):
    """The passes that are written out; derivatives of their derivative are left to autograd."""

    @staticmethod
    def forward(
        ctx: Any, plan: LevelPlan, x: Tensor, weights: Tensor, biases: Tensor, slopes: Tensor
    ) -> Tensor:
        """Return the outputs (B, Q) of rows (B, D)."""
        needed = any(ctx.needs_input_grad)
        buffers = make_buffers(plan, len(x), weights, dropout=False, backward=needed)
        outputs = run_forward(plan, GraphParameters(weights, biases, slopes), buffers, x)
        ctx.plan, ctx.buffers = plan, buffers
        ctx.save_for_backward(x, weights, biases, slopes)
        # A copy, since nobody may write to a view of what was made in here.
        return outputs.T.clone(memory_format=torch.contiguous_format)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        """Return the derivative on everything that went in."""
        if torch.is_grad_enabled():  # with create_graph=True
            return None, *_differentiable(ctx, gradient)
        _, *saved = ctx.saved_tensors
        parameters = GraphParameters(*saved)
        gradients = GraphParameters(*(torch.empty_like(p) for p in parameters))
        wanted = ctx.needs_input_grad[1]
        run_backward(ctx.plan, parameters, ctx.buffers, gradient.T, gradients, to_inputs=wanted)
        n_inputs = ctx.plan.levels[0].stop
        to_x = ctx.buffers.delta[:n_inputs].T.clone() if wanted else None
        return None, to_x, *gradients


def _differentiable(ctx: Any, gradient: Tensor) -> list[Tensor | None]:
    """Return the same derivatives as functions of all that went in and of ``gradient``."""
    # Other tensors than those that went in: x may itself depend on the parameters.
    own = [tensor.view_as(tensor) for tensor in ctx.saved_tensors]
    needed = ctx.needs_input_grad[1:]
    outputs = _plain_forward(ctx.plan, own[0], GraphParameters(*own[1:]))
    found = iter(
        torch.autograd.grad(
            outputs,
            [tensor for tensor, wanted in zip(own, needed, strict=True) if wanted],
            gradient,
            create_graph=True,
            materialize_grads=True,
        )
    )
    return [next(found) if wanted else None for wanted in needed]


def _plain_forward(plan: LevelPlan, x: Tensor, parameters: GraphParameters) -> Tensor:
    """Return the outputs (B, Q) by operations that autograd knows, one level after another."""
    n_inputs, values = x.shape[1], x.T
    for level in plan.levels[1:]:
        bias = parameters.biases[level.start - n_inputs : level.stop - n_inputs]
        a = _sums(level, parameters.weights, values) + bias.unsqueeze(1)
        parts = []
        for piece in level.pieces:
            n = piece.stop - piece.start
            learned = piece.activation.learned
            slope = parameters.slopes[piece.slope :][:n].unsqueeze(1) if learned else None
            parts.append(piece.activation.forward(a[piece.start - level.start :][:n], slope))
        values = torch.cat([values, *parts])
    return values[plan.outputs].T


def _sums(level: Level, weights: Tensor, values: Tensor) -> Tensor:
    """Return Σ w·h of all units of a level, (n, B)."""
    n_single = (level.blocks[0].start if level.blocks else level.stop) - level.start
    parts = [_bag_sums(level.bags, n_single, weights, values)]
    for block in level.blocks:
        W = weights[block.first :][: block.shape[0] * block.shape[1]].view(block.shape)
        parts.append(W @ values[block.parents])
    return torch.cat(parts)


def _bag_sums(bags: Bags | None, n: int, weights: Tensor, values: Tensor) -> Tensor:
    """Return the weighted sums over the rows of each bag, (n, B)."""
    zeros = values.new_zeros(n, values.shape[1])
    if bags is None:
        return zeros
    counts = torch.diff(bags.offsets[:n], append=bags.offsets.new_tensor([len(bags.rows)]))
    owners = torch.repeat_interleave(counts)
    terms = weights[bags.first : bags.last].unsqueeze(1) * values[bags.rows]
    return zeros.index_add(0, owners, terms)
