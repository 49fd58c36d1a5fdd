"""``lamina predict`` and ``lamina evaluate`` on saved models."""

from __future__ import annotations

import io
import json
import os

import numpy as np
import pandas as pd
import pytest

import lamina
from lamina.cli._scores import baseline, model_scores


def unseen(path, target):
    """The table of a file without its target."""
    return pd.read_csv(path).drop(columns=target)


# Predict


def test_predictions_are_csv_on_stdout(run, files):
    done = run("predict", files.regressor, files.houses)
    expected = lamina.load(files.regressor).predict(unseen(files.houses, "price"))
    answer = pd.read_csv(io.StringIO(done.out))
    assert done.status == 0
    assert done.err == ""
    assert list(answer) == ["prediction"]
    np.testing.assert_allclose(answer["prediction"], expected, rtol=1e-6)


def test_probabilities_of_every_class_can_be_had(run, files):
    done = run("predict", files.classifier, files.flowers, "--proba")
    answer = pd.read_csv(io.StringIO(done.out))
    names = ["probability_lily", "probability_rose", "probability_tulip"]
    assert list(answer) == ["prediction", *names]
    expected = lamina.load(files.classifier).predict_proba(unseen(files.flowers, "kind"))
    np.testing.assert_allclose(answer[names], expected, atol=1e-6)
    likeliest = answer[names].idxmax(axis=1).str.removeprefix("probability_")
    assert (likeliest == answer["prediction"]).all()


def test_predictions_go_to_a_file(run, files, tmp_path):
    place = tmp_path / "new file.csv"
    place.write_text("old")
    done = run("predict", files.regressor, files.houses, "-o", place)
    assert (done.status, done.out) == (0, "")
    assert done.notes == [
        f"Wrote 120 predictions to {place}",
        f"Next: lamina evaluate {files.regressor} {files.houses}",
    ]
    assert place.read_text() == run("predict", files.regressor, files.houses).out
    assert os.listdir(tmp_path) == ["new file.csv"]


def test_predictions_as_json(run, files):
    document = json.loads(run("predict", files.classifier, files.flowers, "--json").out)
    assert document["n_rows"] == 150
    expected = lamina.load(files.classifier).predict(unseen(files.flowers, "kind"))
    assert document["columns"] == {"prediction": list(expected)}


def test_columns_may_come_in_any_order_and_without_the_target(run, files, tmp_path):
    table = unseen(files.houses, "price")
    table[list(table)[::-1]].to_csv(tmp_path / "turned.csv", index=False)
    done = run("predict", files.regressor, tmp_path / "turned.csv")
    assert done.out == run("predict", files.regressor, files.houses).out
    assert done.err == ""


def test_a_column_that_is_missing_is_named(run, files, tmp_path):
    table = unseen(files.houses, "price").rename(columns={"area": "aera"})
    table.to_csv(tmp_path / "renamed.csv", index=False)
    done = run("predict", files.regressor, tmp_path / "renamed.csv")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(
        "Error: X must have the column 'area', which was there at fitting. Got "
    )
    assert done.err.endswith("Did you mean 'aera'?\n")


def test_a_column_that_is_new_is_ignored_with_a_word(run, files, tmp_path):
    unseen(files.houses, "price").assign(note="x").to_csv(tmp_path / "more.csv", index=False)
    done = run("predict", files.regressor, tmp_path / "more.csv")
    assert done.out == run("predict", files.regressor, files.houses).out
    assert done.err == (
        "Warning: X has columns that were not there at fitting; they are ignored: ['note'].\n"
    )


def test_new_categories_and_holes_are_no_failure(run, files, tmp_path):
    table = unseen(files.houses, "price").assign(city="Trier", sold=None)
    table.to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", files.regressor, tmp_path / "new.csv")
    assert done.status == 0
    assert np.isfinite(pd.read_csv(io.StringIO(done.out))["prediction"]).all()


def test_probabilities_of_a_regressor_are_refused(run, files):
    done = run("predict", files.regressor, files.houses, "--proba")
    assert (done.status, done.out) == (2, "")
    assert done.err == "Error: --proba must be used with a classifier. Got a regressor.\n"


def test_places_that_cannot_be_written_are_refused_before_work(run, files, tmp_path, monkeypatch):
    monkeypatch.setattr(lamina.TableRegressor, "predict", None)
    done = run("predict", files.regressor, files.houses, "-o", tmp_path)
    assert done.status == 1
    assert done.err == (
        f"Error: --output must be a file. Got {str(tmp_path)!r}, which is a folder.\n"
    )
    place = tmp_path / "none" / "p.csv"
    done = run("predict", files.regressor, files.houses, "-o", place)
    assert done.status == 1
    assert done.err == (
        f"Error: --output must be a file that can be written. Got {str(place)!r}: "
        "No such file or directory. Give another place.\n"
    )


# Models that are none


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_folder_that_is_no_model_is_refused(run, files, tmp_path, command):
    for place, problem in [
        (tmp_path, "which has no model.json."),
        (tmp_path / "none", "which does not exist."),
        (files.houses, "which is not a folder. Give the folder that holds model.json."),
    ]:
        done = run(command, place, files.houses)
        assert (done.status, done.out) == (1, "")
        assert done.err == (
            f"Error: path must be a folder that lamina.save wrote. Got {str(place)!r}, {problem}\n"
        )


def test_a_model_of_another_kind_is_refused(run, files, tmp_path):
    lamina.save(lamina.Network([2, 1], random_state=0), tmp_path / "net")
    done = run("predict", tmp_path / "net", files.houses)
    assert done.status == 1
    assert done.err == (
        "Error: The model must be one that lamina fit or lamina search wrote. "
        f"Got {str(tmp_path / 'net')!r}, "
        "which holds a Network. Use it from Python: lamina.load.\n"
    )


# Evaluate


@pytest.mark.parametrize(
    ("model", "table", "target"),
    [("regressor", "houses", "price"), ("classifier", "flowers", "kind")],
)
def test_evaluate_scores_the_model(run, files, model, table, target):
    place, path = getattr(files, model), getattr(files, table)
    done = run("evaluate", place, path, "--json")
    document = json.loads(done.out)
    y, classes = pd.read_csv(path)[target], target == "kind"
    assert document["target"] == target
    assert document["n_rows"] == len(y)
    expected = model_scores(lamina.load(place), unseen(path, target), y, classes=classes)
    assert document["scores"] == expected
    trivial = baseline(y, y, classes=classes)
    assert document["baseline"] == {"name": trivial.name, "scores": trivial.scores}


def test_evaluate_prints_a_table(run, files):
    done = run("evaluate", files.classifier, files.flowers)
    assert done.status == 0
    assert done.lines[0] == "Scores on 150 rows"
    assert done.lines[1].split("  ")[-1].strip() == "log loss (nats)"
    assert done.lines[2].startswith("lamina ")
    assert done.lines[3].startswith("most frequent class of these rows ")
    assert done.err == (
        f"Next: lamina predict {files.classifier} {files.flowers} -o predictions.csv\n"
    )


def test_the_target_may_have_another_name(run, files, tmp_path):
    pd.read_csv(files.flowers).rename(columns={"kind": "art"}).to_csv(
        tmp_path / "german.csv", index=False
    )
    done = run("evaluate", files.classifier, tmp_path / "german.csv")
    assert done.status == 1
    assert done.err.startswith("Error: The target must be a column of the table. Got 'kind'.")
    named = run("evaluate", files.classifier, tmp_path / "german.csv", "--target", "art")
    assert named.out == run("evaluate", files.classifier, files.flowers).out
