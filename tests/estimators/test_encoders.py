"""Encoders: what is learned, what is refused, and what breaks elsewhere."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils._param_validation import InvalidParameterError

from lamina._errors import DataError, DataWarning, DivergedError, FileError, ParameterError
from lamina.estimators import (
    ContrastiveEncoder,
    CrossModalEncoder,
    DenoisingEncoder,
    load,
    save,
)
from lamina.represent import report
from lamina.tables import TableEncoder

SMALL = {"hidden_layer_sizes": (16,), "max_steps": 40, "batch_size": 32, "random_state": 0}


def rows(n=120, seed=0):
    """Return rows on a plane in six dimensions with unequal scales, and three classes."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 2))
    X = hidden @ np.array([[1.0, -1.0, 2.0, 0.5, 0.0, 1.0], [0.0, 2.0, 1.0, -1.0, 1.0, 1.0]])
    y = np.digitize(hidden[:, 0], [-0.5, 0.5])
    return X * [1, 10, 100, 1, 1, 0.01] + [0, 5, 0, 1e6, 0, 0], y


X, Y = rows()
ENCODERS = {
    "contrastive": lambda **more: ContrastiveEncoder(pairs="instance", **SMALL | more),
    "denoising": lambda **more: DenoisingEncoder(**SMALL | more),
    "cross-modal": lambda **more: CrossModalEncoder(4, **SMALL | more),
}
each_encoder = pytest.mark.parametrize("name", ENCODERS)


def fit(name, data=X, **more):
    """Fit an encoder; the other side of pairs is a function of the rows."""
    return ENCODERS[name](**more).fit(data, partner(data))


def partner(data):
    return np.tanh(np.asarray(data)[:, :3] / [1, 10, 100])


# What all of them do


@each_encoder
def test_the_loss_falls_and_is_told(name):
    encoder = fit(name, max_steps=200)
    assert len(encoder.loss_curve_) == encoder.n_steps_ == len(encoder.history_) == 200
    assert encoder.loss_ < 0.95 * np.mean(encoder.loss_curve_[:5])
    assert encoder.loss_ == pytest.approx(np.mean(encoder.loss_curve_[-20:]))


@each_encoder
def test_transform_is_the_network_on_standardised_rows(name):
    encoder = fit(name)
    scaled = (X - encoder.input_mean_) / encoder.input_scale_
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-9)
    np.testing.assert_allclose(scaled.std(0), 1)
    features = encoder.transform(X)
    np.testing.assert_array_equal(
        features, encoder.network_.predict_raw(scaled.astype(np.float32))
    )
    assert encoder.networks_[0] is encoder.network_
    assert features.shape == (120, encoder.network_.sizes[-1])
    assert features.dtype == np.float32


@each_encoder
def test_transform_is_deterministic_and_knows_no_batch_mates(name):
    encoder = fit(name)
    whole = encoder.transform(X)
    np.testing.assert_array_equal(whole, encoder.transform(X))
    alone = np.concatenate([encoder.transform(X[i : i + 1]) for i in range(10)])
    np.testing.assert_allclose(alone, whole[:10], rtol=1e-5, atol=1e-5)


@each_encoder
def test_a_seed_fixes_everything_and_leaves_torchs_alone(name):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    one, two = fit(name), fit(name)
    np.testing.assert_array_equal(one.transform(X), two.transform(X))
    assert one.loss_curve_ == two.loss_curve_
    assert (fit(name, random_state=1).transform(X) != one.transform(X)).any()
    assert (torch.get_rng_state() == before).all()


@each_encoder
def test_units_of_the_columns_do_not_matter(name):
    other = X * 1024.0 - 2048.0
    one = ENCODERS[name](dtype="float64").fit(X, partner(X)).transform(X)
    two = ENCODERS[name](dtype="float64").fit(other, partner(X)).transform(other)
    assert one.dtype == np.float64
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


@each_encoder
def test_frames_names_and_pandas_output(name):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    encoder = fit(name, frame).set_output(transform="pandas")
    out = encoder.transform(frame)
    assert list(out.columns) == list(encoder.get_feature_names_out())
    assert out.columns[0] == f"{type(encoder).__name__.lower()}0"
    assert list(encoder.feature_names_in_) == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(frame.rename(columns={"a": "z"}))


