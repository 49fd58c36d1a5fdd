"""``lamina experiments``: list, run and check the experiments that come with the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from lamina._errors import ParameterError

from ._options import Flag
from ._output import Output, complain, number, seconds
from ._progress import counted

if TYPE_CHECKING:
    from lamina.experiments import CheckReport, ExperimentInfo, ExperimentResult

experiments = App(
    name="experiments",
    help="List, run and check the experiments that come with the package.",
    help_format="plaintext",
)

Ids = Annotated[str, Parameter(name="IDS", show_default=False)]
Groups = Annotated[
    tuple[str, ...], Parameter(name=["--group", "-g"], negative=(), show_default=False)
]


@experiments.command(name="list")
def list_(*, group: Groups = (), quiet: Flag = False, json: Flag = False) -> None:
    """List the experiments.

    Parameters
    ----------
    group : tuple of str
        Letter of a group; may be repeated.
    quiet : bool
        Print nothing but the result, warnings and errors.
    json : bool
        Print the result as one JSON document.
    """
    say = Output(json=json, quiet=quiet)
    known = _chosen((), group)
    say.table(
        "",
        ["id", "group", "ready", "about"],
        [[i.id, i.group, "yes" if i.implemented else "no", i.title] for i in known],
    )
    say.document({"command": "experiments list", "experiments": [vars(info) for info in known]})
    ready = [info for info in known if info.implemented]
    say.note(f"{len(ready)} of {len(known)} can be run")
    if ready:
        say.next(f"lamina experiments run {ready[0].id}, or lamina experiments check")


@experiments.command
def run(*ids: Ids, group: Groups = (), quiet: Flag = False, json: Flag = False) -> int:
    """Run experiments and print what they find.

    Parameters
    ----------
    ids : str
        Names from lamina experiments list.
    group : tuple of str
        Letter of a group, of which all are run; may be repeated.
    quiet : bool
        Print nothing but the result, warnings and errors.
    json : bool
        Print the result as one JSON document.
    """
    from lamina.experiments import NeedsDataError
    from lamina.experiments import run as run_one

    say = Output(json=json, quiet=quiet)
    if not ids and not group:
        raise ParameterError(
            "IDS or --group must say which experiments to run. Got neither. "
            "See: lamina experiments list"
        )
    chosen = [info for info in _chosen(ids, group) if info.implemented or info.id in ids]
    results: list[ExperimentResult] = []
    failed = False
    with counted(say.err, show=say.err.is_terminal and not quiet) as count:
        for i, info in enumerate(chosen):
            count(info.id, i + 1, len(chosen))
            try:
                results.append(run_one(info.id))
            except NeedsDataError as error:
                failed = True
                complain(f"{info.id}: {error}")
    for result in results:
        _print_result(result, say)
    say.document({"command": "experiments run", "experiments": [vars(r) for r in results]})
    if results:
        say.next(f"lamina experiments check {' '.join(result.id for result in results[:3])}")
    return 1 if failed else 0


@experiments.command
def check(*ids: Ids, group: Groups = (), quiet: Flag = False, json: Flag = False) -> int:
    """Run experiments and compare every figure with what is expected of it.

    The exit status is 1 if a figure is out of its tolerance, or if an experiment that was asked
    for by its name could not be run. Others whose data are not here are named and passed over.

    Parameters
    ----------
    ids : str
        Names from lamina experiments list; all by default.
    group : tuple of str
        Letter of a group to check; may be repeated.
    quiet : bool
        Print nothing but the result, warnings and errors.
    json : bool
        Print the result as one JSON document.
    """
    from lamina.experiments import check as check_all

    say = Output(json=json, quiet=quiet)
    chosen = _chosen(ids, group)
    with counted(say.err, show=say.err.is_terminal and not quiet) as count:
        report = check_all([info.id for info in chosen], progress=count)
    _print_report(report, chosen, say)
    say.document(
        {
            "command": "experiments check",
            "ok": report.ok,
            "figures": report.table.to_dict("records"),
            "skipped": report.skipped,
            "missing": report.missing,
            "seconds": report.seconds,
        }
    )
    if report.failures:
        say.next(f"lamina experiments run {report.failures[0].id}")
        return 1
    return 1 if ids and (report.skipped or report.missing) else 0


def _chosen(ids: Sequence[str], groups: Sequence[str]) -> list[ExperimentInfo]:
    """Return the experiments with one of the ids, if any, in one of the groups, if any."""
    from lamina._checks import shown, suggestion
    from lamina.experiments import list_experiments

    known = list_experiments()
    letters = sorted({info.group for info in known})
    for name in groups:
        if name not in letters:
            raise ParameterError(
                f"--group must be one of the letters {', '.join(letters)}, and may be repeated. "
                f"Got {shown(name)}."
            )
    names = [info.id for info in known]
    for name in ids:
        if name not in names:
            raise ParameterError(
                f"IDS must be in lamina experiments list. Got {shown(name)}."
                f"{suggestion(name, names)}"
            )
    return [
        info
        for info in known
        if (not ids or info.id in ids) and (not groups or info.group in groups)
    ]


def _print_result(result: ExperimentResult, say: Output) -> None:
    """Print the values of one experiment."""
    say.table(
        f"{result.id}: {result.title} ({seconds(result.seconds)})",
        ["name", "value"],
        [[name, _value(value)] for name, value in result.values.items()],
    )
    say.line("")


def _print_report(report: CheckReport, chosen: Sequence[ExperimentInfo], say: Output) -> None:
    """Print a line per experiment, then what differs and what was not checked."""
    rows = []
    for info in chosen:
        if info.id in report.seconds:
            figures = [row.ok for row in report.rows if row.id == info.id and row.ok is not None]
            agree = f"{sum(figures)} of {len(figures)}"
            rows.append([info.id, info.group, agree, seconds(report.seconds[info.id])])
    say.table("", ["id", "group", "figures agree", "time"], rows)
    say.line("")
    say.line(report.summary())


def _value(value: Any) -> str:
    """Return a value or list of values in few characters."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, float):
        return number(value, 6)
    return str(value)
