"""``lamina experiments``: listing, running and checking."""

from __future__ import annotations

import json
import re

import pytest

from lamina import experiments

LETTERS = ", ".join(sorted({info.group for info in experiments.list_experiments()}))


def test_list_prints_every_experiment(run):
    done = run("experiments", "list")
    known = experiments.list_experiments()
    assert done.status == 0
    assert done.lines[0].split() == ["id", "group", "ready", "about"]
    for line, info in zip(done.lines[1:], known, strict=True):
        assert line.split()[:3] == [info.id, info.group, "yes" if info.implemented else "no"]
        assert line.endswith(info.title.split()[-1])
    ready = sum(info.implemented for info in known)
    assert done.notes[0] == f"{ready} of {len(known)} can be run"
    assert done.notes[1].startswith("Next: lamina experiments run ")


def test_list_of_a_group_as_json(run):
    document = json.loads(run("experiments", "list", "--group", "R", "--json").out)
    assert document["command"] == "experiments list"
    assert [entry["id"] for entry in document["experiments"]] == [
        info.id for info in experiments.list_experiments("R")
    ]


def test_run_prints_values(run):
    done = run("experiments", "run", "neuron-and-or")
    assert done.status == 0
    assert re.fullmatch(r"neuron-and-or: .* \([\d.]+ s\)", done.lines[0])
    assert [line.split(maxsplit=1) for line in done.lines[1:4]] == [
        ["name", "value"],
        ["AND", "[0, 0, 0, 1]"],
        ["OR", "[0, 1, 1, 1]"],
    ]
    assert done.err == "Next: lamina experiments check neuron-and-or\n"


def test_run_as_json(run):
    document = json.loads(run("experiments", "run", "neuron-and-or", "--json").out)
    (result,) = document["experiments"]
    assert result["values"] == {"AND": [0, 0, 0, 1], "OR": [0, 1, 1, 1]}


def test_check_counts_figures_and_names_what_is_missing(run):
    done = run("experiments", "check", "neuron-and-or", "xor-hand-wired")
    report = experiments.check(["neuron-and-or", "xor-hand-wired"])
    n = len([row for row in report.rows if row.ok is not None])
    assert done.status == 0
    assert done.lines[0].split() == ["id", "group", "figures", "agree", "time"]
    assert done.lines[1].split()[:5] == ["neuron-and-or", "R", "2", "of", "2"]
    assert done.lines[4].startswith("2 experiments in ")
    assert done.lines[4].endswith(f": {n} of {n} figures agree")
    assert done.err == ""


def test_check_fails_when_a_figure_is_off(run, monkeypatch):
    monkeypatch.setattr(experiments.CheckReport, "failures", property(lambda self: self.rows[:1]))
    done = run("experiments", "check", "neuron-and-or")
    assert done.status == 1
    assert any(line.startswith("differs: neuron-and-or AND: got ") for line in done.lines)
    document = json.loads(run("experiments", "check", "neuron-and-or", "--json").out)
    assert document["ok"] is False
    assert [row["name"] for row in document["figures"]] == ["AND", "OR"]


def test_check_says_what_is_skipped_and_not_implemented(run, monkeypatch):
    report = experiments.CheckReport((), ("sawtooth",), {"digits": "MNIST is not here."}, {})
    monkeypatch.setattr(experiments, "check", lambda ids, progress: report)
    done = run("experiments", "check")
    assert done.status == 0
    assert done.lines[-2:] == [
        "skipped: digits: MNIST is not here.",
        "not implemented yet (1): sawtooth",
    ]
    # what was asked for by name and could not be run is a failure
    assert run("experiments", "check", "neuron-and-or").status == 1


def test_run_goes_on_where_data_are_missing(run, monkeypatch):
    real = experiments.run

    def run_one(id):
        if id == "xor-hand-wired":
            raise experiments.NeedsDataError("MNIST is not here.")
        return real(id)

    monkeypatch.setattr(experiments, "run", run_one)
    done = run("experiments", "run", "xor-hand-wired", "neuron-and-or")
    assert done.status == 1
    assert "Error: xor-hand-wired: MNIST is not here." in done.notes
    assert done.lines[0].startswith("neuron-and-or: ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["run", "neuron-and-ro"],
            "IDS must be in lamina experiments list. Got 'neuron-and-ro'. "
            "Did you mean 'neuron-and-or'?",
        ),
        (
            ["list", "-g", "ZZ"],
            f"--group must be one of the letters {LETTERS}, and may be repeated. Got 'ZZ'.",
        ),
        (
            ["run"],
            "IDS or --group must say which experiments to run. Got neither. "
            "See: lamina experiments list",
        ),
    ],
)
def test_unknown_names_are_refused(run, arguments, sentence):
    done = run("experiments", *arguments)
    assert (done.status, done.out, done.err) == (1, "", f"Error: {sentence}\n")


def test_progress_is_drawn_on_a_terminal_only():
    import io

    from rich.console import Console

    from lamina.cli._progress import counted

    for show, pattern in [(True, "2 of 3.*second"), (False, "")]:
        stream = io.StringIO()
        console = Console(file=stream, force_terminal=True, width=80, legacy_windows=False)
        with counted(console, show=show) as count:
            count("first", 1, 3)
            count("second", 3, 3)
        assert re.search(pattern, stream.getvalue(), re.DOTALL)
        assert bool(stream.getvalue()) == show