@each_encoder
def test_saved_and_loaded_it_transforms_the_same(name, tmp_path):
    encoder = fit(name, pd.DataFrame(X, columns=list("abcdef")))
    save(encoder, tmp_path / "encoder")
    loaded = load(tmp_path / "encoder")
    frame = pd.DataFrame(X, columns=list("abcdef"))
    np.testing.assert_array_equal(loaded.transform(frame), encoder.transform(frame))
    assert loaded.get_params() == encoder.get_params()
    assert set(vars(loaded)) == set(vars(encoder)) - {"_training"}
    assert loaded.loss_curve_ == encoder.loss_curve_
    loaded.partial_fit(frame, partner(X))
    assert loaded.n_steps_ == encoder.n_steps_ + 120 // 32


@each_encoder
def test_copies_transform_the_same_and_a_clone_is_unfitted(name):
    encoder = ENCODERS[name]().partial_fit(X, partner(X))
    for twin in (copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))):
        np.testing.assert_array_equal(twin.transform(X), encoder.transform(X))
        twin.partial_fit(X, partner(X))
    assert not vars(clone(encoder)).keys() & {"network_", "loss_"}


@each_encoder
def test_partial_fits_of_all_rows_equal_one_fit(name):
    steps = 5 * (120 // 32)
    whole = ENCODERS[name](max_steps=steps).fit(X, partner(X))
    parts = ENCODERS[name](max_steps=steps)
    for _ in range(5):
        parts.partial_fit(X, partner(X))
    np.testing.assert_array_equal(parts.transform(X), whole.transform(X))
    assert parts.loss_curve_ == whole.loss_curve_


@each_encoder
def test_partial_fit_goes_on_with_other_rows_and_the_first_scale(name):
    encoder = ENCODERS[name]().partial_fit(X, partner(X))
    mean, before = encoder.input_mean_.copy(), encoder.transform(X)
    more, _ = rows(20, seed=1)
    encoder.partial_fit(more, partner(more))
    np.testing.assert_array_equal(encoder.input_mean_, mean)
    assert (encoder.transform(X) != before).any()
    assert encoder.n_steps_ == 120 // 32 + 1


@each_encoder
def test_ctrl_c_keeps_what_is_done(name, monkeypatch):
    encoder = ENCODERS[name](max_steps=1000)
    tell = type(encoder)._tell

    def stop(self, step, losses):
        tell(self, step, losses)
        if step == 7:
            raise KeyboardInterrupt

    monkeypatch.setattr(type(encoder), "_tell", stop)
    with pytest.warns(UserWarning, match=r"Training interrupted by user\."):
        encoder.fit(X, partner(X))
    assert encoder.n_steps_ == 7
    monkeypatch.undo()
    same = ENCODERS[name](max_steps=7)
    same.fit(X, partner(X))
    np.testing.assert_array_equal(encoder.transform(X), same.transform(X))


@each_encoder
def test_progress_is_printed_on_demand(name, capsys):
    fit(name)
    assert capsys.readouterr().out == ""
    fit(name, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("Step 40, loss = ")


@each_encoder
def test_rows_that_cannot_be_used_are_named(name):
    bad = X.copy()
    bad[3, 2] = np.nan
    with pytest.raises(DataError, match=r"Input X contains NaN in row 3, column 2"):
        fit(name, bad)
    with pytest.raises(DataError, match=r"must have at least 2 rows.* Got n_samples = 1\."):
        ENCODERS[name]().fit(X[:1], partner(X[:1]))
    encoder = fit(name)
    with pytest.raises(DataError, match=r"within reach .*row 0, column 4"):
        encoder.transform(np.where(np.arange(6) == 4, 1e300, X[:2]))


@each_encoder
def test_awkward_memory_is_welcome(name):
    fixed = np.asfortranarray(X)
    fixed.flags.writeable = False
    np.testing.assert_allclose(
        fit(name, fixed).transform(fixed[::-1]), fit(name).transform(X)[::-1], rtol=1e-4, atol=1e-5
    )


@each_encoder
@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_huge_and_tiny_columns(name, factor):
    data = X / np.abs(X).max(0) * factor
    encoder = ENCODERS[name]().fit(data, partner(X))
    assert np.isfinite(encoder.transform(data)).all()
    assert encoder.transform(data).std() > 1e-3


@each_encoder
def test_fewer_rows_than_a_batch_still_move_the_weights(name):
    encoder = ENCODERS[name](batch_size=512).fit(X, partner(X))
    assert len(set(encoder.loss_curve_)) > 1


@each_encoder
def test_constant_rows_collapse_and_say_so(name):
    more = {"ids": np.arange(40)} if name == "cross-modal" else {}
    with (
        warnings.catch_warnings(action="ignore", category=DataWarning),
        pytest.warns(ConvergenceWarning, match="The representation has collapsed"),
    ):
        ENCODERS[name]().fit(np.ones((40, 6)), partner(np.ones((40, 6))), **more)


@each_encoder
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"activation": "reluu"}, "Did you mean 'relu'?"),
        ({"batch_size": 1}, "'batch_size' parameter"),
        ({"max_steps": 0}, "'max_steps' parameter"),
        ({"learning_rate_init": 0.0}, "'learning_rate_init' parameter"),
        ({"weight_decay": -1.0}, "'weight_decay' parameter"),
        ({"dtype": "float16"}, "'dtype' parameter"),
        ({"hidden_layer_sizes": (0,)}, "hidden_layer_sizes[0] must be an integer of at least 1"),
    ],
)
def test_wrong_parameters_get_one_sentence(name, wrong, sentence):
    with pytest.raises(ValueError, match=r".*") as caught:
        fit(name, **wrong)
    assert sentence in str(caught.value)


