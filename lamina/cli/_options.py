"""Options that several commands have, spelled and explained the same way."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from cyclopts import Parameter

Flag: TypeAlias = Annotated[bool, Parameter(negative=(), show_default=False)]
"""On or off; there is no ``--no-…`` form, since off is the default."""

TARGET = Parameter(name=["--target", "-t"])
OUTPUT = Parameter(name=["--output", "-o"])
