"""``lamina fit``: what it prints, what it saves, what it refuses, and Ctrl-C."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file

import lamina
from lamina.cli._scores import baseline, held_out, model_scores

QUICK = ("--preset", "fast")


@pytest.fixture
def fit(run, tmp_path):
    """Fit quickly to a table and return what was printed, and the model's folder."""

    def fit_table(table, target, *options):
        return run("fit", table, "--target", target, "-o", tmp_path / "model", *QUICK, *options)

    return fit_table


# What is printed


def test_fit_prints_columns_scores_and_where_the_model_is(fit, files, tmp_path):
    done = fit(files.houses, "price")
    assert done.status == 0
    place = str(tmp_path / "model")
    assert done.notes == [
        f"Reading {files.houses}",
        "Predicting price (a number) from 4 columns and 96 rows; 24 rows are held out",
        f"Next: lamina predict {place} {files.houses} -o predictions.csv",
    ]
    assert done.lines[0] == "Columns"
    assert done.lines[1].split() == ["column", "taken", "for", "distinct", "missing", "inputs"]
    rows = {line.split()[0]: line.split()[1] for line in done.lines[2:6]}
    assert rows == {"area": "number", "city": "category", "sold": "date", "country": "dropped"}
    assert "constant" in done.lines[5]
    assert done.lines[7] == "Scores on 24 held-out rows"
    assert done.lines[8].split() == ["RMSE", "MAE", "R²"]
    assert done.lines[9].split()[0] == "lamina"
    assert done.lines[10].split()[0] == "mean"
    saved = rf"Saved the model to {re.escape(place)} after \d+ epochs? in [\d.]+ s"
    assert re.fullmatch(saved, done.lines[12])
    assert len(done.lines) == 13


@pytest.mark.parametrize(("table", "target"), [("houses", "price"), ("flowers", "kind")])
def test_scores_are_those_of_the_saved_model_on_rows_it_has_not_seen(
    fit, files, tmp_path, table, target
):
    """Recomputed from the table, the seed and the folder alone."""
    path = getattr(files, table)
    done = fit(path, target, "--random-state", 3, "--json")
    document = json.loads(done.out)
    model, frame = lamina.load(tmp_path / "model"), pd.read_csv(path)
    classes = target == "kind"
    aside = held_out(frame[target], 0.2, 3, classes=classes)
    X, y = frame[aside].drop(columns=target), frame[target][aside]
    assert document["scores"] == model_scores(model, X, y, classes=classes)
    trivial = baseline(frame[target][~aside], y, classes=classes)
    assert document["baseline"] == {"name": trivial.name, "scores": trivial.scores}
    better = min if not classes else max
    first = next(iter(document["scores"]))
    both = document["scores"][first], trivial.scores[first]
    assert better(both) == document["scores"][first] != trivial.scores[first]


def test_json_is_one_document_on_stdout(fit, files, tmp_path):
    done = fit(files.flowers, "kind", "--json", "--valid-fraction", 0.1)
    document = json.loads(done.out)
    assert {key: document[key] for key in list(document)[:7]} == {
        "command": "fit",
        "data": str(files.flowers),
        "model": str(tmp_path / "model"),
        "target": "kind",
        "task": "classification",
        "n_rows": 150,
        "n_held_out": 15,
    }
    assert document["interrupted"] is False
    assert document["n_epochs"] > 0
    assert set(document["scores"]) == {"accuracy", "balanced_accuracy", "log_loss"}
    assert [column["column"] for column in document["columns"]] == ["length", "width"]
    assert not any(note.startswith("Next") for note in done.notes)


def test_quiet_prints_the_result_only(fit, files):
    done = fit(files.houses, "price", "--quiet")
    assert done.err == ""
    assert "Scores on 24 held-out rows" in done.lines


def test_on_request_nothing_is_held_out(fit, files):
    done = fit(files.houses, "price", "--valid-fraction", 0, "--json")
    document = json.loads(done.out)
    assert document["n_held_out"] == 0
    assert document["scores"] is document["baseline"] is None


