"""A network on any acyclic graph of units, as a torch module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from lamina._errors import ParameterError
from lamina._typing import Array, DtypeName, FloatArray

from ._activation import Activation
from ._arrays import as_numpy, as_tensor, check_columns, check_dtype
from ._graph_autograd import GraphFunction
from ._graph_draws import drawn, given_biases, given_weights
from ._graph_engine import GraphEngine
from ._graph_layers import network_of, units_of_layers, units_of_network
from ._graph_passes import GraphBuffers
from ._graph_readings import GraphReadings
from ._graph_state import read_graph_state, state_of_graph
from ._graph_structure import Structure
from ._graph_values import by_name, check_dense, columns_of, floating, in_order
from ._initialisation import Initialisation, Rng, get_initialisation, source_of_draws
from ._layer_arrays import torch_dtype
from ._network import Network

BUFFER_BYTES = 2**24
"""Rows are predicted so many at a time that the values of all units take about this much."""


class GraphNetwork(GraphReadings, nn.Module):
    r"""A feedforward network on any acyclic graph of units.

    .. math:: h_u = f_u\Big(b_u + \sum_{p \in \text{parents}(u)} w_{up}\, h_p\Big)

    Edges may skip whatever they like, and units may have as many parents as they like; an edge
    that is listed twice counts twice. Units are computed level by level: all units whose parents
    are done, at once. :class:`Network` is the special case of layers, and quicker there.

    Parameters
    ----------
    parents : mapping from str to sequence of str
        For each unit the units that it sums over. A unit with an empty list is a constant.
    activation : str, Activation or a mapping from units to them, default="tanh"
        Of the hidden units; output units are linear. A mapping gives units their own, outputs
        too; hidden units that it does not name have ``"tanh"``.
    outputs : sequence of str, optional
        Units whose values are the output; by default those that feed no other unit. They may
        feed others too, and be inputs.
    weights : mapping from str to sequence of float, optional
        For each unit one weight for each of its parents, in their order; by default drawn.
    biases : mapping from str to float, optional
        For each unit; by default drawn with the weights, or 0 where weights are given.
    inputs : sequence of str, optional
        Input units in the order of the columns of X; by default all that stand only as
        parents, in the order in which they are first named.
    init : str or Initialisation, default="he"
        How weights are drawn. A unit is drawn like a layer's, with its parents as inputs and
        the mean number of its parents' children as outputs.
    random_state : int, numpy Generator or RandomState, optional
        Seed or source of the draws; without it every network differs.
    dtype : {"float32", "float64"}, default="float64"
        Precision of the parameters.

    Attributes
    ----------
    inputs, outputs, order : tuple of str
        Input units, output units, and all units in the order of evaluation: level by level,
        inputs first.
    parents : mapping from str to tuple of str
        The graph.
    edge_weights, unit_biases, unit_slopes : Parameter of shape (n_edges,), (n_units,), (n,)
        The parameters in the order of evaluation; `weights` and `biases` have them by name.

    Raises
    ------
    CycleError
        If the graph has a cycle; the message names the units on it.
    ParameterError
        If units, edges and parameters do not fit together.

    Examples
    --------
    >>> network = GraphNetwork(
    ...     {"h": ["a", "b"], "y": ["h", "a"]},
    ...     activation="relu",
    ...     weights={"h": [1.0, 1.0], "y": [-2.0, 1.0]},
    ...     biases={"h": -1.0, "y": 0.0},
    ... )
    >>> network.order
    ('a', 'b', 'h', 'y')
    >>> network.forward({"a": 1.0, "b": 1.0})
    {'y': -1.0}
    """

    def __init__(
        self,
        parents: Mapping[str, Sequence[str]],
        *,
        activation: str | Activation | Mapping[str, str | Activation] = "tanh",
        outputs: Sequence[str] | None = None,
        weights: Mapping[str, Sequence[float] | FloatArray] | None = None,
        biases: Mapping[str, float] | None = None,
        inputs: Sequence[str] | None = None,
        init: str | Initialisation = "he",
        random_state: int | Rng | None = None,
        dtype: DtypeName = "float64",
    ) -> None:
        structure, slopes = Structure.of(parents, inputs, outputs, activation)
        edges = structure.edges
        rule, rng = get_initialisation(init), source_of_draws(random_state)
        if weights is None:
            rng = np.random.default_rng() if rng is None else rng
            w, fresh = drawn(edges, structure.kinds, structure.functions, rule, rng)
        else:
            w, fresh = given_weights(edges, weights), np.zeros(len(edges.starts) - 1)
        b = fresh if biases is None else given_biases(edges, biases)
        self._assemble(structure, structure.placed(w, b, slopes), torch_dtype(dtype))

    def _assemble(
        self, structure: Structure, arrays: Iterable[Array | Tensor], dtype: torch.dtype
    ) -> None:
        """Take weights, biases and slopes in the order of evaluation."""
        super().__init__()
        self._structure = structure
        tensors = [torch.as_tensor(values).detach().to(dtype, copy=True) for values in arrays]
        weights, biases, slopes = (nn.Parameter(tensor) for tensor in tensors)
        self.edge_weights, self.unit_biases, self.unit_slopes = weights, biases, slopes

    @classmethod
    def from_network(cls, network: Network) -> Self:
        """Return a layered network as a graph of units with the same outputs.

        Parameters
        ----------
        network : Network
            Any network.

        Returns
        -------
        GraphNetwork
            Inputs are called ``x1, x2, …``, hidden units ``h1.1`` (layer 1, unit 1) and so on,
            and outputs ``y1, y2, …``. :meth:`to_network` gives the network back.

        Examples
        --------
        >>> graph = GraphNetwork.from_network(Network((2, 2, 1), random_state=0))
        >>> graph.order, graph.parents["y1"]
        (('x1', 'x2', 'h1.1', 'h1.2', 'y1'), ('h1.1', 'h1.2'))
        """
        units = units_of_network(network)
        return cls(
            units.parents,
            activation=units.activations,
            outputs=units.outputs,
            weights=units.weights,
            biases=units.biases,
            inputs=units.inputs,
            dtype="float32" if network.dtype == torch.float32 else "float64",
        )

    @classmethod
    def from_layers(
        cls,
        parents: Mapping[str, Sequence[str]],
        sizes: Mapping[str, int],
        *,
        activation: str | Activation | Mapping[str, str | Activation] = "tanh",
        outputs: Sequence[str] | None = None,
        weights: Mapping[str, Array] | None = None,
        biases: Mapping[str, Array] | None = None,
        init: str | Initialisation = "he",
        random_state: int | Rng | None = None,
        dtype: DtypeName = "float64",
    ) -> Self:
        """Return a graph of layers; each is connected to all units of the layers above it.

        Parameters
        ----------
        parents : mapping from str to sequence of str
            For each layer the layers that it sums over.
        sizes : mapping from str to int
            How many units each layer has. A layer without an entry in ``parents`` is an input;
            inputs have the order that they have here.
        activation : str, Activation or a mapping from layers to them, default="tanh"
            As in :class:`GraphNetwork`, by layer.
        outputs : sequence of str, optional
            Layers whose values are the output; by default those that feed no other.
        weights, biases : mapping from str to array of shape (out, in) and (out,), optional
            For each layer; the columns of W are the units of its parents, one after another.
        init, random_state, dtype : optional
            As in :class:`GraphNetwork`.

        Returns
        -------
        GraphNetwork
            Units of a layer ``h`` are called ``h.1, h.2, …``.

        Examples
        --------
        >>> graph = GraphNetwork.from_layers(
        ...     {"h1": ["x"], "h2": ["h1"], "y": ["x", "h2"]},  # y sees x past both layers
        ...     {"x": 3, "h1": 16, "h2": 16, "y": 1},
        ... )
        >>> graph.depth, graph.n_parameters, len(graph.parents["y.1"])
        (3, 356, 19)
        """
        units = units_of_layers(parents, sizes, activation, outputs, weights, biases)
        return cls(
            units.parents,
            activation=units.activations,
            outputs=units.outputs,
            weights=None if weights is None else units.weights,
            biases=None if biases is None else units.biases,
            inputs=units.inputs,
            init=init,
            random_state=random_state,
            dtype=dtype,
        )

    def to_network(self) -> Network:
        """Return the layered network that this graph is.

        Every unit's parents have to be in the layer just below it. A missing edge within that
        becomes a weight of zero. Learned slopes are kept, but not the number they began with.

        Raises
        ------
        ParameterError
            If the graph is not layered: an edge skips a layer, the outputs are not the last
            layer, or the units of a layer have different activations. The message names it.

        Examples
        --------
        >>> network = Network((2, 3, 1), "tanh", random_state=0)
        >>> twin = GraphNetwork.from_network(network).to_network()
        >>> twin.sizes, bool((twin.predict_raw([1, 2]) == network.predict_raw([1, 2])).all())
        ((2, 3, 1), True)
        """
        return network_of(self._structure, *self._listed(), self.dtype_name)

    def with_parameters(self, weights: Any, biases: Any, slopes: Any = ()) -> Self:
        """Return a network of the same graph with other parameters.

        Parameters
        ----------
        weights, biases, slopes : arrays of shape (n_edges,), (n_units,) and (n_slopes,)
            In the order of evaluation, as in ``edge_weights``, ``unit_biases``, ``unit_slopes``.

        Returns
        -------
        GraphNetwork
            In the precision of ``weights``.

        Raises
        ------
        ParameterError
            If a shape is another.
        DataError
            If they are no real numbers. NaN is allowed: training may have come to it.
        """
        named = {"weights": weights, "biases": biases, "slopes": slopes}
        tensors = [floating(name, values) for name, values in named.items()]
        wanted = [tuple(p.shape) for p in self.graph_parameters()]
        if [tuple(t.shape) for t in tensors] != wanted:
            raise ParameterError(
                f"weights, biases and slopes must have shapes {wanted}. "
                f"Got {[tuple(t.shape) for t in tensors]}."
            )
        network = type(self).__new__(type(self))
        network._assemble(self._structure, tensors, tensors[0].dtype)
        return network

    def engine(self, device: str | torch.device = "cpu") -> GraphEngine:
        """Return what runs this graph forward and backward with parameters kept elsewhere."""
        return self._structure.engine(torch.device(device))

    def forward(self, X: Any) -> Any:
        """Return the values of the output units.

        Parameters
        ----------
        X : Tensor, array or table of shape (..., D), or mapping from str to them
            Values of the inputs: columns in the order of ``inputs``, or each by its name. A
            table whose columns have names is read by name.

        Returns
        -------
        Tensor or array of shape (..., Q), or dict
            Columns in the order of ``outputs``, or each by its name; of tensors, a tensor that
            autograd can differentiate, more than once too.

        Raises
        ------
        DataError
            If shape or dtype do not fit, or names are missing or unknown.
        """
        if isinstance(X, Mapping):
            return by_name(
                self.forward(columns_of(X, self.inputs, self.edge_weights)), self.outputs
            )
        if not isinstance(X, Tensor):
            return self.predict_raw(X)
        check_dense(X)
        check_columns(X, len(self.inputs))
        check_dtype(X, self.dtype)
        plan = self._structure.engine(X.device).plan
        flat = X.reshape(-1, X.shape[-1])
        result = GraphFunction.apply(  # type: ignore[no-untyped-call]
            plan, flat, self.edge_weights, self.unit_biases, self.unit_slopes
        )
        return result.reshape(*X.shape[:-1], len(self.outputs))

    def predict_raw(self, X: Any) -> Any:
        """Return the outputs without a gradient, as an array for an array.

        Parameters
        ----------
        X : array, Tensor or table of shape (..., D)
            Inputs, converted to the network's dtype and device; a table's columns by name.

        Returns
        -------
        array or Tensor of shape (..., Q)
            Values of the output units, of the kind that came in.
        """
        return self._rows(X, lambda buffers, outputs: outputs, len(self.outputs))

    def values(self, X: Any) -> Any:
        """Return the values of all units, (..., n) in their ``order``; as `predict_raw`."""
        return self._rows(X, lambda buffers, outputs: buffers.after, len(self.order))

    @torch.no_grad()
    def _rows(
        self, X: Any, wanted: Callable[[GraphBuffers, Tensor], Tensor], n_columns: int
    ) -> Any:
        """Run rows some at a time, so that the units' values stay in cache."""
        if isinstance(X, Tensor):
            check_dense(X)
        columns = in_order(X, self.inputs, self.edge_weights)
        tensor = as_tensor("X", columns, like=self.edge_weights)
        check_columns(tensor, len(self.inputs))
        flat = tensor.reshape(-1, tensor.shape[-1])
        result = flat.new_empty(len(flat), n_columns)
        engine, parameters = self.engine(self.edge_weights.device), self.graph_parameters()
        size = max(64, BUFFER_BYTES // (len(self.order) * flat.element_size()))
        for start in range(0, len(flat), size):
            part = flat[start : start + size]
            buffers = engine.buffers(len(part), flat, backward=False)
            result[start : start + size] = wanted(
                buffers, engine.forward(parameters, buffers, part)
            ).T
        result = result.reshape(*tensor.shape[:-1], n_columns)
        return result if isinstance(X, Tensor) else as_numpy(result)

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what describes the network as JSON, and its arrays."""
        return state_of_graph(self._structure, self._listed(), self.dtype_name)

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the network that :meth:`_to_state` described."""
        structure, numbers, dtype = read_graph_state(config, arrays)
        network = cls.__new__(cls)
        network._assemble(structure, structure.placed(*numbers), torch_dtype(dtype))
        return network
