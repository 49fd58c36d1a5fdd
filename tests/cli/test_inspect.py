"""``lamina inspect`` on models of every kind."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import lamina
from lamina import (
    CrossModalEncoder,
    DenoisingEncoder,
    MixtureDensityRegressor,
    MLPClassifier,
    MLPRegressor,
    MultitaskNetwork,
    Network,
    TransferClassifier,
    TransferRegressor,
    save,
)
from lamina.cli._finding import Finding, worst_first
from lamina.cli._findings import findings_of
from lamina.cli._inspected import Inspected
from lamina.estimators import Trunk
from lamina.nn import GraphNetwork

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))


@pytest.fixture
def saved(tmp_path):
    """Save a model and a table, and return the two paths."""

    def save(model, **columns):
        lamina.save(model, tmp_path / "model")
        table = pd.DataFrame(X, columns=list("abc")).assign(**columns)
        table.to_csv(tmp_path / "data.csv", index=False)
        return tmp_path / "model", tmp_path / "data.csv"

    return save


def broken():
    """A network with a dead layer, a copied unit in the first, and linear layers at the end."""
    layers = Network((3, 8, 6, 5, 2), random_state=0).layers()
    layers[0][0][3], layers[0][1][3] = layers[0][0][0], layers[0][1][0]
    layers[1][1][:] = -100.0
    return Network.from_arrays(layers, ["relu", "relu", "identity"])


def found(network, X=X):
    """The findings about a network by name, and their order."""
    return {f.what: f for f in worst_first(list(findings_of(network, X, seed=0)))}


def test_a_broken_network_is_told_worst_first(run, saved):
    done = run("inspect", *saved(broken()))
    assert done.status == 0
    assert done.lines[0] == "Network 3-8-6-5-2, 133 parameters, on 60 rows"
    assert done.lines[1] == "1. [serious] The outputs are the same on every row."
    assert done.lines[3].startswith("2. [serious] All 6 units of layer 2 are dead")
    assert all("serious" not in line for line in done.lines[5:])
    assert any("Layers 3 to 4 are one affine map of rank 2" in line for line in done.lines)


def test_every_number_is_that_of_the_inspection():
    network = broken()
    got = found(network)
    dead = lamina.inspection.units(network, X).dead
    assert got["dead units"].number == len(dead) / 19
    assert got["superfluous units"].number == lamina.inspection.canonical(network).n_removed >= 1
    assert got["amplification"].number == lamina.inspection.lipschitz(network).upper
    assert got["linear layers"].number == 2


@pytest.mark.parametrize(
    ("network", "what", "level"),
    [
        (
            Network.from_arrays(
                [(9 * W, b) for W, b in Network((3, 20, 1), random_state=0).layers()], "tanh"
            ),
            "saturated units", "look",
        ),
        (
            Network.from_arrays(
                [(W, b + 50) for W, b in Network((3, 20, 1), random_state=0).layers()]
            ),
            "always on", "look",
        ),
        (Network((3, *[12] * 9, 1), "sigmoid", random_state=0), "gradient", "look"),
        (
            Network((3, 30, 2, 30, 1), ["relu", "identity", "relu"], random_state=0),
            "linear layers", "note",
        ),
        (Network((3, 5, 1), random_state=0), "linear regions", "fact"),
        (Network((3, 5, 1), "tanh", random_state=0), "symmetries", "fact"),
    ],
)  # fmt: skip
def test_each_kind_of_finding_is_found(network, what, level):
    finding = found(network)[what]
    assert finding.level == level
    assert finding.text.endswith(".")


def test_regions_are_counted_in_the_plane_through_three_rows():
    network = Network((3, 9, 7, 1), random_state=0)
    number = found(network)["linear regions in a plane"].number
    far = np.square(X - X[0]).sum(1).argmax()
    first = (X[far] - X[0]) / np.linalg.norm(X[far] - X[0])
    off = (X - X[0]) - np.outer((X - X[0]) @ first, first)
    third = X[np.linalg.norm(off, axis=1).argmax()]
    axes = np.stack([first, off[(third == X).all(1)][0]])
    axes[1] /= np.linalg.norm(axes[1])
    us = [0.0, (X[far] - X[0]) @ first, (third - X[0]) @ first]
    grid_u, grid_v = np.meshgrid(
        np.linspace(min(us), max(us), 900), np.linspace(0, (third - X[0]) @ axes[1], 900)
    )
    points = X[0] + np.stack([grid_u.ravel(), grid_v.ravel()], axis=1) @ axes
    on = np.concatenate([a > 0 for a in network.preactivations(points)[:-1]], axis=1)
    seen = len(np.unique(np.packbits(on, axis=1), axis=0))
    assert 0.9 * number <= seen <= number


def test_rows_on_a_line_have_no_plane():
    network = Network((1, 5, 1), random_state=0)
    assert "linear regions in a plane" not in found(network, X[:, :1])


def test_low_rank_is_found():
    W = np.outer(np.arange(1.0, 9), np.arange(1.0, 10))
    network = Network.from_arrays([(W, np.zeros(8)), (np.ones((1, 8)), [0.0])], "tanh")
    assert found(network, None)["low rank"].number == 1


def test_a_healthy_network_has_nothing_but_facts():
    got = found(Network((3, 8, 1), "tanh", random_state=0))
    assert {finding.level for finding in got.values()} == {"fact"}


def test_findings_of_many_networks_are_told_once_by_the_worst():
    findings = [
        Finding("note", "dead units", 0.05, "few", weight=0.05, networks=(1,)),
        Finding("look", "dead units", 0.5, "many", weight=0.5, networks=(2,)),
        Finding("serious", "constant output", 1.0, "same", networks=(2,)),
        Finding("note", "dead units", 0.05, "few", weight=0.05, networks=(2,)),
    ]
    got = worst_first(findings)
    assert [f.text for f in got] == ["same", "many"]
    assert got[1].networks == (2, 1)


def test_without_a_table_only_the_weights_are_looked_at(run, saved):
    model, _ = saved(broken())
    done = run("inspect", model)
    assert done.lines[0].endswith("on its weights alone")
    assert not any("dead" in line for line in done.lines)
    assert done.notes[-1] == f"Next: lamina inspect {model} DATA"


def test_json_has_every_finding(run, saved):
    model, data = saved(broken(), y=1.0)
    document = json.loads(run("inspect", model, data, "--target", "y", "--json").out)
    assert document["kind"] == "Network"
    assert document["networks"] == [{"sizes": [3, 8, 6, 5, 2], "n_parameters": 133}]
    first = document["findings"][0]
    assert set(first) == {"level", "what", "number", "text", "advice", "networks"}
    assert (first["level"], first["what"], first["networks"]) == (
        "serious",
        "constant output",
        [1],
    )


def test_pictures_come_with_their_numbers(run, saved, tmp_path):
    model, data = saved(Network((3, 5, 1), "tanh", random_state=0))
    done = run("inspect", model, data, "--plots", tmp_path / "p")
    names = ["network1_gradients", "network1_saturation", "network1_units"]
    files = [f"{name}.{ending}" for name in names for ending in ("csv", "png")]
    assert sorted(file.name for file in (tmp_path / "p").iterdir()) == files
    assert done.notes[-1] == "Network 1: no map of linear regions, since tanh is curved."
    assert len(done.notes) == 7
    run("inspect", model, "--plots", tmp_path / "q")
    assert (tmp_path / "q" / "network1_singular_values.png").exists()


def test_gradients_are_drawn_as_the_finding_tells_them(run, saved, tmp_path):
    network = Network((3, *[12] * 9, 1), "sigmoid", random_state=0)
    run("inspect", *saved(network), "--plots", tmp_path / "p")
    table = pd.read_csv(tmp_path / "p" / "network1_gradients.csv")
    assert table["title"][0] == "gradient: vanishes, by the slopes (random errors)"
    signal = table[table["label"].str.startswith("signal", na=False)]["y"]
    assert signal.iloc[-1] / signal.iloc[0] > 1e3
    assert len(signal) == 10


def polygons(file):
    """The corners of each polygon of a map, and the title of the picture."""
    table = pd.read_csv(file)
    parts = table[table["kind"] == "polygon"].groupby("value")
    return [part[["x", "y"]].to_numpy() for _, part in parts], table


def test_the_map_of_two_inputs_covers_their_range_and_shows_the_rows(run, tmp_path):
    network = Network((2, 9, 7, 1), random_state=0)
    lamina.save(network, tmp_path / "model")
    pd.DataFrame(X[:, :2], columns=list("ab")).to_csv(tmp_path / "d.csv", index=False)
    done = run("inspect", tmp_path / "model", tmp_path / "d.csv", "--plots", tmp_path)
    faces, table = polygons(tmp_path / "network1_regions.csv")
    (told,) = [line for line in done.lines if "In the plane of the two inputs" in line]
    assert f"lie {len(faces)} linear regions" in told
    corners = np.concatenate(faces)
    np.testing.assert_allclose(corners.min(axis=0), X[:, :2].min(axis=0))
    np.testing.assert_allclose(corners.max(axis=0), X[:, :2].max(axis=0))
    marked = table[table["label"] == "rows"]
    np.testing.assert_allclose(marked[["x", "y"]], X[:, :2], atol=1e-12)


def test_the_map_of_more_inputs_is_the_plane_of_three_far_rows_and_says_so(run, saved, tmp_path):
    network = Network((3, 9, 7, 1), random_state=0)
    done = run("inspect", *saved(network), "--plots", tmp_path / "p")
    faces, table = polygons(tmp_path / "p" / "network1_regions.csv")
    assert any(f"between them, lie {len(faces)} linear regions" in line for line in done.lines)
    far = int(np.square(X - X[0]).sum(1).argmax())
    title = table["title"][0]
    assert title.startswith(f"{len(faces)} regions in the plane of rows 1, {far + 1}, ")
    third = int(title.split(", ")[-1]) - 1
    marked = table[table["label"] == "the three rows"][["x", "y"]].to_numpy()
    for i, j in ((0, far), (far, third), (third, 0)):
        place = {0: 0, far: 1, third: 2}
        distance = np.linalg.norm(marked[place[i]] - marked[place[j]])
        assert distance == pytest.approx(np.linalg.norm(X[i] - X[j]))


def test_wide_networks_and_rows_on_a_line_show_regions_on_a_line(run, saved, tmp_path):
    done = run("inspect", *saved(Network((3, 201, 1), random_state=0)), "--plots", tmp_path / "p")
    assert "a map of more than 200 units shows nothing" in done.notes[-1]
    line = pd.read_csv(tmp_path / "p" / "network1_regions.csv")
    assert line["title"][0].endswith("linear pieces")
    lamina.save(Network((1, 5, 1), random_state=0), tmp_path / "one")
    pd.DataFrame({"a": X[:, 0]}).to_csv(tmp_path / "one.csv", index=False)
    done = run("inspect", tmp_path / "one", tmp_path / "one.csv", "--plots", tmp_path / "q")
    assert done.status == 0
    assert (tmp_path / "q" / "network1_regions.png").exists()


def test_the_rows_of_a_long_table_keep_their_numbers():
    found = Inspected("Network", None, [], n_rows=30_001)
    assert (found.row(0), found.row(9999), found.row(1)) == (1, 30_001, 4)
    assert Inspected("Network", None, [], n_rows=5).row(4) == 5


def test_a_table_model_is_read_through_its_encoder_and_calibrated(run, files):
    document = json.loads(run("inspect", files.classifier, files.flowers, "--json").out)
    assert document["kind"] == "TableClassifier"
    assert document["n_rows"] == 150
    told = {finding["what"]: finding for finding in document["findings"]}
    model = lamina.load(files.classifier)
    table = pd.read_csv(files.flowers)
    proba = model.predict_proba(table.drop(columns="kind"))
    expected = lamina.inspection.calibration(table["kind"], proba, classes=model.classes_)
    assert told["calibration"]["number"] == pytest.approx(expected.ece, abs=1e-9)
    assert len(told["symmetries"]["networks"]) == len(model.networks_)


def test_a_table_regressor_s_intervals_are_counted(run, files):
    document = json.loads(run("inspect", files.regressor, files.houses, "--json").out)
    told = {finding["what"]: finding for finding in document["findings"]}
    table = pd.read_csv(files.houses)
    dist = lamina.load(files.regressor).predict_dist(table.drop(columns="price"))
    low, high = dist.interval(0.9).T
    inside = ((low <= table["price"]) & (table["price"] <= high)).mean()
    assert told["coverage"]["number"] == pytest.approx(inside)


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (
            lambda y: MLPClassifier(hidden_layer_sizes=(6,), max_iter=5, random_state=0).fit(
                X, y > 0
            ),
            "calibration",
        ),
        (
            lambda y: MLPRegressor(
                hidden_layer_sizes=(6,), max_iter=5, n_members=2, random_state=0
            ).fit(X, y),
            "coverage",
        ),
        (
            lambda y: MixtureDensityRegressor(n_components=2, max_iter=5, random_state=0).fit(
                X, y
            ),
            "coverage",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_estimators_of_arrays_are_inspected(run, saved, model, what):
    y = X[:, 0] + X[:, 1]
    target = y > 0 if what == "calibration" else y
    done = run("inspect", *saved(model(y), y=target), "--target", "y", "--json")
    assert done.status == 0, done.err
    told = {finding["what"] for finding in json.loads(done.out)["findings"]}
    assert {what, "amplification", "symmetries"} <= told


ENCODER = DenoisingEncoder(hidden_layer_sizes=8, max_steps=20, random_state=0)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda y: ENCODER.fit(X), "amplification"),
        (lambda y: Trunk.of(ENCODER.fit(X)), "amplification"),
        (
            lambda y: CrossModalEncoder(2, max_steps=20, random_state=0).fit(X, X[:, :1]),
            "amplification",
        ),
        (lambda y: TransferClassifier(ENCODER).fit(X, y > 0), "calibration"),
        (lambda y: TransferRegressor(ENCODER).fit(X, y), "coverage"),
        (
            lambda y: MultitaskNetwork(4, solver="lbfgs", tol=1e-2, random_state=0).fit(X, y),
            "amplification",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_has_learned_from_other_rows_is_inspected(run, saved, make, what):
    y = X[:, 0] + X[:, 1]
    target = y > 0 if what == "calibration" else y
    done = run("inspect", *saved(make(y), y=target), "--target", "y", "--json")
    assert done.status == 0, done.err
    assert what in {finding["what"] for finding in json.loads(done.out)["findings"]}


def test_a_transfer_of_a_table_is_read_through_its_encoder(run, files, tmp_path):
    encoder, model = tmp_path / "encoder", tmp_path / "model"
    table = ("--steps", 20, "--width", 8, "--layers", 1)
    run("pretrain", files.houses, "--drop", "price", "-o", encoder, *table)
    run("fit", files.houses, "--target", "price", "--from", encoder, "-o", model)
    for place in (encoder, model):
        done = run("inspect", place, files.houses, "--target", "price", "--json")
        assert done.status == 0, done.err
    assert "coverage" in {finding["what"] for finding in json.loads(done.out)["findings"]}


def test_a_graph_is_refused_with_a_way_out(run, tmp_path):
    save(GraphNetwork.from_network(Network((2, 3, 1), random_state=0)), tmp_path / "graph")
    done = run("inspect", tmp_path / "graph")
    assert done.status == 1
    assert "Got a GraphNetwork. Use its summary()" in done.err


def test_inputs_of_different_scales_are_told(run, tmp_path):
    lamina.save(Network((3, 4, 1), random_state=0), tmp_path / "model")
    pd.DataFrame(X * [1, 1, 1e5], columns=list("abc")).to_csv(tmp_path / "d.csv", index=False)
    done = run("inspect", tmp_path / "model", tmp_path / "d.csv")
    assert any("spreads of the inputs differ" in line for line in done.lines)


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        (
            {"d": 1.0},
            [],
            "DATA must have 3 columns beside the target, as the model has inputs. Got 4",
        ),
        ({"d": "x"}, [], "Got text in the column 'd'. If that is the target, name it: --target."),
        ({"a": np.nan}, [], "Got a missing or infinite one in the column 'a'"),
        ({}, ["--target", "z"], "--target must be a column of the table. Got 'z'"),
    ],
)
def test_tables_that_do_not_fit_are_refused_in_a_sentence(run, saved, columns, options, sentence):
    done = run("inspect", *saved(Network((3, 4, 1), random_state=0), **columns), *options)
    assert (done.status, done.out) == (1, "")
    assert sentence in done.err


def test_a_target_without_a_table_and_a_missing_model_are_refused(run, saved, tmp_path):
    model, _ = saved(Network((3, 4, 1), random_state=0))
    done = run("inspect", model, "--target", "y")
    assert "--target must come with DATA" in done.err
    done = run("inspect", model, "--plots", model / "model.json")
    assert "--plots must be a folder. Got the file" in done.err
    assert run("inspect", tmp_path / "none").status == 1


def test_a_table_of_equal_rows_or_one_row_is_no_failure(run, tmp_path):
    lamina.save(Network((3, 4, 1), random_state=0), tmp_path / "model")
    for n in (1, 3):
        pd.DataFrame(np.ones((n, 3)), columns=list("abc")).to_csv(tmp_path / "d.csv", index=False)
        options = ["--plots", tmp_path / "p"]
        done = run("inspect", tmp_path / "model", tmp_path / "d.csv", *options)
        assert done.status == 0
        assert done.lines[0].endswith("on 1 row" if n == 1 else f"on {n} rows")
