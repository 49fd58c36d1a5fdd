"""The temperature of a table classifier."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from lamina import load, save
from lamina.estimators import TableClassifier
from lamina.estimators._table_calibration import tempered
from lamina.estimators._table_recipe import held_out as held_rows
from lamina.estimators._table_spread import HeldOut
from lamina.heads import Categorical
from lamina.nn import Network
from lamina.stack import Member


def linear(weights):
    return Network.from_arrays([(np.asarray(weights, float), np.zeros(len(weights)))])


def held_out(X, y, rows, weights=None):
    members = [Member((), validation_rows=held) for held in rows]
    return HeldOut(X, y, weights, members)


def case(rng, n=3000, factor=3.0):
    """Return rows whose labels follow logits, and a network that is too sure of them."""
    X = rng.normal(size=(n, 2))
    truth = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    p = np.exp(log_softmax(X @ truth.T, axis=1))
    y = (rng.random(n)[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return X, y, linear(factor * truth)


def test_one_network_gets_the_most_probable_temperature(rng):
    X, y, network = case(rng)
    rows = np.arange(1000)
    (cooled,), temperature = tempered([network], Categorical(3), held_out(X, y, [rows]))

    def posterior(t):
        logs = log_softmax(network.predict_raw(X[rows]) / np.exp(t), axis=1)
        return -logs[np.arange(1000), y[rows]].sum() + 0.5 * (t / 0.15) ** 2

    exact = np.exp(minimize_scalar(posterior, bracket=(0, 1)).x)
    assert temperature == pytest.approx(exact, rel=1e-3)
    assert 2 < temperature < 3  # the logits are three times too large, the prior holds against it
    np.testing.assert_allclose(
        cooled.predict_raw(X), network.predict_raw(X) / temperature, rtol=1e-6
    )


def test_several_networks_share_what_one_would_get(rng):
    X, y, network = case(rng)
    _, one = tempered([network], Categorical(3), held_out(X, y, [np.arange(1000)]))
    twice = held_out(X, y, [np.arange(500), np.arange(500, 1000)])
    _, two = tempered([network] * 2, Categorical(3), twice)
    assert two == pytest.approx(one**0.5, rel=1e-3)


def test_weights_count(rng):
    X, y, network = case(rng, 200)
    rows = np.arange(100)
    doubled = held_out(X, y, [np.concatenate([rows, rows])])
    heavy = held_out(X, y, [rows], np.full(200, 2.0))
    expected = tempered([network], Categorical(3), doubled)[1]
    assert tempered([network], Categorical(3), heavy)[1] == pytest.approx(expected, rel=1e-5)


def test_without_held_out_rows_or_with_label_noise_nothing_is_divided(rng):
    X, y, network = case(rng, 50)
    assert tempered([network], Categorical(3), held_out(X, y, [None])) == ([network], 1.0)
    noisy = Categorical(3, label_noise=0.1)
    assert tempered([network], noisy, held_out(X, y, [np.arange(9)])) == ([network], 1.0)


def test_a_fitted_classifier_is_tempered_and_saved(rng, tmp_path):
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    model = TableClassifier("fast", n_members=1, random_state=0).fit(X, y)
    assert model.temperature_ != 1
    (network,) = model.networks_
    matrix, loss = model.encoder_.transform(X), model.history_["valid_loss"].min()
    raw = network.predict_raw(matrix).astype(float) * model.temperature_
    held = held_out_rows(model, y)
    before = -log_softmax(raw, axis=1)[held, y[held]].mean()
    assert before == pytest.approx(loss, rel=1e-4)  # the network as it was trained
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").temperature_ == model.temperature_


def held_out_rows(model, y):
    """Return the rows that the first member of a classifier with random_state=0 held out."""
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    return np.flatnonzero(held_rows(0, seed, len(y), y))
