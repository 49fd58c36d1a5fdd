"""The tree of exceptions and warnings, as its docstring draws it."""

from __future__ import annotations

import re

import pytest

from lamina import _errors

PARENTS = dict(re.findall(r"[├└]── (\w+) \(([\w, ]+)\)", _errors.__doc__))


def test_the_docstring_draws_every_exception():
    drawn = set(re.findall(r"[├└]── (\w+)", _errors.__doc__)) | {"LaminaError", "LaminaWarning"}
    assert drawn == set(_errors.__all__)


@pytest.mark.parametrize("name", sorted(PARENTS))
def test_an_exception_can_be_caught_as_python_and_as_lamina(name):
    import builtins

    error = getattr(_errors, name)
    assert issubclass(error, _errors.LaminaError)
    for parent in PARENTS[name].split(", "):
        assert issubclass(error, getattr(builtins, parent))


@pytest.mark.parametrize("name", [name for name in _errors.__all__ if name.endswith("Warning")])
def test_a_warning_is_a_user_warning_of_lamina(name):
    assert issubclass(getattr(_errors, name), (_errors.LaminaWarning, UserWarning))
    assert issubclass(getattr(_errors, name), _errors.LaminaWarning)
