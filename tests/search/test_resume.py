"""A search that is killed, stopped or shared ends as one that ran through."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
import scipy.stats

from lamina import MLPClassifier, StackedSearchCV
from lamina.search import _stage

pytest.importorskip("sqlalchemy", reason="the extra lamina[search] is not installed")
pytest.importorskip("optuna", reason="the extra lamina[search] is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TIMES = ("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time")

SCRIPT = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
sys.path.insert(0, {folder!r})
from test_resume import make_search
from sklearn.datasets import make_classification
X, y = make_classification(400, 8, n_informative=6, n_classes=3, random_state=0)
search = make_search({storage!r}, {sampler!r}).fit(X, y)
np.savez({out!r}, **{{k: np.asarray(v) for k, v in search.cv_results_.items() if k != "params"}},
         best=search.predict_proba(X))
"""


def make_search(storage, sampler="random"):
    """Return a search of 80 candidates in three rungs."""
    model = MLPClassifier((16,), max_iter=27, batch_size=8, random_state=0, n_iter_no_change=99)
    space = {"alpha": scipy.stats.loguniform(1e-5, 1.0), "activation": ["relu", "tanh"]}
    return StackedSearchCV(
        model, space, n_iter=80, cv=3, storage=storage, sampler=sampler, random_state=3
    )


def texts(values):
    return [[repr(item) for item in np.ravel(np.asarray(v).tolist())] for v in values]


def assert_same(one, two):
    assert set(one) == set(two)
    for name, values in one.items():
        if name in TIMES:
            continue
        np.testing.assert_array_equal(texts(values), texts(two[name]), err_msg=name)


def start(tmp_path, storage, out, sampler="random"):
    """Begin the search in a process of its own."""
    folder = os.path.dirname(__file__)
    code = SCRIPT.format(folder=folder, storage=str(storage), out=str(out), sampler=sampler)
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def loaded(out):
    """Return what a process saved."""
    with np.load(out, allow_pickle=True) as arrays:
        return dict(arrays)


def wait(process):
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the results of a search that ran through, without a storage."""
    from sklearn.datasets import make_classification

    X, y = make_classification(400, 8, n_informative=6, n_classes=3, random_state=0)
    search = make_search(None).fit(X, y)
    results = {name: v for name, v in search.cv_results_.items() if name != "params"}
    return results | {"best": search.predict_proba(X)}


def done(storage):
    """Return how many shards have results."""
    import sqlite3

    if not storage.exists():
        return 0
    try:
        with sqlite3.connect(storage, timeout=5) as base:
            (n,) = base.execute("SELECT count(result) FROM lamina_shards").fetchone()
    except sqlite3.OperationalError:  # the tables are not there yet
        return 0
    return int(n)


def test_killed_at_random_moments_it_ends_like_one_that_ran_through(tmp_path, whole):
    storage, out = tmp_path / "search.db", tmp_path / "out.npz"
    kills, dice = 0, random.Random(1)
    for n in (1, 3, 6, 9, 12):
        process = start(tmp_path, storage, out)
        while done(storage) < n and process.poll() is None:
            time.sleep(0.01)
        time.sleep(dice.random() / 20)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.communicate()
    before = done(storage)
    wait(start(tmp_path, storage, out))
    assert kills >= 3
    assert before > 0
    assert_same(loaded(out), whole)


def test_two_processes_share_the_work(tmp_path, whole):
    storage = tmp_path / "search.db"
    outs = [tmp_path / f"{i}.npz" for i in range(2)]
    for process in [start(tmp_path, storage, out) for out in outs]:
        wait(process)
    for out in outs:
        assert_same(loaded(out), whole)


def test_a_finished_search_trains_nothing_again(tmp_path, classes, classifier, monkeypatch):
    X, y = classes
    storage = tmp_path / "search.db"

    def search():
        return StackedSearchCV(
            classifier, {"alpha": [0.1, 1.0, 3.0]}, cv=2, min_epochs=2, storage=storage
        ).fit(X, y)

    first = search()
    monkeypatch.setattr(_stage, "run_jobs", lambda *a: pytest.fail("something ran again"))
    again = search()
    assert_same(first.cv_results_, again.cv_results_)
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))


def test_another_call_on_the_same_file_is_another_search(tmp_path, classes, classifier):
    X, y = classes
    storage = tmp_path / "search.db"
    one = StackedSearchCV(classifier, {"alpha": [0.1]}, cv=2, storage=storage).fit(X, y)
    two = StackedSearchCV(classifier, {"alpha": [0.1]}, cv=2, storage=storage).fit(X[::-1], y)
    assert one.best_score_ != two.best_score_


def test_a_stopped_search_goes_on(tmp_path, classes, classifier):
    X, y = classes
    space = {"alpha": scipy.stats.loguniform(1e-5, 1.0)}
    settings = {"n_iter": 100, "cv": 2, "min_epochs": 2, "random_state": 0}
    storage = tmp_path / "search.db"

    def stop_early(report):
        if report.rung == 1 and report.done == 3:
            raise KeyboardInterrupt

    stopped = StackedSearchCV(classifier, space, storage=storage, **settings)
    stopped._listen = stop_early
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One or more of the test scores", UserWarning)
        stopped.fit(X, y)
    assert stopped.interrupted_
    assert np.isfinite(stopped.best_score_)
    assert stopped.predict(X).shape == (90,)
    went_on = StackedSearchCV(classifier, space, storage=storage, **settings).fit(X, y)
    whole = StackedSearchCV(classifier, space, **settings).fit(X, y)
    assert not went_on.interrupted_
    assert_same(went_on.cv_results_, whole.cv_results_)


def test_a_sampler_that_learns_is_resumed_too(tmp_path, classes, classifier):
    X, y = classes
    settings = {"n_iter": 24, "cv": 2, "min_epochs": 3, "sampler": "tpe", "random_state": 1}
    space = {"alpha": scipy.stats.loguniform(1e-5, 1.0), "hidden_layer_sizes": [(3,), (8,)]}
    storage = tmp_path / "search.db"

    def stop_early(report):
        if report.batch == 2 and report.done == report.total:
            raise KeyboardInterrupt

    stopped = StackedSearchCV(classifier, space, storage=storage, **settings)
    stopped._listen = stop_early
    stopped.fit(X, y)
    went_on = StackedSearchCV(classifier, space, storage=storage, **settings).fit(X, y)
    whole = StackedSearchCV(classifier, space, **settings).fit(X, y)
    assert_same(went_on.cv_results_, whole.cv_results_)
    assert np.bincount(whole.cv_results_["batch"]).tolist() == [8, 8, 8]


def test_optuna_shows_the_search(tmp_path, classes, classifier):
    import optuna

    X, y = classes
    storage = tmp_path / "search.db"
    search = StackedSearchCV(
        classifier,
        {"alpha": scipy.stats.loguniform(1e-5, 1.0), "hidden_layer_sizes": [(3,), (8,)]},
        n_iter=9,
        cv=2,
        min_epochs=2,
        storage=storage,
        random_state=0,
    ).fit(X, y)
    (summary,) = optuna.get_all_study_summaries(f"sqlite:///{storage}")
    study = optuna.load_study(study_name=summary.study_name, storage=f"sqlite:///{storage}")
    assert len(study.trials) == 9
    states = [trial.state.name for trial in study.trials]
    assert states.count("PRUNED") == (search.cv_results_["status"] == "stopped").sum()
    complete = [t for t in study.trials if t.state.name == "COMPLETE"]
    assert max(t.value for t in complete) == pytest.approx(search.best_score_)
    assert all(t.intermediate_values for t in study.trials)
