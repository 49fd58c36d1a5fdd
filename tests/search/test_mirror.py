"""The copy of a search that Optuna loads: complete, each candidate once, never in the way."""

from __future__ import annotations

import threading

import pytest

from lamina._errors import LaminaWarning
from lamina.search._ledger import TrialRecord
from lamina.search._space import Space
from lamina.search._studies import read_study

pytest.importorskip("sqlalchemy", reason="the extra lamina[search] is not installed")
optuna = pytest.importorskip("optuna", reason="the extra lamina[search] is not installed")

SPACE = Space(
    {"w": [(64,), (64, 64)], "n": [1, 2], "lr": optuna.distributions.FloatDistribution(0, 1)}
)


def records(numbers, seconds=2.0):
    laws = SPACE.optuna_distributions()
    return [
        TrialRecord(
            number,
            {"w": (64, 64), "n": 2, "lr": number / 10, "extra": (1, 2)},
            float("nan") if number == 4 else number / 10,
            "pruned" if number % 2 else "complete",
            {1: float("nan"), 3: number / 20},
            laws,
            seconds,
        )
        for number in numbers
    ]


def test_optuna_loads_the_mirrored_study(open_file, tmp_path):
    ledger = open_file()
    ledger.mirror(records([0, 1, 2]))
    ledger.mirror(records([2, 1, 4]))
    url = f"sqlite:///{tmp_path / 'search.db'}"
    study = optuna.load_study(study_name="lamina-" + "f" * 12, storage=url)
    assert [t.user_attrs["candidate"] for t in study.trials] == [0, 1, 2, 4]
    assert [t.state.name for t in study.trials] == ["COMPLETE", "PRUNED", "COMPLETE", "FAIL"]
    assert study.best_params == {"w": "(64, 64)", "n": 2, "lr": 0.2}
    trial = study.trials[1]
    assert (trial.value, trial.intermediate_values[3]) == (0.1, 0.05)
    assert trial.intermediate_values[1] != trial.intermediate_values[1]
    assert trial.duration.total_seconds() == pytest.approx(2.0)
    assert trial.user_attrs["extra"] == "(1, 2)"
    optuna.importance.get_param_importances(study)
    study._storage._backend.engine.dispose()


def test_a_mirror_that_a_kill_cut_short_is_completed(open_file, tmp_path, monkeypatch):
    ledger = open_file()

    def cut_short(self, trials):
        for trial in list(trials)[:2]:
            self.add_trial(trial)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(optuna.study.Study, "add_trials", cut_short)
        with pytest.raises(KeyboardInterrupt):
            ledger.mirror(records(range(4)))
    other = open_file()
    other.mirror([])
    study = other._mirror._study
    assert [t.user_attrs["candidate"] for t in study.trials] == [0, 1, 2, 3]


def test_candidates_are_mirrored_once_by_two_at_the_same_time(open_file):
    both = [open_file(), open_file()]
    threads = [
        threading.Thread(target=ledger.mirror, args=(records(range(8)),)) for ledger in both
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    study = both[0]._mirror._study
    assert sorted(t.user_attrs["candidate"] for t in study.trials) == list(range(8))


def test_a_value_outside_its_law_widens_it_and_a_foreign_one_is_an_attribute(open_file):
    ledger = open_file()
    laws = SPACE.optuna_distributions()
    ledger.mirror([TrialRecord(0, {"lr": 7.5, "n": 3, "w": (64,)}, 1.0, distributions=laws)])
    trial = ledger._mirror._study.trials[0]
    assert trial.params == {"lr": 7.5, "w": "(64,)"}
    assert trial.distributions["lr"].high == 7.5
    assert trial.user_attrs == {"candidate": 0, "n": 3}


def test_a_study_of_somebody_else_is_left_alone(open_file, tmp_path):
    url = f"sqlite:///{tmp_path / 'search.db'}"
    theirs = optuna.create_study(study_name="lamina-" + "f" * 12, storage=url)
    theirs.add_trial(optuna.trial.create_trial(value=1.0))
    ledger = open_file()
    ledger.mirror(records([0]))
    assert len(theirs.trials) == 1
    assert optuna.get_all_study_names(url) == [
        "lamina-" + "f" * 12,
        "lamina-" + "f" * 12 + "-ffffff",
    ]
    theirs._storage._backend.engine.dispose()


def test_a_mirror_that_fails_does_not_end_the_search(open_file, tmp_path, monkeypatch):
    ledger = open_file()

    def fail(self, trials):
        raise optuna.exceptions.StorageInternalError("no room.")

    monkeypatch.setattr(optuna.study.Study, "add_trials", fail)
    with pytest.warns(LaminaWarning, match=r"optuna-dashboard could not be written: no room\."):
        ledger.mirror(records([0]))
    assert len(read_study(tmp_path / "search.db").trials) == 1
