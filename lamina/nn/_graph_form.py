"""A layered network as a graph of named units, and back."""

from __future__ import annotations

import graphlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from lamina._checks import shown
from lamina._errors import CycleError, DataError, ParameterError
from lamina._typing import Array, DtypeName, FloatArray

from ._activations import get_activation
from ._arrays import as_numpy, numeric_array
from ._network import Network
from ._piecewise import PReLU


@dataclass(frozen=True)
class GraphForm:
    r"""A feedforward network as plain data: units by name, and who feeds whom.

    .. math:: h_u = f_u\Big(b_u + \sum_{p \in \text{parents}(u)} w_{up}\, h_p\Big)

    Parameters
    ----------
    inputs : tuple of str
        Names of the input units, which have no parents.
    outputs : tuple of str
        Names of the units whose values are the output.
    parents : mapping from str to tuple of str
        For every unit but the inputs, the units that it sums over.
    weights : mapping from str to tuple of float
        For every unit but the inputs, one weight for each of its parents, in their order.
    biases : mapping from str to float
        For every unit but the inputs.
    activations : mapping from str to str
        For every unit but the inputs, an activation such as ``"tanh"``. A learned slope is
        written as the number of its unit: ``"prelu(0.25)"``.

    Raises
    ------
    ParameterError
        If units, edges and parameters do not fit together.
    CycleError
        If the graph has a cycle; the message names the units on it.

    Examples
    --------
    >>> graph = GraphForm(("x",), ("y",), {"y": ("x",)}, {"y": (2.0,)}, {"y": 1.0}, {"y": "tanh"})
    >>> graph.order
    ('x', 'y')
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parents: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, tuple[float, ...]]
    biases: Mapping[str, float]
    activations: Mapping[str, str]

    def __post_init__(self) -> None:
        _check_units(self)
        evaluation_order(self.inputs, self.parents)

    @property
    def order(self) -> tuple[str, ...]:
        """The units in an order in which each comes after its parents, inputs first."""
        return evaluation_order(self.inputs, self.parents)

    def forward(self, X: Array) -> FloatArray:
        """Evaluate the units in their order, in float64.

        Parameters
        ----------
        X : array of shape (..., D)
            Values of the input units, in the order of ``inputs``.

        Returns
        -------
        array of shape (..., Q)
            Values of the output units.

        Raises
        ------
        DataError
            If ``X`` has another number of columns.
        """
        X = numeric_array("X", X).astype(np.float64)
        if X.ndim == 0 or X.shape[-1] != len(self.inputs):
            raise DataError(f"X must have shape (..., {len(self.inputs)}). Got shape {X.shape}.")
        values = {unit: X[..., i] for i, unit in enumerate(self.inputs)}
        for unit in self.order[len(self.inputs) :]:
            a = np.full(X.shape[:-1], self.biases[unit])
            for parent, weight in zip(self.parents[unit], self.weights[unit], strict=True):
                a = a + weight * values[parent]
            activation = get_activation(self.activations[unit])
            values[unit] = activation.forward(torch.from_numpy(np.asarray(a))).numpy()
        return np.stack([values[unit] for unit in self.outputs], axis=-1)


def evaluation_order(
    inputs: Sequence[str], parents: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Return inputs, then units after their parents, or name the cycle that forbids it."""
    sorter = graphlib.TopologicalSorter(parents)
    try:
        order = list(sorter.static_order())
    except graphlib.CycleError as error:
        # graphlib lists a cycle from parent to child and repeats its first unit at the end.
        cycle = " → ".join(str(unit) for unit in error.args[1])
        raise CycleError(f"The graph must have no cycle. Got {cycle}.") from None
    first = set(inputs)
    return (*inputs, *(unit for unit in order if unit not in first))


def _check_units(graph: GraphForm) -> None:
    """Refuse units, edges or parameters that do not fit together."""
    units = set(graph.parents)
    doubled = [unit for unit in graph.inputs if unit in units or graph.inputs.count(unit) > 1]
    if doubled or not graph.inputs:
        raise ParameterError(
            f"inputs must be names of units without parents, each once. Got {shown(graph.inputs)}."
        )
    known = units | set(graph.inputs)
    strangers = [unit for unit in graph.outputs if unit not in known]
    if strangers or not graph.outputs:
        raise ParameterError(f"outputs must be names of units. Got {shown(graph.outputs)}.")
    for name in ("weights", "biases", "activations"):
        keys = set(getattr(graph, name))
        if keys != units:
            raise ParameterError(
                f"{name} must have an entry for each unit with parents. "
                f"Got a different set: {shown(sorted(keys ^ units))}."
            )
    for unit, above in graph.parents.items():
        unknown = [parent for parent in above if parent not in known]
        if unknown:
            raise ParameterError(f"parents[{unit!r}] must be units. Got {shown(unknown[0])}.")
        if len(graph.weights[unit]) != len(above):
            raise ParameterError(
                f"weights[{unit!r}] must have {len(above)} numbers, one for each parent. "
                f"Got {len(graph.weights[unit])}."
            )


