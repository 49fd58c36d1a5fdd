"""Initial weights: moments against the rule's formula, and the messages."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.neural_network import MLPRegressor

from lamina._errors import ParameterError
from lamina.nn import (
    ACTIVATIONS,
    INITIALISATIONS,
    Gaussian,
    LeakyReLU,
    Orthogonal,
    ReLU,
    ScaledUniform,
    Tanh,
    TorchUniform,
    Uniform,
    get_activation,
    get_initialisation,
    initialise,
)

IN, OUT = 80, 250
N = IN * OUT


def first_layer(init, activation="relu", rng=None):
    """Return the weights and biases of a hidden layer of 80 inputs and 250 units."""
    rng = np.random.default_rng(3) if rng is None else rng
    return initialise((IN, OUT, 1), init, activation, rng)[0]


def assert_normal(values, deviation):
    """Mean, variance and shape of a normal sample; six standard errors fail once in 10^9."""
    n = values.size
    assert abs(values.mean()) < 6 * deviation / math.sqrt(n)
    assert abs(values.var() / deviation**2 - 1) < 6 * math.sqrt(2 / n)
    assert stats.kstest(values.ravel() / deviation, "norm").pvalue > 1e-4


def assert_uniform(values, low, high):
    """Bounds and shape of a uniform sample, which comes this near to its bounds but e^-25."""
    near = 25 * (high - low) / values.size
    assert low <= values.min() < low + near
    assert high - near < values.max() < high
    assert stats.kstest((values.ravel() - low) / (high - low), "uniform").pvalue > 1e-4


@pytest.mark.parametrize(
    ("init", "deviation"),
    [
        ("lecun", 1 / math.sqrt(IN)),
        ("he", math.sqrt(2 / IN)),
        ("glorot_normal", math.sqrt(2 / (IN + OUT))),
        (Gaussian(), 1 / math.sqrt(IN)),
        (Gaussian(0.7), 0.7),
    ],
)
def test_normal_weights(init, deviation):
    W, b = first_layer(init)
    assert W.shape == (OUT, IN)
    assert W.dtype == b.dtype == np.float64
    assert_normal(W, deviation)
    assert not b.any()


@pytest.mark.parametrize(
    ("init", "bound"),
    [
        ("glorot", math.sqrt(6 / (IN + OUT))),
        ("he_uniform", math.sqrt(6 / IN)),
        (ScaledUniform("lecun"), math.sqrt(3 / IN)),
    ],
)
def test_uniform_weights(init, bound):
    W, b = first_layer(init)
    assert_uniform(W, -bound, bound)
    assert not b.any()


def test_biases_on_the_user_s_scale():
    W, b = first_layer(Gaussian(1.0, bias_scale=0.5))
    assert_normal(W, 1.0)
    assert_normal(b, 0.5)


def test_torch_s_rule_draws_biases_from_the_same_bounds():
    W, b = first_layer("torch")
    assert_uniform(W, -1 / math.sqrt(IN), 1 / math.sqrt(IN))
    assert_uniform(b, -1 / math.sqrt(IN), 1 / math.sqrt(IN))


def test_uniform_with_output_weights_scaled_by_the_width():
    rule = Uniform(-3, 3, output_scale="1/sqrt(width)")
    (W, b), (W2, b2) = initialise((IN, 400, 50), rule, "tanh", np.random.default_rng(4))
    assert_uniform(W, -3, 3)
    assert_uniform(b, -3, 3)
    assert_uniform(W2, -1 / 20, 1 / 20)
    assert not b2.any()


def test_uniform_with_a_number_as_output_scale():
    _, (W, b) = initialise((2, 400, 50), Uniform(-1, 2, output_scale=0.3), rng=None)
    assert_uniform(W, -0.3, 0.3)
    assert not b.any()


def test_uniform_treats_the_output_layer_alike_unless_told():
    _, (W, b) = initialise((2, 100, 90), Uniform(1, 2), "tanh", np.random.default_rng(0))
    assert_uniform(W, 1, 2)
    assert_uniform(b, 1, 2)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_he_uses_the_gain_of_the_activation_that_follows(name):
    W, _ = first_layer("he", name)
    assert_normal(W, get_activation(name).gain / math.sqrt(IN))


def test_the_output_layer_has_the_gain_of_its_own_activation():
    rng = np.random.default_rng(0)
    (_, _), (W, _) = initialise((3, IN, OUT), "he", "relu", rng)
    assert_normal(W, 1 / math.sqrt(IN))
    (_, _), (W, _) = initialise((3, IN, OUT), "he", ["relu", LeakyReLU(0.5)], rng)
    assert_normal(W, math.sqrt(2 / 1.25) / math.sqrt(IN))


@pytest.mark.parametrize("shape", [(60, 40), (40, 60), (50, 50), (1, 1)])
def test_orthogonal_rows_or_columns(shape):
    fan_in, fan_out = shape
    W, b = initialise((fan_in, fan_out), Orthogonal(), rng=np.random.default_rng(0))[0]
    assert W.shape == (fan_out, fan_in)
    small = W @ W.T if fan_out <= fan_in else W.T @ W
    np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-13)
    assert not b.any()


def test_orthogonal_is_uniform_over_rotations():
    # The first entry of a uniform orthogonal 2×2 matrix is a cosine of a uniform angle.
    rng = np.random.default_rng(5)
    first = [initialise((2, 2), Orthogonal(), rng=rng)[0][0][0, 0] for _ in range(2000)]
    assert stats.kstest(np.arccos(first) / np.pi, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("activation", ["relu", "logistic", "tanh"])
def test_sklearn_s_rule_is_its_own_draw(activation):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20.0)
    # One step at this rate leaves every weight as it was drawn.
    theirs = MLPRegressor(
        hidden_layer_sizes=(5, 4),
        activation=activation,
        solver="sgd",
        learning_rate_init=1e-300,
        random_state=7,
    ).partial_fit(X, y)
    ours = initialise((3, 5, 4, 1), "sklearn", [activation] * 3, np.random.RandomState(7))
    for (W, b), coefficients, intercepts in zip(
        ours, theirs.coefs_, theirs.intercepts_, strict=True
    ):
        np.testing.assert_array_equal(W.T, coefficients)
        np.testing.assert_array_equal(b, intercepts)


@pytest.mark.parametrize("name", sorted(INITIALISATIONS))
def test_every_rule_is_fixed_by_its_source(name):
    sizes = (3, 7, 7, 2)
    one, two, other = (
        initialise(sizes, name, "tanh", np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert [(W.shape, b.shape) for W, b in one] == [
        ((7, 3), (7,)),
        ((7, 7), (7,)),
        ((2, 7), (2,)),
    ]
    for (W, b), (W_again, b_again), (W_other, _) in zip(one, two, other, strict=True):
        np.testing.assert_array_equal(W, W_again)
        np.testing.assert_array_equal(b, b_again)
        assert not np.array_equal(W, W_other)
    assert not np.array_equal(one[0][0], one[1][0][:, :3])


def test_activations_one_for_all_one_for_each_or_also_the_output():
    draws = [
        initialise((4, 4, 4, 4), "he", activations, np.random.default_rng(0))
        for activations in ("tanh", ["tanh", Tanh()], ["tanh", "tanh", "identity"])
    ]
    for one in draws[1:]:
        for (W, _), (W_first, _) in zip(one, draws[0], strict=True):
            np.testing.assert_array_equal(W, W_first)


def test_deep_he_networks_keep_the_signal_and_small_weights_lose_it():
    X = np.random.default_rng(0).normal(size=(200, 100))
    sizes = (100,) * 21

    def mean_square(init):
        H = X
        for W, b in initialise(sizes, init, ["relu"] * 20, np.random.default_rng(1)):
            H = np.maximum(H @ W.T + b, 0)
        return (H**2).mean()

    assert 0.2 < mean_square("he") < 5
    assert mean_square("lecun") < 1e-4


def test_rules_are_values():
    assert get_initialisation("he") == Gaussian("he")
    assert hash(Gaussian(0.1)) == hash(Gaussian(0.1))
    rule = TorchUniform()
    assert get_initialisation(rule) is rule


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: initialise((3,)), r"sizes must be at least two integers.*Got \(3,\)"),
        (lambda: initialise(3), r"sizes must be at least two integers.*Got 3"),
        (lambda: initialise((3, 0)), r"sizes\[1\] must be an integer of at least 1\. Got 0"),
        (lambda: initialise((3, math.nan)), r"sizes\[1\] must be an integer.*Got nan"),
        (lambda: initialise((3, 2.5)), r"sizes\[1\] must be an integer.*Got 2\.5"),
        (lambda: initialise("32"), r"sizes must be an integer or a sequence of integers"),
        (
            lambda: initialise((3, 1), "hee"),
            r"init must be one of .*'hee'\. Did you mean 'he'",
        ),
        (lambda: initialise((3, 1), None), r"init must be one of .*Got None"),
        (
            lambda: initialise((3, 4, 1), "he", ["relu"] * 3),
            r"activation must be .* each of the 1 hidden layers\. Got 3",
        ),
        (
            lambda: initialise((3, 4, 4, 1), "he", ["relu", "rleu"]),
            r"activation\[1\] must be .*Did you mean 'relu'",
        ),
        (lambda: Gaussian(-1.0), r"weight_scale must be a finite number in \[0"),
        (lambda: Gaussian("lecunn"), r"weight_scale must be one of .*Did you mean 'lecun'"),
        (lambda: Gaussian(1.0, math.inf), r"bias_scale must be a finite number"),
        (lambda: ScaledUniform("orthogonal"), r"rule must be one of 'glorot', 'he', 'lecun'"),
        (lambda: Uniform(2, 1), r"high must be a finite number in \[2"),
        (lambda: Uniform(output_scale="width"), r"output_scale must be one of '1/sqrt\(width\)'"),
        (lambda: Uniform(output_scale=-1), r"output_scale must be a finite number in \[0"),
    ],
)
def test_messages(call, sentence):
    with pytest.raises(ParameterError, match=sentence):
        call()


def test_the_number_of_sizes_sets_the_layers():
    assert len(initialise((3, 1), "he", ReLU())) == 1
    assert len(initialise(np.array([3, 4, 5, 1]))) == 3
