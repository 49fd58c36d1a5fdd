"""What table estimators say of the spread of a target, and of labels that may be wrong."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from lamina import TableClassifier, TableRegressor, load, save
from lamina._errors import DataError, DataWarning, ParameterError
from lamina.estimators._table_spread import HeldOut, noise_of_least_squares, widened
from lamina.heads import (
    Custom,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
)
from lamina.nn import Network
from lamina.stack import Member

LOSSES = [
    *("squared_error", "normal", "heteroscedastic", "mixture"),
    *(Normal("per_row", beta=0.5), Mixture(2, "diag"), Quantiles((0.1, 0.5, 0.9))),
]


def table(n=240, seed=0):
    """Return a table, and a target whose spread depends on a category."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"size": rng.normal(size=n), "kind": rng.choice(["calm", "wild"], n)})
    spread = np.where(X["kind"] == "wild", 1.0, 0.1)
    y = 2 * X["size"] + spread * rng.normal(size=n)
    return X, y.rename("signal")


def regressor(loss, **parameters):
    return TableRegressor("fast", loss=loss, **({"random_state": 0} | parameters))


# Distributions.


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_everything_is_said_of_one_distribution(loss):
    X, y = table()
    model = regressor(loss).fit(X, y)
    dist = model.predict_dist(X)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X))
    np.testing.assert_allclose(dist.mean(), mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(dist.std(), std)
    np.testing.assert_allclose(
        model.predict_interval(X, 0.8), model.predict_quantile(X, [0.1, 0.9]), rtol=1e-9
    )
    np.testing.assert_allclose(dist.cdf(model.predict_quantile(X, 0.3)), 0.3, atol=1e-9)
    assert model.log_likelihood(X, y) == pytest.approx(dist.log_prob(y.to_numpy()).mean())
    weights = np.arange(len(y))
    assert model.log_likelihood(X, y, weights) == pytest.approx(
        np.average(dist.log_prob(y.to_numpy()), weights=weights)
    )


@pytest.mark.parametrize("loss", ["heteroscedastic", "mixture"])
def test_a_spread_that_depends_on_the_row_is_found(loss):
    X, y = table(1000)
    model = TableRegressor(loss=loss, n_members=3, random_state=0).fit(X[:800], y[:800])
    X_new, y_new = X[800:], y[800:].to_numpy()
    std = model.predict(X_new, return_std=True)[1]
    wild = (X_new["kind"] == "wild").to_numpy()
    assert np.median(std[wild]) == pytest.approx(1.0, rel=0.2)
    assert np.median(std[~wild]) < 0.3
    truth = stats.norm(2 * X_new["size"], np.where(wild, 1.0, 0.1)).logpdf(y_new).mean()
    assert model.log_likelihood(X_new, y_new) > truth - 0.35


def test_the_members_are_mixed():
    X, y = table()
    model = regressor("heteroscedastic", n_members=3).fit(X, y)
    matrix = model.encoder_.transform(X)
    raws = [network.predict_raw(matrix).astype(float) for network in model.networks_]
    scaler = model.target_scaler_
    density = np.zeros(len(X))
    for raw in raws:
        scale = np.sqrt(1e-6 + np.exp(2 * raw[:, 1])) * scaler.scale_
        density += stats.norm(scaler.mean_ + scaler.scale_ * raw[:, 0], scale).pdf(y) / 3
    np.testing.assert_allclose(model.predict_dist(X).pdf(y.to_numpy()), density, rtol=1e-4)
    np.testing.assert_allclose(model.min_scale_, 1e-3 * y.std(ddof=0))


@pytest.mark.parametrize("loss", ["squared_error", "heteroscedastic", "mixture"])
def test_another_unit_of_the_target_shifts_the_log_density_by_its_logarithm(loss):
    X, y = table()
    plain, other = regressor(loss).fit(X, y), regressor(loss).fit(X, 1024 * y)
    difference = plain.log_likelihood(X, y) - other.log_likelihood(X, 1024 * y)
    assert difference == pytest.approx(np.log(1024), abs=1e-9)
    np.testing.assert_allclose(
        other.predict_interval(X), 1024 * plain.predict_interval(X), rtol=1e-9
    )


@pytest.mark.parametrize(("scale", "offset"), [(1e12, 0.0), (1e-8, 0.0), (1e4, 1e5)])
def test_the_size_of_the_target_does_not_matter(scale, offset):
    X, y = table()
    plain = regressor("heteroscedastic").fit(X, y)
    other = regressor("heteroscedastic").fit(X, offset + scale * y)
    difference = plain.log_likelihood(X, y) - other.log_likelihood(X, offset + scale * y)
    # Rounding of the standardised target to float32 makes paths of training part a little.
    assert difference == pytest.approx(np.log(scale), abs=0.01)


def test_counts_have_a_rate_and_are_not_standardised():
    X, y = table(300)
    counts = np.random.default_rng(0).poisson(np.exp(4 + 0.4 * y))
    model = regressor("poisson").fit(X, counts)
    assert model.target_scaler_ is None
    dist = model.predict_dist(X)
    assert dist.is_discrete
    np.testing.assert_allclose(dist.mean(), model.predict(X), rtol=1e-5)
    assert np.corrcoef(np.log(model.predict(X)), y)[0, 1] > 0.9
    better = regressor(NegativeBinomial()).fit(X, counts)
    assert better.log_likelihood(X, counts) > model.log_likelihood(X, counts)
    with pytest.raises(DataError, match="non-negative"):
        regressor("poisson").fit(X, counts - 1000)


def test_several_targets_have_a_joint_distribution():
    X, y = table()
    both = np.column_stack([y, 100 - y + 0.01 * X["size"]])
    for loss in ("heteroscedastic", "squared_error", MultivariateNormal("per_row")):
        model = regressor(loss).fit(X, both)
        dist = model.predict_dist(X)
        assert dist.n_targets == 2
        assert model.predict_interval(X).shape == (len(X), 2, 2)
        assert model.log_likelihood(X, both) == pytest.approx(dist.log_prob(both).mean())
    with pytest.raises(DataError, match=r"y must have 2 target\(s\) for each of the 240 rows"):
        model.log_likelihood(X, y)


def test_rows_can_come_in_any_order_and_alone():
    X, y = table()
    dist = regressor("mixture").fit(X, y).predict_dist
    np.testing.assert_allclose(dist(X[::-1]).std()[::-1], dist(X).std(), rtol=1e-12)
    np.testing.assert_allclose(dist(X[:1]).quantile(0.9), dist(X).quantile(0.9)[:1], rtol=1e-9)
    assert dist(X[:1]).sample(1, 0).shape == (1, 1)


@pytest.mark.parametrize("loss", ["squared_error", "heteroscedastic"])
def test_a_constant_target_is_as_good_as_certain(loss):
    X, _ = table(60)
    if loss == "squared_error":
        model = regressor(loss, n_members=1).fit(X, np.full(60, 7.0))
    else:
        with pytest.warns(DataWarning, match="repeat others"):
            model = regressor(loss, n_members=1).fit(X, np.full(60, 7.0))
    np.testing.assert_allclose(model.predict_interval(X), 7.0, rtol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 9, 10, 17])
