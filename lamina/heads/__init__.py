"""Heads: what the raw outputs of a network mean, and the error that follows from it.

===================  ======================  ===============================  ====================
target               head                    raw outputs                      error per row
===================  ======================  ===============================  ====================
real                 `Normal`                mean; scale 1, one learnt        squared error / 2;
                                             number, or an output             normal likelihood
several reals        `MultivariateNormal`    means, Cholesky factor           normal likelihood
real, many answers   `Mixture`               logits, means, scales            mixture likelihood
bits, many answers   ``Mixture(component=    logits, logits of bits           mixture likelihood
                     "bernoulli")``
real, any shape      `Quantiles`             middle one, steps                pinball loss
count                `Poisson`               log rate                         Poisson likelihood
count, wider         `NegativeBinomial`      log mean, log dispersion         its likelihood
0 or 1, labels       `Bernoulli`             logits; label noise              binary cross-entropy
one of K             `Categorical`           logits; label noise              cross-entropy
anything             `FromDistribution`      your torch distribution's        its likelihood
anything             `Custom`                your loss's                      your loss
===================  ======================  ===============================  ====================

For `Normal` with unit scale, `Poisson`, and `Bernoulli` and `Categorical` without label noise the
gradient of the error on the raw outputs is mean minus target. All but the last two have their
gradient in closed form.
"""

from ._bernoulli import Bernoulli
from ._categorical import Categorical
from ._custom import Custom
from ._from_distribution import FromDistribution
from ._head import Head
from ._mixture import Mixture
from ._multivariate_normal import MultivariateNormal
from ._negative_binomial import NegativeBinomial
from ._normal import Normal
from ._poisson import Poisson
from ._probabilities import floor_of_double_softmax
from ._quantiles import Quantiles
from ._registry import HEADS, get_head, head_from_config

__all__ = [
    "HEADS",
    "Bernoulli",
    "Categorical",
    "Custom",
    "FromDistribution",
    "Head",
    "Mixture",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "Poisson",
    "Quantiles",
    "floor_of_double_softmax",
    "get_head",
    "head_from_config",
]
