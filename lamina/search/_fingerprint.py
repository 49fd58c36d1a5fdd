"""A text that two calls share exactly if they search the same thing."""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

import joblib
import numpy as np
from scipy.stats._distn_infrastructure import rv_frozen
from sklearn.base import BaseEstimator
from sklearn.metrics._scorer import _BaseScorer

from lamina._checks import shown
from lamina._errors import ParameterError

PLAIN = (str, bytes, bool, int, float, type(None), np.generic)


def fingerprint(parts: Mapping[str, Any]) -> str:
    """Return a hash of everything that the result of a search depends on."""
    text = "\n".join(f"{name}={described(value)}" for name, value in sorted(parts.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def described(value: Any) -> str:
    """Return a text of a value that is the same in another process.

    Raises
    ------
    ParameterError
        If there is none, since the value holds something that cannot be pickled.
    """
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key!r}: {described(value[key])}" for key in sorted(value, key=str))
        return f"{{{inside}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(described, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(described, value)))}}}"
    if isinstance(value, rv_frozen):
        return f"{value.dist.name}{described(value.args)}{described(value.kwds)}"
    if isinstance(value, BaseEstimator):
        return f"{type(value).__qualname__}{described(value.get_params(deep=False))}"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, FunctionType):
        return _of_function(value)
    if isinstance(value, MethodType):
        return f"{described(value.__func__)} of {described(value.__self__)}"
    if isinstance(value, functools.partial):
        return f"partial{described([value.func, value.args, value.keywords])}"
    if isinstance(value, _BaseScorer):
        return f"{type(value).__qualname__}{described(vars(value))}"
    try:
        return f"{type(value).__qualname__}:{joblib.hash(value)}"
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ParameterError(
            "A search with a storage must consist of what can be pickled. Got "
            f"{shown(value)}. Define its class and functions at the top level of a module, or "
            "use storage=None."
        ) from error


def _of_function(function: FunctionType) -> str:
    """Return its name and a hash of what it does; two lambdas have the same name."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_full(cell)]
    parts = [
        _of_code(function.__code__),
        described(function.__defaults__),
        described(function.__kwdefaults__),
        # A function that calls itself is in its own closure.
        *(_of_code(c.__code__) if isinstance(c, FunctionType) else described(c) for c in cells),
    ]
    mark = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return f"{function.__module__}.{function.__qualname__}:{mark[:16]}"


def _is_full(cell: Any) -> bool:
    try:
        return bool(cell.cell_contents is not cell)
    except ValueError:  # the name has no value yet
        return False


def _of_code(code: CodeType) -> str:
    """Return instructions, names and constants as a text."""
    constants = [_of_code(c) if isinstance(c, CodeType) else described(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} [{', '.join(constants)}]"
