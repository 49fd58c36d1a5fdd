"""Going on from a state: n epochs and then m more are n + m epochs."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from lamina.heads import Bernoulli
from lamina.stack import OPTIMIZERS, Adaptive, InverseScaling, Member, MemberState, train

pytestmark = pytest.mark.usefixtures("backend")

N_SAMPLES = 40
X = np.random.default_rng(1).standard_normal((N_SAMPLES, 3))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1]

STEPWISE = [name for name in OPTIMIZERS if name != "lbfgs"]


def member(max_epochs, seed=0, **settings):
    common = {"activation": "prelu", "batch_size": 16, "learning_rate": 0.01, "dropout": 0.2}
    return Member(**({"hidden_layer_sizes": (5, 4)} | common | settings), seed=seed,
                  max_epochs=max_epochs)  # fmt: skip


def numbers(state):
    return [*state.parameters, *(array for moment in state.moments for array in moment)]


def counters(state):
    return state.epoch, state.step, state.seen, state.lr_scale


def assert_same(one, two):
    assert counters(one) == counters(two)
    for a, b in zip(numbers(one), numbers(two), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("optimizer", STEPWISE)
def test_n_and_m_epochs_are_n_plus_m(optimizer, dtype):
    def stack(n):
        settings = {"optimizer": optimizer, "weight_decay": 0.01, "alpha": 0.1, "clip_norm": 1.0}
        return [member(n, seed, **settings) for seed in range(3)]

    whole = train(stack(7), X, Y, dtype=dtype)
    first = train(stack(3), X, Y, dtype=dtype)
    second = train(stack(4), X, Y, dtype=dtype, states=first.states)
    for k in range(3):
        assert_same(second.states[k], whole.states[k])
    for name in ("member", "epoch", "train_loss", "learning_rate"):
        expected = whole.history[whole.history["epoch"] > 3][name]
        np.testing.assert_array_equal(second.history[name], expected)
    assert second.n_epochs == [4, 4, 4]
    assert min(second.best_epoch) > 3


@pytest.mark.parametrize(
    "settings",
    [
        {"schedule": "invscaling"},
        {"schedule": InverseScaling(0.2), "rows": np.arange(5, 33)},
        {"shuffle": False},
        {"batch_size": 100},
        {"batch_size": 1},
        {"sample_weight": np.linspace(0, 2, N_SAMPLES)},
        {"head": Bernoulli()},
        {"hidden_layer_sizes": ()},
    ],
)
def test_other_settings_go_on_too(settings):
    settings = {"activation": "tanh"} | settings
    y = (Y > 0).astype(float)
    whole = train([member(5, **settings)], X, y, dtype="float64")
    first = train([member(2, **settings)], X, y, dtype="float64")
    second = train([member(3, **settings)], X, y, dtype="float64", states=first.states)
    assert_same(second.states[0], whole.states[0])


def test_what_a_state_counts():
    (state,) = train([member(3, rows=np.arange(36))], X, Y).states
    assert isinstance(state, MemberState)
    # 36 rows in batches of 16 are three steps an epoch.
    assert counters(state) == (3, 9, 108, 1.0)
    shapes = [(5, 3), (4, 5), (1, 4), (5,), (4,), (1,), (5,), (4,)]
    assert [a.shape for a in state.parameters] == shapes
    assert [[a.shape for a in moment] for moment in state.moments] == [shapes] * 2


def test_a_divided_rate_stays_divided():
    settings = {"schedule": Adaptive(), "patience": 0, "tol": 9.0, "dropout": 0.0}
    first = train([member(4, **settings)], X, Y)
    # The first epoch is an improvement on nothing.
    assert first.states[0].lr_scale == pytest.approx(1 / 5**3)
    second = train([member(1, **settings)], X, Y, states=first.states)
    assert second.history["learning_rate"].tolist() == [pytest.approx(0.01 / 5**3)]


def test_some_members_may_begin_anew():
    first = train([member(2, seed) for seed in range(3)], X, Y)
    states = [first.states[0], None, first.states[2]]
    result = train([member(2, seed) for seed in range(3)], X, Y, states=states)
    assert [state.epoch for state in result.states] == [4, 2, 4]
    assert_same(result.states[1], first.states[1])
    assert result.history.groupby("member")["epoch"].min().tolist() == [3, 1, 3]


def test_another_place_in_the_stack_changes_nothing():
    first = train([member(2, seed) for seed in range(4)], X, Y)
    back = train([member(2, s) for s in (3, 2, 1, 0)], X, Y, states=first.states[::-1])
    straight = train([member(2, s) for s in range(4)], X, Y, states=first.states)
    for one, two in zip(straight.states, back.states[::-1], strict=True):
        assert_same(one, two)


def test_states_are_not_touched():
    first = train([member(2), member(2, optimizer="lbfgs", activation="tanh")], X, Y)
    before = copy.deepcopy(first.states)
    second = train([member(2), member(2, optimizer="lbfgs", activation="tanh")], X, Y,
                   states=first.states)  # fmt: skip
    for one, two in zip(before, first.states, strict=True):
        assert_same(one, two)
    assert not np.array_equal(second.states[0].parameters[0], first.states[0].parameters[0])


def test_lbfgs_goes_on_from_the_weights():
    settings = {"optimizer": "lbfgs", "activation": "tanh", "dropout": 0.0}
    first = train([member(4, **settings)], X, Y)
    second = train([member(4, **settings)], X, Y, states=first.states)
    assert first.states[0].moments == []
    assert second.states[0].epoch == 8
    assert second.history["epoch"].tolist() == [5, 6, 7, 8]
    assert second.history["train_loss"].iloc[0] < first.history["train_loss"].iloc[-1]


def test_a_state_is_of_the_last_epoch_where_the_network_is_of_the_best():
    settings = {"rows": np.arange(10), "validation_rows": np.arange(10, 40), "learning_rate": 0.05}
    result = train([member(60, dropout=0.0, **settings)], X, Y)
    assert result.best_epoch[0] < 60
    last = result.states[0].parameters[0]
    assert not np.array_equal(result.networks[0].layers()[0][0], last)


def test_the_end_of_a_schedule_is_not_passed():
    settings = {"schedule": "cosine"}
    first = train([member(4, **settings)], X, Y)
    more = train([member(4, **settings)], X, Y, states=first.states)
    assert more.history["epoch"].tolist() == [5, 6, 7, 8]
    assert (more.history["learning_rate"] < 0.1 * 0.01).all()
    assert (more.history["learning_rate"] > 0).all()
