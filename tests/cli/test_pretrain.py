"""``lamina pretrain``, and ``lamina fit --from``."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import lamina
from lamina.estimators import Trunk

QUICK = ("--steps", 30, "--width", 16, "--layers", 1)


@pytest.fixture(scope="module")
def encoders(files, tmp_path_factory):
    """Pretrain once on each table, without its target."""
    from lamina.cli import main

    folder = tmp_path_factory.mktemp("pretrained")
    for table, target in ((files.houses, "price"), (files.flowers, "kind")):
        command = ["pretrain", table, "--drop", target, "-o", folder / target, *QUICK, "--quiet"]
        assert main([str(part) for part in command]) == 0
    return folder


def test_pretrain_prints_its_losses_and_where_the_encoder_is(run, files, tmp_path):
    place = tmp_path / "encoder"
    done = run("pretrain", files.flowers, "--drop", "kind", "-o", place, *QUICK)
    assert done.status == 0
    assert done.notes == [
        f"Reading {files.flowers}",
        "Learning from 150 rows of 2 columns",
        f"Next: lamina fit FEW_ROWS --target COLUMN --from {place} -o model",
    ]
    assert done.lines[0].startswith("Loss ")
    assert done.lines[1].startswith(f"Saved the encoder to {place} after 30 steps in ")
    trunk = lamina.load(place)
    assert isinstance(trunk, Trunk)
    table = pd.read_csv(files.flowers)
    assert trunk.transform(table[["length", "width"]]).shape == (150, 16)


def test_pretrain_as_json(run, files, tmp_path):
    done = run("pretrain", files.houses, "-o", tmp_path / "encoder", *QUICK, "--json")
    document = json.loads(done.out)
    assert document["columns"] == ["area", "city", "sold", "country", "price"]
    assert document["sizes"][-1] == 16
    assert document["n_steps"] == 30


@pytest.mark.parametrize("strategy", ["frozen", "last", "fine_tune"])
@pytest.mark.parametrize(("table", "target"), [("houses", "price"), ("flowers", "kind")])
def test_fit_from_an_encoder_scores_predicts_and_evaluates(
    run, files, encoders, tmp_path, table, target, strategy
):
    data, place = getattr(files, table), tmp_path / "model"
    source = ("--from", encoders / target, "--strategy", strategy)
    done = run("fit", data, "--target", target, "-o", place, *source)
    assert done.status == 0, done.err
    assert done.lines[0] == f"{strategy}, from DenoisingEncoder"
    assert any(line.endswith("held-out rows") for line in done.lines)
    model = lamina.load(place)
    assert model.target_name_ == target
    predicted = run("predict", place, data)
    assert predicted.status == 0
    answers = predicted.lines[1:]
    rows = pd.read_csv(data)
    own = model.predict(rows.drop(columns=target))
    if table == "flowers":
        assert answers == own.tolist()
    else:
        assert np.allclose(np.array(answers, dtype=float), own)
    assert run("evaluate", place, data).status == 0


def test_fit_from_a_model_of_lamina_fit(run, files, tmp_path):
    given = ("--from", files.classifier, "--valid-fraction", "0", "--json")
    done = run("fit", files.flowers, "--target", "kind", "-o", tmp_path / "model", *given)
    document = json.loads(done.out)
    assert document["strategy"] == "frozen"
    assert document["scores"] is None
    assert {layer["origin"] for layer in document["layers"]} == {"copied, frozen", "new"}


@pytest.mark.parametrize(
    ("options", "status", "sentence"),
    [
        (["--strategy", "last"], 2, "--strategy must be used with --from"),
        (["--from", "{encoder}", "--preset", "fast"], 2, "--preset must not be used with --from"),
        (["--from", "{encoder}", "--categorical", "width"], 2, "--categorical must not be used"),
        (["--from", "{numbers}"], 1, "takes numbers alone"),
        (["--from", "{nowhere}"], 1, "nowhere"),
        (["--from", "{houses}"], 1, "area"),
    ],
)
def test_fit_from_refuses(run, files, encoders, tmp_path, options, status, sentence):
    lamina.save(lamina.Network((2, 4, 1)), tmp_path / "numbers")
    places = {
        "encoder": encoders / "kind",
        "houses": encoders / "price",
        "numbers": tmp_path / "numbers",
        "nowhere": tmp_path / "nowhere",
    }
    options = [option.format(**places) for option in options]
    done = run("fit", files.flowers, "--target", "kind", "-o", tmp_path / "model", *options)
    assert done.status == status
    assert sentence in done.err
    assert not (tmp_path / "model").exists()


def test_pretrain_refuses_a_column_that_is_not_there(run, files, tmp_path):
    done = run("pretrain", files.flowers, "--drop", "kinds", "-o", tmp_path / "encoder", *QUICK)
    assert done.status == 1
    assert "Did you mean 'kind'?" in done.err
    only = run(
        "pretrain", files.flowers, "-o", tmp_path / "e", *QUICK, *_drop("length width kind")
    )
    assert only.status == 1
    assert "a column that is not dropped" in only.err


def _drop(names):
    return [part for name in names.split() for part in ("--drop", name)]


def test_layers_that_have_seen_the_target_are_refused(run, files, tmp_path):
    place = tmp_path / "encoder"
    assert run("pretrain", files.houses, "-o", place, *QUICK).status == 0
    done = run("fit", files.houses, "--target", "price", "--from", place, "-o", tmp_path / "m")
    assert done.status == 1
    assert done.notes[1].startswith("Error: --from must be a model that learned without")
    assert f"lamina pretrain DATA --drop price -o {place}" in done.err
    assert not (tmp_path / "m").exists()


INTERRUPTED = """
import os, signal, sys
import torch
torch.set_num_threads(1)
from lamina.cli import main
from lamina.cli._progress import WatchRounds

times, end, seen = int(sys.argv[1]), WatchRounds.on_fit_task_end, []

def press(self, estimator, context):
    seen.append(context.task_name)
    if seen.count("round") == 3 and context.task_name == "round":
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
    return end(self, estimator, context)

WatchRounds.on_fit_task_end = press
sys.exit(main(sys.argv[2:]))
"""


def test_ctrl_c_keeps_what_was_learned(spawn, files, tmp_path):
    place = tmp_path / "encoder"
    command = ("pretrain", files.flowers, "--drop", "kind", "-o", place, *QUICK[2:])
    done = spawn(INTERRUPTED, 1, *command)
    assert done.returncode == 130
    assert "Ending with this round. Ctrl-C again quits without saving." in done.stderr
    # 150 rows are one step of a round
    assert "Interrupted after 3 of 3,000 steps; what it learned is kept." in done.stderr
    assert f"Saved the encoder to {place} after 3 steps" in done.stdout
    assert isinstance(lamina.load(place), Trunk)
    again = spawn(INTERRUPTED, 2, *command[:-6], "-o", tmp_path / "other", *QUICK[2:])
    assert again.returncode == 130
    assert not (tmp_path / "other").exists()


def test_rounds_are_drawn_on_a_terminal():
    from types import SimpleNamespace

    from rich.console import Console

    from lamina.cli._progress import WatchRounds

    console = Console(force_terminal=True, width=90, color_system=None, legacy_windows=False)
    watch = WatchRounds(console, show=True)
    root = SimpleNamespace(task_name="fit", max_subtasks=4, parent=None)
    with console.capture() as captured:
        watch.setup(None, root)
        for _ in range(3):
            context = SimpleNamespace(task_name="round", max_subtasks=0, parent=root)
            assert watch.on_fit_task_end(None, context) is False
        watch.teardown(None, root)
    assert "round 3 of 4" in captured.get()
