"""Classes of points: printed figures of the source course, geometry, seeds and sentences."""

import re

import numpy as np
import pytest
import sklearn.datasets
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from lamina._errors import ParameterError
from lamina.datasets import make_clouds, make_moons, make_spirals, make_two_spirals, make_xor

MAKERS = [make_xor, make_spirals, make_two_spirals, make_moons, make_clouds]


@pytest.mark.parametrize("make", MAKERS)
def test_a_seed_fixes_the_points_and_another_changes_them(make):
    X, y = make(random_state=3)
    again, other = make(random_state=3), make(random_state=4)
    assert np.array_equal(X, again[0])
    assert np.array_equal(y, again[1])
    assert not np.array_equal(X, other[0])
    assert X.dtype == np.float64
    assert y.dtype == np.int64
    assert len(X) == len(y)
    generator = np.random.default_rng(3)
    assert np.array_equal(make(random_state=generator)[0], X)


@pytest.mark.parametrize("make", MAKERS)
def test_noise_moves_points_by_its_size(make):
    far = make(random_state=0, noise=1.0)[0]
    assert np.array_equal(make(random_state=0, noise=0.0)[0], make(random_state=0, noise=0)[0])
    assert not np.array_equal(far, make(random_state=0, noise=0.0)[0])


def test_xor_gives_the_printed_rows_and_logistic_regression():
    X, y = make_xor(random_state=189)
    np.testing.assert_allclose(X[:2], [[0.1006, 0.0177], [0.1533, -0.0952]], atol=5e-5)
    fit = LogisticRegression(C=np.inf, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(fit.coef_[0], [0.04402646, 0.08312926], atol=1e-6)
    np.testing.assert_allclose(fit.intercept_, -0.06340021, atol=1e-6)
    assert fit.score(X, y) == 0.4975


def test_xor_without_noise_is_four_corners():
    X, y = make_xor(2, noise=0)
    assert X.tolist() == [[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [1, 1]]
    assert np.array_equal(y, np.logical_xor(X[:, 0], X[:, 1]))


def test_spirals_give_the_printed_logistic_accuracy():
    X, y = make_spirals(random_state=189)
    fit = LogisticRegression(C=np.inf, tol=1e-6).fit(X, y)
    assert 0.50 <= fit.score(X, y) <= 0.505


@pytest.mark.parametrize("n_arms", [1, 2, 5])
def test_spirals_without_noise_are_turned_copies(n_arms):
    X, y = make_spirals(40, n_arms=n_arms, noise=0)
    z = X[:, 0] + 1j * X[:, 1]
    for arm in range(n_arms):
        turned = z[y == 0] * np.exp(2j * np.pi * arm / n_arms)
        np.testing.assert_allclose(z[y == arm], turned, atol=1e-12)
    np.testing.assert_allclose(np.abs(z[y == 0]), np.linspace(0.2, 1, 40))


def test_two_spirals_defeat_low_degree_polynomials_only():
    X, y = make_two_spirals(600, random_state=0)
    X_new, y_new = make_two_spirals(4000, random_state=1)
    accuracy = {}
    for degree in (1, 3, 5):
        model = make_pipeline(PolynomialFeatures(degree), StandardScaler(),
                              LogisticRegression(C=1e4, max_iter=500))  # fmt: skip
        accuracy[degree] = model.fit(X, y).score(X_new, y_new)
    assert accuracy[1] < 0.7
    assert accuracy[3] < 0.9
    assert accuracy[5] > 0.98


def test_two_spirals_turn_into_each_other():
    X, y = make_two_spirals(2000, noise=0, turns=2.0, random_state=0)
    radius = np.hypot(*X.T)
    phase = np.angle((X[:, 0] + 1j * X[:, 1]) * np.exp(-4j * np.pi * (radius - 0.05) / 0.95))
    np.testing.assert_allclose(np.cos(phase), 1 - 2 * y, atol=1e-9)


@pytest.mark.parametrize("n_samples", [2, 7, 400])
def test_moons_are_those_of_sklearn(n_samples):
    X, y = make_moons(n_samples, noise=0)
    expected = sklearn.datasets.make_moons(n_samples, shuffle=False)
    np.testing.assert_allclose(X, expected[0])
    assert np.array_equal(y, expected[1])


def test_clouds_have_the_stated_separation_and_spread():
    X, y = make_clouds(20_000, n_classes=3, n_features=4, separation=5, noise=0.5, random_state=0)
    centres = np.array([X[y == k].mean(0) for k in range(3)])
    # standard error of a centre's coordinate is 0.5 / sqrt(20000) = 0.0035
    for i, j in ((0, 1), (1, 2), (0, 2)):
        assert np.linalg.norm(centres[i] - centres[j]) == pytest.approx(5, abs=0.03)
    np.testing.assert_allclose((X - centres[y]).std(0), 0.5, atol=0.01)
    line = make_clouds(1, n_classes=3, n_features=1, separation=2, noise=0)[0]
    assert line.tolist() == [[0], [2], [4]]
    assert make_clouds(1, n_classes=1, noise=0)[0].tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: make_xor(0), "n_per_corner must be an integer of at least 1. Got 0."),
        (lambda: make_xor(noise=-1), "noise must be a finite number in [0, inf]. Got -1."),
        (
            lambda: make_moons(random_state="a"),
            "random_state must be a non-negative integer, a NumPy Generator or None. Got 'a'.",
        ),
        (
            lambda: make_moons(random_state=-1),
            "random_state must be a non-negative integer, a NumPy Generator or None. Got -1.",
        ),
        (lambda: make_two_spirals(turns=0), "turns must be a finite number in (0, inf]. Got 0."),
        (lambda: make_spirals(n_arms=1.5), "n_arms must be an integer of at least 1. Got 1.5."),
    ],
)
def test_wrong_parameters_get_one_sentence(call, sentence):
    with pytest.raises(ParameterError, match=f"^{re.escape(sentence)}$"):
        call()
