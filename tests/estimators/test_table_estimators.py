"""The table estimators: what they learn, what each parameter does, what they refuse."""

import warnings

import numpy as np
import pandas as pd
import pytest

from lamina import load, save
from lamina._errors import DataError, DataWarning, DivergedError, ParameterError
from lamina.estimators import TableClassifier, TableRegressor
from lamina.nn import LeakyReLU, get_activation
from lamina.stack import train


def table(n=240, seed=0):
    """Return a table with columns of every kind, and what depends on them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": rng.choice(list("abcd"), n),
            "flag": rng.random(n) < 0.5,
            "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    effect = frame["kind"].map({"a": -1.0, "b": 0.0, "c": 1.0, "d": 3.0})
    signal = frame["size"] + effect + 2 * frame["flag"]
    frame.loc[rng.random(n) < 0.1, "size"] = np.nan
    return frame, signal.rename("signal")


def regressor(**parameters):
    return TableRegressor("fast", **({"random_state": 0} | parameters))


def classifier(**parameters):
    return TableClassifier("fast", **({"random_state": 0} | parameters))


# What they learn.


def test_regression_explains_what_can_be_explained():
    X, y = table(400)
    model = TableRegressor(random_state=0, n_members=4).fit(X[:300], y[:300])
    # A tenth of the sizes, of variance 1, is missing; the variance of y is about 4.
    assert model.score(X[300:], y[300:]) > 0.9


def test_classification_learns_labels_of_any_type():
    X, y = table(400)
    numbers = (y > 1).astype(int)
    expected = classifier().fit(X, numbers).predict(X)
    assert np.mean(expected == numbers) > 0.9
    for labels in (["no", "yes"], [False, True], [3, 7], [-1.0, 2.0]):
        named = numbers.map(dict(enumerate(labels)))
        model = classifier().fit(X, named)
        assert model.classes_.tolist() == sorted(labels)
        np.testing.assert_array_equal(model.predict(X) == labels[1], expected)


def test_probabilities_are_the_mean_of_the_members():
    X, y = table()
    classes = pd.cut(y, [-np.inf, 0, 2, np.inf], labels=["low", "mid", "high"])
    model = classifier(n_members=3).fit(X, classes)
    matrix = model.encoder_.transform(X)
    logits = [network.predict_raw(matrix).astype(float) for network in model.networks_]
    softmax = [np.exp(a - a.max(1, keepdims=True)) for a in logits]
    expected = np.mean([e / e.sum(1, keepdims=True) for e in softmax], axis=0)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba, expected, atol=1e-6)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    assert model.classes_.tolist() == ["high", "low", "mid"]
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(1)])


@pytest.mark.parametrize(("scale", "offset"), [(1e12, 0), (1e-8, 0), (1.0, 1e9), (1e-300, 0)])
def test_the_units_of_the_target_do_not_matter(scale, offset):
    X, y = table()
    plain = regressor().fit(X, y).predict(X)
    scaled = regressor().fit(X, y * scale + offset).predict(X)
    spread = np.std(y)
    np.testing.assert_allclose((scaled - offset) / scale, plain, atol=2e-4 * spread)


def test_several_targets_are_learned_together():
    X, y = table()
    both = np.column_stack([y, 1e6 - y * 1e3])
    model = regressor().fit(X, both)
    predicted = model.predict(X)
    assert predicted.shape == (len(X), 2)
    assert model.score(X, both) > 0.7
    assert np.corrcoef(predicted.T)[0, 1] < -0.9


def test_a_constant_target_is_predicted_exactly():
    X, _ = table()
    assert set(regressor().fit(X, np.full(len(X), 0.1)).predict(X)) == {0.1}
    two = np.column_stack([np.full(len(X), 0.1), np.arange(len(X))])
    assert set(regressor().fit(X, two).predict(X)[:, 0]) == {0.1}


def test_arrays_do_as_well_as_frames():
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = X @ [1.0, 2.0, 3.0]
    frame = pd.DataFrame(X, columns=list("abc"))
    from_array, from_frame = regressor().fit(X, y), regressor().fit(frame, y)
    np.testing.assert_array_equal(from_array.predict(X), from_frame.predict(frame))
    assert "feature_names_in_" not in vars(from_array)
    assert from_frame.feature_names_in_.tolist() == ["a", "b", "c"]


# What the training does.


def test_a_seed_gives_the_same_model_and_another_one_another():
    X, y = table()
    first, same, other = (regressor(random_state=s).fit(X, y).predict(X) for s in (3, 3, 4))
    np.testing.assert_array_equal(first, same)
    assert np.abs(first - other).max() > 1e-3


def test_the_global_random_state_is_left_alone():
    X, y = table()
    before = np.random.get_state()[1].copy()
    regressor(random_state=None).fit(X, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_presets_differ_in_effort():
    X, y = table(24)
    networks = {
        preset: len(TableRegressor(preset, random_state=0).fit(X, y).networks_)
        for preset in ("fast", "default", "best")
    }
    assert networks == {"fast": 2, "default": 8, "best": 24}
    assert len(regressor(n_members=3).fit(X, y).networks_) == 3


def test_metric_changes_what_is_learned():
    # A skewed target that nothing explains: the mean is 1, the median is ln 2.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 1)), rng.exponential(size=2000)
    mean = regressor(n_members=1).fit(X, y).predict(X).mean()
    median = regressor(n_members=1, metric="mae").fit(X, y).predict(X).mean()
    assert mean == pytest.approx(1.0, abs=0.1)
    assert median == pytest.approx(np.log(2), abs=0.1)


def test_accuracy_chooses_the_epoch_of_the_best_accuracy(monkeypatch):
    seen = []

    def spy(members, *args, **kwargs):
        seen.extend(member.monitor for member in members)
        return train(members, *args, **kwargs)

    monkeypatch.setattr("lamina.estimators._table_training.train", spy)
    X, y = table(60)
    for metric in (None, "log_loss", "accuracy"):
        classifier(metric=metric, n_members=1).fit(X, y > 1)
    assert seen == ["valid_loss", "valid_loss", "valid_score"]


def test_each_member_holds_out_other_rows_and_keeps_its_best_epoch():
    X, y = table(100)
    model = TableRegressor(random_state=0).fit(X, y)
    history = model.history_
    assert history["member"].unique().tolist() == list(range(model.families_["trained"].sum()))
    best = history.loc[history.groupby("member")["valid_loss"].idxmin()]
    assert best["valid_loss"].nunique() == len(best)
    assert (history.groupby("member")["epoch"].max() - best.set_index("member")["epoch"]).max() > 0


def test_families_compete_and_share_the_ensemble():
    # A target of narrow steps, of which long waves see nothing.
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(size=600)})
    y = np.floor(X["x"] * 12) % 2
    model = TableRegressor(random_state=0).fit(X, y)
    families = model.families_.set_index("family")
    assert families["kept"].sum() == len(model.networks_) == 8
    assert (families["trained"] >= families["kept"]).all()
    assert families["weight"].sum() == pytest.approx(1)
    assert families["kept"].idxmax() == families["weight"].idxmax()
    assert families["held_out_loss"].idxmax() == "slow waves"
    assert families.loc["slow waves", "kept"] == 0
    assert {network.sizes[0] for network in model.networks_} == {
        model.encoder_.transform(X).shape[1]
    }


def test_families_that_see_the_same_are_one():
    X = pd.DataFrame({"kind": list("abcd") * 10, "other": list("xxyyyxyxyx") * 4})
    model = TableClassifier(random_state=0, n_members=3).fit(X, X["kind"] < "c")
    assert model.families_["family"].tolist() == ["piecewise_linear"]
    assert model.families_["trained"].tolist() == [3]


def test_networks_do_not_see_what_their_family_leaves_out():
    X, y = table(60)
    model = TableRegressor(random_state=0, n_members=3).fit(X, y)
    parts = model.encoder_._parts()
    names = np.repeat(model.families_["family"], model.families_["kept"]).tolist()
    for name, network in zip(names, model.networks_, strict=True):
        used = (network.layers()[0][0] != 0).any(axis=0)
        assert used[parts == "bin"].any() == (name == "piecewise_linear")
        assert used[parts == "wave 8"].any() == (name == "fast waves")
        assert used[parts == "wave 1"].any() == ("waves" in name)
        assert used[parts == ""].all()


@pytest.mark.parametrize(
    ("embedding", "families"),
    [
        ("piecewise_linear", ["piecewise_linear"]),
        ("periodic", ["slow waves", "fast waves"]),
        ("none", ["none"]),
    ],
)
def test_an_embedding_that_is_asked_for_is_used(embedding, families):
    X, y = table(60)
    model = regressor(n_members=1, numeric_embedding=embedding).fit(X, y)
    assert model.families_["family"].tolist() == families
    used = set(model.encoder_._parts()) - {""}
    assert ("bin" in used) == (embedding == "piecewise_linear")
    assert ("wave 8" in used) == (embedding == "periodic")


def test_what_is_asked_for_replaces_the_presets(monkeypatch):
    seen = []

    def spy(members, *args, **kwargs):
        seen.extend(members)
        return train(members, *args, **kwargs)

    monkeypatch.setattr("lamina.estimators._table_training.train", spy)
    X, y = table(40)
    asked = {"activation": "silu", "learning_rate": 0.02, "dropout": 0.3, "weight_decay": 0.5}
    model = TableRegressor(n_members=2, hidden_layer_sizes=7, random_state=0, **asked).fit(X, y)
    assert {network.sizes[1:-1] for network in model.networks_} == {(7,)}
    for member in seen:
        assert member.activations == (get_activation("silu"),)
        assert (member.learning_rate, member.dropout) == (0.02, 0.3)
        assert member.weight_decay == 0.5
    assert len({member.learning_rate for member in seen}) == 1


def test_weights_count_and_weightless_rows_are_absent():
    X, y = table()
    keep = np.arange(len(X)) % 3 > 0
    without = regressor().fit(X[keep], y[keep])
    zero = regressor().fit(X, y, sample_weight=keep.astype(float))
    np.testing.assert_array_equal(zero.predict(X), without.predict(X))

    x, zeros = np.zeros((200, 1)) + np.arange(200)[:, None] % 2, np.arange(200) % 4 < 2
    heavy = classifier().fit(x, zeros, sample_weight=np.where(zeros, 9.0, 1.0))
    assert heavy.predict_proba(x)[:, 1].mean() == pytest.approx(0.9, abs=0.05)


def test_time_limit_stops_training_and_keeps_what_was_learned():
    X, y = table(2000)
    model = TableRegressor("best", time_limit=1.0, random_state=0)
    with warnings.catch_warnings(action="error"):
        model.fit(X, y)
    seconds = model.history_["seconds"].sum()
    assert seconds < 3.0
    assert 1 <= len(model.networks_) < 24
    assert model.timed_out_
    assert model.score(X, y) > 0.3
    unhurried = TableRegressor("fast", time_limit=1e6, random_state=0).fit(X, y)
    assert not unhurried.timed_out_
    np.testing.assert_allclose(unhurried.predict(X), regressor().fit(X, y).predict(X), atol=1e-5)


def test_the_first_epoch_is_always_finished():
    X, y = table()
    model = TableRegressor(time_limit=1e-9, random_state=0).fit(X, y)
    assert model.history_["epoch"].tolist() == [1]
    assert len(model.networks_) == 1
    assert model.timed_out_
    assert model.families_["kept"].tolist() == [1]


@pytest.mark.parametrize("n", [2, 3, 9, 10, 11, 17])
def test_tables_of_few_rows(n):
    X, y = table(n)
    assert np.isfinite(regressor().fit(X, y).predict(X)).all()
    labels = np.arange(n) % 2
    assert classifier().fit(X, labels).predict_proba(X).shape == (n, 2)


def test_rare_classes_are_learned_from():
    X = table(60)[0]
    labels = np.array(["common"] * 57 + ["pair", "pair", "single"])
    model = classifier().fit(X, labels)
    assert model.classes_.tolist() == ["common", "pair", "single"]
    assert (model.predict_proba(X) > 0).all()


def test_verbose_prints_epochs_and_quiet_prints_nothing(capsys):
    X, y = table(50)
    regressor().fit(X, y)
    assert capsys.readouterr() == ("", "")
    regressor(verbose=True).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Members 1 to 2, epoch 1 of 40: loss = ")
    assert "held-out loss = " in lines[0]


class Stopper:
    """A callback of scikit-learn that stops after some epochs."""

    def __init__(self, after):
        self.after, self.epochs, self.scores, self.n_teardowns = after, 0, [], 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.n_teardowns += 1

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        if context.max_subtasks == 0 and context.parent is not None:
            self.epochs += 1
            self.scores.append(fitted_estimator.score(X, y))
        return self.epochs >= self.after


def test_callbacks_see_a_model_that_predicts_and_can_stop_it():
    X, y = table()
    stopper = Stopper(3)
    model = regressor().set_callbacks(stopper).fit(X, y)
    assert model.history_["epoch"].max() == 3
    assert len(stopper.scores) >= 3
    assert stopper.scores[2] > stopper.scores[0]
    assert stopper.n_teardowns == 1


def test_callbacks_are_torn_down_after_a_failure():
    class Failing(Stopper):
        def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
            raise RuntimeError("a callback's own failure")

    X, y = table()
    failing = Failing(1)
    with pytest.raises(RuntimeError, match="own failure"):
        regressor().set_callbacks(failing).fit(X, y)
    assert failing.n_teardowns == 1


def test_listeners_hear_of_no_trial_epoch_under_a_time_limit(capsys):
    X, y = table()
    printed = []
    for limit in (None, 1e6):
        model = regressor(time_limit=limit, n_members=1, verbose=True).fit(X, y)
        printed.append(capsys.readouterr().out)
        assert len(printed[-1].splitlines()) == model.history_["epoch"].max()
    assert printed[0] == printed[1]


def test_categorical_features_are_taken_for_categories():
    X = pd.DataFrame({"code": np.arange(100) % 5 * 10.5, "n": np.arange(100.0)})
    report = regressor(categorical_features=["code"]).fit(X, X["n"]).encoder_.report()
    assert report["kind"].tolist() == ["category", "number"]


def test_the_name_of_the_target_is_remembered():
    X, y = table(50)
    assert regressor(n_members=1).fit(X, y).target_name_ == "signal"
    assert regressor(n_members=1).fit(X, y.to_numpy()).target_name_ is None


def test_prediction_wants_the_same_columns():
    X, y = table(50)
    model = regressor(n_members=1).fit(X, y)
    expected = model.predict(X)
    np.testing.assert_array_equal(model.predict(X[["when", "flag", "kind", "size"]]), expected)
    with pytest.warns(DataWarning, match="ignored"):
        np.testing.assert_array_equal(model.predict(X.assign(more=1)), expected)
    with pytest.raises(DataError, match="must have the column 'kind'"):
        model.predict(X.drop(columns="kind"))
    new = X.assign(kind="new", size=None, flag=None, when=pd.NaT)
    assert np.isfinite(model.predict(new)).all()


# Saving.


def test_saved_models_predict_the_same(tmp_path):
    X, y = table()
    number = regressor().fit(X, y)
    save(number, tmp_path / "number")
    loaded = load(tmp_path / "number")
    np.testing.assert_array_equal(loaded.predict(X), number.predict(X))
    pd.testing.assert_frame_equal(loaded.history_, number.history_)
    assert loaded.get_params() == number.get_params()
    pd.testing.assert_frame_equal(loaded.families_, number.families_)
    assert loaded.timed_out_ is number.timed_out_ is False
    assert loaded.target_name_ == "signal"
    assert loaded.feature_names_in_.tolist() == list(X.columns)

    for labels in (["low", "high"], [0, 1], [False, True], [1.0, 2.0]):
        classes = np.array(labels)[(y > 1).astype(int)]
        model = classifier(n_members=1, categorical_features=[1]).fit(X, classes)
        save(model, tmp_path / "classes")
        loaded = load(tmp_path / "classes")
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        assert loaded.predict(X).dtype == model.predict(X).dtype
        assert loaded.predict(X).tolist() == model.predict(X).tolist()


def test_saved_models_remember_what_was_asked_for(tmp_path):
    X, y = table(60)
    asked = {"numeric_embedding": "periodic", "activation": LeakyReLU(0.3), "dropout": 0.2}
    model = regressor(n_members=1, hidden_layer_sizes=(9, 4), **asked).fit(X, y)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.get_params() == model.get_params() | {"hidden_layer_sizes": [9, 4]}
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


# What they refuse.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"preset": "fastt"}, "preset must be one of .* Did you mean 'fast'?"),
        ({"time_limit": 0}, "time_limit must be a finite number in"),
        ({"n_members": 0}, "n_members must be an integer of at least 1"),
        ({"metric": "accuracy"}, "metric must be one of 'mae', 'rmse'"),
        ({"numeric_embedding": "both"}, "numeric_embedding must be one of"),
        ({"hidden_layer_sizes": 0}, r"hidden_layer_sizes\[0\] must be"),
        ({"activation": "rellu"}, "Did you mean 'relu'"),
        ({"learning_rate": 0}, "learning_rate must be a finite number"),
        ({"dropout": 1.0}, "dropout must be a finite number"),
        ({"weight_decay": -1}, "weight_decay must be a finite number"),
        ({"categorical_features": ["knd"]}, "Did you mean 'kind'?"),
        ({"device": "abacus"}, "device must be 'auto' or a device"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = table(30)
    with pytest.raises(ParameterError, match=message):
        TableRegressor(**({"preset": "fast"} | parameters)).fit(X, y)


def bad(**columns):
    return table(30)[0].assign(**columns)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (table(30)[0], ["a"] * 30, "y must hold numbers for a regression. Got a category"),
        (table(30)[0], [np.nan] * 30, "y must not contain missing values. Got NaN in row 0"),
        (table(30)[0], [1.0] * 29 + [np.inf], "infinity.* in row 29"),
        (table(30)[0], np.arange(29.0), r"inconsistent numbers of samples: \[30, 29\]"),
        (table(30)[0], None, "y to be passed"),
        (table(30)[0][:0], [], r"0 sample\(s\)"),
        (table(30)[0][:1], [1.0], r"1 sample\(s\)"),
        (bad(size=[1.0] * 29 + [-np.inf]), np.arange(30.0), "'size' .* infinity .* in row 29"),
        (np.zeros((30, 2, 2)), np.arange(30.0), "3 dimensions"),
        (np.zeros((30, 2), complex), np.arange(30.0), "Complex data not supported"),
    ],
)
def test_bad_data(X, y, message):
    with pytest.raises(DataError, match=message):
        regressor().fit(X, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * 30, "at least two classes. Got one class, 'a'"),
        ([None] + ["a"] * 29, "Got NaN in row 0"),
        (np.linspace(0, 1, 30), "Unknown label type: continuous"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(DataError, match=message):
        classifier().fit(table(30)[0], y)


@pytest.mark.parametrize("weight", [-1.0, np.nan])
def test_bad_weights(weight):
    X, y = table(30)
    with pytest.raises(ValueError, match=r"sample_weight|NaN"):
        regressor().fit(X, y, sample_weight=[weight] + [1.0] * 29)
    with pytest.raises(ValueError, match="zero"):
        regressor().fit(X, y, sample_weight=np.zeros(30))


def test_divergence_of_all_members_is_an_error(monkeypatch):
    def hopeless(members, *args, **kwargs):
        import dataclasses

        with warnings.catch_warnings(action="ignore"):
            wild = [dataclasses.replace(m, learning_rate=1e30, clip_norm=None) for m in members]
            return train(wild, *args, **kwargs)

    monkeypatch.setattr("lamina.estimators._table_training.train", hopeless)
    X, y = table(30)
    with pytest.raises(DivergedError, match="at least one network with finite weights"):
        regressor().fit(X, y)


def test_a_table_without_use_predicts_the_mean_and_warns():
    y = np.arange(40.0)
    with pytest.warns(DataWarning, match="at least one column that can help"):
        model = regressor().fit(pd.DataFrame({"a": [1] * 40}), y)
    predicted = model.predict(pd.DataFrame({"a": [2, 3]}))
    np.testing.assert_allclose(predicted, y.mean(), atol=1.5)
