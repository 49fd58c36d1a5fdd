"""Reading a storage: what it holds, how far it is, and nothing changed by the look."""

from __future__ import annotations

import sqlite3

import pytest

from lamina._errors import FileError
from lamina.search._ledger import TrialRecord
from lamina.search._studies import list_studies, read_study

pytest.importorskip("sqlalchemy", reason="the extra lamina[search] is not installed")


def records(numbers):
    return [
        TrialRecord(
            number,
            {"w": (64, 64), "n": 2, "lr": number / 10},
            float("nan") if number == 4 else number / 10,
            values={1: float("nan"), 3: number / 20},
            seconds=2.0,
        )
        for number in numbers
    ]


def test_a_study_is_read_while_it_runs(open_file, tmp_path):
    ledger = open_file(spec={"n_iter": 4})
    ledger.claim("batch000-rung00", 4, 2)
    ledger.finish("batch000-rung00", 0, b"r", None)
    ledger.mirror(records([0, 4]))
    view = read_study(tmp_path / "search.db")
    assert view.name == "lamina-" + "f" * 12
    assert (view.seed, view.n_alive, view.spec["n_iter"]) == (7, 1, 4)
    stage = view.stages[0]
    assert (stage.name, stage.n_shards, stage.n_done, stage.n_held) == ("batch000-rung00", 4, 1, 1)
    assert len(view.stages) == 1
    first, second = view.trials
    assert first.params == {"w": "(64, 64)", "n": 2, "lr": 0.0}
    assert (first.score, first.state, first.values[3], first.seconds) == (0.0, "complete", 0.0, 2)
    assert second.score != second.score
    info = list_studies(tmp_path / "search.db")[0]
    assert (info.name, info.n_trials, info.n_alive) == (view.name, 2, 1)
    ledger.close()
    assert read_study(tmp_path / "search.db").n_alive == 0


def test_an_unknown_study_is_told_with_those_that_are_there(open_file, tmp_path):
    open_file()
    with pytest.raises(FileError, match=r"no search 'lamina-fff'.*'lamina-ffffffffffff'"):
        read_study(tmp_path / "search.db", "lamina-fff")


def test_reading_makes_no_file(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        list_studies(tmp_path / "search.db")
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_a_search_says_so(tmp_path):
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (a)").connection.close()
    with pytest.raises(FileError, match="There is no search in"):
        read_study(tmp_path / "other.db")
