"""Several tasks with holes in their targets, one shared network."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.utils.estimator_checks import parametrize_with_checks

import lamina
from lamina import DataError, MultitaskNetwork, ParameterError
from lamina.heads import Bernoulli, Categorical, Normal
from lamina.represent import MultitaskHead

CHECKED = [
    MultitaskNetwork((8,), max_iter=30),
    MultitaskNetwork((8,), n_members=2, solver="lbfgs", alpha=1.0, max_iter=30),
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(CHECKED)
def test_sklearn_check(estimator, check):
    check(estimator)


@pytest.fixture
def shops():
    """Return inputs and the targets of three shops, of which a row has one or two."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    factor = np.tanh(X @ rng.normal(size=(5, 2)))
    y = pd.DataFrame(
        {
            "sales": 1000 + 50 * factor[:, 0],
            "busy": np.where(factor[:, 1] > 0, "yes", "no").astype(object),
            "kind": (np.digitize(factor.sum(1), [-0.5, 0.5])).astype(float),
        }
    )
    y.loc[rng.random(200) < 0.4, "sales"] = np.nan
    y.loc[rng.random(200) < 0.4, "busy"] = None
    y.loc[rng.random(200) < 0.7, "kind"] = np.nan
    return X, y


def fitted(shops, **given):
    model = MultitaskNetwork((16,), solver="lbfgs", alpha=1.0, max_iter=5000, random_state=0)
    return model.set_params(**given).fit(*shops)


