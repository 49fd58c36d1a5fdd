"""`StackedSearchCV` gives what a loop over candidates and folds would give."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lamina import MixtureDensityRegressor, MLPClassifier, StackedSearchCV, TableClassifier
from lamina._errors import DataError, ParameterError
from lamina.heads import Categorical
from lamina.nn import ReLU

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SPACE = {
    "hidden_layer_sizes": [(4,), (6, 3)],
    "learning_rate_init": [0.003, 0.03],
    "activation": ["relu", "tanh"],
}


def splits_of(search, candidate, name="score"):
    """Return the scores of a candidate by fold."""
    return np.array(
        [search.cv_results_[f"split{i}_test_{name}"][candidate] for i in range(search.n_splits_)]
    )


def assert_like_a_loop(search, estimator, X, y, **settings):
    """Compare every candidate with cross_val_score on it alone."""
    for i, parameters in enumerate(search.cv_results_["params"]):
        alone = cross_val_score(clone(estimator).set_params(**parameters), X, y, **settings)
        np.testing.assert_array_equal(splits_of(search, i), alone)


def test_every_candidate_scores_what_it_scores_alone(classifier, classes):
    X, y = classes
    search = StackedSearchCV(classifier, SPACE, cv=3, factor=None, random_state=0).fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    assert_like_a_loop(search, classifier, X, y, cv=3)
    assert set(search.cv_results_["status"]) == {"finished"}


def test_the_winner_of_halving_is_trained_as_if_it_had_never_paused(classifier, classes):
    X, y = classes
    search = StackedSearchCV(classifier, SPACE, cv=3, min_epochs=2, random_state=0).fit(X, y)
    results = search.cv_results_
    done = np.flatnonzero(results["status"] == "finished")
    assert 0 < len(done) < 8
    for i in done:
        alone = cross_val_score(clone(classifier).set_params(**results["params"][i]), X, y, cv=3)
        np.testing.assert_array_equal(splits_of(search, i), alone)
    lost = np.flatnonzero(results["rung"] == 0)
    for i in lost[:2]:
        short = clone(classifier).set_params(**results["params"][i], max_iter=2)
        np.testing.assert_array_equal(splits_of(search, i), cross_val_score(short, X, y, cv=3))
        assert results["status"][i] == "stopped"
    assert results["rank_test_score"][done].max() < results["rank_test_score"][lost].min()


def test_halving_keeps_one_of_factor_and_multiplies_epochs(classifier, classes):
    search = StackedSearchCV(classifier, SPACE, cv=2, factor=2, min_epochs=1, random_state=0).fit(
        *classes
    )
    # 8, 4, 2, 1 candidates up to 1, 2, 4 and all 9 epochs.
    assert np.bincount(search.cv_results_["rung"]).tolist() == [4, 2, 1, 1]
    assert sorted(search.cv_results_["n_epochs"]) == [1, 1, 1, 1, 2, 2, 4, 9]
    rungs = search.history_.groupby("rung")["candidate"].nunique()
    assert rungs.tolist() == [8, 4, 2, 1]


def test_preprocessing_sees_no_held_out_row(classifier, classes):
    X, y = classes
    X = X * [1, 10, 100, 1000, 1e4]
    pipe = make_pipeline(StandardScaler(), PCA(3, random_state=0), classifier)
    space = {
        "mlpclassifier__hidden_layer_sizes": [(4,), (6, 3)],
        "pca__n_components": [2, 4],
        "standardscaler": [StandardScaler(), StandardScaler(with_mean=False), "passthrough"],
    }
    search = StackedSearchCV(pipe, space, cv=3, factor=None, random_state=0).fit(X, y)
    assert len(search.cv_results_["params"]) == 12
    assert_like_a_loop(search, pipe, X, y, cv=3)
    assert search.predict_proba(X).shape == (90, 3)


def test_heads_activations_and_distributions_may_be_searched(regressor, numbers):
    X, y = numbers
    space = {
        "loss": ["squared_error", "normal", "heteroscedastic"],
        "activation": [ReLU(), ("tanh",)],
        "alpha": scipy.stats.loguniform(1e-5, 1e-1),
        "dtype": ["float32", "float64"],
    }
    search = StackedSearchCV(
        regressor, space, n_iter=7, cv=KFold(3), factor=None, random_state=1
    ).fit(X, y)
    assert_like_a_loop(search, regressor, X, y, cv=KFold(3))


def test_mixture_densities_and_other_scores(numbers):
    X, y = numbers
    model = MixtureDensityRegressor(
        2, hidden_layer_sizes=(4,), alpha=0.1, max_iter=4, random_state=0
    )
    scoring = {"mae": "neg_mean_absolute_error", "r2": "r2"}
    search = StackedSearchCV(
        model, {"n_components": [1, 2, 3]}, cv=3, scoring=scoring, refit="r2", factor=None
    ).fit(X, y)
    for i, parameters in enumerate(search.cv_results_["params"]):
        alone = cross_validate(clone(model).set_params(**parameters), X, y, cv=3, scoring=scoring)
        for name in scoring:
            np.testing.assert_array_equal(splits_of(search, i, name), alone[f"test_{name}"])
    assert search.best_score_ == search.cv_results_["mean_test_r2"].max()
    assert set(search.scorer_) == {"mae", "r2"}


def test_train_scores_on_request(regressor, numbers):
    X, y = numbers
    search = StackedSearchCV(
        regressor, {"alpha": [0.1, 1.0]}, cv=3, return_train_score=True, factor=None
    ).fit(X, y)
    alone = cross_validate(
        clone(regressor).set_params(alpha=1.0), X, y, cv=3, return_train_score=True
    )
    one = search.cv_results_["params"].index({"alpha": 1.0})
    ours = [search.cv_results_[f"split{i}_train_score"][one] for i in range(3)]
    np.testing.assert_array_equal(ours, alone["train_score"])


def test_weights_groups_and_frames(regressor, numbers):
    X, y = numbers
    X = pd.DataFrame(X, columns=list("abcd"))
    weight = np.arange(80) % 3
    groups = np.arange(80) // 8
    search = StackedSearchCV(regressor, {"alpha": [0.1, 1.0]}, cv=GroupKFold(4), factor=None).fit(
        X, y, groups=groups, sample_weight=weight
    )
    grid = GridSearchCV(regressor, {"alpha": [0.1, 1.0]}, cv=GroupKFold(4))
    grid.fit(X, y, groups=groups, sample_weight=weight)
    for i, parameters in enumerate(search.cv_results_["params"]):
        one = grid.cv_results_["params"].index(parameters)
        np.testing.assert_array_equal(splits_of(search, i), splits_of(grid, one))
    assert search.feature_names_in_.tolist() == list("abcd")
    pipe = make_pipeline(StandardScaler(), regressor)
    StackedSearchCV(pipe, {"mlpregressor__alpha": [0.1]}, cv=2).fit(
        X, y, mlpregressor__sample_weight=weight
    )


def test_out_of_fold_predictions_are_those_of_cross_val_predict(classifier, classes):
    X, y = classes
    labels = np.array(["low", "mid", "top"])[y]
    search = StackedSearchCV(classifier, SPACE, cv=4, min_epochs=3, random_state=2).fit(X, labels)
    best = clone(classifier).set_params(**search.best_params_)
    expected = cross_val_predict(best, X, labels, cv=4, method="predict_proba")
    np.testing.assert_array_equal(search.oof_predictions_, expected)


def test_rows_held_out_twice_have_a_mean_and_rows_never_held_out_none(regressor, numbers):
    X, y = numbers
    twice = RepeatedKFold(n_splits=2, n_repeats=2, random_state=0)
    search = StackedSearchCV(regressor, {"alpha": [0.1]}, cv=twice).fit(X, y)
    expected = np.zeros(80)
    for train, test in twice.split(X):
        model = clone(regressor).set_params(alpha=0.1).fit(X[train], y[train])
        expected[test] += model.predict(X[test]) / 2
    np.testing.assert_allclose(search.oof_predictions_[:, 0], expected, rtol=1e-12)
    some = PredefinedSplit(np.where(np.arange(80) < 60, -1, 0))
    search = StackedSearchCV(regressor, {"alpha": [0.1]}, cv=some).fit(X, y)
    assert np.isnan(search.oof_predictions_[:60]).all()
    assert np.isfinite(search.oof_predictions_[60:]).all()


def test_a_class_that_a_fold_lacks_has_its_column(classifier, classes):
    X, y = classes
    y = np.where(np.arange(90) < 2, 9, y)  # the class 9 is in the first fold only
    search = StackedSearchCV(classifier, {"alpha": [0.1]}, cv=KFold(3)).fit(X, y)
    assert search.oof_predictions_.shape == (90, 4)
    assert (search.oof_predictions_[:30, 3] == 0).all()
    np.testing.assert_allclose(search.oof_predictions_.sum(axis=1), 1.0)


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_a_candidate_that_diverges_or_fails_is_last(regressor, numbers):
    X, y = numbers
    space = {
        "learning_rate_init": [0.01, 1e30, 0.001],
        "solver": ["sgd"],
        "loss": ["poisson", "squared_error"],
    }
    search = StackedSearchCV(regressor, space, cv=2, factor=None, random_state=0)
    with pytest.warns(FitFailedWarning, match="fits failed"):
        search.fit(X, y)
    results = search.cv_results_
    bad = ~np.isin(results["status"], ["finished"])
    assert {"failed", "diverged"} == set(results["status"][bad])
    assert (results["rank_test_score"][bad] == results["rank_test_score"].max()).all()
    assert np.isfinite(search.best_score_)


def test_a_failure_is_raised_if_asked(regressor, numbers):
    X, y = numbers
    with pytest.raises(ValueError, match=r"y must"):
        StackedSearchCV(regressor, {"loss": ["poisson"]}, cv=2, error_score="raise").fit(X, y)
    with pytest.raises(ValueError, match="All the 2 fits failed"):
        StackedSearchCV(regressor, {"loss": ["poisson"]}, cv=2).fit(X, y)


def test_a_negative_score_of_a_failure_never_wins(regressor, numbers):
    """A loss near zero from below must not lose against a crash that counts as zero."""
    X, y = numbers
    y = y / 100
    space = {"learning_rate_init": [0.001, 1e30], "solver": ["sgd"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = StackedSearchCV(
            regressor, space, cv=2, scoring="neg_mean_squared_error", min_epochs=1
        ).fit(X, y)
    assert search.best_params_["learning_rate_init"] == 0.001


def test_the_same_seed_gives_the_same_search_in_any_number_of_processes(classifier, classes):
    X, y = classes
    space = {**SPACE, "alpha": scipy.stats.loguniform(1e-5, 1e-1)}
    one, two = (
        StackedSearchCV(classifier, space, n_iter=6, cv=3, n_jobs=n, random_state=5).fit(X, y)
        for n in (None, 2)
    )
    assert one.cv_results_["params"] == two.cv_results_["params"]
    for name in ("mean_test_score", "rank_test_score", "n_epochs", "rung", "split1_test_score"):
        np.testing.assert_array_equal(one.cv_results_[name], two.cv_results_[name])
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_an_estimator_without_a_seed_gets_that_of_the_search(classes):
    X, y = classes
    model = MLPClassifier((4,), max_iter=3)
    first, second = (
        StackedSearchCV(model, {"alpha": [0.1, 1.0]}, cv=2, random_state=4).fit(X, y)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    assert model.random_state is None


def test_a_scorer_of_ones_own(regressor, numbers):
    X, y = numbers

    def both(model, X, y):
        return {"mae": -mean_absolute_error(y, model.predict(X)), "zero": 0.0}

    search = StackedSearchCV(
        regressor, {"alpha": [0.1, 1.0]}, cv=2, scoring=both, refit="mae", factor=None
    ).fit(X, y)
    assert search.best_score_ == search.cv_results_["mean_test_mae"].max()
    one = StackedSearchCV(
        regressor,
        {"alpha": [0.1]},
        cv=2,
        scoring=make_scorer(mean_absolute_error, greater_is_better=False),
    ).fit(X, y)
    assert one.best_score_ < 0


def test_refit_false_and_callable(regressor, numbers):
    X, y = numbers
    none = StackedSearchCV(regressor, {"alpha": [0.1, 1.0]}, cv=2, refit=False).fit(X, y)
    assert not hasattr(none, "best_estimator_")
    assert none.best_params_ in [{"alpha": 0.1}, {"alpha": 1.0}]
    last = StackedSearchCV(regressor, {"alpha": [0.1, 1.0]}, cv=2, refit=lambda results: 1)
    last.fit(X, y)
    assert last.best_index_ == 1


def test_early_stopping_and_ensembles_train_inside(classes):
    X, y = classes
    model = MLPClassifier(
        (4,), max_iter=12, early_stopping=True, n_iter_no_change=2, n_members=2, random_state=0
    )
    search = StackedSearchCV(model, {"alpha": [0.1, 1.0, 3.0]}, cv=2, factor=None).fit(X, y)
    assert_like_a_loop(search, model, X, y, cv=2)


def test_lbfgs_may_be_searched(classes):
    X, y = classes
    model = MLPClassifier((4,), solver="lbfgs", max_iter=5, random_state=0)
    search = StackedSearchCV(model, {"alpha": [0.1, 1.0]}, cv=2, min_epochs=1).fit(X, y)
    assert_like_a_loop(search, model, X, y, cv=2)


def test_more_candidates_than_fit_in_a_shard(classifier, classes):
    X, y = classes
    space = {"alpha": scipy.stats.loguniform(1e-5, 1.0)}
    search = StackedSearchCV(classifier, space, n_iter=40, cv=2, min_epochs=1, random_state=0).fit(
        X, y
    )
    assert len(search.cv_results_["params"]) == 40
    assert (search.cv_results_["rung"] == 0).sum() == 26


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": StandardScaler()}, "estimator must fit and predict"),
        ({"n_iter": 0}, "n_iter must be an integer of at least 1"),
        ({"factor": 1}, "factor must be"),
        ({"min_epochs": 0}, "min_epochs"),
        ({"ensemble_size": -1}, "ensemble_size"),
        ({"time_limit": 0}, "time_limit"),
        ({"error_score": "zero"}, "error_score must be 'raise' or a number"),
        ({"param_distributions": {}}, "param_distributions must name at least one parameter"),
        ({"param_distributions": {"alfa": [1]}}, "Invalid parameter 'alfa'"),
        ({"sampler": "grid"}, "sampler must be"),
    ],
)
def test_a_bad_parameter_is_refused_in_one_sentence(classifier, classes, settings, message):
    arguments = {"estimator": classifier, "param_distributions": {"alpha": [0.1]}} | settings
    with pytest.raises(ValueError, match=message):
        StackedSearchCV(**arguments).fit(*classes)


def test_bad_data_is_refused_in_one_sentence(classifier, classes):
    X, y = classes
    search = StackedSearchCV(classifier, {"alpha": [0.1]}, cv=2)
    with pytest.raises(DataError, match="y must be given"):
        search.fit(X)
    with pytest.raises(ParameterError, match="fit takes sample_weight and groups"):
        search.fit(X, y, weights=np.ones(90))
    with pytest.raises(DataError, match="rows to hold out"):
        StackedSearchCV(classifier, {"alpha": [0.1]}, cv=[(np.arange(90), [])]).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        search.fit(X, y[:50])


def test_a_time_limit_gives_an_early_answer(classifier, classes):
    X, y = classes
    space = {"alpha": scipy.stats.loguniform(1e-5, 1.0)}
    model = clone(classifier).set_params(max_iter=100)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One or more of the test scores", UserWarning)
        search = StackedSearchCV(
            model, space, n_iter=2000, cv=2, time_limit=1.0, min_epochs=1, random_state=0
        ).fit(X, y)
    assert search.interrupted_
    assert "not run" in set(search.cv_results_["status"])
    assert np.isfinite(search.best_score_)
    assert search.predict(X).shape == (90,)


def test_word_of_progress(classifier, classes, capsys):
    StackedSearchCV(classifier, {"alpha": [0.1, 1.0]}, cv=2, verbose=2).fit(*classes)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2
    assert "2 candidates alive, 2 of 2 shards" in lines[1]


def test_clone_and_parameters(classifier):
    search = StackedSearchCV(classifier, SPACE, n_iter=3, storage=None, factor=2.5)
    assert clone(search).get_params()["factor"] == 2.5
    assert isinstance(repr(search), str)
    assert isinstance(search._repr_html_(), str)


def test_heads_as_candidates(classifier, classes):
    X, y = classes
    search = StackedSearchCV(
        classifier, {"loss": ["log_loss", Categorical(3, label_smoothing=0.1)]}, cv=2, factor=None
    ).fit(X, y)
    assert_like_a_loop(search, classifier, X, y, cv=2)


def test_table_estimators_and_others_are_fitted_whole(classes):
    X, y = classes
    table = pd.DataFrame(X, columns=list("abcde")).assign(kind=np.where(X[:, 0] > 0, "u", "v"))
    model = TableClassifier(preset="fast", n_members=2, random_state=0)
    search = StackedSearchCV(
        model, {"dropout": [0.0, 0.2], "hidden_layer_sizes": [(8,)]}, cv=2, ensemble_size=2
    ).fit(table, y)
    assert_like_a_loop(search, model, table, y, cv=2)
    assert search.ensemble_.predict_proba(table).shape == (90, 3)
    forest = RandomForestClassifier(5)
    search = StackedSearchCV(forest, {"max_depth": [1, 3]}, cv=3, random_state=1).fit(X, y)
    assert set(search.cv_results_["status"]) == {"finished"}
    assert search.best_estimator_.random_state is not None