def graph_form(network: Network) -> GraphForm:
    """Return a layered network as a graph of units with the same outputs.

    Parameters
    ----------
    network : Network
        Any network.

    Returns
    -------
    GraphForm
        Inputs are called ``x1, x2, …``, hidden units ``h1.1`` (layer 1, unit 1) and so on, and
        outputs ``y1, y2, …``.

    Examples
    --------
    >>> graph = graph_form(Network((2, 2, 1), random_state=0))
    >>> graph.order, graph.parents["y1"]
    (('x1', 'x2', 'h1.1', 'h1.2', 'y1'), ('h1.1', 'h1.2'))
    """
    names = _unit_names(network.sizes)
    parents: dict[str, tuple[str, ...]] = {}
    weights: dict[str, tuple[float, ...]] = {}
    biases: dict[str, float] = {}
    activations: dict[str, str] = {}
    for i, (W, b) in enumerate(network.layers()):
        slope = network.slopes[i]
        slopes = None if slope is None else as_numpy(slope)
        for j, unit in enumerate(names[i + 1]):
            parents[unit] = names[i]
            weights[unit] = tuple(W[j].tolist())
            biases[unit] = float(b[j])
            function = network.activations[i] if slopes is None else PReLU(float(slopes[j]))
            activations[unit] = function.spec
    return GraphForm(names[0], names[-1], parents, weights, biases, activations)


def _unit_names(sizes: Sequence[int]) -> list[tuple[str, ...]]:
    """Return the names of the units of every layer, inputs first."""
    prefixes = ["x", *(f"h{i}." for i in range(1, len(sizes) - 1)), "y"]
    return [
        tuple(f"{prefix}{j + 1}" for j in range(size))
        for prefix, size in zip(prefixes, sizes, strict=True)
    ]


def network_from_graph(graph: GraphForm, *, dtype: DtypeName = "float64") -> Network:
    """Return the layered network that a graph of units is.

    Parameters
    ----------
    graph : GraphForm
        A graph in which every unit's parents are in the layer just below it. A missing edge
        within that becomes a weight of zero.
    dtype : {"float32", "float64"}, default="float64"
        Precision of the parameters.

    Returns
    -------
    Network
        With equal outputs.

    Raises
    ------
    ParameterError
        If the graph is not layered: an edge skips a layer, the outputs are not the last layer,
        or the units of a layer have different activations. The message names the unit.

    Examples
    --------
    >>> network = Network((2, 3, 1), "tanh", random_state=0)
    >>> twin = network_from_graph(graph_form(network))
    >>> twin.sizes, bool((twin.predict_raw([1, 2]) == network.predict_raw([1, 2])).all())
    ((2, 3, 1), True)
    """
    layers = _layers_of(graph)
    pairs: list[tuple[FloatArray, FloatArray]] = []
    activations: list[str] = []
    slopes: list[FloatArray | None] = []
    for below, layer in itertools.pairwise(layers):
        column = {unit: i for i, unit in enumerate(below)}
        W = np.zeros((len(layer), len(below)))
        for j, unit in enumerate(layer):
            for parent, weight in zip(graph.parents[unit], graph.weights[unit], strict=True):
                W[j, column[parent]] += weight
        pairs.append((W, np.array([graph.biases[unit] for unit in layer])))
        activation, slope = _one_activation(graph, layer)
        activations.append(activation)
        slopes.append(slope)
    return Network.from_arrays(
        pairs,
        activations[:-1],
        output_activation=activations[-1],
        slopes=slopes,
        dtype=dtype,
    )


def _layers_of(graph: GraphForm) -> list[tuple[str, ...]]:
    """Return the units of each layer, or name the edge or output that makes it no layers."""
    depth = dict.fromkeys(graph.inputs, 0)
    for unit in graph.order[len(graph.inputs) :]:
        depths = {parent: depth[parent] for parent in graph.parents[unit]}
        depth[unit] = 1 + max(depths.values(), default=0)
        for parent, at in depths.items():
            if at != depth[unit] - 1:
                raise ParameterError(
                    f"The graph must be layered. Got an edge from {parent!r} in layer {at} to "
                    f"{unit!r} in layer {depth[unit]}, which skips a layer."
                )
    last = max(depth.values())
    # Units of one layer stand in the order in which the graph lists them.
    layers = [
        tuple(unit for unit in graph.parents if depth[unit] == i) for i in range(1, last + 1)
    ]
    if last == 0 or set(layers[-1]) != set(graph.outputs):
        at_top = shown(layers[-1] if layers else graph.inputs)
        raise ParameterError(
            f"The graph's outputs must be its last layer {at_top}. Got {shown(graph.outputs)}."
        )
    return [graph.inputs, *layers[:-1], graph.outputs]


def _one_activation(graph: GraphForm, layer: Sequence[str]) -> tuple[str, FloatArray | None]:
    """Return the activation that all units of a layer share, and their slopes if learned."""
    functions = [get_activation(graph.activations[unit]) for unit in layer]
    slopes = [function.init for function in functions if isinstance(function, PReLU)]
    if len(slopes) == len(functions):
        return PReLU.name, np.array(slopes)
    for unit, function in zip(layer, functions, strict=True):
        if function != functions[0]:
            raise ParameterError(
                f"The graph's units must share an activation within a layer. Got "
                f"{functions[0].spec!r} for {layer[0]!r} and {function.spec!r} for {unit!r}."
            )
    return functions[0].spec, None
