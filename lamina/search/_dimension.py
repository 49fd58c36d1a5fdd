"""One parameter of a search: categories, an interval, or something that only gives samples."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from lamina._checks import shown
from lamina._errors import ParameterError

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_LABEL_LENGTH = 200
_TAIL = 1e-6


def plain(value: Any) -> Any:
    """Return a NumPy scalar as Python's, and any other value as itself."""
    return value.item() if isinstance(value, np.generic) else value


def label(value: Any) -> bool | int | float | str | None:
    """Return a value as Optuna's tables can hold it: itself, or its ``repr`` as a text.

    The address of an object is left out, since it differs from process to process.
    """
    value = plain(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return shown(_Text(_ADDRESS.sub("", repr(value))), _LABEL_LENGTH)


class _Text(str):
    """A text whose ``repr`` is itself."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Categories:
    """A parameter that takes one of some values; these may be any objects."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Interval:
    r"""A parameter between two bounds, both of which it can take.

    With :math:`u` uniform in [0, 1], a draw is

    .. math:: l + u (h - l), \qquad l (h / l)^u \text{ (log)}, \qquad l + k s \text{ (step)},

    where :math:`k` is uniform among the whole numbers of steps that fit. A whole number on a
    log scale is the rounded draw between :math:`l - ½` and :math:`h + ½`.
    """

    low: float
    high: float
    integer: bool = False
    log: bool = False
    step: float | None = None

    def rvs(self, random_state: np.random.RandomState) -> float | int:
        """Return one draw."""
        margin = 0.5 if self.integer else 0.0
        if self.log:
            low, high = math.log(self.low - margin), math.log(self.high + margin)
            drawn = math.exp(random_state.uniform(low, high))
        elif self.integer or self.step is not None:
            step = self.step or 1
            n_steps = int((self.high - self.low) / step + 1e-9)
            drawn = self.low + step * int(random_state.randint(n_steps + 1, dtype=np.int64))
        else:
            drawn = random_state.uniform(self.low, self.high)
        inside = min(max(drawn, self.low), self.high)
        return round(inside) if self.integer else float(inside)


@dataclass(frozen=True)
class Draws:
    """A parameter drawn by an object with a method ``rvs``, as SciPy's distributions have.

    ``interval`` is the same law in Optuna's terms, or None where it has no words for it;
    ``hull`` are bounds to show it in, or None where there are none.
    """

    source: Any
    interval: Interval | None
    hull: Interval | None

    def rvs(self, random_state: np.random.RandomState) -> Any:
        """Return one draw."""
        return plain(self.source.rvs(random_state=random_state))


Dimension: TypeAlias = Categories | Interval | Draws


def as_dimension(name: str, value: Any) -> Dimension:
    """Return the dimension that a user's list or distribution describes.

    Raises
    ------
    ParameterError
        If it is neither a list of values, nor a SciPy nor an Optuna distribution.
    """
    where = f"param_distributions[{name!r}]"
    if type(value).__module__.startswith("optuna."):
        return _of_optuna(where, value)
    if callable(getattr(value, "rvs", None)):
        return _of_scipy(where, value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = list(value)
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        cure = f" Write [{shown(value, 40)}] for a single value."
        cure = cure if value is None or isinstance(value, (str, bytes, int, float)) else ""
        raise ParameterError(
            f"{where} must be a list of values, a SciPy distribution or an Optuna distribution. "
            f"Got {shown(value)}.{cure}"
        )
    if not value:
        raise ParameterError(f"{where} must hold at least one value. Got {shown(value)}.")
    return Categories(tuple(plain(item) for item in value))


def _of_optuna(where: str, value: Any) -> Dimension:
    """Return the dimension of an Optuna distribution, read by its public attributes."""
    choices = getattr(value, "choices", None)
    if choices is not None:
        return Categories(tuple(choices))
    low, high = getattr(value, "low", None), getattr(value, "high", None)
    if low is None or high is None:
        raise ParameterError(
            f"{where} must be a FloatDistribution, an IntDistribution or a "
            f"CategoricalDistribution of Optuna. Got {shown(value)}."
        )
    integer = type(value).__name__.startswith("Int")
    step = value.step if value.step is not None and not (integer and value.step == 1) else None
    return Interval(low, high, integer, bool(value.log), step)


def _of_scipy(where: str, value: Any) -> Dimension:
    """Return the dimension of a distribution that can be drawn from, after one draw."""
    try:
        drawn = value.rvs(random_state=np.random.RandomState(0))
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"{where} must be a distribution that gives a number by rvs(random_state=…). "
            f"Got {shown(value)}, which says: {shown(_Text(error))}. "
            "Give it all its parameters, for example scipy.stats.loguniform(1e-4, 1e-1)."
        ) from error
    if np.ndim(drawn):
        raise ParameterError(
            f"{where} must give one number a draw. Got {shown(value)}, which gives an array of "
            f"shape {np.shape(drawn)}."
        )
    interval = _scipy_interval(value)
    return Draws(value, interval, interval or _hull(value, drawn))


def _scipy_interval(value: Any) -> Interval | None:
    """Return the interval of SciPy's uniform, loguniform and randint, and None for others."""
    name = getattr(getattr(value, "dist", value), "name", None)
    if name not in ("uniform", "loguniform", "reciprocal", "randint"):
        return None
    low, high = (float(bound) for bound in value.support())
    if name == "randint":
        return Interval(int(low), int(high), integer=True)
    if name == "uniform":
        return Interval(low, high)
    # log x is uniform only where nothing was added to x: b / a is the ratio of the bounds then.
    shapes = dict(zip(("a", "b"), getattr(value, "args", ()), strict=False))
    shapes |= getattr(value, "kwds", {})
    unmoved = low > 0 and math.isclose(shapes["b"] / shapes["a"], high / low)
    return Interval(low, high, log=True) if unmoved else None


def _hull(value: Any, drawn: Any) -> Interval | None:
    """Return bounds that nearly all draws keep, where the distribution knows its quantiles."""
    quantile = getattr(value, "ppf", None)
    if not callable(quantile):
        return None
    low, high = float(quantile(_TAIL)), float(quantile(1 - _TAIL))
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    integer = isinstance(plain(drawn), int)
    return Interval(round(low), round(high), True) if integer else Interval(low, high)