def test_a_task_can_be_given(fit, files, tmp_path):
    frame = pd.read_csv(files.houses).assign(price=lambda t: (t.price // 150).astype(int))
    frame.to_csv(tmp_path / "coded.csv", index=False)
    guessed = fit(tmp_path / "coded.csv", "price", "--json")
    given = fit(tmp_path / "coded.csv", "price", "--json", "--task", "regression")
    assert json.loads(guessed.out)["task"] == "classification"
    assert json.loads(given.out)["task"] == "regression"
    hint = "These numbers are taken for classes. If they are not: --task regression"
    assert hint in guessed.notes
    assert hint not in given.notes


def test_numbers_can_be_declared_codes(fit, files, tmp_path):
    frame = pd.read_csv(files.houses).assign(postcode=lambda t: 50000 + t.index % 7)
    frame.to_csv(tmp_path / "codes.csv", index=False)
    done = fit(tmp_path / "codes.csv", "price", "--json", "--categorical", "postcode")
    columns = {column["column"]: column for column in json.loads(done.out)["columns"]}
    assert columns["postcode"]["kind"] == "category"


def test_the_same_seed_gives_the_same_model(fit, files, tmp_path):
    contents = []
    for seed in (1, 1, 2):
        assert fit(files.flowers, "kind", "--random-state", seed).status == 0
        folder = tmp_path / "model"
        arrays = load_file(folder / "weights.safetensors")
        arrays.pop("history.seconds")
        contents.append({name: array.tobytes() for name, array in arrays.items()})
    assert contents[0] == contents[1] != contents[2]


# Before any training


@pytest.mark.parametrize("occupied", ["file", "folder"])
def test_an_output_that_cannot_be_written_is_refused_before_training(
    fit, files, tmp_path, monkeypatch, occupied
):
    def never(*arguments, **options):
        raise AssertionError("training began")

    monkeypatch.setattr(lamina.TableRegressor, "fit", never)
    place = tmp_path / "model"
    if occupied == "file":
        place.write_text("notes")
        problem = "which is a file"
    else:
        place.mkdir()
        (place / "thesis.txt").write_text("notes")
        problem = "which also holds 'thesis.txt'"
    done = fit(files.houses, "price")
    assert done.status == 1
    assert done.err == (
        "Error: path must be a new folder or one that lamina.save wrote. "
        f"Got {str(place)!r}, {problem}. Give another name.\n"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--valid-fraction", "1"], 'Invalid value "1.0" for --valid-fraction. Must be < 1.'),
        (["--valid-fraction", "-0.1"], 'Invalid value "-0.1" for --valid-fraction. Must be >= 0.'),
        (["--time-limit", "0"], 'Invalid value "0.0" for --time-limit. Must be > 0.'),
        (["--random-state", "x"], 'Invalid value for --random-state: unable to convert "x" into'),
        (["--task", "guess"], 'Invalid value "guess" for --task. Choose from: "auto",'),
        (["--target", "a"], "Parameter --target specified multiple times."),
        (["--presets", "best"], "Unknown option: --presets. Did you mean --preset?"),
    ],
)
def test_options_out_of_range_are_usage_errors(fit, files, options, sentence):
    done = fit(files.houses, "price", *options)
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith(f"Error: {sentence}")
    assert done.err.endswith("See: lamina fit --help\n")
    assert done.err.count("\n") == 1


# Bad input, each by one sentence


def text(content: bytes | str):
    """A file with this content."""

    def write(folder):
        path = folder / "bad.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


BAD_TABLES = {
    "missing file": (
        lambda folder: folder / "hauses.csv",
        "price",
        r"hauses\.csv must be a file that exists\. Got no such file\.",
    ),
    "folder": (lambda folder: folder, "price", r"must be a CSV or Parquet file\. Got a folder\."),
    "empty": (text(""), "y", r"Got an empty file\."),
    "header only": (text("x,y\n"), "y", r"must hold at least one row and one column\. Got none\."),
    "not utf-8": (text(b"x,y\n1,K\xf6ln\n2,Bonn\n"), "y", r"byte 0xf6 at position 7, in line 2"),
    "ragged": (text("x,y\n1,2\n1,2,3\n"), "y", r"2 fields in every line.* Got 3 in line 3\."),
    "one row": (text("x,y\n1,2.5\n"), "y", r"must have more rows to hold out 20% of them"),
    "one class": (
        text("x,y\n" + "1,a\n" * 20),
        "y",
        r"y must have at least two classes\. Got one class, 'a'\.",
    ),
    "target not there": (
        text("x,price\n" + "1,2.5\n" * 20),
        "prise",
        r"Got 'prise'\. Did you mean 'price'\?",
    ),
    "target all missing": (
        text("x,y\n" + "1,\n" * 20),
        "y",
        r"Column 'y' must hold the target\. Got only missing values\.",
    ),
    "infinity in the target": (
        text("x,y\n" + "1,2.5\n" * 20 + "1,inf\n"),
        "y",
        r"infinit",
    ),
    "infinity in a column": (
        text("x,y\n" + "".join(f"{i},{i}.5\n" for i in range(20)) + "inf,2.5\n"),
        "y",
        r"infinit",
    ),
    "target only": (text("y\n" + "1.5\n2.5\n" * 20), "y", r"columns besides the target"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_table_that_cannot_be_used_is_refused_by_one_sentence(fit, tmp_path, case):
    make, target, pattern = BAD_TABLES[case]
    done = fit(make(tmp_path), target, "--quiet")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("Error: ")
    assert done.err.count("\n") == 1
    assert re.search(pattern, done.err), done.err
    assert not (tmp_path / "model").exists()


def test_text_cannot_be_regressed_on(fit, files):
    done = fit(files.flowers, "kind", "--task", "regression", "--quiet")
    assert done.status == 1
    assert re.fullmatch(
        r"Error: kind must hold numbers for a regression\. Got a category, for example '\w+'\. "
        r"Use a classifier, or convert it\.\n",
        done.err,
    )


def test_rows_without_a_target_are_dropped_with_a_word(fit, tmp_path):
    rows = "".join(f"{i},{i}.5\n" for i in range(40)) + "1,\n2,\n"
    path = text("x,y\n" + rows)(tmp_path)
    done = fit(path, "y", "--quiet")
    assert done.status == 0
    assert done.err == (
        "Warning: 2 of 42 rows were dropped, because the target 'y' is missing in them.\n"
    )


# Ctrl-C

INTERRUPTED = """
import os, signal, sys, threading
import torch
torch.set_num_threads(1)
from lamina.cli import main
from lamina.cli._progress import Watch

times, end = int(sys.argv[1]), Watch.on_fit_task_end

def press(self, estimator, context):
    if context.task_name == "epoch" and context.report.epoch == 3:
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
    return end(self, estimator, context)

Watch.on_fit_task_end = press
sys.exit(main(sys.argv[2:]))
"""


def test_ctrl_c_keeps_what_was_learned(spawn, files, tmp_path):
    place = tmp_path / "model"
    done = spawn(INTERRUPTED, 1, "fit", files.houses, "--target", "price", "-o", place)
    assert done.returncode == 130
    assert "Ending with this epoch. Ctrl-C again quits without saving." in done.stderr
    assert "Interrupted after 3 epochs; the best weights until then were kept." in done.stderr
    assert f"Saved the model to {place} after 3 epochs" in done.stdout
    assert "Traceback" not in done.stderr
    predicted = lamina.load(place).predict(pd.read_csv(files.houses).drop(columns="price"))
    assert np.isfinite(predicted).all()


def test_a_second_ctrl_c_quits(spawn, files, tmp_path):
    place = tmp_path / "model"
    done = spawn(INTERRUPTED, 2, "fit", files.houses, "--target", "price", "-o", place)
    assert done.returncode == 130
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == []
