"""A member's bits do not depend on what becomes of those it trains with."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from lamina._errors import DivergedWarning
from lamina.nn import ACTIVATIONS
from lamina.stack import Adaptive, Member, train

pytestmark = pytest.mark.usefixtures("backend")

N_SAMPLES, N_FEATURES = 131, 5
COLUMNS = ["epoch", "train_loss", "valid_loss", "valid_score", "learning_rate"]
HUGE = {"float32": 1e30, "float64": 1e200}


def data():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N_SAMPLES, N_FEATURES))
    return X, np.sin(X[:, 0]) + 0.1 * X[:, 1], rng.uniform(0.5, 2.0, N_SAMPLES)


def member(i, sizes=(9,), activation="tanh", **settings):
    """Return a member of five steps an epoch, the last of 3 rows."""
    common = {"batch_size": 32, "max_epochs": 6, "learning_rate": 0.003, "keep_best": False}
    return Member(sizes, activation, seed=i, **(common | settings))


def stacks():
    """Return stacks of one group each, in which the first members will be made to diverge."""
    weight = data()[2]
    everywhere, full = range(4), {"batch_size": 500}
    stacks = {
        f"activation {name}": [member(i, (9, 3), name, **full) for i in everywhere]
        for name in ACTIVATIONS
    }
    for i, optimizer in enumerate(("sgd", "adam", "adamw", "rmsprop", "muon")):
        stacks[f"optimizer {optimizer}"] = [
            member(k, (9, 7 - 3 * (i % 2)), optimizer=optimizer, weight_decay=0.01)
            for k in everywhere
        ]
    mixed = ["gelu", "gelu", "sigmoid", "tanh"]
    stacks |= {
        "activations": [member(i, activation=mixed[i]) for i in everywhere],
        "widths": [member(i, (20 - i,), ["softplus", "tanh"][i % 2]) for i in everywhere],
        "weights": [member(i, sample_weight=None if i else weight) for i in everywhere],
        "counts": [member(i, rows=np.arange(131 - (i > 0))) for i in everywhere],
        "last batches": [member(i, rows=np.arange(127 if i == 0 else 97 + i)) for i in everywhere],
        "held out": [member(i, validation_rows=np.arange(20 + (i == 0))) for i in everywhere],
        "some held out": [
            member(i, validation_rows=np.arange(20) if i else None) for i in everywhere
        ],
        "folds": [member(i, validation_rows=np.arange(20 + i, 47)) for i in everywhere],
        "penalties": [
            member(i, alpha=[0.1, 0.0, 0.01, 0.01][i], clip_norm=[None, 1.0][i % 2])
            for i in everywhere
        ],
        "dropout": [member(i, dropout=0.3 * (i < 2)) for i in everywhere],
        "full batch": [member(i, rows=np.arange(100 + 5 * i), **full) for i in everywhere],
        "same rows": [
            member(i, rows=None if i else np.arange(N_SAMPLES), **full) for i in everywhere
        ],
    }
    return stacks


def figures(result, k):
    """Return everything about one member of a result."""
    history = result.history[result.history["member"] == k][COLUMNS].to_numpy()
    return [history, *(p.detach().numpy() for p in result.networks[k].parameters())]


def assert_same_bits(one, two, k):
    for a, b in zip(figures(one, k), figures(two, k), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", stacks())
def test_members_keep_their_bits_when_others_diverge_or_finish(name, dtype):
    X, y, _ = data()
    first, second, *others = stacks()[name]
    groups = set()
    runs = []
    for rate in (1e-5, HUGE[dtype]):
        sick = replace(first, learning_rate=rate, clip_norm=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergedWarning)
            result = train(
                [sick, replace(second, max_epochs=4), *others],
                X,
                y,
                dtype=dtype,
                callbacks=[lambda report: groups.add(report.n_groups)],
            )
        runs.append(result)
    healthy, ill = runs
    assert groups == {1}
    assert healthy.status == ["epochs"] * 4
    assert ill.status == ["diverged", "epochs", "epochs", "epochs"]
    for k in (1, 2, 3):
        assert_same_bits(healthy, ill, k)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "rmsprop", "muon"])
def test_the_last_runner_keeps_its_bits_whenever_the_others_stop(optimizer, dtype):
    X, y, _ = data()
    held_out = np.arange(100, N_SAMPLES)

    def run(rates):
        members = [
            member(
                i,
                (9, 4),
                optimizer=optimizer,
                learning_rate=rate,
                rows=np.arange(90 + i),
                validation_rows=held_out,
                keep_best="auto",
                max_epochs=25,
                patience=i if rate != 0.003 else None,
                tol=0.01,
                schedule=Adaptive() if i == 2 else None,
            )
            for i, rate in enumerate(rates)
        ]
        return train(members, X, y, dtype=dtype)

    first, second = run([0.02, 0.003, 0.1, 0.01]), run([0.003 * 1.5, 0.003, 0.003, 0.05])
    stops = [[r.n_epochs[k] for k in (0, 2, 3)] for r in (first, second)]
    assert stops[0] != stops[1]
    assert min(stops[0]) < max(stops[0])
    assert first.n_epochs[1] == 25
    assert_same_bits(first, second, 1)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_threads_change_no_bit(n_threads):
    X, y, _ = data()
    members = [member(i, (9, 7), ["tanh", "gelu"][i % 2], dropout=0.1) for i in range(3)]
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        result = train(members, X, y)
        assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    one = train(members, X, y)
    for k in range(3):
        assert_same_bits(one, result, k)


def test_the_same_object_twice_is_two_equal_members():
    X, y, _ = data()
    one = member(4, dropout=0.2)
    result = train([one, member(1), one], X, y)
    alone = train([one, one], X, y)
    for a, b, c in zip(figures(result, 0), figures(result, 2), figures(alone, 1), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
