"""Compare a value with what is expected of it, by one of a few rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from lamina._errors import ParameterError

Rule: TypeAlias = "str | dict[str, Any] | list[Any]"


def plain(value: Any) -> Any:
    """Return a value as plain Python: numbers, strings, booleans and nested lists."""
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no inf and nan: the expected values spell them
    return value


def agrees(got: Any, expected: Any, rule: Rule) -> bool | None:
    """Return whether ``got`` meets the rule, or None where the rule compares nothing.

    ``"exact"`` (floats to 9 digits), ``{"abs": d}``, ``{"rel": d}``, ``{"max": d}`` and
    ``{"range": [low, high]}`` hold element by element; a list has a rule for each element;
    ``"stream"`` and ``{"words": text}`` mark what a machine cannot compare.
    """
    if rule == "stream" or (isinstance(rule, dict) and "words" in rule):
        return None
    if isinstance(rule, list):
        same_length = isinstance(got, Sequence) and len(got) == len(expected) == len(rule)
        return same_length and all(
            agrees(g, e, r) is not False for g, e, r in zip(got, expected, rule, strict=True)
        )
    if isinstance(got, list) or isinstance(expected, list):
        if not (isinstance(got, list) and isinstance(expected, list)):
            return False
        return len(got) == len(expected) and all(
            agrees(g, e, rule) is not False for g, e in zip(got, expected, strict=True)
        )
    return _number_agrees(got, expected, rule)


def _number_agrees(got: Any, expected: Any, rule: str | dict[str, Any]) -> bool:
    """Compare one number, string or boolean."""
    numeric = isinstance(got, Real) and isinstance(expected, Real)
    boolean = isinstance(got, bool) or isinstance(expected, bool)
    if not numeric or boolean:
        return type(got) is type(expected) and bool(got == expected)
    if rule == "exact":
        return math.isclose(got, expected, rel_tol=1e-9, abs_tol=0.0)
    if isinstance(rule, dict) and len(rule) == 1:
        ((kind, size),) = rule.items()
        if kind == "abs":
            return bool(abs(got - expected) <= size)
        if kind == "rel":
            return bool(abs(got - expected) <= size * abs(expected))
        if kind == "max":
            return bool(got <= size)
        if kind == "range":
            return bool(size[0] <= got <= size[1])
    raise ParameterError(
        "rule must be 'exact', 'stream', a list of rules, or one of abs, rel, max, range, words. "
        f"Got {rule!r}."
    )


def nature(rule: Rule) -> str:
    """Return in words what a comparison by this rule says about the figure."""
    if isinstance(rule, list):
        return " / ".join(dict.fromkeys(nature(part) for part in rule))
    if isinstance(rule, str):
        return {"exact": "exact", "stream": "random stream, not compared"}.get(rule, rule)
    if "words" in rule:
        return f"not compared: {rule['words']}"
    if "range" in rule:
        return "depends on the random stream, within a range"
    return "bounded" if "max" in rule else "to rounding"