@each_encoder
def test_a_step_size_that_is_too_large_is_told(name):
    with pytest.raises(DivergedError, match="Lower learning_rate_init"):
        fit(name, learning_rate_init=1e30, max_steps=200)


@each_encoder
def test_weight_decay_shrinks_the_weights(name):
    free, tight = fit(name), fit(name, weight_decay=10.0)
    norm = [np.linalg.norm(e.network_.layers()[0][0]) for e in (free, tight)]
    assert norm[1] < 0.9 * norm[0]


@each_encoder
@pytest.mark.parametrize("activation", ["gelu", "prelu", "tanh"])
def test_activations_reach_the_trunk(name, activation, tmp_path):
    encoder = fit(name, activation=activation)
    assert encoder.network_.activations[0].name == activation
    save(encoder, tmp_path / "e")
    np.testing.assert_array_equal(load(tmp_path / "e").transform(X), encoder.transform(X))


@each_encoder
def test_damaged_files_are_refused(name, tmp_path):
    save(fit(name), tmp_path / "e")
    (tmp_path / "e" / "weights.safetensors").write_bytes(b"")
    with pytest.raises(FileError):
        load(tmp_path / "e")


class Recorder:
    """A callback that remembers what it was told, and may stop after a round."""

    def __init__(self, stop_after=None):
        self.stop_after, self.told = stop_after, []

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.told.append(f"begin {context.task_name}")
        self.X = X

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.told.append(f"end {context.task_name}")
        if context.task_name != "round" or fitted_estimator is None:
            return False
        self.shape = fitted_estimator.transform(X).shape
        return self.told.count("end round") == self.stop_after


@each_encoder
def test_callbacks_hear_of_every_round_and_can_transform(name):
    recorder = Recorder()
    encoder = ENCODERS[name](max_steps=7).set_callbacks(recorder).fit(X, partner(X))
    rounds = ["begin round", "end round"] * 3
    assert recorder.told == ["setup", "begin fit", *rounds, "end fit", "teardown"]
    assert recorder.X is X
    assert recorder.shape == encoder.transform(X).shape


@each_encoder
def test_a_callback_can_stop(name):
    encoder = ENCODERS[name](max_steps=70).set_callbacks(Recorder(stop_after=2))
    encoder.fit(X, partner(X))
    assert encoder.n_steps_ == 6


# Contrastive


