"""Gradients of each layer against autograd and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from lamina._errors import DataError, ParameterError
from lamina.heads import Bernoulli, Categorical, Normal
from lamina.inspection import gradients
from lamina.nn import Network

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4))
Y = RNG.integers(0, 3, 30)


def by_autograd(network, X, y, head):
    """Norms of the gradient in each layer and unit."""
    raw = network(torch.tensor(X))
    error = head.error(raw, torch.as_tensor(head.targets(y))).mean()
    for W, b in zip(network.weights, network.biases, strict=True):
        parts = torch.autograd.grad(error, [W, b], retain_graph=True)
        yield torch.column_stack(parts).numpy(), error.item()


@pytest.mark.parametrize("name", ["relu", "tanh", "gelu", "prelu", "softplus", "sigmoid"])
@pytest.mark.parametrize("blocks", [False, True])
def test_norms_are_those_of_autograd(name, blocks, monkeypatch):
    if blocks:
        monkeypatch.setattr("lamina.inspection._units_blocks._ENTRIES", 50)
    network = Network((4, 6, 5, 3), name, random_state=0)
    result = gradients(network, X, Y, Categorical())
    expected = list(by_autograd(network, X, Y, Categorical()))
    for layer, (rows, error) in zip(result.layers, expected, strict=True):
        assert result.error == pytest.approx(error, rel=1e-12)
        assert layer.norm == pytest.approx(np.linalg.norm(rows), rel=1e-10)
        np.testing.assert_allclose(layer.unit_norm, np.linalg.norm(rows, axis=1), rtol=1e-9)


def test_the_signal_is_the_gradient_on_each_row_s_preactivations():
    network = Network((4, 6, 5, 1), "tanh", random_state=0)
    y, head = X[:, 0], Normal()
    before = [a.detach().requires_grad_() for a in network.preactivations(torch.tensor(X))]
    result = gradients(network, X, y, head)
    for i, a in enumerate(before):
        h = network.activations[i](a)
        for W, b, f in zip(network.weights[i + 1 :], network.biases[i + 1 :],
                           network.activations[i + 1 :], strict=True):  # fmt: skip
            h = f(h @ W.T + b)
        error = head.error(h, torch.tensor(y)[:, None]).sum()
        (delta,) = torch.autograd.grad(error, a)
        expected = delta.square().sum(1).mean().sqrt().item()
        assert result.layers[i].signal == pytest.approx(expected, rel=1e-10)


def test_the_two_factors_multiply_to_the_ratio_of_signals():
    result = gradients(Network((4, 6, 5, 3), "gelu", random_state=0), X, Y, Categorical())
    for below, above in zip(result.layers, result.layers[1:], strict=False):
        product = below.from_weights * below.from_slopes
        assert product == pytest.approx(below.signal / above.signal, rel=1e-12)
    assert np.isnan(result.layers[-1].from_weights)


def test_what_reaches_a_unit_s_weights_carries_its_slope():
    """One row: the gradient of (w_j, b_j) is f'(a_j) times what it would be with slope 1."""
    network = Network((4, 6, 1), "tanh", random_state=0)
    x, y = X[:1], np.array([0.7])
    result = gradients(network, x, y, Normal())
    a = network.preactivations(x)[0][0]
    slope = 1 - np.tanh(a) ** 2
    layer = result.layers[0]
    np.testing.assert_allclose(layer.unit_slope, slope, rtol=1e-10)
    np.testing.assert_allclose(layer.unit_passed, slope, rtol=1e-10)
    v = network.layers()[1][0][0]
    residual = network.predict_raw(x)[0, 0] - 0.7
    size = np.sqrt((x**2).sum() + 1)
    np.testing.assert_allclose(layer.unit_norm, np.abs(slope * v * residual) * size, rtol=1e-10)


def test_a_dead_unit_s_row_is_exactly_zero_and_a_leaky_one_s_is_not():
    for name, dead in (("relu", True), ("leaky_relu", False)):
        (W, b), *rest = Network((4, 6, 3), name, random_state=0).layers()
        b[2] = -50.0
        result = gradients(Network.from_arrays([(W, b), *rest], name), X, Y, Categorical())
        assert bool(result.layers[0].unit_norm[2] == 0.0) is dead


def deep(name, gain=1.0, **options):
    network = Network((4, *[16] * 8, 1), name, random_state=0, **options)
    layers = [(gain * W if 0 < i < 8 else W, b) for i, (W, b) in enumerate(network.layers())]
    return Network.from_arrays(layers, name)


@pytest.mark.parametrize(
    ("network", "verdict", "cause"),
    [
        (deep("sigmoid"), "vanishes", "slopes"),
        (deep("relu"), "healthy", "none"),
        (deep("relu", 0.2), "vanishes", "weights"),
        (deep("relu", 5.0), "explodes", "weights"),
        (deep("tanh", 100.0), "vanishes", "slopes"),
        (deep("leaky_relu(20)", init="lecun"), "explodes", "slopes"),
        (Network((4, 1), random_state=0), "healthy", "none"),
        (Network((4, 3, 1), random_state=0), "healthy", "none"),
    ],
    ids=str,
)
def test_where_it_vanishes_or_explodes_and_why(network, verdict, cause):
    result = gradients(network, X, X[:, 0], Normal())
    assert (result.verdict, result.cause) == (verdict, cause)
    assert verdict.removesuffix("s") in result.explanation()


def test_a_last_hidden_layer_that_is_all_dead_lets_nothing_through():
    layers = Network((4, 5, 5, 1), random_state=0).layers()
    layers[1][1][:] = -100.0
    result = gradients(Network.from_arrays(layers), X, X[:, 0], Normal())
    assert (result.verdict, result.cause, result.ratio) == ("vanishes", "slopes", 0.0)
    assert "made 0 of it" in result.explanation()


def test_a_perfect_fit_has_no_gradient():
    network = Network.from_arrays([([[1.0]], [0.0])])
    result = gradients(network, X[:, :1], X[:, 0], Normal())
    assert result.verdict == "zero"
    assert "0 in every layer" in result.summary()


def test_a_loss_of_torch_is_as_good_as_a_head():
    network = Network((4, 6, 3), random_state=0)
    ours = gradients(network, X, Y, Categorical())
    theirs = gradients(network.to_torch(), X, Y, nn.CrossEntropyLoss())
    assert theirs.error == pytest.approx(ours.error, rel=1e-12)
    for a, b in zip(ours.layers, theirs.layers, strict=True):
        np.testing.assert_allclose(a.unit_norm, b.unit_norm, rtol=1e-9)


def test_memory_counts_the_network_s_own_dtype():
    network = Network((4, 6, 3), random_state=0, dtype="float32")
    assert gradients(network, X, Y, Categorical()).memory.activations == 2 * (6 + 3) * 30 * 4


@pytest.mark.parametrize(
    ("y", "head", "error", "sentence"),
    [
        (Y, "mse", ParameterError, "head must be a head"),
        (Y[:5], Categorical(), DataError, "y must have 30 rows"),
        (Y, nn.CrossEntropyLoss(reduction="none"), ParameterError, "one number"),
        (Y % 2, Bernoulli(), DataError, "net must have 1 outputs"),
    ],
)
def test_what_does_not_fit_is_refused(y, head, error, sentence):
    with pytest.raises(error, match=sentence):
        gradients(Network((4, 6, 3), random_state=0), X, y, head)


def test_the_table_has_a_row_for_each_layer():
    table = gradients(Network((4, 6, 3), random_state=0), X, Y, Categorical()).table
    assert table["layer"].tolist() == [1, 2]
