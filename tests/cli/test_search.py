"""``lamina search``: what it finds, prints, saves and refuses; resuming, and Ctrl-C."""

from __future__ import annotations

import io
import json
import os
import re
import signal

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate

import lamina
from lamina.cli._options import UsageError, time_span
from lamina.cli._search_metrics import Scorer
from lamina.cli._search_progress import SearchWatch
from lamina.cli._search_space import default_space, pipeline_for, space_of_file
from lamina.search import EncodedRegressor, SearchReport, StackedEnsembleClassifier

pytest.importorskip("optuna", reason="the extra lamina[search] is not installed")

SPACE = """
hidden_layer_sizes = [[4], [6, 4]]
learning_rate_init = {low = 0.003, high = 0.03, log = true}
dropout = 0.0
max_iter = 80
[table]
numeric_embedding = ["none"]
"""


@pytest.fixture
def search(run, tmp_path):
    """Search among few small networks."""
    file = tmp_path / "space.toml"
    file.write_text(SPACE)

    def search_table(table, target, *options, trials=4, folds=3):
        given = ("--space", file, "--trials", trials, "--folds", folds)
        return run("search", table, "--target", target, *given, *options)

    return search_table


# What is found


@pytest.mark.parametrize(("table", "target"), [("flowers", "kind"), ("houses", "price")])
def test_the_scores_are_those_of_cross_validation(search, files, tmp_path, table, target):
    """Recomputed for one candidate by scikit-learn's own loop, splitter and scorers."""
    path = getattr(files, table)
    done = search(path, target, "--json", "--no-halving", "--ensemble", 0, "--seed", 5)
    assert done.status == 0
    found = json.loads(done.out)
    classes = target == "kind"
    frame = pd.read_csv(path)
    X, y = frame.drop(columns=target), frame[target]
    pipeline = pipeline_for(len(X), classes=classes, categorical=(), seed=5, device="auto")
    best = dict(found["best"]["params"])
    best["hidden_layer_sizes"] = tuple(best["hidden_layer_sizes"])
    pipeline.set_params(
        **{f"net__{k}" if "." not in k else k.replace(".", "__"): v for k, v in best.items()}
    )
    splitter = (StratifiedKFold if classes else KFold)(3, shuffle=True, random_state=5)
    names = (
        {"log_loss": "neg_log_loss", "accuracy": "accuracy"}
        if classes
        else {"rmse": "neg_root_mean_squared_error", "mae": "neg_mean_absolute_error", "r2": "r2"}
    )
    with pytest.warns(Warning, match="Maximum iterations"):
        again = cross_validate(pipeline, X, y, cv=splitter, scoring=names)
    for name in names:
        expected = again[f"test_{name}"].mean() * (-1 if names[name].startswith("neg_") else 1)
        np.testing.assert_allclose(found["best"]["scores"][name], expected, rtol=1e-4)


def test_search_prints_the_best_and_saves_what_predict_and_evaluate_take(
    run, search, files, tmp_path
):
    done = search(files.flowers, "kind", "-o", tmp_path / "model")
    assert done.status == 0
    assert done.notes[:2] == [
        f"Reading {files.flowers}",
        "Predicting kind (3 classes) from 2 columns and 150 rows in 3 folds",
    ]
    assert re.match(r"Rung 1: 4 of 4 candidates, best log loss \(nats\) [\d.]+$", done.notes[2])
    next_one = f"Next: lamina predict {tmp_path / 'model'} {files.flowers} -o predictions.csv"
    assert done.notes[-1] == next_one
    assert "Warning" not in done.err
    assert done.lines[0] == "Best of 4 candidates on 150 rows in 3 folds"
    start = next(i for i, line in enumerate(done.lines) if line.startswith("rank"))
    rows = [line.split() for line in done.lines[start + 1 : start + 5]]
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    losses = [float(row[1]) for row in rows if row[-1] == "finished"]
    assert losses == sorted(losses)
    assert re.match(rf"Saved the model to {tmp_path / 'model'} after [\d.]+ s", done.lines[-1])
    model = lamina.load(tmp_path / "model")
    assert isinstance(model, StackedEnsembleClassifier)
    predicted = run("predict", tmp_path / "model", files.flowers, "--proba")
    table = pd.read_csv(io.StringIO(predicted.out))
    assert list(table.columns[1:]) == [f"probability_{c}" for c in ("lily", "rose", "tulip")]
    scored = run("evaluate", tmp_path / "model", files.flowers, "--json")
    truth = pd.read_csv(files.flowers)["kind"]
    accuracy = float((table["prediction"] == truth).mean())
    assert json.loads(scored.out)["scores"]["accuracy"] == accuracy > 0.8


