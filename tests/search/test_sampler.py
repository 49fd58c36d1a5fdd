"""Samplers: scikit-learn's draws, Optuna's proposals, in batches and always the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats as st
from sklearn.model_selection import ParameterSampler

from lamina._errors import MissingDependencyError, ParameterError
from lamina.search._sampler import make_sampler
from lamina.search._space import Space

LISTS = {"a": [1, 2, 3], "b": ["x", "y"], "c": [(64,), (64, 64)]}
MIXED = {"a": [1, 2], "b": st.loguniform(1e-4, 1), "c": st.randint(2, 9), "d": st.norm()}


class Thing:
    """Something that Optuna cannot hold."""


@pytest.fixture
def optuna():
    return pytest.importorskip("optuna", reason="the extra lamina[search] is not installed")


@pytest.mark.parametrize("given", [LISTS, MIXED, [LISTS, {"a": [7]}], [LISTS, MIXED]])
def test_random_candidates_are_those_of_scikit_learn(given):
    expected = list(ParameterSampler(given, 7, random_state=3))
    assert make_sampler("random", Space(given), 3).ask(7) == expected


def test_random_draws_go_on_where_the_batch_before_ended():
    sampler = make_sampler("random", Space(MIXED), 3)
    expected = list(ParameterSampler(MIXED, 9, random_state=3))
    assert sampler.ask(2) + sampler.ask(3) + sampler.ask(4) == expected


def test_no_combination_comes_twice_and_they_end():
    sampler = make_sampler("random", Space(LISTS), 0)
    batches = [sampler.ask(5), sampler.ask(5), sampler.ask(5), sampler.ask(5)]
    assert [len(batch) for batch in batches] == [5, 5, 2, 0]
    assert len({tuple(c.items()) for batch in batches for c in batch}) == 12


def test_a_grid_beyond_all_integers_of_the_machine_is_drawn_from():
    huge = {f"p{i}": list(range(10)) for i in range(40)}
    sampler = make_sampler("random", Space(huge), 0)
    found = sampler.ask(3) + sampler.ask(3)
    assert len({tuple(sorted(c.items())) for c in found}) == 6
    digits = [value for candidate in found for value in candidate.values()]
    assert st.chisquare(np.bincount(digits, minlength=10)).pvalue > 0.001


def test_random_candidates_are_plain_numbers():
    candidate = make_sampler("random", Space(MIXED), 0).ask(1)[0]
    assert [type(candidate[name]) for name in "abcd"] == [int, float, int, float]


def test_random_needs_no_optuna(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    sampler = make_sampler("random", Space(MIXED), 0)
    assert len(sampler.ask(2)) == 2
    assert sampler.distributions() == {}
    with pytest.raises(MissingDependencyError, match=r"sampler='tpe'.*lamina\[search\]"):
        make_sampler("tpe", Space(LISTS), 0)


OBJECTS = {
    "w": [(64,), (64, 64), None],
    "o": [Thing(), Thing()],
    "t": [True, 1, 1.0],
    "lr": st.loguniform(1e-4, 1),
    "n": st.randint(1, 5),
}


def quality(candidate):
    return -abs(math.log10(candidate["lr"]) + 2) - 2 * (candidate["w"] != (64, 64))


def run(sampler, n_batches, size):
    found = []
    for _ in range(n_batches):
        batch = sampler.ask(size)
        places = range(len(found), len(found) + len(batch))
        found += batch
        scores = [quality(c) if c["n"] != 4 else math.nan for c in batch]
        sampler.tell(places, scores)
    return found


def test_tpe_gives_the_users_own_values_the_same_ones_each_time_and_learns(optuna):
    found = run(make_sampler("tpe", Space(OBJECTS), 5), 8, 12)
    assert run(make_sampler("tpe", Space(OBJECTS), 5), 8, 12) == found
    assert run(make_sampler("tpe", Space(OBJECTS), 6), 1, 12) != found[:12]
    assert {id(c["o"]) for c in found} == {id(thing) for thing in OBJECTS["o"]}
    assert {type(c["t"]) for c in found} == {bool, int, float}
    early, late = found[:12], found[-24:]
    mean = [np.mean([quality(c) for c in part]) for part in (early, late)]
    assert mean[1] > mean[0]
    failed = [np.mean([c["n"] == 4 for c in part]) for part in (found[:12], late)]
    assert failed[1] <= failed[0]


def test_a_first_batch_of_tpe_is_random(optuna):
    space = {"x": st.uniform(0, 1)}
    draws = [c["x"] for c in make_sampler("tpe", Space(space), 0).ask(200)]
    assert st.kstest(draws, "uniform").pvalue > 0.001  # one seed in a thousand would fail


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("RandomSampler", {"seed": 1}),
        ("TPESampler", {"seed": 1}),
        ("QMCSampler", {"seed": 1, "scramble": True}),
        ("NSGAIISampler", {"seed": 1, "population_size": 6}),
        ("GPSampler", {"seed": 1, "n_startup_trials": 5}),
    ],
)
def test_a_sampler_of_optuna_starts_each_search_as_it_was_given(optuna, name, arguments):
    given = getattr(optuna.samplers, name)(**arguments)
    space = Space({"w": OBJECTS["w"], "lr": OBJECTS["lr"], "n": OBJECTS["n"]})
    first = run(make_sampler(given, space, 0), 3, 6)
    assert run(make_sampler(given, space, 0), 3, 6) == first
    assert len(first) == 18


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("name", ["GridSampler", "BruteForceSampler"])
def test_a_sampler_that_runs_out_gives_no_more(optuna, name):
    values = {"n": [1, 2], "w": ["a", "b"], "lr": [0.1]}
    kinds = {"GridSampler": {"search_space": values}, "BruteForceSampler": {}}
    given = getattr(optuna.samplers, name)(seed=0, **kinds[name])
    found = run(make_sampler(given, Space(values), 0), 4, 2)
    assert sorted((c["n"], c["w"]) for c in found) == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


def test_the_smaller_score_is_better_when_minimised(optuna):
    found = {}
    for direction in ("maximize", "minimize"):
        sampler = make_sampler("tpe", Space({"x": st.uniform(0, 1)}), 0, direction)
        batch = sampler.ask(20)
        sampler.tell(range(20), [c["x"] for c in batch])
        found[direction] = np.mean([c["x"] for c in sampler.ask(20)])
    assert found["minimize"] < 0.3 < 0.7 < found["maximize"]


@pytest.mark.parametrize(
    ("sampler", "space", "words"),
    [
        ("tpee", LISTS, "Did you mean 'tpe'"),
        (3, LISTS, "'random', 'tpe' or a sampler of Optuna. Got 3"),
        ("tpe", [LISTS, LISTS], "one dict for a sampler that learns"),
        ("tpe", MIXED, r"param_distributions\['d'\].*sampler='random'"),
    ],
)
def test_what_cannot_be_sampled_gets_one_sentence(optuna, sampler, space, words):
    with pytest.raises(ParameterError, match=words):
        make_sampler(sampler, Space(space), 0)
