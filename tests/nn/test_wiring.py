"""Networks wired by hand: truth tables, XOR, and the line that cannot solve it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy import special

from lamina._errors import DataError, ParameterError
from lamina.nn import (
    Network,
    and_neuron,
    best_neuron,
    or_neuron,
    step_neuron,
    truth_table,
    xor_network,
)

CORNERS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize("n_inputs", [1, 2, 3, 5])
def test_and_or(n_inputs):
    rows = list(itertools.product([0, 1], repeat=n_inputs))
    assert and_neuron(n_inputs).predict_raw(rows).ravel().tolist() == [all(row) for row in rows]
    assert or_neuron(n_inputs).predict_raw(rows).ravel().tolist() == [any(row) for row in rows]


def test_the_weights_of_and_or_are_those_of_the_text():
    for neuron, bias in ((and_neuron(), -1.5), (or_neuron(), -0.5)):
        ((W, b),) = neuron.layers()
        assert W.tolist() == [[1, 1]]
        assert b.tolist() == [bias]


def test_a_step_neuron_fires_on_one_side_of_its_line():
    neuron = step_neuron([2.0, -1.0], 0.5)
    points = np.random.default_rng(0).normal(size=(100, 2))
    side = 2 * points[:, 0] - points[:, 1] + 0.5 > 0
    assert np.array_equal(neuron.predict_raw(points)[:, 0], side)


def test_xor_has_nine_parameters_and_the_hidden_values_of_the_text():
    network = xor_network()
    assert network.n_parameters == 9
    table = truth_table(network)
    assert table[["x1", "x2"]].to_numpy().tolist() == CORNERS.tolist()
    assert table[["z1", "z2"]].to_numpy().tolist() == [[0, 0], [0, 1], [1, 0], [0, 0]]
    assert table["y1"].tolist() == [0, 1, 1, 0]
    assert all(kind == np.int64 for kind in table.dtypes)


def test_xor_on_noisy_points():
    # The share of noisy corners on the wrong side: x1 − x2 has deviation .15·√2, the lines are
    # half a unit away, one for a corner of class 1 and two for one of class 0.
    rng = np.random.default_rng(189)
    corner = rng.integers(4, size=20_000)
    points = CORNERS[corner] + rng.normal(0, 0.15, (20_000, 2))
    labels = CORNERS[corner].sum(axis=1) == 1
    accuracy = np.mean(xor_network().predict_raw(points)[:, 0] == labels)
    wrong = special.ndtr(-0.5 / (0.15 * np.sqrt(2)))
    assert accuracy == pytest.approx(1 - 1.5 * wrong, abs=0.005)


def test_a_steep_sigmoid_shows_the_hidden_space():
    network = xor_network(steepness=5)
    (z,) = network.hidden(CORNERS)
    (W, b), (V, c) = network.layers()
    np.testing.assert_allclose(z, special.expit(5 * (CORNERS @ W.T + b)), rtol=1e-14)
    # The output's line z1 + z2 = ½ separates the classes there.
    assert (V.tolist(), c.tolist()) == ([[1, 1]], [-0.5])
    assert (z.sum(axis=1) > 0.5).tolist() == [False, True, True, False]
    assert (network.predict_raw(CORNERS)[:, 0] > 0.5).tolist() == [False, True, True, False]
    assert truth_table(network)["z1"].dtype == np.float64


def test_a_steep_sigmoid_approaches_the_step():
    steep, step = xor_network(steepness=200.0), xor_network()
    np.testing.assert_allclose(steep.predict_raw(CORNERS), step.predict_raw(CORNERS), atol=1e-12)


def test_a_sigmoid_can_be_trained_where_a_step_cannot():
    inputs = torch.from_numpy(CORNERS.astype(float))
    for network, trainable in ((xor_network(steepness=5), True), (xor_network(), False)):
        outputs = network(inputs)
        assert outputs.requires_grad is trainable


def separable(X, y):
    """Return whether a perceptron learns the points: 2,000 rounds are plenty for these."""
    w = np.zeros(X.shape[1] + 1)
    rows = np.column_stack([X, np.ones(len(X))]) * np.where(y == 1, 1, -1)[:, None]
    for _ in range(2000):
        wrong = rows @ w <= 0
        if not wrong.any():
            return True
        w = w + rows[wrong][0]
    return False


@pytest.mark.parametrize("labels", list(itertools.product([0, 1], repeat=4)))
def test_one_neuron_solves_what_a_line_separates(labels):
    y = np.array(labels)
    accuracy = np.mean(best_neuron(CORNERS, y).predict_raw(CORNERS)[:, 0] == y)
    assert accuracy == (1.0 if separable(CORNERS, y) else 0.75)
    assert (accuracy == 1.0) == (labels not in {(0, 1, 1, 0), (1, 0, 0, 1)})


def test_logistic_regression_on_xor_stays_at_ln_2():
    # The gradient of the mean cross-entropy vanishes at w = 0, b = 0, and the loss is convex.
    y = np.array([0, 1, 1, 0])
    residual = special.expit(np.zeros(4)) - y
    assert residual.sum() == 0
    assert (CORNERS.T @ residual).tolist() == [0, 0]
    assert -np.log(special.expit(0.0)) == pytest.approx(np.log(2))


def test_a_single_label_needs_no_line():
    for label in (0, 1):
        y = np.full(3, label)
        assert np.array_equal(best_neuron(CORNERS[:3], y).predict_raw(CORNERS[:3])[:, 0], y)


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        (np.zeros((17, 2)), np.zeros(17), r"X must have shape \(N, D\) with N from 1 to 16"),
        (np.zeros((0, 2)), np.zeros(0), r"X must have shape \(N, D\) with N from 1 to 16"),
        (np.zeros(4), np.zeros(4), r"X must have shape \(N, D\)"),
        (CORNERS, np.zeros(3), r"y must have 4 labels, each 0 or 1"),
        (CORNERS, [0, 1, 2, 0], r"y must have 4 labels, each 0 or 1\. Got array\(\[0, 1, 2, 0\]"),
        (np.full((2, 2), np.nan), [0, 1], r"X must be finite"),
        ([["a", "b"]], [0], r"X must be an array of real numbers"),
    ],
)
def test_best_neuron_messages(X, y, sentence):
    with pytest.raises(DataError, match=sentence):
        best_neuron(X, y)


def test_other_messages():
    with pytest.raises(DataError, match=r"network must have at most 16 inputs\. Got 17"):
        truth_table(Network((17, 1)))
    with pytest.raises(ParameterError, match="n_inputs must be an integer of at least 1"):
        and_neuron(0)
    with pytest.raises(ParameterError, match="steepness must be a finite number"):
        xor_network(steepness=-1)
