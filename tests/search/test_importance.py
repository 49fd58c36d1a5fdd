"""What mattered in a search, on scores whose making is known."""

from __future__ import annotations

import numpy as np
import pytest

from lamina import DataError
from lamina.search import parameter_importance

NAN = float("nan")


def candidates(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return [
        {
            "rate": float(10 ** rng.uniform(-4, -1)),
            "act": str(rng.choice(["relu", "tanh", "gelu"])),
            "layers": [(8,), (8, 8), (64,)][rng.integers(3)],
            "fixed": 1.0,
        }
        for _ in range(n)
    ]


@pytest.mark.parametrize(
    ("cause", "score"),
    [
        ("rate", lambda p: -abs(np.log10(p["rate"]) + 2.5)),
        ("act", lambda p: {"relu": 0.0, "tanh": 3.0, "gelu": 1.0}[p["act"]]),
        ("layers", lambda p: float(len(p["layers"]))),
    ],
)
def test_the_one_cause_has_nearly_all(cause, score):
    params = candidates()
    result = parameter_importance(params, [score(p) for p in params])
    assert list(result.importances) == sorted(
        result.importances, key=lambda name: -result.importances[name]
    )
    assert set(result.importances) == {"rate", "act", "layers"}  # what never varies has no share
    assert result.importances[cause] > 0.9
    assert result.explained > 0.8
    np.testing.assert_allclose(sum(result.importances.values()), 1.0)
    assert f"{cause}: " in result.summary()


def test_noise_is_explained_by_nothing():
    rng = np.random.default_rng(1)
    assert parameter_importance(candidates(), rng.normal(size=120)).explained < 0.1


def test_any_rising_change_of_the_scores_changes_nothing():
    params = candidates(40)
    scores = np.array([np.log(p["rate"]) + len(p["layers"]) for p in params])
    one = parameter_importance(params, scores)
    assert one == parameter_importance(params, np.exp(scores))
    assert one != parameter_importance(params, -np.abs(scores + 4))


def test_a_failed_candidate_is_the_worst_and_a_later_rung_the_better():
    params = [{"act": act, "x": i % 5} for i in range(20) for act in ("good", "bad")]
    failed = [1.0 if p["act"] == "good" else NAN for p in params]
    assert parameter_importance(params, failed).importances["act"] > 0.99
    rungs = [p["x"] for p in params]
    by_rung = parameter_importance(params, failed, rungs).importances
    assert by_rung["x"] > 0.01 < by_rung["act"]
    flat = parameter_importance(params, np.zeros(40), rungs)
    assert flat.importances["x"] > 0.99


def test_equal_scores_say_nothing():
    result = parameter_importance(candidates(20), np.ones(20))
    assert result.explained == 0.0
    assert set(result.importances.values()) == {0.0}


@pytest.mark.parametrize(
    ("params", "scores", "rungs", "sentence"),
    [
        ([{"a": i} for i in range(9)], np.ones(9), None, "At least 10 candidates"),
        ([{"a": i} for i in range(12)], [1.0] * 9 + [NAN] * 3, None, "At least 10 .* Got 9"),
        ([{"a": 1}] * 12, np.arange(12.0), None, "differ in at least one parameter"),
        ([{"a": i} for i in range(12)], np.ones(11), None, "one entry for each candidate"),
        ([{"a": i} for i in range(12)], np.ones(12), [1], "one entry for each candidate"),
    ],
)
def test_what_cannot_be_told_is_refused_by_one_sentence(params, scores, rungs, sentence):
    with pytest.raises(DataError, match=sentence):
        parameter_importance(params, scores, rungs)
