"""What can be read off a graph network: its graph, its order, its parameters by name."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from lamina._typing import FloatArray

from ._activation import Activation
from ._arrays import as_numpy
from ._graph_passes import GraphParameters
from ._graph_structure import Structure
from ._graph_text import describe_graph
from ._piecewise import PReLU


class GraphReadings:
    """The part of `GraphNetwork` that only reads."""

    _structure: Structure
    edge_weights: nn.Parameter
    unit_biases: nn.Parameter
    unit_slopes: nn.Parameter

    def _listed(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return weights, biases and slopes in the user's order."""
        w, b, s = (as_numpy(parameter) for parameter in self.graph_parameters())
        return self._structure.listed(w, b, s)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Input units, in the order of the columns of X."""
        return self._structure.edges.names[: self._structure.edges.n_inputs]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Output units, in the order of the columns of the result."""
        return tuple(self._structure.edges.names[i] for i in self._structure.edges.outputs)

    @property
    def order(self) -> tuple[str, ...]:
        """All units in the order of evaluation, each after its parents, inputs first."""
        return self._structure.order

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The units that are computed at once, level by level, inputs first."""
        return tuple(self.order[level.start : level.stop] for level in self._structure.plan.levels)

    @property
    def depth(self) -> int:
        """The number of levels after the inputs: the edges of the longest path."""
        return len(self._structure.plan.levels) - 1

    @property
    def constant(self) -> tuple[str, ...]:
        """Units that no input reaches: they have the same value for every row."""
        return self._structure.idle[0]

    @property
    def unused(self) -> tuple[str, ...]:
        """Units, inputs among them, that reach no output: training never moves them."""
        return self._structure.idle[1]

    @property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """For each unit that is no input the units that it sums over, a copy."""
        return self._structure.parents()

    @property
    def weights(self) -> dict[str, FloatArray]:
        """For each unit that is no input a weight for each parent, a copy."""
        w, starts = self._listed()[0], self._structure.edges.starts[1:-1]
        names = self._structure.edges.names[len(self.inputs) :]
        return dict(zip(names, np.split(w, starts), strict=False))

    @property
    def biases(self) -> dict[str, float]:
        """For each unit that is no input its bias."""
        names = self._structure.edges.names[len(self.inputs) :]
        return dict(zip(names, self._listed()[1].tolist(), strict=True))

    @property
    def activations(self) -> dict[str, Activation]:
        """For each unit that is no input its activation; a learned slope is the number of it."""
        structure, slopes = self._structure, self._listed()[2].tolist()
        names, kinds = structure.edges.names, structure.kinds.tolist()
        n = len(self.inputs)
        return {
            names[i]: PReLU(slope) if slope == slope else structure.functions[kinds[i]]
            for i, slope in enumerate(slopes, n)
        }

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the parameters."""
        return self.edge_weights.dtype

    @property
    def dtype_name(self) -> str:
        """The name of the dtype."""
        return str(self.dtype).removeprefix("torch.")

    @property
    def n_parameters(self) -> int:
        """The number of weights, biases and learned slopes."""
        return sum(parameter.numel() for parameter in self.graph_parameters())

    def graph_parameters(self) -> GraphParameters:
        """Return weights, biases and slopes in the order of evaluation, without their gradient."""
        return GraphParameters(
            self.edge_weights.detach(), self.unit_biases.detach(), self.unit_slopes.detach()
        )

    def summary(self) -> str:
        """Return a readable description: the levels in the order of evaluation.

        Examples
        --------
        >>> from lamina.nn import GraphNetwork
        >>> print(GraphNetwork({"h": ["a", "b"], "y": ["h", "a"]}).summary())
        GraphNetwork of 2 inputs, 2 units and 4 edges, float64, 6 parameters
        level  units  edges  activation  names
        0          2      0              a, b
        1          1      2  tanh        h
        2          1      2  identity    y
        outputs: y
        """
        return describe_graph(self)

    def __repr__(self) -> str:
        return (
            f"GraphNetwork({len(self.inputs)} inputs, {len(self.unit_biases)} units, "
            f"{len(self.edge_weights)} edges, {len(self.outputs)} outputs, depth {self.depth}, "
            f"dtype={self.dtype_name!r})"
        )
