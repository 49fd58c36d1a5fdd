"""scikit-learn's checks of its estimator interface, on every encoder."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lamina.estimators import ContrastiveEncoder, CrossModalEncoder, DenoisingEncoder

SMALL = {"hidden_layer_sizes": (8,), "max_steps": 5, "batch_size": 16}

ESTIMATORS = [
    ContrastiveEncoder(**SMALL),
    ContrastiveEncoder(**SMALL, pairs="instance", dtype="float64"),
    CrossModalEncoder(4, **SMALL),
    DenoisingEncoder(**SMALL),
    DenoisingEncoder(**SMALL, mask_weight=0.0, decoder_sizes=(8,), dtype="float64"),
]

pytestmark = pytest.mark.filterwarnings("ignore")


@parametrize_with_checks(ESTIMATORS)
def test_sklearn_check(estimator, check):
    check(estimator)
