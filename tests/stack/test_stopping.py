"""Who stops when, and which epoch is the best: against scikit-learn's rule in a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina._errors import DivergedWarning
from lamina.stack import Adaptive, Member, train
from lamina.stack._ledger import STATUSES, Ledger, judge, monitored
from lamina.stack._task import make_task

each_backend = pytest.mark.usefixtures("backend")

VALUES = st.lists(
    st.one_of(st.integers(-4, 4).map(lambda n: n / 4), st.sampled_from([math.nan, math.inf, 0.1])),
    min_size=1,
    max_size=30,
)
SETTINGS = st.fixed_dictionaries(
    {
        "tol": st.sampled_from([0.0, 0.25, 0.1, 1.0]),
        "patience": st.sampled_from([None, 0, 1, 2, 5, 2.5, math.inf]),
        "schedule": st.sampled_from([None, Adaptive(5.0, 1e-6), Adaptive(2.0, 0.01)]),
        "learning_rate": st.sampled_from([1e-6, 1e-3, 0.02, 0.1]),
        "max_epochs": st.sampled_from([1, 7, 30]),
    }
)


def plain_rule(losses, tol, patience, schedule, learning_rate, max_epochs):
    """Return status, epochs run, best epoch and final rate, as scikit-learn's loop would.

    ``MLPClassifier._update_no_improvement_count`` and the end of ``_fit_stochastic``, where a
    loss that is not finite is no improvement.
    """
    best, best_epoch, count = math.inf, 0, 0
    for epoch, loss in enumerate(losses, 1):
        if not math.isfinite(loss) or loss > best - tol:
            count += 1
        else:
            count = 0
        if loss < best:
            best, best_epoch = loss, epoch
        if patience is not None and count > patience:
            # SGDOptimizer.trigger_stopping
            if schedule is None or learning_rate <= schedule.minimum:
                return "converged", epoch, best_epoch, learning_rate
            learning_rate /= schedule.divisor
            count = 0
        if epoch >= max_epochs:
            return "epochs", epoch, best_epoch, learning_rate
    return "running", len(losses), best_epoch, learning_rate


def judged(series, settings):
    """Return the same from the engine, for members that are judged together."""
    tasks = [make_task(i, Member((), **one), 5, 1, 1) for i, one in enumerate(settings)]
    ledger = Ledger.empty(len(tasks))
    for epoch in range(max(map(len, series))):
        going = [
            t
            for t, values in zip(tasks, series, strict=True)
            if ledger.status[t.index] == 0 and epoch < len(values)
        ]
        if not going:
            break
        ids = [task.index for task in going]
        ledger.epoch[ids] += 1
        ledger.n_epochs[ids] += 1
        value = np.array([series[i][epoch] for i in ids])
        judge(ledger, going, value, np.zeros(len(ids), dtype=bool))
    return [
        (
            STATUSES[ledger.status[i]],
            ledger.n_epochs[i],
            ledger.best_epoch[i],
            one["learning_rate"] * ledger.lr_scale[i],
        )
        for i, one in enumerate(settings)
    ]


@given(st.lists(st.tuples(VALUES, SETTINGS), min_size=1, max_size=3))
def test_judge_equals_a_plain_loop(cases):
    found = judged([losses for losses, _ in cases], [settings for _, settings in cases])
    for (losses, settings), ours in zip(cases, found, strict=True):
        status, n_epochs, best_epoch, rate = plain_rule(losses, **settings)
        assert ours[:3] == (status, n_epochs, best_epoch)
        assert ours[3] == pytest.approx(rate, rel=1e-12)


def test_a_member_that_is_not_finite_has_diverged_whatever_its_value():
    tasks = [make_task(i, Member((), patience=0), 5, 1, 1) for i in range(3)]
    ledger = Ledger.empty(3)
    gained = judge(ledger, tasks, np.array([1.0, 1.0, np.nan]), np.array([False, True, True]))
    assert gained.tolist() == [True, False, False]
    assert [STATUSES[s] for s in ledger.status] == ["running", "diverged", "diverged"]
    assert ledger.best_epoch.tolist() == [0, 0, 0]
    assert ledger.best.tolist() == [1.0, math.inf, math.inf]


@pytest.mark.parametrize(
    ("monitor", "held_out", "expected"),
    [
        ("auto", False, 1.0),
        ("auto", True, 2.0),
        ("train_loss", True, 1.0),
        ("valid_loss", True, 2.0),
        ("valid_score", True, -3.0),
    ],
)
def test_what_is_monitored(monitor, held_out, expected):
    rows = np.arange(2) if held_out else None
    task = make_task(0, Member((), monitor=monitor, validation_rows=rows), 5, 1, 1)
    value = monitored([task], *(np.array([v]) for v in (1.0, 2.0, 3.0)))
    assert value.tolist() == [expected]


def noise(n=60):
    """Return data in which there is little to learn, so that validation soon gets worse."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n, 8))
    return X, rng.standard_normal(n) + 0.3 * X[:, 0]


def overfitted(**settings):
    """Return result, history and every epoch's weights of a member and its neighbour."""
    X, y = noise()
    common = {
        "rows": np.arange(40),
        "validation_rows": np.arange(40, 60),
        "learning_rate": 0.02,
        "batch_size": 10,
        "max_epochs": 40,
    }
    members = [Member((30,), "tanh", seed=i, **(common | settings)) for i in range(2)]
    epochs = []

    def keep(report):
        if 0 in report.members:
            epochs.append(report.networks()[report.members.index(0)].layers())

    result = train(members, X, y, dtype="float64", callbacks=[keep])
    history = result.history
    return result, history[history["member"] == 0].reset_index(drop=True), epochs


