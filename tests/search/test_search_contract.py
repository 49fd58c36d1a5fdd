"""scikit-learn's checks of its estimator interface, on a search and on ensembles."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lamina import MLPClassifier, MLPRegressor, StackedSearchCV
from lamina.search import StackedEnsembleClassifier, StackedEnsembleRegressor

SETTINGS = {"solver": "lbfgs", "max_iter": 200, "random_state": 0}
CLASSIFIER = MLPClassifier((4,), **SETTINGS)
REGRESSOR = MLPRegressor(hidden_layer_sizes=(4,), **SETTINGS)
SEARCH = {"cv": 2, "random_state": 0, "error_score": "raise"}

ESTIMATORS = [
    StackedSearchCV(CLASSIFIER, {"alpha": [1e-3]}, **SEARCH),
    StackedSearchCV(REGRESSOR, {"alpha": [1e-3]}, **SEARCH),
    # A convex problem: with weights and with repeated rows it ends at the same place.
    StackedEnsembleClassifier([MLPClassifier((), alpha=0.1, **SETTINGS)]),
    StackedEnsembleRegressor([REGRESSOR]),
]

pytestmark = pytest.mark.filterwarnings("ignore")


@parametrize_with_checks(ESTIMATORS)
def test_sklearn_check(estimator, check):
    check(estimator)


def test_numbers_that_came_as_objects_are_classes(classes):
    X, y = classes
    search = StackedSearchCV(CLASSIFIER, {"alpha": [1e-3]}, **SEARCH)
    objects = search.fit(X, y.astype(object)).predict_proba(X)
    np.testing.assert_array_equal(objects, search.fit(X, y).predict_proba(X))
