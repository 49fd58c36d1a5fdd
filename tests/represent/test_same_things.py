"""Rows that are the same thing: never pushed apart, and told where a batch holds nothing else."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from lamina import ContrastiveEncoder
from lamina._errors import DataError, DataWarning
from lamina.nn import Network
from lamina.represent import (
    ClassBatches,
    ContrastiveTraining,
    CrossModalTraining,
    InstanceBatches,
    supervised_contrastive,
)

X = np.random.default_rng(0).normal(size=(24, 4))


def network(seed=0, n_in=4):
    return Network((n_in, 6, 3), "tanh", random_state=seed)


def views(rows, rng):
    return X[rows], X[rows] * 0.9


def loop(z, positives, tau):
    """The supervised loss, with the positives of each row as a list of sets."""
    units = z / np.linalg.norm(z, axis=1, keepdims=True)
    terms = np.exp(units @ units.T / tau)
    each = [
        -np.mean([math.log(terms[i, p] / (terms[i].sum() - terms[i, i])) for p in good])
        for i, good in enumerate(positives)
    ]
    return np.mean(each)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_equal_rows_of_which_one_has_no_class_are_positives_and_no_others(missing):
    labels = np.array(["a", "b", missing, missing, "b", missing, "c", "a"], dtype=object)
    if missing is not None:
        labels = np.array([0, 1, missing, missing, 1, missing, 2, 0])
    things = np.array([0, 0, 0, 1, 1, 2, 3, 4])  # 0 and 1 differ though equal; 6 is met once
    training = ContrastiveTraining(
        network(), InstanceBatches(8, 8), views, temperature=0.3, labels=labels, ids=things
    )
    rows = InstanceBatches(8, 8).batch(0)
    known = [not (label is None or label != label) for label in labels]

    def alike(i, j):
        if known[i] and known[j]:
            return labels[i] == labels[j]
        return things[i] == things[j]

    both = [*rows, *rows]
    positives = [
        {j for j, other in enumerate(both) if j != i and alike(row, other)}
        for i, row in enumerate(both)
    ]
    z = network().predict_raw(np.concatenate(views(rows, None)))
    collapse, floor = training.references()
    loss = training.step(0.01)
    assert loss == pytest.approx(loop(z, positives, 0.3), rel=1e-12)
    assert collapse == pytest.approx(math.log(15))
    assert floor <= loss


def test_unknown_classes_without_copies_are_classes_of_their_own():
    labels = np.array([0, 0, np.nan, 1, np.nan, 1, 2, np.nan])
    training = ContrastiveTraining(
        network(), InstanceBatches(8, 8), views, temperature=0.3, labels=labels
    )
    rows = InstanceBatches(8, 8).batch(0)
    own = np.where(np.isnan(labels), 10 + np.arange(8), labels)
    z = network().predict_raw(np.concatenate(views(rows, None)))
    expected = supervised_contrastive(z, np.tile(own[rows], 2), 0.3)
    assert training.step(0.01) == pytest.approx(float(expected), rel=1e-12)
    assert training.references() == pytest.approx((expected.collapse, expected.floor))


def test_copies_without_a_label_come_together_in_an_encoder():
    rows = np.repeat(X[:6], 5, axis=0)
    labels = np.array(["a", "a", *[None] * 28], dtype=object)
    settings = {"hidden_layer_sizes": (8,), "projection_sizes": (), "batch_size": 30}
    encoder = ContrastiveEncoder(max_steps=1, random_state=0, **settings)
    with pytest.warns(DataWarning, match="24 of 30 rows are equal .* unless their labels differ"):
        encoder.fit(rows, labels)
    assert encoder.n_copies_ == 24
    # 60 views in 6 groups of 10: nine positives for each
    assert encoder.floor_loss_ == pytest.approx(math.log(9), abs=1e-6)
    encoder.fit(rows, np.tile(["a", "b", "c"], 10))  # silent: all labels are known


def pairs(ids):
    return CrossModalTraining(
        [network(), network(1)], InstanceBatches(24, 6), views, temperature=0.1, ids=ids
    )


def instances(ids):
    return ContrastiveTraining(network(), InstanceBatches(24, 6), views, ids=ids)


@pytest.mark.parametrize("make", [pairs, instances])
def test_a_batch_without_negatives_is_told_once(make):
    training = make(np.zeros(24))
    with pytest.warns(DataWarning, match="A batch of 6 rows has no negatives: all of") as caught:
        losses = [training.step(0.01) for _ in range(5)]
    assert training.references() == (0.0, 0.0)
    assert len(caught) == 1
    assert losses == [0.0] * 5


@pytest.mark.parametrize("make", [pairs, instances])
def test_batches_with_negatives_are_silent(make):
    training = make(np.arange(24) == 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet = make(np.arange(24) % 12)
        quiet.references()
        assert all(quiet.step(0.01) > 0 for _ in range(5))
    # one thing but for row 0, which not every batch holds
    with pytest.warns(DataWarning, match="has no negatives") as caught:
        losses = [training.step(0.01) for _ in range(4)]
    assert len(caught) == 1
    assert sum(loss > 0 for loss in losses) == 1


def test_one_class_trains_in_silence_since_its_positives_spread():
    training = ContrastiveTraining(network(), InstanceBatches(24, 6), views, labels=np.zeros(24))
    assert training.step(0.01) > math.log(11) - 1e-9


@pytest.mark.parametrize("labels", [["a", None, "b"], [0.0, np.nan, 1.0]])
def test_batches_of_classes_need_all_labels(labels):
    with pytest.raises(DataError, match=r"labels must not be missing. Got .* in row 1"):
        ClassBatches(labels, 2)
