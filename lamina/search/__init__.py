"""Search hundreds of networks at once: candidates × folds as members of stacks."""

from ._ensemble import StackedEnsembleClassifier, StackedEnsembleRegressor
from ._search import StackedSearchCV

__all__ = ["StackedEnsembleClassifier", "StackedEnsembleRegressor", "StackedSearchCV"]