def test_a_head_adds_up_the_errors_of_observed_cells_by_hand():
    heads = (Normal(), Bernoulli(), Categorical(3))
    head = MultitaskHead(heads)
    raw = torch.randn(4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = torch.tensor(
        [
            [0.3, 1, 2, 1.0, 0.0, 0.5],
            [0.0, 0, 1, 0.0, 2.0, 1.0],
            [0.0, 0, 0, 0.0, 0.0, 0.0],
            [-1, 1, 0, 3.0, 1.0, 1.0],
        ],
        dtype=torch.float64,
    )
    wanted = []
    for a, row in zip(raw, y, strict=True):
        normal = 0.5 * (a[0] - row[0]) ** 2 + 0.5 * np.log(2 * np.pi)
        binary = -torch.log(torch.sigmoid(a[1] if row[1] else -a[1]))
        classes = torch.logsumexp(a[2:], 0) - a[2 + int(row[2])]
        wanted.append(row[3] * normal + row[4] * binary + row[5] * classes)
    error, gradient = head.error_and_gradient(raw, y)
    assert torch.allclose(error, torch.stack(wanted))
    leaf = raw.clone().requires_grad_()
    (expected,) = torch.autograd.grad(head.error(leaf, y).sum(), leaf)
    assert torch.allclose(gradient, expected, atol=1e-14)
    assert (gradient[2] == 0).all()


def test_a_head_refuses_factors_and_shapes_that_cannot_be():
    head = MultitaskHead((Normal(), Normal()))
    with pytest.raises(DataError, match="must have 4 columns"):
        head.targets(np.zeros((3, 2)))
    with pytest.raises(DataError, match="at least 0"):
        head.targets(-np.ones((3, 4)))
    with pytest.raises(ParameterError, match="without noise that is the same"):
        MultitaskHead((Normal("shared"),))
    with pytest.raises(ParameterError, match="n_classes"):
        MultitaskHead((Categorical(),)).n_raw(1)


def test_the_loss_is_the_sum_of_means_over_observed_cells(shops):
    X, y = shops
    model = fitted(shops, task_weights={"sales": 2.0})
    means = model._means(X)
    there = y.notna()
    scale = y["sales"].std(ddof=0)
    residual = (means["sales"] - y["sales"])[there["sales"]] / scale
    total = 2.0 * np.mean(0.5 * residual**2 + 0.5 * np.log(2 * np.pi))
    for name in ("busy", "kind"):
        column = y[name][there[name]]
        codes = np.searchsorted(
            model.classes(name), column.to_numpy().astype(model.classes(name).dtype)
        )
        total -= np.mean(np.log(means[name][there[name].to_numpy()][np.arange(len(codes)), codes]))
    squares = sum(float((W**2).sum()) for W, _ in model.networks_[0].layers())
    n_rows = int(there.any(axis=1).sum())
    assert model.loss_ == pytest.approx(total + 0.5 * model.alpha / n_rows * squares, rel=1e-6)


def test_no_row_is_dropped_for_a_hole_and_kinds_are_told(shops):
    X, y = shops
    model = fitted(shops)
    assert model.tasks_["kind"].tolist() == ["regression", "classification", "classification"]
    assert model.tasks_["n_observed"].tolist() == y.notna().sum().tolist()
    answers = model.predict(X)
    assert list(answers.columns) == list(y.columns)
    assert set(answers["busy"]) == {"yes", "no"}
    assert answers["kind"].dtype.kind == "i"
    scores = model.task_scores(X, y)
    assert min(scores.values()) > 0.9
    assert model.score(X, y) == pytest.approx(np.mean(list(scores.values())))


def test_columns_of_probabilities_follow_the_labels_whatever_their_order(shops):
    X, _ = shops
    model = fitted(shops)
    proba = model.predict_proba(X, "busy")
    assert model.classes("busy").tolist() == ["no", "yes"]
    assert np.array_equal(model.classes("busy")[proba.argmax(1)], model.predict(X)["busy"])
    assert np.allclose(proba.sum(1), 1)


def test_a_task_that_is_added_changes_no_bit_of_the_others(shops):
    X, _ = shops
    model = fitted(shops, n_members=2)
    weights = [W.copy() for network in model.networks_ for W, _ in network.layers()]
    before = model._means(X)
    model.add_task("high", X, np.where(np.arange(200) % 2, X[:, 0] > 0, None))
    after = model._means(X)
    assert all(np.array_equal(before[name], after[name]) for name in before)
    now = [W for network in model.networks_ for W, _ in network.layers()]
    assert all(np.array_equal(a, b) for a, b in zip(weights, now, strict=True))
    assert model.task_names_ == ["sales", "busy", "kind", "high"]
    assert model.tasks_.loc["high", "n_observed"] == 100
    assert model.task_scores(X, {"high": X[:, 0] > 0})["high"] > 0.8


def test_a_saved_network_answers_the_same_bit_for_bit(shops, tmp_path):
    X, _ = shops
    model = fitted(shops, n_members=2).add_task("high", X, X[:, 0] > 0)
    lamina.save(model, tmp_path / "model")
    same = lamina.load(tmp_path / "model")
    for name, mean in model._means(X).items():
        assert np.array_equal(same._means(X)[name], mean)
    assert same.predict(X).equals(model.predict(X))
    assert same.tasks_.equals(model.tasks_)


@pytest.mark.parametrize("form", ["dict", "array", "series"])
def test_answers_come_in_the_form_of_the_target(shops, form):
    X, y = shops
    given = {
        "dict": {name: y[name].to_numpy() for name in y},
        "array": y[["sales", "kind"]].to_numpy(),
        "series": y["kind"],
    }[form]
    answers = (
        MultitaskNetwork((4,), solver="lbfgs", alpha=1.0, tol=1e-2, random_state=0)
        .fit(X, given)
        .predict(X)
    )
    if form == "dict":
        assert list(answers) == list(y.columns)
    else:
        assert answers.shape == (200, 2)[: 1 + (form == "array")]


def test_a_shared_trunk_helps_tasks_with_few_targets():
    # Twenty writers mark the same two hidden features, each by a mixture of their own, and each
    # has twelve marked rows. Alone, a network of the same size does not find the features.
    rng = np.random.default_rng(1)
    X, X_new = rng.normal(size=(240, 10)), rng.normal(size=(500, 10))
    mixing, taste = rng.normal(size=(10, 2)), rng.normal(size=(2, 20))
    marks, truth = (np.tanh(rows @ mixing) @ taste for rows in (X, X_new))
    marks[np.arange(240)[:, None] % 20 != np.arange(20)] = np.nan
    given = {"solver": "lbfgs", "alpha": 0.3, "max_iter": 5000, "kinds": "regression"}
    together = MultitaskNetwork((4,), "tanh", random_state=0, **given).fit(X, marks)
    alone = [
        MultitaskNetwork((4,), "tanh", random_state=0, **given)
        .fit(X, marks[:, i])
        .score(X_new, truth[:, i])
        for i in range(20)
    ]
    assert together.score(X_new, truth) > 0.7
    assert np.mean(alone) < 0.5


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ({"a": [1.0, 0.0], "b": [np.nan, np.nan]}, "target in some row of task 'b'"),
        ({"a": ["x", "x"]}, "at least 2 classes in task 'a'"),
        ({"a": [1.0]}, "one entry for each of the 2 rows"),
        ({}, "at least one task"),
        ({"a": ["x", 1]}, "labels of one type"),
    ],
)
def test_targets_that_cannot_be_used_are_told(y, sentence):
    y = {name: np.array(column, dtype=object) for name, column in y.items()}
    with pytest.raises(DataError, match=sentence):
        MultitaskNetwork().fit(np.eye(2), y)


def test_names_that_are_not_there_are_told(shops):
    X, y = shops
    with pytest.raises(ParameterError, match="task_weights must name tasks of y"):
        MultitaskNetwork(task_weights={"salse": 1.0}).fit(X, y)
    with pytest.raises(ParameterError, match="kinds must name tasks of y"):
        MultitaskNetwork(kinds={"salse": "regression"}).fit(X, y)
    model = fitted(shops)
    with pytest.raises(ParameterError, match="Did you mean 'busy'"):
        model.predict_proba(X, "bus")
    with pytest.raises(ParameterError, match="must be a new one"):
        model.add_task("busy", X, X[:, 0] > 0)
    linear = MultitaskNetwork((), solver="lbfgs", alpha=1.0).fit(X, y)
    with pytest.raises(ParameterError, match="shared layer"):
        linear.add_task("high", X, X[:, 0] > 0)