def test_tables_of_few_rows(n):
    X, y = table(n)
    for loss in ("squared_error", "heteroscedastic", "mixture"):
        model = regressor(loss, n_members=3).fit(X, y)
        assert np.isfinite(model.predict_interval(X)).all()
        if n < 10 and loss != "squared_error":
            assert model.scale_factor_ == 1.0


def test_repeated_values_are_warned_about():
    X, y = table()
    with pytest.warns(DataWarning, match="of the values of y repeat others"):
        regressor("heteroscedastic", n_members=1).fit(X, y.round())


# How wide.


def networks_of(log_scale, n, first=0):
    """Return networks (log scale) whose mean is the input of their own number."""
    made = []
    for k in range(n):
        W = np.zeros((2, first + n))
        W[0, first + k] = 1.0
        made.append(Network.from_arrays([(W, [0.0, log_scale])]))
    return made


def everybody_held_out(X, y, n, weights=None):
    rows = np.arange(len(y))
    return HeldOut(X, y, weights, [Member(rows=rows, validation_rows=rows)] * n)


def test_one_member_is_as_wide_as_its_residuals():
    rng = np.random.default_rng(0)
    X, y = np.zeros((2000, 1)), rng.normal(0, 3.0, (2000, 1))
    head = Normal("per_row", min_scale=0.0)
    networks, factor = widened(networks_of(0.0, 1), head, everybody_held_out(X, y, 1))
    # c² = mean z², but for the prior: 2000 (1 - m/c²) + 4 ln c = 0.
    assert factor == pytest.approx(np.sqrt(np.mean(y**2)), rel=2e-3)
    np.testing.assert_allclose(networks[0].layers()[-1][1], [0.0, np.log(factor)])
    weights = np.where(np.abs(y[:, 0]) < 1, 1.0, 0.0)
    narrow = widened(networks_of(0.0, 1), head, everybody_held_out(X, y, 1, weights))[1]
    assert narrow == pytest.approx(np.sqrt(np.average(y[:, 0] ** 2, weights=weights)), rel=0.02)


