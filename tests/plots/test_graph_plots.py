"""Pictures of graphs of units: who stands where, and which edges are drawn."""

from __future__ import annotations

import time

import numpy as np
import pytest

from lamina._errors import ParameterError
from lamina.nn import GraphNetwork, Network
from lamina.plots import figure_numbers, plot_graph

SMALL = {"h": ["a", "b"], "y": ["h", "a"]}
WEIGHTS = {"h": [1.0, -2.0], "y": [0.5, 3.0]}


def drawn(network, **options):
    """Return the title and the numbers of a picture."""
    ax = plot_graph(network, **options)
    return ax, figure_numbers(ax)


def test_units_stand_at_their_level_and_edges_join_them():
    ax, numbers = drawn(GraphNetwork(SMALL, weights=WEIGHTS))
    points = numbers[numbers["kind"] == "points"]
    assert points.groupby("label")["x"].apply(list).to_dict() == {
        "input": [0.0, 0.0],
        "hidden": [1.0],
        "output": [2.0],
    }
    place = {text.get_text(): text.xy for text in ax.texts}
    segments = numbers[numbers["kind"] == "segment"]
    ends = {
        (label, *map(tuple, group[["x", "y"]].iloc[[0, -1]].to_numpy()))
        for (label, _), group in segments.groupby(["label", "value"])
    }
    signs = {
        "a": {"h": "positive", "y": "positive"},
        "b": {"h": "negative"},
        "h": {"y": "positive"},
    }
    assert ends == {
        (f"{sign} weight", place[parent], place[unit])
        for parent, below in signs.items()
        for unit, sign in below.items()
    }
    # The edge past level 1 is bent, so that it does not run through h.
    past = segments[segments["x"].between(0.9, 1.1)]
    assert (past["y"].sub(place["h"][1]).abs() > 0.2).any()


def test_thick_edges_have_large_weights():
    ax = plot_graph(GraphNetwork(SMALL, weights=WEIGHTS))
    widths = np.concatenate([lines.get_linewidths() for lines in ax.collections[:2]])
    assert sorted(widths) == pytest.approx([0.3 + 2.2 * w / 3 for w in (0.5, 1, 2, 3)])


def test_of_many_edges_the_largest_are_drawn():
    network = Network((20, 30, 10), random_state=0)
    ax, numbers = drawn(network, max_edges=50)
    assert ax.get_title() == "40 units, 50 of 900 edges, depth 2"
    assert numbers[numbers["kind"] == "segment"].groupby(["label", "value"]).ngroups == 50
    assert len(ax.texts) == 60
    large, _ = drawn(Network((50, 60, 10), random_state=0), max_edges=0)
    assert not large.texts


def test_many_outputs_take_time_in_proportion():
    graph = GraphNetwork({f"u{i}": ["x"] for i in range(20_000)}, random_state=0)
    start = time.perf_counter()
    plot_graph(graph, max_edges=10)
    assert time.perf_counter() - start < 4.0  # far more with a set for each unit


def test_a_graph_without_edges_is_drawn():
    ax, numbers = drawn(GraphNetwork({}, inputs=["a"], outputs=["a"]))
    assert ax.get_title() == "0 units, 0 edges, depth 0"
    assert numbers[["kind", "label"]].values.tolist() == [["points", "output"], ["text", "a"]]


def test_what_is_no_network_is_refused():
    with pytest.raises(ParameterError, match=r"network must be a GraphNetwork or a Network\. Got"):
        plot_graph({"y": ["x"]})
    with pytest.raises(ParameterError, match="max_edges must be an integer"):
        plot_graph(GraphNetwork(SMALL), max_edges=-1)
