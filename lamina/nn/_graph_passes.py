r"""Forward and backward through a graph, level by level on one buffer, written out.

With the values of all units as rows of one matrix, each level computes

.. math::

   a_u = b_u + \sum_{p} w_{up} h_p, \qquad h_u = f_u(a_u)

for all of its units at once; backward the levels come in reverse order,

.. math::

   \delta_u = f_u'(a_u) \Big(\frac{\partial E}{\partial h_u}
   + \sum_{c} w_{cu}\, \delta_c\Big), \qquad
   \frac{\partial E}{\partial w_{up}} = \sum_b \delta_{ub} h_{pb}, \qquad
   \frac{\partial E}{\partial b_u} = \sum_b \delta_{ub},

where p are the parents and c the children of unit u, and b counts rows of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ._graph_plan import Bags, Block, Level, LevelPlan, Piece


class GraphParameters(NamedTuple):
    """Parameters of a graph, or their gradients, in the order of evaluation.

    Attributes
    ----------
    weights : Tensor of shape (n_edges,)
        One weight for each edge.
    biases : Tensor of shape (n_units,)
        One for each unit that is no input.
    slopes : Tensor of shape (n_slopes,)
        One for each unit with a learned slope.

    Examples
    --------
    >>> from lamina.nn import GraphNetwork
    >>> GraphNetwork({"y": ["a", "b"]}, weights={"y": [2.0, -1.0]}).graph_parameters()[0]
    tensor([ 2., -1.], dtype=torch.float64)
    """

    weights: Tensor
    biases: Tensor
    slopes: Tensor


@dataclass
class GraphBuffers:
    """Memory for the units of one batch; a row a unit, inputs first, a column a row of data.

    Attributes
    ----------
    before, after : Tensor of shape (n, B)
        Pre-activations and values; the same memory where no derivative needs the former.
    fed : Tensor of shape (n, B)
        What children receive: ``after`` itself, or after dropout.
    delta : Tensor of shape (n, B)
        The derivative of the error on values, then on pre-activations.
    """

    before: Tensor
    after: Tensor
    fed: Tensor
    delta: Tensor

    def rows(self, n_rows: int) -> GraphBuffers:
        """Return memory for fewer rows of data within this one."""
        memo = {
            id(t): t.view(-1)[: len(t) * n_rows].view(len(t), n_rows)
            for t in (self.before, self.after, self.fed, self.delta)
        }
        return GraphBuffers(
            *(memo[id(t)] for t in (self.before, self.after, self.fed, self.delta))
        )


def make_buffers(
    plan: LevelPlan, n_rows: int, like: Tensor, *, dropout: bool, backward: bool
) -> GraphBuffers:
    """Return buffers for ``n_rows`` rows of data."""
    n = len(plan.units)
    after = like.new_empty(n, n_rows)
    needed = any(
        piece.activation.saves == "input" for level in plan.levels for piece in level.pieces
    )
    return GraphBuffers(
        before=like.new_empty(n, n_rows) if needed and backward else after,
        after=after,
        fed=like.new_empty(n, n_rows) if dropout else after,
        delta=like.new_empty(n if backward else 0, n_rows),
    )


def run_forward(
    plan: LevelPlan,
    parameters: GraphParameters,
    buffers: GraphBuffers,
    x: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Compute all units of a batch ``x (B, D)``; return the outputs (Q, B).

    ``mask (n, B)`` is what values are multiplied by before other units receive them.
    """
    n_inputs = x.shape[1]
    before, after = buffers.before, buffers.after
    fed = after if mask is None else buffers.fed
    after[:n_inputs] = x.T
    if fed is not after:
        fed[:n_inputs] = x.T
    biases = parameters.biases.unsqueeze(1)
    for level in plan.levels[1:]:
        single = slice(level.start, level.blocks[0].start if level.blocks else level.stop)
        bias = biases[single.start - n_inputs : single.stop - n_inputs]
        if level.bags is None:
            before[single] = bias
        else:
            sums = _weighted_sums(fed, level.bags, parameters.weights)
            torch.add(sums, bias, out=before[single])
        for block in level.blocks:
            W = parameters.weights[block.first :][: block.shape[0] * block.shape[1]]
            here = slice(block.start - n_inputs, block.stop - n_inputs)
            source, out = fed[block.parents], before[block.start : block.stop]
            torch.addmm(biases[here], W.view(block.shape), source, out=out)
        for piece in level.pieces:
            here = slice(piece.start, piece.stop)
            own = _slope(parameters.slopes, piece) if piece.activation.learned else None
            piece.activation.forward(before[here], own, out=after[here])
        if mask is not None:
            here = slice(level.start, level.stop)
            torch.mul(after[here], mask[here], out=fed[here])
    return after.index_select(0, plan.outputs)


