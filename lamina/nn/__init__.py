"""One network as a torch module: activations, initialisation, layers, conversions."""

from ._activation import Activation
from ._activations import ACTIVATIONS, get_activation
from ._initialisation import (
    INITIALISATIONS,
    Gaussian,
    Initialisation,
    Orthogonal,
    ScaledUniform,
    SklearnUniform,
    TorchUniform,
    Uniform,
    get_initialisation,
    initialise,
)
from ._piecewise import Abs, HardTanh, Identity, LeakyReLU, PReLU, ReLU, Step
from ._smooth import ELU, GELU, Sigmoid, SiLU, Softplus, Tanh

__all__ = [
    "ACTIVATIONS",
    "ELU",
    "GELU",
    "INITIALISATIONS",
    "Abs",
    "Activation",
    "Gaussian",
    "HardTanh",
    "Identity",
    "Initialisation",
    "LeakyReLU",
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
    "get_activation",
    "get_initialisation",
    "initialise",
]
