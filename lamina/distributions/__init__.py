"""Predictive distributions in numbers: the target of each row, in its own units."""

from ._from_torch import predictive
from ._multivariate_normal import MultivariateNormalMixture
from ._normal_mixture import NormalMixture
from ._predictive import Predictive
from ._quantile_torch import QuantileFunction

__all__ = [
    "MultivariateNormalMixture",
    "NormalMixture",
    "Predictive",
    "QuantileFunction",
    "predictive",
]
