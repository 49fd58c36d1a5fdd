"""Estimators with scikit-learn's interface, trained by the stack; saving and loading."""

from ._classifier import MLPClassifier
from ._encoder_contrastive import ContrastiveEncoder
from ._encoder_cross_modal import CrossModalEncoder
from ._encoder_denoising import DenoisingEncoder
from ._mixture_density import MixtureDensityRegressor
from ._multitask import MultitaskNetwork
from ._persistence import load, save
from ._regressor import MLPRegressor
from ._table_classifier import TableClassifier
from ._table_regressor import TableRegressor
from ._transfer_classifier import TransferClassifier
from ._transfer_regressor import TransferRegressor
from ._transfer_report import TransferResult
from ._trunk import Trunk

__all__ = [
    "ContrastiveEncoder",
    "CrossModalEncoder",
    "DenoisingEncoder",
    "MLPClassifier",
    "MLPRegressor",
    "MixtureDensityRegressor",
    "MultitaskNetwork",
    "TableClassifier",
    "TableRegressor",
    "TransferClassifier",
    "TransferRegressor",
    "TransferResult",
    "Trunk",
    "load",
    "save",
]
