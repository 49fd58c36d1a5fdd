"""Options that several commands have, spelled and explained the same way."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from cyclopts import Parameter
from cyclopts.validators import Number

from lamina._errors import ParameterError

Flag: TypeAlias = Annotated[bool, Parameter(negative=(), show_default=False)]
"""On or off; there is no ``--no-…`` form, since off is the default."""

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
