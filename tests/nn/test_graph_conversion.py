"""A layered network as a graph of units and back, graphs of layers, and saved graphs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina
from lamina._errors import FileError, ParameterError
from lamina._files import write_model
from lamina.nn import ACTIVATIONS, Gaussian, GraphNetwork, Network, xor_network

from ._graph_loop import graphs

X = np.random.default_rng(0).normal(size=(6, 3))


def graph(**changes):
    """Return a small graph in two layers, with changes."""
    fields = {
        "parents": {"h": ("a", "b"), "g": ("b",), "y": ("h", "g")},
        "weights": {"h": (1.0, -2.0), "g": (0.5,), "y": (3.0, 4.0)},
        "biases": {"h": 0.1, "g": 0.2, "y": 0.3},
        "inputs": ("a", "b"),
    } | changes
    return GraphNetwork(fields.pop("parents"), **fields)


def bits(array):
    """Return the bits of an array or tensor."""
    return np.asarray(array.detach() if isinstance(array, torch.Tensor) else array).tobytes()


@given(
    widths=st.lists(st.integers(1, 5), min_size=2, max_size=5),
    name=st.sampled_from(sorted(ACTIVATIONS)),
    dtype=st.sampled_from(["float32", "float64"]),
    seed=st.integers(0, 100),
)
def test_there_and_back_is_the_same_bit_for_bit(widths, name, dtype, seed):
    init = Gaussian("lecun", bias_scale=0.5)
    network = Network(
        widths, name, init=init, random_state=seed, output_activation=name, dtype=dtype
    )
    with torch.no_grad():
        network.weights[0][0, 0] = -0.0
    points = np.random.default_rng(seed).normal(size=(4, widths[0]))
    form = GraphNetwork.from_network(network)
    tolerance = 1e-11 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(
        form.predict_raw(points), network.predict_raw(points), rtol=tolerance, atol=tolerance
    )

    back = form.to_network()
    assert back.sizes == network.sizes
    assert back.activations == network.activations
    assert bits(back.predict_raw(points)) == bits(network.predict_raw(points))
    for one, other in zip(back.parameters(), network.parameters(), strict=True):
        assert bits(one) == bits(other)


def test_a_wide_network_goes_there_and_back():
    network = Network((60, 100, 30, 5), "gelu", random_state=0)
    form = GraphNetwork.from_network(network)
    points = np.random.default_rng(0).normal(size=(7, 60))
    np.testing.assert_allclose(form.predict_raw(points), network.predict_raw(points), rtol=1e-11)
    assert bits(form.to_network().predict_raw(points)) == bits(network.predict_raw(points))


def test_learned_slopes_survive():
    network = Network.from_arrays(
        Network((3, 4, 2), random_state=0).layers(),
        "prelu",
        slopes=[np.array([0.25, 0.1, -1.0, 2.0]), None],
    )
    form = GraphNetwork.from_network(network)
    assert form.activations["h1.3"].spec == "prelu(-1.0)"
    back = form.to_network()
    assert bits(back.slopes[0]) == bits(network.slopes[0])
    np.testing.assert_allclose(form.predict_raw(X), network.predict_raw(X), rtol=1e-12, atol=1e-14)


def test_the_plain_data_of_a_network():
    form = GraphNetwork.from_network(xor_network())
    assert form.inputs == ("x1", "x2")
    assert form.outputs == ("y1",)
    assert form.order == ("x1", "x2", "h1.1", "h1.2", "y1")
    assert form.parents == {
        "h1.1": ("x1", "x2"),
        "h1.2": ("x1", "x2"),
        "y1": ("h1.1", "h1.2"),
    }
    weights = {unit: tuple(w) for unit, w in form.weights.items()}
    assert weights == {"h1.1": (1.0, -1.0), "h1.2": (-1.0, 1.0), "y1": (1.0, 1.0)}
    assert form.biases == {"h1.1": -0.5, "h1.2": -0.5, "y1": -0.5}
    assert {f.spec for f in form.activations.values()} == {"step"}


def test_missing_edges_become_zero_weights():
    network = graph().to_network()
    assert bits(network.layers()[0][0]) == bits(np.array([[1.0, -2.0], [0.0, 0.5]]))
    points = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_allclose(
        network.predict_raw(points), graph().predict_raw(points), rtol=1e-13
    )


def test_double_edges_become_their_sum():
    double = graph(
        parents={"h": ("a", "b", "a"), "g": ("b",), "y": ("h", "g")},
        weights={"h": (1.0, -2.0, 0.5), "g": (0.5,), "y": (3.0, 4.0)},
    )
    assert double.to_network().layers()[0][0].tolist() == [[1.5, -2.0], [0.0, 0.5]]


def test_a_graph_that_skips_a_layer_can_be_evaluated_but_not_layered():
    form = graph(
        parents={"h": ("a", "b"), "g": ("b",), "y": ("h", "g", "a")},
        weights={"h": (1.0, -2.0), "g": (0.5,), "y": (3.0, 4.0, 5.0)},
    )
    gap = form.predict_raw([2.0, 1.0]) - graph().predict_raw([2.0, 1.0])
    assert gap.item() == pytest.approx(10.0)
    with pytest.raises(ParameterError, match=r"an edge from 'a' in layer 0 to 'y' in layer 2"):
        form.to_network()


def test_a_unit_without_parents_is_a_constant():
    form = graph(
        parents={"h": ("a", "b"), "g": (), "y": ("h", "g")},
        weights={"h": (1.0, -2.0), "y": (3.0, 4.0)},
    )
    points = np.random.default_rng(0).normal(size=(5, 2))
    network = form.to_network()
    np.testing.assert_allclose(form.predict_raw(points), network.predict_raw(points), rtol=1e-13)
    assert form.constant == ("g",)


def test_outputs_keep_their_order():
    form = GraphNetwork(
        {"y": ("a",), "z": ("a",)}, outputs=("z", "y"), weights={"y": (1.0,), "z": (2.0,)}
    )
    assert form.predict_raw([1.0]).tolist() == [2.0, 1.0]
    assert form.to_network().predict_raw([1.0]).tolist() == [2.0, 1.0]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"outputs": ("h",)}, r"outputs must be its last layer \('y',\)\. Got \('h',\)"),
        ({"outputs": ("y", "h")}, r"outputs must be its last layer \('y',\)\. Got \('y', 'h'\)"),
        (
            {"activation": {"h": "tanh", "g": "relu"}},
            r"share an activation within a layer\. Got 'tanh' for 'h' and 'relu' for 'g'",
        ),
        (
            {"activation": {"h": "prelu", "g": "relu"}},
            r"share an activation within a layer\. Got 'prelu' for 'h' and 'relu' for 'g'",
        ),
    ],
)
def test_a_graph_that_is_not_layered_is_refused(changes, sentence):
    with pytest.raises(ParameterError, match=sentence):
        graph(**changes).to_network()


def test_a_graph_of_inputs_alone_is_no_network():
    with pytest.raises(ParameterError, match=r"must have a layer after the inputs"):
        GraphNetwork({}, inputs=["a"], outputs=["a"]).to_network()


def test_a_graph_of_layers_is_the_sum_over_layers():
    rng = np.random.default_rng(3)
    sizes = {"x": 3, "h1": 20, "h2": 30, "y": 2}
    parents = {"h1": ["x"], "h2": ["h1", "x"], "y": ["h2", "h1", "x"]}
    shapes = {u: (sizes[u], sum(sizes[p] for p in above)) for u, above in parents.items()}
    W = {unit: rng.normal(size=shape) for unit, shape in shapes.items()}
    b = {unit: rng.normal(size=shape[0]) for unit, shape in shapes.items()}
    layers = GraphNetwork.from_layers(
        parents, sizes, activation={"h1": "relu"}, weights=W, biases=b
    )
    h1 = np.maximum(X @ W["h1"].T + b["h1"], 0.0)
    h2 = np.tanh(np.hstack([h1, X]) @ W["h2"].T + b["h2"])  # named by nobody: tanh
    y = np.hstack([h2, h1, X]) @ W["y"].T + b["y"]
    np.testing.assert_allclose(layers.predict_raw(X), y, rtol=1e-12, atol=1e-12)
    assert layers.inputs == ("x.1", "x.2", "x.3")
    assert layers.outputs == ("y.1", "y.2")
    assert [len(level.blocks) for level in layers._structure.plan.levels] == [0, 0, 1, 0]


def test_layers_have_the_activation_that_they_are_given():
    parents, sizes = {"h": ["x"], "y": ["h"]}, {"x": 1, "h": 2, "y": 1}
    specs = [
        [f.spec for f in GraphNetwork.from_layers(parents, sizes, **how).activations.values()]
        for how in ({}, {"activation": "relu"}, {"activation": {"y": "sigmoid"}})
    ]
    assert specs == [
        ["tanh", "tanh", "identity"],
        ["relu", "relu", "identity"],
        ["tanh", "tanh", "sigmoid"],
    ]
    both = GraphNetwork.from_layers(parents, sizes, outputs=["h", "y"], random_state=0)
    assert both.outputs == ("h.1", "h.2", "y.1")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"sizes": {"x": 1, "h": 2}},
            r"sizes must have an entry for each layer\. Got none for 'y'",
        ),
        ({"sizes": {"x": 1, "h": 0, "y": 1}}, r"sizes\['h'\] must be an integer of at least 1"),
        ({"sizes": [1, 2]}, r"sizes must be a mapping"),
        ({"parents": {"h": "x"}}, r"parents\['h'\] must be a list of names"),
        ({"outputs": ["z"]}, r"sizes must have an entry for each layer\. Got none for 'z'"),
        ({"activation": {"hh": "relu"}}, r"Got none for 'hh'\. Did you mean 'h'"),
        ({"weights": {"h": np.zeros((2, 1))}}, r"weights\['y'\] must have shape \(1, 2\)"),
        (
            {"biases": {"h": np.zeros(1), "y": np.zeros(1)}},
            r"biases\['h'\] must have shape \(2,\)",
        ),
    ],
)
def test_layers_that_do_not_fit_together(changes, sentence):
    fields = {"parents": {"h": ["x"], "y": ["h"]}, "sizes": {"x": 1, "h": 2, "y": 1}} | changes
    with pytest.raises(ParameterError, match=sentence):
        GraphNetwork.from_layers(fields.pop("parents"), fields.pop("sizes"), **fields)


@given(form=graphs(), dtype=st.sampled_from(["float32", "float64"]))
@settings(max_examples=25)
def test_a_saved_graph_comes_back_bit_for_bit(form, dtype, tmp_path_factory):
    names = ("activation", "outputs", "weights", "biases", "inputs")
    network = GraphNetwork(form["parents"], dtype=dtype, **{name: form[name] for name in names})
    place = tmp_path_factory.mktemp("graph") / "model"
    lamina.save(network, place)
    back = lamina.load(place)
    points = np.random.default_rng(0).normal(size=(3, len(form["inputs"])))
    assert bits(back.predict_raw(points)) == bits(network.predict_raw(points))
    assert (back.parents, back.order, back.outputs) == (
        network.parents,
        network.order,
        network.outputs,
    )
    assert back.activations == network.activations
    assert back.dtype == network.dtype


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("units", ["a", "b", "h", "g", "h"], "units of different names"),
        ("outputs", [9], "out of range"),
        ("activations", ["tanhh"], "activation must be one of"),
        ("n_inputs", 3, "'starts' must have shape"),
        ("dtype", "float16", "dtype must be one of"),
        (None, "units", "must have 'units' in its description"),
    ],
)
def test_a_description_that_makes_no_graph_is_refused(tmp_path, key, value, sentence):
    config, arrays = graph()._to_state()
    state = {name: value if name == key else old for name, old in config.items()}
    if key is None:
        del state[value]
    write_model(tmp_path / "model", {"kind": "GraphNetwork", "state": state}, arrays)
    with pytest.raises(FileError, match=sentence):
        lamina.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "array", "sentence"),
    [
        ("weights", np.zeros(4), r"array 'weights' must have shape \(5,\)"),
        ("parents", np.array([0, 1, 1, -1, 3]), "edges between them"),
        ("parents", np.array([0, 1, 4, 2, 3]), "must have no cycle"),
        ("starts", np.array([0, 3, 2, 5]), "edges between them"),
        ("kinds", np.zeros(3), r"array 'kinds' must have shape \(3,\)\. Got float64"),
    ],
)
def test_arrays_that_make_no_graph_are_refused(tmp_path, name, array, sentence):
    config, arrays = graph()._to_state()
    write_model(
        tmp_path / "model", {"kind": "GraphNetwork", "state": config}, arrays | {name: array}
    )
    with pytest.raises(FileError, match=sentence):
        lamina.load(tmp_path / "model")
