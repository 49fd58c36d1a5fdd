"""Predictive distributions in numbers: the target of each row, in its own units."""

from ._count_families import BernoulliMixture, NegativeBinomialMixture, PoissonMixture
from ._ensembles import mixture_of
from ._from_torch import predictive
from ._interpolated import InterpolatedQuantiles
from ._mixture_of import MixtureOf
from ._multivariate_normal import MultivariateNormalMixture
from ._normal_mixture import NormalMixture
from ._predictive import Modes, Predictive
from ._product import ProductMixture
from ._quantile_torch import QuantileFunction
from ._torch_distribution import TorchDistribution

__all__ = [
    "BernoulliMixture",
    "InterpolatedQuantiles",
    "MixtureOf",
    "Modes",
    "MultivariateNormalMixture",
    "NegativeBinomialMixture",
    "NormalMixture",
    "PoissonMixture",
    "Predictive",
    "ProductMixture",
    "QuantileFunction",
    "TorchDistribution",
    "mixture_of",
    "predictive",
]
