"""Heads: what the raw outputs of a network mean, and the error that follows from it.

===============  ============================  =======================  ===================
target           head                          mean                     error per row
===============  ============================  =======================  ===================
real             `Normal`                      identity                 squared error / 2
0 or 1, labels   `Bernoulli`                   logistic sigmoid         binary cross-entropy
one of K         `Categorical`                 softmax                  cross-entropy
count            `Poisson`                     exponential              Poisson likelihood
===============  ============================  =======================  ===================

In all four the gradient of the error on the raw outputs is mean minus target.
"""

from ._bernoulli import Bernoulli
from ._categorical import Categorical
from ._custom import Custom
from ._head import Head
from ._mixture import Mixture
from ._normal import Normal
from ._poisson import Poisson
from ._probabilities import floor_of_double_softmax
from ._registry import HEADS, get_head, head_from_config

__all__ = [
    "HEADS",
    "Bernoulli",
    "Categorical",
    "Custom",
    "Head",
    "Mixture",
    "Normal",
    "Poisson",
    "floor_of_double_softmax",
    "get_head",
    "head_from_config",
]
