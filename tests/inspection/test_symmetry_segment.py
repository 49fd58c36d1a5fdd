"""The error between two networks, against sums by hand and torch's own losses."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lamina._errors import DataError, ParameterError
from lamina.heads import Categorical, Normal
from lamina.inspection import match, permute, segment
from lamina.nn import Network
from lamina.plots import figure_numbers, plot_segment

from .symmetric import transformed


@pytest.fixture
def problem(rng):
    """Return two networks that are copies, inputs and targets."""
    net = Network((2, 6, 5, 1), "tanh", random_state=0)
    return net, transformed(net, rng), rng.normal(size=(40, 2)), rng.normal(size=40)


def at(a, b, share):
    """Return the network between two, tensor by tensor."""
    layers = [
        ((1 - share) * W + share * V, (1 - share) * b + share * c)
        for (W, b), (V, c) in zip(a.layers(), b.layers(), strict=True)
    ]
    return Network.from_arrays(layers, a.activations[:-1])


def test_the_curves_are_mean_errors_on_the_way(problem):
    a, _, X, y = problem
    b = Network((2, 6, 5, 1), "tanh", random_state=1)
    result = segment(a, b, X, y, Normal(), n_points=5)
    for share, loss, matched in zip(result.shares, result.loss, result.matched_loss, strict=True):
        for other, found in ((b, loss), (match(a, b).network, matched)):
            raw = at(a, other, share).predict_raw(X)[:, 0]
            expected = 0.5 * np.mean((raw - y) ** 2) + 0.5 * np.log(2 * np.pi)
            assert found == pytest.approx(expected)
    middle = result.loss[2] - (result.loss[0] + result.loss[-1]) / 2
    assert result.barrier >= middle
    assert result.midpoint == (result.loss[2], result.matched_loss[2])


def test_between_copies_there_is_a_barrier_that_matching_removes(problem):
    a, b, X, _ = problem
    y = a.predict_raw(X)  # both ends are perfect
    result = segment(a, b, X, y, torch.nn.MSELoss())
    assert result.loss[[0, -1]] == pytest.approx([0, 0], abs=1e-25)
    assert result.barrier > 1e-3
    assert result.matched_barrier == 0
    assert result.match.exact
    assert "a barrier of 0" in result.summary()


def test_a_loss_of_torch_gets_columns_and_labels(problem):
    a, b, X, y = problem
    loss = segment(a, b, X, y, torch.nn.MSELoss(), n_points=3).loss[0]
    assert loss == pytest.approx(np.mean((a.predict_raw(X)[:, 0] - y) ** 2))
    net = Network((2, 6, 3), "tanh", random_state=0)
    labels = np.arange(40) % 3
    by_head = segment(net, net, X, labels, Categorical(3), n_points=3).loss[0]
    by_torch = segment(net, net, X, labels, torch.nn.CrossEntropyLoss(), n_points=3).loss[0]
    assert by_head == pytest.approx(by_torch)


def test_wrong_calls_are_named(problem):
    a, b, X, y = problem
    with pytest.raises(ParameterError, match=r"head must be a head of lamina.heads, or a loss"):
        segment(a, b, X, y, "squares")
    with pytest.raises(DataError, match=r"y must have 40 rows, as X. Got shape \(39,\)"):
        segment(a, b, X, y[1:], Normal())
    with pytest.raises(DataError, match=r"X must have shape \(n_samples, 2\)"):
        segment(a, b, X[:, :1], y, Normal())
    with pytest.raises(DataError, match=r"The error of a must be finite. Got nan"):
        segment(a, b, X, y, lambda raw, t: float("nan"))
    with pytest.raises(ParameterError, match="the same sizes"):
        segment(a, Network((2, 6, 1), "tanh"), X, y, Normal())


def test_the_picture_has_both_curves_and_their_numbers(problem):
    a, b, X, y = problem
    ax = plot_segment(a, b, X, y, Normal(), n_points=7)
    result = segment(a, b, X, y, Normal(), n_points=7)
    assert [line.get_label() for line in ax.lines] == [
        *("line between the ends", "as they are", "units matched")
    ]
    assert ax.lines[1].get_ydata() == pytest.approx(result.loss)
    assert ax.lines[2].get_ydata() == pytest.approx(result.matched_loss)
    table = figure_numbers(ax)
    assert len(table) == 2 + 7 + 7
    assert plot_segment(permute(a, np.arange(6)), b, X, y, Normal(), ax=ax) is ax
