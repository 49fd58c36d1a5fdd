"""A network on any acyclic graph: values and gradients of a loop over units, and its messages."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina._errors import CycleError, DataError, ParameterError
from lamina.nn import GraphNetwork, Network

from ._graph_loop import graphs, layered_graph, loop_forward, loop_gradients


def network_of(graph, **changes):
    """Return the network of a graph of the oracle."""
    names = ("activation", "outputs", "weights", "biases", "inputs")
    return GraphNetwork(graph["parents"], **({n: graph[n] for n in names} | changes))


def small(**changes):
    """Return a small graph in two layers, with changes."""
    fields = {
        "parents": {"h": ("a", "b"), "g": ("b",), "y": ("h", "g")},
        "weights": {"h": (1.0, -2.0), "g": (0.5,), "y": (3.0, 4.0)},
        "biases": {"h": 0.1, "g": 0.2, "y": 0.3},
    } | changes
    return GraphNetwork(fields.pop("parents"), **fields)


def assert_equals_the_loop(graph, X, outer):
    """Compare outputs, all values and every gradient with the loop over units."""
    network = network_of(graph)
    x = torch.from_numpy(X).requires_grad_()
    y = network.forward(x)
    values = [loop_forward(graph, row)[0] for row in X]
    wanted = np.array([[h[unit] for unit in graph["outputs"]] for h in values])
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(y.detach().numpy(), wanted, **close)
    np.testing.assert_allclose(network.predict_raw(X), wanted, **close)
    everything = np.array([[h[unit] for unit in network.order] for h in values])
    np.testing.assert_allclose(network.values(X), everything, **close)

    (y * torch.from_numpy(outer)).sum().backward()
    to_weights, to_biases, to_slopes, to_inputs = loop_gradients(graph, X, outer)
    gradients = network.with_parameters(
        network.edge_weights.grad, network.unit_biases.grad, network.unit_slopes.grad
    )
    for unit, gradient in to_weights.items():
        np.testing.assert_allclose(gradients.weights[unit], gradient, **close)
        np.testing.assert_allclose(gradients.biases[unit], to_biases[unit], **close)
    for unit, gradient in to_slopes.items():
        np.testing.assert_allclose(gradients.activations[unit].init, gradient, **close)
    np.testing.assert_allclose(x.grad.numpy(), to_inputs, **close)


@given(graph=graphs(), seed=st.integers(0, 1000), n_rows=st.integers(1, 4))
@settings(max_examples=80)
def test_values_and_gradients_are_those_of_a_loop_over_units(graph, seed, n_rows):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, len(graph["inputs"])))
    assert_equals_the_loop(graph, X, rng.normal(size=(n_rows, len(graph["outputs"]))))


@pytest.mark.parametrize("sizes", [(5, 24, 24, 3), (30, 30, 30, 30, 8), (3, 200, 6)])
def test_units_that_share_their_parents_are_products_with_the_same_values(sizes):
    graph = layered_graph(sizes, seed=1)
    network = network_of(graph)
    assert any(level.blocks for level in network._structure.plan.levels)
    rng = np.random.default_rng(0)
    assert_equals_the_loop(graph, rng.normal(size=(3, sizes[0])), rng.normal(size=(3, sizes[-1])))


@given(graph=graphs(), seed=st.integers(0, 100))
@settings(max_examples=40)
def test_dropout_masks_act_on_what_children_receive(graph, seed):
    # A mask of m on unit p is the loop with p's outgoing weights times m.
    rng = np.random.default_rng(seed)
    network = network_of(graph)
    engine = network.engine()
    mask = np.ones(len(network.order))
    mask[engine.hidden] = rng.choice([0.0, 2.0], size=len(engine.hidden))
    by_unit = dict(zip(network.order, mask, strict=True))
    X, outer = rng.normal(size=(1, len(graph["inputs"]))), rng.normal(size=len(graph["outputs"]))
    parameters = network.graph_parameters()
    buffers = engine.buffers(1, parameters.weights, dropout=True)
    masks = torch.from_numpy(mask)[:, None]
    raw = engine.forward(parameters, buffers, torch.from_numpy(X), masks)
    gradients = type(parameters)(*(torch.empty_like(p) for p in parameters))
    engine.backward(parameters, buffers, torch.from_numpy(outer)[:, None], gradients, masks)

    weights = {
        unit: own * [by_unit[parent] for parent in graph["parents"][unit]]
        for unit, own in graph["weights"].items()
    }
    masked = graph | {"weights": weights}
    h, _ = loop_forward(masked, X[0])
    wanted = [h[unit] for unit in graph["outputs"]]
    np.testing.assert_allclose(raw[:, 0].numpy(), wanted, rtol=1e-12, atol=1e-12)
    to_weights, to_biases, _, _ = loop_gradients(masked, X, outer[None])
    got = network.with_parameters(*gradients)
    for unit, gradient in to_weights.items():
        scaled = gradient * [by_unit[parent] for parent in graph["parents"][unit]]
        np.testing.assert_allclose(got.weights[unit], scaled, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(got.biases[unit], to_biases[unit], rtol=1e-12, atol=1e-12)


@given(graph=graphs())
def test_every_unit_comes_after_its_parents(graph):
    network = network_of(graph)
    place = {unit: i for i, unit in enumerate(network.order)}
    assert sorted(place) == sorted([*graph["inputs"], *graph["parents"]])
    assert all(place[p] < place[u] for u, above in graph["parents"].items() for p in above)
    assert network.order[: len(graph["inputs"])] == network.inputs == tuple(graph["inputs"])
    assert tuple(itertools.chain(*network.levels)) == network.order


@given(graph=graphs())
def test_what_was_given_can_be_read_back(graph):
    network = network_of(graph)
    assert network.parents == graph["parents"]
    assert network.biases == graph["biases"]
    assert {u: w.tolist() for u, w in network.weights.items()} == {
        u: graph["weights"][u].tolist() for u in graph["parents"]
    }
    assert {u: f.spec for u, f in network.activations.items()} == graph["activation"]
    assert network.outputs == tuple(graph["outputs"])


@given(graph=graphs())
def test_who_takes_no_part_is_told(graph):
    network = network_of(graph)
    reached, used = set(graph["inputs"]), set(graph["outputs"])
    for _ in graph["parents"]:
        reached |= {u for u, above in graph["parents"].items() if reached & set(above)}
        used |= {p for u, above in graph["parents"].items() if u in used for p in above}
    assert set(network.constant) == set(network.order) - reached
    assert set(network.unused) == set(network.order) - used
    assert network.unused == () or "without a path to an output: " in network.summary()


def test_inputs_and_outputs_are_found():
    network = GraphNetwork({"y": ["h", "b"], "h": ["a"], "z": ["h"]}, random_state=0)
    assert network.inputs == ("b", "a")
    assert network.outputs == ("y", "z")
    assert [f.name for f in network.activations.values()] == ["identity", "tanh", "identity"]


def test_outputs_may_feed_others_and_inputs_may_be_outputs():
    network = GraphNetwork(
        {"y": ["x"], "z": ["y"]},
        outputs=["z", "x", "y"],
        weights={"y": [2.0], "z": [-1.0]},
        inputs=["x"],
    )
    assert network.predict_raw([3.0]).tolist() == [-6.0, 3.0, 6.0]


def test_an_edge_that_is_listed_twice_counts_twice():
    network = GraphNetwork({"y": ["x", "x"]}, weights={"y": [2.0, 0.5]})
    assert network.predict_raw([3.0]).tolist() == [7.5]


def test_a_graph_of_inputs_alone():
    network = GraphNetwork({}, inputs=["a", "b"], outputs=["b"])
    assert network.predict_raw([[1.0, 2.0]]).tolist() == [[2.0]]
    assert network.n_parameters == network.depth == 0


def test_values_by_name_and_by_column_agree():
    network = small()
    h, g = np.tanh(0.1 + 0.7 + 2 * 1.1), np.tanh(0.2 - 0.5 * 1.1)
    by_hand = 0.3 + 3 * h + 4 * g
    assert network.forward({"b": -1.1, "a": 0.7})["y"] == pytest.approx(by_hand, rel=1e-14)
    assert network.forward(np.array([0.7, -1.1])) == pytest.approx([by_hand], rel=1e-14)
    columns = network.forward({"a": np.full((5, 4), 0.7), "b": -1.1})
    np.testing.assert_allclose(columns["y"], np.full((5, 4), by_hand), rtol=1e-14)
    a = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    network.forward({"a": a, "b": -1.1})["y"].backward()
    assert a.grad.item() == pytest.approx(3 * (1 - h**2), rel=1e-13)
    assert network.forward(np.zeros((5, 4, 2))).shape == (5, 4, 1)
    assert network.predict_raw(np.zeros((0, 2))).shape == (0, 1)


def test_many_rows_are_the_rows_one_by_one(monkeypatch):
    network, X = small(), np.random.default_rng(0).normal(size=(200, 2))
    whole = network.predict_raw(X)
    monkeypatch.setattr("lamina.nn._graph_network.BUFFER_BYTES", 1)  # 64 rows at a time
    np.testing.assert_array_equal(network.predict_raw(X), whole)
    assert network.predict_raw(X[::2].astype(np.float32)).shape == (100, 1)
    X.flags.writeable = False
    np.testing.assert_array_equal(network.predict_raw(X), whole)


def test_a_copy_is_independent_and_a_pickle_is_equal():
    network = small()
    twin, pickled = copy.deepcopy(network), pickle.loads(pickle.dumps(network))
    with torch.no_grad():
        twin.edge_weights.zero_()
    X = np.array([[0.3, -0.2]])
    assert twin.predict_raw(X).tolist() == [[0.3 + 0 * 0]]
    assert pickled.predict_raw(X).tolist() == network.predict_raw(X).tolist() != [[0.3]]


def test_a_pickle_grows_with_the_edges():
    def size(n):
        chain = {f"u{i}": [f"u{i - 1}" if i else "x"] for i in range(n)}
        return len(pickle.dumps(GraphNetwork(chain, random_state=0)))

    assert size(1000) < 2.2 * size(500)
    assert size(500) < 100 * 500  # a name, an edge and some numbers a unit


@given(graph=graphs())
def test_a_pickle_computes_and_learns_the_same(graph):
    network = network_of(graph)
    twin = pickle.loads(pickle.dumps(network))
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(3, len(graph["inputs"]))))
    for form in (network, twin):
        form(x).square().sum().backward()
    assert twin.predict_raw(x).tolist() == network.predict_raw(x).tolist()
    assert twin.order == network.order
    for one, other in zip(twin.parameters(), network.parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)


def test_a_torch_optimiser_trains_it():
    network = small()
    X = torch.linspace(-1, 1, 20, dtype=torch.float64)[:, None].repeat(1, 2)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    losses = []
    for _ in range(200):
        optimizer.zero_grad()
        loss = ((network(X) - X[:, :1] ** 2) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.02 * losses[0]


def test_draws_follow_the_seed_and_the_rule():
    parents = {f"u{i}": [f"x{j}" for j in range(50)] for i in range(400)}
    parents |= {f"v{i}": [f"u{i}"] for i in range(400)}
    network = GraphNetwork(parents, activation="relu", init="he", random_state=1)
    w = np.concatenate([network.weights[f"u{i}"] for i in range(400)])
    assert w.std() == pytest.approx((2 / 50) ** 0.5, rel=0.02)
    again = GraphNetwork(parents, activation="relu", init="he", random_state=1)
    assert torch.equal(network.edge_weights, again.edge_weights)
    other = GraphNetwork(parents, activation="relu", init="he", random_state=2)
    assert not torch.equal(network.edge_weights, other.edge_weights)
    assert set(network.biases.values()) == {0.0}


def test_a_graph_of_layers_is_drawn_like_the_network():
    network = Network((3, 8, 8, 4, 8, 2), "tanh", init="torch", random_state=3)
    graph = GraphNetwork.from_network(network)
    drawn = GraphNetwork(graph.parents, init="torch", random_state=3, inputs=graph.inputs)
    assert {u: w.tolist() for u, w in drawn.weights.items()} == {
        u: w.tolist() for u, w in graph.weights.items()
    }
    assert drawn.biases == graph.biases


def test_depth_and_breadth_without_recursion():
    n = 3000
    chain = GraphNetwork(
        {f"u{i}": [f"u{i - 1}" if i else "x"] for i in range(n)},
        activation="identity",
        weights={f"u{i}": [1.0] for i in range(n)},
        biases=dict.fromkeys([f"u{i}" for i in range(n)], 1.0),
    )
    assert chain.depth == n
    assert chain.predict_raw([0.5]).tolist() == [n + 0.5]
    assert "…" in chain.summary()
    wide = GraphNetwork({f"u{i}": ["x"] for i in range(n)}, random_state=0)
    assert (wide.depth, len(wide.outputs)) == (1, n)


def test_a_cycle_is_named():
    cyclic = {"h": ("a", "y"), "g": ("h",), "y": ("g",), "z": ("y",)}
    with pytest.raises(CycleError, match=r"The graph must have no cycle\. Got ") as caught:
        GraphNetwork(cyclic)
    named = str(caught.value).removeprefix("The graph must have no cycle. Got ")[:-1].split(" → ")
    assert named[0] == named[-1]
    assert sorted(named[1:]) == ["g", "h", "y"]
    assert all(parent in cyclic[unit] for parent, unit in itertools.pairwise(named))


def test_a_unit_that_feeds_itself_is_a_cycle():
    with pytest.raises(CycleError, match=r"Got h → h\."):
        GraphNetwork({"y": ["h"], "h": ["x", "h"]})


def test_a_long_cycle_is_shortened():
    ring = {f"u{i}": [f"u{i - 1 if i else 9999}"] for i in range(10_000)}
    with pytest.raises(CycleError, match=r"u0 → u1 → .* → … \(9,981 more units\) … → .* → u0\."):
        GraphNetwork(ring | {"y": ["x"]})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"parents": ["h"]}, r"parents must be a mapping from units to the names"),
        ({"parents": {"y": "h"}}, r"parents\['y'\] must be a list of names\. Got 'h'"),
        ({"parents": {1: ["h"]}}, r"parents must have texts as names of units\. Got 1\."),
        ({"parents": {"y": [1]}}, r"parents must have texts as names of units\. Got 1\."),
        ({"parents": {"y": ()}}, r"inputs must be given where no parent is without an entry"),
        ({"parents": {}, "inputs": "a"}, r"inputs must be names of units.*Got 'a'\. Give a list"),
        ({"inputs": ()}, r"inputs must be names of units without parents, each once. Got \(\)"),
        ({"inputs": ("a", "a", "b")}, r"inputs must be names of units without parents, each once"),
        ({"inputs": ("a", "b", "h")}, r"where 'h' has parents"),
        ({"inputs": ("a",)}, r"parents\['h'\] must be units\. Got 'b'"),
        ({"outputs": ("z",)}, r"outputs must be names of units.*where 'z' is none"),
        ({"outputs": ()}, r"outputs must be names of units"),
        ({"outputs": ("y", "y")}, r"outputs must be names of units, each once"),
        ({"parents": {}, "inputs": ["a"]}, r"at least one unit that is no input"),
        ({"biases": {"h": 0.0}}, r"biases must have an entry for each.*none for \['g', 'y'\]"),
        ({"biases": [0.0]}, r"biases must be a mapping"),
        ({"weights": {"h": (1, 1), "g": (1,), "y": (1, 1), "hh": ()}}, r"Did you mean 'h'"),
        ({"weights": {"h": (1,), "g": (1,), "y": (1, 1)}}, r"must have 2 numbers.*Got 1\."),
        ({"weights": {"h": 1.0, "g": (1,), "y": (1, 1)}}, r"must have 2 numbers.*Got 1\.0\."),
        (
            {"weights": {"h": (1, "one"), "g": (1,), "y": (1, 1)}},
            r"weights must be single numbers",
        ),
        ({"weights": {"h": (1, np.nan), "g": (1,), "y": (1, 1)}}, r"must be finite\. Got nan"),
        ({"activation": {"z": "relu"}}, r"activation must name units that are no.*Got 'z'"),
        ({"activation": {"a": "relu"}}, r"activation must name units that are no.*Got 'a'"),
        ({"activation": {"h": "reluu"}}, r"activation\['h'\] must be one of.*Did you mean 'relu'"),
        ({"activation": "reluu"}, r"activation must be one of"),
        ({"init": "hee"}, r"init must be one of"),
        ({"random_state": "a"}, r"random_state must be"),
        ({"dtype": "float16"}, r"dtype must be one of"),
    ],
)
def test_what_does_not_fit_together(changes, sentence):
    # Without weights and biases where the graph is another.
    free = {"weights": None, "biases": None} if changes.keys() & {"parents", "inputs"} else {}
    with pytest.raises(ParameterError, match=sentence):
        small(**(free | changes))


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (np.zeros((4, 3)), r"X must have shape \(\.\.\., 2\)\. Got shape \(4, 3\)"),
        (3.0, r"Got a single number"),
        ([["a", "b"]], r"X must be an array of real numbers"),
        (torch.zeros(4, 2), r"X must have the network's dtype torch\.float64"),
        ({"a": 1.0}, r"for each input and for no other\. Got no value for \['b'\]"),
        ({"a": 1.0, "b": 1.0, "aa": 2.0}, r"Got one for 'aa'\. Did you mean 'a'"),
        ({"a": "1", "b": 1.0}, r"X\['a'\] must be an array of real numbers"),
        ({"a": [1.0, 2.0], "b": [1.0, 2.0, 3.0]}, r"of one shape\. Got shapes \[\(2,\), \(3,\)\]"),
        (
            {"a": torch.zeros(2), "b": torch.zeros(3)},
            r"of one shape\. Got shapes \[\(2,\), \(3,\)\]",
        ),
    ],
)
def test_inputs_that_do_not_fit(X, sentence):
    with pytest.raises(DataError, match=sentence):
        small().forward(X)


def test_parameters_of_another_shape_are_refused():
    with pytest.raises(ParameterError, match=r"must have shapes \[\(5,\), \(3,\), \(0,\)\]"):
        small().with_parameters(np.zeros(4), np.zeros(3))
