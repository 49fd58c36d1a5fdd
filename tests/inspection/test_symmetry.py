"""Symmetries of hidden units: their laws by hand, over every activation, and the messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from lamina._errors import DataError, ParameterError
from lamina.inspection import change_basis, flip_signs, permute, rescale
from lamina.inspection._symmetry_group import group_of
from lamina.nn import ACTIVATIONS, ELU, Activation, LeakyReLU, Network, Sigmoid

from .symmetric import FLIPS, SCALES, gap, networks, transformed


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_group_of_every_activation(name):
    group = group_of(ACTIVATIONS[name]())
    assert group.flips == (name in FLIPS)
    assert group.scales == (name in SCALES)
    assert group.linear == (name == "identity")
    assert group.shift == (1.0 if name == "sigmoid" else 0.0)
    if group.scales:
        assert group.degree == (0.0 if name == "step" else 1.0)


def test_special_slopes_have_their_own_group():
    assert group_of(LeakyReLU(-1.0)).parity == 1  # the absolute value
    assert group_of(LeakyReLU(1.0)).linear
    assert group_of(LeakyReLU(0.3)).parity == 0
    assert group_of(ELU(0.0)).scales  # ReLU
    assert not group_of(ELU(1.0)).scales
    assert group_of(Sigmoid(5.0)).shift == 1.0


@dataclass(frozen=True)
class Power(Activation):
    """max(0, a)**3, a function that the package does not have."""

    name: ClassVar[str] = "cubed_relu"
    symmetry: ClassVar = "none"
    saves: ClassVar = "input"

    def forward(self, a, slope=None, out=None):
        return torch.relu(a) ** 3

    def derivative(self, a, slope=None):
        return 3 * torch.relu(a) ** 2

    def backward_(self, delta, a, h, slope=None):
        delta.mul_(self.derivative(a))


def test_a_power_of_relu_divides_by_the_power_of_the_factor():
    net = Network.from_arrays([([[1.0], [2.0]], [0.5, 0.0]), ([[8.0, 1.0]], [0.0])], Power())
    twin = rescale(net, [2.0, 1.0])
    assert group_of(Power()).degree == 3.0
    assert twin.weights[1].tolist() == [[1.0, 1.0]]
    assert twin.predict_raw([1.0]) == net.predict_raw([1.0])


def test_a_flip_of_a_logistic_unit_moves_its_weight_into_the_bias():
    net = Network.from_arrays([([[2.0, 1.0]], [0.5]), ([[3.0]], [1.0])], "sigmoid")
    twin = flip_signs(net, 0)
    (W, b), (V, c) = twin.layers()
    assert (W.tolist(), b.tolist(), V.tolist(), c.tolist()) == (
        ([[-2.0, -1.0]], [-0.5], [[-3.0]], [4.0])
    )


def test_a_flip_of_a_parametric_relu_inverts_its_slope():
    net = Network.from_arrays([([[1.0]], [0.0]), ([[1.0]], [0.0])], "prelu", slopes=[[0.25], None])
    twin = flip_signs(net)
    assert twin.slopes[0].tolist() == [4.0]
    assert twin.predict_raw([[3.0], [-2.0]]).tolist() == [[3.0], [-0.5]]


def test_slopes_travel_with_their_units():
    net = Network((2, 3, 1), "prelu", random_state=0)
    net.slopes[0].data[:] = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    twin = permute(net, [2, 0, 1])
    assert twin.slopes[0].tolist() == [0.3, 0.1, 0.2]
    assert gap(net, twin) <= 1e-15


@given(networks(), st.integers(0, 2**32 - 1))
def test_a_symmetry_leaves_the_outputs(net, seed):
    twin = transformed(net, np.random.default_rng(seed))
    assert twin.sizes == net.sizes
    assert gap(net, twin) <= 1e-12


@given(networks(names=("relu", "leaky_relu", "abs", "tanh", "hard_tanh", "prelu")))
def test_flips_and_powers_of_two_change_no_bit(net):
    X = np.random.default_rng(0).normal(size=(20, net.sizes[0]))
    twin = net
    for layer, f in enumerate(net.activations[:-1], start=1):
        if f.name in SCALES:
            twin = rescale(twin, 2.0 ** (np.arange(net.sizes[layer]) - 2), layer=layer)
        if f.name in FLIPS - {"prelu"}:
            twin = flip_signs(twin, layer=layer)
    # One row at a time, since a product of matrices may add in another order.
    for x in X:
        assert (twin.predict_raw(x) == net.predict_raw(x)).all()


def test_the_transformed_network_keeps_its_dtype_and_shares_no_memory():
    net = Network((3, 4, 2), "tanh", random_state=0, dtype="float32")
    twin = permute(flip_signs(net), [3, 2, 1, 0])
    assert twin.dtype == torch.float32
    twin.weights[1].data.zero_()
    assert net.weights[1].abs().sum() > 0
    assert all(p.requires_grad for p in net.parameters())


def test_a_torch_module_is_read():
    module = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Dropout(0.5), nn.Linear(3, 1))
    twin = rescale(module, [1.0, 2.0, 4.0])
    X = np.array([[1.0, -2.0]])
    expected = module.eval()(torch.tensor(X).float()).detach().numpy()
    assert twin.predict_raw(X) == pytest.approx(expected, abs=1e-6)


def test_without_a_check_a_flip_of_relu_changes_the_function():
    net = Network((2, 5, 1), "relu", random_state=0)
    twin = flip_signs(net, check=False)
    # relu(a) + relu(-a) = |a|, so the difference of the two is v · |a| in sum.
    X = np.random.default_rng(0).normal(size=(10, 2))
    (W, b), (V, c) = net.layers()
    expected = np.abs(X @ W.T + b) @ V.T
    assert net.predict_raw(X) - c + -(twin.predict_raw(X) - c) == pytest.approx(expected)
    odd = Network((2, 5, 1), "tanh", random_state=0)
    assert gap(odd, flip_signs(odd, check=False)) == 0


class Estimator:
    networks_ = (Network((2, 1)),)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda n: permute(n, [0, 0, 1]),
            r"order must name each of the 3 units once, from 0 to 2",
        ),
        (lambda n: permute(n, [0, 1]), r"order must name each of the 3 units"),
        (lambda n: permute(n, [0, 1, 2], layer=2), r"layer must be an integer of at least 1 and"),
        (
            lambda n: permute(Network((2, 1)), [0]),
            r"net must have a hidden layer. Got sizes \(2, 1",
        ),
        (lambda n: flip_signs(n), r"activation must be one that a flip of signs passes.*'relu'"),
        (lambda n: flip_signs(n, [3]), r"units must be whole numbers from 0 to 2. Got \[3\]"),
        (lambda n: flip_signs(n, [True, False, True]), r"units must be whole numbers"),
        (lambda n: flip_signs(n, check="no"), r"check must be True or False"),
        (lambda n: rescale(n, [1, 2]), r"factors must be one positive number or 3"),
        (lambda n: rescale(n, [1, -2, 1]), r"To turn signs, use flip_signs"),
        (lambda n: rescale(Network((2, 3, 1), "tanh"), 2.0), r"can be flipped and permuted"),
        (lambda n: rescale(Network((2, 3, 1), "gelu"), 2.0), r"Permute its units"),
        (lambda n: change_basis(n, np.eye(3)), r"activation must be 'identity' to change the"),
        (
            lambda n: change_basis(Network((2, 2, 1), "identity"), np.ones((2, 2))),
            "a singular one",
        ),
        (lambda n: change_basis(Network((2, 2, 1), "identity"), np.eye(3)), r"Got shape \(3, 3\)"),
        (lambda n: permute(Estimator(), [0]), r"Got Estimator. Pass model.networks_\[0\]"),
        (lambda n: permute(nn.Sequential(nn.Conv2d(1, 1, 1)), [0]), r"Got Conv2d"),
        (lambda n: permute([1], [0]), r"net must be a Network or a torch module.*Got \[1\]"),
    ],
)
def test_a_wrong_call_gets_a_sentence(call, message):
    with pytest.raises(ParameterError, match=message):
        call(Network((2, 3, 1), random_state=0))


def test_a_slope_of_zero_cannot_be_flipped():
    net = Network.from_arrays([([[1.0]], [0.0]), ([[1.0]], [0.0])], "prelu", slopes=[[0.0], None])
    with pytest.raises(ParameterError, match="slopes must not be 0"):
        flip_signs(net)


def test_weights_that_are_not_finite_are_named():
    net = Network((2, 3, 1), random_state=0)
    net.biases[1].data[0] = float("inf")
    with pytest.raises(DataError, match=r"finite weights. Got inf in layer 2"):
        permute(net, [0, 1, 2])
    small = Network((2, 3, 1), random_state=0, dtype="float32")
    with pytest.raises(DataError, match="finite in float32"):
        rescale(small, 1e300)
    with pytest.raises(DataError, match="factors must be finite"):
        rescale(small, np.nan)
