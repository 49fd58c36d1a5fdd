"""The space of a search: lists as scikit-learn reads them, and laws as SciPy and Optuna do."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st
from sklearn.model_selection import ParameterGrid

from lamina._errors import ParameterError
from lamina.search._dimension import Interval, label
from lamina.search._space import Space


class Thing:
    pass


GRIDS = [
    {"b": [1, 2, 3], "a": ["x", None], "c": [(64,), (64, 64)]},
    [{"a": [1, 2]}, {"a": [3], "b": [True, False, None]}],
]


@pytest.mark.parametrize("given", GRIDS)
def test_combinations_are_those_of_scikit_learns_grid_in_its_order(given):
    space, grid = Space(given), ParameterGrid(given)
    assert space.n_combinations == len(grid)
    assert [space.combination(i) for i in range(len(grid))] == list(grid)


def test_a_place_after_the_last_combination_is_refused():
    with pytest.raises(IndexError):
        Space({"a": [1, 2]}).combination(2)


def test_a_distribution_has_no_number_of_combinations():
    assert Space({"a": [1], "b": st.uniform()}).n_combinations is None


def test_values_of_an_array_become_numbers_of_python():
    part = Space({"a": np.array([1, 2]), "b": [np.float32(0.5)]}).parts[0]
    assert [type(value) for value in (*part["a"].values, *part["b"].values)] == [int, int, float]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "a dict, or a list of dicts"),
        ([], "a dict, or a list of dicts"),
        ({}, "at least one parameter"),
        ([{"a": [1]}, 3], "must hold dicts. Got 3"),
        ({3: [1]}, "names of parameters as keys. Got 3"),
        ({"a": "relu"}, r"param_distributions\['a'\] must be a list .* Write \['relu'\]"),
        ({"a": 0.1}, r"Write \[0.1\]"),
        ({"a": {1, 2}}, "must be a list of values"),
        ({"a": iter([1])}, "must be a list of values"),
        ({"a": np.ones((2, 2))}, "must be a list of values"),
        ({"a": []}, "at least one value"),
        ({"a": st.loguniform}, "Give it all its parameters"),
        ({"a": st.uniform([0, 1], [1, 2])}, r"one number a draw.*shape \(2,\)"),
    ],
)
def test_something_else_gets_one_sentence(given, words):
    with pytest.raises(ParameterError, match=words):
        Space(given)


LAWS = [
    (st.uniform(2, 3), Interval(2.0, 5.0)),
    (st.loguniform(1e-4, 1e-1), Interval(1e-4, 1e-1, log=True)),
    (st.loguniform(a=1, b=10, scale=3), Interval(3.0, 30.0, log=True)),
    (st.randint(3, 9), Interval(3, 8, integer=True)),
]


@pytest.mark.parametrize(("law", "interval"), LAWS)
def test_laws_of_scipy_that_optuna_has_are_known(law, interval):
    found = Space({"a": law}).parts[0]["a"].interval
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert (found.integer, found.log) == (interval.integer, interval.log)


@pytest.mark.parametrize("law", [st.norm(), st.loguniform(1, 10, loc=2), st.poisson(3)])
def test_other_laws_are_only_drawn_from(law):
    assert Space({"a": law}).parts[0]["a"].interval is None


INTERVALS = [
    (Interval(-1.0, 3.0), st.uniform(-1, 4)),
    (Interval(1e-4, 10.0, log=True), st.loguniform(1e-4, 10)),
]


@pytest.mark.parametrize(("interval", "law"), INTERVALS)
def test_draws_from_an_interval_have_its_law(interval, law):
    rng = np.random.RandomState(0)
    draws = [interval.rvs(rng) for _ in range(2000)]
    assert st.kstest(draws, law.cdf).pvalue > 0.001  # one seed in a thousand would fail


def test_whole_numbers_and_steps_come_equally_often_and_reach_both_ends():
    rng = np.random.RandomState(0)
    for interval, values in [
        (Interval(3, 6, integer=True), [3, 4, 5, 6]),
        (Interval(2, 10, integer=True, step=4), [2, 6, 10]),
        (Interval(0.0, 0.75, step=0.25), [0.0, 0.25, 0.5, 0.75]),
    ]:
        found, counts = np.unique([interval.rvs(rng) for _ in range(2000)], return_counts=True)
        assert found.tolist() == values
        assert st.chisquare(counts).pvalue > 0.001  # one seed in a thousand would fail


def test_whole_numbers_on_a_log_scale_have_the_mass_of_their_unit():
    rng = np.random.RandomState(0)
    draws = [Interval(1, 8, integer=True, log=True).rvs(rng) for _ in range(4000)]
    edges = np.log(np.arange(0.5, 9))
    expected = np.diff(edges) / (edges[-1] - edges[0]) * len(draws)
    counts = np.bincount(draws, minlength=9)[1:]
    assert st.chisquare(counts, expected).pvalue > 0.001  # one seed in a thousand would fail


def test_labels_are_plain_values_or_a_repr_that_is_the_same_in_every_process():
    assert [label(v) for v in (None, True, 2, 0.5, "a")] == [None, True, 2, 0.5, "a"]
    assert [label(v) for v in ((64, 64), np.int64(3), float("nan"))] == ["(64, 64)", 3, "nan"]
    assert label(Thing()) == label(Thing())
    assert "0x" not in label(Thing())


def test_optuna_distributions_hold_every_mention_of_a_parameter():
    optuna = pytest.importorskip("optuna", reason="the extra lamina[search] is not installed")
    d = optuna.distributions
    first = {
        "w": [(64,), (64, 64)],
        "u": st.uniform(0, 1),
        "n": st.norm(),
        "f": d.FloatDistribution(1, 2, step=0.5),
        "i": d.IntDistribution(1, 64, log=True),
        "c": d.CategoricalDistribution(["a", "b"]),
        "mixed": [None, 1],
    }
    second = {"w": [(64,), (128,)], "u": st.uniform(1, 3), "mixed": st.uniform()}
    found = Space([first, second]).optuna_distributions()
    assert found["w"] == d.CategoricalDistribution(["(64,)", "(64, 64)", "(128,)"])
    assert found["u"] == d.FloatDistribution(0, 4)
    assert (found["f"], found["i"], found["c"]) == (first["f"], first["i"], first["c"])
    assert found["n"].low == pytest.approx(-found["n"].high) == pytest.approx(st.norm.ppf(1e-6))
    assert "mixed" not in found


def test_a_law_of_optuna_that_is_none_is_refused():
    optuna = pytest.importorskip("optuna", reason="the extra lamina[search] is not installed")
    with pytest.raises(ParameterError, match="FloatDistribution"):
        Space({"a": optuna.samplers.RandomSampler()})