def test_supervised_pairs_bring_classes_together_as_instances_do_not():
    by_class = ContrastiveEncoder(**SMALL | {"max_steps": 150}).fit(X, Y)
    alone = ContrastiveEncoder(**SMALL | {"max_steps": 150}).fit(X)
    assert (by_class.pairs_, alone.pairs_) == ("class", "instance")
    found = [report(e.project(X), Y).neighbours_accuracy for e in (by_class, alone)]
    assert found[0] > 0.9 > found[1]


def test_labels_of_any_kind_make_the_same_pairs():
    numbers = ContrastiveEncoder(**SMALL).fit(X, Y)
    for labels in (np.array(["a", "b", "c"])[Y], np.array(["a", "b", "c"], dtype=object)[Y]):
        np.testing.assert_array_equal(
            ContrastiveEncoder(**SMALL).fit(X, labels).transform(X), numbers.transform(X)
        )


def test_a_regression_target_makes_no_pairs_unless_asked():
    target = X[:, 0] + 0.5
    assert ContrastiveEncoder(**SMALL).fit(X, target).pairs_ == "instance"
    with pytest.raises(DataError, match=r"y must hold class labels with pairs='class'"):
        ContrastiveEncoder(**SMALL, pairs="class").fit(X, target)
    with pytest.raises(ValueError, match="requires y to be passed"):
        ContrastiveEncoder(**SMALL, pairs="class").fit(X)


def test_rows_without_a_label_are_classes_of_their_own():
    y = Y.astype(float)
    y[10:] = np.nan
    encoder = ContrastiveEncoder(**SMALL).fit(X, y)
    assert encoder.pairs_ == "class"
    assert np.isfinite(encoder.loss_)
    texts = np.array(["a", "b", "c"], dtype=object)[Y]
    texts[10:] = None
    np.testing.assert_array_equal(
        ContrastiveEncoder(**SMALL).fit(X, texts).transform(X), encoder.transform(X)
    )
    with pytest.raises(DataError, match="must have a label in some row"):
        ContrastiveEncoder(**SMALL).fit(X, np.full(120, np.nan))


def test_equal_rows_without_a_label_are_one_class():
    twice, unknown = X.copy(), Y.astype(float)
    twice[7] = twice[3]
    unknown[[3, 7, 9]] = np.nan
    named = np.where(np.isin(np.arange(120), [3, 7]), 5.0, unknown)
    small = SMALL | {"batch_size": 120}
    with pytest.warns(DataWarning, match="1 of 120 rows are equal .* unless their labels differ"):
        found = ContrastiveEncoder(**small).fit(twice, unknown)
    with pytest.warns(DataWarning, match="1 of 120 rows"):  # row 9 is without a label
        expected = ContrastiveEncoder(**small).fit(twice, named)
    assert found.loss_curve_ == expected.loss_curve_
    assert found.loss_curve_ != ContrastiveEncoder(**small).fit(X, unknown).loss_curve_


def test_a_class_met_once_and_one_class_are_defined():
    single = np.where(np.arange(120) == 3, 7, Y)
    assert np.isfinite(ContrastiveEncoder(**SMALL).fit(X, single).loss_)
    encoder = ContrastiveEncoder(**SMALL).fit(X, np.zeros(120, dtype=int))
    assert np.isfinite(encoder.loss_)
    assert encoder.loss_ > 0.5


def test_copies_of_rows_are_counted_told_and_not_pushed_apart():
    twice = np.concatenate([X, X[:30]])
    with pytest.warns(DataWarning, match="30 of 150 rows are equal to another row"):
        encoder = ContrastiveEncoder(**SMALL).fit(twice)
    assert encoder.n_copies_ == 30
    assert ContrastiveEncoder(**SMALL).fit(X).n_copies_ == 0


def test_the_loss_is_below_collapse_and_above_the_floor():
    encoder = ContrastiveEncoder(**SMALL).fit(X)
    assert encoder.collapse_loss_ == pytest.approx(np.log(32))
    assert encoder.floor_loss_ < encoder.loss_ < encoder.collapse_loss_


def test_a_function_makes_views_in_the_units_of_x():
    seen = []

    def wobble(some, rng):
        seen.append(some.copy())
        return some * rng.uniform(0.9, 1.1, (len(some), 1))

    encoder = ContrastiveEncoder(wobble, **SMALL).fit(X)
    assert len(seen) == 80
    assert {tuple(row) for row in seen[0]} <= {tuple(row) for row in X}
    assert np.isfinite(encoder.transform(X)).all()


