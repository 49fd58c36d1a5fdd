"""The mixture density network: several answers, found at the defaults, exact in units of y."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lamina import MixtureDensityRegressor
from lamina._errors import DataError, DataWarning, ParameterError
from lamina.distributions import MultivariateNormalMixture, NormalMixture
from lamina.estimators import load, save
from lamina.estimators._penalty_choice import CANDIDATES

QUICK = {
    "hidden_layer_sizes": (16,),
    "alpha": 1.0,
    "max_iter": 60,
    "input_noise": 0.0,
    "random_state": 0,
}


def inverse_problem(n, seed):
    """Return t and x of t = x - 1.5 tanh(2x) + noise: up to three x belong to one t."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.5, 2.5, n)
    t = x - 1.5 * np.tanh(2 * x) + rng.normal(0, 0.05, n)
    return t[:, None], x


T, X_OF_T = inverse_problem(800, 0)
TRUTH = -0.58277
"""Conditional entropy of x given t, in nats, by quadrature."""

RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, size=(120, 2))
BRANCH = np.where(RNG.random(120) < 0.5, 1.0, -1.0)
Y = BRANCH * (1 + X[:, 0]) + 0.1 * RNG.normal(size=120)
BOTH = np.stack([Y, -2 * Y + X[:, 1] + 0.1 * RNG.normal(size=120)], axis=1)


def fitted(y=Y, weight=None, X=X, **parameters):
    return MixtureDensityRegressor(**(QUICK | parameters)).fit(X, y, weight)


@pytest.fixture(scope="module")
def inverse():
    return MixtureDensityRegressor(random_state=0).fit(T, X_OF_T)


def test_the_inverse_problem_is_solved_at_the_defaults(inverse):
    # Seeds 0 to 4 give -0.499, -0.534, -0.534, -0.530 and -0.518.
    nll = [-inverse.log_likelihood(*inverse_problem(4000, 10000))]
    model = MixtureDensityRegressor(random_state=1).fit(*inverse_problem(800, 1))
    nll.append(-model.log_likelihood(*inverse_problem(4000, 10001)))
    assert np.mean(nll) < -0.505
    assert max(nll) < -0.48
    assert min(nll) > TRUTH - 0.03  # never better than the truth, but for the draw of the test


def test_all_branches_are_found_and_named(inverse):
    roots = [-1.446, 0.0, 1.446]  # of x = 1.5 tanh(2x)
    modes = inverse.predict_dist([[0.0]]).modes()
    np.testing.assert_allclose(np.sort(modes.locations[0]), roots, atol=0.1)
    weights = np.exp(inverse.predict_dist([[0.0]]).log_weights[0])
    assert 1 / (weights**2).sum() > 2.5  # about three components share the work
    mean, std = inverse.predict([[0.0]], return_std=True)
    assert abs(mean[0]) < 0.2
    assert std[0] == pytest.approx(1.2, abs=0.2)  # of the three branches, not of one


def test_calibration_on_new_rows(inverse):
    t, x = inverse_problem(4000, 10000)
    dist = inverse.predict_dist(t)
    # 4000 uniform numbers have a larger distance in 1 of 10,000 draws; a fit is not the truth.
    assert stats.kstest(dist.cdf(x), "uniform").statistic < 0.05
    low, high = dist.interval(0.9).T
    assert np.mean((low <= x) & (x <= high)) == pytest.approx(0.9, abs=0.03)
    np.testing.assert_allclose(dist.cdf(dist.quantile(0.05)), 0.05, atol=1e-9)


@pytest.mark.parametrize("covariance_type", ["spherical", "diag", "full"])
def test_several_targets_have_a_joint_density(covariance_type):
    model = fitted(BOTH, covariance_type=covariance_type, n_components=2)
    dist = model.predict_dist(X)
    assert isinstance(dist, MultivariateNormalMixture)
    assert model.predict(X).shape == BOTH.shape
    by_hand = np.zeros(120)
    for c in range(2):
        for i in range(120):
            factor = dist.scale_tril[i, c]
            normal = stats.multivariate_normal(dist.loc[i, c], factor @ factor.T)
            by_hand[i] += np.exp(dist.log_weights[i, c]) * normal.pdf(BOTH[i])
    np.testing.assert_allclose(dist.log_prob(BOTH), np.log(by_hand), rtol=1e-8)
    assert model.min_scale_ == pytest.approx(1e-3 * BOTH.std(axis=0))
    assert dist.covariance().shape == (120, 2, 2)


@pytest.mark.parametrize(("shift", "factor"), [(1e5, 1e4), (0.0, 1e-8), (1e12, 1e12)])
@pytest.mark.parametrize("alpha", [1.0, "auto"])
def test_units_of_the_target_change_nothing_but_the_units(shift, factor, alpha):
    y = shift + factor * Y
    plain, scaled = fitted(alpha=alpha), fitted(y, alpha=alpha)
    assert scaled.alpha_ == plain.alpha_
    gap = scaled.log_likelihood(X, y) - plain.log_likelihood(X, Y)
    assert gap == pytest.approx(-np.log(factor), abs=1e-6)
    assert scaled.loss_ - plain.loss_ == pytest.approx(np.log(factor), abs=1e-6)
    for method in ("predict", "predict_interval"):
        there, here = getattr(scaled, method)(X), getattr(plain, method)(X)
        np.testing.assert_allclose((there - shift) / factor, here, atol=1e-6)