def test_a_number_by_its_whole_distribution(run, search, files, tmp_path):
    options = ("--metric", "nll", "--ensemble", 0, "--json", "-o", tmp_path / "model")
    done = search(files.houses, "price", *options)
    found = json.loads(done.out)
    assert found["metric"] == "nll"
    assert list(found["best"]["scores"]) == ["nll", "rmse", "mae", "r2"]
    ends = [c for c in found["candidates"] if c["status"] == "finished"]
    assert found["best"] == ends[0]
    assert [c["scores"]["nll"] for c in ends] == sorted(c["scores"]["nll"] for c in ends)
    assert isinstance(lamina.load(tmp_path / "model"), EncodedRegressor)
    table = pd.read_csv(
        io.StringIO(run("predict", tmp_path / "model", files.houses, "--interval", 0.9).out)
    )
    assert (table["lower_0.9"] < table["upper_0.9"]).all()
    assert run("evaluate", tmp_path / "model", files.houses).status == 0
    assert "EncodedRegressor" in run("inspect", tmp_path / "model", files.houses).lines[0]


def test_without_output_the_next_command_saves(search, files):
    done = search(files.flowers, "kind", trials=2)
    assert done.lines[-1].endswith("no model was saved, since --output was not given")
    assert done.notes[-1] == f"Next: lamina search {files.flowers} --target kind -o model"


# Storage


def outcome(done):
    """What a search found, without what differs from run to run."""
    found = json.loads(done.out)
    return {key: found[key] for key in ("best", "ensemble", "candidates", "n_candidates")}


def test_ctrl_c_keeps_the_best_and_the_same_command_goes_on(
    search, run, files, tmp_path, monkeypatch
):
    """SIGINT as a terminal sends it, after the first rung."""
    plain = SearchWatch.__call__
    store, model = tmp_path / "search.db", tmp_path / "model"

    def press(self, report):
        plain(self, report)
        if report.rung == 2:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    options = ("--storage", store, "-o", model, "--json", "--ensemble", 0)
    with monkeypatch.context() as patch:
        patch.setattr(SearchWatch, "__call__", press)
        done = search(files.flowers, "kind", *options)
    assert done.status == 130
    assert signal.getsignal(signal.SIGINT) == before
    assert "Ending the search; the best so far is fitted on all rows." in done.err
    found = json.loads(done.out)
    assert (found["interrupted"], found["complete"]) == (True, False)
    assert {c["status"] for c in found["candidates"]} == {"stopped"}
    rows = pd.read_csv(files.flowers).drop(columns="kind")
    assert len(lamina.load(model).predict(rows)) == 150
    shown = json.loads(run("search", "show", store, "--json").out)
    assert shown["state"] == "stopped"

    again = search(files.flowers, "kind", *options)
    assert again.status == 0
    assert outcome(again) == outcome(search(files.flowers, "kind", "--json", "--ensemble", 0))
    shown = json.loads(run("search", "show", store, "--json").out)
    assert (shown["state"], len(shown["candidates"])) == ("finished", 4)


def test_ctrl_c_before_anything_is_known_says_what_is_kept(search, files, tmp_path, monkeypatch):
    def press(self, report):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(SearchWatch, "__call__", press)
    store = tmp_path / "search.db"
    done = search(files.flowers, "kind", "--storage", store, "-o", tmp_path / "model")
    assert (done.status, done.out) == (130, "")
    assert done.notes[-1].startswith("Interrupted: No candidate was through its first rung.")
    assert not (tmp_path / "model").exists()
    done = search(files.flowers, "kind", "-o", tmp_path / "model")
    assert (done.status, done.notes[-1]) == (130, "Interrupted: Nothing was saved.")


def test_a_time_limit_ends_with_the_best_so_far(search, files, tmp_path, monkeypatch):
    clock = {"passed": 0.0}
    import lamina.search._rounds as rounds

    real = rounds.time.monotonic
    monkeypatch.setattr(rounds.time, "monotonic", lambda: real() + clock["passed"])
    plain = SearchWatch.__call__

    def late(self, report):
        plain(self, report)
        clock["passed"] = 1e6 * (report.done == report.total)

    monkeypatch.setattr(SearchWatch, "__call__", late)
    done = search(files.flowers, "kind", "--time-limit", "10m", "--ensemble", 0, "--json")
    assert done.status == 0
    assert json.loads(done.out)["complete"] is False
    assert "Time was up before the search ended; the best until then was kept." in done.notes


