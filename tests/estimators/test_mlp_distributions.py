"""Whole distributions from the perceptron: each loss, in units of y, alone and in an ensemble."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from lamina import Predictive
from lamina._errors import DataError, DataWarning, ParameterError
from lamina.estimators import MLPRegressor
from lamina.heads import (
    Bernoulli,
    Custom,
    FromDistribution,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Quantiles,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(150, 2))
SPREAD = 0.1 + 0.3 * (X[:, 0] > 0)
Y = np.sin(2 * X[:, 0]) + X[:, 1] + SPREAD * RNG.normal(size=150)
BOTH = np.stack([Y, 10 + 5 * X[:, 0] + RNG.normal(size=150)], axis=1)
COUNTS = RNG.poisson(np.exp(1 + X[:, 0])).astype(float)
FEW = {
    "hidden_layer_sizes": (12,),
    "activation": "tanh",
    "max_iter": 40,
    "learning_rate_init": 0.02,
    "random_state": 0,
}


def fitted(loss="squared_error", y=Y, weight=None, X=X, **parameters):
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return MLPRegressor(loss, **(FEW | parameters)).fit(X, y, weight)


def laplace(raw):
    scale = torch.nn.functional.softplus(raw[..., 1]) + 1e-2
    return torch.distributions.Laplace(raw[..., 0], scale)


LOSSES = {
    "squared_error": ("squared_error", Y),
    "normal": ("normal", Y),
    "heteroscedastic": ("heteroscedastic", Y),
    "beta": (Normal("per_row", beta=0.5), Y),
    "mixture": ("mixture", Y),
    "quantiles": (Quantiles((0.1, 0.5, 0.9)), Y),
    "your own": (FromDistribution(laplace, n_raw=2), Y),
    "poisson": ("poisson", COUNTS),
    "negative binomial": (NegativeBinomial(), COUNTS),
    "two": ("normal", BOTH),
    "two by least squares": ("squared_error", BOTH),
    "two with covariance": (MultivariateNormal("per_row"), BOTH),
    "two as mixture": (Mixture(2, "full"), BOTH),
}


@pytest.mark.parametrize("n_members", [1, 2])
@pytest.mark.parametrize("name", LOSSES)
def test_shapes_and_agreement_of_what_is_predicted(name, n_members):
    loss, y = LOSSES[name]
    model = fitted(loss, y, n_members=n_members)
    dist = model.predict_dist(X[:7])
    assert isinstance(dist, Predictive)
    assert len(dist) == 7
    mean, std = model.predict(X[:7], return_std=True)
    assert mean.shape == std.shape == y[:7].shape
    np.testing.assert_allclose(mean, dist.mean(), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(std, dist.std())
    np.testing.assert_array_equal(model.predict(X[:7]), mean)
    many = (7, 3) if y.ndim == 1 else (7, 3, 2)
    quantiles = model.predict_quantile(X[:7], [0.1, 0.5, 0.9])
    assert quantiles.shape == many
    assert (np.diff(quantiles, axis=1) >= 0).all()
    interval = model.predict_interval(X[:7], level=0.8)
    np.testing.assert_allclose(interval, quantiles[:, [0, 2]], rtol=1e-9, atol=1e-12)
    logs = dist.log_prob(y[:7])
    assert model.log_likelihood(X[:7], y[:7]) == pytest.approx(logs.mean(), rel=1e-12)
    assert isinstance(model.score(X, y), float)


@pytest.mark.parametrize("loss", ["normal", "heteroscedastic", "mixture", Quantiles()])
@pytest.mark.parametrize(("shift", "factor"), [(1e5, 1e4), (0.0, 1e-8), (-3e12, 1e12)])
def test_units_of_the_target_change_nothing_but_the_units(loss, shift, factor):
    plain, scaled = fitted(loss), fitted(loss, shift + factor * Y)
    y = shift + factor * Y
    assert scaled.log_likelihood(X, y) + np.log(factor) == pytest.approx(
        plain.log_likelihood(X, Y), abs=1e-6
    )
    if isinstance(loss, str):
        gap = np.array(scaled.loss_curve_) - np.array(plain.loss_curve_)
        np.testing.assert_allclose(gap, np.log(factor), atol=1e-6)
        assert scaled.min_scale_ == pytest.approx(factor * plain.min_scale_)
        assert plain.min_scale_ == pytest.approx([1e-3 * Y.std()])
    for method in ("predict", "predict_interval"):
        there, here = getattr(scaled, method)(X), getattr(plain, method)(X)
        np.testing.assert_allclose((there - shift) / factor, here, atol=1e-6)
    draws = scaled.predict_dist(X).sample(3, random_state=1)
    own = plain.predict_dist(X).sample(3, random_state=1)
    np.testing.assert_allclose((draws - shift) / factor, own, atol=1e-6)


def test_the_loss_is_the_mean_negative_log_density_of_y():
    model = fitted("heteroscedastic", 50 + 3 * Y, alpha=0.0, batch_size=150, max_iter=3)
    longer = fitted("heteroscedastic", 50 + 3 * Y, alpha=0.0, batch_size=150, max_iter=2)
    # the loss of an epoch is that before its one step
    expected = -longer.log_likelihood(X, 50 + 3 * Y)
    assert model.loss_ == pytest.approx(expected, rel=1e-9)
    assert model.history_["train_loss"].iloc[-1] == model.loss_
    assert model.loss_curve_[-1] == model.loss_


def test_constants_are_included():
    model = fitted("heteroscedastic")
    dist = model.predict_dist(X)
    wanted = stats.norm(dist.mean(), dist.std()).logpdf(Y).mean()
    assert model.log_likelihood(X, Y) == pytest.approx(wanted, rel=1e-10)


def test_a_learnt_scale_is_the_spread_of_the_residuals():
    shared = fitted("normal", max_iter=400, n_iter_no_change=400, alpha=0.0)
    residual = Y - shared.predict(X)
    np.testing.assert_allclose(shared.predict(X, return_std=True)[1], residual.std(), rtol=0.02)
    own = fitted("heteroscedastic", max_iter=400, n_iter_no_change=400)
    std = own.predict(X, return_std=True)[1]
    assert np.median(std[X[:, 0] < 0]) == pytest.approx(0.1, rel=0.35)
    assert np.median(std[X[:, 0] > 0]) == pytest.approx(0.4, rel=0.35)


def test_least_squares_spreads_by_the_root_mean_squared_residual():
    model = fitted(y=BOTH)
    rms = np.sqrt(((BOTH - model.predict(X)) ** 2).mean(axis=0))
    np.testing.assert_allclose(model.noise_scale_, rms, rtol=1e-12)
    dist = model.predict_dist(X[:4])
    np.testing.assert_allclose(dist.std(), np.tile(rms, (4, 1)))
    wanted = stats.norm(model.predict(X[:4]), rms).logpdf(BOTH[:4]).sum(axis=1)
    np.testing.assert_allclose(dist.log_prob(BOTH[:4]), wanted, rtol=1e-9)


def test_a_linear_fit_has_the_maximum_likelihood_noise():
    model = fitted("squared_error", hidden_layer_sizes=(), solver="lbfgs", alpha=0.0, max_iter=500)
    line = LinearRegression().fit(X, Y)
    wanted = np.sqrt(np.mean((Y - line.predict(X)) ** 2))
    assert model.noise_scale_ == pytest.approx([wanted], rel=1e-6)


def test_weights_of_rows_count_for_the_noise():
    weight = np.where(X[:, 0] > 0, 2.0, 0.0)
    model = fitted(weight=weight)
    used = X[:, 0] > 0
    rms = np.sqrt(np.mean((Y[used] - model.predict(X[used])) ** 2))
    assert model.noise_scale_ == pytest.approx([rms], rel=1e-12)


@pytest.mark.parametrize("loss", ["squared_error", "heteroscedastic", "mixture"])
def test_a_perfect_or_constant_target_still_has_a_distribution(loss):
    with warnings.catch_warnings(action="ignore", category=DataWarning):
        model = fitted(loss, np.full(len(X), 7.0), max_iter=200)
    dist = model.predict_dist(X[:3])
    assert (dist.std() > 0).all()
    assert np.isfinite(dist.log_prob([7.0, 7.0, 7.0])).all()
    np.testing.assert_allclose(dist.mean(), 7.0, atol=1.0)


def test_an_ensemble_is_the_mixture_of_its_members():
    model = fitted("heteroscedastic", n_members=3)
    members = [fitted("heteroscedastic", n_members=3) for _ in range(3)]
    for i, member in enumerate(members):
        member._networks = [model._networks[i]]
    grid = np.linspace(-3, 3, 5)
    density = np.mean([m.predict_dist(X).pdf(np.tile(grid, (150, 1))) for m in members], axis=0)
    np.testing.assert_allclose(model.predict_dist(X).pdf(np.tile(grid, (150, 1))), density)


def test_rows_do_not_depend_on_their_order_and_no_global_stream_is_used():
    before = np.random.get_state()[1].copy(), torch.get_rng_state()
    model = fitted("mixture")
    dist = model.predict_dist(X)
    back = model.predict_quantile(X[::-1], 0.3)
    np.testing.assert_allclose(back[::-1], dist.quantile(0.3), rtol=1e-11)
    np.testing.assert_allclose(dist[:1].pdf(0.2), model.predict_dist(X[:1]).pdf(0.2), rtol=1e-11)
    assert dist[:1].sample(1, random_state=0).shape == (1, 1)
    np.testing.assert_array_equal(before[0], np.random.get_state()[1])
    assert torch.equal(before[1], torch.get_rng_state())


def test_early_stopping_watches_the_density():
    model = fitted("mixture", early_stopping=True, validation_fraction=0.3)
    scores = model.history_["valid_score"].to_numpy()
    np.testing.assert_array_equal(scores, -model.history_["valid_loss"].to_numpy())
    assert model.best_validation_score_ == scores.max()
    plain = fitted("squared_error", early_stopping=True, validation_fraction=0.3)
    assert max(plain.validation_scores_) <= 1
    assert plain.best_validation_score_ != -plain.history_["valid_loss"].min()


def test_training_that_goes_on_keeps_the_units_of_the_first_call():
    model = fitted("normal", 5 + Y)
    start = model.loss_
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        model.set_params(warm_start=True).fit(X, 5 + Y)
    assert model.loss_curve_[40] < start + 0.05
    model.partial_fit(X[:50], 1000 + Y[:50])
    assert model.min_scale_ == pytest.approx([1e-3 * Y.std()])
    with pytest.raises(ParameterError, match=r"y must have 1 target"):
        model.partial_fit(X, BOTH)


def test_another_loss_leaves_nothing_behind():
    model = fitted("normal")
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        model.set_params(loss="squared_error").fit(X, Y)
    assert not hasattr(model, "min_scale_")
    assert fitted().predict(X).tolist() == model.predict(X).tolist()
    assert not hasattr(fitted("normal"), "noise_scale_")


def test_a_bare_loss_has_no_distribution():
    model = fitted(Custom(lambda raw, y: (raw - y).abs().sum(-1)))
    with pytest.raises(ParameterError, match="with a distribution"):
        model.predict_dist(X)
    assert model.predict(X).shape == (150,)


@pytest.mark.parametrize("loss", ["squared_error", "normal"])
def test_targets_that_do_not_belong_to_the_rows_are_refused(loss):
    model = fitted(loss)
    for y in (Y[:-1], BOTH):
        with pytest.raises(DataError, match=r"y must have 1 target\(s\) for each of the 150 rows"):
            model.log_likelihood(X, y)
    with pytest.raises(DataError, match="row 3"):
        model.log_likelihood(X, np.where(np.arange(150) == 3, np.nan, Y))
    assert model.log_likelihood(X, Y[:, None]) == model.log_likelihood(X, Y)
    weight = np.arange(150.0)
    wanted = np.average(model.predict_dist(X).log_prob(Y), weights=weight)
    assert model.log_likelihood(X, Y, weight) == pytest.approx(wanted, rel=1e-12)


def test_repeated_targets_are_told_where_they_matter():
    y = np.where(RNG.random(150) < 0.4, 0.0, Y)
    share = 1 - len(np.unique(y)) / 150
    with pytest.warns(DataWarning, match=f"{share:.0%} of the values of y repeat others"):
        fitted("heteroscedastic", y)
    with pytest.warns(DataWarning, match="column 1 of y"):
        fitted(Mixture(2), np.stack([Y, y], axis=1))
    fitted("normal", y)  # one scale for all: no warning, which would be an error here
    few = np.where(np.arange(150) < 14, 0.0, Y)
    fitted("heteroscedastic", few)


def test_float32_inputs_keep_targets_of_any_size():
    model = fitted("normal", 1e12 + Y, X=X.astype(np.float32))
    assert model.networks_[0].layers()[0][0].dtype == np.float32
    assert model.predict(X.astype(np.float32)).dtype == np.float64
    assert model.score(X, 1e12 + Y) > 0.5


def test_a_head_for_labels_is_for_rows_of_bits():
    bits = (BOTH.mean(0) < BOTH).astype(float)
    model = fitted(Bernoulli(), bits)
    proba = model.predict_dist(X).mean()
    np.testing.assert_allclose(proba, model.predict(X))
    assert ((proba > 0) & (proba < 1)).all()
