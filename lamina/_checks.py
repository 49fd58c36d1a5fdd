"""Checks at the door: one sentence each, with what was wanted, what came and the cure.

Every sentence has the form ``{name} must be {rule}. Got {value}.`` and, where one is known,
a cure after it.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from ._errors import ParameterError


def suggestion(value: object, allowed: Iterable[str]) -> str:
    """Return `` Did you mean 'relu'?`` for a near miss, or an empty string."""
    near = difflib.get_close_matches(str(value), [str(name) for name in allowed], n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def shown(value: object, limit: int = 80) -> str:
    """Return a ``repr`` that fits into one line of a message."""
    if isinstance(value, np.generic):
        value = value.item()  # 0 and not np.int64(0)
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def check_choice(name: str, value: object, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of the ``allowed`` names."""
    names = sorted(allowed)
    if isinstance(value, str) and value in names:
        return value
    choices = ", ".join(repr(choice) for choice in names)
    raise ParameterError(
        f"{name} must be one of {choices}. Got {shown(value)}.{suggestion(value, names)}"
    )


def check_flag(name: str, value: Any) -> bool:
    """Return ``value`` if it is True or False; 0, 1 and texts are neither."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ParameterError(f"{name} must be True or False. Got {shown(value)}.")


def check_integer(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Return ``value`` as ``int`` if it is a whole number between the bounds."""
    upper = "" if maximum is None else f" and at most {maximum}"
    rule = f"an integer of at least {minimum}{upper}"
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or int(value) < minimum or (maximum is not None and int(value) > maximum):
        raise ParameterError(f"{name} must be {rule}. Got {shown(value)}.")
    return int(value)


def check_real(
    name: str,
    value: Any,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    *,
    open_minimum: bool = False,
    open_maximum: bool = False,
) -> float:
    """Return ``value`` as ``float`` if it is a finite number in the interval."""
    low, high = ("(" if open_minimum else "["), (")" if open_maximum else "]")
    rule = f"a finite number in {low}{minimum:g}, {maximum:g}{high}"
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ParameterError(f"{name} must be {rule}. Got {shown(value)}.")
    number = float(value)
    above = number > minimum if open_minimum else number >= minimum
    below = number < maximum if open_maximum else number <= maximum
    if not (above and below):
        raise ParameterError(f"{name} must be {rule}. Got {shown(value)}.")
    return number


def check_sizes(name: str, value: Any, minimum: int = 1) -> tuple[int, ...]:
    """Return a tuple of layer sizes from an integer or a sequence of integers."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        value = (value,)
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise ParameterError(
            f"{name} must be an integer or a sequence of integers. Got {shown(value)}."
        )
    return tuple(check_integer(f"{name}[{i}]", size, minimum) for i, size in enumerate(value))
