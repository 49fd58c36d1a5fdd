"""Run experiments and compare every value with what is expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._expected import Expectation
from ._inequality import holds
from ._registry import ExperimentResult, NeedsDataError, is_implemented, run, selected
from ._rules import Rule, agrees, nature

if TYPE_CHECKING:
    from pandas import DataFrame

_ABSENT = "no such value"


@dataclass(frozen=True)
class CheckRow:
    """One comparison.

    Attributes
    ----------
    id, name : str
        Experiment, and value or inequality.
    got, expected : object
        What came and what was wanted; for an inequality, whether it holds, and True.
    rule : str, dict or list
        How they were compared.
    ok : bool or None
        None where nothing can be compared, for example a figure of another random stream.
    """

    id: str
    name: str
    got: Any
    expected: Any
    rule: Rule
    ok: bool | None

    @property
    def nature(self) -> str:
        """Exact, to rounding, bounded, stream-dependent, or only an inequality."""
        return nature(self.rule)


@dataclass(frozen=True)
class CheckReport:
    """What a check found.

    Attributes
    ----------
    rows : tuple of CheckRow
        Every comparison.
    missing : tuple of str
        Experiments that are known but not implemented yet.
    skipped : dict of str to str
        Experiments that lack their data, and the reason.
    seconds : dict of str to float
        Time of each experiment that ran.
    """

    rows: tuple[CheckRow, ...]
    missing: tuple[str, ...]
    skipped: dict[str, str]
    seconds: dict[str, float]

    @property
    def ok(self) -> bool:
        """Whether no comparison failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[CheckRow, ...]:
        """The comparisons that failed."""
        return tuple(row for row in self.rows if row.ok is False)

    @property
    def table(self) -> DataFrame:
        """A table with a row for each comparison."""
        import pandas as pd

        columns = ("id", "name", "got", "expected", "nature", "ok")
        return pd.DataFrame(
            {column: [getattr(row, column) for row in self.rows] for column in columns}
        )

    def summary(self) -> str:
        """Return some lines that say what agrees, fails, was skipped and is missing."""
        compared = [row for row in self.rows if row.ok is not None]
        lines = [
            f"{len(self.seconds)} experiments in {sum(self.seconds.values()):.1f} s: "
            f"{len(compared) - len(self.failures)} of {len(compared)} figures agree"
        ]
        lines += [
            f"differs: {row.id} {row.name}: got {row.got}, expected {row.expected} ({row.nature})"
            for row in self.failures
        ]
        lines += [f"skipped: {id}: {reason}" for id, reason in self.skipped.items()]
        if self.missing:
            lines.append(f"not implemented yet ({len(self.missing)}): {', '.join(self.missing)}")
        return "\n".join(lines)


def check(
    ids: Iterable[str] | None = None,
    groups: Iterable[str] | None = None,
    *,
    progress: Callable[[str, int, int], object] | None = None,
) -> CheckReport:
    """Run experiments and compare their values with the expected ones.

    Parameters
    ----------
    ids : iterable of str, optional
        Experiments to check; all by default.
    groups : iterable of str, optional
        Letters of the groups to check, for example ``"EFN"``; all by default.
    progress : callable, optional
        Called as ``progress(id, i, n)`` before experiment i of n, counted from 1.

    Returns
    -------
    CheckReport

    Raises
    ------
    ParameterError
        If there is no such experiment or group.

    Examples
    --------
    >>> report = check(["neuron-and-or", "xor-hand-wired"])
    >>> report.ok, report.missing
    (True, ())
    """
    entries = selected(ids, groups)
    ready = [entry for entry in entries if is_implemented(entry.id)]
    rows: list[CheckRow] = []
    skipped: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for i, entry in enumerate(ready):
        if progress is not None:
            progress(entry.id, i + 1, len(ready))
        try:
            result = run(entry.id)
        except NeedsDataError as error:
            skipped[entry.id] = str(error)
            continue
        seconds[entry.id] = result.seconds
        rows += compare(result, entry)
    missing = tuple(entry.id for entry in entries if not is_implemented(entry.id))
    return CheckReport(tuple(rows), missing, skipped, seconds)


def compare(result: ExperimentResult, entry: Expectation) -> list[CheckRow]:
    """Return the comparisons of one result: its values, then its inequalities."""
    rows = []
    for name, expected in entry.values.items():
        got, rule = result.values.get(name, _ABSENT), entry.rules[name]
        ok = False if name not in result.values else agrees(got, expected, rule)
        rows.append(CheckRow(entry.id, name, got, expected, rule, ok))
    for text in entry.inequalities:
        ok = holds(text, result.values)
        rows.append(CheckRow(entry.id, text, ok, True, "inequality only", ok))
    return rows
