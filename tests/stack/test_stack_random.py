"""Random stacks: every member equals its plain loop, and extremes do no harm."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from lamina._errors import DivergedWarning
from lamina.heads import Bernoulli, Categorical, Custom, Normal, Poisson
from lamina.nn import ACTIVATIONS
from lamina.stack import SGD, Adam, AdamW, Member, Muon, RMSprop, train

pytestmark = pytest.mark.usefixtures("backend")

OPTIMIZERS = [
    SGD(), SGD(0.5, False), Adam(), AdamW(0.8, 0.9, 1e-3), RMSprop(), RMSprop(0.9, 0.5, 1e-3),
    Muon(), Muon(0.5, False, 3, 0.2),
]  # fmt: skip


def log_cosh(raw, y):
    return (raw - y).cosh().log().sum(-1)


def problem(rng):
    """Return inputs, a target, and heads that fit it."""
    n, d = int(rng.integers(1, 40)), int(rng.choice([1, 2, 3, 8, 17]))
    y, heads = [
        (np.floor(np.exp(rng.normal(size=n))), [Normal(), Poisson(), Custom(log_cosh)]),
        (rng.integers(0, 2, n), [Bernoulli(), Categorical(2), Categorical(3), Normal()]),
        (rng.normal(size=(n, 2)), [Normal(), Custom(log_cosh)]),
    ][rng.integers(3)]
    return rng.standard_normal((n, d)), y, heads


def settings_of(rng, n, heads):
    """Return random settings of a member; some weights and rows count nothing or twice."""
    rows = [None, rng.permutation(n)[: rng.integers(1, n + 1)], rng.integers(0, n, n + 3)]
    weight = [None, rng.uniform(0.1, 2, n), rng.integers(0, 3, n) + (np.arange(n) == 0)]
    depth = int(rng.integers(0, 4))
    return {
        "hidden_layer_sizes": [int(rng.choice([1, 2, 3, 5, 8, 17])) for _ in range(depth)],
        "activation": [str(rng.choice([*ACTIVATIONS])) for _ in range(depth)],
        "head": heads[rng.integers(len(heads))],
        "init": str(rng.choice(["torch", "glorot", "he", "sklearn", "orthogonal"])),
        "seed": int(rng.integers(2**40)),
        "rows": rows[rng.integers(3)],
        "sample_weight": weight[rng.integers(3)],
        "batch_size": int(rng.choice([1, 2, 3, 7, 8, 50])),
        "optimizer": OPTIMIZERS[rng.integers(len(OPTIMIZERS))],
        "learning_rate": float(10 ** rng.uniform(-4, -2)),
        "weight_decay": float(rng.choice([0, 0.01, 0.3])),
        "alpha": float(rng.choice([0, 0.1, 2.0])),
        "dropout": float(rng.choice([0, 0.2, 0.6])),
        "clip_norm": [None, 0.1, 5.0][rng.integers(3)],
        "shuffle": bool(rng.integers(2)),
        "max_epochs": 3,
    }


def random_stack(rng):
    """Return data and up to four members, of which some can travel together."""
    X, y, heads = problem(rng)
    n = len(X)
    base = settings_of(rng, n, heads)
    members = []
    for _ in range(rng.integers(1, 5)):
        one = settings_of(rng, n, heads)
        if rng.random() < 0.6:
            shared = ("optimizer", "batch_size", "shuffle", "head", "rows", "activation")
            one |= {name: base[name] for name in shared}
            one["hidden_layer_sizes"] = [
                max(1, size + int(rng.integers(-1, 2))) for size in base["hidden_layer_sizes"]
            ]
        rows = np.arange(n) if one["rows"] is None else one["rows"]
        if one["sample_weight"] is not None and not one["sample_weight"][rows].any():
            one["sample_weight"] = None
        members.append(Member(**one))
    return X, y, members


@pytest.mark.parametrize("seed", range(40))
def test_members_of_random_stacks_equal_plain_loops(seed, plain):
    X, y, members = random_stack(np.random.default_rng(seed))
    result = train(members, X, y, dtype="float64")
    for k, member in enumerate(members):
        oracle = plain(member, X, y)
        for ours, theirs in zip(result.states[k].parameters, oracle.run(), strict=True):
            np.testing.assert_allclose(ours, theirs.reshape(ours.shape), rtol=1e-10, atol=1e-10)
        mine = result.history[result.history["member"] == k]
        np.testing.assert_allclose(mine["train_loss"], oracle.losses, rtol=1e-10, atol=1e-10)


def test_three_hundred_units_beside_one(plain, rng):
    # With two rows a step the padding is cheap enough for one group.
    X, y = rng.standard_normal((11, 4)), rng.standard_normal(11)
    members = [
        Member((width,), "softplus", seed=width, batch_size=2, max_epochs=6, dropout=0.1)
        for width in (300, 1)
    ]
    groups = set()
    result = train(members, X, y, dtype="float64", callbacks=[lambda r: groups.add(r.n_groups)])
    assert groups == {1}
    for k, member in enumerate(members):
        for ours, theirs in zip(
            result.states[k].parameters, plain(member, X, y).run(), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


EXTREMES = {
    "huge inputs": ({}, 1e30, 1.0),
    "huge targets": ({}, 1.0, 1e30),
    "huge rate": ({"learning_rate": 1e30}, 1.0, 1.0),
    "tiny rate": ({"learning_rate": 1e-300}, 1.0, 1.0),
    "huge penalty": ({"alpha": 1e30}, 1.0, 1.0),
    "tiny inputs": ({}, 1e-40, 1.0),
    "tiny weights": ({"sample_weight": np.full(20, 1e-30)}, 1.0, 1.0),
    "huge weights": ({"sample_weight": np.full(20, 1e30)}, 1.0, 1.0),
    "tiny clip": ({"clip_norm": 1e-30}, 1.0, 1.0),
}


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "rmsprop", "muon"])
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_end_in_finite_weights(name, optimizer, rng):
    settings, of_x, of_y = EXTREMES[name]
    X, y = of_x * rng.standard_normal((20, 3)), of_y * rng.standard_normal(20)
    member = Member((4, 3), optimizer=optimizer, batch_size=8, max_epochs=3, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergedWarning)
        result = train([member, Member((4, 3), optimizer=optimizer, max_epochs=3)], X, y)
    assert set(result.status) <= {"epochs", "diverged"}
    assert all(
        np.isfinite(a).all() for net in result.networks for layer in net.layers() for a in layer
    )
    if name.startswith("tiny"):
        assert result.status == ["epochs", "epochs"]


@pytest.mark.parametrize("rate", [1e-300, 1e-30])
def test_a_rate_too_small_for_the_weights_moves_nothing(rate, rng):
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    start, end = (
        train([Member((4,), learning_rate=rate, max_epochs=n)], X, y).networks[0] for n in (0, 3)
    )
    for a, b in zip(start.layers(), end.layers(), strict=True):
        np.testing.assert_array_equal(a[0], b[0])


def test_weights_scale_out_of_the_mean(rng):
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    weight = rng.uniform(0.5, 2, 20)
    one, two = (
        train([Member((4,), sample_weight=w, max_epochs=5, batch_size=8)], X, y, dtype="float64")
        for w in (weight, weight * 2.0**20)
    )
    for a, b in zip(one.states[0].parameters, two.states[0].parameters, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-14)
