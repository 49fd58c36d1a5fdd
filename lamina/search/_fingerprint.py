"""A text that two calls share exactly if they search the same thing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import joblib
import numpy as np
from scipy.stats._distn_infrastructure import rv_frozen
from sklearn.base import BaseEstimator

PLAIN = (str, bytes, bool, int, float, type(None), np.generic)


def fingerprint(parts: Mapping[str, Any]) -> str:
    """Return a hash of everything that the result of a search depends on."""
    text = "\n".join(f"{name}={described(value)}" for name, value in sorted(parts.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def described(value: Any) -> str:
    """Return a text of a value that is the same in another process."""
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key!r}: {described(value[key])}" for key in sorted(value, key=str))
        return f"{{{inside}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(described, value))}]"
    if isinstance(value, rv_frozen):
        return f"{value.dist.name}{described(value.args)}{described(value.kwds)}"
    if isinstance(value, BaseEstimator):
        return f"{type(value).__qualname__}{described(value.get_params(deep=False))}"
    if isinstance(value, FunctionType | type):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{type(value).__qualname__}:{joblib.hash(value)}"
