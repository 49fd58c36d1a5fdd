"""Layers as units of a graph, and the layers that a graph is made of."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor, nn

from lamina._checks import check_integer, shown, suggestion
from lamina._errors import ParameterError
from lamina._typing import FloatArray, IntArray

from ._activation import Activation
from ._activations import get_activation
from ._arrays import as_numpy, numeric_array
from ._graph_edges import Edges, parent_lists, refuse_a_cycle, unit_names
from ._graph_readings import GraphReadings
from ._graph_structure import Structure
from ._network import Network
from ._piecewise import PReLU


class Units(NamedTuple):
    """What `GraphNetwork` is made of, unit by unit."""

    parents: dict[str, tuple[str, ...]]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    activations: dict[str, Any]
    weights: dict[str, Any]
    biases: dict[str, Any]


def units_of_network(network: Any) -> Units:
    """Return a layered network's units: x1, x2, …, h1.1 (layer 1, unit 1), …, y1, y2, …."""
    if not isinstance(network, Network):
        cure = " Network.from_torch reads it first." if isinstance(network, nn.Module) else ""
        cure = " It is a graph already." if isinstance(network, GraphReadings) else cure
        raise ParameterError(f"network must be a Network. Got {shown(network)}.{cure}")
    prefixes = ["x", *(f"h{i}." for i in range(1, len(network.sizes) - 1)), "y"]
    names = [_numbered(*pair) for pair in zip(prefixes, network.sizes, strict=True)]
    units = Units({}, names[0], names[-1], {}, {}, {})
    for i, (W, b) in enumerate(network.layers()):
        slope = network.slopes[i]
        slopes = None if slope is None else as_numpy(slope)
        for j, unit in enumerate(names[i + 1]):
            units.parents[unit], units.weights[unit] = names[i], W[j]
            units.biases[unit] = float(b[j])
            units.activations[unit] = (
                network.activations[i] if slopes is None else PReLU(float(slopes[j]))
            )
    return units


def _numbered(prefix: str, n: int) -> tuple[str, ...]:
    """Return names with numbers from 1."""
    return tuple(f"{prefix}{j + 1}" for j in range(n))


def units_of_layers(
    parents: Any, sizes: Any, activation: Any, outputs: Any, weights: Any, biases: Any
) -> Units:
    """Return the units of a graph of layers: h.1, h.2, … for a layer h."""
    lists = parent_lists(parents)
    if not isinstance(sizes, Mapping):
        raise ParameterError(f"sizes must be a mapping from layers to sizes. Got {shown(sizes)}.")
    names = {
        layer: _numbered(f"{layer}.", check_integer(f"sizes[{layer!r}]", size, 1))
        for layer, size in sizes.items()
    }
    own, default = _activations(activation)
    fed = set(itertools.chain(*lists.values()))
    last = tuple(layer for layer in lists if layer not in fed)
    if outputs is not None:
        last = unit_names("outputs", outputs, "names of layers, each once")
    arrays = [_mapping("weights", weights), _mapping("biases", biases)]
    for layer in itertools.chain(lists, *lists.values(), last, own, *arrays):
        if layer not in names:
            near = suggestion(layer, names)
            raise ParameterError(
                f"sizes must have an entry for each layer. Got none for {shown(layer)}.{near}"
            )
    inputs = _inputs(lists, names, own)
    units = Units({}, inputs, tuple(u for layer in last for u in names[layer]), {}, {}, {})
    for layer, above in lists.items():
        sources = tuple(unit for parent in above for unit in names[parent])
        units.parents.update(dict.fromkeys(names[layer], sources))
        function = own.get(layer, None if layer in last else default)
        if function is not None:
            units.activations.update(dict.fromkeys(names[layer], function))
        shape = (len(names[layer]), len(sources))
        if weights is not None:
            W = _array("weights", weights, layer, shape)
            units.weights.update(zip(names[layer], W, strict=True))
        if biases is not None:
            b = _array("biases", biases, layer, shape[:1])
            units.biases.update(zip(names[layer], b, strict=True))
    return units


def _activations(activation: Any) -> tuple[dict[str, Activation], Activation | None]:
    """Return the activations that layers are given by name, and that of all others."""
    if not isinstance(activation, Mapping):
        return {}, get_activation(activation)
    return {
        layer: get_activation(spec, parameter=f"activation[{layer!r}]")
        for layer, spec in activation.items()
    }, None


def _mapping(parameter: str, values: Any) -> Mapping[str, Any]:
    """Return what layers are given by name."""
    if values is not None and not isinstance(values, Mapping):
        raise ParameterError(
            f"{parameter} must be a mapping from layers to arrays. Got {shown(values)}."
        )
    return values or {}


