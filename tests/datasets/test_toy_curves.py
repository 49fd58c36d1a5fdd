"""Real targets: formulas, noise, intervals and sentences."""

import re

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from lamina._errors import ParameterError
from lamina.datasets import TARGETS, make_approximation, make_inverse_problem, make_sine


@pytest.mark.parametrize("make", [make_sine, make_inverse_problem])
def test_a_seed_fixes_the_data(make):
    X, y = make(random_state=3)
    again = make(random_state=3)
    assert np.array_equal(X, again[0])
    assert np.array_equal(y, again[1])
    assert not np.array_equal(y, make(random_state=4)[1])
    assert X.shape == (len(y), 1)


def test_sine_noise_has_the_stated_size():
    X, y = make_sine(20_000, noise=0.2, random_state=0)
    # standard error of a standard deviation: 0.2 / sqrt(2 * 20000) = 0.001
    assert np.std(y - np.sin(2 * X[:, 0])) == pytest.approx(0.2, abs=0.005)
    assert (np.diff(X[:, 0]) > 0).all()
    assert X.min() > -3
    assert X.max() < 3
    X, _ = make_sine(50, low=1, high=2, random_state=0)
    assert X.min() >= 1
    assert X.max() <= 2


def test_approximation_targets():
    x = np.array([-1.0, 0.0, 0.2, 0.21, 1.0])
    np.testing.assert_allclose(TARGETS["smooth"](x), np.sin(2.5 * np.pi * x))
    np.testing.assert_allclose(TARGETS["kink"](x), [0.5, -0.5, -0.3, -0.29, 0.5])
    np.testing.assert_allclose(TARGETS["step"](x), [-0.5, -0.5, -0.5, 0.5, 0.5])
    X, y = make_approximation(np.exp, 11, low=0, high=1)
    np.testing.assert_allclose(X[:, 0], np.arange(11) / 10)
    np.testing.assert_allclose(y, np.exp(X[:, 0]))
    _, noisy = make_approximation("step", 20_000, noise=0.1, random_state=0)
    clean = make_approximation("step", 20_000)[1]
    assert np.std(noisy - clean) == pytest.approx(0.1, abs=0.003)


def test_inverse_problem_turns_where_stated():
    def height(x):
        return x - 1.5 * np.tanh(2 * x)

    turn = minimize_scalar(height, bounds=(0, 2), method="bounded", options={"xatol": 1e-10})
    assert turn.x == pytest.approx(0.5731, abs=5e-5)
    assert turn.fun == pytest.approx(-0.6516, abs=5e-5)
    X, t = make_inverse_problem(20_000, noise=0.05, random_state=0)
    assert np.std(t - height(X[:, 0])) == pytest.approx(0.05, abs=0.001)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: make_sine(low=1, high=1), "high must be greater than low. Got 1.0 and 1.0."),
        (
            lambda: make_approximation("smoth"),
            "target must be one of 'kink', 'smooth', 'step'. Got 'smoth'. Did you mean 'smooth'?",
        ),
        (
            lambda: make_inverse_problem(low=np.inf),
            "low must be a finite number in [-inf, inf]. Got inf.",
        ),
    ],
)
def test_wrong_curve_parameters_get_one_sentence(call, sentence):
    with pytest.raises(ParameterError, match=f"^{re.escape(sentence)}$"):
        call()
