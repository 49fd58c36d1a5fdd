"""Read what a storage holds of searches, without training anything."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lamina import _json
from lamina._checks import shown, suggestion
from lamina._errors import FileError
from lamina._optional import optional_import

from ._engine import Database, find
from ._ledger import LEASE
from ._peers import Process
from ._tables import check_version, has_tables


@dataclass(frozen=True)
class StudyInfo:
    """One search in a storage.

    Attributes
    ----------
    name, fingerprint : str
        What it is called, and the hash of the call that it belongs to.
    created : float
        When it began, in seconds since 1970, UTC.
    n_trials : int
        Candidates that have ended.
    n_alive : int
        Processes that work on it now.
    """

    name: str
    fingerprint: str
    created: float
    n_trials: int
    n_alive: int


@dataclass(frozen=True)
class TrialView:
    """One candidate that has ended.

    Attributes
    ----------
    number : int
        Its number, from 0.
    params : dict
        Its parameters; what a database cannot hold stands as text.
    score : float
        The last of its scores, NaN for one that failed.
    state : {"complete", "pruned", "fail"}
        Whether it came to its end, lost, or failed.
    values : dict of int to float
        Its scores by epoch.
    seconds : float or None
        What it cost to train.
    ended : float
        When it ended, in seconds since 1970, UTC.
    """

    number: int
    params: Mapping[str, Any]
    score: float
    state: str
    values: Mapping[int, float]
    seconds: float | None
    ended: float


@dataclass(frozen=True)
class StageView:
    """How far a rung of a batch is.

    Attributes
    ----------
    name : str
        Such as "batch000-rung01".
    n_shards, n_done, n_held : int
        Its shards, those that are done, and those that someone works on.
    """

    name: str
    n_shards: int
    n_done: int
    n_held: int


@dataclass(frozen=True)
class StudyView:
    """One search in a storage, with all that is known of it.

    Attributes
    ----------
    name, fingerprint : str
        What it is called, and the hash of the call that it belongs to.
    seed : int
        Its seed.
    created : float
        When it began, in seconds since 1970, UTC.
    spec : dict
        The call: names of parameters and scores, candidates, folds, rows.
    trials : tuple of TrialView
        The candidates that have ended.
    stages : tuple of StageView
        The rungs so far, in order of time.
    n_alive : int
        Processes that work on it now. Whether one on another machine does is judged by its last
        sign of life and the clocks of both.
    """

    name: str
    fingerprint: str
    seed: int
    created: float
    spec: Mapping[str, Any]
    trials: tuple[TrialView, ...]
    stages: tuple[StageView, ...]
    n_alive: int


def list_studies(storage: str | os.PathLike[str]) -> list[StudyInfo]:
    """Return the searches that a storage holds, the newest last.

    Parameters
    ----------
    storage : str or path
        File or URL that a search was given.

    Returns
    -------
    list of StudyInfo
        What is known of each at a glance.

    Raises
    ------
    FileError
        If there is no such storage or it holds no search.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from lamina import MLPClassifier, StackedSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     search = StackedSearchCV(
    ...         MLPClassifier((4,), max_iter=4, random_state=0), {"alpha": [0.1, 1.0]},
    ...         cv=3, storage=f"{folder}/search.db", refit=False, random_state=0,
    ...     ).fit(X, y)
    ...     [info.n_trials for info in list_studies(f"{folder}/search.db")]
    [2]
    """
    with _opened(storage) as database:
        studies = _studies(database)
        query = "SELECT study_id, COUNT(*) FROM lamina_trials GROUP BY study_id"
        counts = dict(database.run(lambda t: t.rows(query, {})))
        return [
            StudyInfo(name, fingerprint, created, counts.get(study, 0), _alive(database, study))
            for study, name, fingerprint, created, _, _ in studies
        ]


def read_study(storage: str | os.PathLike[str], name: str | None = None) -> StudyView:
    """Return one search of a storage: by its name, or the newest.

    Parameters
    ----------
    storage : str or path
        File or URL that a search was given.
    name : str, default=None
        Name of the search, as `list_studies` tells; None is the newest.

    Returns
    -------
    StudyView
        Its candidates, and how far it is.

    Raises
    ------
    FileError
        If there is no such storage or no such search in it.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from lamina import MLPClassifier, StackedSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     search = StackedSearchCV(
    ...         MLPClassifier((4,), max_iter=4, random_state=0), {"alpha": [0.1, 1.0]},
    ...         cv=3, storage=f"{folder}/search.db", refit=False, random_state=0,
    ...     ).fit(X, y)
    ...     view = read_study(f"{folder}/search.db")
    >>> view.spec["n_splits"], [trial.params["alpha"] for trial in view.trials]
    (3, [0.1, 1.0])
    """
    with _opened(storage) as database:
        studies = _studies(database)
        names = [study[1] for study in studies]
        if name is not None and name not in names:
            known = ", ".join(map(repr, names))
            raise FileError(
                f"There is no search {shown(name)} in {database.address.told}. It has {known}."
                f"{suggestion(name, names)}"
            )
        study, found, fingerprint, created, seed, spec = studies[
            -1 if name is None else names.index(name)
        ]
        return StudyView(
            name=found,
            fingerprint=fingerprint,
            seed=int(seed),
            created=created,
            spec=_json.decode(_json.parse(spec)),
            trials=_trials(database, study),
            stages=_stages(database, study),
            n_alive=_alive(database, study),
        )


@contextmanager
def _opened(storage: str | os.PathLike[str]) -> Iterator[Database]:
    """Open a storage to read it."""
    optional_import("sqlalchemy", extra="search", purpose="A storage")
    database = Database(find(storage, to_read=True))
    try:
        if not has_tables(database):
            raise FileError(f"There is no search in {database.address.told}.")
        check_version(database)
        yield database
    finally:
        database.close()


def _studies(database: Database) -> list[tuple[Any, ...]]:
    columns = "id, name, fingerprint, created, seed, spec"
    query = f"SELECT {columns} FROM lamina_studies ORDER BY id"
    studies = database.run(lambda t: t.rows(query, {}))
    if not studies:
        raise FileError(f"There is no search in {database.address.told}.")
    return studies


def _trials(database: Database, study: int) -> tuple[TrialView, ...]:
    query = "SELECT number, ended, record FROM lamina_trials WHERE study_id = :study"
    rows = database.run(lambda t: t.rows(f"{query} ORDER BY number", {"study": study}))
    found = []
    for number, ended, text in rows:
        record = _json.decode(_json.parse(text))
        values = {int(epoch): value for epoch, value in record["values"]}
        found.append(
            TrialView(
                int(number),
                record["params"],
                record["score"],
                record["state"],
                values,
                record["seconds"],
                ended,
            )
        )
    return tuple(found)


def _stages(database: Database, study: int) -> tuple[StageView, ...]:
    query = (
        "SELECT stage, COUNT(*), SUM(done), COUNT(owner) FROM lamina_shards "
        "WHERE study_id = :study AND stage <> 'mirror' GROUP BY stage ORDER BY stage"
    )
    rows = database.run(lambda t: t.rows(query, {"study": study}))
    return tuple(StageView(name, int(n), int(done), int(held)) for name, n, done, held in rows)


def _alive(database: Database, study: int) -> int:
    """Return how many processes work on a search, as far as one look can tell."""
    query = "SELECT host, pid, born, seen FROM lamina_owners WHERE study_id = :study"
    rows = database.run(lambda t: t.rows(query, {"study": study}))
    now = time.time()
    return sum(
        now - seen < LEASE and not Process(host, pid, born).has_ended()
        for host, pid, born, seen in rows
    )
