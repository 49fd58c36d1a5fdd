"""The canonical form: equal for equal networks, with what is superfluous taken out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import DataError, ParameterError
from lamina.inspection import canonical, permute
from lamina.nn import Network, logistic_to_tanh, tanh_to_logistic

from .symmetric import gap, networks, parameter_gap, transformed


@given(networks(), st.integers(0, 2**32 - 1))
def test_all_networks_of_an_orbit_have_one_form(net, seed):
    twin = transformed(net, np.random.default_rng(seed))
    a, b = canonical(net), canonical(twin)
    assert a.network.sizes == b.network.sizes
    assert parameter_gap(a.network, b.network) <= 1e-12
    assert gap(net, a.network) <= 1e-12
    assert a.max_change <= 1e-12


@given(networks(names=("tanh", "relu", "prelu", "abs", "step")))
def test_a_form_is_its_own_form(net):
    form = canonical(net).network
    again = canonical(form)
    assert again.n_removed == 0
    assert parameter_gap(form, again.network) <= 1e-13


def test_units_that_differ_only_in_their_biases_keep_an_order(rng):
    b = np.linspace(-1, 1, 64)
    net = Network.from_arrays([(np.ones((64, 5)), b), (rng.normal(size=(3, 64)), np.zeros(3))])
    a = canonical(net).network
    for _ in range(3):
        twin = canonical(permute(net, rng.permutation(64))).network
        assert parameter_gap(a, twin) == 0
    assert a.sizes == (5, 64, 3)


def test_equal_units_become_one_with_the_sum_of_their_weights():
    layers = [([[1.0, 2.0], [-1.0, -2.0], [0.0, 1.0]], [1, -1, 0]), ([[5.0, 2.0, 1.0]], [0])]
    result = canonical(Network.from_arrays(layers, "tanh"))
    # tanh(-a) = -tanh(a): the opposite unit takes its weight away.
    assert result.n_merged.tolist() == [1]
    assert result.network.weights[1].tolist() == [[1.0, 3.0]]
    assert result.network.biases[0].tolist() == [0.0, 1.0]


def test_units_that_cancel_go_and_take_others_with_them():
    layers = [
        ([[1.0], [2.0], [1.0]], [1.0, 0.0, 3.0]),
        # Units 0 and 1 are equal, and only they hear unit 1 of the layer below.
        ([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [0.0, 0.0, 1.0]),
        ([[0.1, -0.1, 2.0]], [0.0]),
    ]
    net = Network.from_arrays(layers, "tanh")
    result = canonical(net)
    assert result.network.sizes == (1, 2, 1, 1)
    assert result.n_merged.tolist() == [0, 1]
    assert result.n_silent.tolist() == [1, 1]
    assert gap(net, result.network) <= 1e-15


@pytest.mark.parametrize("name", ["relu", "tanh", "gelu", "sigmoid", "softplus"])
def test_constant_units_move_into_the_biases_above(name, rng):
    W, b = rng.normal(size=(4, 3)), rng.normal(size=4)
    W[[1, 3]] = 0
    net = Network.from_arrays([(W, b), (rng.normal(size=(2, 4)), rng.normal(size=2))], name)
    result = canonical(net)
    assert result.network.sizes == (3, 2, 2)
    assert result.n_constant.tolist() == [2]
    assert sorted(result.units[0].tolist()) == [0, 2]
    assert gap(net, result.network) <= 1e-14


@pytest.mark.parametrize("name", ["relu", "tanh", "sigmoid"])
def test_a_constant_network_becomes_its_constant(name):
    layers = [(np.zeros((3, 2)), np.ones(3)), (np.ones((4, 3)), np.zeros(4))]
    net = Network.from_arrays([*layers, (np.ones((2, 4)), np.ones(2))], name)
    form = canonical(net).network
    assert form.sizes == (2, 2)
    assert not form.weights[0].any()
    assert form.biases[0].tolist() == pytest.approx(net.predict_raw([7.0, -1.0]).tolist())


def test_a_network_that_no_input_reaches_the_output_of():
    net = Network.from_arrays([(np.ones((3, 2)), np.ones(3)), (np.zeros((1, 3)), [2.0])])
    result = canonical(net)
    assert result.network.sizes == (2, 1)
    assert result.n_silent.tolist() == [3]
    assert result.network.predict_raw([1.0, 1.0]).tolist() == [2.0]


def test_linear_layers_are_multiplied_out(rng):
    net = Network((3, 4, 5, 2), ["identity", "relu"], random_state=0)
    result = canonical(net)
    assert result.network.sizes == (3, 5, 2)
    assert (result.collapsed, result.layers) == ((1,), (2,))
    assert gap(net, result.network) <= 1e-14
    assert "linear layers 1 multiplied out" in result.summary()
    straight = canonical(Network((3, 4, 5, 2), "leaky_relu(1)", random_state=0))
    W, _ = Network((3, 4, 5, 2), "identity", random_state=0).collapse()
    assert straight.network.sizes == (3, 2)
    assert straight.network.layers()[0][0] == pytest.approx(W, abs=1e-14)


@pytest.mark.parametrize(
    ("one", "other"),
    [("leaky_relu(0)", "relu"), ("elu(0)", "relu"), ("leaky_relu(-1)", "abs")],
)
def test_other_names_of_a_function_have_one_form(one, other):
    a, b = (canonical(Network((3, 5, 2), name, random_state=1)).network for name in (one, other))
    assert a.activations == b.activations
    # He's initialisation has a gain by quadrature for the one and in closed form for the other.
    assert parameter_gap(a, b) <= 1e-15


def test_logistic_and_tanh_networks_have_one_form():
    net = Network((3, 5, 4, 2), "tanh", init="torch", random_state=1)
    logistic = tanh_to_logistic(net)
    steep = Network.from_arrays(
        [
            (W / 4 if i < 2 else W, b / 4 if i < 2 else b)
            for i, (W, b) in enumerate(logistic.layers())
        ],
        "sigmoid(4)",
    )
    for twin in (logistic, steep, logistic_to_tanh(logistic)):
        assert parameter_gap(canonical(net).network, canonical(twin).network) <= 1e-14


def test_swish_of_another_steepness_is_the_same_function():
    net = Network((3, 5, 2), "silu", random_state=1)
    (W, b), (V, c) = net.layers()
    twin = Network.from_arrays([(W / 2, b / 2), (2 * V, c)], "silu(2)")
    assert gap(net, twin) <= 1e-15
    assert parameter_gap(canonical(net).network, canonical(twin).network) <= 1e-15


def test_close_units_are_told_as_uncertain():
    W = np.array([[1.0, 2.0], [1.0 + 3e-12, 1.0]])
    result = canonical(Network.from_arrays([(W, [0, 0]), ([[1, 1]], [0])], "tanh"))
    assert not result.certain
    assert "rounding may change" in result.summary()
    assert canonical(Network((2, 3, 1), random_state=0)).certain


def test_the_size_of_weights_does_not_matter():
    net = Network((3, 5, 2), "relu", random_state=0)
    (W, b), (V, c) = net.layers()
    for scale in (1e-200, 1e200):
        twin = Network.from_arrays([(scale * W, scale * b), (V / scale, c)])
        assert parameter_gap(canonical(net).network, canonical(twin).network) <= 1e-14


def test_bad_input_is_named():
    with pytest.raises(ParameterError, match="tolerance must be a finite number in"):
        canonical(Network((2, 3, 1)), tolerance=-1)
    with pytest.raises(DataError, match="beyond its range"):
        canonical(Network.from_arrays([([[1e200]], [0.0]), ([[1e200]], [0.0])]))


def test_a_float32_network_is_compared_in_its_own_rounding(rng):
    net = Network((20, 8, 3), "relu", random_state=0)
    twin = transformed(net, rng, log_sd=1.0)
    a, b = (canonical(n.float()).network for n in (net, twin))
    assert a.sizes == (20, 8, 3)
    assert parameter_gap(a, b) <= 1e-6


def test_the_summary_and_the_picture_tell_the_counts():
    layers = [(np.array([[1.0], [1.0], [0.0]]), [1.0, 1.0, 2.0]), (np.ones((1, 3)), [0.0])]
    result = canonical(Network.from_arrays(layers))
    assert (
        "1-1-1 of 1-3-1: 2 superfluous units (1 constant, 1 equal to another)" in result.summary()
    )
    heights = [bar.get_height() for bar in result.plot().patches]
    assert heights == [1, 1, 1, 0]
