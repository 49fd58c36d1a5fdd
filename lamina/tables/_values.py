"""Turn a column into numbers, truth values, dates or names of levels, whatever its dtype.

The same functions serve fitting, where they decide what a column is, and predicting, where the
decision is fixed and a value that does not fit it is an error that names column and row.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from lamina._checks import shown
from lamina._errors import DataError
from lamina._typing import Array, FloatArray, IntArray

_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?inf(?:inity)?", re.IGNORECASE
)
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")
_TRUTH = {"true": 1.0, "1": 1.0, "1.0": 1.0, "false": 0.0, "0": 0.0, "0.0": 0.0}

MISSING_WORDS = frozenset(
    {"", "?", "-", "--", ".", "na", "n/a", "#n/a", "nan", "null", "none", "<na>", "nat", "missing"}
)
"""What stands for a missing number in a text column that otherwise holds numbers."""

DATE_UNIT = "datetime64[us]"
MISSING = -1
"""Code of a missing value among the codes of levels."""


def is_text(column: pd.Series[Any]) -> bool:
    """Return whether the values are Python objects or strings, so that their type is open."""
    return pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column)


def is_code_like(value: object) -> bool:
    """Return whether text is a number with a leading zero, such as a postal code."""
    return isinstance(value, str) and _LEADING_ZERO.match(value.strip()) is not None


def is_iso_date(value: object) -> bool:
    """Return whether a value is a date, or text that begins with one (2026-11-30)."""
    if isinstance(value, str):
        return _ISO_DATE.fullmatch(value.strip()) is not None
    return isinstance(value, (datetime.date, np.datetime64))


def are_dates(values: list[Any]) -> bool:
    """Return whether every value is a date of the calendar (0000-00-00 is not)."""
    written = all(is_iso_date(value) for value in values)
    return written and bool(_parsed_dates(values).notna().all())


def is_missing_word(value: object) -> bool:
    """Return whether a value is text that stands for a missing number."""
    return isinstance(value, str) and value.strip().lower() in MISSING_WORDS


def number_of(value: object) -> float | None:
    """Return one value as a number, NaN if it stands for a missing one, None if it is no number.

    >>> number_of(" 1.5e3"), number_of("?"), number_of("1_000"), number_of(True)
    (1500.0, nan, None, 1.0)
    """
    if isinstance(value, str):
        if is_missing_word(value):
            return math.nan
        text = value.strip()
        return float(text) if _NUMBER.fullmatch(text) else None
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, (Real, decimal.Decimal, np.bool_)):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    return None


def truth_of(value: object) -> float | None:
    """Return 1.0 for true, 0.0 for false, NaN for a missing value, None for anything else."""
    if isinstance(value, (Real, np.bool_)):
        return float(value) if value in (0, 1) else (math.nan if value != value else None)
    if isinstance(value, str):
        word = value.strip().lower()
        return math.nan if word in MISSING_WORDS else _TRUTH.get(word)
    return None


def level_of(value: object) -> str:
    """Return the name of a category: 1, 1.0 and "1" are one level, written "1".

    >>> level_of(3.0), level_of(2.5), level_of(True), level_of("a")
    ('3', '2.5', 'True', 'a')
    """
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, (Real, decimal.Decimal)):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)


def uniques_of(column: pd.Series[Any]) -> tuple[IntArray, list[Any]]:
    """Return a code for each row (-1 for missing) and the distinct values that are there."""
    try:
        codes, values = pd.factorize(column, use_na_sentinel=True)
    except TypeError as error:
        row = next(i for i, value in enumerate(column) if not _hashable(value))
        raise _unusable(column, row, "numbers, text, categories, booleans or dates") from error
    if _mixes_truth_and_numbers(column, values):
        # Python takes True for 1; as levels they are two.
        told_apart = [str(v) if isinstance(v, (bool, np.bool_)) else v for v in column]
        codes, values = pd.factorize(pd.Series(told_apart, dtype=object), use_na_sentinel=True)
    return codes, list(values)


def _mixes_truth_and_numbers(column: pd.Series[Any], values: Any) -> bool:
    if not pd.api.types.is_object_dtype(column):
        return False
    if not any(isinstance(value, (Real, np.bool_)) and value in (0, 1) for value in values):
        return False
    scalars = [value for value in column if isinstance(value, (Real, np.bool_))]
    return len({isinstance(value, (bool, np.bool_)) for value in scalars if value in (0, 1)}) == 2


def numbers(column: pd.Series[Any], offset: int = 0) -> FloatArray:
    """Return a column as float64, NaN where missing, after taking off an integer ``offset``.

    The offset of an integer column is subtracted in integers, so that nanoseconds since 1970
    keep their last digits.

    Raises
    ------
    DataError
        If a value is no number or is infinite; the message names column and row.
    """
    if pd.api.types.is_complex_dtype(column):
        raise DataError(f"Complex data not supported: column {column.name!r} must be real.")
    if is_text(column) or isinstance(column.dtype, pd.CategoricalDtype):
        values = _looked_up(column, number_of, "numbers, as it did when fitting") - offset
    elif pd.api.types.is_timedelta64_dtype(column):
        values = column.dt.total_seconds().to_numpy(np.float64) - offset
    elif pd.api.types.is_datetime64_any_dtype(column):
        raise _unusable(column, 0, "numbers, as it did when fitting")
    else:
        values = _numeric(column, offset)
    infinite = np.isinf(values)
    if infinite.any():
        raise DataError(
            f"Column {column.name!r} must not contain infinity or a value too large for float64. "
            f"Got {shown(column.iloc[int(infinite.argmax())])} in row {int(infinite.argmax())}. "
            "Remove the row, or write NaN if the value is unknown."
        )
    return values


def truths(column: pd.Series[Any]) -> FloatArray:
    """Return a column of booleans as 1.0, 0.0 and NaN."""
    return _looked_up(column, truth_of, "true or false, as it did when fitting")


def levels(column: pd.Series[Any]) -> tuple[IntArray, list[str]]:
    """Return a code for each row (-1 for missing) and the names of the levels that are there."""
    codes, values = uniques_of(column)
    names = [level_of(value) for value in values]
    # Blank text is missing; two spellings of one number are one level.
    places = {name: i for i, name in enumerate(dict.fromkeys(n for n in names if n.strip()))}
    recode = np.array([places.get(name, MISSING) for name in names] + [MISSING], dtype=np.int64)
    return recode[codes], list(places)


def dates(column: pd.Series[Any]) -> Array:
    """Return a column of dates as datetime64 in microseconds and UTC, NaT where missing."""
    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if pd.api.types.is_datetime64_any_dtype(column):
        stamps = column
    else:
        codes, values = uniques_of(column)
        good = [is_iso_date(value) or is_missing_word(value) for value in values]
        parsed = _parsed_dates([v if ok else None for v, ok in zip(values, good, strict=True)])
        known = np.array([not is_missing_word(value) for value in values], dtype=bool)
        lost = known & parsed.isna().to_numpy()
        if lost.any():
            row = int(np.flatnonzero(lost[codes] & (codes >= 0))[0])
            raise _unusable(column, row, "dates, as it did when fitting")
        stamps = pd.Series(parsed.reindex([*range(len(values)), -1]).to_numpy()[codes])
    if isinstance(stamps.dtype, pd.DatetimeTZDtype):
        stamps = stamps.dt.tz_convert("UTC").dt.tz_localize(None)
    return stamps.to_numpy(dtype=DATE_UNIT)


def _parsed_dates(values: list[Any]) -> pd.Series[Any]:
    series = pd.Series(values, dtype=object)
    parsed = pd.to_datetime(series, format="ISO8601", errors="coerce", utc=True)
    return parsed.dt.tz_localize(None)


def _numeric(column: pd.Series[Any], offset: int) -> FloatArray:
    whole = pd.api.types.is_integer_dtype(column) and not column.isna().any()
    if whole and offset:
        integers = column.to_numpy()
        near = np.abs(integers.astype(np.float64) - offset).max() < 2.0**62
        if near and integers.dtype.kind == "i":
            return (integers.astype(np.int64) - offset).astype(np.float64)
    values: FloatArray = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values - offset


def _looked_up(
    column: pd.Series[Any], convert: Callable[[object], float | None], rule: str
) -> FloatArray:
    """Convert each distinct value once."""
    codes, values = uniques_of(column)
    converted = [convert(value) for value in values]
    for code, number in enumerate(converted):
        if number is None:
            raise _unusable(column, int((codes == code).argmax()), rule)
    table = np.array([*converted, math.nan], dtype=np.float64)
    return table[codes]


def _unusable(column: pd.Series[Any], row: int, rule: str) -> DataError:
    value = column.iloc[row]
    return DataError(f"Column {column.name!r} must hold {rule}. Got {shown(value)} in row {row}.")


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