@pytest.mark.parametrize("n_members", [2, 5, 20])
@pytest.mark.parametrize("kind", ["normal", "mixture", "least squares"])
def test_a_mixture_of_members_that_differ_keeps_its_promise(n_members, kind):
    """Means are off by independent errors of variance 0.3 around a truth of variance 1."""
    rng = np.random.default_rng(n_members)
    n = 20_000
    X = rng.normal(0, np.sqrt(0.3), (n, n_members))
    y = rng.normal(size=(n, 1))
    held_out = everybody_held_out(X, y, n_members)
    if kind == "least squares":
        networks = [
            Network.from_arrays([(np.eye(n_members)[[k]], [0.0])]) for k in range(n_members)
        ]
        scale = np.full(n_members, noise_of_least_squares(networks, held_out))
    else:
        head = Normal("per_row") if kind == "normal" else Mixture(1)
        networks = networks_of(0.7, n_members)
        if kind == "mixture":  # logits come first
            networks = [
                Network.from_arrays([(np.vstack([np.zeros((1, n_members)), W]), [0.0, *b])])
                for ((W, b),) in (network.layers() for network in networks)
            ]
        networks, _ = widened(networks, head, held_out)
        scale = np.exp([network.layers()[-1][1][-1] for network in networks])

    def inside(scale):
        u = stats.norm(X, scale).cdf(y).mean(axis=1)
        return np.mean(np.abs(u - 0.5) <= 0.45)

    assert inside(scale) == pytest.approx(0.9, abs=0.02)
    alone = np.sqrt(1.3)  # right for a member by itself
    assert inside(alone) > 0.9 + 0.01 * min(n_members, 4)
    assert (scale < alone).all()


def test_intervals_hold_what_they_promise_on_rows_not_seen():
    X, y = table(1500)
    for loss in ("squared_error", "heteroscedastic", "mixture"):
        model = TableRegressor("fast", loss=loss, n_members=4, random_state=0)
        low, high = model.fit(X[:500], y[:500]).predict_interval(X[500:], 0.9).T
        inside = np.mean((low <= y[500:]) & (y[500:] <= high))
        assert inside == pytest.approx(0.9, abs=0.05)


def test_heads_of_unknown_scales_are_left_alone():
    X, y = table(40)
    assert regressor(Quantiles((0.1, 0.5, 0.9))).fit(X, y).scale_factor_ == 1.0
    both = np.column_stack([y, y**2])
    assert regressor(MultivariateNormal()).fit(X, both).scale_factor_ == 1.0


