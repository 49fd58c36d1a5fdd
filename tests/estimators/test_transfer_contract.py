"""scikit-learn's checks of its estimator interface, on the transfers."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lamina.estimators import DenoisingEncoder, TransferClassifier, TransferRegressor

ENCODER = DenoisingEncoder(hidden_layer_sizes=(16,), max_steps=20, random_state=0)
ESTIMATORS = [
    TransferClassifier(),
    TransferRegressor(),
    TransferClassifier(ENCODER, calibrate=False),
    TransferRegressor(ENCODER, alpha=0.1),
    TransferClassifier(ENCODER, "fine_tune", calibrate=False),
    TransferRegressor(ENCODER, "last", max_iter=40, hidden_layer_sizes=(8,)),
    TransferClassifier(hidden_layer_sizes=(8,), n_members=2, dropout=0.1, calibrate=False),
]

KINDS = ("dense", "sparse")

pytestmark = pytest.mark.filterwarnings("ignore")


def expected_failures(estimator):
    """Return the checks that an estimator cannot pass, each with the reason."""
    if estimator.pretrained is None and not estimator.dropout:
        return {}
    reason = "encoders know no weights, and dropout and batches are drawn row by row"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in KINDS}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_sklearn_check(estimator, check):
    check(estimator)
