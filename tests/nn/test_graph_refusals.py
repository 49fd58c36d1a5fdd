"""Sentences about graphs, layers and numbers that do not fit, each of one line."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from lamina._errors import CycleError, DataError, ParameterError
from lamina.nn import GraphNetwork, Network, PReLU

CHAIN = {"h": ["a"], "y": ["h"]}
SIZES = {"a": 2, "h": 3, "y": 1}


@pytest.mark.parametrize(
    "changes",
    [
        {"parents": {"h": {"a", "b"}, "y": ["h"]}},
        {"parents": {"h": frozenset("ab"), "y": ["h"]}},
        {"inputs": {"a", "b"}},
        {"outputs": {"y", "h"}},
    ],
)
def test_a_set_has_no_order(changes):
    fields = {"parents": {"h": ["a", "b"], "y": ["h"]}} | changes
    with pytest.raises(ParameterError, match=r"must be in an order\. Got .*Give a list"):
        GraphNetwork(fields.pop("parents"), **fields)
    with pytest.raises(ParameterError, match=r"must be in an order"):
        GraphNetwork.from_layers({"h": {"a", "b"}}, {"a": 1, "b": 1, "h": 1})
    keys = {"a": 0, "b": 0}.keys()
    assert GraphNetwork({"y": keys}).inputs == ("a", "b")


@pytest.mark.parametrize(
    ("parents", "cycle"),
    [
        ({"a": ["a"]}, "a → a"),
        ({"a": ["b"], "b": ["a"]}, "a → b → a"),
        ({"b": [], "a": ["a", "b"]}, "a → a"),
    ],
)
def test_a_cycle_is_named_where_there_is_no_input(parents, cycle):
    with pytest.raises(CycleError, match=rf"must have no cycle\. Got {cycle}\."):
        GraphNetwork(parents)
    with pytest.raises(CycleError, match=rf"must have no cycle\. Got {cycle}\."):
        GraphNetwork.from_layers(parents, dict.fromkeys(parents, 3))


def test_a_graph_without_inputs_and_cycles_needs_an_input():
    with pytest.raises(ParameterError, match=r"inputs must be given where no parent is without"):
        GraphNetwork({"c": [], "y": ["c"]})
    with pytest.raises(ParameterError, match=r"sizes must have a layer without an entry in par"):
        GraphNetwork.from_layers({"c": [], "y": ["c"]}, {"c": 1, "y": 1})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"parents": {"y": [["a"]]}}, r"must have texts as names of units\. Got \['a'\]\."),
        ({"activation": {"h": ["relu"]}}, r"activation\['h'\] must be a name or an Activation"),
        ({"weights": {"h": np.array(1.0), "y": [1]}}, r"weights\['h'\] must have 1 numbers.*1\.0"),
        ({"weights": {"h": torch.tensor(1.0), "y": [1]}}, r"weights\['h'\] must have 1 numbers"),
        ({"weights": {"h": {1.0}, "y": [1]}}, r"weights\['h'\] must have 1 numbers.*\{1\.0\}"),
        ({"biases": {"y": 0.0}}, r"an entry for each unit that is no input.*none for \['h'\]"),
    ],
)
def test_units_that_do_not_fit_together(changes, sentence):
    fields = {"parents": CHAIN} | changes
    with pytest.raises(ParameterError, match=sentence):
        GraphNetwork(fields.pop("parents"), **fields)


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"outputs": "y"}, ParameterError, r"outputs must be names of layers.*'y'\. Give a list"),
        ({"outputs": 5}, ParameterError, r"outputs must be names of layers.*Got 5\. Give a list"),
        ({"outputs": [["y"]]}, ParameterError, r"outputs must be names of layers.*\[?'y'"),
        ({"weights": [1]}, ParameterError, r"weights must be a mapping from layers to arrays"),
        ({"biases": 1.0}, ParameterError, r"biases must be a mapping from layers to arrays"),
        ({"weights": {"h": "ab"}}, DataError, r"weights\['h'\] must be an array of real numbers"),
        ({"weights": {"h": [[1], [1, 2]]}}, DataError, r"weights\['h'\] must be an array of real"),
        ({"activation": {"h": "rel"}}, ParameterError, r"^activation\['h'\] must be one of"),
        ({"activation": "rel"}, ParameterError, r"^activation must be one of"),
        ({"activation": {"a": "relu"}}, ParameterError, r"layers that are no inputs\. Got 'a'"),
        ({"activation": {"h": ["relu"]}}, ParameterError, r"^activation\['h'\] must be a name"),
    ],
)
def test_layers_that_do_not_fit_together(changes, error, sentence):
    with pytest.raises(error, match=sentence):
        GraphNetwork.from_layers(CHAIN, SIZES, **changes)


def test_tensors_with_a_gradient_are_taken_as_numbers():
    def number(value):
        return torch.tensor(value, requires_grad=True)

    graph = GraphNetwork(
        CHAIN, weights={"h": number([2.0]), "y": [number(3.0)]}, biases={"h": number(0.5), "y": 1}
    )
    assert {unit: w.tolist() for unit, w in graph.weights.items()} == {"h": [2.0], "y": [3.0]}
    assert graph.biases == {"h": 0.5, "y": 1.0}
    W = {"h": torch.ones(3, 2, requires_grad=True), "y": np.full((1, 3), 2.0)}
    layers = GraphNetwork.from_layers(CHAIN, SIZES, weights=W)
    assert layers.weights["h.3"].tolist() == [1.0, 1.0]


def test_parameters_are_numbers_of_any_kind():
    graph = GraphNetwork(CHAIN, random_state=0)
    assert graph.with_parameters([1, 2], torch.tensor([3, 4])).biases == {"h": 3.0, "y": 4.0}
    assert graph.with_parameters(np.ones(2, np.float32), [0, 0]).dtype == torch.float32
    assert np.isnan(graph.with_parameters([np.nan, 1.0], [0, 0]).weights["h"]).all()
    for wrong in ([[1], [1, 2]], ["a", "b"], torch.ones(2, dtype=torch.complex64)):
        with pytest.raises(DataError, match=r"weights must be"):
            graph.with_parameters(wrong, [0, 0])


@pytest.mark.parametrize(
    ("network", "cure"),
    [
        ("a", ""),
        (nn.Linear(2, 1), r" Network\.from_torch"),
        (GraphNetwork(CHAIN), r" It is a graph already"),
    ],
)
def test_only_a_network_becomes_a_graph(network, cure):
    with pytest.raises(ParameterError, match=rf"network must be a Network\. Got .*{cure}"):
        GraphNetwork.from_network(network)


def test_a_sparse_tensor_is_refused():
    sparse = torch.eye(1, dtype=torch.float64).to_sparse()
    for read in (GraphNetwork(CHAIN), GraphNetwork(CHAIN).predict_raw):
        with pytest.raises(DataError, match=r"X must be a dense tensor\. Got torch\.sparse_coo"):
            read(sparse)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", [GraphNetwork.from_network, Network.from_torch])
def test_a_network_of_less_precision_predicts(dtype, kind, tmp_path):
    network = Network((2, 3, 1), "tanh", random_state=0)
    rough, point = kind(network).to(getattr(torch, dtype)), np.array([[0.3, -0.7]])
    np.testing.assert_allclose(rough.predict_raw(point), network.predict_raw(point), atol=0.02)
    if isinstance(rough, GraphNetwork):
        assert rough.dtype_name == dtype
        assert rough.weights["y1"].shape == (3,)
        for leave in (rough.to_network, rough._to_state):
            with pytest.raises(ParameterError, match=rf"dtype must be one of .*Got '{dtype}'"):
                leave()


def test_a_slope_keeps_its_value_but_not_its_start():
    network = Network((2, 3, 2), [PReLU(0.1)], random_state=0)
    back = GraphNetwork.from_network(network).to_network()
    assert torch.equal(back.slopes[0], network.slopes[0])


def test_a_description_has_one_line_a_level():
    long, broken = "n" * 70, "bad\nname"
    lines = GraphNetwork({long: ["x"], broken: ["x"]}).summary().splitlines()
    assert len(lines) == 5
    assert lines[3].split("  ")[-1] == "n" * 59 + "…, …"
    alone = GraphNetwork({long: ["x"]}).summary().splitlines()
    assert alone[-1] == "outputs: " + "n" * 59 + "…"
    assert GraphNetwork({broken: ["x"]}).summary().endswith("outputs: bad\\nname")
