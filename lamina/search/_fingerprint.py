"""A text that two calls share exactly if they search the same thing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import joblib
import numpy as np

PLAIN = (str, bytes, bool, int, float, type(None), np.generic)


def fingerprint(**parts: Any) -> str:
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
    if hasattr(value, "dist") and hasattr(value, "kwds"):  # a frozen distribution of SciPy
        return f"{value.dist.name}{described(value.args)}{described(value.kwds)}"
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{type(value).__qualname__}{described(value.get_params(deep=False))}"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{type(value).__qualname__}:{joblib.hash(value)}"
