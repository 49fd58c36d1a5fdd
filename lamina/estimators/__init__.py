"""Estimators with scikit-learn's interface, trained by the stack; saving and loading."""

from ._classifier import MLPClassifier
from ._encoder_contrastive import ContrastiveEncoder
from ._encoder_cross_modal import CrossModalEncoder
from ._encoder_denoising import DenoisingEncoder
from ._mixture_density import MixtureDensityRegressor
from ._persistence import load, save
from ._regressor import MLPRegressor
from ._table_classifier import TableClassifier
from ._table_regressor import TableRegressor

__all__ = [
    "ContrastiveEncoder",
    "CrossModalEncoder",
    "DenoisingEncoder",
    "MLPClassifier",
    "MLPRegressor",
    "MixtureDensityRegressor",
    "TableClassifier",
    "TableRegressor",
    "load",
    "save",
]
