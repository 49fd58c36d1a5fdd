"""Mixtures of normals for one target, against SciPy, quadrature and the closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lamina.distributions import NormalMixture


def test_one_component_is_scipys_normal(rng):
    loc, scale, y = rng.normal(size=6), np.exp(rng.normal(size=6)), rng.normal(size=6)
    dist, truth = NormalMixture(loc, scale), stats.norm(loc, scale)
    np.testing.assert_allclose(dist.log_prob(y), truth.logpdf(y), rtol=1e-13)
    np.testing.assert_allclose(dist.cdf(y), truth.cdf(y), rtol=1e-13)
    np.testing.assert_allclose(dist.quantile(0.03), truth.ppf(0.03), rtol=1e-13)
    np.testing.assert_allclose(dist.mean(), loc)
    np.testing.assert_allclose(dist.std(), scale)


def test_a_wrong_shape_gets_one_sentence():
    with pytest.raises(ValueError, match=r"y must be a number or have shape \(2,\)"):
        NormalMixture([0.0, 1.0], [1.0, 1.0]).cdf(np.zeros(3))