@pytest.fixture(scope="module")
def stored(files, tmp_path_factory):
    """A storage with two finished searches."""
    from lamina.cli import main

    folder = tmp_path_factory.mktemp("stored")
    (folder / "space.toml").write_text(SPACE)
    common = ("--space", folder / "space.toml", "--storage", folder / "search.db")
    for target, trials in (("width", 2), ("kind", 12)):
        words = ("search", files.flowers, "--target", target, "--trials", trials, "--folds", 2)
        rest = ("--ensemble", 0, "--quiet", "--json")
        assert main([str(word) for word in (*words, *common, *rest)]) == 0
    return folder / "search.db"


def test_show_tells_state_rungs_candidates_and_what_mattered(run, stored):
    done = run("search", "show", stored)
    assert done.status == 0
    assert re.fullmatch(r"lamina-\w{12}: finished", done.lines[0])
    assert re.fullmatch(
        r"MLPClassifier on 150 rows in 2 folds, begun [\d: -]+; 12 of 12 candidates have ended",
        done.lines[1],
    )
    rungs = done.lines.index("Rungs")
    assert [line.split()[:5] for line in done.lines[rungs + 2 : rungs + 5]] == [
        ["1", "2", "of", "2", "0"],
        ["2", "2", "of", "2", "0"],
        ["3", "2", "of", "2", "0"],
    ]
    entered = [int(line.split()[5]) for line in done.lines[rungs + 2 : rungs + 5]]
    assert entered == [12, 4, 2]  # a third of them goes on
    assert "Candidates" in done.lines
    assert any(line.startswith("What mattered") for line in done.lines)
    assert {"hidden_layer_sizes", "learning_rate_init"} <= {
        line.split(" ")[0] for line in done.lines
    }
    assert done.notes[0].startswith("Other searches there: lamina-")
    assert done.notes[1] == f"Next: lamina search show {stored} --plots pictures"


def test_show_as_a_document_agrees_with_itself(run, stored):
    shown = json.loads(run("search", "show", stored, "--json").out)
    assert shown["spec"]["metric"] == "neg_log_loss"
    assert [len(c["scores_by_epoch"]) for c in shown["candidates"]].count(1) == 8
    assert [c["state"] for c in shown["candidates"]] == ["complete"] * 2 + ["pruned"] * 10
    last = [list(c["scores_by_epoch"].values())[-1] for c in shown["candidates"]]
    assert last == [c["score"] for c in shown["candidates"]]
    first = [c["scores_by_epoch"]["9"] for c in shown["candidates"]]
    assert shown["rungs"][0]["best"] == -max(first)
    np.testing.assert_allclose(shown["rungs"][0]["median"], -np.median(first))
    np.testing.assert_allclose(sum(shown["importance"]["shares"].values()), 1.0)


def test_show_draws_pictures_with_their_numbers(run, stored, tmp_path):
    done = run("search", "show", stored, "--plots", tmp_path / "pictures", "--json")
    names = [
        f"{name}.{end}" for name in ("history", "rungs", "parameters") for end in ("png", "csv")
    ]
    assert json.loads(done.out)["files"] == [str(tmp_path / "pictures" / name) for name in names]
    assert sorted(file.name for file in (tmp_path / "pictures").iterdir()) == sorted(names)


def test_an_older_search_is_shown_by_its_name(run, stored):
    other = run("search", "show", stored).notes[0].split()[-1]
    shown = run("search", "show", stored, other)
    assert shown.lines[0] == f"{other}: finished"
    assert shown.lines[1].startswith("MLPRegressor on 150 rows")
    assert "Too few candidates have ended to say which parameters mattered" in shown.lines


def test_show_refuses_what_is_no_storage(run, stored, tmp_path):
    (tmp_path / "notes.txt").write_text("notes, and more of them")
    for words, sentence in (
        ((tmp_path / "none.db",), "There is no search in"),
        ((tmp_path / "notes.txt",), "storage must be an SQLite file"),
        ((stored, "lamina-nope"), "There is no search 'lamina-nope'"),
    ):
        done = run("search", "show", *words)
        assert (done.status, done.out) == (1, "")
        assert done.err.startswith(f"Error: {sentence}")


# What is refused


