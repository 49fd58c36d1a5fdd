"""scikit-learn's checks of its estimator interface, on every estimator of this room."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lamina.estimators import MixtureDensityRegressor, MLPClassifier, MLPRegressor

ESTIMATORS = [
    MLPClassifier(max_iter=100),
    MLPRegressor(max_iter=100),
    MLPClassifier(hidden_layer_sizes=(8,), solver="lbfgs", class_weight="balanced"),
    MLPRegressor(loss="poisson", hidden_layer_sizes=(8,), activation="tanh", max_iter=800),
    MLPClassifier(hidden_layer_sizes=(8,), n_members=3, max_iter=60, learning_rate_init=0.02),
    MLPRegressor(hidden_layer_sizes=(8,), n_members=3, max_iter=60, learning_rate_init=0.02),
    MLPRegressor("heteroscedastic", hidden_layer_sizes=(8,), learning_rate_init=0.02),
    MLPClassifier(hidden_layer_sizes=(8,), label_noise="learn", max_iter=100),
    MixtureDensityRegressor(2, hidden_layer_sizes=(16,), alpha=1.0, input_noise=0.0, max_iter=200),
]

pytestmark = pytest.mark.filterwarnings("ignore")


def expected_failures(estimator):
    """Return the checks that an estimator cannot pass, each with the reason."""
    if estimator.get_params().get("loss") == "poisson":
        return {"check_regressor_multioutput": "its targets are negative, which counts are not"}
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_sklearn_check(estimator, check):
    check(estimator)
