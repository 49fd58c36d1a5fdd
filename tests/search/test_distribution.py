"""The same search on processes of joblib, on a Dask cluster and on Ray; and workers that die."""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lamina import MLPClassifier, StackedSearchCV
from lamina._errors import LaminaError
from lamina.search import _workers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y = make_classification(240, 6, n_informative=5, n_redundant=0, random_state=0)
SPACE = {"mlpclassifier__alpha": [0.01, 0.1, 1.0], "mlpclassifier__activation": ["relu", "tanh"]}
COMPARED = ("mean_test_score", "std_test_score", "rank_test_score", "rung", "n_epochs", "status")


def search(n_jobs=None, **settings):
    model = MLPClassifier((8,), max_iter=9, batch_size=16, random_state=0, n_iter_no_change=99)
    settings = {"cv": 4, "min_epochs": 2, "random_state": 0} | settings
    return StackedSearchCV(
        make_pipeline(StandardScaler(), model), SPACE, n_jobs=n_jobs, **settings
    ).fit(pd.DataFrame(X), Y)


@pytest.fixture(scope="module")
def local():
    return search()


def assert_same(one, two):
    for name in COMPARED:
        np.testing.assert_array_equal(one.cv_results_[name], two.cv_results_[name])
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_backends(backend, local):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert_same(search(), local)


def test_a_storage_and_several_processes(tmp_path, local):
    pytest.importorskip("optuna", reason="the extra lamina[search] is not installed")
    assert_same(search(n_jobs=2, storage=tmp_path / "search.db"), local)


def test_a_dask_cluster_of_two_workers(local):
    distributed = pytest.importorskip("distributed", reason="lamina[dask] is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        assert_same(search(), local)


@pytest.fixture
def local_ray():
    ray = pytest.importorskip("ray", reason="lamina[ray] is not installed")
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    register_ray()
    yield
    ray.shutdown()


@pytest.mark.filterwarnings("ignore")
def test_a_local_ray(local_ray, local):
    with joblib.parallel_config(backend="ray", n_jobs=2):
        assert_same(search(), local)


class Killer:
    """A step that kills the worker it runs in, once; then it is as good as absent."""

    def __init__(self, mark):
        self.mark = mark

    def fit(self, X, y=None):
        return self

    def fit_transform(self, X, y=None):
        return self.transform(X)

    def transform(self, X):
        try:
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return X
        os.kill(os.getpid(), signal.SIGKILL)

    def get_params(self, deep=True):
        return {"mark": self.mark}

    def set_params(self, **params):
        return self

    def __sklearn_clone__(self):
        return Killer(self.mark)

    def __sklearn_tags__(self):
        from sklearn.utils import Tags, TargetTags

        return Tags(None, TargetTags(required=False))


def test_the_shard_of_a_killed_worker_is_done_again(tmp_path, local):
    model = MLPClassifier((8,), max_iter=9, batch_size=16, random_state=0, n_iter_no_change=99)
    pipe = make_pipeline(Killer(str(tmp_path / "mark")), StandardScaler(), model)
    found = StackedSearchCV(
        pipe, SPACE, n_jobs=2, cv=4, min_epochs=2, random_state=0, refit=False
    ).fit(X, Y)
    assert (tmp_path / "mark").exists()
    for name in COMPARED:
        np.testing.assert_array_equal(found.cv_results_[name], local.cv_results_[name])


def test_workers_that_always_die_are_told_of(monkeypatch):
    def lost(*_):
        raise _workers.WorkerLostError("gone")

    monkeypatch.setattr("lamina.search._stage.run_jobs", lost)
    with pytest.raises(LaminaError, match=r"Workers must survive a shard\. They died 4 times"):
        search()


def test_an_error_in_a_worker_is_no_lost_worker():
    model = MLPClassifier((3,), random_state=0)
    with pytest.raises(ValueError, match="alpha"):
        StackedSearchCV(model, {"alpha": [-1.0]}, cv=2, n_jobs=2, error_score="raise").fit(X, Y)


def test_modules_are_where_they_are_looked_for():
    """The names by which a lost worker is known exist in what is installed."""
    for module, name in [
        ("joblib.externals.loky.process_executor", "TerminatedWorkerError"),
        ("distributed.scheduler", "KilledWorker"),
        ("ray.exceptions", "RayActorError"),
    ]:
        if importlib.util.find_spec(module.split(".")[0]) is None:
            continue
        kind = getattr(importlib.import_module(module), name)
        assert _workers._is_loss(kind.__new__(kind))
    assert not _workers._is_loss(ValueError())