def test_units_of_the_inputs_change_nothing():
    moved = 1e3 + 1e-4 * X
    np.testing.assert_allclose(fitted(X=moved).predict(moved), fitted().predict(X), atol=1e-6)
    model = fitted(X=moved)
    np.testing.assert_allclose(model.input_mean_, moved.mean(axis=0))
    np.testing.assert_allclose(model.input_scale_, moved.std(axis=0))
    raw = model.networks_[0].predict_raw((moved - model.input_mean_) / model.input_scale_)
    assert raw.shape == (120, 9)


def test_responsibilities_are_the_posterior_of_the_components():
    model = fitted(n_members=2, n_components=2)
    shares = model.responsibilities(X, Y)
    assert shares.shape == (120, 4)
    dist = model.predict_dist(X)
    assert isinstance(dist, NormalMixture)
    joint = np.exp(dist.log_weights) * stats.norm(dist.loc, dist.scale).pdf(Y[:, None])
    np.testing.assert_allclose(shares, joint / joint.sum(axis=1, keepdims=True), atol=1e-10)
    with pytest.raises(DataError, match="y must have 1 target"):
        model.responsibilities(X, BOTH)


def test_one_component_is_a_normal_distribution():
    model = fitted(n_components=1)
    dist = model.predict_dist(X)
    wanted = stats.norm(dist.mean(), dist.std()).logpdf(Y)
    np.testing.assert_allclose(dist.log_prob(Y), wanted, rtol=1e-9)
    np.testing.assert_array_equal(model.responsibilities(X, Y), 1.0)


def test_a_component_cannot_shrink_below_the_floor():
    y = np.where(np.arange(120) < 60, 0.0, Y)
    with pytest.warns(DataWarning, match="min_scale=0.01 standard deviations"):
        model = fitted(y, alpha=0.0, min_scale=0.01, max_iter=400)
    assert model.predict_dist(X).scale.min() >= 0.01 * y.std() * (1 - 1e-12)
    assert model.min_scale_ == pytest.approx([0.01 * y.std()])
    assert np.isfinite(model.loss_)


def test_few_noisy_rows_are_not_learnt_by_heart():
    rng = np.random.default_rng(0)
    few, many = rng.normal(size=(50, 5)), rng.normal(size=(2000, 5))
    slope = rng.normal(size=5)
    model = MixtureDensityRegressor(random_state=0, max_iter=200)
    model.fit(few, few @ slope + rng.normal(size=50))
    y = many @ slope + rng.normal(size=2000)
    assert model.alpha_ >= 10
    marginal = stats.norm(0, np.sqrt(1 + slope @ slope)).logpdf(y).mean()
    assert model.log_likelihood(many, y) > marginal - 0.2


def test_the_penalty_is_a_prior_of_all_weights():
    # At the end of a long full-batch fit, the gradient of the sum of errors is -alpha W.
    model = fitted(alpha=10.0, n_components=1, max_iter=2000, learning_rate_init=0.03)
    network = model.networks_[0].double()
    head, z = model._mixture, torch.from_numpy((Y - Y.mean()) / Y.std())[:, None]
    inputs = torch.from_numpy((X - model.input_mean_) / model.input_scale_)
    weights = list(network.weights)
    for weight in weights:
        weight.requires_grad_()
    error = head.error(network(inputs), z).sum()
    for weight, gradient in zip(weights, torch.autograd.grad(error, weights), strict=True):
        assert (gradient + 10.0 * weight).norm() < 0.05 * gradient.norm()


def test_noise_on_the_inputs_flattens_the_fit():
    plain, noisy = fitted(n_components=1), fitted(n_components=1, input_noise=0.5)
    near = X + 1e-3
    steep = np.abs(plain.predict(near) - plain.predict(X)).mean()
    assert np.abs(noisy.predict(near) - noisy.predict(X)).mean() < 0.8 * steep


def test_the_penalty_is_chosen_among_the_candidates():
    model = fitted(alpha="auto", max_iter=20)
    assert model.alpha_ in CANDIDATES
    assert fitted(alpha="auto", max_iter=20, X=X[:9], y=Y[:9]).alpha_ == 30.0
    assert fitted(alpha=0.5).alpha_ == 0.5


