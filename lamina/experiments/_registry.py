"""The registry of experiments: find them, and run one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from lamina._checks import check_choice
from lamina._errors import LaminaError, ParameterError

from ._expected import Expectation, expectations
from ._rules import plain

if TYPE_CHECKING:
    from pandas import DataFrame

Values: TypeAlias = Mapping[str, Any]
_FUNCTIONS: dict[str, Callable[[], Values]] = {}


class NeedsDataError(LaminaError):
    """An experiment cannot run because data are not there; the message says which."""


def experiment(id: str) -> Callable[[Callable[[], Values]], Callable[[], Values]]:
    """Register a function as the experiment of that id, which the data file describes."""

    def register(function: Callable[[], Values]) -> Callable[[], Values]:
        if id not in expectations() or id in _FUNCTIONS:
            raise ParameterError(
                f"id must be a new one with an entry in expected.json. Got {id!r}."
            )
        _FUNCTIONS[id] = function
        return function

    return register


@dataclass(frozen=True)
class ExperimentInfo:
    """What is known of an experiment before it runs.

    Attributes
    ----------
    id, group, title : str
        Name, letter of its group of requirements, and what it is about.
    source, kind : str
        Source document, and the kind of its figures.
    implemented : bool
        Whether it can be run.
    description : str
        How it is done; empty where it is not implemented.
    """

    id: str
    group: str
    title: str
    source: str
    kind: str
    implemented: bool
    description: str


@dataclass(frozen=True)
class ExperimentResult:
    """What an experiment found.

    Attributes
    ----------
    id, group, title : str
        Name, letter of its group of requirements, and what it is about.
    values : dict
        The named values, as plain numbers, strings, booleans and lists.
    seconds : float
        Time that it took.
    """

    id: str
    group: str
    title: str
    values: dict[str, Any]
    seconds: float

    @property
    def table(self) -> DataFrame:
        """A table with a row for each named value."""
        import pandas as pd

        rows = list(self.values.items())
        return pd.DataFrame({"name": [n for n, _ in rows], "value": [v for _, v in rows]})


def selected(
    ids: Iterable[str] | None = None, groups: Iterable[str] | None = None
) -> list[Expectation]:
    """Return the known experiments with one of the ids and in one of the groups."""
    known = expectations()
    wanted = None if ids is None else {check_choice("id", id, known) for id in ids}
    letters = {entry.group for entry in known.values()}
    chosen = letters if groups is None else {check_choice("group", g, letters) for g in groups}
    return [
        entry
        for entry in known.values()
        if entry.group in chosen and (wanted is None or entry.id in wanted)
    ]


def list_experiments(groups: Iterable[str] | None = None) -> list[ExperimentInfo]:
    """List the known experiments, implemented or not, in the order of their groups.

    Parameters
    ----------
    groups : iterable of str, optional
        Letters of the groups to list, for example ``"EF"``; all by default.

    Returns
    -------
    list of ExperimentInfo

    Raises
    ------
    ParameterError
        If there is no such group.

    Examples
    --------
    >>> [info.id for info in list_experiments("R")][:2]
    ['neuron-and-or', 'xor-hand-wired']
    """
    return [
        ExperimentInfo(
            id=entry.id,
            group=entry.group,
            title=entry.title,
            source=entry.source,
            kind=entry.kind,
            implemented=is_implemented(entry.id),
            description=_description(entry.id),
        )
        for entry in selected(groups=groups)
    ]


def is_implemented(id: str) -> bool:
    """Return whether an experiment can be run."""
    return id in _FUNCTIONS


def _description(id: str) -> str:
    return " ".join((_FUNCTIONS[id].__doc__ or "").split()) if id in _FUNCTIONS else ""


def run(id: str) -> ExperimentResult:
    """Run one experiment.

    Parameters
    ----------
    id : str
        Its name, from `list_experiments`.

    Returns
    -------
    ExperimentResult

    Raises
    ------
    ParameterError
        If there is no such experiment, or it is not implemented yet.
    NeedsDataError
        If it needs data that are not there.

    Examples
    --------
    >>> run("cross-entropy-logits").values
    {'value': 0.4076...}
    """
    entry = expectations()[check_choice("id", id, expectations())]
    if id not in _FUNCTIONS:
        raise ParameterError(f"id must be that of an implemented experiment. Got {id!r}.")
    start = time.perf_counter()
    values = {name: plain(value) for name, value in _FUNCTIONS[id]().items()}
    return ExperimentResult(id, entry.group, entry.title, values, time.perf_counter() - start)
