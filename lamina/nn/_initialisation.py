r"""Initial weights: by rule of the layer's size, or on the user's own scale.

A layer sums :math:`n_\text{in}` products, so weights of variance :math:`1/n_\text{in}` give
pre-activations of the size of the inputs, and :math:`g^2/n_\text{in}` makes up for what the
activation takes away (:attr:`Activation.gain`). Larger weights saturate bounded activations,
smaller ones let signal and gradient fade from layer to layer.

References
----------
.. [1] Y. LeCun, L. Bottou, G. B. Orr, K.-R. Müller, Efficient BackProp, 1998,
   http://yann.lecun.com/exdb/publis/pdf/lecun-98b.pdf
.. [2] X. Glorot, Y. Bengio, Understanding the difficulty of training deep feedforward neural
   networks, AISTATS 2010, https://proceedings.mlr.press/v9/glorot10a.html
.. [3] K. He, X. Zhang, S. Ren, J. Sun, Delving deep into rectifiers, ICCV 2015,
   https://arxiv.org/abs/1502.01852
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TypeAlias

import numpy as np

from lamina._checks import check_choice, check_real, shown, suggestion
from lamina._errors import ParameterError
from lamina._random import INIT, generator
from lamina._typing import FloatArray

from ._activation import Activation
from ._layer_sizes import check_layer_sizes, layer_activations

Rng: TypeAlias = np.random.Generator | np.random.RandomState
Layer: TypeAlias = tuple[FloatArray, FloatArray]

RULES = ("glorot", "he", "lecun")


@dataclass(frozen=True)
class LayerPlace:
    """What an initialisation may know of a layer.

    Attributes
    ----------
    fan_in, fan_out : int
        Numbers of inputs and outputs.
    activation : Activation
        What follows the layer.
    is_output : bool
        Whether it is the last layer.

    Examples
    --------
    >>> from lamina.nn import ReLU
    >>> W, b = Gaussian("he").draw(LayerPlace(50, 10, ReLU(), False), np.random.default_rng(0))
    >>> W.shape, b.shape
    ((10, 50), (10,))
    """

    fan_in: int
    fan_out: int
    activation: Activation
    is_output: bool


def _standard_deviation(rule: str, place: LayerPlace) -> float:
    """Return the standard deviation of the weights by a named rule."""
    if rule == "glorot":
        return math.sqrt(2.0 / (place.fan_in + place.fan_out))
    gain = place.activation.gain if rule == "he" else 1.0
    return gain / math.sqrt(place.fan_in)


class Initialisation(ABC):
    """A rule that draws the weights (out, in) and biases (out,) of one layer."""

    @abstractmethod
    def draw(self, place: LayerPlace, rng: Rng) -> Layer:
        """Return weights and biases of the layer as ``float64`` arrays."""


@dataclass(frozen=True)
class Gaussian(Initialisation):
    r"""Normal weights and biases with mean zero.

    Parameters
    ----------
    weight_scale : float or {"lecun", "he", "glorot"}, default="lecun"
        Standard deviation of the weights: a number, or :math:`1/\sqrt{n_\text{in}}`,
        :math:`g/\sqrt{n_\text{in}}` with the gain :math:`g` of the activation, or
        :math:`\sqrt{2/(n_\text{in} + n_\text{out})}`.
    bias_scale : float, default=0.0
        Standard deviation of the biases; 0 sets them to zero without a draw.

    Examples
    --------
    >>> layers = initialise((2, 3, 1), Gaussian(1.0, bias_scale=0.5), rng=np.random.default_rng(0))
    >>> [(W.shape, b.shape) for W, b in layers]
    [((3, 2), (3,)), ((1, 3), (1,))]
    """

    weight_scale: float | str = "lecun"
    bias_scale: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.weight_scale, str):
            check_choice("weight_scale", self.weight_scale, RULES)
        else:
            check_real("weight_scale", self.weight_scale, 0.0)
        check_real("bias_scale", self.bias_scale, 0.0)

    def draw(self, place: LayerPlace, rng: Rng) -> Layer:
        scale = self.weight_scale
        deviation = _standard_deviation(scale, place) if isinstance(scale, str) else scale
        weights = rng.normal(0.0, deviation, (place.fan_out, place.fan_in))
        if self.bias_scale == 0.0:
            return weights, np.zeros(place.fan_out)
        return weights, rng.normal(0.0, self.bias_scale, place.fan_out)


@dataclass(frozen=True)
class ScaledUniform(Initialisation):
    r"""Uniform weights with the variance of a named rule, and zero biases.

    Parameters
    ----------
    rule : {"glorot", "he", "lecun"}, default="glorot"
        As in :class:`Gaussian`. The bounds are :math:`\pm\sqrt 3` standard deviations, so
        Glorot's are :math:`\pm\sqrt{6/(n_\text{in} + n_\text{out})}`.

    Examples
    --------
    >>> W, _ = initialise((5, 1), ScaledUniform("glorot"), rng=np.random.default_rng(0))[0]
    >>> bool(abs(W).max() <= 1.0)
    True
    """

    rule: str = "glorot"

    def __post_init__(self) -> None:
        check_choice("rule", self.rule, RULES)

    def draw(self, place: LayerPlace, rng: Rng) -> Layer:
        bound = math.sqrt(3.0) * _standard_deviation(self.rule, place)
        return rng.uniform(-bound, bound, (place.fan_out, place.fan_in)), np.zeros(place.fan_out)


@dataclass(frozen=True)
class Uniform(Initialisation):
    r"""Uniform weights and biases between the user's bounds.

    Wide bounds spread the kinks of a small network over the range of its inputs, which the
    fan-in rules with zero biases do not.

    Parameters
    ----------
    low, high : float, default=-3.0, 3.0
        Bounds of weights and biases.
    output_scale : None, float or "1/sqrt(width)", default=None
        With a number :math:`c`, the output weights are uniform in :math:`(-c, c)` and the
        output biases zero; the text stands for :math:`c = 1/\sqrt M` with :math:`M` units
        below. ``None`` treats the last layer like the others.

    Examples
    --------
    >>> rule = Uniform(-3, 3, output_scale="1/sqrt(width)")
    >>> _, (W, b) = initialise((1, 16, 1), rule, "tanh", np.random.default_rng(0))
    >>> bool(abs(W).max() < 0.25), b.tolist()
    (True, [0.0])
    """

    low: float = -3.0
    high: float = 3.0
    output_scale: float | str | None = None

    def __post_init__(self) -> None:
        low = check_real("low", self.low)
        check_real("high", self.high, low)
        if isinstance(self.output_scale, str):
            check_choice("output_scale", self.output_scale, ["1/sqrt(width)"])
        elif self.output_scale is not None:
            check_real("output_scale", self.output_scale, 0.0)

    def draw(self, place: LayerPlace, rng: Rng) -> Layer:
        shape = (place.fan_out, place.fan_in)
        if self.output_scale is None or not place.is_output:
            weights = rng.uniform(self.low, self.high, shape)
            return weights, rng.uniform(self.low, self.high, place.fan_out)
        scale = self.output_scale
        bound = 1.0 / math.sqrt(place.fan_in) if isinstance(scale, str) else scale
        return rng.uniform(-bound, bound, shape), np.zeros(place.fan_out)


@dataclass(frozen=True)
class TorchUniform(Initialisation):
    r"""The rule of ``torch.nn.Linear``: weights and biases in :math:`\pm 1/\sqrt{n_\text{in}}`.

    Examples
    --------
    >>> W, b = initialise((4, 9), TorchUniform(), rng=np.random.default_rng(0))[0]
    >>> bool(abs(W).max() <= 0.5 and abs(b).max() <= 0.5)
    True
    """

    def draw(self, place: LayerPlace, rng: Rng) -> Layer:
        bound = 1.0 / math.sqrt(place.fan_in)
        weights = rng.uniform(-bound, bound, (place.fan_out, place.fan_in))
        return weights, rng.uniform(-bound, bound, place.fan_out)


@dataclass(frozen=True)
class SklearnUniform(Initialisation):
    r"""The rule of scikit-learn's multilayer perceptrons.

    Weights and biases are uniform in :math:`\pm\sqrt{c/(n_\text{in} + n_\text{out})}` with
    :math:`c = 2` for the logistic sigmoid and 6 otherwise. With a ``RandomState``, and the
    hidden activation also given for the output layer, the draws are scikit-learn's own.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> W, b = initialise((4, 2), SklearnUniform(), ["logistic"], rng)[0]
    >>> bool(abs(W).max() <= 3**-0.5)
    True
    """

    def draw(self, place: LayerPlace, rng: Rng) -> Layer:
        factor = 2.0 if place.activation.name == "sigmoid" else 6.0
        bound = math.sqrt(factor / (place.fan_in + place.fan_out))
        # scikit-learn keeps weights as (in, out) and draws them in that order.
        weights = rng.uniform(-bound, bound, (place.fan_in, place.fan_out)).T.copy()
        return weights, rng.uniform(-bound, bound, place.fan_out)


@dataclass(frozen=True)
class Orthogonal(Initialisation):
    """Rows or columns that are orthonormal, times the gain of the activation; zero biases.

    References
    ----------
    .. [1] A. M. Saxe, J. L. McClelland, S. Ganguli, Exact solutions to the nonlinear dynamics
       of learning in deep linear neural networks, ICLR 2014, https://arxiv.org/abs/1312.6120

    Examples
    --------
    >>> W, _ = initialise((5, 3), Orthogonal(), rng=np.random.default_rng(0))[0]
    >>> bool(np.allclose(W @ W.T, np.eye(3)))
    True
    """

    def draw(self, place: LayerPlace, rng: Rng) -> Layer:
        tall = (max(place.fan_out, place.fan_in), min(place.fan_out, place.fan_in))
        q, r = np.linalg.qr(rng.normal(0.0, 1.0, tall))
        # The signs of R's diagonal make the factor unique and so Q uniformly distributed.
        q *= np.where(np.diag(r) < 0.0, -1.0, 1.0)
        weights = q if place.fan_out >= place.fan_in else q.T
        return place.activation.gain * np.ascontiguousarray(weights), np.zeros(place.fan_out)


INITIALISATIONS: dict[str, Initialisation] = {
    "glorot": ScaledUniform("glorot"),
    "glorot_normal": Gaussian("glorot"),
    "he": Gaussian("he"),
    "he_uniform": ScaledUniform("he"),
    "lecun": Gaussian("lecun"),
    "orthogonal": Orthogonal(),
    "sklearn": SklearnUniform(),
    "torch": TorchUniform(),
}
"""Every initialisation that has a name."""


def source_of_draws(random_state: int | Rng | None) -> Rng | None:
    """Return the source of draws; a seed gives those of a stack's member with that seed."""
    if random_state is None or isinstance(
        random_state, np.random.Generator | np.random.RandomState
    ):
        return random_state
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        return generator(int(random_state), INIT)
    raise ParameterError(
        "random_state must be None, an integer, a numpy Generator or a RandomState. "
        f"Got {shown(random_state)}."
    )


