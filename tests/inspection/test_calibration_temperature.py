"""Temperature scaling, against closed forms, a dense grid and scikit-learn's log loss."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar
from scipy.special import expit, softmax
from sklearn.metrics import log_loss

from lamina._errors import DataError, ParameterError
from lamina.inspection import calibration, temperature


def overconfident(rng, n=2000, n_classes=4, factor=3.0):
    """Labels from softmax(z), and the logits factor · z."""
    logits = 1.5 * rng.normal(size=(n, n_classes))
    edges = softmax(logits, axis=1).cumsum(axis=1)[:, :-1]
    return (rng.random(n)[:, None] > edges).sum(axis=1), factor * logits


def test_a_closed_form():
    # With one logit a for all rows, expit(a / T) is the share of the second class.
    result = temperature([1, 1, 1, 0, 1], np.full(5, -7.0) * -1)
    assert result.temperature == pytest.approx(7 / math.log(4), rel=1e-12)
    assert result.nll_after == pytest.approx(-0.8 * math.log(0.8) - 0.2 * math.log(0.2))
    assert result.nll_before == pytest.approx(
        -0.8 * math.log(expit(7)) - 0.2 * math.log(expit(-7))
    )


def test_the_factor_is_found_and_the_calibration_error_falls(rng):
    y, logits = overconfident(rng)
    result = temperature(y, logits)
    # The standard error of ln T is about 0.03 on so many rows.
    assert result.temperature == pytest.approx(3.0, rel=0.1)
    before, after = (calibration(y, p) for p in (softmax(logits, axis=1), result.apply(logits)))
    assert before.ece > 0.1
    assert after.ece < 0.04
    assert after.accuracy == before.accuracy
    assert result.nll_before == pytest.approx(before.log_loss)
    assert result.nll_after == pytest.approx(after.log_loss)


def test_the_error_is_that_of_scikit_learn_and_a_search_finds_no_better(rng):
    y, logits = overconfident(rng, n=300)
    result = temperature(y, logits)

    def error(log_t):
        return log_loss(y, softmax(logits / math.exp(log_t), axis=1))

    found = minimize_scalar(error, bracket=(0.0, 1.0, 3.0), tol=1e-10)
    assert result.nll_after <= found.fun + 1e-13
    assert result.temperature == pytest.approx(math.exp(found.x), rel=1e-5)


def test_the_root_is_exact_to_rounding(rng):
    y, logits = overconfident(rng, n=40, n_classes=3)
    result = temperature(y, logits)
    with mpmath.workdps(40):
        rows = [[mpmath.mpf(float(z)) for z in row] for row in logits]

        def slope(beta):
            total = mpmath.mpf(0)
            for row, label in zip(rows, y, strict=True):
                weights = [mpmath.e ** (beta * z) for z in row]
                mean = sum(w * z for w, z in zip(weights, row, strict=True)) / sum(weights)
                total += mean - row[label]
            return total

        exact = 1 / mpmath.findroot(slope, 1 / result.temperature)
    assert result.temperature == pytest.approx(float(exact), rel=1e-13)


@given(
    arrays(float, (12, 3), elements=st.floats(-50, 50)),
    st.lists(st.integers(0, 2), min_size=12, max_size=12),
)
def test_no_temperature_is_better(logits, y):
    result = temperature(y, logits, classes=[0, 1, 2])
    best = result.temperature
    assert result.nll_after <= result.nll_before + 1e-12 or best == 0.01
    own = np.arange(12), np.array(y)
    for t in (0.011, 0.1, 0.5, 0.9, 1.1, 2.0, 30.0, 1e4):
        at = min(max(best, 1e-2), 1e6) * t
        if at >= 0.01:
            z = logits / at
            top = z.max(axis=1)
            nll = np.log(np.exp(z - top[:, None]).sum(axis=1)) + top - z[own]
            assert result.nll_after <= nll.mean() * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("unit", [1e-8, 1e-3, 266.0, 1e12, 1e300])
def test_the_temperature_is_in_units_of_the_logits(rng, unit):
    y, logits = overconfident(rng, n=200)
    one = temperature(y, logits, min_temperature=1e-12)
    other = temperature(y, unit * logits, min_temperature=1e-12)
    assert other.temperature == pytest.approx(unit * one.temperature, rel=1e-11)
    assert other.nll_after == pytest.approx(one.nll_after, rel=1e-11)
    np.testing.assert_allclose(other.apply(unit * logits), one.apply(logits), rtol=1e-9)


def test_a_constant_of_each_row_does_not_matter(rng):
    y, logits = overconfident(rng, n=200)
    one, other = temperature(y, logits), temperature(y, logits + 800 * rng.normal(size=(200, 1)))
    assert other.temperature == pytest.approx(one.temperature, rel=1e-9)


def test_extreme_logits():
    z = np.array([[800.0, -800.0]] * 9 + [[-800.0, 800.0]])
    result = temperature([0] * 10, z, classes=[0, 1])
    assert result.temperature == pytest.approx(1600 / math.log(9), rel=1e-12)
    assert result.nll_before == pytest.approx(160.0)
    assert result.nll_after == pytest.approx(-0.9 * math.log(0.9) - 0.1 * math.log(0.1))
    largest = np.finfo(float).max
    huge = temperature([0, 0, 0, 1], np.array([[largest, -largest]] * 4))
    assert huge.nll_after == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))
    assert math.isfinite(huge.temperature)


def test_where_every_row_is_right_the_bound_is_taken_and_told():
    result = temperature([0, 1, 2], 5 * np.eye(3))
    assert (result.temperature, result.at_bound) == (0.01, True)
    assert result.nll_after == pytest.approx(2 * math.exp(-500), rel=1e-9)
    assert "the lowest allowed" in result.summary()
    assert temperature([0, 1, 2], np.eye(3), min_temperature=0.5).temperature == 0.5


def test_where_logits_tell_nothing_probabilities_become_equal():
    result = temperature([0, 1, 2], -5 * np.eye(3))
    assert result.temperature == math.inf
    assert not result.at_bound
    np.testing.assert_allclose(result.apply(np.eye(3)), 1 / 3)
    assert result.nll_after == pytest.approx(math.log(3))
    assert "no better than equal probabilities" in result.summary()
    same = temperature([0, 1], np.zeros((2, 2)))
    assert (same.temperature, same.nll_after) == (1.0, pytest.approx(math.log(2)))


def test_one_row_and_one_class():
    assert temperature([1], [3.0]).at_bound
    wrong = temperature([0], [3.0])
    assert wrong.temperature == math.inf
    mixed = temperature([1, 1, 1], [2.0, 2.0, -1.0])
    assert mixed.temperature == pytest.approx(
        # 2·2·expit(-2b) = 1·expit(b): with s = e^b, 4 (1 + s) = s (1 + s²).
        1 / math.log(max(r.real for r in np.roots([1, 0, -3, -4]) if abs(r.imag) < 1e-9)),
        rel=1e-12,
    )


def test_one_column_is_two_columns(rng):
    y, logits = overconfident(rng, n=200, n_classes=2)
    two, one = temperature(y, logits), temperature(y, logits[:, 1] - logits[:, 0])
    assert one.temperature == pytest.approx(two.temperature, rel=1e-12)
    probabilities = one.apply(logits[:, 1] - logits[:, 0])
    assert probabilities.shape == (200,)
    np.testing.assert_allclose(probabilities, two.apply(logits)[:, 1], rtol=1e-12)


def test_float32_and_read_only_arrays(rng):
    y, logits = overconfident(rng, n=200)
    single = np.asfortranarray(logits.astype(np.float32))
    single.flags.writeable = False
    assert temperature(y, single).temperature == pytest.approx(
        temperature(y, logits).temperature, rel=1e-5
    )


def test_the_curve_is_lowest_at_the_temperature(rng):
    y, logits = overconfident(rng, n=300)
    result = temperature(y, logits)
    at, errors = result.curve.T
    assert errors.min() >= result.nll_after
    assert at[0] < 1 < result.temperature < at[-1]
    assert errors[20] == pytest.approx(log_loss(y, softmax(logits / at[20], axis=1)))


def test_wrong_calls_get_one_sentence():
    with pytest.raises(DataError, match=r"logits must be finite numbers\. Got inf in row 1"):
        temperature([0, 1], [0.0, np.inf])
    with pytest.raises(DataError, match="at least one row"):
        temperature([], np.empty((0, 3)))
    with pytest.raises(DataError, match=r"Pass classes=model\.classes_"):
        temperature([0, 1], np.zeros((2, 3)))
    with pytest.raises(ParameterError, match="min_temperature must be a finite number in"):
        temperature([0, 1], [1.0, 2.0], min_temperature=0.0)
    result = temperature([0, 1, 0], [-1.0, 2.0, 1.0])
    with pytest.raises(DataError, match="logits must have 2 classes, as in the fit"):
        result.apply(np.zeros((4, 3)))
