"""Parameters counted, and networks described."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from lamina._errors import ParameterError
from lamina.nn import Network, count_parameters

COUNTS = {
    (3, 4, 2): 26,
    (2, 8, 1): 33,
    (784, 128, 10): 101_770,
    (2, 100, 100, 100, 1): 20_601,
    (784, 128, 64, 10): 109_386,
    (2, 4, 2): 22,
    (2, 16, 2): 82,
    (2, 8, 8, 8, 2): 186,
    (2, 64, 2): 322,
}


@pytest.mark.parametrize(("sizes", "count"), COUNTS.items(), ids=str)
def test_the_counts_of_the_texts(sizes, count):
    assert count_parameters(sizes) == count
    network = Network(sizes, init="torch")
    assert network.n_parameters == count
    assert sum(parameter.numel() for parameter in network.parameters()) == count


@given(st.lists(st.integers(1, 30), min_size=2, max_size=6))
def test_the_count_is_that_of_torch_s_linear_layers(sizes):
    layers = [nn.Linear(*pair) for pair in itertools.pairwise(sizes)]
    assert count_parameters(sizes) == sum(p.numel() for l in layers for p in l.parameters())  # noqa: E741


def test_the_table_has_weights_and_biases_of_each_layer():
    table = Network((784, 128, 64, 10)).parameter_table()
    assert list(table.index) == [1, 2, 3]
    assert table["text"].tolist() == ["100,352 + 128", "8,192 + 64", "640 + 10"]
    assert table["parameters"].sum() == 109_386
    assert (table["weights"] + table["biases"]).tolist() == table["parameters"].tolist()
    assert (table["inputs"] * table["outputs"]).tolist() == table["weights"].tolist()


def test_learned_slopes_are_counted():
    network = Network((3, 5, 2), "prelu")
    assert network.n_parameters == 3 * 5 + 5 + 5 + 5 * 2 + 2
    assert network.n_parameters == sum(p.numel() for p in network.parameters())
    assert network.parameter_table()["text"][1] == "15 + 5 + 5 slopes"


def test_summary_is_in_superscript_layer_notation():
    network = Network((3, 4, 4, 2), ["tanh", "leaky_relu(0.1)"], output_activation="sigmoid")
    assert network.summary().splitlines() == [
        "Network 3-4-4-2, float64, 46 parameters",
        "layer  units  weights + biases  parameters  computes",
        "l = 1  3 → 4  12 + 4            16          a⁽¹⁾ = W⁽¹⁾x + b⁽¹⁾, h⁽¹⁾ = tanh(a⁽¹⁾)",
        "l = 2  4 → 4  16 + 4            20          "
        "a⁽²⁾ = W⁽²⁾h⁽¹⁾ + b⁽²⁾, h⁽²⁾ = leaky_relu(0.1)(a⁽²⁾)",
        "l = 3  4 → 2  8 + 2             10          a⁽³⁾ = W⁽³⁾h⁽²⁾ + b⁽³⁾, y = sigmoid(a⁽³⁾)",
        "3 layers of weights (depth L = 3), 2 hidden layers. Also called four-layer by those who "
        "count the inputs too.",
    ]


@pytest.mark.parametrize(
    ("sizes", "names"),
    [
        (
            (2, 1),
            "1 layer of weights (depth L = 1), 0 hidden layers. Also called two-layer by those "
            "who count the inputs too.",
        ),
        (
            (2, 3, 1),
            "2 layers of weights (depth L = 2), 1 hidden layer. Also called single-hidden-layer, "
            "or three-layer by those who count the inputs too.",
        ),
    ],
)
def test_summary_says_how_layers_are_counted(sizes, names):
    assert Network(sizes).summary().splitlines()[-1] == names


def test_layers_above_nine_have_two_digits():
    summary = Network((1,) * 12, "identity").summary()
    assert "a⁽¹¹⁾ = W⁽¹¹⁾h⁽¹⁰⁾ + b⁽¹¹⁾, y = a⁽¹¹⁾" in summary
    assert "12-layer" in summary


def test_counting_needs_two_sizes():
    with pytest.raises(ParameterError, match="sizes must be at least two integers"):
        count_parameters((3,))
