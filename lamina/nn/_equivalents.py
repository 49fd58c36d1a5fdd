"""Write a network of tanh units as one of logistic units, and back."""

from __future__ import annotations

from collections.abc import Callable

from lamina._errors import ParameterError

from ._activation import Activation
from ._initialisation import Layer
from ._network import Network
from ._smooth import Sigmoid, Tanh


def tanh_to_logistic(network: Network) -> Network:
    r"""Return a network with logistic hidden units that computes the same function.

    .. math:: \tanh a = 2\sigma(2a) - 1

    so the weights and biases into a tanh layer double, the weights out of it double, and the
    biases above lose the sum of the weights that come up from it.

    Parameters
    ----------
    network : Network
        A network with at least one hidden layer of tanh units; other layers stay as they are.

    Returns
    -------
    Network
        With ``sigmoid`` in place of ``tanh`` in the hidden layers.

    Raises
    ------
    ParameterError
        If no hidden layer has tanh units.

    Examples
    --------
    >>> network = Network((2, 8, 1), "tanh", random_state=0)
    >>> twin = tanh_to_logistic(network)
    >>> gap = abs(twin.predict_raw([3, 1]) - network.predict_raw([3, 1])).max()
    >>> twin.activations[0].name, bool(gap < 1e-12)
    ('sigmoid', True)
    """
    return _converted(network, Tanh, lambda activation: (Sigmoid(), 2.0, 2.0, -1.0))


def logistic_to_tanh(network: Network) -> Network:
    r"""Return a network with tanh hidden units that computes the same function.

    .. math:: \sigma(sa) = \tfrac12 \tanh(\tfrac12 s a) + \tfrac12

    Parameters
    ----------
    network : Network
        A network with at least one hidden layer of logistic units, of any steepness :math:`s`;
        other layers stay as they are.

    Returns
    -------
    Network
        With ``tanh`` in place of ``sigmoid`` in the hidden layers.

    Raises
    ------
    ParameterError
        If no hidden layer has logistic units.

    Examples
    --------
    >>> network = Network((2, 8, 1), "sigmoid", random_state=0)
    >>> twin = logistic_to_tanh(network)
    >>> gap = abs(twin.predict_raw([3, 1]) - network.predict_raw([3, 1])).max()
    >>> twin.activations[0].name, bool(gap < 1e-12)
    ('tanh', True)
    """

    def rule(activation: Activation) -> tuple[Activation, float, float, float]:
        steepness = activation.steepness if isinstance(activation, Sigmoid) else 1.0
        return Tanh(), 0.5 * steepness, 0.5, 0.5

    return _converted(network, Sigmoid, rule)


def _converted(
    network: Network,
    kind: type[Activation],
    rule: Callable[[Activation], tuple[Activation, float, float, float]],
) -> Network:
    """Replace ``kind`` in hidden layers; ``f(a) = output · g(input · a) + shift`` by the rule."""
    layers = network.layers()
    activations = list(network.activations)
    places = [i for i, f in enumerate(activations[:-1]) if isinstance(f, kind)]
    if not places:
        names = [activation.spec for activation in activations[:-1]]
        raise ParameterError(
            f"network must have a hidden layer of {kind.name!r} units. Got hidden layers {names}."
        )
    for i in places:
        activations[i], into, out_of, shift = rule(activations[i])
        _change(layers, i, into, out_of, shift)
    return Network.from_arrays(
        layers,
        activations[:-1],
        output_activation=activations[-1],
        slopes=[slope if slope is None else slope.detach() for slope in network.slopes],
    )


def _change(layers: list[Layer], i: int, into: float, out_of: float, shift: float) -> None:
    """Scale the weights around hidden layer ``i`` and move its shift to the biases above."""
    W, b = layers[i]
    above, biases_above = layers[i + 1]
    layers[i] = (into * W, into * b)
    layers[i + 1] = (out_of * above, biases_above + shift * above.sum(axis=1))
