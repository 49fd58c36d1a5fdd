"""What runs a graph forward and backward, for whoever keeps the parameters."""

from __future__ import annotations

import hashlib
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from lamina._typing import IntArray

from ._graph_edges import Edges
from ._graph_passes import (
    GraphBuffers,
    GraphParameters,
    make_buffers,
    run_backward,
    run_forward,
)
from ._graph_plan import LevelPlan


class GraphEngine:
    """A graph's forward and backward pass on memory that is allocated once.

    `GraphNetwork.engine` makes one. It knows the graph and no parameters: those come with each
    call, in the order of evaluation, and so do the buffers.

    Parameters
    ----------
    edges : Edges
        The graph.
    plan : LevelPlan
        Its levels, for tensors on one device.

    Attributes
    ----------
    n_edges, n_units, n_slopes : int
        Numbers of weights, biases and learned slopes.
    largest_product : int
        Multiply-adds a row of the largest matrix product in it.
    hidden : int array of shape (n_hidden,)
        Rows of the buffers that are neither inputs nor outputs.

    Examples
    --------
    >>> import torch
    >>> from lamina.nn import GraphNetwork
    >>> network = GraphNetwork({"y": ["a", "b"]}, weights={"y": [2.0, -1.0]})
    >>> engine = network.engine("cpu")
    >>> buffers = engine.buffers(1, network.edge_weights)
    >>> engine.forward(network.graph_parameters(), buffers, torch.tensor([[3.0, 5.0]]))
    tensor([[1.]], dtype=torch.float64)
    """

    def __init__(self, edges: Edges, plan: LevelPlan) -> None:
        self._edges, self.plan = edges, plan
        pieces = [piece for level in plan.levels for piece in level.pieces]
        self.n_edges = len(plan.edges)
        self.n_units = len(plan.units) - edges.n_inputs
        self.n_slopes = sum(p.stop - p.start for p in pieces if p.activation.learned)
        blocks = [block for level in plan.levels for block in level.blocks]
        self.largest_product = max((b.shape[0] * b.shape[1] for b in blocks), default=0)
        kept = np.ones(len(plan.units), dtype=bool)
        kept[: edges.n_inputs] = False
        kept[plan.outputs.cpu().numpy()] = False
        self.hidden: IntArray = np.flatnonzero(kept)

    def buffers(
        self, n_rows: int, like: Tensor, *, dropout: bool = False, backward: bool = True
    ) -> GraphBuffers:
        """Allocate memory for ``n_rows`` rows of data in dtype and device of ``like``.

        ``dropout`` is whether masks will come, and ``backward`` whether the backward pass.
        """
        return make_buffers(self.plan, n_rows, like, dropout=dropout, backward=backward)

    @torch.no_grad()
    def forward(
        self,
        parameters: GraphParameters,
        buffers: GraphBuffers,
        x: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Compute all units of a batch x (B, D), and return the outputs (Q, B).

        ``mask`` (n, B) is what values are multiplied by before other units receive them.
        """
        return run_forward(self.plan, parameters, buffers, x, mask)

    @torch.no_grad()
    def backward(
        self,
        parameters: GraphParameters,
        buffers: GraphBuffers,
        outputs: Tensor,
        gradients: GraphParameters,
        mask: Tensor | None = None,
    ) -> None:
        """Fill ``gradients`` from the derivative on the outputs (Q, B) of the last forward."""
        run_backward(self.plan, parameters, buffers, outputs, gradients, mask)

    def edges_into_outputs(self, n_last: int) -> Tensor:
        """Return the places of the weights into the last ``n_last`` outputs, as a tensor (n,)."""
        edges = self._edges
        owners = np.repeat(np.arange(edges.n_inputs, len(edges.names)), np.diff(edges.starts))
        last = edges.outputs[len(edges.outputs) - n_last :]
        places = np.flatnonzero(np.isin(owners[self.plan.edges], last))
        return torch.from_numpy(places).to(self.plan.outputs.device)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the graph and its activations: equal where everything is computed alike."""
        digest = hashlib.sha256()
        edges, plan = self._edges, self.plan
        for array in (edges.starts, edges.parents, edges.outputs, plan.units, plan.edges):
            digest.update(f"{array.shape}".encode())
            digest.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
        for level in plan.levels:
            for piece in level.pieces:
                digest.update(f"{piece.start} {piece.activation!r};".encode())
        return digest.hexdigest()