@pytest.mark.parametrize(
    ("views", "error", "sentence"),
    [
        (lambda some, rng: some[:, :2], ParameterError, "in the shape of the rows"),
        (lambda some, rng: some * np.nan, DataError, "must return finite numbers"),
        (lambda some, rng: some.astype(str), ParameterError, "must return numbers"),
        ("shfit", ParameterError, "views must be one of 'corrupt', 'crop'"),
    ],
)
def test_wrong_views_get_one_sentence(views, error, sentence):
    with pytest.raises(error, match=sentence):
        ContrastiveEncoder(views, **SMALL).fit(X)


def test_a_function_cannot_be_saved(tmp_path):
    encoder = ContrastiveEncoder(lambda some, rng: some * 0.5, **SMALL).fit(X)
    with pytest.raises(ParameterError, match="views must be a name to be saved"):
        save(encoder, tmp_path / "e")


@pytest.mark.parametrize("views", ["shift", "rotate", "crop", "recolour"])
def test_views_of_images(views):
    images = np.random.default_rng(0).normal(size=(60, 8, 8)).cumsum(1).cumsum(2).reshape(60, 64)
    encoder = ContrastiveEncoder(views, **SMALL).fit(images)
    assert np.ptp(encoder.input_mean_) == np.ptp(encoder.input_scale_) == 0.0
    assert encoder.loss_ < encoder.collapse_loss_
    tall = ContrastiveEncoder(views, image_shape=(4, 8, 2), **SMALL).fit(images)
    assert tall.transform(images).shape == (60, 16)
    with pytest.raises(ParameterError, match="image_shape must be"):
        ContrastiveEncoder(views, image_shape=(4, 8), **SMALL).fit(images)


def test_what_enters_a_shifted_image_is_a_pixel_of_zero():
    images = np.random.default_rng(0).random((60, 64)) + 3.0
    named = ContrastiveEncoder("shift", strength=2, **SMALL).fit(images)

    def by_hand(some, rng):
        from lamina.represent import shift

        return shift(some.reshape(-1, 8, 8), 2, random_state=rng).reshape(-1, 64)

    own = ContrastiveEncoder(by_hand, **SMALL | {"hidden_layer_sizes": (16,)})
    # the same scale for all pixels, which a function's rows do not get by default
    centre, scale = named.input_mean_[0], named.input_scale_[0]
    own.set_params(
        standardize=False,
        views=lambda some, rng: (by_hand(some * scale + centre, rng) - centre) / scale,
    )
    own.fit((images - centre) / scale)
    np.testing.assert_allclose(own.loss_curve_, named.loss_curve_, rtol=1e-4)


def test_without_a_projection_the_loss_is_on_the_features():
    encoder = ContrastiveEncoder(projection_sizes=(), **SMALL).fit(X)
    assert encoder.projector_ is None
    np.testing.assert_array_equal(encoder.project(X), encoder.transform(X))
    assert encoder.partial_fit(X).n_steps_ == 43


def test_strengths_have_bounds():
    for strength in (1.5, -0.1):
        with pytest.raises(ValueError, match="strength"):
            ContrastiveEncoder(strength=strength, **SMALL).fit(X)


def test_in_a_pipeline_behind_a_table_encoder():
    table = pd.DataFrame(X, columns=list("abcdef")).assign(city=np.array(["x", "y", "z"])[Y])
    model = make_pipeline(
        TableEncoder(),
        DenoisingEncoder(**SMALL),
        LogisticRegression(max_iter=2000),
    ).fit(table, Y)
    assert model.score(table, Y) > 0.9


# Denoising


def test_denoising_restores_better_than_the_mean():
    encoder = DenoisingEncoder(**SMALL | {"max_steps": 400}, mask_weight=0.0).fit(X)
    scaled = ((X - encoder.input_mean_) / encoder.input_scale_).astype(np.float32)
    restored = encoder.decoder_.predict_raw(encoder.transform(X))
    assert np.mean((restored - scaled) ** 2) < 0.5


