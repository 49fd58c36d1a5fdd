"""Everything of a graph network but its parameters; networks of one graph share it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch

from lamina._typing import FloatArray, IntArray

from ._activation import Activation
from ._graph_edges import Edges, read_edges
from ._graph_engine import GraphEngine
from ._graph_functions import read_functions
from ._graph_plan import LevelPlan, make_plan


@dataclass(frozen=True, eq=False)
class Structure:
    """A graph with its activations, and the plan by which it is computed.

    Attributes
    ----------
    edges : Edges
        Units and edges in the user's order.
    kinds : int array of shape (n,)
        The number of each unit's activation among ``functions``; −1 for inputs.
    functions : tuple of Activation
        The different activations.
    plan : LevelPlan
        Levels, and the places of the user's numbers in the order of evaluation.
    """

    edges: Edges
    kinds: IntArray
    functions: tuple[Activation, ...]
    plan: LevelPlan
    _engines: dict[torch.device, GraphEngine] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, parents: Any, inputs: Any, outputs: Any, activation: Any
    ) -> tuple[Self, FloatArray]:
        """Return the structure that a user describes, and each unit's first slope."""
        edges = read_edges(parents, inputs, outputs)
        kinds, functions, slopes = read_functions(edges, activation)
        return cls.planned(edges, kinds, functions), slopes

    @classmethod
    def planned(cls, edges: Edges, kinds: IntArray, functions: tuple[Activation, ...]) -> Self:
        """Return the structure of a graph that was read."""
        return cls(edges, kinds, functions, make_plan(edges, kinds, functions))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the same object, since nothing in it changes."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out the plan: a pickle of each part of a tensor would hold the whole tensor."""
        return self.planned, (self.edges, self.kinds, self.functions)

    def engine(self, device: torch.device) -> GraphEngine:
        """Return what computes the graph on a device."""
        if device not in self._engines:
            self._engines[device] = GraphEngine(self.edges, self.plan.to(device))
        return self._engines[device]

    @property
    def units(self) -> IntArray:
        """Numbers of the units that are no inputs in the order of evaluation, from 0."""
        return self.plan.units[self.edges.n_inputs :] - self.edges.n_inputs

    @cached_property
    def learned(self) -> IntArray:
        """Numbers of the units with a learned slope in the order of evaluation, from 0."""
        learns = np.array([function.learned for function in self.functions], dtype=bool)
        units = self.units
        found: IntArray = units[learns[self.kinds[units + self.edges.n_inputs]]]
        return found

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All units in the order of evaluation."""
        return tuple(self.edges.names[i] for i in self.plan.units)

    def placed(
        self, weights: FloatArray, biases: FloatArray, slopes: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Bring the user's numbers into the order of evaluation."""
        return weights[self.plan.edges], biases[self.units], slopes[self.learned]

    def listed(
        self, weights: FloatArray, biases: FloatArray, slopes: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Bring numbers in the order of evaluation back into the user's; slopes with NaN."""
        w, b, s = (
            np.empty_like(weights),
            np.empty_like(biases),
            np.full(len(biases), np.nan, dtype=biases.dtype),
        )
        w[self.plan.edges], b[self.units], s[self.learned] = weights, biases, slopes
        return w, b, s

    def parents(self) -> dict[str, tuple[str, ...]]:
        """Return the graph as the user gave it."""
        names, edges = self.edges.names, self.edges
        above = [names[i] for i in edges.parents]
        cuts = pairwise(edges.starts.tolist())
        return {
            unit: tuple(above[start:stop])
            for unit, (start, stop) in zip(names[edges.n_inputs :], cuts, strict=True)
        }

    @cached_property
    def idle(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Units that no input reaches, and units (inputs too) that reach no output."""
        edges = self.edges
        n_inputs, starts, parents = edges.n_inputs, edges.starts.tolist(), edges.parents.tolist()
        order = self.plan.units.tolist()
        reached = [True] * n_inputs + [False] * (len(order) - n_inputs)
        used = [False] * len(order)
        for i in edges.outputs.tolist():
            used[i] = True
        for i in order[n_inputs:]:
            above = parents[starts[i - n_inputs] : starts[i - n_inputs + 1]]
            reached[i] = any(reached[parent] for parent in above)
        for i in reversed(order[n_inputs:]):
            if used[i]:
                for parent in parents[starts[i - n_inputs] : starts[i - n_inputs + 1]]:
                    used[parent] = True
        names = edges.names
        return (
            tuple(names[i] for i in order if not reached[i]),
            tuple(names[i] for i in order if not used[i]),
        )
