"""Search hundreds of networks at once: candidates × folds as members of stacks."""

from ._encoded import EncodedClassifier, EncodedRegressor
from ._ensemble import StackedEnsembleClassifier, StackedEnsembleRegressor
from ._importance import ImportanceResult, parameter_importance
from ._report import SearchReport
from ._search import StackedSearchCV
from ._studies import StageView, StudyInfo, StudyView, TrialView, list_studies, read_study

__all__ = [
    "EncodedClassifier",
    "EncodedRegressor",
    "ImportanceResult",
    "SearchReport",
    "StackedEnsembleClassifier",
    "StackedEnsembleRegressor",
    "StackedSearchCV",
    "StageView",
    "StudyInfo",
    "StudyView",
    "TrialView",
    "list_studies",
    "parameter_importance",
    "read_study",
]
