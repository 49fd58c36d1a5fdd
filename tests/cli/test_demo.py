"""``lamina demo``: from the packaged table to a model, scores and a picture."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lamina
from lamina.cli import main
from lamina.cli._scores import held_out, regression_scores
from lamina.datasets import load_concrete


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """One whole run: its folder, status, document and time."""
    folder = tmp_path_factory.mktemp("demo") / "here"
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = main(["demo", "-o", str(folder), "--json", "--quiet"])
    return folder, status, json.loads(out.getvalue()), time.perf_counter() - began


@pytest.fixture
def quick(monkeypatch):
    """Let the network of the demo learn for a moment only."""
    real = lamina.TableRegressor

    def regressor(random_state):
        return real(preset="fast", random_state=random_state, time_limit=0.5)

    monkeypatch.setattr(lamina, "TableRegressor", regressor)


def split():
    """The rows to learn from and those held out."""
    table = load_concrete()
    aside = held_out(table["strength"], 0.2, 0, classes=False)
    return table[~aside], table[aside]


def test_demo_is_short_and_its_network_beats_the_linear_model(demo):
    _, status, document, took = demo
    scores = document["scores"]
    assert status == 0
    assert took < 60
    assert list(scores) == ["mean", "ridge regression", "gradient boosting", "lamina"]
    assert scores["lamina"]["rmse"] < 0.7 * scores["ridge regression"]["rmse"]


def test_scores_are_those_of_the_models_on_the_rows_held_out(demo):
    folder, _, document, _ = demo
    known, aside = split()
    X, y = aside.drop(columns="strength"), aside["strength"]
    ridge = make_pipeline(StandardScaler(), RidgeCV())
    ridge.fit(known.drop(columns="strength"), known["strength"])
    predictions = {
        "mean": np.full(len(y), known["strength"].mean()),
        "ridge regression": ridge.predict(X),
        "lamina": lamina.load(folder / "model").predict(X),
    }
    for name, predicted in predictions.items():
        for key, value in regression_scores(y, predicted).items():
            assert document["scores"][name][key] == pytest.approx(value, abs=1e-9)


def test_demo_writes_a_model_a_picture_and_its_numbers(demo):
    folder, _, document, _ = demo
    assert sorted(os.listdir(folder)) == ["model", "predictions.csv", "predictions.png"]
    assert document["files"] == [
        str(folder / name) for name in ("model", "predictions.png", "predictions.csv")
    ]
    picture = imread(folder / "predictions.png")
    assert picture.shape[0] > 500
    assert picture.std() > 0.05  # it is not one colour
    drawn = pd.read_csv(folder / "predictions.csv").query("kind == 'points' and panel == 0")
    np.testing.assert_allclose(drawn["x"], split()[1]["strength"])


def test_demo_prints_a_table(run, quick, tmp_path):
    done = run("demo", "-o", tmp_path / "d")
    assert done.status == 0
    assert done.notes[0] == "Concrete strength: 824 mixtures to learn from, 206 held out"
    assert done.notes[-1] == (
        f"Next: lamina predict {tmp_path / 'd' / 'model'} YOUR.csv, or "
        "lamina fit YOUR.csv --target COLUMN -o MODEL"
    )
    assert done.lines[0] == "Error on the held-out mixtures"
    assert done.lines[1].split("  ")[-1].strip() == "time to fit"
    assert done.lines[1].split()[:3] == ["RMSE", "(MPa)", "R²"]
    names = ["mean", "ridge regression", "gradient boosting", "lamina"]
    assert [line.split("  ")[0] for line in done.lines[2:6]] == names
    assert done.lines[6:] == [
        "",
        f"Wrote {tmp_path / 'd' / 'model'}",
        f"Wrote {tmp_path / 'd' / 'predictions.png'}",
        f"Wrote {tmp_path / 'd' / 'predictions.csv'}",
    ]


def test_a_second_demo_replaces_the_first(run, quick, tmp_path):
    assert [run("demo", "-o", tmp_path / "d").status for _ in range(2)] == [0, 0]


def test_demo_goes_on_without_matplotlib(run, quick, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = run("demo", "-o", tmp_path / "d")
    assert done.status == 0
    assert os.listdir(tmp_path / "d") == ["model"]
    assert (
        "No picture: Plotting needs the package 'matplotlib', which is not installed. "
        "Install it with: pip install 'lamina[plots]'"
    ) in done.notes


def test_demo_keeps_what_is_not_its_own(run, tmp_path):
    (tmp_path / "file").write_text("notes")
    done = run("demo", "-o", tmp_path / "file")
    assert done.status == 1
    assert done.err == (
        f"Error: --output must be a folder. Got {str(tmp_path / 'file')!r}, which is a file.\n"
    )
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.txt").write_text("notes")
    done = run("demo", "-o", tmp_path)
    assert done.status == 1
    assert "which also holds 'thesis.txt'" in done.err
    assert (tmp_path / "model" / "thesis.txt").read_text() == "notes"
