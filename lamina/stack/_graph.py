"""Forward and backward through a group whose one member is a graph of units.

The group has the same flat buffers and the same steps as one of layers; only what computes the
raw outputs and the gradient is the graph's own engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lamina._checks import shown
from lamina._columns import named_table
from lamina._errors import DataError
from lamina.nn import GraphBuffers, GraphEngine, GraphNetwork, GraphParameters

from ._dropout import DropoutPlan
from ._member import Member
from ._parameters import Layout, aligned_empty


def check_columns(members: Sequence[Member], X: Any) -> None:
    """Refuse a table whose columns are not a graph's inputs in their order, as X is read."""
    table = named_table(X)
    if table is None:
        return
    for i, member in enumerate(members):
        wanted = member.init.inputs if isinstance(member.init, GraphNetwork) else None
        if wanted is not None and tuple(table.columns) != wanted:
            raise DataError(
                f"X must have the inputs of members[{i}].init, {shown(wanted)}, as its columns in "
                f"this order. Got {shown(table.columns)}. Give X.to_numpy() to take them by "
                "position."
            )


@dataclass
class GraphSpace:
    """Preallocated memory for the units of one batch.

    ``delta`` holds the derivative of the objective on the raw outputs, (1, B, Q), and ``drawn``
    the dropout masks of the hidden units, (1, B, H); ``mask`` has them where the units are, and
    ``used`` is the mask of the last forward pass.
    """

    buffers: GraphBuffers
    delta: list[Tensor]
    mask: Tensor | None
    drawn: Tensor | None
    used: Tensor | None = None

    def rows(self, n: int) -> GraphSpace:
        """Return memory for the first ``n`` rows within this one."""
        # Not within the other mask, whose rows of ones would be elsewhere.
        mask = None if self.mask is None else torch.ones_like(self.mask[:, :n])
        drawn = None if self.drawn is None else self.drawn[:, :n]
        return GraphSpace(self.buffers.rows(n), [self.delta[0][:, :n]], mask, drawn)


class GraphProgram:
    """A graph with views of its parameters, and what is needed to run them.

    Parameters
    ----------
    graph : GraphNetwork
        The graph; its own parameters are not read.
    layout : Layout
        Where weights, biases and slopes are in a row of the buffers.
    theta, grad : Tensor of shape (1, P)
        Parameters and gradients.
    dropout : DropoutPlan or None
        Masks for the hidden units.
    n_shared : int
        The last so many raw outputs do not depend on the inputs: the weights into them stay 0.
    """

    def __init__(
        self,
        graph: GraphNetwork,
        layout: Layout,
        theta: Tensor,
        grad: Tensor,
        dropout: DropoutPlan | None,
        n_shared: int,
    ) -> None:
        self.engine: GraphEngine = graph.engine(theta.device)
        self.dropout = dropout if len(self.engine.hidden) else None
        self._parameters = _views(layout, theta)
        self._gradients = _views(layout, grad)
        self._like, self._n_outputs = theta, len(graph.outputs)
        self._shared = self.engine.edges_into_outputs(n_shared) if n_shared else None
        self._hidden = torch.from_numpy(self.engine.hidden).to(theta.device)

    def workspace(self, batch: int, *, training: bool) -> GraphSpace:
        """Allocate working memory for batches of at most ``batch`` rows."""
        dropout = training and self.dropout is not None
        buffers = self.engine.buffers(batch, self._like, dropout=dropout, backward=training)
        delta = aligned_empty(1, batch, self._n_outputs, self._like)
        if not dropout:
            return GraphSpace(buffers, [delta], None, None)
        drawn = aligned_empty(1, batch, len(self._hidden), self._like)
        return GraphSpace(buffers, [delta], torch.ones_like(buffers.after), drawn)

    def forward(self, x: Tensor, space: GraphSpace, step: int | None) -> Tensor:
        """Return the raw outputs (1, B, Q) of a batch x (1, B, D)."""
        space.used = None
        if self.dropout is not None and step is not None:
            assert space.mask is not None
            assert space.drawn is not None
            space.used = space.mask
            self.dropout.fill_mask(space.drawn, step, 0)
            space.mask.index_copy_(0, self._hidden, space.drawn[0].T)
        raw = self.engine.forward(self._parameters, space.buffers, x[0], space.used)
        return raw.T.contiguous().unsqueeze(0)

    def backward(self, x: Tensor, space: GraphSpace) -> None:
        """Fill the gradient buffers from ``space.delta[-1]``, the derivative on raw outputs."""
        delta = space.delta[-1][0].T
        self.engine.backward(self._parameters, space.buffers, delta, self._gradients, space.used)
        if self._shared is not None:
            self._gradients.weights[self._shared] = 0.0


def _views(layout: Layout, flat: Tensor) -> GraphParameters:
    """Return a graph's parameters as views of a buffer (1, P)."""
    found = {block.kind: block.view(flat)[0] for block in layout.blocks}
    return GraphParameters(found["weight"], found["bias"], found.get("slope", flat[0, :0]))