def run_backward(
    plan: LevelPlan,
    parameters: GraphParameters,
    buffers: GraphBuffers,
    outputs: Tensor,
    gradients: GraphParameters,
    mask: Tensor | None = None,
    *,
    to_inputs: bool = False,
) -> None:
    """Fill ``gradients`` from the derivative on the outputs (Q, B).

    With ``to_inputs`` the first rows of ``buffers.delta`` are the derivative on the inputs.
    """
    delta = buffers.delta
    fed = buffers.after if mask is None else buffers.fed
    delta.zero_()
    delta.index_copy_(0, plan.outputs, outputs)
    back_weights = parameters.weights[: plan.n_bag_edges].index_select(0, plan.to_back)
    for level in reversed(plan.levels[0 if to_inputs else 1 :]):
        here = slice(level.start, level.stop)
        if level.back is not None:
            delta[here] += _weighted_sums(delta, level.back, back_weights)
        if not level.pieces:
            continue
        if mask is not None:
            delta[here] *= mask[here]
        _pull_back(level, parameters, buffers, gradients)
        for block in level.blocks:
            _block_back(block, parameters, delta, fed, gradients)
    n_inputs = plan.levels[0].stop
    torch.sum(delta[n_inputs:], dim=1, out=gradients.biases)
    if plan.n_bag_edges:
        bags = plan.all_bags
        # For each edge the product of its unit's δ and its parent's value, without a copy of both.
        products = torch.ops.aten._embedding_bag_per_sample_weights_backward(
            delta, fed, bags.rows, bags.offsets, bags.offsets, 0, -1
        )
        gradients.weights[: plan.n_bag_edges] = products


def _weighted_sums(values: Tensor, bags: Bags, weights: Tensor) -> Tensor:
    """Return Σ w·values over the rows of each bag, (n_sums, B)."""
    here = weights[bags.first : bags.last]
    return torch.embedding_bag(values, bags.rows, bags.offsets, False, 0, False, here)[0]


def _slope(slopes: Tensor, piece: Piece) -> Tensor:
    """Return the slopes of a piece's units as a column."""
    return slopes[piece.slope : piece.slope + piece.stop - piece.start].unsqueeze(1)


def _pull_back(
    level: Level, parameters: GraphParameters, buffers: GraphBuffers, gradients: GraphParameters
) -> None:
    """Multiply δ of a level by f'(a), and take the gradient of learned slopes."""
    for piece in level.pieces:
        here = slice(piece.start, piece.stop)
        delta, a, h = buffers.delta[here], buffers.before[here], buffers.after[here]
        if not piece.activation.learned:
            piece.activation.backward_(delta, a, h)
            continue
        to_slopes = piece.activation.slope_gradient(delta, a).sum(dim=1, keepdim=True)
        _slope(gradients.slopes, piece).copy_(to_slopes)
        piece.activation.backward_(delta, a, h, _slope(parameters.slopes, piece))


def _block_back(
    block: Block,
    parameters: GraphParameters,
    deltas: Tensor,
    fed: Tensor,
    gradients: GraphParameters,
) -> None:
    """Take the gradient of a block's weights, and send its δ on to the parents."""
    n = block.shape[0] * block.shape[1]
    W = parameters.weights[block.first : block.first + n].view(block.shape)
    out = gradients.weights[block.first : block.first + n].view(block.shape)
    delta = deltas[block.start : block.stop]
    torch.mm(delta, fed[block.parents].T, out=out)
    if isinstance(block.parents, slice):
        deltas[block.parents].addmm_(W.T, delta)
    else:
        deltas.index_add_(0, block.parents, W.T @ delta)
