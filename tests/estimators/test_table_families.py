"""How families of members share an ensemble."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from lamina.estimators._table_families import family_weights, shares, widened
from lamina.heads import Categorical, Normal
from lamina.nn import Network


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=6), st.integers(0, 30))
def test_shares_are_whole_numbers_next_to_the_exact_ones(weights, n_members):
    weights = np.array(weights) / np.sum(weights)
    counts = np.array(shares(weights, n_members))
    assert counts.sum() == n_members
    heard = (weights >= 1 / 8) | (weights == weights.max())
    assert (counts[~heard] == 0).all()
    exact = weights[heard] / weights[heard].sum() * n_members
    assert (np.abs(counts[heard] - exact) < 1).all()


def test_a_family_of_little_weight_is_not_heard():
    assert shares(np.array([0.6, 0.1, 0.3]), 8) == [5, 0, 3]
    assert shares(np.full(10, 0.1), 10) == [1] * 10


def folds(values, n=2):
    return np.array_split(values, n)


def test_weights_of_least_squares_are_those_of_constrained_regression(rng):
    y = rng.normal(size=(4000, 1))
    noises = [0.3, 0.6, 3.0]
    predictions = [y + noise * rng.normal(size=y.shape) for noise in noises]
    found = family_weights(Normal(), [folds(p) for p in predictions], folds(y), None)
    design = np.hstack(predictions)
    exact = minimize(
        lambda w: np.mean((design @ w - y[:, 0]) ** 2),
        np.full(3, 1 / 3),
        method="SLSQP",
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
    )
    np.testing.assert_allclose(found, exact.x, atol=0.01)


def test_weights_of_classes_maximise_the_likelihood_of_the_mixture(rng):
    y = rng.integers(0, 2, 4000)
    sure = np.where(np.arange(4000) < 3000, 2.0, 0.0)[:, None] * (np.eye(2)[y] - 0.5)
    wrong = sure[rng.permutation(4000)]
    found = family_weights(Categorical(2), [folds(sure), folds(wrong)], folds(y), None)

    def density(logits):
        return (np.exp(logits) / np.exp(logits).sum(1, keepdims=True))[np.arange(4000), y]

    grid = np.linspace(0.001, 0.999, 999)
    likelihood = [np.log(w * density(sure) + (1 - w) * density(wrong)).sum() for w in grid]
    assert found[0] == pytest.approx(grid[np.argmax(likelihood)], abs=0.01)


def test_a_handful_of_rows_leaves_equal_weights(rng):
    y = rng.normal(size=(2, 1))
    good, bad = y + 0.1, y + 0.2
    few = family_weights(Normal(), [[good], [bad]], [y], None)
    many = family_weights(Normal(), [[good] * 500, [bad] * 500], [y] * 500, None)
    assert 0.5 < few[0] < 0.8
    assert many[0] > 0.95


def test_rows_without_weight_do_not_count(rng):
    y = rng.normal(size=(200, 1))
    one, other = y + rng.normal(size=y.shape), y + rng.normal(size=y.shape)
    one[100:], other[100:] = 50.0, y[100:]
    counted = np.repeat([1.0, 0.0], 100)
    kept = family_weights(Normal(), [folds(one), folds(other)], folds(y), folds(counted))
    alone = family_weights(Normal(), [[one[:100]], [other[:100]]], [y[:100]], None)
    np.testing.assert_allclose(kept, alone, atol=1e-6)


def test_a_widened_network_says_the_same(rng):
    network = Network((3, 5, 2), "prelu", random_state=0)
    columns = np.array([1, 4, 5])
    X = rng.normal(size=(20, 7))
    wide = widened(network, columns, 7)
    np.testing.assert_allclose(
        wide.predict_raw(X), network.predict_raw(X[:, columns]), rtol=1e-4, atol=1e-5
    )
    assert widened(network, np.arange(3), 3) is network
