"""Strict JSON that gives back exactly what was put in, also NaN and infinity.

JSON has no word for numbers that are not finite, and a text ``"nan"`` in a table must stay a
text. So the document holds

=================  ==========================================
value              in the document
=================  ==========================================
NaN                ``"float:nan"``
infinity           ``"float:inf"``
minus infinity     ``"float:-inf"``
the text float:x   ``"text:float:x"``
the text text:x    ``"text:text:x"``
=================  ==========================================

and every other value as itself. Tuples come back as lists, NumPy scalars as Python's.
"""

from __future__ import annotations

import json
import math
from typing import Any, TypeAlias

import numpy as np

from ._checks import shown
from ._errors import ParameterError

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_NUMBER = "float:"
_TEXT = "text:"
_NON_FINITE = {
    f"{_NUMBER}nan": math.nan,
    f"{_NUMBER}inf": math.inf,
    f"{_NUMBER}-inf": -math.inf,
}


def encode(value: Any, name: str = "config") -> Json:
    """Return ``value`` in the form that the document holds.

    Raises
    ------
    ParameterError
        If a part of it is neither a number, text, bool, None, list nor dict; the message says
        which part.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return f"{_TEXT}{value}" if value.startswith((_NUMBER, _TEXT)) else str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else f"{_NUMBER}{float(value)}"
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, (list, tuple)):
        return [encode(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, dict):
        return {_key(key, name): encode(item, f"{name}[{key!r}]") for key, item in value.items()}
    raise ParameterError(
        f"{name} must be a number, text, bool, None, list or dict to be saved. Got {shown(value)}."
    )


def decode(value: Json) -> Any:
    """Undo `encode`; a text that claims to be a number and is none raises ValueError."""
    if isinstance(value, str):
        return _decode_text(value)
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict):
        return {key: decode(item) for key, item in value.items()}
    return value


def dump(value: Json, *, indent: int | None = None) -> str:
    """Return the document as ASCII text, equal for equal values."""
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(value, indent=indent, separators=separators, allow_nan=False)


def parse(text: str) -> Json:
    """Return the document in ``text``; anything outside the JSON standard raises ValueError."""
    document: Json = json.loads(
        text,
        parse_constant=_refuse_constant,
        parse_float=_finite_float,
        object_pairs_hook=_unique_keys,
    )
    return document


def _key(key: object, name: str) -> str:
    """Return a key of a dict, which JSON wants to be a text."""
    if isinstance(key, str):
        return key
    raise ParameterError(f"The keys of {name} must be texts to be saved. Got {shown(key)}.")


def _decode_text(text: str) -> str | float:
    """Return the text or the number that a text of the document stands for."""
    if text.startswith(_NUMBER):
        if text not in _NON_FINITE:
            raise ValueError(f"the text {shown(text)} stands for no number")
        return _NON_FINITE[text]
    return text.removeprefix(_TEXT)


def _refuse_constant(token: str) -> None:
    """Refuse the bare words NaN and Infinity, which Python's parser would let pass."""
    raise ValueError(f"the bare word {token} is not JSON")


def _finite_float(token: str) -> float:
    """Refuse a number such as 1e999 that no float holds."""
    number = float(token)
    if not math.isfinite(number):
        raise ValueError(f"the number {shown(token)} is too large")
    return number


def _unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Refuse an object that names a key twice, of which Python's parser would keep the last."""
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return document