def _inputs(
    lists: dict[str, tuple[str, ...]],
    names: dict[str, tuple[str, ...]],
    own: Mapping[str, Activation],
) -> tuple[str, ...]:
    """Return the units of the layers without an entry in parents."""
    layers = [layer for layer in names if layer not in lists]
    if not layers:
        refuse_a_cycle(lists)
        raise ParameterError(
            "sizes must have a layer without an entry in parents: the inputs. Got none."
        )
    wrong = [layer for layer in layers if layer in own]
    if wrong:
        raise ParameterError(
            f"activation must name layers that are no inputs. Got {shown(wrong[0])}."
        )
    return tuple(unit for layer in layers for unit in names[layer])


def _array(parameter: str, values: Mapping[str, Any], layer: str, shape: tuple[int, ...]) -> Any:
    """Return a layer's array, or say that it is not there or of another shape."""
    found = values.get(layer)
    if found is not None:
        plain = as_numpy(found) if isinstance(found, Tensor) else found
        found = numeric_array(f"{parameter}[{layer!r}]", plain)
    if found is None or found.shape != shape:
        got = "nothing" if found is None else f"shape {found.shape}"
        raise ParameterError(f"{parameter}[{layer!r}] must have shape {shape}. Got {got}.")
    return found


def network_of(
    structure: Structure, weights: FloatArray, biases: FloatArray, slopes: FloatArray, dtype: Any
) -> Network:
    """Return the layered network that a graph is, with its numbers in the user's order."""
    edges = structure.edges
    layers = _layers(edges)
    column = np.zeros(len(edges.names), dtype=np.int64)
    for layer in layers:
        column[layer] = np.arange(len(layer))
    owners = np.repeat(np.arange(edges.n_inputs, len(edges.names)), np.diff(edges.starts))
    pairs, activations, learned = [], [], []
    for below, layer in itertools.pairwise(layers):
        here = edges.levels[owners] == edges.levels[layer[0]]
        at = column[owners[here]], column[edges.parents[here]]
        # Adding to −0.0 keeps every bit of a weight, the sign of a zero too.
        W = np.full((len(layer), len(below)), -0.0, dtype=weights.dtype)
        np.add.at(W, at, weights[here])
        missing = np.ones(W.shape, dtype=bool)
        missing[at] = False
        W[missing] = 0.0
        pairs.append((W, biases[layer - edges.n_inputs]))
        kinds = structure.kinds[layer]
        for kind, unit in zip(kinds, layer, strict=True):
            if kind != kinds[0]:
                first, other = (structure.functions[i].spec for i in (kinds[0], kind))
                raise ParameterError(
                    f"The graph's units must share an activation within a layer. Got {first!r} "
                    f"for {edges.names[layer[0]]!r} and {other!r} for {edges.names[unit]!r}."
                )
        activations.append(structure.functions[kinds[0]])
        own = slopes[layer - edges.n_inputs]
        learned.append(own if activations[-1].learned else None)
    return Network.from_arrays(
        pairs, activations[:-1], output_activation=activations[-1], slopes=learned, dtype=dtype
    )


def _layers(edges: Edges) -> list[IntArray]:
    """Return the units of each layer, or name the edge or output that makes it no layers."""
    counts = np.diff(edges.starts)
    owners = np.repeat(np.arange(edges.n_inputs, len(edges.names)), counts)
    above, below = edges.levels[edges.parents], edges.levels[owners]
    skips = np.flatnonzero(above != below - 1)
    if skips.size:
        i = skips[0]
        parent, unit = edges.names[edges.parents[i]], edges.names[owners[i]]
        raise ParameterError(
            f"The graph must be layered. Got an edge from {parent!r} in layer {above[i]} to "
            f"{unit!r} in layer {below[i]}, which skips a layer."
        )
    last = int(edges.levels.max())
    by_level = np.argsort(edges.levels, kind="stable")
    layers = np.split(by_level, np.cumsum(np.bincount(edges.levels))[:-1])
    if last == 0:
        raise ParameterError(
            "The graph must have a layer after the inputs to be a Network. Got inputs alone."
        )
    if set(layers[-1].tolist()) != set(edges.outputs.tolist()):
        top, outputs = (tuple(edges.names[i] for i in a) for a in (layers[-1], edges.outputs))
        raise ParameterError(
            f"The graph's outputs must be its last layer {shown(top)}. Got {shown(outputs)}."
        )
    return [*layers[:-1], edges.outputs]
