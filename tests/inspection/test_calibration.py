"""Calibration of classifiers, against scikit-learn, sums by hand and simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from lamina._errors import DataError, ParameterError
from lamina.inspection import calibration


def drawn(rng, n, n_classes, sharpness=1.0):
    """Labels that come from softmax probabilities, and these probabilities."""
    proba = np.exp(sharpness * rng.normal(size=(n, n_classes)))
    proba /= proba.sum(axis=1, keepdims=True)
    y = (rng.random(n)[:, None] > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return y, proba


def loop_ece(p, hit, n_bins):
    """ECE and MCE by a plain loop over bins that hold their lower end, the last also 1."""
    total, worst = 0.0, 0.0
    for b in range(n_bins):
        inside = [
            (q, h)
            for q, h in zip(p, hit, strict=True)
            if b / n_bins <= q < (b + 1) / n_bins or (b == n_bins - 1 and q == 1.0)
        ]
        if inside:
            gap = abs(sum(h for _, h in inside) - sum(q for q, _ in inside)) / len(inside)
            total += gap * len(inside) / len(p)
            worst = max(worst, gap)
    return total, worst


def test_by_hand():
    # Bins [0, ½) and [½, 1]. Highest probabilities .9 right, .6 wrong, .6 right, 1 right.
    result = calibration([0, 1, 1, 1], [0.1, 0.4, 0.6, 1.0], n_bins=2)
    assert result.accuracy == 0.75
    assert result.mean_confidence == pytest.approx(3.1 / 4)
    assert result.ece == pytest.approx(abs(3 - 3.1) / 4)
    # Second class: 0 and 1 came at .1 and .4; 1 and 1 at .6 and 1.
    assert result.by_class[1].n.tolist() == [2, 2]
    assert result.by_class[1].confidence.tolist() == [0.25, 0.8]
    assert result.by_class[1].frequency.tolist() == [0.5, 1.0]
    assert result.by_class[1].ece == pytest.approx(0.5 * 0.25 + 0.5 * 0.2)
    assert result.by_class[1].mce == pytest.approx(0.25)
    assert result.brier == pytest.approx((0.01 + 0.36 + 0.16 + 0.0) / 4)
    assert result.log_loss == pytest.approx(-np.log([0.9, 0.4, 0.6, 1.0]).mean())


def test_a_probability_of_exactly_one_counts_in_the_last_bin():
    result = calibration([1, 0, 0], [1.0, 1.0, 0.0], n_bins=10)
    last = result.by_class[1]
    assert last.n[-1] == 2
    assert last.frequency[-1] == 0.5
    assert result.ece == pytest.approx(1 / 3)
    assert last.n.sum() == 3


def test_a_probability_on_an_edge_belongs_to_the_bin_above():
    result = calibration([0, 1, 1], [0.3, 0.6, 0.7], n_bins=10)
    assert np.flatnonzero(result.by_class[1].n).tolist() == [3, 6, 7]


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_the_table_is_that_of_scikit_learn(rng, strategy):
    y, proba = drawn(rng, 1000, 2)
    result = calibration(y, proba[:, 1], n_bins=10, strategy=strategy)
    frequency, confidence = calibration_curve(y, proba[:, 1], n_bins=10, strategy=strategy)
    table = result.by_class[1]
    full = table.n > 0
    np.testing.assert_allclose(table.frequency[full], frequency)
    np.testing.assert_allclose(table.confidence[full], confidence)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_scores_are_those_of_scikit_learn(rng, n_classes):
    y, proba = drawn(rng, 400, n_classes, sharpness=2.0)
    result = calibration(y, proba)
    assert result.log_loss == pytest.approx(log_loss(y, proba), rel=1e-12)
    assert result.brier == pytest.approx(brier_score_loss(y, proba), rel=1e-12)
    assert result.accuracy == accuracy_score(y, proba.argmax(axis=1))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_errors_are_those_of_a_loop(rng, n_classes):
    y, proba = drawn(rng, 300, n_classes, sharpness=2.0)
    result = calibration(y, proba, n_bins=12)
    top = loop_ece(proba.max(axis=1), proba.argmax(axis=1) == y, 12)
    assert (result.ece, result.mce) == pytest.approx(top)
    each = [loop_ece(proba[:, k], y == k, 12) for k in range(n_classes)]
    assert [(t.ece, t.mce) for t in result.by_class] == [pytest.approx(pair) for pair in each]
    assert result.classwise_ece == pytest.approx(np.mean([ece for ece, _ in each]))


def test_what_perfect_probabilities_show_by_chance_is_about_right(rng):
    # The mean of 200 simulations is told to a per cent or so; asked is 5 %.
    proba = drawn(rng, 2000, 3)[1]
    told, seen = [], []
    for _ in range(200):
        y = (rng.random(2000)[:, None] > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
        result = calibration(y, proba)
        told.append(result.top_label.ece_by_chance)
        seen.append(result.ece)
    assert np.ptp(told) == 0
    assert np.mean(seen) == pytest.approx(told[0], rel=0.05)


def test_intervals_are_those_of_wilson():
    from scipy.stats import binomtest

    result = calibration([0] * 7 + [1] * 3 + [1] * 4, [0.2] * 10 + [0.9] * 4, n_bins=2)
    table = result.by_class[1]
    for interval, (hits, n) in zip(table.interval(), [(3, 10), (4, 4)], strict=True):
        expected = binomtest(hits, n).proportion_ci(0.95, method="wilson")
        np.testing.assert_allclose(interval, expected, rtol=1e-12)


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=40),
    st.integers(1, 20),
    st.sampled_from(["uniform", "quantile"]),
)
def test_laws_of_the_tables(rows, n_bins, strategy):
    y, p = zip(*rows, strict=True)
    result = calibration(np.array(y, dtype=int), p, n_bins=n_bins, strategy=strategy)
    for table in (result.top_label, *result.by_class):
        assert table.n.sum() == len(y)
        assert 0 <= table.ece <= table.mce + 1e-12
        assert table.mce <= 1
        full = table.n > 0
        assert np.isnan(table.confidence[~full]).all()
        slack = 1e-12
        assert (table.confidence[full] >= table.edges[:-1][full] - slack).all()
        assert (table.confidence[full] <= table.edges[1:][full] + slack).all()
        low, high = table.interval()[full].T
        assert ((low <= table.frequency[full]) & (table.frequency[full] <= high)).all()
    assert 0 <= result.brier <= 1


def test_one_bin_compares_accuracy_and_mean_confidence(rng):
    y, proba = drawn(rng, 100, 3)
    result = calibration(y, proba, n_bins=1)
    assert result.ece == pytest.approx(abs(result.accuracy - result.mean_confidence))


def test_labels_of_any_kind_and_in_any_order(rng):
    y, proba = drawn(rng, 200, 3)
    expected = calibration(y, proba)
    names = np.array(["a", "b", "c"])
    for labels in (names[y], pd.Series(names[y]), pd.Series(names[y], dtype="category"), y + 5):
        assert calibration(labels, proba).log_loss == expected.log_loss
    turned = calibration(names[y], proba[:, ::-1], classes=["c", "b", "a"])
    assert turned.log_loss == expected.log_loss
    assert turned.classes.tolist() == ["c", "b", "a"]
    assert [t.ece for t in turned.by_class] == [t.ece for t in expected.by_class[::-1]]


def test_two_classes_as_one_column_two_columns_or_flags(rng):
    y, proba = drawn(rng, 200, 2)
    one = calibration(y, proba[:, 1])
    for other in (calibration(y, proba), calibration(y == 1, proba[:, [1]])):
        assert (other.log_loss, other.ece) == pytest.approx((one.log_loss, one.ece))


def test_one_row_and_one_class_seen():
    result = calibration([1], [0.75])
    assert result.ece == 0.25
    assert result.log_loss == pytest.approx(-np.log(0.75))
    assert calibration(["b"], [[0.5, 0.5]], classes=["a", "b"]).accuracy == 0.0


def test_an_impossible_class_makes_the_log_loss_infinite_and_is_counted():
    result = calibration([0, 1, 1], [0.5, 0.0, 1.0])
    assert result.log_loss == np.inf
    assert result.n_impossible == 1
    assert "inf nats, since p = 0 in 1 rows" in result.summary()


def test_arrays_are_read_only_whatever_their_layout(rng):
    y, proba = drawn(rng, 50, 3)
    expected = calibration(y, proba).ece
    wide = np.asfortranarray(np.repeat(proba, 2, axis=1))[:, ::2]
    wide.flags.writeable = False
    y.flags.writeable = False
    assert calibration(y, wide).ece == expected
    assert calibration(y, proba.astype(np.float32)).ece == pytest.approx(expected, abs=0.1)


def test_summary_and_table_hold_the_numbers():
    result = calibration([0, 1, 1, 1], [0.1, 0.4, 0.6, 1.0], n_bins=2)
    assert result.summary().splitlines()[:3] == [
        "Calibration on 4 rows of 2 classes",
        "accuracy         0.7500",
        "mean confidence  0.7750 (overconfident by 0.0250)",
    ]
    table = result.by_class[1].to_dataframe()
    assert table["gap"].tolist() == pytest.approx([0.25, 0.2])
    assert table["n"].tolist() == [2, 2]
    assert result.top_label.summary().startswith("highest probability: calibration error 0.0250")


@pytest.mark.parametrize(
    ("y", "proba", "told"),
    [
        ([0, 1], [0.5, np.nan], r"proba must be finite numbers\. Got nan in row 1"),
        ([0, 1], [0.5, 3.0], r"Got 3 in row 1\. Of raw outputs \(logits\) take the softmax"),
        ([0, 1], [[0.5, 0.4], [0.5, 0.5]], r"sum to 1 in each row\. Got 0\.9 in row 0"),
        ([0, 1], [], r"at least one row\. Got shape \(0,\)"),
        ([0, 1], [[[0.5]]], r"Got shape \(1, 1, 1\)"),
        ([0, 1], ["a", "b"], "proba must hold numbers"),
        ([0, 1, 1], [0.5, 0.5], r"y must have shape \(2,\).* Got shape \(3,\)"),
        ([[0, 1], [1, 0]], [0.5, 0.5], r"Got shape \(2, 2\)"),
        ([0.0, np.nan], [0.5, 0.5], "y must hold no missing label"),
        (np.array([0, "a"], dtype=object), [0.5, 0.5], "labels of one type"),
        ([3, 3], [0.5, 0.5], r"Got the labels \[3\]\. Pass classes=model\.classes_"),
        ([0, 1, 2], [0.5, 0.5, 0.5], r"each of the 2 classes"),
    ],
)
def test_wrong_data_get_one_sentence(y, proba, told):
    with pytest.raises(DataError, match=told):
        calibration(y, proba)


def test_wrong_parameters_get_one_sentence():
    with pytest.raises(ParameterError, match="n_bins must be an integer of at least 1"):
        calibration([0, 1], [0.5, 0.5], n_bins=0)
    with pytest.raises(ParameterError, match="strategy must be one of 'quantile', 'uniform'"):
        calibration([0, 1], [0.5, 0.5], strategy="even")
    with pytest.raises(DataError, match="classes must be 2 different labels"):
        calibration([0, 1], [0.5, 0.5], classes=[0, 0])
    with pytest.raises(DataError, match=r"Got 2 in row 1"):
        calibration([0, 2], [0.5, 0.5], classes=[0, 1])
    with pytest.raises(ParameterError, match=r"label must be one of \[0, 1\]\. Got 2"):
        calibration([0, 1], [0.5, 0.5]).plot(2)
