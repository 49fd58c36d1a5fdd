"""What training refuses where a member is a graph: another graph's state, columns, numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lamina._errors import DataError, ParameterError
from lamina.heads import Normal
from lamina.nn import GraphNetwork
from lamina.stack import Member, train

X = np.random.default_rng(0).normal(size=(20, 2))
Y = X[:, 0] - X[:, 1]
SHORT = {"h": ["a", "b"], "g": ["h"], "y": ["g"]}
SAME_COUNTS = {"h": ["a"], "g": ["h"], "y": ["g", "b"]}


def member(parents, **options):
    """Return a member that is a graph of the inputs a and b."""
    graph = GraphNetwork(parents, inputs=["a", "b"], random_state=0)
    return Member(init=graph, **({"max_epochs": 1} | options))


def test_a_state_of_another_graph_is_refused():
    first = train([member(SHORT)], X, Y)
    assert train([member(SHORT)], X, Y, states=first.states).states[0].epoch == 2
    with pytest.raises(ParameterError, match=r"states\[0\] must come .* graph\. Got one with"):
        train([member(SAME_COUNTS)], X, Y, states=first.states)
    other_names = {"k": ["a", "b"], "l": ["k"], "z": ["l"]}
    assert train([member(other_names)], X, Y, states=first.states).states[0].epoch == 2


def test_a_state_of_layers_is_refused():
    # Shapes (1,) and (1,) of both a neuron's and a graph's parameters are no help here.
    linear = train([Member((), max_epochs=1)], X[:, :1], Y)
    wired = Member(init=GraphNetwork({"y": ["a"]}, random_state=0), max_epochs=1)
    with pytest.raises(ParameterError, match=r"same graph\. Got one of layers"):
        train([wired], X[:, :1], Y, states=linear.states)


def test_a_table_with_other_columns_is_refused():
    table = pd.DataFrame(X, columns=["a", "b"])
    trained = [train([member(SHORT)], data, Y).networks[0] for data in (table, X)]
    assert trained[0].predict_raw(X).tolist() == trained[1].predict_raw(X).tolist()
    for columns in (["b", "a"], ["q", "r"]):
        with pytest.raises(DataError, match=r"inputs of members\[1\]\.init, \('a', 'b'\), as its"):
            train([Member((2,)), member(SHORT)], table.set_axis(columns, axis=1), Y)
    assert train([Member((2,), max_epochs=1)], table[["b", "a"]], Y).status == ["epochs"]


def test_first_numbers_that_are_not_finite_are_refused():
    graph = GraphNetwork({"y": ["a", "b"]}).with_parameters([np.nan, 1.0], [0.0])
    with pytest.raises(ParameterError, match=r"members\[0\]\.init must be finite"):
        train([Member(init=graph)], X, Y)


def test_training_leaves_the_graph_alone():
    graph = GraphNetwork({"y": ["a", "b"], "s": ["a"]}, random_state=0)
    before = graph.weights["s"].tolist()
    train([Member(init=graph, head=Normal(scale="shared"), max_epochs=1)], X, Y, dtype="float64")
    assert graph.weights["s"].tolist() == before != [0.0]


@pytest.mark.parametrize("sizes", [np.array([5, 5]), [5, 5], 100.5])
def test_sizes_beside_a_graph_are_refused(sizes):
    with pytest.raises(ParameterError, match=r"hidden_layer_sizes"):
        member(SHORT, hidden_layer_sizes=sizes)
    with pytest.raises(ParameterError, match=r"activation must be left out"):
        member(SHORT, activation=np.array(["tanh", "relu"]))
