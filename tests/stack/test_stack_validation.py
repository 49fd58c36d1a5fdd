"""Figures on held-out rows, each member on its own, against scikit-learn's metrics."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.metrics import accuracy_score, log_loss, r2_score

from lamina.heads import Bernoulli, Categorical, Custom, Normal, Poisson
from lamina.stack import Member, train

pytestmark = pytest.mark.usefixtures("backend")

N_SAMPLES, N_FEATURES = 90, 4
X = np.random.default_rng(1).standard_normal((N_SAMPLES, N_FEATURES))
REAL = np.sin(X[:, 0]) + 0.3 * X[:, 1] * X[:, 2]
TWO_REALS = np.stack([REAL, 10 + 3 * X[:, 3]], axis=1)
LABELS = (REAL > 0).astype(float)
TWO_LABELS = (np.stack([REAL, X[:, 3]], axis=1) > 0).astype(float)
CLASSES = np.digitize(REAL, [-0.4, 0.5])
COUNTS = np.floor(np.exp(0.5 * X[:, 0] + 0.5))
WEIGHTS = np.where(np.arange(N_SAMPLES) % 5 == 0, 0.0, np.linspace(0.1, 3, N_SAMPLES))


def proportion(raw):
    return 1 / (1 + np.exp(-raw))


def softmax(raw):
    parts = np.exp(raw - raw.max(1, keepdims=True))
    return parts / parts.sum(1, keepdims=True)


def mean(errors, weight):
    return np.average(errors, weights=weight)


def multilabel_loss(raw, y, weight):
    p = proportion(raw)
    return mean(-(y * np.log(p) + (1 - y) * np.log(1 - p)).sum(1), weight)


CASES = {
    "normal": (
        Normal(),
        REAL,
        lambda raw, y, w: mean(-stats.norm.logpdf(y, raw[:, 0]), w),
        lambda raw, y, w: r2_score(y, raw[:, 0], sample_weight=w),
    ),
    "two targets": (
        Normal(),
        TWO_REALS,
        lambda raw, y, w: mean(-stats.norm.logpdf(y, raw).sum(1), w),
        lambda raw, y, w: r2_score(y, raw, sample_weight=w),
    ),
    "bernoulli": (
        Bernoulli(),
        LABELS,
        lambda raw, y, w: log_loss(y, proportion(raw[:, 0]), sample_weight=w, labels=[0, 1]),
        lambda raw, y, w: accuracy_score(y, raw[:, 0] > 0, sample_weight=w),
    ),
    "two labels": (
        Bernoulli(),
        TWO_LABELS,
        multilabel_loss,
        lambda raw, y, w: accuracy_score(y, raw > 0, sample_weight=w),
    ),
    "categorical": (
        Categorical(),
        CLASSES,
        lambda raw, y, w: log_loss(y, softmax(raw), sample_weight=w, labels=[0, 1, 2]),
        lambda raw, y, w: accuracy_score(y, raw.argmax(1), sample_weight=w),
    ),
    "poisson": (
        Poisson(),
        COUNTS,
        lambda raw, y, w: mean(-stats.poisson.logpmf(y, np.exp(raw[:, 0])), w),
        lambda raw, y, w: r2_score(y, np.exp(raw[:, 0]), sample_weight=w),
    ),
    "custom": (
        Custom(lambda raw, y: (raw - y).abs().sum(-1)),
        TWO_REALS,
        lambda raw, y, w: mean(np.abs(raw - y).sum(1), w),
        lambda raw, y, w: -mean(np.abs(raw - y).sum(1), w),
    ),
}
HELD_OUT = {
    "shared": [np.arange(60, 90)] * 3,
    "equal but other objects": [np.arange(60, 90), np.arange(60, 90), list(range(60, 90))],
    "folds": [np.arange(0, 30), np.arange(30, 60), np.arange(60, 90)],
    "of unequal size": [np.arange(0, 47), np.arange(40, 43), np.arange(60, 89)],
    "rows twice": [np.array([5, 5, 5, 9, 11]), np.arange(60, 90), np.array([1, 2, 1])],
    "some without": [None, np.arange(60, 90), None],
}


def stack(head, held_out, weight=None, **settings):
    """Return three members of one group that train on the rows they are not held out on."""
    common = {"learning_rate": 0.01, "max_epochs": 4, "keep_best": False, "dropout": 0.2}
    members = []
    for i, rows in enumerate(held_out):
        others = None if rows is None else np.setdiff1d(np.arange(N_SAMPLES), rows)[: 40 + i]
        members.append(
            Member(
                (5 + i, 4),
                ["tanh", "softplus", "relu"][i],
                head,
                seed=i,
                rows=np.arange(40 + i) if others is None else others,
                validation_rows=rows,
                sample_weight=weight,
                batch_size=12,
                **(common | settings),
            )
        )
    return members


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", HELD_OUT)
@pytest.mark.parametrize("case", CASES)
def test_loss_and_score_equal_scikit_learn(case, rows, weighted):
    head, y, loss_of, score_of = CASES[case]
    held_out = HELD_OUT[rows]
    members = stack(head, held_out, WEIGHTS if weighted else None)
    reports = []

    def check(report):
        nets = dict(zip(report.members, report.networks(), strict=True))
        for k, i in enumerate(report.members):
            if held_out[i] is None:
                assert np.isnan([report.valid_loss[k], report.valid_score[k]]).all()
                continue
            own = np.asarray(held_out[i])
            raw = nets[i].predict_raw(X[own])
            weight = WEIGHTS[own] if weighted else None
            loss, score = loss_of(raw, y[own], weight), score_of(raw, y[own], weight)
            assert report.valid_loss[k] == pytest.approx(loss, rel=1e-13, abs=1e-12)
            assert report.valid_score[k] == pytest.approx(score, rel=1e-13, abs=1e-12)
        reports.append(report)

    result = train(members, X, y, dtype="float64", callbacks=[check])
    assert {report.n_groups for report in reports} == {1}
    assert len(reports) == 4
    for i, rows in enumerate(held_out):
        mine = result.history[result.history["member"] == i]
        for name in ("valid_loss", "valid_score"):
            reported = [getattr(r, name)[r.members.index(i)] for r in reports]
            np.testing.assert_array_equal(mine[name], reported)
            assert mine[name].isna().all() == (rows is None)


def test_more_held_out_rows_than_run_at_a_time():
    n = 5000
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = np.sin(X[:, 0])
    held_out = [np.arange(400, 5000), np.arange(300, 2348), np.arange(300, 2349)]
    members = [
        Member((4,), "tanh", rows=np.arange(300), validation_rows=rows, seed=i, max_epochs=2)
        for i, rows in enumerate(held_out)
    ]
    result = train(members, X, y, dtype="float64")
    for i, rows in enumerate(held_out):
        net = result.networks[i]
        raw = net.predict_raw(X[rows])[:, 0]
        mine = result.history[result.history["member"] == i].iloc[result.best_epoch[i] - 1]
        expected = -stats.norm.logpdf(y[rows], raw).mean()
        assert mine["valid_loss"] == pytest.approx(expected, abs=1e-12)
        assert mine["valid_score"] == pytest.approx(r2_score(y[rows], raw), abs=1e-12)


def test_dropout_is_off_and_nothing_is_trained():
    quiet, loud = (
        train(
            [Member((6,), dropout=0.5, validation_rows=rows, rows=np.arange(60), max_epochs=3)],
            X,
            REAL,
            dtype="float64",
        )
        for rows in (None, np.arange(60, 90))
    )
    for a, b in zip(quiet.states[0].parameters, loud.states[0].parameters, strict=True):
        np.testing.assert_array_equal(a, b)


def test_held_out_rows_that_overflow_harm_their_member_only():
    # The rate of a far row is e^1000: its loss is infinite, training is not.
    X = np.vstack([np.linspace(-1, 1, 40)[:, None], [[1e3]]])
    y = np.ones(41)
    start = [(np.ones((1, 1)), np.zeros(1))]
    members = [
        Member(
            (),
            head=Poisson(),
            init=start,
            seed=i,
            rows=np.arange(40),
            validation_rows=rows,
            max_epochs=5,
            learning_rate=1e-3,
            patience=2,
        )
        for i, rows in enumerate([[40], [3, 4]])
    ]
    result = train(members, X, y, dtype="float64")
    assert np.isinf(result.history["valid_loss"][:3]).all()
    assert (result.status[0], result.n_epochs[0]) == ("converged", 3)
    assert np.isfinite(result.networks[0].layers()[0][0]).all()
    alone = train(members[1:], X, y, dtype="float64")
    ours = result.history[result.history["member"] == 1]["valid_loss"]
    np.testing.assert_allclose(ours, alone.history["valid_loss"], rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_losses_of_float32_are_summed_in_float64(dtype):
    n = 20_000
    X, y = np.zeros((n, 1)), np.full(n, 3.0)
    start = [(np.zeros((1, 1)), np.zeros(1))]
    member = Member((), init=start, validation_rows=np.arange(n), learning_rate=1e-9, max_epochs=1)
    history = train([member], X, y, dtype=dtype).history
    expected = 4.5 + 0.5 * np.log(2 * np.pi)
    assert history["valid_loss"][0] == pytest.approx(expected, rel=1e-6)
    assert history["train_loss"][0] == pytest.approx(expected, rel=1e-6)
    assert torch.get_default_dtype() == torch.float32
