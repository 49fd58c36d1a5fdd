"""The same function as nested sums, with absorbed biases, and with other units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import DataError, ParameterError
from lamina.nn import (
    ACTIVATIONS,
    Gaussian,
    Network,
    Sigmoid,
    absorb_biases,
    forward_with_constant_unit,
    logistic_to_tanh,
    nested_sums,
    tanh_to_logistic,
)

X = np.random.default_rng(6).normal(size=(5, 3))


def a_network(sizes, activation, seed=6):
    """Return a network whose biases are not zero."""
    return Network(sizes, activation, init=Gaussian("lecun", bias_scale=0.5), random_state=seed)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_three_forms_of_one_network(name):
    network = a_network((3, 4, 5, 2), name)
    outputs = network.predict_raw(X)
    sums = [nested_sums(network, x) for x in X]
    np.testing.assert_allclose(sums, outputs, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        forward_with_constant_unit(network, X), outputs, rtol=1e-12, atol=1e-14
    )


def test_nested_sums_equal_the_double_sum_of_a_book():
    network = a_network((3, 4, 2), "tanh")
    (W1, b1), (W2, b2) = network.layers()
    x = X[0]
    by_hand = [
        b2[k]
        + sum(W2[k, j] * np.tanh(b1[j] + sum(W1[j, i] * x[i] for i in range(3))) for j in range(4))
        for k in range(2)
    ]
    np.testing.assert_allclose(nested_sums(network, x), by_hand, rtol=1e-13)


def test_nested_sums_with_learned_slopes():
    network = Network.from_arrays(
        [([[1.0], [1.0]], [0.0, 0.0]), ([[1.0, 10.0]], [0.0])],
        "prelu",
        slopes=[np.array([0.5, -1.0]), None],
    )
    assert nested_sums(network, [-2.0]) == [0.5 * -2.0 + 10 * 2.0]
    np.testing.assert_array_equal(forward_with_constant_unit(network, np.array([[-2.0]])), [[19]])


def test_absorbed_matrices_hold_biases_in_column_zero():
    network = a_network((3, 4, 2), "tanh")
    for matrix, (W, b) in zip(absorb_biases(network), network.layers(), strict=True):
        np.testing.assert_array_equal(matrix[:, 0], b)
        np.testing.assert_array_equal(matrix[:, 1:], W)


def test_a_float32_network_is_evaluated_in_float64():
    network = Network((3, 4, 2), "tanh", dtype="float32", random_state=0)
    assert forward_with_constant_unit(network, X).dtype == np.float64
    np.testing.assert_allclose(
        [nested_sums(network, x) for x in X], network.predict_raw(X), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("x", [[1.0, 2.0], [[1.0, 2.0, 3.0]], 3.0, np.zeros((3, 1))])
def test_nested_sums_take_one_input(x):
    with pytest.raises(DataError, match=r"x must have shape \(3,\)\. Got shape"):
        nested_sums(a_network((3, 4, 2), "tanh"), x)


@pytest.mark.parametrize("inputs", [X[:, :2], X[0]])
def test_the_constant_unit_takes_a_table(inputs):
    with pytest.raises(DataError, match=r"X must have shape \(N, 3\)\. Got shape"):
        forward_with_constant_unit(a_network((3, 4, 2), "tanh"), inputs)


@given(
    widths=st.lists(st.integers(1, 6), min_size=3, max_size=5),
    seed=st.integers(0, 1000),
)
def test_tanh_networks_have_a_logistic_twin(widths, seed):
    network = a_network(widths, "tanh", seed)
    twin = tanh_to_logistic(network)
    points = np.random.default_rng(seed).normal(size=(6, widths[0]))
    assert {activation.name for activation in twin.activations[:-1]} == {"sigmoid"}
    np.testing.assert_allclose(
        twin.predict_raw(points), network.predict_raw(points), rtol=1e-10, atol=1e-12
    )

    back = logistic_to_tanh(twin)
    assert back.activations == network.activations
    for (W, b), (W_back, b_back) in zip(network.layers(), back.layers(), strict=True):
        np.testing.assert_allclose(W_back, W, rtol=1e-14)
        np.testing.assert_allclose(b_back, b, rtol=1e-12, atol=1e-13)


def test_steep_logistic_units_have_a_tanh_twin():
    network = a_network((3, 4, 2), Sigmoid(5.0))
    twin = logistic_to_tanh(network)
    np.testing.assert_allclose(twin.predict_raw(X), network.predict_raw(X), rtol=1e-11, atol=1e-13)


def test_other_layers_stay_as_they_are():
    network = Network(
        (3, 4, 5, 4, 2), ["prelu(0.3)", "tanh", "relu"], random_state=0, output_activation="tanh"
    )
    twin = tanh_to_logistic(network)
    assert [f.name for f in twin.activations] == ["prelu", "sigmoid", "relu", "tanh"]
    np.testing.assert_allclose(twin.predict_raw(X), network.predict_raw(X), rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(twin.layers()[0][0], network.layers()[0][0])


@pytest.mark.parametrize(
    ("convert", "wanted"), [(tanh_to_logistic, "tanh"), (logistic_to_tanh, "sigmoid")]
)
def test_there_must_be_something_to_convert(convert, wanted):
    network = Network((3, 4, 2), "relu", output_activation=wanted)
    with pytest.raises(ParameterError, match=f"a hidden layer of '{wanted}' units.*'relu'"):
        convert(network)
