"""The harness, and every experiment within its tolerances."""

import json
import re
from dataclasses import replace
from importlib.resources import files

import pytest

from lamina._errors import ParameterError
from lamina.experiments import (
    CheckReport,
    NeedsDataError,
    check,
    list_experiments,
    run,
)
from lamina.experiments import _check as checking
from lamina.experiments import _registry as registry
from lamina.experiments._expected import expectations
from lamina.experiments._inequality import holds
from lamina.experiments._registry import ExperimentResult, experiment
from lamina.experiments._rules import agrees, nature

READY = [info.id for info in list_experiments() if info.implemented]
SLOW = {"two-spirals-widths"}
MUST_BE_READY = "ABCDEFHIJNOPQRS"


@pytest.mark.parametrize(
    "id", [pytest.param(id, marks=pytest.mark.slow) if id in SLOW else id for id in READY]
)
def test_experiment_agrees(id, monkeypatch):
    report = check([id])
    if id in report.skipped:
        pytest.skip(report.skipped[id])
    assert report.rows
    assert report.ok, report.summary()
    assert report.missing == ()


def test_the_groups_of_the_foundation_are_complete():
    assert [i.id for i in list_experiments(MUST_BE_READY) if not i.implemented] == []


def test_every_implemented_experiment_says_how_it_is_done():
    for info in list_experiments():
        assert bool(info.description) == info.implemented
        assert info.title


def test_expected_values_are_well_formed():
    text = (files("lamina.experiments") / "expected.json").read_text(encoding="utf-8")
    assert list(json.loads(text)) == list(expectations())
    for entry in expectations().values():
        assert set(entry.rules) == set(entry.values), entry.id
        assert re.fullmatch("[A-W]", entry.group)
        assert entry.source in ("D0", "D2", "D3", "lamina")
        assert entry.values or entry.inequalities
        for name, value in entry.values.items():
            nature(entry.rules[name])
            # a value agrees with itself, unless the rule is a bound of its own
            if entry.rules[name] == "exact" or "abs" in entry.rules[name]:
                assert agrees(value, value, entry.rules[name])


def test_inequalities_hold_for_the_printed_values():
    for entry in expectations().values():
        for text in entry.inequalities:
            named = set(re.findall(r"[a-z]\w*(?![\w(])", text)) - {"for", "in", "i", "range"}
            if named <= set(entry.values):
                assert holds(text, entry.values), f"{entry.id}: {text}"


@pytest.fixture
def made_up(monkeypatch):
    """Return a function that makes the first experiment return other values."""

    def replace_values(id, values):
        monkeypatch.setitem(registry._FUNCTIONS, id, lambda: values)

    return replace_values


def test_a_wrong_value_fails(made_up):
    made_up("count-params-784", {"n_params": 109_387})
    report = check(["count-params-784"])
    assert not report.ok
    (row,) = report.failures
    assert (row.name, row.got, row.expected, row.nature) == ("n_params", 109387, 109386, "exact")
    assert "differs: count-params-784 n_params: got 109387, expected 109386" in report.summary()


def test_an_absent_value_fails(made_up):
    made_up("count-params-784", {"something": 109_386})
    (row,) = check(["count-params-784"]).failures
    assert row.got == "no such value"


def test_a_broken_inequality_fails(made_up):
    made_up("double-softmax-bug", {"logits_in": 9e-5, "probabilities_in": 0.5515})
    assert check(["double-softmax-bug"]).ok
    made_up("double-softmax-bug", {"logits_in": 2e-4, "probabilities_in": 0.5515})
    names = [row.name for row in check(["double-softmax-bug"]).failures]
    assert names == ["logits_in", "probabilities_in > 5000*logits_in"]


def test_values_of_another_stream_are_listed_but_not_compared():
    rows = {row.name: row for row in check(["matrix-form-mlp"]).rows}
    assert rows["y"].ok is None
    assert rows["y"].nature == "random stream, not compared"
    assert rows["forms_agree"].ok is True


def test_missing_experiments_are_listed(monkeypatch):
    monkeypatch.delitem(registry._FUNCTIONS, "neuron-and-or")
    report = check(groups="R")
    assert report.missing == ("neuron-and-or",)
    assert "not implemented yet (1): neuron-and-or" in report.summary()
    info = next(info for info in list_experiments("R") if info.id == "neuron-and-or")
    assert not info.implemented
    with pytest.raises(ParameterError, match=r"^id must be that of an implemented experiment\."):
        run("neuron-and-or")


def test_an_experiment_without_its_data_is_skipped_with_a_reason(monkeypatch):
    monkeypatch.delenv("LAMINA_DATA", raising=False)
    report = check(["mnist-facts", "mnist-placed-tasks", "count-params-784"])
    assert report.ok
    assert list(report.skipped) == ["mnist-placed-tasks", "mnist-facts"]
    assert "LAMINA_DATA must name the folder" in report.skipped["mnist-facts"]
    assert "skipped: mnist-facts: LAMINA_DATA" in report.summary()
    with pytest.raises(NeedsDataError):
        run("mnist-facts")


def test_progress_is_told_before_each_experiment():
    told = []
    check(["neuron-and-or", "count-params-784"], progress=lambda *what: told.append(what))
    assert told == [("count-params-784", 1, 2), ("neuron-and-or", 2, 2)]


def test_tables():
    result = run("neuron-and-or")
    assert result.table["name"].tolist() == ["AND", "OR"]
    assert result.table["value"].tolist() == [[0, 0, 0, 1], [0, 1, 1, 1]]
    table = check(["neuron-and-or"]).table
    assert table["ok"].tolist() == [True, True]
    assert table["nature"].tolist() == ["exact", "exact"]


def test_an_empty_report_is_in_order():
    report = CheckReport((), (), {}, {})
    assert report.ok
    assert len(report.table) == 0


def test_comparison_goes_by_the_entry_not_by_the_function():
    entry = replace(expectations()["neuron-and-or"], values={"AND": 1}, rules={"AND": "exact"})
    result = ExperimentResult("neuron-and-or", "R", "", {"AND": 1, "extra": 5}, 0.0)
    assert [row.ok for row in checking.compare(result, entry)] == [True]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: run("relu-on-xr"), "Did you mean 'relu-on-xor'?"),
        (lambda: check(["nothing-like-it"]), "id must be one of"),
        (lambda: check(groups=["e"]), "group must be one of 'A', 'B'"),
        (lambda: list_experiments("?"), "group must be one of 'A', 'B'"),
        (lambda: experiment("neuron-and-or")(dict), "id must be a new one"),
        (lambda: experiment("unheard-of")(dict), "id must be a new one"),
    ],
)
def test_wrong_names_get_one_sentence(call, sentence):
    with pytest.raises(ParameterError, match=re.escape(sentence)):
        call()