@pytest.mark.parametrize(
    ("options", "status", "sentence"),
    [
        (["--folds", "1"], 2, 'Invalid value "1" for --folds. Must be >= 2.'),
        (["--trials", "0"], 2, 'Invalid value "0" for --trials. Must be >= 1.'),
        (["--metric", "rmse"], 2, "--metric must be one of log_loss, accuracy,"),
        (["--metric", "loss"], 2, 'Invalid value "loss" for --metric.'),
        (["--time-limit", "soon"], 2, "--time-limit must be seconds above 0"),
        (["--sampler", "grid"], 2, 'Invalid value "grid" for --sampler.'),
        (["--folds", "90"], 1, "The table must have 90 or more rows of at least one class"),
        (["--space", "nowhere.toml"], 1, "--space must be a file that can be read."),
        (["--storage", "nowhere/search.db"], 1, "storage must be in a folder that exists"),
    ],
)
def test_a_wrong_call_is_one_sentence(run, files, options, status, sentence):
    done = run("search", files.flowers, "--target", "kind", "--quiet", *options)
    assert (done.status, done.out) == (status, "")
    assert done.err.startswith(f"Error: {sentence}"), done.err
    assert done.err.count("\n") == 1


def test_an_ensemble_is_not_chosen_by_distributions(run, files):
    done = run("search", files.houses, "--target", "price", "--metric", "nll")
    assert done.status == 2
    assert "--ensemble must be 0 with --metric nll" in done.err


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("1.5m", 90), ("10m", 600), ("1h30m", 5400), ("2H 5s", 7205)],
)
def test_times(text, seconds):
    assert time_span(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-5", "m", "10 minutes", "1m1h", "nan", "inf"])
def test_what_is_no_time(text):
    with pytest.raises(UsageError, match="--time-limit must be seconds above 0"):
        time_span(text)


# The space


def pipeline():
    return pipeline_for(100, classes=True, categorical=(), seed=0, device="cpu")


def test_a_space_file_in_toml_and_json(tmp_path):
    given = {
        "hidden_layer_sizes": [[8], [8, 4]],
        "alpha": {"low": 1e-4, "high": 1.0, "log": True},
        "max_iter": {"low": 5, "high": 9},
        "dropout": {"low": 0.1, "high": 0.2},
        "activation": "relu",
        "table.n_bins": [0, 8],
    }
    (tmp_path / "space.json").write_text(json.dumps(given))
    (tmp_path / "space.toml").write_text(
        "hidden_layer_sizes = [[8], [8, 4]]\nalpha = {low = 1e-4, high = 1.0, log = true}\n"
        'max_iter = {low = 5, high = 9}\ndropout = {low = 0.1, high = 0.2}\nactivation = "relu"\n'
        "[table]\nn_bins = [0, 8]\n"
    )
    for name in ("space.json", "space.toml"):
        space = space_of_file(tmp_path / name, pipeline())
        assert space["net__hidden_layer_sizes"] == [(8,), (8, 4)]
        assert space["net__activation"] == ["relu"]
        assert space["table__n_bins"] == [0, 8]
        assert space["net__alpha"].support() == (1e-4, 1.0)
        assert space["net__alpha"].median() == pytest.approx(1e-2)
        np.testing.assert_allclose(space["net__dropout"].support(), (0.1, 0.2))
        assert {space["net__max_iter"].rvs(random_state=i) for i in range(99)} == set(range(5, 10))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must hold names of parameters"),
        ("alpha = [", "is no TOML"),
        ("alhpa = [1.0]", r"Got 'alhpa'\. Did you mean 'alpha'\?"),
        ("[table]\nbins = [1]", r"Got 'table.bins'\."),
        ("[tabel]\nn_bins = [1]", "must name parameters"),
        ("alpha = []", "alpha of --space must hold at least one value"),
        ("alpha = {low = 1}", "numbers low < high"),
        ("alpha = {low = 1, high = 1}", "numbers low < high"),
        ("alpha = {low = 0, high = 1, log = true}", "low must be above 0"),
        ("alpha = {low = 0, high = inf}", "numbers low < high"),
        ("alpha = {low = 0, high = 1, step = 2}", "numbers low < high"),
        ("alpha = {low = false, high = true}", "numbers low < high"),
    ],
)
def test_a_wrong_space_file_is_one_sentence(run, files, tmp_path, text, sentence):
    (tmp_path / "space.toml").write_text(text)
    options = ("--target", "kind", "--space", tmp_path / "space.toml", "--quiet")
    done = run("search", files.flowers, *options)
    assert (done.status, done.out) == (1, "")
    assert re.search(sentence, done.err), done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("metric", ["log_loss", "rmse", "nll"])
def test_every_value_of_the_default_space_can_be_set(metric):
    classes = metric == "log_loss"
    given = pipeline_for(5000, classes=classes, categorical=(), seed=0, device="cpu")
    for name, values in default_space(metric, given).items():
        for value in values if isinstance(values, list) else [values.rvs(random_state=0)]:
            given.set_params(**{name: value})._validate_params()


