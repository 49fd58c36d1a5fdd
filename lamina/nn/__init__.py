"""One network as a torch module: activations, initialisation, layers, conversions."""

from ._activation import Activation
from ._activations import ACTIVATIONS, get_activation
from ._conversion import ActivationLayer
from ._counting import count_parameters
from ._equivalents import logistic_to_tanh, tanh_to_logistic
from ._graph_engine import GraphEngine
from ._graph_network import GraphNetwork
from ._graph_passes import GraphBuffers, GraphParameters
from ._initialisation import (
    INITIALISATIONS,
    Gaussian,
    Initialisation,
    LayerPlace,
    Orthogonal,
    ScaledUniform,
    SklearnUniform,
    TorchUniform,
    Uniform,
    get_initialisation,
    initialise,
)
from ._network import Network
from ._piecewise import Abs, HardTanh, Identity, LeakyReLU, PReLU, ReLU, Step
from ._plain_forms import absorb_biases, forward_with_constant_unit, nested_sums
from ._slopes_at_points import central_difference, derivative_table
from ._smooth import ELU, GELU, Sigmoid, SiLU, Softplus, Tanh
from ._wiring import and_neuron, best_neuron, or_neuron, step_neuron, truth_table, xor_network

__all__ = [
    "ACTIVATIONS",
    "ELU",
    "GELU",
    "INITIALISATIONS",
    "Abs",
    "Activation",
    "ActivationLayer",
    "Gaussian",
    "GraphBuffers",
    "GraphEngine",
    "GraphNetwork",
    "GraphParameters",
    "HardTanh",
    "Identity",
    "Initialisation",
    "LayerPlace",
    "LeakyReLU",
    "Network",
    "Orthogonal",
    "PReLU",
    "ReLU",
    "ScaledUniform",
    "SiLU",
    "Sigmoid",
    "SklearnUniform",
    "Softplus",
    "Step",
    "Tanh",
    "TorchUniform",
    "Uniform",
    "absorb_biases",
    "and_neuron",
    "best_neuron",
    "central_difference",
    "count_parameters",
    "derivative_table",
    "forward_with_constant_unit",
    "get_activation",
    "get_initialisation",
    "initialise",
    "logistic_to_tanh",
    "nested_sums",
    "or_neuron",
    "step_neuron",
    "tanh_to_logistic",
    "truth_table",
    "xor_network",
]
