"""Estimators with scikit-learn's interface, trained by the stack."""

from ._classifier import MLPClassifier
from ._regressor import MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor"]