# Scores


class Told:
    """A model that says what it was told."""

    classes_ = np.array(["a", "b", "c"])

    def __init__(self, proba=None, values=None):
        self.proba, self.values = proba, values

    def predict_proba(self, X):
        return self.proba

    def predict(self, X):
        return self.classes_[self.proba.argmax(1)] if self.values is None else self.values


def test_scores_are_scikit_learns():
    from sklearn import metrics

    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 60)
    y = Told.classes_[rng.integers(0, 3, 60)]
    scores = Scorer(True, "roc_auc")(Told(proba), None, y)
    assert scores == pytest.approx(
        {
            "neg_log_loss": -metrics.log_loss(y, proba),
            "accuracy": metrics.accuracy_score(y, Told(proba).predict(None)),
            "balanced_accuracy": metrics.balanced_accuracy_score(y, Told(proba).predict(None)),
            "roc_auc": metrics.roc_auc_score(y, proba, multi_class="ovr"),
        }
    )
    values, y = rng.normal(size=(2, 30))
    scores = Scorer(False, "rmse")(Told(values=values), None, y)
    assert list(scores) == ["neg_rmse", "neg_mae", "r2"]
    assert scores["neg_rmse"] == pytest.approx(-metrics.root_mean_squared_error(y, values))
    assert get_scorer("r2")._score_func(y, values) == pytest.approx(scores["r2"])


def test_a_class_that_training_lacked_makes_no_score_undefined():
    proba = np.full((4, 3), 1 / 3)
    scores = Scorer(True, "log_loss")(Told(proba), None, np.array(["a", "b", "a", "new"]))
    assert all(np.isfinite(list(scores.values())))


# Progress


def report(**changes):
    given = {
        "batch": 1, "n_batches": 1, "rung": 2, "n_alive": 22, "n_candidates": 64, "done": 3,
        "total": 5, "best_score": -0.25, "seconds": 30.0, "seconds_left": 60.0,
    }  # fmt: skip
    return SearchReport(**(given | changes))


def drawn(*reports, time_limit=None):
    console = Console(
        file=io.StringIO(), force_terminal=True, width=120, legacy_windows=False, color_system=None
    )
    watch = SearchWatch(console, quiet=False, metric="neg_log_loss", time_limit=time_limit)
    watch.start()
    for each in reports:
        watch(each)
    watch.stop()
    text = re.sub(r"\x1b\[[\d?]*\w", "", console.file.getvalue()).strip()
    return re.split(r"\r|\n", text)[-1]


def test_a_terminal_shows_who_is_alive_the_best_and_the_time_left():
    line = drawn(report(), report(done=4))
    told = (
        "Rung 2: 22 of 64 candidates, best log loss (nats) 0.25, 4 of 5 shards about 60.0 s left"
    )
    assert re.sub(r"^[━╸╺ ]+", "", line) == told


def test_time_left_is_bounded_by_the_limit_and_may_be_unknown():
    assert drawn(report(), time_limit=40.0).endswith("about 10.0 s left")
    assert drawn(report(seconds_left=float("nan"))).endswith("time left unknown")
    unknown = drawn(report(best_score=float("nan"), n_batches=3, batch=2))
    assert "Batch 2 of 3, rung 2: 22 of 64 candidates, no score yet" in unknown


def test_the_first_ctrl_c_ends_the_search_and_the_second_quits(files, tmp_path, spawn):
    """In a process of its own: the second comes while the best is fitted on all rows."""
    program = """
import os, signal, sys
from lamina.cli import main
from lamina.cli._search_progress import SearchWatch
from lamina import MLPClassifier
plain = SearchWatch.__call__
fit = MLPClassifier.fit

def press(self, report):
    plain(self, report)
    if report.rung == 2:
        os.kill(os.getpid(), signal.SIGINT)

def press_again(self, X, y, sample_weight=None):
    os.kill(os.getpid(), signal.SIGINT)
    return fit(self, X, y)

SearchWatch.__call__ = press
MLPClassifier.fit = press_again
sys.exit(main(sys.argv[1:]))
"""
    (tmp_path / "space.toml").write_text(SPACE)
    words = ("search", files.flowers, "--target", "kind", "--space", tmp_path / "space.toml")
    done = spawn(program, *words, "--trials", 4, "--folds", 2, "-o", tmp_path / "model")
    assert done.returncode == 130
    assert "Ctrl-C again quits without saving." in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "model").exists()