def get_initialisation(spec: str | Initialisation) -> Initialisation:
    """Return the initialisation that a name stands for, or the object given.

    Parameters
    ----------
    spec : str or Initialisation
        A name of :data:`INITIALISATIONS` or an object.

    Returns
    -------
    Initialisation
        The rule.

    Raises
    ------
    ParameterError
        If there is no initialisation of that name.

    Examples
    --------
    >>> get_initialisation("he")
    Gaussian(weight_scale='he', bias_scale=0.0)
    """
    if isinstance(spec, Initialisation):
        return spec
    if isinstance(spec, str) and spec in INITIALISATIONS:
        return INITIALISATIONS[spec]
    choices = ", ".join(repr(name) for name in INITIALISATIONS)
    raise ParameterError(
        f"init must be one of {choices}, or an Initialisation such as Gaussian(0.1). "
        f"Got {shown(spec)}.{suggestion(spec, INITIALISATIONS)}"
    )


def initialise(
    sizes: Sequence[int],
    init: str | Initialisation = "he",
    activations: str | Activation | Sequence[str | Activation] = "relu",
    rng: Rng | None = None,
) -> list[Layer]:
    """Draw the weights and biases of a network, layer by layer.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of units from input to output, at least two.
    init : str or Initialisation, default="he"
        A name of :data:`INITIALISATIONS` or an object.
    activations : str, Activation or a sequence of them, default="relu"
        One for all hidden layers, one for each hidden layer, or one for each layer including
        the output. The output layer's is otherwise the identity. A rule with a gain uses that
        of the activation that follows the layer.
    rng : numpy Generator or RandomState, optional
        Source of the draws, weights before biases in each layer; by default a new, unseeded
        generator.

    Returns
    -------
    list of (W, b)
        ``float64`` arrays of shape (out, in) and (out,).

    Raises
    ------
    ParameterError
        If sizes, name or activations cannot be used.

    Examples
    --------
    >>> W, b = initialise((100, 1000), "lecun", rng=np.random.default_rng(0))[0]
    >>> print(f"{W.std():.3f} {abs(b).max():.0f}")
    0.100 0
    """
    sizes = check_layer_sizes(sizes)
    rule = get_initialisation(init)
    rng = np.random.default_rng() if rng is None else rng
    n_layers = len(sizes) - 1
    followed_by = layer_activations(activations, n_layers)
    return [
        rule.draw(LayerPlace(sizes[i], sizes[i + 1], followed_by[i], i == n_layers - 1), rng)
        for i in range(n_layers)
    ]
