"""What is said about activations in their docstrings is so."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import optimize

from lamina._errors import DataError, ParameterError
from lamina.nn import (
    ACTIVATIONS,
    ELU,
    GELU,
    Abs,
    HardTanh,
    LeakyReLU,
    PReLU,
    ReLU,
    Sigmoid,
    SiLU,
    Softplus,
    Step,
    Tanh,
    central_difference,
    derivative_table,
)

A = torch.linspace(-30.0, 30.0, 6001, dtype=torch.float64)


def at(function, a):
    """Return a function's value at one number."""
    return float(function(torch.tensor([a], dtype=torch.float64)))


def test_tanh_is_a_stretched_sigmoid():
    torch.testing.assert_close(Tanh()(A), 2.0 * Sigmoid()(2.0 * A) - 1.0, rtol=0, atol=1e-15)


def test_the_sigmoid_s_derivative_is_never_above_a_quarter():
    slopes = Sigmoid().derivative(A)
    assert slopes.max().item() == pytest.approx(0.25, abs=1e-15)
    assert A[slopes.argmax()].item() == pytest.approx(0.0, abs=1e-12)
    assert at(Sigmoid().derivative, 0.0) == 0.25


@pytest.mark.parametrize("n_layers", [1, 3, 8])
def test_a_signal_through_logistic_units_shrinks_by_a_quarter_each(n_layers):
    a = torch.zeros(1, dtype=torch.float64)
    delta = torch.ones(1, dtype=torch.float64)
    for _ in range(n_layers):
        Sigmoid().backward_(delta, a, Sigmoid()(a))
    assert delta.item() == 4.0**-n_layers


def test_the_derivative_of_softplus_is_the_sigmoid():
    torch.testing.assert_close(Softplus().derivative(A), Sigmoid()(A), rtol=0, atol=0)
    step = 1e-5
    difference = (Softplus()(A + step) - Softplus()(A - step)) / (2 * step)
    torch.testing.assert_close(difference, Sigmoid()(A), rtol=0, atol=1e-9)


def test_leaky_relu_of_slope_minus_one_is_the_absolute_value():
    torch.testing.assert_close(LeakyReLU(-1.0)(A), Abs()(A), rtol=0, atol=0)


def test_step_is_the_derivative_of_relu():
    torch.testing.assert_close(Step()(A), ReLU().derivative(A), rtol=0, atol=0)


def test_tanh_is_centred_with_slope_one_and_the_sigmoid_is_not():
    assert (at(Tanh(), 0.0), at(Tanh().derivative, 0.0)) == (0.0, 1.0)
    assert (at(Sigmoid(), 0.0), at(Sigmoid().derivative, 0.0)) == (0.5, 0.25)


def test_a_steep_sigmoid_approaches_the_step():
    away = A[A.abs() > 0.05]
    torch.testing.assert_close(Sigmoid(1000.0)(away), Step()(away), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("activation", "place", "value"),
    [(GELU(), -0.7518, -0.1700), (SiLU(), -1.2785, -0.2785)],
)
def test_minimum(activation, place, value):
    found = optimize.minimize_scalar(
        lambda a: at(activation, a), bounds=(-3, 0), method="bounded", options={"xatol": 1e-8}
    )
    assert found.x == pytest.approx(place, abs=5e-5)
    assert found.fun == pytest.approx(value, abs=5e-5)
    # The derivative is negative to the left of it and only there.
    slopes = activation.derivative(A)
    assert (slopes[(found.x + 0.01 < A)] > 0).all()
    assert (slopes[(found.x - 0.01 > A) & (A > -20)] < 0).all()


@pytest.mark.parametrize(
    ("activation", "place", "value"),
    [(GELU(), -np.sqrt(2.0), -0.1289), (SiLU(), -2.3994, -0.0998)],
)
def test_smallest_slope(activation, place, value):
    found = optimize.minimize_scalar(
        lambda a: at(activation.derivative, a),
        bounds=(-4, 0),
        method="bounded",
        options={"xatol": 1e-8},
    )
    assert found.x == pytest.approx(place, abs=5e-5)
    assert found.fun == pytest.approx(value, abs=5e-5)


# h′ at −5, −1, .5, 1 and 5, to four digits
SATURATION = [
    (Sigmoid(), [0.0066, 0.1966, 0.2350, 0.1966, 0.0066]),
    (Tanh(), [0.0002, 0.4200, 0.7864, 0.4200, 0.0002]),
    (HardTanh(), [0.0, 0.0, 1.0, 0.0, 0.0]),
    (ReLU(), [0.0, 0.0, 1.0, 1.0, 1.0]),
    (LeakyReLU(0.1), [0.1, 0.1, 1.0, 1.0, 1.0]),
    (PReLU(), [0.25, 0.25, 1.0, 1.0, 1.0]),
    (Softplus(), [0.0067, 0.2689, 0.6225, 0.7311, 0.9933]),
    (GELU(), [-0.0000, -0.0833, 0.8675, 1.0833, 1.0000]),
    (SiLU(), [-0.0265, 0.0723, 0.7400, 0.9277, 1.0265]),
    (ELU(), [0.0067, 0.3679, 1.0, 1.0, 1.0]),
]


@pytest.mark.parametrize(("activation", "slopes"), SATURATION, ids=lambda x: str(x)[:20])
def test_derivatives_show_saturation(activation, slopes):
    points = torch.tensor([-5.0, -1.0, 0.5, 1.0, 5.0], dtype=torch.float64)
    np.testing.assert_allclose(activation.derivative(points).numpy(), slopes, atol=5.1e-5)


def test_bounded_activations_go_flat_and_the_others_do_not():
    five = torch.tensor([5.0], dtype=torch.float64)
    assert all(f.derivative(five).item() < 0.01 for f in (Sigmoid(), Tanh(), HardTanh()))
    assert all(
        f.derivative(five).item() > 0.99 for f in (ReLU(), GELU(), SiLU(), ELU(), Softplus())
    )


def test_the_table_of_derivatives():
    points = [-5.0, -1.0, 0.5, 1.0, 5.0]
    table = derivative_table(points, [activation for activation, _ in SATURATION])
    np.testing.assert_allclose(table.to_numpy(), [slopes for _, slopes in SATURATION], atol=5.1e-5)
    assert list(table.columns) == points
    assert list(derivative_table().index) == list(ACTIVATIONS)


def test_central_differences_are_exact_for_a_straight_line_and_near_for_a_curve():
    a = A[A.abs() < 5]
    assert central_difference("identity", a).sub(1.0).abs().max() < 1e-10
    slopes = torch.from_numpy(1 / np.cosh(a.numpy()) ** 2)
    torch.testing.assert_close(central_difference("tanh", a), slopes, rtol=0, atol=1e-9)


def test_float32_differences_carry_noise_that_the_exact_derivative_does_not():
    a = torch.linspace(4.0, 6.0, 500)
    exact = GELU().derivative(a.double())
    noise = central_difference("gelu", a, step=1e-3) - exact
    assert 5e-5 < noise.square().mean().sqrt() < 3e-4
    assert (GELU().derivative(a) - exact).abs().max() < 5e-7


def test_messages_of_tables():
    with pytest.raises(DataError, match="points must be an array of real numbers"):
        derivative_table(["a"])
    with pytest.raises(ParameterError, match="Did you mean 'relu'"):
        derivative_table(activations=["rellu"])
    with pytest.raises(ParameterError, match="step must be a finite number in"):
        central_difference("relu", A, step=0.0)
