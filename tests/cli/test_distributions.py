"""Whole distributions on the command line: options, columns, scores, and what is refused."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import lamina
from lamina.cli._distributions import calibration_of, distribution_of

QUICK = ("--preset", "fast", "--quiet")


@pytest.fixture(scope="module")
def spread(files, tmp_path_factory):
    """The folder of a model whose spread depends on the row."""
    from lamina.cli import main

    folder = str(tmp_path_factory.mktemp("spread") / "model")
    table = str(files.houses)
    arguments = ["fit", table, "-t", "price", "-o", folder, "--loss", "heteroscedastic", *QUICK]
    assert main(arguments) == 0
    return folder


def unseen(path, target):
    return pd.read_csv(path).drop(columns=target)


# Fit


@pytest.mark.parametrize("loss", ["squared_error", "normal", "heteroscedastic", "mixture"])
def test_fit_takes_a_loss(run, files, tmp_path, loss):
    where = tmp_path / "model"
    done = run("fit", files.houses, "-t", "price", "-o", where, "--loss", loss, "--json", *QUICK)
    assert done.status == 0
    assert json.loads(done.out)["loss"] == loss
    assert lamina.load(where).loss == loss


def test_counts_can_be_fitted_and_told(run, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 2, 80)
    table = pd.DataFrame({"x": x, "n": rng.poisson(np.exp(x + 2))})
    table.to_csv(tmp_path / "n.csv", index=False)
    where = tmp_path / "model"
    given = ("--task", "regression", "--loss", "poisson", *QUICK)
    assert run("fit", tmp_path / "n.csv", "-t", "n", "-o", where, *given).status == 0
    told = json.loads(run("evaluate", where, tmp_path / "n.csv", "--json").out)["distribution"]
    rate = lamina.load(where).predict_dist(table[["x"]])
    assert told["nll"] == pytest.approx(-rate.log_prob(table["n"].to_numpy()).mean())
    table.assign(n=table["n"] + 0.5).to_csv(tmp_path / "half.csv", index=False)
    done = run("evaluate", where, tmp_path / "half.csv")
    assert done.status == 0
    assert done.notes[0].startswith("A distribution of counts says nothing of targets")


def test_a_loss_belongs_to_numbers(run, files, tmp_path):
    where = tmp_path / "model"
    done = run("fit", files.flowers, "-t", "kind", "-o", where, "--loss", "normal", "--quiet")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        "Error: --loss must be used with a number to predict. Got 'normal', and 'kind' holds "
        "classes. If these are numbers: --task regression\n"
    )
    assert not where.exists()


# Predict


def test_columns_say_what_the_distribution_is(run, files, spread):
    wanted = ("--std", "--interval", 0.9, "--quantiles", "0.1,0.5,0.9", "--samples", 3)
    done = run("predict", spread, files.houses, *wanted, "--random-state", 7)
    assert (done.status, done.err) == (0, "")
    answer = pd.read_csv(io.StringIO(done.out))
    names = ["prediction", "std", "lower_0.9", "upper_0.9", "q0.1", "q0.5", "q0.9"]
    assert list(answer) == [*names, "sample_1", "sample_2", "sample_3"]
    model = lamina.load(spread)
    dist = model.predict_dist(unseen(files.houses, "price"))
    np.testing.assert_allclose(answer["std"], dist.std())
    np.testing.assert_allclose(answer[["lower_0.9", "upper_0.9"]], dist.interval(0.9))
    np.testing.assert_allclose(answer[["q0.1", "q0.5", "q0.9"]], dist.quantile([0.1, 0.5, 0.9]))
    np.testing.assert_allclose(answer.filter(like="sample_"), dist.sample(3, 7))
    plain = run("predict", spread, files.houses)
    assert list(pd.read_csv(io.StringIO(plain.out))) == ["prediction"]


def test_columns_can_be_had_as_json_and_in_a_file(run, files, spread, tmp_path):
    place = tmp_path / "answer.csv"
    done = run("predict", spread, files.houses, "--interval", 0.5, "--json", "-o", place)
    columns = json.loads(done.out)["columns"]
    assert list(columns) == ["prediction", "lower_0.5", "upper_0.5"]
    written = pd.read_csv(place)
    np.testing.assert_allclose(written["upper_0.5"], columns["upper_0.5"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--quantiles", "0.1;0.5"), "--quantiles must be probabilities above 0 and below 1"),
        (("--quantiles", "0.1,1"), "--quantiles must be probabilities above 0 and below 1"),
        (("--quantiles", ""), "--quantiles must be probabilities above 0 and below 1"),
        (("--interval", "1.5"), "Must be < 1"),
        (("--interval", "0"), "Must be > 0"),
        (("--samples", "0"), "Must be >= 1"),
        (("--samples", "few"), "few"),
    ],
)
def test_options_that_make_no_sense_are_refused(run, files, spread, options, sentence):
    done = run("predict", spread, files.houses, *options)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("Error: ")
    assert sentence in done.err
    assert len(done.notes) == 1


@pytest.mark.parametrize(
    "options", [("--std",), ("--interval", "0.9"), ("--quantiles", "0.5"), ("--samples", "2")]
)
def test_classes_have_no_intervals(run, files, options):
    done = run("predict", files.classifier, files.flowers, *options)
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        "Error: --std, --interval, --quantiles and --samples must be used with a regressor. "
        "Got a classifier. Use --proba.\n"
    )


# Evaluate


def test_evaluate_scores_distributions(run, files, spread):
    told = json.loads(run("evaluate", spread, files.houses, "--json").out)["distribution"]
    y = pd.read_csv(files.houses)["price"].to_numpy()
    model = lamina.load(spread)
    dist = model.predict_dist(unseen(files.houses, "price"))
    assert told["nll"] == pytest.approx(-dist.log_prob(y).mean())
    assert told["crps"] == pytest.approx(dist.crps(y).mean())
    assert told["pit_ks"] == pytest.approx(stats.kstest(dist.cdf(y), "uniform").statistic)
    assert told["baseline_nll"] == pytest.approx(-stats.norm(y.mean(), y.std()).logpdf(y).mean())
    assert [row["level"] for row in told["coverage"]] == [0.5, 0.8, 0.9, 0.95]
    for row in told["coverage"]:
        low, high = dist.interval(row["level"]).T
        assert row["observed"] == pytest.approx(np.mean((low <= y) & (y <= high)))
        assert row["mean_width"] == pytest.approx(np.mean(high - low))


def test_evaluate_prints_distributions(run, files, spread):
    done = run("evaluate", spread, files.houses)
    lines = done.lines[done.lines.index("Distribution") :]
    assert lines[1].split() == ["NLL", "(nats)", "CRPS", "PIT", "KS"]
    assert lines[2].startswith("lamina ")
    assert lines[3].startswith("one distribution for all rows ")
    assert lines[5] == "Central intervals"
    assert lines[6].split() == ["promised", "observed", "mean", "width"]
    assert [line.split()[0] for line in lines[7:]] == ["50%", "80%", "90%", "95%"]


def test_evaluate_scores_probabilities(run, files):
    done = run("evaluate", files.classifier, files.flowers, "--json")
    told = json.loads(done.out)["calibration"]
    table = pd.read_csv(files.flowers)
    model = lamina.load(files.classifier)
    proba = model.predict_proba(table.drop(columns="kind"))
    own = model.classes_[None] == table["kind"].to_numpy()[:, None]
    assert told["log_loss"] == pytest.approx(-np.log(proba[own]).mean())
    assert told["brier"] == pytest.approx(((proba - own) ** 2).sum(axis=1).mean())
    assert told["log_loss"] == pytest.approx(json.loads(done.out)["scores"]["log_loss"])
    assert 0 <= told["ece"] <= 1
    printed = run("evaluate", files.classifier, files.flowers).lines
    assert "Calibration" in printed


def test_a_class_that_is_new_leaves_calibration_out(run, files, tmp_path):
    table = pd.read_csv(files.flowers)
    table.loc[:4, "kind"] = "daisy"
    table.to_csv(tmp_path / "new.csv", index=False)
    done = run("evaluate", files.classifier, tmp_path / "new.csv", "--json")
    assert json.loads(done.out)["calibration"] is None
    assert done.notes[0] == (
        "Calibration is left out: the model does not know the class 'daisy' of 5 of 150 rows."
    )
    X, y = table.drop(columns="kind"), table["kind"]
    assert isinstance(calibration_of(lamina.load(files.classifier), X, y), str)


def test_the_absolute_error_has_no_distribution(run, files, tmp_path):
    table = pd.read_csv(files.houses)
    X, y = table.drop(columns="price"), table["price"]
    model = lamina.TableRegressor("fast", metric="mae", n_members=1, random_state=0).fit(X, y)
    lamina.save(model, tmp_path / "model")
    done = run("evaluate", tmp_path / "model", files.houses)
    assert done.status == 0
    assert done.notes[0] == "A model of the absolute error predicts no distribution."
    assert distribution_of(model, X, y) == done.notes[0]
