"""Every activation of the registry against NumPy, SciPy, torch and finite differences."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats
from torch.nn import functional as F

from lamina._errors import ParameterError
from lamina.nn import (
    ACTIVATIONS,
    ELU,
    GELU,
    Abs,
    HardTanh,
    Identity,
    LeakyReLU,
    PReLU,
    ReLU,
    Sigmoid,
    SiLU,
    Softplus,
    Step,
    Tanh,
)

# (activation, the same law in NumPy and SciPy, in torch's own functions or None)
CASES = [
    (Identity(), lambda a: a, lambda a: a * 1.0),
    (Sigmoid(), special.expit, torch.sigmoid),
    (Sigmoid(5.0), lambda a: special.expit(5.0 * a), lambda a: torch.sigmoid(5.0 * a)),
    (Tanh(), np.tanh, torch.tanh),
    (HardTanh(), lambda a: np.clip(a, -1.0, 1.0), F.hardtanh),
    (ReLU(), lambda a: np.maximum(a, 0.0), F.relu),
    (LeakyReLU(), lambda a: np.where(a > 0, a, 0.01 * a), lambda a: F.leaky_relu(a, 0.01)),
    (LeakyReLU(0.1), lambda a: np.where(a > 0, a, 0.1 * a), lambda a: F.leaky_relu(a, 0.1)),
    (LeakyReLU(-1.0), np.abs, lambda a: F.leaky_relu(a, -1.0)),
    (LeakyReLU(1.0), lambda a: a, lambda a: F.leaky_relu(a, 1.0)),
    (PReLU(), lambda a: np.where(a > 0, a, 0.25 * a), lambda a: F.prelu(a, a.new_tensor([0.25]))),
    (PReLU(-1.5), lambda a: np.where(a > 0, a, -1.5 * a), None),
    (Abs(), np.abs, torch.abs),
    (Softplus(), lambda a: np.logaddexp(0.0, a), lambda a: F.softplus(a, threshold=40)),
    (GELU(), lambda a: a * stats.norm.cdf(a), F.gelu),
    (SiLU(), lambda a: a * special.expit(a), F.silu),
    (SiLU(2.5), lambda a: a * special.expit(2.5 * a), None),
    (ELU(), lambda a: np.where(a > 0, a, np.expm1(np.minimum(a, 0.0))), F.elu),
    (
        ELU(0.3),
        lambda a: np.where(a > 0, a, 0.3 * np.expm1(np.minimum(a, 0.0))),
        lambda a: F.elu(a, 0.3),
    ),
    (Step(), lambda a: np.where(a > 0, 1.0, 0.0), None),
]
ALL = [case[0] for case in CASES]
each_case = pytest.mark.parametrize(
    ("activation", "reference", "in_torch"), CASES, ids=[case[0].spec for case in CASES]
)
each_of_torch = pytest.mark.parametrize(
    ("activation", "in_torch"),
    [(activation, in_torch) for activation, _, in_torch in CASES if in_torch],
    ids=lambda x: getattr(x, "spec", ""),
)
each_activation = pytest.mark.parametrize("activation", ALL, ids=lambda f: f.spec)
each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)

# 1201 points that no kink (−1, 0, 1) is one of, or nearer to than the step of a difference.
GRID = torch.linspace(-6.0, 6.0, 1201, dtype=torch.float64) + 1e-3


def of_grid(activation):
    """Return the values on the grid as an array."""
    return activation(GRID).numpy()


def test_every_activation_of_the_registry_is_in_the_table():
    assert {type(activation) for activation in ALL} == set(ACTIVATIONS.values())
    assert all(kind.name == name for name, kind in ACTIVATIONS.items())


@each_case
def test_values_equal_the_law(activation, reference, in_torch):
    np.testing.assert_allclose(
        of_grid(activation), reference(GRID.numpy()), rtol=1e-13, atol=2e-16
    )


@each_of_torch
def test_values_equal_torch(activation, in_torch):
    torch.testing.assert_close(activation(GRID), in_torch(GRID), rtol=1e-14, atol=1e-16)


@each_of_torch
def test_derivative_equals_autograd_of_torch(activation, in_torch):
    a = GRID.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(in_torch(a).sum(), a)
    torch.testing.assert_close(activation.derivative(GRID), gradient, rtol=1e-13, atol=1e-15)


@each_activation
def test_forward_is_differentiable(activation):
    a = GRID.clone().requires_grad_()
    h = activation(a)
    if isinstance(activation, Step):
        assert not h.requires_grad
        return
    (gradient,) = torch.autograd.grad(h.sum(), a)
    torch.testing.assert_close(activation.derivative(GRID), gradient, rtol=1e-13, atol=1e-15)


@each_activation
def test_derivative_equals_central_differences(activation):
    step = 1e-5
    a = GRID.numpy()
    difference = activation(torch.from_numpy(a + step)) - activation(torch.from_numpy(a - step))
    # truncation h²f‴/6 < 1e-8 for a steepness of 5, rounding of values up to 6: 1e-15/1e-5
    np.testing.assert_allclose(
        activation.derivative(GRID).numpy(), difference.numpy() / (2 * step), atol=3e-9
    )


KINKS = [
    (HardTanh(), -1.0, 0.0),
    (HardTanh(), 1.0, 0.0),
    (ReLU(), 0.0, 0.0),
    (LeakyReLU(0.1), 0.0, 0.1),
    (LeakyReLU(-1.0), 0.0, -1.0),
    (PReLU(0.25), 0.0, 0.25),
    (Abs(), 0.0, 0.0),
    (ELU(0.3), 0.0, 0.3),
    (Step(), 0.0, 0.0),
]


@pytest.mark.parametrize(("activation", "at", "value"), KINKS, ids=str)
def test_derivative_at_a_kink_is_the_stated_one(activation, at, value):
    a = torch.tensor([at], dtype=torch.float64)
    assert activation.derivative(a).item() == value

    delta = torch.ones(1, dtype=torch.float64)
    activation.backward_(delta, a, activation(a))
    assert delta.item() == value


@pytest.mark.parametrize(("activation", "at", "value"), KINKS[:-1], ids=str)
def test_autograd_through_forward_has_the_same_value_at_a_kink(activation, at, value):
    a = torch.tensor([at], dtype=torch.float64, requires_grad=True)
    activation(a).sum().backward()
    assert a.grad.item() == value


@each_dtype
@each_activation
def test_backward_multiplies_by_the_derivative(activation, dtype):
    a = GRID.to(dtype).reshape(1, 1201)
    h = activation(a)
    delta = torch.linspace(-2, 3, 1201, dtype=dtype).reshape(1, 1201)
    wanted = delta * activation.derivative(a)
    tolerance = 1e-14 if dtype is torch.float64 else 3e-6
    # Where only the output is read, the engine passes it in place of the input.
    for before in (a, h) if activation.saves == "output" else (a,):
        changed = delta.clone()
        assert activation.backward_(changed, before, h) is None
        torch.testing.assert_close(changed, wanted, rtol=tolerance, atol=tolerance)


@each_dtype
@each_activation
def test_forward_writes_where_it_is_told(activation, dtype):
    a = GRID.to(dtype, copy=True)
    wanted = activation(a).clone()
    out = torch.full_like(a, torch.nan)
    assert activation.forward(a, out=out) is out
    tolerance = 1e-15 if dtype is torch.float64 else 2e-7
    torch.testing.assert_close(out, wanted, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(a, GRID.to(dtype), rtol=0, atol=0)

    assert activation.forward(a, out=a) is a
    torch.testing.assert_close(a, wanted, rtol=tolerance, atol=tolerance)


@each_dtype
@each_activation
def test_dtype_and_shape_stay(activation, dtype):
    for shape in [(), (3,), (2, 3), (4, 2, 3), (0, 3)]:
        a = torch.randn(shape, dtype=dtype)
        for result in (activation(a), activation.derivative(a)):
            assert result.dtype is dtype
            assert result.shape == a.shape


@each_dtype
@each_activation
def test_extreme_inputs_stay_finite(activation, dtype):
    a = torch.tensor([-1e4, -500.0, -90.0, 0.0, 90.0, 500.0, 1e4], dtype=dtype)
    h = activation.forward(a, out=torch.empty_like(a))
    delta = torch.ones_like(a)
    activation.backward_(delta, a, h)
    for values in (activation(a), h, activation.derivative(a), delta):
        assert torch.isfinite(values).all()


@each_dtype
@each_activation
def test_nan_is_not_hidden(activation, dtype):
    a = torch.tensor([torch.nan], dtype=dtype)
    if isinstance(activation, Step):
        assert activation(a).item() == 0.0
        return
    assert torch.isnan(activation(a)).all()
    assert torch.isnan(activation.forward(a, out=torch.empty_like(a))).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@given(a=st.floats(-1e4, 1e4))
def test_the_fast_path_equals_the_plain_one(dtype, a):
    values = torch.full((9,), a, dtype=dtype)  # nine, so that a kernel has a vector and a rest
    tolerance = 1e-14 if dtype is torch.float64 else 1e-6
    for activation in ALL:
        h = activation.forward(values, out=torch.empty_like(values))
        torch.testing.assert_close(h, activation(values), rtol=tolerance, atol=tolerance)
        delta = torch.ones_like(values)
        activation.backward_(delta, values, h)
        wanted = activation.derivative(values)
        torch.testing.assert_close(delta, wanted, rtol=3 * tolerance, atol=3 * tolerance)


def is_odd(activation):
    return np.allclose(of_grid(activation), -activation(-GRID).numpy(), rtol=0, atol=1e-15)


def scales(activation, factors):
    return all(
        np.allclose(activation(c * GRID).numpy(), c * of_grid(activation), rtol=1e-14, atol=1e-15)
        for c in factors
    )


@each_activation
def test_symmetry_is_the_stated_one(activation):
    odd, scale = is_odd(activation), scales(activation, (0.3, 7.0))
    linear = scale and scales(activation, (-0.3, -7.0))
    if activation == LeakyReLU(1.0):
        # It is linear at this slope; the kind that is stated holds for every slope.
        assert scale
        return
    kind = "linear" if linear else "odd" if odd else "scale" if scale else "none"
    assert activation.symmetry == kind


@each_activation
def test_breakpoints_are_where_slopes_change(activation):
    kinks = activation.breakpoints
    if kinks is None:
        curvature = np.abs(np.diff(of_grid(activation), n=2)).max()
        assert curvature > 1e-6
        return
    edges = [-5.0, *kinks, 5.0]
    slopes = []
    for left, right in itertools.pairwise(edges):
        inside = torch.linspace(left + 1e-6, right - 1e-6, 50, dtype=torch.float64)
        differences = np.diff(activation(inside).numpy()) / np.diff(inside.numpy())
        np.testing.assert_allclose(differences, differences[0], atol=1e-12)
        slopes.append(differences[0])
    for kink, before, after in zip(kinks, slopes[:-1], slopes[1:], strict=True):
        near = activation(torch.tensor([kink - 1e-9, kink + 1e-9], dtype=torch.float64))
        assert abs(before - after) > 1e-3 or abs(near[1] - near[0]) > 0.5


@each_case
def test_at_zero(activation, reference, in_torch):
    assert activation.at_zero == pytest.approx(float(reference(np.zeros(1))[0]), abs=1e-16)


@each_case
def test_gain_keeps_the_mean_square(activation, reference, in_torch):
    def integrand(z):
        return float(reference(np.array([z]))[0]) ** 2 * stats.norm.pdf(z)

    pieces = [(-12, -1), (-1, 0), (0, 1), (1, 12)]
    mean_square = sum(integrate.quad(integrand, *piece)[0] for piece in pieces)
    assert activation.gain == pytest.approx(mean_square**-0.5, rel=1e-7)


def test_the_gain_of_relu_is_he_s():
    assert ReLU().gain == np.sqrt(2.0)


@each_activation
def test_activations_are_values(activation):
    twin = type(activation)(*vars(activation).values())
    assert twin == activation
    assert hash(twin) == hash(activation)
    assert len({twin, activation}) == 1
    assert pickle.loads(pickle.dumps(activation)) == activation
    assert copy.deepcopy(activation) == activation
    assert eval(repr(activation)) == activation


def test_different_fields_make_different_activations():
    assert LeakyReLU(0.1) != LeakyReLU(0.2)
    assert Tanh() != Sigmoid()
    assert len(set(ALL)) == len(ALL)


def test_activations_cannot_be_changed():
    with pytest.raises(AttributeError):
        LeakyReLU(0.1).slope = 0.2


class TestLearnedSlope:
    """Parametric ReLU with one slope for each unit, in the engine's shapes."""

    a = torch.randn(3, 5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    slope = torch.tensor([0.0, 0.25, 0.6, -1.0], dtype=torch.float64) * torch.ones(3, 1, 1)
    slope[1] += 0.3

    def test_forward(self):
        plain = np.where(self.a > 0, self.a, self.a * self.slope)
        np.testing.assert_allclose(PReLU()(self.a, self.slope).numpy(), plain, rtol=1e-15)
        out = torch.empty_like(self.a)
        PReLU().forward(self.a, self.slope, out=out)
        np.testing.assert_allclose(out.numpy(), plain, rtol=1e-15, atol=1e-16)

    def test_gradients_equal_autograd(self):
        a, slope = self.a.clone().requires_grad_(), self.slope.clone().requires_grad_()
        delta = torch.randn(a.shape, dtype=a.dtype)
        torch.where(a > 0, a, a * slope).backward(delta)

        of_slope = PReLU().slope_gradient(delta, self.a)
        assert of_slope.shape == self.a.shape
        torch.testing.assert_close(of_slope.sum(1, keepdim=True), slope.grad)

        torch.testing.assert_close(delta * PReLU().derivative(self.a, self.slope), a.grad)
        PReLU().backward_(delta, self.a, self.a, self.slope)
        torch.testing.assert_close(delta, a.grad)

    def test_only_parametric_relu_has_one(self):
        assert [name for name, kind in ACTIVATIONS.items() if kind.learned] == ["prelu"]
        with pytest.raises(ParameterError, match=r"must be one with a learned slope\. Got 'relu'"):
            ReLU().slope_gradient(self.a, self.a)
