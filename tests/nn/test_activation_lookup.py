"""Find an activation by its name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import ParameterError
from lamina.nn import ACTIVATIONS, ELU, LeakyReLU, PReLU, ReLU, Sigmoid, SiLU, get_activation


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_every_name_is_found(name):
    assert get_activation(name) == ACTIVATIONS[name]()
    assert get_activation(name).spec == name


def test_other_names_in_use():
    assert get_activation("logistic") == Sigmoid()
    assert get_activation("swish") == SiLU()


@pytest.mark.parametrize(
    ("spec", "activation"),
    [
        ("leaky_relu(0.1)", LeakyReLU(0.1)),
        (" leaky_relu( -1 ) ", LeakyReLU(-1.0)),
        ("prelu(1e-3)", PReLU(0.001)),
        ("elu(0.5)", ELU(0.5)),
        ("swish(2)", SiLU(2.0)),
        ("logistic(5)", Sigmoid(5.0)),
    ],
)
def test_a_number_behind_the_name(spec, activation):
    assert get_activation(spec) == activation


def test_an_object_is_itself():
    activation = LeakyReLU(0.3)
    assert get_activation(activation) is activation


@given(
    st.sampled_from([LeakyReLU, PReLU]),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_spec_is_read_back(kind, number):
    assert get_activation(kind(number).spec) == kind(number)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("reluu", r"activation must be one of 'abs', .*'tanh'\. Got 'reluu'\. "
                  r"Did you mean 'relu'\?"),
        ("leaky(0.1)", r"Got 'leaky\(0\.1\)'\. Did you mean 'leaky_relu'\?"),
        ("", r"activation must be one of .* Got ''\."),
        ("relu(1)", r"a name alone for 'relu', which takes no number\. Got 'relu\(1\)'\."),
        ("elu(one)", r"must have a number between its brackets\. Got 'elu\(one\)'\."),
        ("elu(-1)", r"alpha must be a finite number in \[0, .*Got -1\.0\."),
        ("elu(nan)", r"alpha must be a finite number"),
        ("silu(0)", r"beta must be a finite number in \(0, .*Got 0\.0\."),
        ("sigmoid(-1)", r"steepness must be a finite number in \(0, "),
        (None, r"activation must be a name or an Activation\. Got None\."),
        (ReLU, r"activation must be a name or an Activation\. Got <class"),
    ],
)  # fmt: skip
def test_what_is_no_activation(spec, sentence):
    with pytest.raises(ParameterError, match=sentence):
        get_activation(spec)


@pytest.mark.parametrize("number", ["0.1", True, float("inf"), float("nan"), None])
def test_a_hyperparameter_is_a_finite_number(number):
    with pytest.raises(ParameterError, match="slope must be a finite number"):
        LeakyReLU(number)


def test_the_message_names_the_parameter():
    with pytest.raises(ParameterError, match="output_activation must be one of"):
        get_activation("sigmo", parameter="output_activation")