# What they refuse.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "heteroskedastic"}, "loss must be one of .* Did you mean 'heteroscedastic'?"),
        ({"loss": 3}, "loss must be"),
        ({"loss": "normal", "metric": "rmse"}, "metric must be None unless loss is"),
        ({"metric": "log_loss"}, "metric must be one of 'mae', 'rmse'"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = table(30)
    with pytest.raises(ParameterError, match=message):
        TableRegressor("fast", **parameters).fit(X, y)


def test_what_describes_no_distribution_says_so():
    X, y = table(30)
    model = TableRegressor("fast", metric="mae", random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="metric must be 'rmse' or None for a distribution"):
        model.predict_dist(X)
    bare = regressor(Custom(lambda raw, y: (raw - y).abs().sum(-1), n_raw=1)).fit(X, y)
    assert bare.predict(X).shape == (30,)
    with pytest.raises(ParameterError, match="distribution"):
        bare.predict_dist(X)


# Copies.


@pytest.mark.parametrize("loss", [*LOSSES, "poisson", Poisson()], ids=str)
def test_copies_say_the_same(loss, tmp_path):
    X, y = table(60)
    y = np.abs(y)
    model = regressor(loss, n_members=2).fit(X, y)
    save(model, tmp_path / "model")
    expected = model.predict_interval(X)
    for copy in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict_interval(X), expected)
        assert copy.get_params() == model.get_params()
        for name in ("scale_factor_", "noise_scale_", "min_scale_"):
            assert getattr(copy, name, None) == getattr(model, name, None)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.predict_interval(X), expected)


def test_losses_can_be_searched():
    X, y = table(60)
    grid = {"loss": ["squared_error", "heteroscedastic"]}
    search = GridSearchCV(
        regressor("normal", n_members=1),
        grid,
        cv=2,
        n_jobs=2,
        scoring=lambda m, X, y: m.log_likelihood(X, y),
    )
    assert search.fit(X, y).best_params_["loss"] in grid["loss"]


def test_global_random_states_are_left_alone():
    X, y = table(60)
    before, torch_before = np.random.get_state()[1].copy(), torch.get_rng_state()
    regressor("mixture", random_state=None).fit(X, y).predict_dist(X).sample(2)
    np.testing.assert_array_equal(np.random.get_state()[1], before)
    assert torch.equal(torch.get_rng_state(), torch_before)


# Labels that may be wrong.


def labels(n, wrong, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    true = (X["a"] > 0).astype(int) + (n_classes > 2) * (X["b"] > 0.5)
    flipped = (true + rng.integers(1, n_classes, n)) % n_classes
    return X, true, np.where(rng.random(n) < wrong, flipped, true)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_share_of_wrong_labels_is_learnt(n_classes, tmp_path):
    X, true, seen = labels(1000, 0.2, n_classes)
    model = TableClassifier("fast", label_noise="learn", random_state=0).fit(X, seen)
    assert model.label_noise_ == pytest.approx(0.2, abs=0.06)
    plain = TableClassifier("fast", random_state=0).fit(X, seen)
    assert "label_noise_" not in vars(plain)
    own = np.arange(len(X)), true
    # The clean label is told with more certainty than a label that is wrong in a fifth.
    assert np.median(model.predict_proba(X)[own]) > 0.95
    assert np.median(plain.predict_proba(X)[own]) < 0.9
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.label_noise_ == model.label_noise_


def test_hard_cases_are_no_wrong_labels():
    X, true, _ = labels(1000, 0.0)
    model = TableClassifier("fast", label_noise="learn", random_state=0).fit(X, true)
    assert model.label_noise_ < 0.02


def test_a_known_share_of_wrong_labels_is_used():
    X, true, seen = labels(1000, 0.2)
    model = TableClassifier("fast", label_noise=0.2, random_state=0).fit(X, seen)
    assert np.median(model.predict_proba(X)[np.arange(len(X)), true]) > 0.95
    with pytest.raises(ParameterError, match=r"label_noise must be .* \[0, 0.5\)"):
        TableClassifier("fast", label_noise=0.5).fit(X, seen)
    with pytest.raises(ParameterError, match="label_noise must be 'learn' or"):
        TableClassifier("fast", label_noise="lern").fit(X, seen)
