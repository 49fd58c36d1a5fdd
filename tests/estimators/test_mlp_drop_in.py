"""The perceptrons against scikit-learn's: same parameters, same attributes, same weights.

Without shuffling both take the same steps, so that weights agree to rounding and anything that
is done differently shows.
"""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import sklearn.neural_network as sk
from sklearn.datasets import load_iris
from sklearn.utils import get_tags

from lamina.estimators import MLPClassifier, MLPRegressor

X, CLASSES = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
RNG = np.random.RandomState(0)
WEIGHTS = RNG.uniform(0.2, 3.0, len(X))
COUNTS = RNG.poisson(np.exp(X[:, :2] * 0.3))
PAIRS = [(MLPClassifier, sk.MLPClassifier), (MLPRegressor, sk.MLPRegressor)]

LABELS = {
    "multiclass": CLASSES,
    "binary": np.where(CLASSES > 0, "yes", "no"),
    "multilabel": np.stack([CLASSES > 0, CLASSES > 1], axis=1).astype(int),
}
TARGETS = {
    "squared": ("squared_error", X[:, 0] * X[:, 1]),
    "squared, two targets": ("squared_error", X[:, :2] * X[:, 2:]),
    "poisson": ("poisson", COUNTS[:, 0]),
    "poisson, two targets": ("poisson", COUNTS),
}
TRAINING = {
    "adam": {},
    "adam, small batches": {"batch_size": 32, "beta_1": 0.8, "beta_2": 0.99, "epsilon": 1e-4},
    "sgd": {"solver": "sgd"},
    "sgd, no momentum": {"solver": "sgd", "momentum": 0.0, "batch_size": 64},
    "sgd, no nesterov": {"solver": "sgd", "nesterovs_momentum": False, "batch_size": 64},
    "invscaling": {"solver": "sgd", "learning_rate": "invscaling", "power_t": 0.3},
    "adaptive": {
        "solver": "sgd",
        "learning_rate": "adaptive",
        "learning_rate_init": 0.05,
        "n_iter_no_change": 1,
        "tol": 0.02,
    },
    "two layers, tanh": {"hidden_layer_sizes": [6, 5], "activation": "tanh"},
    "logistic": {"activation": "logistic", "alpha": 0.5},
    "identity": {"activation": "identity", "hidden_layer_sizes": 3},
    "no hidden layer": {"hidden_layer_sizes": ()},
    "patience": {"tol": 0.03, "n_iter_no_change": 3},
}
FEW = {"hidden_layer_sizes": (8,), "random_state": 3, "shuffle": False, "max_iter": 25}


def fit_both(ours, theirs, y, weight=None, X=X, **parameters):
    """Fit both with equal parameters; the warnings must be equal too."""
    models, told = [], []
    for kind in (ours, theirs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            models.append(kind(**parameters).fit(X, y, weight))
        told.append([(w.category, str(w.message)) for w in caught])
    assert told[0] == told[1]
    return models


def assert_equal_fits(ours, theirs, rtol=1e-9):
    """Compare every fitted attribute that both have."""
    for name in ("coefs_", "intercepts_"):
        for a, b in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=rtol)
            assert (a.dtype, a.flags.c_contiguous) == (b.dtype, True)
    for name in ("loss_", "best_loss_", "best_validation_score_"):
        a, b = getattr(ours, name, None), getattr(theirs, name, None)
        assert (a is None) == (b is None)
        if a is not None:
            assert a == pytest.approx(b, rel=1e-8, abs=1e-10)
    for name in ("loss_curve_", "validation_scores_"):
        a, b = getattr(ours, name, None), getattr(theirs, name, None)
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
    for name in ("n_iter_", "n_layers_", "n_outputs_", "out_activation_", "n_features_in_"):
        assert getattr(ours, name) == getattr(theirs, name)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_parameters_have_name_place_and_default_of_scikit_learn(ours, theirs):
    wanted = list(inspect.signature(theirs).parameters.values())
    got = list(inspect.signature(ours).parameters.values())[: len(wanted)]
    plain = [(p.name, p.kind, p.default) for p in got]
    assert plain == [(p.name, p.kind, p.default) for p in wanted]
    own = list(inspect.signature(ours).parameters.values())[len(wanted) :]
    assert all(p.kind is p.KEYWORD_ONLY for p in own)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_what_scikit_learn_allows_is_allowed(ours, theirs):
    for name, rules in theirs._parameter_constraints.items():
        mine = {str(rule) for rule in ours._parameter_constraints[name]}
        for rule in rules:
            options = getattr(rule, "options", None)
            if options is None or not all(isinstance(option, str) for option in options):
                assert str(rule) in mine
            else:
                known = [getattr(r, "options", ()) for r in ours._parameter_constraints[name]]
                assert options <= set().union(*known)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_tags_are_scikit_learns_but_for_several_targets(ours, theirs):
    mine, wanted = get_tags(ours()), get_tags(theirs())
    wanted.target_tags.multi_output = mine.target_tags.multi_output
    assert mine == wanted


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("training", TRAINING)
def test_a_classifier_has_scikit_learns_weights(training, labels):
    parameters = FEW | TRAINING[training]
    ours, theirs = fit_both(MLPClassifier, sk.MLPClassifier, LABELS[labels], **parameters)
    assert_equal_fits(ours, theirs)
    assert ours.t_ == theirs.t_
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    assert ours.predict(X).dtype == theirs.predict(X).dtype


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("training", TRAINING)
def test_a_regressor_has_scikit_learns_weights(training, target):
    loss, y = TARGETS[target]
    parameters = FEW | TRAINING[training] | {"loss": loss}
    ours, theirs = fit_both(MLPRegressor, sk.MLPRegressor, y, **parameters)
    assert_equal_fits(ours, theirs)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-8)


