"""How sure the members of a table classifier may be: held-out rows tell."""

from __future__ import annotations

import math

from scipy.optimize import minimize_scalar

from lamina.heads import Categorical, Head
from lamina.nn import Network

from ._table_spread import HeldOut

_PRIOR = 0.15
"""Standard deviation, in ln T, of what is believed beforehand: it decides where few of the
held-out rows are mistaken."""

_WIDEST = 1.5
"""ln T is between -1.5 and 1.5."""


def tempered(
    networks: list[Network], head: Head, held_out: HeldOut
) -> tuple[list[Network], float]:
    r"""Return the networks with all logits divided by a temperature, and the temperature.

    One network is too sure of rows that it has not seen. Its temperature is the most probable one
    for the rows that the members held out,

    .. math:: \ln T_1 = \arg\min_t \sum_k \sum_{n \in V_k} -\ln \mathrm{softmax}_{y_n}
              \big(a_k(x_n) e^{-t}\big) + \frac{t^2}{2 s^2}

    The mean over K of them is less sure than each, and needs :math:`T = T_1^{1/K}`: by
    measurement, one network gains one percent of its log loss, two or four gain half a percent.

    Without held-out rows, or with label noise, T is 1.
    """
    if type(head) is not Categorical or head.label_noise != 0.0 or held_out.is_empty:
        return networks, 1.0
    parts = list(held_out.of_each(networks))

    def loss(t: float) -> float:
        total = 0.5 * (t / _PRIOR) ** 2
        for rows in parts:
            total += float(rows.weights @ head.error(rows.raws[0] * math.exp(-t), rows.y))
        return total

    found = minimize_scalar(loss, bounds=(-_WIDEST, _WIDEST), method="bounded")
    temperature = math.exp(float(found.x) / len(networks))
    return [divided(network, temperature) for network in networks], temperature


def divided(network: Network, temperature: float) -> Network:
    """Return a network whose raw outputs are divided by a number."""
    layers = network.layers()
    weights, biases = layers[-1]
    divided = [(part / temperature).astype(part.dtype) for part in (weights, biases)]
    layers = [*layers[:-1], (divided[0], divided[1])]
    return Network.from_arrays(layers, network.activations[:-1], slopes=network.slopes)
