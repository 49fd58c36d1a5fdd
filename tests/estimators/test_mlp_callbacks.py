"""scikit-learn's callbacks: progress, monitoring and stopping, alone and in a search."""

from __future__ import annotations

import collections
import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lamina.estimators import MLPClassifier, MLPRegressor

RNG = np.random.RandomState(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
FEW = {"hidden_layer_sizes": (4,), "random_state": 0, "max_iter": 6}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Recorder:
    """A callback that remembers what it was told, and may act at an epoch."""

    def __init__(self, at=None, act=lambda: True):
        self.at, self.act = at, act
        self.told = []

    def setup(self, estimator, context):
        self.told.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.told.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.told.append(("begin", context.task_name))
        self.begin = (X, y)

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.told.append(("end", context.task_name))
        self.end = (X, y, metadata, fitted_estimator)
        if context.task_name == "epoch" and fitted_estimator is not None:
            self.shape = fitted_estimator.predict(X).shape
            if context.task_id + 1 == self.at:
                return self.act()
        return False


class InSearch(Recorder):
    """The same, handed on from a search to its estimators."""

    max_propagation_depth = None


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_each_epoch_is_a_task_with_a_begin_and_an_end(kind, solver):
    recorder = Recorder()
    kind(**FEW, solver=solver).set_callbacks(recorder).fit(X, Y)
    epochs = [("begin", "epoch"), ("end", "epoch")] * 6
    inside = [("begin", "fit"), *epochs, ("end", "fit")]
    assert recorder.told == [("setup", "fit"), *inside, ("teardown", "fit")]


def test_a_task_that_never_ran_is_ended_too():
    recorder = Recorder()
    model = MLPClassifier(**FEW, tol=1.0, n_iter_no_change=1).set_callbacks(recorder).fit(X, Y)
    counts = collections.Counter(recorder.told)
    assert model.n_iter_ == 3
    assert counts["begin", "epoch"] == counts["end", "epoch"] == 4


@pytest.mark.parametrize("parameters", [{}, {"n_members": 3}, {"solver": "lbfgs"}])
def test_a_callback_that_returns_true_stops_training(parameters):
    stop = Recorder(at=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # whoever asks for the end needs no warning
        model = MLPClassifier(**(FEW | {"max_iter": 50} | parameters)).set_callbacks(stop)
        model.fit(X, Y)
    assert model.n_iter_ == 4
    assert model.predict(X).shape == (40,)


@pytest.mark.parametrize("parameters", [{}, {"n_members": 3}, {"solver": "lbfgs"}])
def test_what_a_callback_gets_can_predict(parameters):
    recorder = Recorder(at=6)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    weight = np.ones(40)
    model = MLPClassifier(**FEW, **parameters).set_callbacks(recorder).fit(frame, Y, weight)
    given_x, given_y, metadata, copied = recorder.end
    assert given_x is frame
    assert given_y is Y
    assert metadata["sample_weight"] is weight
    np.testing.assert_array_equal(copied.predict_proba(frame), model.predict_proba(frame))
    assert recorder.shape == (40,)


def test_the_copy_is_made_of_the_epoch_and_not_of_the_end():
    class Keep(Recorder):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            if context.task_name == "epoch":
                self.told.append(fitted_estimator.predict_proba(X))

        def on_fit_task_begin(self, estimator, context):
            pass

    keep = Keep()
    MLPClassifier(**FEW).set_callbacks(keep).fit(X, Y)
    seen = [told for told in keep.told if isinstance(told, np.ndarray)]
    for epoch, proba in enumerate(seen, start=1):
        shorter = MLPClassifier(**(FEW | {"max_iter": epoch})).fit(X, Y)
        np.testing.assert_array_equal(proba, shorter.predict_proba(X))


@pytest.mark.parametrize("parameters", [{}, {"n_members": 2}])
def test_scoring_monitor_has_a_score_for_each_epoch(parameters):
    monitor = ScoringMonitor(scoring="accuracy")
    model = MLPClassifier(**FEW, **parameters).set_callbacks(monitor).fit(X, Y)
    log = monitor.get_logs().data_as_pandas
    scores = log.loc[log["task_name"] == "epoch", "accuracy"]
    assert len(scores) == 6
    assert scores.iloc[-1] == model.score(X, Y)


def test_callbacks_reach_into_a_search():
    recorder = InSearch()
    search = GridSearchCV(MLPClassifier(**FEW), {"alpha": [0.0, 0.1]}, cv=2)
    search.set_callbacks(recorder).fit(X, Y)
    counts = collections.Counter(recorder.told)
    assert counts["begin", "epoch"] == counts["end", "epoch"] == 5 * 6  # 2 × 2 folds and refit
    assert counts["setup", "fit"] == counts["teardown", "fit"] == 1


def test_progress_bars_show_the_search_and_its_fits(capsys):
    pipeline = make_pipeline(StandardScaler(), MLPRegressor(**FEW))
    search = GridSearchCV(pipeline, {"mlpregressor__alpha": [0.0, 0.1]}, cv=2)
    search.set_callbacks(ProgressBar(max_propagation_depth=None)).fit(X, Y)
    out = capsys.readouterr().out
    assert "GridSearchCV - fit" in out
    assert "MLPRegressor - fit" in out


@pytest.mark.parametrize("parameters", [{}, {"early_stopping": True}, {"solver": "lbfgs"}])
def test_ctrl_c_keeps_what_is_there(parameters):
    model = MLPClassifier(**FEW, **parameters).set_callbacks(Recorder(at=3, act=interrupt))
    with pytest.warns(UserWarning, match=r"^Training interrupted by user\.$"):
        model.fit(X, Y)
    assert model.n_iter_ == 3
    assert model.predict_proba(X).shape == (40, 2)
    assert len(model.history_) == 3


def test_ctrl_c_in_the_first_epoch_leaves_the_first_weights():
    class AtOnce(Recorder):
        def on_fit_task_begin(self, estimator, context):
            if context.task_name == "epoch":
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # before there is a network at all
        MLPClassifier(**FEW).set_callbacks(AtOnce()).fit(X, Y)


def test_an_error_in_a_callback_is_not_swallowed():
    def fail():
        raise RuntimeError("mine")

    recorder = Recorder(at=2, act=fail)
    with pytest.raises(RuntimeError, match="mine"):
        MLPClassifier(**FEW).set_callbacks(recorder).fit(X, Y)
    assert recorder.told[-1] == ("teardown", "fit")


def test_a_fitted_model_with_callbacks_can_be_copied():
    model = MLPClassifier(**FEW).set_callbacks(Recorder()).fit(X, Y)
    np.testing.assert_array_equal(copy.deepcopy(model).predict(X), model.predict(X))
    plain = MLPClassifier(**FEW).fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(plain)).predict(X), model.predict(X))


def test_without_callbacks_nothing_stands_between_the_epochs(monkeypatch):
    from lamina.estimators import _mlp

    seen = []
    original = _mlp.train

    def spy(*arguments, callbacks, **named):
        seen.append(list(callbacks))
        return original(*arguments, callbacks=callbacks, **named)

    monkeypatch.setattr(_mlp, "train", spy)
    MLPClassifier(**FEW).fit(X, Y)
    MLPClassifier(**FEW).set_callbacks(Recorder()).fit(X, Y)
    assert [len(callbacks) for callbacks in seen] == [0, 1]
