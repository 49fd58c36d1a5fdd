"""Intrinsic dimension against scikit-dimension's figures, plain loops and doubled rows."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from lamina._errors import DataError, ParameterError
from lamina.inspection import levina_bickel, two_nn
from lamina.inspection._dimension_neighbours import nearest


def embedded(n_samples, seed=0, n_features=784):
    """Ten Gaussian numbers a row, bent into many features by tanh and sin."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n_samples, 10))
    A = rng.standard_normal((10, n_features // 2)) / np.sqrt(10)
    B = rng.standard_normal((10, n_features // 2)) / np.sqrt(10)
    return np.hstack([np.tanh(Z @ A), np.sin(Z @ B)])


EMBEDDED = embedded(500)


def test_the_line_agrees_with_scikit_dimension():
    # skdim.id.TwoNN().fit(X).dimension_ of scikit-dimension 0.5.0 on the same rows
    assert two_nn(EMBEDDED).dimension == pytest.approx(9.1616452249748, rel=1e-12)


def test_the_likelihood_agrees_with_scikit_dimension():
    # skdim.id.MLE().fit(X, n_neighbors=20, comb="mle") divides N (k - 1) and not one less
    n_ratios = 500 * 19
    expected = 8.754015624772714 * (n_ratios - 1) / n_ratios
    assert levina_bickel(EMBEDDED).dimension == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_copies", [2, 3])
@pytest.mark.parametrize("estimate", [two_nn, levina_bickel])
def test_repeated_rows_change_nothing_and_are_counted(estimate, n_copies):
    once = estimate(EMBEDDED)
    mixed = np.random.default_rng(0).permutation(np.repeat(EMBEDDED, n_copies, axis=0))
    again = estimate(mixed)
    assert again.dimension == pytest.approx(once.dimension, rel=1e-9)
    assert (again.n_duplicates, again.n_used) == (500 * (n_copies - 1), 500)
    assert "duplicates left out" in again.summary()
    assert "duplicates" not in once.summary()


def test_a_few_repeated_rows_change_nothing():
    mixed = np.vstack([EMBEDDED, EMBEDDED[:25]])
    assert two_nn(mixed).dimension == pytest.approx(two_nn(EMBEDDED).dimension, rel=1e-12)
    assert levina_bickel(mixed).dimension > 8


def test_minus_zero_is_a_copy_of_zero():
    X = np.random.default_rng(0).random((200, 3))
    X[:, 2] = 0.0
    twin = X.copy()
    twin[:, 2] = -0.0
    assert two_nn(np.vstack([X, twin])).n_duplicates == 200


def loops(X, k):
    """Both estimates with nothing but loops and logarithms."""
    logs = []
    for i in range(len(X)):
        away = sorted(math.dist(X[i], X[j]) for j in range(len(X)) if j != i)
        logs.append([math.log(away[k - 1] / r) for r in away[: k - 1]])
    flat = [v for row in logs for v in row]
    ratios = sorted(row[0] for row in logs)
    kept = ratios[: int(len(ratios) * 0.9)]
    heights = [-math.log(1 - (i + 1) / len(ratios)) for i in range(len(kept))]
    line = sum(x * y for x, y in zip(kept, heights, strict=True)) / sum(x * x for x in kept)
    return line, (len(flat) - 1) / sum(flat)


@pytest.mark.parametrize("n_features", [2, 30])
def test_both_estimates_equal_plain_loops(n_features):
    X = np.random.default_rng(5).standard_normal((60, n_features)) * [1.0] * n_features
    X[:, 1:] *= 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        line, two_mle = loops(X, 2)
        _, many = loops(X, 7)
        assert two_nn(X).dimension == pytest.approx(line, rel=1e-11)
        assert two_nn(X, method="mle").dimension == pytest.approx(two_mle, rel=1e-11)
        assert levina_bickel(X, 2).dimension == pytest.approx(two_mle, rel=1e-11)
        assert levina_bickel(X, 7).dimension == pytest.approx(many, rel=1e-11)


@pytest.mark.parametrize("n_features", [3, 40])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_distances_are_those_of_differences(n_features, offset):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, n_features)) + offset
    X[75:] = X[:75] + 1e-7 * rng.standard_normal((75, n_features))
    away = cdist(X, X)
    np.fill_diagonal(away, np.inf)
    np.testing.assert_allclose(nearest(X, 3), np.sort(away, axis=1)[:, :3], rtol=1e-9)


def test_a_cluster_tighter_than_the_rounding_of_products_is_searched_again():
    # 30 rows within 1e-9 of one another: |x|² + |z|² - 2xz sees noise of 1e-8 between them
    rng = np.random.default_rng(2)
    X = 10 + rng.standard_normal((60, 50))
    X[30:] = X[30] + 1e-9 * rng.standard_normal((30, 50))
    away = cdist(X, X)
    np.fill_diagonal(away, np.inf)
    np.testing.assert_allclose(nearest(X, 2), np.sort(away, axis=1)[:, :2], rtol=1e-12)


@pytest.mark.parametrize("n_dims", [1, 2, 5])
def test_an_even_cube_reads_its_dimension(n_dims):
    # standard error d/√2000; the fifth dimension already reads some low (borders)
    X = np.random.default_rng(3).random((2000, n_dims)) @ np.eye(n_dims, 20)
    assert two_nn(X).dimension == pytest.approx(n_dims, rel=0.08)
    assert levina_bickel(X).dimension == pytest.approx(n_dims, rel=0.13)


def test_the_standard_error_is_the_spread_over_draws():
    draws = [two_nn(np.random.default_rng(s).random((400, 2)), method="mle") for s in range(60)]
    spread = np.std([found.dimension for found in draws])
    # a standard deviation of 60 draws is off by 9 %; neighbours share ratios, which adds some
    assert draws[0].standard_error == pytest.approx(spread, rel=0.45)


def test_above_ten_dimensions_there_is_a_warning():
    X = np.random.default_rng(4).standard_normal((300, 30))
    for estimate in (two_nn, levina_bickel):
        with pytest.warns(UserWarning, match="Above 10 dimensions"):
            found = estimate(X)
        assert "lower bound" in found.summary()


def test_constant_columns_and_float32_are_harmless():
    X = EMBEDDED[:200].astype(np.float32)
    wide = np.column_stack([X, np.full(200, 3.0, dtype=np.float32)])
    assert two_nn(wide).dimension == pytest.approx(two_nn(X).dimension, rel=1e-9)


@given(st.integers(-1000, 1000), st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_units_do_not_matter(power, seed):
    X = np.random.default_rng(seed).standard_normal((40, 3))
    scaled = np.ldexp(X, power)
    assert two_nn(scaled).dimension == pytest.approx(two_nn(X).dimension, rel=1e-9)


def test_three_rows_are_rough_and_say_so():
    found = two_nn([[0.0], [1.0], [3.0]])
    assert math.isfinite(found.dimension)
    assert "3 distinct rows are few" in found.summary()


def test_a_lattice_has_no_dimension_to_read():
    found = two_nn(np.eye(30))
    assert found.dimension == math.inf
    assert "equally far" in found.summary()


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (np.zeros((5, 2)), "at least 3 rows that differ. Got 1 among 5"),
        (np.zeros((0, 2)), "Got shape"),
        (np.zeros(4), "Got shape"),
        ([[1.0, np.nan], [0.0, 1.0]], "finite"),
        ("text", "numbers"),
    ],
)
def test_wrong_data_are_told(X, match):
    for estimate in (two_nn, levina_bickel):
        with pytest.raises(DataError, match=match):
            estimate(X)


def test_wrong_parameters_are_told():
    X = np.random.default_rng(0).random((10, 2))
    with pytest.raises(ParameterError, match="n_neighbors must be less than the 10"):
        levina_bickel(X, 10)
    with pytest.raises(ParameterError, match="method"):
        two_nn(X, method="least squares")
    with pytest.raises(ParameterError, match="discard"):
        two_nn(X, discard=1.0)


def test_discarding_nothing_leaves_out_the_ratio_of_infinite_height():
    X = np.random.default_rng(0).random((50, 2))
    assert math.isfinite(two_nn(X, discard=0.0).dimension)
    assert math.isfinite(two_nn(X, discard=0.999).dimension)


def test_read_only_rows_stay_as_they_are():
    X = np.asfortranarray(np.random.default_rng(0).random((50, 4)))[::-1]
    before = X.copy()
    X.flags.writeable = False
    two_nn(X)
    np.testing.assert_array_equal(X, before)