def same_layers(one, two):
    return all(
        np.array_equal(a, b)
        for pair in zip(one, two, strict=True)
        for a, b in zip(*pair, strict=True)
    )


@each_backend
@pytest.mark.parametrize(
    ("monitor", "best_of"),
    [
        ("auto", lambda h: h["valid_loss"].argmin()),
        ("valid_loss", lambda h: h["valid_loss"].argmin()),
        ("valid_score", lambda h: h["valid_score"].argmax()),
        ("train_loss", lambda h: h["train_loss"].argmin()),
    ],
)
@pytest.mark.parametrize("patience", [None, 3])
def test_the_weights_of_the_best_epoch_are_returned(monitor, best_of, patience):
    result, history, epochs = overfitted(monitor=monitor, patience=patience)
    best = int(best_of(history))
    assert result.best_epoch[0] == best + 1
    assert same_layers(result.networks[0].layers(), epochs[best])
    if monitor != "train_loss":
        assert best + 1 < len(history)
        assert not same_layers(result.networks[0].layers(), epochs[-1])
    # The state is that of the last epoch, also where an earlier one is the result.
    np.testing.assert_array_equal(result.states[0].parameters[0], epochs[-1][0][0])


@each_backend
@pytest.mark.parametrize(
    ("settings", "keeps"),
    [
        ({}, True),
        ({"keep_best": False}, False),
        ({"keep_best": True}, True),
        ({"validation_rows": None, "learning_rate": 0.5}, False),
        ({"validation_rows": None, "keep_best": True, "learning_rate": 0.5}, True),
    ],
)
def test_keep_best_chooses_best_or_last(settings, keeps):
    result, history, epochs = overfitted(**settings)
    assert result.best_epoch[0] < len(history) == 40
    expected = epochs[result.best_epoch[0] - 1 if keeps else -1]
    assert same_layers(result.networks[0].layers(), expected)


@each_backend
def test_patience_stops_after_as_many_epochs_without_improvement():
    result, history, _ = overfitted(patience=3)
    assert result.status[0] == "converged"
    assert result.n_epochs[0] == len(history) == result.best_epoch[0] + 4
    assert plain_rule(history["valid_loss"], 0.0, 3, None, 0.02, 40)[:3] == (
        "converged",
        result.n_epochs[0],
        result.best_epoch[0],
    )


@each_backend
def test_an_adaptive_rate_falls_until_it_is_small():
    schedule = Adaptive(divisor=10.0, minimum=1e-4)
    result, history, _ = overfitted(
        patience=2, tol=0.05, schedule=schedule, max_epochs=400, learning_rate=0.1
    )
    expected = plain_rule(history["valid_loss"], 0.05, 2, schedule, 0.1, 400)
    assert (result.status[0], result.n_epochs[0], result.best_epoch[0]) == expected[:3]
    assert result.status[0] == "converged"
    rates = history["learning_rate"].unique()
    np.testing.assert_allclose(rates, [0.1, 0.01, 1e-3, 1e-4][: len(rates)], rtol=1e-12)
    assert len(rates) == 4
    assert 0.1 * result.states[0].lr_scale == pytest.approx(1e-4)


@each_backend
def test_a_score_that_is_no_number_ends_by_patience():
    # R² of a single row does not exist.
    X, y = noise()
    member = Member((3,), validation_rows=[5], monitor="valid_score", patience=4, max_epochs=50)
    result = train([member], X, y)
    assert result.history["valid_score"].isna().all()
    assert result.status == ["converged"]
    assert result.n_epochs == [5]
    assert result.best_epoch == [0]
    last = result.states[0].parameters
    np.testing.assert_array_equal(result.networks[0].layers()[0][0], last[0])


@each_backend
def test_no_epochs_return_the_first_weights():
    X, y = noise()
    layers = [(np.ones((3, 8)), np.zeros(3)), (np.ones((1, 3)), np.ones(1))]
    members = [Member((3,), init=layers, max_epochs=n) for n in (0, 2)]
    result = train(members, X, y, dtype="float64")
    assert result.status == ["epochs", "epochs"]
    assert result.n_epochs == [0, 2]
    assert result.best_epoch[0] == 0
    assert same_layers(result.networks[0].layers(), layers)
    assert result.history["member"].tolist() == [1, 1]
    alone = train([members[0], Member((3,), optimizer="lbfgs", max_epochs=0)], X, y)
    assert alone.status == ["epochs", "epochs"]
    assert len(alone.history) == 0


@each_backend
@pytest.mark.parametrize(
    ("n", "names"), [(1, "0"), (3, "0, 1, 2"), (12, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more")]
)
def test_members_that_diverge_are_named(n, names):
    X, y = noise()
    members = [Member((3,), seed=i, optimizer="sgd", learning_rate=1e20) for i in range(n)]
    sentence = (
        f"^{n} of {n + 1} members diverged and were stopped: {names}\\. "
        r"Lower their learning rate, set clip_norm, or rescale X and y\.$"
    )
    with pytest.warns(DivergedWarning, match=sentence) as caught:
        result = train([*members, Member((3,), max_epochs=3)], X, y)
    assert caught[0].filename == __file__
    assert result.status == ["diverged"] * n + ["epochs"]
    assert all(np.isfinite(W).all() for net in result.networks for W, _ in net.layers())


@each_backend
def test_a_diverged_member_has_the_weights_before():
    X, y = noise()
    calm = Member((3,), optimizer="sgd", learning_rate=1e-3, max_epochs=2, batch_size=10)
    (first,) = train([calm], X, y).states
    with pytest.warns(DivergedWarning):
        result = train([Member(**{**vars(calm), "learning_rate": 1e25})], X, y, states=[first])
    assert result.n_epochs == [1]
    for a, b in zip(result.states[0].parameters, first.parameters, strict=True):
        np.testing.assert_array_equal(a, b)
