"""The checks at the door: what passes, and the exact sentence when it does not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from lamina import _checks
from lamina._errors import LaminaError, ParameterError


def sentence(call, *args, **options):
    """Return the message of the ParameterError that a call raises."""
    with pytest.raises(ParameterError) as caught:
        call(*args, **options)
    assert isinstance(caught.value, (LaminaError, ValueError))
    return str(caught.value)


def test_a_choice_is_returned():
    assert _checks.check_choice("solver", "adam", {"adam", "sgd"}) == "adam"


def test_a_near_miss_is_named():
    assert sentence(_checks.check_choice, "solver", "adem", ("sgd", "adam")) == (
        "solver must be one of 'adam', 'sgd'. Got 'adem'. Did you mean 'adam'?"
    )


@pytest.mark.parametrize("value", [None, 3, ("x",), "zzz"])
def test_a_far_miss_gets_no_guess(value):
    assert sentence(_checks.check_choice, "solver", value, ("sgd", "adam")) == (
        f"solver must be one of 'adam', 'sgd'. Got {value!r}."
    )


@pytest.mark.parametrize("value", [2, np.int64(2), np.uint8(2)])
def test_an_integer_of_any_kind_becomes_an_int(value):
    result = _checks.check_integer("n", value, 1)
    assert result == 2
    assert type(result) is int


@pytest.mark.parametrize("value", [True, 2.0, "2", None, math.nan, 0])
def test_what_is_no_integer_is_refused(value):
    assert sentence(_checks.check_integer, "n", value, 1) == (
        f"n must be an integer of at least 1. Got {value!r}."
    )


@pytest.mark.parametrize(("value", "ok"), [(1, True), (5, True), (0, False), (6, False)])
def test_an_integer_keeps_its_bounds(value, ok):
    if ok:
        assert _checks.check_integer("n", value, 1, 5) == value
    else:
        assert sentence(_checks.check_integer, "n", value, 1, 5) == (
            f"n must be an integer of at least 1 and at most 5. Got {value}."
        )


def test_an_upper_bound_of_zero_counts():
    assert sentence(_checks.check_integer, "n", 1, -3, 0) == (
        "n must be an integer of at least -3 and at most 0. Got 1."
    )


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), Fraction(1, 2)])
def test_a_real_number_of_any_kind_becomes_a_float(value):
    result = _checks.check_real("rate", value, 0.0, 1.0)
    assert result == value
    assert type(result) is float


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "0.5", True, None, 1j])
def test_what_is_no_finite_number_is_refused(value):
    assert sentence(_checks.check_real, "rate", value) == (
        f"rate must be a finite number in [-inf, inf]. Got {value!r}."
    )


@pytest.mark.parametrize(
    ("value", "open_minimum", "open_maximum", "interval"),
    [(-0.1, False, False, "[0, 1]"), (0, True, False, "(0, 1]"), (1, False, True, "[0, 1)")],
)
def test_a_real_number_keeps_its_interval(value, open_minimum, open_maximum, interval):
    ends = {"open_minimum": open_minimum, "open_maximum": open_maximum}
    assert sentence(_checks.check_real, "rate", value, 0, 1, **ends) == (
        f"rate must be a finite number in {interval}. Got {value!r}."
    )
    assert _checks.check_real("rate", 0.5, 0, 1, **ends) == 0.5


@pytest.mark.parametrize("value", [0, 1])
def test_a_closed_interval_holds_its_ends(value):
    assert _checks.check_real("rate", value, 0, 1) == value


@pytest.mark.parametrize(
    ("value", "sizes"),
    [(3, (3,)), ([3, 4], (3, 4)), ((), ()), (np.array([3, 4]), (3, 4)), (range(1, 3), (1, 2))],
)
def test_sizes_become_a_tuple_of_ints(value, sizes):
    result = _checks.check_sizes("sizes", value)
    assert result == sizes
    assert all(type(size) is int for size in result)


@pytest.mark.parametrize("value", [True, False, np.bool_(True)])
def test_a_flag_becomes_a_bool(value):
    assert _checks.check_flag("early", value) is bool(value)


@pytest.mark.parametrize("value", [0, 1, "yes", None])
def test_a_flag_is_no_number_and_no_text(value):
    assert sentence(_checks.check_flag, "early", value) == (
        f"early must be True or False. Got {value!r}."
    )


@pytest.mark.parametrize("value", ["64", b"64", 2.5, None, True])
def test_sizes_are_no_text_and_no_fraction(value):
    assert sentence(_checks.check_sizes, "sizes", value) == (
        f"sizes must be an integer or a sequence of integers. Got {value!r}."
    )


def test_a_bad_size_is_named_by_its_place():
    assert sentence(_checks.check_sizes, "sizes", (8, 0)) == (
        "sizes[1] must be an integer of at least 1. Got 0."
    )


def test_a_long_value_is_shown_in_one_short_line():
    text = _checks.shown(np.arange(10_000).reshape(100, 100))
    assert "\n" not in text
    assert len(text) <= 80
    long = _checks.shown("x" * 200)
    assert len(long) == 80
    assert long.endswith("…")
