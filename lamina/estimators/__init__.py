"""Estimators with scikit-learn's interface, trained by the stack; saving and loading."""

from ._classifier import MLPClassifier
from ._persistence import load, save
from ._regressor import MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor", "load", "save"]