def test_a_fit_is_a_function_of_its_seed_alone():
    before = np.random.get_state()[1].copy(), torch.get_rng_state()
    first = fitted(alpha="auto", max_iter=20).predict_dist(X)
    second = fitted(alpha="auto", max_iter=20).predict_dist(X)
    np.testing.assert_array_equal(first.loc, second.loc)
    np.testing.assert_array_equal(
        first.sample(2, random_state=3), second.sample(2, random_state=3)
    )
    np.testing.assert_array_equal(before[0], np.random.get_state()[1])
    assert torch.equal(before[1], torch.get_rng_state())
    assert np.any(fitted(random_state=1).predict(X) != fitted().predict(X))


def test_pickle_clone_save_and_search(tmp_path):
    model = fitted(n_members=2)
    density = model.predict_dist(X).log_prob(Y)
    for copy in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, Y)):
        np.testing.assert_array_equal(copy.predict_dist(X).log_prob(Y), density)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_dist(X).log_prob(Y), density)
    np.testing.assert_array_equal(loaded.responsibilities(X, Y), model.responsibilities(X, Y))
    assert loaded.alpha_ == 1.0
    pipe = make_pipeline(StandardScaler(), MixtureDensityRegressor(**(QUICK | {"max_iter": 3})))
    grid = {"mixturedensityregressor__n_components": [1, 2]}
    search = GridSearchCV(pipe, grid, cv=2, n_jobs=2).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_whatever_holds_the_numbers():
    frame = pd.DataFrame(X, columns=["a", "b"])
    model, wanted = fitted(X=frame), fitted().predict(X)
    assert list(model.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(model.predict(frame), wanted)
    with pytest.warns(match="column-vector"):
        np.testing.assert_array_equal(fitted(Y[:, None]).predict(X), wanted)
    fixed = X.copy()
    fixed.flags.writeable = False
    np.testing.assert_array_equal(fitted(X=fixed).predict(X), wanted)
    np.testing.assert_array_equal(fitted(X=np.asfortranarray(X)).predict(X), wanted)
    sparse = scipy.sparse.csr_matrix(np.where(X > 0, X, 0.0))
    model = fitted(X=sparse)
    np.testing.assert_array_equal(model.input_mean_, 0.0)
    np.testing.assert_allclose(model.predict(sparse), model.predict(sparse.toarray()), rtol=1e-9)
    np.testing.assert_allclose(fitted().predict(scipy.sparse.csr_matrix(X)), wanted, rtol=1e-9)
    single = fitted(X=X.astype(np.float32))
    assert single.networks_[0].weights[0].dtype == torch.float32
    constant = np.column_stack([X, np.full(120, 3.0)])
    assert np.isfinite(fitted(X=constant).predict(constant)).all()


def test_one_row_and_reversed_rows():
    model = fitted()
    np.testing.assert_allclose(model.predict(X[::-1])[::-1], model.predict(X), rtol=1e-10)
    one = model.predict_dist(X[:1])
    assert one.quantile([0.1, 0.9]).shape == (1, 2)
    alone = MixtureDensityRegressor(1, max_iter=5, random_state=0).fit(X[:1], Y[:1])
    assert np.isfinite(alone.predict(X[:1])).all()


def test_weights_count_as_repeated_rows():
    counts = np.arange(120) % 3
    weighted = fitted(weight=counts.astype(float))
    repeated = np.repeat(np.arange(120), counts)
    with warnings.catch_warnings(action="ignore", category=DataWarning):
        model = fitted(X=X[repeated], y=Y[repeated])
    np.testing.assert_allclose(weighted.predict(X), model.predict(X), atol=1e-6)
    scaled = fitted(weight=0.3 * counts)
    assert scaled.log_likelihood(X, Y) == pytest.approx(weighted.log_likelihood(X, Y), abs=0.3)


def test_all_epochs_are_run_without_a_complaint():
    with warnings.catch_warnings(action="error", category=ConvergenceWarning):
        model = fitted(max_iter=7)
        assert model.n_iter_ == 7
        assert len(model.loss_curve_) == 7
    early = fitted(early_stopping=True, validation_fraction=0.25)
    assert early.n_iter_ == 60
    assert early.best_validation_score_ == max(early.validation_scores_)
    assert -early.history_["valid_loss"].min() == early.best_validation_score_


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_components": 0}, "n_components"),
        ({"covariance_type": "sphericl"}, r"Did you mean 'spherical'\?"),
        ({"solver": "lbfgs"}, "solver"),
        ({"alpha": -1.0}, "alpha"),
        ({"min_scale": -1.0}, "min_scale"),
        ({"max_iter": 0}, "max_iter"),
        ({"batch_size": 0}, "batch_size"),
    ],
)
def test_impossible_parameters_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        fitted(**parameters)


def test_impossible_data_are_refused():
    with pytest.raises(DataError, match="row 2, column 1"):
        fitted(X=np.where(np.arange(240).reshape(120, 2) == 5, np.nan, X))
    with pytest.raises(DataError, match="row 3"):
        fitted(np.where(np.arange(120) == 3, np.inf, Y))
    with pytest.raises(DataError, match="one entry for each row"):
        fitted(Y[:-1])
    with pytest.raises(ParameterError, match="level must be"):
        fitted().predict_interval(X, level=1.5)
