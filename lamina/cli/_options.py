"""Options that several commands have, spelled and explained the same way."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from cyclopts import Parameter
from cyclopts.validators import Number

from lamina._errors import ParameterError

Flag: TypeAlias = Annotated[bool, Parameter(negative=(), show_default=False)]
"""On or off; there is no ``--no-…`` form, since off is the default."""

_TIME = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")

TARGET = Parameter(name=["--target", "-t"])
OUTPUT = Parameter(name=["--output", "-o"])
SHARE = Parameter(validator=Number(gt=0, lt=1))
"""A probability that is neither 0 nor 1."""


class UsageError(ParameterError):
    """Options do not belong together, or to this model; the command ends with status 2."""


def probabilities(text: str) -> list[float]:
    """Return the probabilities of ``--quantiles 0.1,0.5,0.9``."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(0 < value < 1 for value in values):
        raise UsageError(
            "--quantiles must be probabilities above 0 and below 1 with commas between them, "
            f"such as 0.1,0.5,0.9. Got {text!r}."
        )
    return values


def time_span(text: str) -> float:
    """Return the seconds of ``--time-limit 90``, ``10m`` or ``1h30m``."""
    found = _TIME.fullmatch(text.strip().lower().replace(" ", ""))
    parts = [float(part or 0) for part in found.groups()] if found else [0.0]
    seconds = sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))
    if not 0 < seconds < 1e9:
        raise UsageError(
            f"--time-limit must be seconds above 0, or a time such as 10m or 1h30m. Got {text!r}."
        )
    return seconds
