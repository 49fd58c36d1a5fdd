"""Searches that are unusual, or wrong: each works, or says in one sentence what is wanted."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, make_scorer
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import LinearSVC

from lamina import MLPClassifier, StackedSearchCV
from lamina._errors import DataError, ParameterError
from lamina.search._candidates import Candidate
from lamina.search._fingerprint import described
from lamina.search._outcome import Outcome
from lamina.search._results import rank_again

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SPACE = {"learning_rate_init": [0.01, 0.03]}


def search(model, space=SPACE, **changes):
    return StackedSearchCV(model, space, **{"cv": 3, "random_state": 0, **changes})


def constant(value):
    def scorer(model, X, y):
        return value

    return scorer


class Untold:
    """Something that cannot be pickled."""

    def __init__(self):
        self.lock = functools.partial(iter, [])
        self.generator = (i for i in range(3))

    def __call__(self, model, X, y):
        return 1.0


class TestFingerprint:
    def test_lambdas_differ_by_what_they_do(self):
        assert described(lambda x: x + 1) != described(lambda x: x + 2)
        assert described(lambda x: abs(x)) != described(lambda x: bool(x))
        assert described(lambda x, k=1: x) != described(lambda x, k=2: x)

    def test_closures_differ_by_what_they_hold(self):
        assert described(constant(1.0)) != described(constant(0.5))
        assert described(constant(1.0)) == described(constant(1.0))

    def test_function_that_calls_itself(self):
        def down(n):
            return down(n - 1) if n else 0

        assert described(down) == described(down)

    def test_sets_have_no_order(self):
        names = ["accuracy", "neg_log_loss", "f1", "recall"]
        assert described(set(names)) == described(set(reversed(names)))

    def test_partials_and_scorers_of_lambdas(self):
        def part(k):
            return functools.partial(lambda x, k: x * k, k=k)

        assert described(part(1)) != described(part(2))
        assert described(make_scorer(part(1))) != described(make_scorer(part(2)))

    def test_storage_keeps_searches_with_other_scorers_apart(self, classifier, classes, tmp_path):
        pytest.importorskip("optuna", reason="the extra lamina[search] is not installed")
        path = tmp_path / "search.db"
        found = [
            search(classifier, storage=path, scoring=constant(value)).fit(*classes).best_score_
            for value in (1.0, 0.5)
        ]
        assert found == [1.0, 0.5]

    def test_what_cannot_be_pickled_needs_memory(self, classifier, classes, tmp_path):
        assert search(classifier, scoring=Untold()).fit(*classes).best_score_ == 1.0
        with pytest.raises(ParameterError, match="storage=None"):
            search(classifier, scoring=Untold(), storage=tmp_path / "s.db").fit(*classes)


class TestSeeds:
    def test_every_part_without_a_seed_gets_one(self, classifier, classes):
        inner = Pipeline([("scale", StandardScaler()), ("mlp", classifier)])
        inner.set_params(mlp__random_state=None)
        models = [
            (make_pipeline(GaussianRandomProjection(3), classifier), "mlpclassifier__"),
            (Pipeline([("all", inner)]), "all__mlp__"),
        ]
        for model, start in models:
            space = {f"{start}alpha": [0.1, 0.2]}
            one, two = (search(model, space, scoring="neg_log_loss").fit(*classes) for _ in "12")
            np.testing.assert_array_equal(
                one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
            )

    @pytest.mark.parametrize("seed", [-1, "a", 1.5, np.random.default_rng(0)])
    def test_no_seed(self, classifier, classes, seed):
        with pytest.raises(ParameterError, match="random_state"):
            search(classifier, random_state=seed).fit(*classes)


class TestLosers:
    @pytest.mark.parametrize("end", ["diverged", "failed"])
    def test_number_for_a_lost_fit_never_wins(self, end):
        candidates = [Candidate(i, 0, {}) for i in range(2)]
        for candidate, last in zip(candidates, ("finished", end), strict=True):
            score = -5.0 if last == "finished" else 0.0
            candidate.enter(
                0, [Outcome(candidate.number, 0, last, 1, 1, {"score": score}, 0, 0)], ""
            )
        results = {"mean_test_score": np.array([-5.0, 0.0])}
        rank_again(results, candidates, ["score"])
        assert results["rank_test_score"].tolist() == [1, 2]
        assert np.isnan(candidates[1].mean("score"))

    def test_zero_for_a_failure_loses_to_a_negative_score(self, regressor, numbers):
        found = search(
            regressor,
            {"learning_rate_init": [-1.0, 0.01]},
            error_score=0.0,
            scoring="neg_mean_squared_error",
        )
        with pytest.warns(Warning, match="fits failed"):
            found.fit(*numbers)
        assert found.best_params_ == {"learning_rate_init": 0.01}
        assert found.cv_results_["mean_test_score"].max() == 0.0


class TestFailures:
    def test_all_fits_say_why_in_one_line(self, classifier, classes):
        with pytest.raises(DataError, match=r"^All the 6 fits failed, 3 of them with: .*alpha.*$"):
            search(classifier, {"alpha": [-1.0, -2.0]}, n_iter=2).fit(*classes)

    def test_rows_that_cannot_be_used_are_named(self, classifier, classes):
        X, y = classes
        X[:, 2] = np.inf
        with pytest.raises(
            DataError, match=r"of them with: X must hold finite numbers\..* row 0, .*of the fold\."
        ):
            search(classifier).fit(X, y)


class TestFolds:
    @pytest.mark.parametrize(
        "part",
        [
            np.arange(50, 120),
            np.arange(-20, 0),
            np.array([0.5, 1.0]),
            np.zeros((2, 2), int),
            np.ones(50, bool),
            np.array(["a"]),
        ],
    )
    def test_no_rows_of_the_table(self, classifier, classes, part):
        with pytest.raises(DataError, match="row numbers from 0 to 89"):
            search(classifier, cv=[(np.arange(60), part)]).fit(*classes)

    def test_masks_numbers_and_generators_are_alike(self, classifier, classes):
        X, y = classes
        masks = [
            (np.isin(np.arange(90), a), np.isin(np.arange(90), b)) for a, b in KFold(3).split(X)
        ]
        floats = [(a.astype(float), list(b)) for a, b in KFold(3).split(X)]
        scores = [
            search(classifier, cv=cv).fit(X, y).best_score_
            for cv in (KFold(3), KFold(3).split(X), masks, floats)
        ]
        assert scores == [scores[0]] * 4


class TestArguments:
    @pytest.mark.parametrize("n_jobs", [0, 1.5, "a"])
    def test_no_number_of_jobs(self, classifier, classes, n_jobs):
        with pytest.raises(ParameterError, match="n_jobs"):
            search(classifier, n_jobs=n_jobs).fit(*classes)

    @pytest.mark.parametrize("weight", [2.0, np.ones(50), np.ones((90, 1))])
    def test_no_weights_of_the_rows(self, classifier, classes, weight):
        with pytest.raises(DataError, match="each of 90 rows"):
            search(classifier).fit(*classes, sample_weight=weight)

    @pytest.mark.parametrize("model", [MLPClassifier, Pipeline([]), 5])
    def test_no_estimator(self, classes, model):
        with pytest.raises(ParameterError, match="estimator must"):
            search(model).fit(*classes)

    def test_verbose_true_is_one(self, classifier, classes, capsys):
        search(classifier, verbose=True).fit(*classes)
        assert "rung 1" in capsys.readouterr().out


class TestModels:
    def test_lambda_before_the_network(self, classifier, classes):
        spaces = {"mlpclassifier__alpha": [0.1, 0.2]}
        scores = [
            search(make_pipeline(FunctionTransformer(function), classifier), spaces)
            .fit(*classes)
            .cv_results_["mean_test_score"]
            for function in (lambda X: np.exp(X), np.exp)
        ]
        np.testing.assert_array_equal(*scores)

    def test_lambdas_of_one_search_are_kept_apart(self, classifier, classes):
        model = make_pipeline(FunctionTransformer(), classifier)
        functions = [lambda X: 0 * X, lambda X: 1 * X]
        found = search(model, {"functiontransformer__func": functions}, factor=None)
        scores = found.fit(*classes).cv_results_["mean_test_score"]
        assert scores[0] != scores[1]

    def test_classifier_without_probabilities(self, classes):
        found = search(LinearSVC(), {"C": [0.1, 1.0]}).fit(*classes)
        assert found.best_score_ > 0.5
        assert found.oof_predictions_ is None

    def test_ensemble_by_a_score_that_ranks_several_labels(self, classifier, classes):
        X, y = classes
        labels = np.column_stack([y > 0, y > 1]).astype(int)
        found = search(classifier, scoring="average_precision", ensemble_size=2).fit(X, labels)
        members = found.ensemble_.weights_
        if len(members) == 1 and found.oof_predictions_ is not None:
            alone = average_precision_score(labels, found.oof_predictions_)
            assert found.ensemble_score_ >= alone - 1e-9
        assert 0.3 < found.ensemble_score_ <= 1.0


class TestState:
    def test_later_fit_forgets_what_it_does_not_set(self, classifier, classes):
        found = search(classifier, ensemble_size=2).fit(*classes)
        found.set_params(ensemble_size=0, refit=False).fit(*classes)
        assert not {"ensemble_", "ensemble_score_", "best_estimator_"} & vars(found).keys()

    def test_pickle_leaves_the_listener_out(self, classifier, classes):
        heard = []
        found = search(classifier).set_listener(lambda report: heard.append(report)).fit(*classes)
        again = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(again.predict(classes[0]), found.predict(classes[0]))
        before = len(heard)
        again.fit(*classes)
        assert len(heard) == before > 0
