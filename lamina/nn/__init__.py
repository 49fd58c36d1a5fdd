"""One network as a torch module: activations, initialisation, layers, conversions."""

from ._activation import Activation
from ._activations import ACTIVATIONS, get_activation
from ._conversion import ActivationLayer
from ._counting import count_parameters
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
from ._smooth import ELU, GELU, Sigmoid, SiLU, Softplus, Tanh

__all__ = [
    "ACTIVATIONS",
    "ELU",
    "GELU",
    "INITIALISATIONS",
    "Abs",
    "Activation",
    "ActivationLayer",
    "Gaussian",
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
    "count_parameters",
    "get_activation",
    "get_initialisation",
    "initialise",
]
