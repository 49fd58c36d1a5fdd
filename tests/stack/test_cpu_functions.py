"""The compiled part function by function: elementary functions, activations, matrix products.

Errors are in units of the last place of the right result; those of numbers below the normal
ones are in units of the smallest of them.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import torch

from lamina._random import MASK64, ORDER, permutation
from lamina.nn import ACTIVATIONS, ELU, LeakyReLU, PReLU, Sigmoid, SiLU
from lamina.stack._cpu import _function
from lamina.stack._extension import instruction_sets, native

pytestmark = pytest.mark.skipif(
    native() is None, reason="lamina was installed without its compiled part"
)

DTYPES = ["float32", "float64"]
each_set = pytest.mark.parametrize("instruction_set", instruction_sets())
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


def evaluated(function, x, instruction_set, activation="identity", parameter=0.0):
    out = np.full_like(x, np.nan)
    native().evaluate(function, activation, parameter, x, out, instruction_set)
    return out


# Elementary functions

EXACT = {
    "exp": mpmath.exp,
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log1p": mpmath.log1p,
    "tanh": mpmath.tanh,
    "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: max(x, 0) + mpmath.log1p(mpmath.exp(-abs(x))),
    "normal_cdf": mpmath.ncdf,
}
# Where each is used, and the largest error in units of the last place. Φ(a) loses those of a²
# in the exponent, where it is small.
RANGES = {
    "exp": ((-745.0, 709.7), (-103.0, 88.7), 1.0),
    "expm1": ((-40.0, 80.0), (-18.0, 36.0), 2.0),
    "log": ((1.0, 1e300), (1.0, 1e38), 2.0),
    "log1p": ((0.0, 1.0), (0.0, 1.0), 2.0),
    "tanh": ((-25.0, 25.0), (-12.0, 12.0), 2.5),
    "logistic": ((-708.0, 740.0), (-87.0, 100.0), 2.0),
    "softplus": ((-708.0, 740.0), (-87.0, 100.0), 2.5),
    "normal_cdf": ((-8.48, 37.0), (-6.36, 13.0), lambda x: 5 + 1.2 * min(x, 0.0) ** 2),
}


def units(found, right, dtype):
    """Return the error of a number in units of the last place."""
    info = np.finfo(dtype)
    exponent = mpmath.frexp(abs(right))[1] if right else info.minexp
    last = mpmath.ldexp(1, max(int(exponent), info.minexp + 1) - info.nmant - 1)
    return float(abs(mpmath.mpf(float(found)) - right) / last)


def places(low, high, dtype):
    """Return numbers all over a range, near zero and at its ends."""
    rng = np.random.default_rng(0)
    tiny = 10.0 ** rng.uniform(-15, 0, 100)
    near = np.concatenate([tiny, -tiny, rng.uniform(-1, 1, 300)])
    near = near[(near >= low) & (near <= high)]
    return np.concatenate([rng.uniform(low, high, 400), near, [low, high, max(low, 0.0)]]).astype(
        dtype
    )


@each_dtype
@pytest.mark.parametrize("function", EXACT)
def test_elementary_functions_are_right_to_some_units_of_the_last_place(function, dtype):
    double, single, bound = RANGES[function]
    x = places(*(double if dtype == "float64" else single), dtype)
    with mpmath.workprec(120):
        right = [EXACT[function](mpmath.mpf(float(value))) for value in x]
        for instruction_set in instruction_sets():
            found = evaluated(function, x, instruction_set)
            for value, one, exact in zip(x.tolist(), found, right, strict=True):
                limit = bound(value) if callable(bound) else bound
                assert units(one, exact, dtype) <= limit, (value, one, instruction_set)


LIMITS = {
    "exp": (0.0, math.inf),
    "tanh": (-1.0, 1.0),
    "logistic": (0.0, 1.0),
    "softplus": (0.0, math.inf),
    "normal_cdf": (0.0, 1.0),
}


@each_set
@each_dtype
@pytest.mark.parametrize("function", LIMITS)
def test_elementary_functions_far_out(function, dtype, instruction_set):
    largest = np.finfo(dtype).max
    x = np.array([-np.inf, -largest, -1e4, 1e4, largest, np.inf, np.nan], dtype=dtype)
    low, high = LIMITS[function]
    expected = np.array([low] * 3 + [high] * 3 + [np.nan], dtype=dtype)
    if function == "softplus":
        expected[3:5] = x[3:5]
    np.testing.assert_array_equal(evaluated(function, x, instruction_set), expected)


@each_set
@each_dtype
@pytest.mark.parametrize("function", EXACT)
def test_a_number_has_the_same_bits_wherever_it_stands(function, dtype, instruction_set):
    x = np.linspace(0, 1, 101).astype(dtype)
    whole = evaluated(function, x, instruction_set)
    for start in range(20):
        for n in (1, 3, 17, 40):
            part = evaluated(function, x[start : start + n].copy(), instruction_set)
            np.testing.assert_array_equal(part, whole[start : start + n])


# Activations

KINDS = [
    *(kind() for kind in ACTIVATIONS.values()),
    *(Sigmoid(0.3), Sigmoid(4.0), LeakyReLU(-0.7), LeakyReLU(2.0), PReLU(-0.3)),
    *(SiLU(0.1), SiLU(5.0), ELU(0.2), ELU(3.0)),
]


def slopes_of(kind, x):
    """Return the slopes that a learned activation needs: all its first one."""
    return torch.full_like(x, kind.init) if kind.learned else None


@each_set
@each_dtype
@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_activations_and_derivatives_equal_those_of_torch(kind, dtype, instruction_set):
    rng = np.random.default_rng(1)
    kinks = [0.0, 1.0, -1.0, -0.0]
    x = np.concatenate([rng.normal(scale=scale, size=150) for scale in (0.01, 1, 10)] + [kinks])
    x = x.astype(dtype)
    tensor = torch.from_numpy(x).double()
    slope = slopes_of(kind, tensor)
    name, number = _function(kind)
    # Values are to 10 units of the last place of the larger of input and output; an output of
    # single precision near a root of f' has the error of its terms.
    tolerance = 10 * float(np.finfo(dtype).eps)
    for function, right in (
        ("activation", kind.forward(tensor, slope)),
        ("derivative", kind.derivative(tensor, slope)),
    ):
        found = evaluated(function, x, instruction_set, name, number)
        scale = np.maximum(np.abs(right.numpy()), np.minimum(np.abs(x), 1.0))
        assert (np.abs(found - right.numpy()) <= tolerance * (scale + np.abs(number))).all()


@each_set
@each_dtype
@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_activations_of_huge_numbers_are_finite(kind, dtype, instruction_set):
    x = np.array([-1e30, -1e10, -200.0, 200.0, 1e10, 1e30], dtype=dtype)
    name, number = _function(kind)
    tensor = torch.from_numpy(x)
    right = kind.forward(tensor, slopes_of(kind, tensor)).numpy()
    found = evaluated("activation", x, instruction_set, name, number)
    np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-6)
    right = kind.derivative(tensor, slopes_of(kind, tensor)).numpy()
    found = evaluated("derivative", x, instruction_set, name, number)
    np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-6)


@each_set
@each_dtype
@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS) - {"step"}))
def test_what_is_no_number_stays_none(name, dtype, instruction_set):
    number = _function(ACTIVATIONS[name]())[1]
    x = np.array([1.0, np.nan, -1.0], dtype=dtype)
    found = evaluated("activation", x, instruction_set, name, number)
    assert np.isnan(found).tolist() == [False, True, False]


# Matrix products

INNER = [1, 2, 3, 5, 8, 16, 31, 40, 255, 256, 257, 300, 513]
"""Inner sizes, some of which do not fit into one panel."""


def whole_numbers(shape, seed):
    """Return small whole numbers, with which every order of additions gives the same sum."""
    return np.random.default_rng(seed).integers(-8, 9, shape)


def framed(array, form, dtype):
    """Return the array in memory that is NaN all around it, in some order and with gaps."""
    rows, columns = array.shape
    step, gap, turned = form
    shape = (columns, rows) if turned else (rows, columns)
    room = np.full((step * shape[0] + 2, gap * shape[1] + 3), np.nan, dtype=dtype)
    view = room[1 : 1 + step * shape[0] : step, 2 : 2 + gap * shape[1] : gap]
    view[...] = array.T if turned else array
    return view.T if turned else view


FORMS = [(1, 1, False), (1, 1, True), (2, 1, False), (3, 2, True), (1, 3, False)]


@each_set
@each_dtype
@pytest.mark.parametrize("biased", [False, True])
def test_products_of_all_small_shapes_are_exact(biased, dtype, instruction_set):
    a_all, b_all = whole_numbers((40, 513), 1), whole_numbers((513, 40), 2)
    biases = whole_numbers(40, 3).astype(dtype) if biased else None
    for rows in range(1, 41):
        for columns in range(1, 41):
            turn = rows * 41 + columns
            inner = INNER[turn % len(INNER)]
            a, b = a_all[:rows, :inner], b_all[:inner, :columns]
            right = a @ b + (0 if biases is None else biases[:columns])
            c = np.full((rows + 1, columns + 2), 99.0, dtype=dtype)
            native().multiply(
                framed(a, FORMS[turn % 5], dtype),
                framed(b, FORMS[turn // 5 % 5], dtype),
                None if biases is None else biases[:columns].copy(),
                c[:rows, :columns],
                instruction_set,
            )
            np.testing.assert_array_equal(c[:rows, :columns], right)
            assert (c[rows:] == 99).all()
            assert (c[:, columns:] == 99).all()


@each_set
@each_dtype
@pytest.mark.parametrize("shape", [(200, 64, 20), (256, 256, 128), (129, 127, 1000)])
def test_large_products_of_reals_equal_numpy(shape, dtype, instruction_set, rng):
    rows, columns, inner = shape
    a, b = rng.standard_normal((rows, inner)), rng.standard_normal((inner, columns))
    bias = rng.standard_normal(columns)
    c = np.empty((rows, columns), dtype=dtype)
    a, b, bias = (array.astype(dtype) for array in (a, b, bias))
    native().multiply(a, b, bias, c, instruction_set)
    right = a.astype(np.longdouble) @ b + bias
    # The error of a sum of n products is below n units, and about √n of them.
    scale = np.abs(a).astype(np.float64) @ np.abs(b) + np.abs(bias)
    assert (np.abs(c - right) <= 2 * math.sqrt(inner) * np.finfo(dtype).eps * scale).all()


# What the extension refuses


def test_an_unknown_instruction_set_or_name_is_an_error():
    x = np.zeros(3)
    with pytest.raises(ValueError, match="no instruction set avx9"):
        evaluated("exp", x, "avx9")
    with pytest.raises(ValueError, match="unknown name sinh"):
        evaluated("sinh", x, instruction_sets()[0])
    with pytest.raises(ValueError, match="unknown name maxout"):
        evaluated("activation", x, instruction_sets()[0], "maxout")


@pytest.mark.parametrize(
    ("x", "out"),
    [
        (np.zeros(3), np.zeros(4)),
        (np.zeros(3), np.zeros(3, np.float32)),
        (np.zeros(3, int), np.zeros(3, int)),
    ],
)
def test_arrays_that_do_not_fit_are_an_error(x, out):
    with pytest.raises(ValueError, match="the arrays must fit"):
        native().evaluate("exp", "identity", 0.0, x, out, instruction_sets()[0])


# The order of rows


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 17, 256, 257, 1000, 70_000])
@pytest.mark.parametrize("seed", [0, 7, -1, 2**64 - 1, 2**40 + 3])
def test_permutation_is_numpys(n, seed):
    order = np.full(n, -1, dtype=np.int32)
    native().permutation(seed & MASK64, ORDER, 5, order)
    np.testing.assert_array_equal(order, permutation(seed, 5, n))
