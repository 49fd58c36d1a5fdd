"""A layered network as a graph of units and back."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import CycleError, DataError, ParameterError
from lamina.nn import (
    ACTIVATIONS,
    Gaussian,
    GraphForm,
    Network,
    graph_form,
    network_from_graph,
    xor_network,
)

X = np.random.default_rng(0).normal(size=(6, 3))


def graph(**changes):
    """Return a small graph in two layers, with changes."""
    fields = {
        "inputs": ("a", "b"),
        "outputs": ("y",),
        "parents": {"h": ("a", "b"), "g": ("b",), "y": ("h", "g")},
        "weights": {"h": (1.0, -2.0), "g": (0.5,), "y": (3.0, 4.0)},
        "biases": {"h": 0.1, "g": 0.2, "y": 0.3},
        "activations": {"h": "tanh", "g": "tanh", "y": "identity"},
    }
    return GraphForm(**(fields | changes))


@given(
    widths=st.lists(st.integers(1, 5), min_size=2, max_size=5),
    name=st.sampled_from(sorted(ACTIVATIONS)),
    seed=st.integers(0, 100),
)
def test_there_and_back(widths, name, seed):
    init = Gaussian("lecun", bias_scale=0.5)
    network = Network(widths, name, init=init, random_state=seed, output_activation=name)
    points = np.random.default_rng(seed).normal(size=(4, widths[0]))
    form = graph_form(network)
    np.testing.assert_allclose(
        form.forward(points), network.predict_raw(points), rtol=1e-11, atol=1e-12
    )

    back = network_from_graph(form)
    assert back.sizes == network.sizes
    np.testing.assert_array_equal(back.predict_raw(points), network.predict_raw(points))


def test_learned_slopes_survive():
    network = Network.from_arrays(
        Network((3, 4, 2), random_state=0).layers(),
        "prelu",
        slopes=[np.array([0.25, 0.1, -1.0, 2.0]), None],
    )
    form = graph_form(network)
    assert form.activations["h1.3"] == "prelu(-1.0)"
    back = network_from_graph(form)
    np.testing.assert_array_equal(back.slopes[0].detach(), network.slopes[0].detach())
    np.testing.assert_allclose(form.forward(X), network.predict_raw(X), rtol=1e-12, atol=1e-14)


def test_a_float32_network():
    network = Network((3, 4, 2), dtype="float32", random_state=0)
    back = network_from_graph(graph_form(network), dtype="float32")
    np.testing.assert_array_equal(back.predict_raw(X), network.predict_raw(X))


def test_the_plain_data_of_a_network():
    form = graph_form(xor_network())
    assert form.inputs == ("x1", "x2")
    assert form.outputs == ("y1",)
    assert form.order == ("x1", "x2", "h1.1", "h1.2", "y1")
    assert form.parents == {
        "h1.1": ("x1", "x2"),
        "h1.2": ("x1", "x2"),
        "y1": ("h1.1", "h1.2"),
    }
    assert form.weights == {"h1.1": (1.0, -1.0), "h1.2": (-1.0, 1.0), "y1": (1.0, 1.0)}
    assert form.biases == {"h1.1": -0.5, "h1.2": -0.5, "y1": -0.5}
    assert set(form.activations.values()) == {"step"}


def test_every_unit_comes_after_its_parents_whatever_the_order_given():
    shuffled = {"y": ("h", "g"), "g": ("b",), "h": ("a", "b")}
    order = graph(parents=shuffled).order
    assert order[:2] == ("a", "b")
    for unit, parents in shuffled.items():
        assert all(order.index(parent) < order.index(unit) for parent in parents)


def test_forward_equals_sums_by_hand():
    a, b = 0.7, -1.1
    h, g = np.tanh(0.1 + a - 2 * b), np.tanh(0.2 + 0.5 * b)
    value = graph().forward(np.array([a, b]))
    np.testing.assert_allclose(value, [0.3 + 3 * h + 4 * g], rtol=1e-14)
    assert graph().forward(np.zeros((5, 4, 2))).shape == (5, 4, 1)


def test_missing_edges_become_zero_weights():
    network = network_from_graph(graph())
    assert network.layers()[0][0].tolist() == [[1.0, -2.0], [0.0, 0.5]]
    points = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_allclose(network.predict_raw(points), graph().forward(points), rtol=1e-13)


def test_a_graph_that_skips_a_layer_can_be_evaluated_but_not_layered():
    form = graph(
        parents={"h": ("a", "b"), "g": ("b",), "y": ("h", "g", "a")},
        weights={"h": (1.0, -2.0), "g": (0.5,), "y": (3.0, 4.0, 5.0)},
    )
    gap = form.forward(np.array([2.0, 1.0])) - graph().forward(np.array([2.0, 1.0]))
    assert gap.item() == pytest.approx(10.0)
    with pytest.raises(ParameterError, match=r"an edge from 'a' in layer 0 to 'y' in layer 2"):
        network_from_graph(form)


def test_a_unit_without_parents_is_a_constant():
    form = graph(
        parents={"h": ("a", "b"), "g": (), "y": ("h", "g")},
        weights={"h": (1.0, -2.0), "g": (), "y": (3.0, 4.0)},
    )
    network = network_from_graph(form)
    points = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_allclose(form.forward(points), network.predict_raw(points), rtol=1e-13)


def test_outputs_keep_their_order():
    form = GraphForm(
        ("a",),
        ("z", "y"),
        {"y": ("a",), "z": ("a",)},
        {"y": (1.0,), "z": (2.0,)},
        {"y": 0.0, "z": 0.0},
        {"y": "identity", "z": "identity"},
    )
    assert form.forward(np.array([1.0])).tolist() == [2.0, 1.0]
    assert network_from_graph(form).predict_raw(np.array([1.0])).tolist() == [2.0, 1.0]


def test_a_cycle_is_named():
    cyclic = {"h": ("a", "y"), "g": ("h",), "y": ("g",)}
    with pytest.raises(CycleError, match=r"The graph must have no cycle\. Got ") as caught:
        graph(parents=cyclic, weights={"h": (1.0, 1.0), "g": (1.0,), "y": (1.0,)})
    named = str(caught.value).removeprefix("The graph must have no cycle. Got ")[:-1].split(" → ")
    assert named[0] == named[-1]
    assert set(named) == {"h", "g", "y"}
    assert all(parent in cyclic[unit] for parent, unit in itertools.pairwise(named))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"inputs": ()}, r"inputs must be names of units without parents.*Got \(\)"),
        ({"inputs": ("a", "a", "b")}, r"inputs must be names of units without parents, each once"),
        ({"inputs": ("a", "b", "h")}, r"inputs must be names of units without parents"),
        ({"outputs": ("z",)}, r"outputs must be names of units\. Got \('z',\)"),
        ({"outputs": ()}, r"outputs must be names of units"),
        ({"biases": {"h": 0.0}}, r"biases must have an entry for each unit.*\['g', 'y'\]"),
        ({"inputs": ("a",)}, r"parents\['h'\] must be units\. Got 'b'"),
        (
            {"weights": {"h": (1.0,), "g": (1.0,), "y": (1.0, 1.0)}},
            r"weights\['h'\] must have 2 numbers, one for each parent\. Got 1",
        ),
    ],
)
def test_what_does_not_fit_together(changes, sentence):
    with pytest.raises(ParameterError, match=sentence):
        graph(**changes)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"outputs": ("h",)}, r"outputs must be its last layer \('y',\)\. Got \('h',\)"),
        ({"outputs": ("y", "h")}, r"outputs must be its last layer \('y',\)\. Got \('y', 'h'\)"),
        (
            {"activations": {"h": "tanh", "g": "relu", "y": "identity"}},
            r"share an activation within a layer\. Got 'tanh' for 'h' and 'relu' for 'g'",
        ),
        (
            {"activations": {"h": "prelu", "g": "relu", "y": "identity"}},
            r"share an activation within a layer\. Got 'prelu' for 'h' and 'relu' for 'g'",
        ),
    ],
)
def test_a_graph_that_is_not_layered_is_refused(changes, sentence):
    with pytest.raises(ParameterError, match=sentence):
        network_from_graph(graph(**changes))


def test_inputs_alone_are_no_network():
    form = GraphForm(("a",), ("a",), {}, {}, {}, {})
    with pytest.raises(ParameterError, match=r"outputs must be its last layer \('a',\)"):
        network_from_graph(form)


def test_forward_wants_the_number_of_inputs():
    with pytest.raises(DataError, match=r"X must have shape \(\.\.\., 2\)\. Got shape \(3,\)"):
        graph().forward(np.zeros(3))


def test_a_graph_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph().inputs = ("c",)
