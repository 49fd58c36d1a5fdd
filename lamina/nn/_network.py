"""One feedforward network as a torch module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import torch
from torch import Tensor, nn

from lamina._typing import Array, DtypeName

from ._activation import Activation
from ._arrays import as_numpy, as_tensor, check_columns, check_dtype
from ._collapse import collapse
from ._conversion import build_sequential, read_module
from ._counting import count_layers, count_table
from ._forward import trace
from ._initialisation import Initialisation, Layer, Rng, initialise, source_of_draws
from ._layer_arrays import common_dtype, layer_tensors, slope_tensors, torch_dtype
from ._layer_sizes import all_activations, check_layer_sizes
from ._notation import describe
from ._state import read_state, state_of

if TYPE_CHECKING:
    import pandas as pd


class Network(nn.Module):
    r"""A feedforward network: affine maps with an activation after each.

    .. math::

        a^{(l)} = W^{(l)} h^{(l-1)} + b^{(l)}, \qquad h^{(l)} = f_l(a^{(l)}), \qquad h^{(0)} = x,

    for :math:`l = 1, \dots, L`; :math:`y = h^{(L)}` is the output, without an activation unless
    one is asked for. For the rows of a data matrix this is
    :math:`A^{(l)} = H^{(l-1)} W^{(l)\top} + \mathbf 1 b^{(l)\top}`. Each hidden layer computes
    new features of the one below, and the last layer is a linear model on the learned features
    :math:`h^{(L-1)}`.

    Layers are counted by their weights: ``Network((2, 3, 1))`` has two. Others call it
    a three-layer network (counting the inputs), a single-hidden-layer network, or one of depth
    2.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of units :math:`d_0, \dots, d_L` from inputs to outputs, at least two.
    activation : str, Activation or a sequence of them, default="relu"
        One for all hidden layers or one for each: a name such as ``"tanh"`` or
        ``"leaky_relu(0.1)"``, or an object.
    init : str or Initialisation, default="he"
        How to draw the parameters.
    random_state : int, numpy Generator or RandomState, optional
        Seed or source of the draws; without it every network differs.
    dtype : {"float32", "float64"}, default="float64"
        Precision of the parameters.
    output_activation : str or Activation, default="identity"
        What follows the last layer.

    Attributes
    ----------
    sizes : tuple of int
        Numbers of units from inputs to outputs.
    activations : tuple of Activation
        One for each layer of weights, the output's included.
    weights, biases : ParameterList
        One tensor for each layer, of shapes (out, in) and (out,).

    Raises
    ------
    ParameterError
        If sizes, activation, init or dtype cannot be used.

    Examples
    --------
    >>> network = Network((3, 4, 2), "tanh", init="lecun", random_state=0)
    >>> network.n_parameters, network.predict_raw([[1.0, 2.0, 3.0]]).shape
    (26, (1, 2))
    """

    sizes: tuple[int, ...]
    activations: tuple[Activation, ...]
    weights: nn.ParameterList
    biases: nn.ParameterList

    def __init__(
        self,
        sizes: Sequence[int],
        activation: str | Activation | Sequence[str | Activation] = "relu",
        *,
        init: str | Initialisation = "he",
        random_state: int | Rng | None = None,
        dtype: DtypeName = "float64",
        output_activation: str | Activation = "identity",
    ) -> None:
        sizes = check_layer_sizes(sizes)
        activations = all_activations(activation, output_activation, len(sizes) - 1)
        layers = initialise(sizes, init, activations, source_of_draws(random_state))
        self._assemble(layer_tensors(layers), activations, None, torch_dtype(dtype), copy=False)

    def _assemble(
        self,
        layers: Sequence[tuple[Tensor, Tensor]],
        activations: tuple[Activation, ...],
        slopes: Sequence[Any] | None,
        dtype: torch.dtype | None,
        *,
        copy: bool,
    ) -> None:
        """Take checked layers as the parameters of this module."""
        super().__init__()
        self.sizes = (layers[0][0].shape[1], *(W.shape[0] for W, _ in layers))
        self.activations = activations
        dtype = common_dtype([t for layer in layers for t in layer]) if dtype is None else dtype
        learned = slope_tensors(slopes, activations, self.sizes)

        def parameter(values: Tensor) -> nn.Parameter:
            return nn.Parameter(values.to(dtype, copy=copy))

        self.weights = nn.ParameterList([parameter(W) for W, _ in layers])
        self.biases = nn.ParameterList([parameter(b) for _, b in layers])
        self._slopes = nn.ParameterDict(
            {str(i): parameter(slope) for i, slope in enumerate(learned) if slope is not None}
        )

    @classmethod
    def from_arrays(
        cls,
        layers: Sequence[tuple[Any, Any]],
        activation: str | Activation | Sequence[str | Activation] = "relu",
        *,
        output_activation: str | Activation = "identity",
        slopes: Sequence[Any] | None = None,
        dtype: DtypeName | None = None,
        copy: bool = True,
    ) -> Self:
        """Make a network of given weights and biases.

        Parameters
        ----------
        layers : sequence of (W, b)
            Arrays or tensors of shapes (out, in) and (out,), first layer first.
        activation : str, Activation or a sequence of them, default="relu"
            One for all hidden layers or one for each.
        output_activation : str or Activation, default="identity"
            What follows the last layer.
        slopes : sequence of (None or array of shape (out,)), optional
            Only used for parametric ReLUs: the slopes of each layer, ``None`` elsewhere.
        dtype : {"float32", "float64"}, optional
            Precision; by default that of the arrays.
        copy : bool, default=True
            Whether the network has its own memory, or shares it where the dtype allows.

        Raises
        ------
        ParameterError
            If shapes or the number of activations do not fit.

        Examples
        --------
        >>> network = Network.from_arrays([([[1.0, -1.0]], [0.5]), ([[2.0]], [0.0])])
        >>> network.predict_raw([3.0, 1.0]).tolist()
        [5.0]
        """
        pairs = layer_tensors(layers)
        activations = all_activations(activation, output_activation, len(pairs))
        precision = None if dtype is None else torch_dtype(dtype)
        return cls._of(pairs, activations, slopes, precision, copy=copy)

    @classmethod
    def _of(
        cls,
        layers: Sequence[tuple[Tensor, Tensor]],
        activations: tuple[Activation, ...],
        slopes: Sequence[Any] | None,
        dtype: torch.dtype | None = None,
        *,
        copy: bool = True,
    ) -> Self:
        """Return a network of checked layers."""
        network = cls.__new__(cls)
        network._assemble(layers, activations, slopes, dtype, copy=copy)
        return network

    @classmethod
    def from_torch(cls, module: nn.Module) -> Self:
        """Copy a ``torch.nn.Sequential`` of linear layers and activations.

        Read are ``Linear``, ``Identity``, ``Sigmoid``, ``Tanh``, ``Hardtanh``, ``ReLU``,
        ``LeakyReLU``, ``PReLU``, ``Softplus``, ``GELU``, ``SiLU``, ``ELU``, this package's
        :class:`ActivationLayer` and ``Sequential`` within ``Sequential``. ``Dropout`` is left
        out, since it does nothing at prediction. ``BatchNorm1d`` in eval mode is a fixed affine
        map and is folded into the ``Linear`` before it, or else after it. Anything else, a class
        of one's own with its own ``forward`` too, is refused by its name.

        Parameters
        ----------
        module : torch.nn.Module
            A ``Sequential``, a ``Linear`` or a ``Network``.

        Returns
        -------
        Network
            A network with its own copy of the parameters and the same outputs.

        Raises
        ------
        ParameterError
            If the module has a part that a network cannot have; the message names it.

        Examples
        --------
        >>> module = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
        >>> network = Network.from_torch(module)
        >>> network.sizes, network.activations[0].name, network.n_parameters
        ((2, 8, 1), 'relu', 33)
        """
        if isinstance(module, Network):
            return cls._of(*module._parts())
        layers, activations, slopes = read_module(module)
        return cls._of(layers, activations, slopes)

    def to_torch(self) -> nn.Sequential:
        """Return a ``Sequential`` of copies; what torch lacks is an :class:`ActivationLayer`."""
        return build_sequential(*self._parts())

    def _parts(
        self,
    ) -> tuple[list[tuple[Tensor, Tensor]], tuple[Activation, ...], list[Tensor | None]]:
        """Return layers, activations and slopes, detached but not copied."""
        layers = [(W.detach(), b.detach()) for W, b in zip(self.weights, self.biases, strict=True)]
        slopes = [None if slope is None else slope.detach() for slope in self.slopes]
        return layers, self.activations, slopes

    @property
    def slopes(self) -> list[nn.Parameter | None]:
        """The learned slopes of each layer, (out,), or ``None`` where it has none."""
        return [self._slopes.get(str(i)) for i in range(len(self.activations))]

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the parameters."""
        return cast(Tensor, self.weights[0]).dtype

    @property
    def n_parameters(self) -> int:
        """The number of weights, biases and learned slopes."""
        return sum(count.parameters for count in count_layers(self.sizes, self.activations))

    def parameter_table(self) -> pd.DataFrame:
        """Return the parameters of each layer, counted.

        Returns
        -------
        DataFrame
            Indexed by layer, from 1; columns ``inputs``, ``outputs``, ``weights``, ``biases``,
            ``slopes``, ``parameters`` and ``text``, which is "weights + biases".

        Examples
        --------
        >>> print(Network((784, 128, 10)).parameter_table()["text"].to_string())
        layer
        1    100,352 + 128
        2       1,280 + 10
        """
        return count_table(count_layers(self.sizes, self.activations))

    def summary(self) -> str:
        """Return a readable description: each layer's sizes, parameters and law.

        Examples
        --------
        >>> print(Network((3, 4, 2), "tanh").summary())
        Network 3-4-2, float64, 26 parameters
        layer  units  weights + biases  parameters  computes
        l = 1  3 → 4  12 + 4            16          a⁽¹⁾ = W⁽¹⁾x + b⁽¹⁾, h⁽¹⁾ = tanh(a⁽¹⁾)
        l = 2  4 → 2  8 + 2             10          a⁽²⁾ = W⁽²⁾h⁽¹⁾ + b⁽²⁾, y = a⁽²⁾
        2 layers of weights (depth L = 2), 1 hidden layer. Also called single-hidden-layer, or
        three-layer by those who count the inputs too.
        """
        sizes = "-".join(str(size) for size in self.sizes)
        dtype = str(self.dtype).removeprefix("torch.")
        title = f"Network {sizes}, {dtype}, {self.n_parameters:,} parameters"
        return describe(title, count_layers(self.sizes, self.activations), self.activations)

    def __repr__(self) -> str:
        specs = tuple(activation.spec for activation in self.activations)
        dtype = str(self.dtype).removeprefix("torch.")
        return f"Network(sizes={self.sizes}, activations={specs}, dtype={dtype!r})"

    def forward(self, X: Tensor) -> Tensor:
        """Return the outputs of the last layer.

        Parameters
        ----------
        X : Tensor of shape (..., D)
            Inputs in the network's dtype: one, a batch, or a batch with further leading axes.

        Returns
        -------
        Tensor of shape (..., Q)
            Raw outputs, differentiable by autograd.

        Raises
        ------
        DataError
            If shape or dtype do not fit.
        """
        check_columns(X, self.sizes[0])
        check_dtype(X, self.dtype)
        return self._trace(X)[1][-1]

    def _trace(self, X: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Return pre-activations and activations of every layer, each (..., out)."""
        return trace(X, self.weights, self.biases, self.activations, self.slopes)

    def _trace_of(self, X: Any) -> tuple[list[Any], list[Any]]:
        """Return :meth:`_trace` with arrays for an array."""
        tensor = as_tensor("X", X, like=cast(Tensor, self.weights[0]))
        check_columns(tensor, self.sizes[0])
        if isinstance(X, Tensor):
            return self._trace(tensor)
        with torch.no_grad():
            before, after = self._trace(tensor)
        return [as_numpy(a) for a in before], [as_numpy(h) for h in after]

    def predict_raw(self, X: Any) -> Any:
        """Return the outputs without a gradient, as an array for an array.

        Parameters
        ----------
        X : array or Tensor of shape (..., D)
            Inputs, converted to the network's dtype and device.

        Returns
        -------
        array or Tensor of shape (..., Q)
            Raw outputs, of the kind that came in.
        """
        with torch.no_grad():
            return self._trace_of(X)[1][-1]

    def preactivations(self, X: Any) -> list[Any]:
        r"""Return :math:`a^{(1)}, \dots, a^{(L)}`, what each layer's activation is applied to.

        Takes an array or tensor of shape (..., D) and gives one of the same kind for each layer
        of weights, (..., out). Tensors can be differentiated by autograd.
        """
        return self._trace_of(X)[0]

    def hidden(self, X: Any) -> list[Any]:
        r"""Return :math:`h^{(1)}, \dots, h^{(L-1)}`, the features that each hidden layer learned.

        Takes an array or tensor of shape (..., D) and gives one of the same kind for each
        hidden layer, (..., out). Tensors can be differentiated by autograd.
        """
        return self._trace_of(X)[1][:-1]

    def layers(self) -> list[Layer]:
        """Return copies of weights and biases as arrays of shapes (out, in) and (out,)."""
        return [(as_numpy(W), as_numpy(b)) for W, b in self._parts()[0]]

    def collapse(self) -> Layer:
        r"""Multiply the layers of a network without a nonlinearity out to one affine map.

        .. math:: W = W^{(L)} \cdots W^{(1)}, \qquad b = W^{(L)}(\cdots) + b^{(L)}

        Without a nonlinearity depth adds nothing: the network computes :math:`Wx + b`.

        Returns
        -------
        W, b : arrays of shape (Q, D) and (Q,)
            The one map, in float64.

        Raises
        ------
        ParameterError
            If a layer has a nonlinear activation.

        Examples
        --------
        >>> network = Network((2, 100, 100, 1), "identity", random_state=0)
        >>> W, b = network.collapse()
        >>> W.shape, abs(W @ [1.0, -2.0] + b - network.predict_raw([1.0, -2.0])).max() < 1e-12
        ((1, 2), np.True_)
        """
        return collapse(self.layers(), self.activations)

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what describes the network as JSON, and its arrays."""
        return state_of(*self._parts())

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the network that :meth:`_to_state` described."""
        layers, activations, slopes, dtype = read_state(config, arrays)
        return cls._of(layer_tensors(layers), tuple(activations), slopes, torch_dtype(dtype))