def test_the_mask_doubles_the_outputs():
    assert DenoisingEncoder(**SMALL).fit(X).decoder_.sizes == (16, 12)
    deep = DenoisingEncoder(**SMALL, decoder_sizes=(8,), mask_weight=0.0).fit(X)
    assert deep.decoder_.sizes == (16, 8, 6)
    with pytest.raises(InvalidParameterError, match="hidden_layer_sizes must have at least one"):
        DenoisingEncoder(hidden_layer_sizes=()).fit(X)


# Cross-modal


def pairs(n, seed=0):
    rng = np.random.default_rng(seed)
    thing = rng.normal(size=(n, 3))
    left, right = np.random.default_rng(9).normal(size=(2, 3, 8))
    return thing @ left, np.tanh(thing @ right)


def test_retrieval_of_new_pairs_is_far_above_chance():
    encoder = CrossModalEncoder(8, **SMALL | {"max_steps": 300}).fit(*pairs(300))
    new, partners = pairs(50, seed=1)
    assert encoder.score(new, partners) > 0.5
    cosines = encoder.similarity(new, partners[:20])
    assert cosines.shape == (50, 20)
    assert np.abs(cosines).max() <= 1.0
    a, b = encoder.transform(new), encoder.transform_partner(partners[:20])
    expected = (a / np.linalg.norm(a, axis=1, keepdims=True)) @ (
        b / np.linalg.norm(b, axis=1, keepdims=True)
    ).T
    np.testing.assert_allclose(cosines, expected, atol=1e-6)
    best = encoder.retrieve(new, partners[:20], 3)
    np.testing.assert_array_equal(best[:, 0], cosines.argmax(1))
    assert (np.diff(np.take_along_axis(cosines, best, 1), axis=1) <= 0).all()
    assert 0.01 <= encoder.temperature_ <= 1.0
    assert encoder.temperature_ != 0.07


def test_equal_partners_are_not_negatives():
    X, y = pairs(120)
    captions = np.round(y[:, :1])  # few different ones
    with pytest.warns(DataWarning, match="pairs share a side with another pair, bit for bit"):
        encoder = CrossModalEncoder(4, **SMALL | {"max_steps": 300}).fit(X, captions[:, 0])
    assert encoder.loss_ < 0.3 * encoder.collapse_loss_
    assert encoder.score(X, captions) > 0.8
    given = CrossModalEncoder(4, **SMALL | {"max_steps": 300})
    given.fit(X, captions, ids=captions[:, 0])
    assert given.loss_curve_ == encoder.loss_curve_


def test_pairs_are_linked_through_either_side():
    from lamina.estimators._encoder_pairs import same_things

    one, other = np.array([0, 0, 1, 2, 3, 4]), np.array([0, 1, 1, 2, 2, 3])
    found = same_things(one, other)
    assert found[0] == found[1] == found[2]
    assert found[3] == found[4]
    assert len(set(found)) == 3


def test_the_sides_may_have_other_layers():
    encoder = CrossModalEncoder(4, **SMALL, partner_hidden_layer_sizes=()).fit(*pairs(60))
    assert [net.sizes for net in encoder.networks_] == [(8, 16, 4), (8, 4)]
    assert encoder.n_partner_features_ == 8


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda e, X, y: e.fit(X, y[:5]), "inconsistent numbers of samples"),
        (lambda e, X, y: e.fit(X, y, ids=[1, 2]), "ids must have one entry for each of the 40"),
        (lambda e, X, y: e.fit(X, None), "requires y to be passed"),
        (lambda e, X, y: e.fit(X, y * np.nan), "y must hold finite numbers"),
        (lambda e, X, y: e.fit(X, y).transform_partner(y[:, :3]), "y must have 8 columns"),
        (lambda e, X, y: e.fit(X, y).score(X, y[:3]), "y must have a row for each of 40. Got 3"),
        (lambda e, X, y: e.fit(X, y).retrieve(X, y, 41), "n_best must be an integer"),
        (lambda e, X, y: e.set_params(temperature=0.001).fit(X, y), "'temperature' parameter"),
    ],
)
def test_wrong_pairs_get_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=r".*") as caught:
        call(CrossModalEncoder(4, **SMALL), *pairs(40))
    assert sentence in str(caught.value)
