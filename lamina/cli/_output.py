"""What commands print: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True)
class Output:
    """Where one command prints, and how much.

    Attributes
    ----------
    json : bool
        Print one JSON document instead of text.
    quiet : bool
        Print no notes and no progress; results, warnings and errors stay.
    """

    json: bool = False
    quiet: bool = False
    out: Console = field(default_factory=lambda: console(sys.stdout))
    err: Console = field(default_factory=lambda: console(sys.stderr))

    def note(self, text: str, style: str = "") -> None:
        """Say on stderr what is going on."""
        if not self.quiet:
            self.err.print(text, style=style or None, soft_wrap=True)

    def line(self, text: str, style: str = "") -> None:
        """Print a line of the result."""
        if not self.json:
            self.out.print(text, style=style or None, soft_wrap=True)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table of the result; columns but the first that hold numbers stand right."""
        if self.json:
            return
        if title:
            self.line(title, style="bold")
        grid = Table(box=None)
        grid.pad_edge = False
        for i, name in enumerate(columns):
            numeric = i > 0 and all(_is_number(row[i]) for row in rows)
            grid.add_column(
                name, justify="right" if numeric else "left", header_style="bold", overflow="fold"
            )
        for row in rows:
            grid.add_row(*(Text(cell) for cell in row))
        self.out.print(grid)

    def document(self, document: Mapping[str, Any]) -> None:
        """Print the result for machines, if that was asked for."""
        if self.json:
            text = json.dumps(_plain(document), indent=2, allow_nan=False, ensure_ascii=False)
            self.out.file.write(text + "\n")

    def next(self, command: str) -> None:
        """Say which command is useful now."""
        if not (self.json or self.quiet):
            self.err.print(Text.assemble(("Next: ", "dim"), command), soft_wrap=True)


def console(stream: TextIO, *, pipe_width: int = 160) -> Console:
    """Return a console that takes text as it is; without a terminal it prints plain text."""
    width = None if stream.isatty() else pipe_width
    return Console(
        file=stream, markup=False, highlight=False, emoji=False, width=width, soft_wrap=False
    )


def complain(text: str, *, label: str = "Error", style: str = "bold red") -> None:
    """Print one sentence on stderr."""
    message = Text.assemble((f"{label}: ", style), " ".join(text.split()))
    console(sys.stderr).print(message, soft_wrap=True)


@contextmanager
def warnings_as_sentences() -> Iterator[None]:
    """Print each warning that is meant for users once, as a sentence and without a place."""
    seen: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            complain(str(message), label="Warning", style="yellow")

    with warnings.catch_warnings(action="default", category=UserWarning):
        warnings.showwarning = show
        yield


def number(value: float, digits: int = 4) -> str:
    """Return a number with so many significant digits, and thousands without an exponent."""
    if not math.isfinite(value):
        return "undefined" if math.isnan(value) else str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def seconds(value: float) -> str:
    """Return a time as people say it."""
    return f"{value:.1f} s" if value < 90 else f"{value / 60:.0f} min"


def quoted(text: str) -> str:
    """Return a word of a command line so that a shell takes it for one."""
    import shlex

    return shlex.quote(text)


def _is_number(cell: str) -> bool:
    """Tell whether a cell of a table holds a number, perhaps with a sign of percent."""
    text = cell.replace(",", "").removesuffix(" s").removesuffix(" %")
    try:
        float(text or "0")
    except ValueError:
        return cell == "undefined"
    return True


def _plain(value: Any) -> Any:
    """Return what JSON can hold: no NaN, no infinity, no NumPy scalar."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return _plain(_as_python(value))


def _as_python(value: Any) -> Any:
    """Return a NumPy scalar or array as Python's numbers, anything else as text."""
    import numpy as np

    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else str(value)
