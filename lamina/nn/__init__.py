"""One network as a torch module: activations, initialisation, layers, conversions."""

from ._activation import Activation
from ._activations import ACTIVATIONS, get_activation
from ._piecewise import Abs, HardTanh, Identity, LeakyReLU, PReLU, ReLU, Step
from ._smooth import ELU, GELU, Sigmoid, SiLU, Softplus, Tanh

__all__ = [
    "ACTIVATIONS",
    "ELU",
    "GELU",
    "Abs",
    "Activation",
    "HardTanh",
    "Identity",
    "LeakyReLU",
    "PReLU",
    "ReLU",
    "SiLU",
    "Sigmoid",
    "Softplus",
    "Step",
    "Tanh",
    "get_activation",
]