@pytest.mark.parametrize("training", ["adam, small batches", "sgd", "adaptive", "patience"])
def test_weights_of_the_rows_count_as_in_scikit_learn(training):
    parameters = FEW | TRAINING[training]
    fits = fit_both(MLPClassifier, sk.MLPClassifier, CLASSES, WEIGHTS, **parameters)
    assert_equal_fits(*fits)
    fits = fit_both(MLPRegressor, sk.MLPRegressor, COUNTS, WEIGHTS, loss="poisson", **parameters)
    assert_equal_fits(*fits)


@pytest.mark.parametrize("labels", LABELS)
def test_lbfgs_classifies_with_scikit_learns_weights(labels):
    # Rounding grows by a factor of about 10 every 5 iterations.
    parameters = FEW | {"solver": "lbfgs", "max_iter": 12}
    ours, theirs = fit_both(MLPClassifier, sk.MLPClassifier, LABELS[labels], **parameters)
    for a, b in zip(ours.coefs_, theirs.coefs_, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)
    assert ours.loss_ == pytest.approx(theirs.loss_, rel=1e-9)
    assert ours.n_iter_ == theirs.n_iter_


@pytest.mark.parametrize("weight", [None, WEIGHTS])
@pytest.mark.parametrize("target", ["squared", "poisson", "poisson, two targets"])
def test_lbfgs_regresses_with_scikit_learns_weights(target, weight):
    loss, y = TARGETS[target]
    parameters = FEW | {"solver": "lbfgs", "max_iter": 12, "loss": loss}
    ours, theirs = fit_both(MLPRegressor, sk.MLPRegressor, y, weight, **parameters)
    for a, b in zip(ours.coefs_, theirs.coefs_, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)
    assert ours.loss_ == pytest.approx(theirs.loss_, rel=1e-9)


def test_lbfgs_with_several_targets_follows_the_gradient_of_what_it_reports():
    y = TARGETS["squared, two targets"][1]
    parameters = FEW | {"solver": "lbfgs", "max_iter": 2000, "tol": 1e-8, "alpha": 0.1}
    with warnings.catch_warnings(action="ignore"):
        ours = MLPRegressor(**parameters, activation="tanh").fit(X, y)
    residual = ours.predict(X) - y
    norm = sum((w**2).sum() for w in ours.coefs_)
    penalty = 0.5 * 0.1 * norm / len(X)
    assert ours.loss_ == pytest.approx(0.5 * (residual**2).mean() + penalty, rel=1e-9)
    # At a minimum of the sum of squares the gradient on the output biases vanishes.
    assert np.abs(residual.mean(axis=0)).max() < 2e-4
    with warnings.catch_warnings(action="ignore"):
        theirs = sk.MLPRegressor(**parameters, activation="tanh").fit(X, y)
    objective = 0.5 * ((theirs.predict(X) - y) ** 2).sum() / len(X)
    objective += 0.5 * 0.1 * sum((w**2).sum() for w in theirs.coefs_) / len(X)
    assert ours.history_["train_loss"].iloc[-1] - np.log(2 * np.pi) < objective


@pytest.mark.parametrize("training", ["adam, small batches", "sgd", "patience"])
@pytest.mark.parametrize("labels", ["binary", "multilabel"])
def test_early_stopping_holds_out_scikit_learns_rows(training, labels):
    parameters = FEW | TRAINING[training] | {"early_stopping": True, "validation_fraction": 0.2}
    fits = fit_both(MLPClassifier, sk.MLPClassifier, LABELS[labels], **parameters)
    assert_equal_fits(*fits)


