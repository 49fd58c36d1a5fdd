"""Decide what a column holds: numbers, truth values, dates or categories."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from ._values import (
    are_dates,
    is_code_like,
    is_missing_word,
    is_text,
    number_of,
    uniques_of,
)

Kind: TypeAlias = Literal["number", "boolean", "date", "category"]


def kind_of(column: pd.Series[Any]) -> Kind:
    """Return what a column holds, by its dtype or, where that is open, by all of its values.

    Text counts as numbers if every value is one (or a word for a missing one) and none has a
    leading zero, which marks a code; as dates if every value is an ISO date.

    >>> kind_of(pd.Series(["1", "2.5", "?"])), kind_of(pd.Series(["0123", "4567"]))
    ('number', 'category')
    """
    dtype = column.dtype
    if isinstance(dtype, (pd.CategoricalDtype, pd.IntervalDtype)):
        return "category"
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean"
    if pd.api.types.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        return "date"
    if is_text(column):
        return _kind_of_values(uniques_of(column)[1])
    return "number"


def _kind_of_values(values: list[Any]) -> Kind:
    """Judge a column by its distinct values, missing ones left out."""
    if not values:
        return "number"
    if all(isinstance(value, (bool, np.bool_)) for value in values):
        return "boolean"
    known = [value for value in values if not is_missing_word(value)]
    if not known:
        return "category"
    if are_dates(known):
        return "date"
    if any(isinstance(value, (bool, np.bool_)) or is_code_like(value) for value in known):
        return "category"
    numbers = [number_of(value) for value in known]
    found = [number for number in numbers if number is not None]
    # "inf" by itself is a word; beside numbers it is a number.
    is_number = len(found) == len(numbers) and any(math.isfinite(number) for number in found)
    return "number" if is_number else "category"
