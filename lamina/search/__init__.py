"""Search hundreds of networks at once: candidates × folds as members of stacks."""

from ._search import StackedSearchCV

__all__ = ["StackedSearchCV"]