def test_early_stopping_of_a_regressor_is_scikit_learns():
    parameters = FEW | {"early_stopping": True, "max_iter": 60, "tol": 0.05}
    fits = fit_both(MLPRegressor, sk.MLPRegressor, X[:, 0] * X[:, 1], WEIGHTS, **parameters)
    assert_equal_fits(*fits)
    assert fits[0].n_iter_ < 60


def test_single_precision_stays_single():
    parameters = FEW | {"max_iter": 5}
    ours, theirs = fit_both(
        MLPRegressor, sk.MLPRegressor, X[:, 0], X=X.astype(np.float32), **parameters
    )
    assert {a.dtype for a in ours.coefs_ + ours.intercepts_} == {np.dtype(np.float32)}
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)
    assert ours.predict(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("given", [np.float16, np.int64, bool, np.longdouble])
def test_everything_else_becomes_double(given):
    with warnings.catch_warnings(action="ignore"):
        model = MLPRegressor(max_iter=2).fit((X > 0).astype(given), X[:, 0])
    assert {a.dtype for a in model.coefs_ + model.intercepts_} == {np.dtype(np.float64)}


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_partial_fit_goes_scikit_learns_way(ours, theirs, solver):
    parameters = {"hidden_layer_sizes": (5,), "solver": solver, "shuffle": False}
    parameters |= {"random_state": 0, "batch_size": 20, "learning_rate_init": 0.01}
    extra = {"classes": [0, 1, 2]} if ours is MLPClassifier else {}
    mine, other = ours(**parameters), theirs(**parameters)
    for part in np.array_split(RNG.permutation(len(X)), 5):
        mine.partial_fit(X[part], CLASSES[part], WEIGHTS[part], **extra)
        other.partial_fit(X[part], CLASSES[part], WEIGHTS[part], **extra)
    assert_equal_fits(mine, other)
    assert mine.t_ == other.t_ == len(X)
    assert mine._no_improvement_count == other._no_improvement_count


def test_partial_fit_divides_an_adaptive_rate_when_patience_runs_out():
    parameters = {"solver": "sgd", "learning_rate": "adaptive", "shuffle": False, "tol": 0.5}
    parameters |= {"random_state": 0, "n_iter_no_change": 2, "learning_rate_init": 0.01}
    ours, theirs = MLPRegressor(**parameters), sk.MLPRegressor(**parameters)
    for _ in range(9):
        ours.partial_fit(X, X[:, 0])
        theirs.partial_fit(X, X[:, 0])
        assert ours._optimizer.learning_rate == pytest.approx(theirs._optimizer.learning_rate)
    assert_equal_fits(ours, theirs)
    assert ours._optimizer.learning_rate < 0.01


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_warm_start_goes_on_from_the_weights(ours, theirs, solver):
    parameters = {"hidden_layer_sizes": (5,), "solver": solver, "shuffle": False}
    parameters |= {"random_state": 0, "warm_start": True, "max_iter": 4}
    mine, other = ours(**parameters), theirs(**parameters)
    with warnings.catch_warnings(action="ignore"):
        for _ in range(3):
            mine.fit(X, CLASSES)
            other.fit(X, CLASSES)
    assert_equal_fits(mine, other)
    assert mine.t_ == other.t_
    assert len(mine.history_) == len(mine.loss_curve_) == 12
    assert mine.history_["epoch"].tolist() == list(range(1, 13))


def test_warm_start_has_new_patience_in_each_call():
    parameters = {"random_state": 0, "warm_start": True, "tol": 1.0, "n_iter_no_change": 3}
    ours, theirs = MLPClassifier(**parameters), sk.MLPClassifier(**parameters)
    for _ in range(2):
        ours.fit(X, CLASSES)
        theirs.fit(X, CLASSES)
    assert theirs.n_iter_ == 1  # it carries its count of idle epochs over
    assert ours.n_iter_ == 5


def test_progress_lines_are_scikit_learns(capsys):
    parameters = FEW | {"verbose": True, "tol": 0.03, "n_iter_no_change": 3}
    fit_both(MLPClassifier, sk.MLPClassifier, CLASSES, **parameters)
    lines = capsys.readouterr().out.splitlines()
    ours, theirs = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    assert ours == theirs
    assert "Stopping." in ours[-1]


def test_progress_lines_of_early_stopping_are_scikit_learns(capsys):
    parameters = FEW | {"verbose": 1, "early_stopping": True, "max_iter": 6}
    fit_both(MLPRegressor, sk.MLPRegressor, X[:, 0], **parameters)
    lines = capsys.readouterr().out.splitlines()
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]
    assert any(line.startswith("Validation score: ") for line in lines)


def test_a_batch_larger_than_the_data_is_clipped_with_scikit_learns_warning():
    fits = fit_both(MLPRegressor, sk.MLPRegressor, X[:, 0], **(FEW | {"batch_size": 1000}))
    assert_equal_fits(*fits)
