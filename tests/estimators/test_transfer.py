"""Layers of one model in the service of another task."""

from __future__ import annotations

import hashlib
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import lamina
from lamina import (
    ContrastiveEncoder,
    DataError,
    DenoisingEncoder,
    MixtureDensityRegressor,
    MLPClassifier,
    MLPRegressor,
    Network,
    ParameterError,
    TableClassifier,
    TransferClassifier,
    TransferRegressor,
)
from lamina.estimators import Trunk
from lamina.nn import GraphNetwork
from lamina.tables import TableEncoder


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.fixture(scope="module")
def source(digits):
    X, y = digits
    old = y < 5
    model = MLPClassifier((24, 12), solver="lbfgs", alpha=1.0, tol=1e-2, random_state=0)
    return model.fit(X[old], y[old])


@pytest.fixture(scope="module")
def few(digits):
    X, y = digits
    rows = np.flatnonzero(y >= 5)[:60]
    return X[rows], y[rows]


@pytest.fixture(scope="module")
def encoder(digits):
    return DenoisingEncoder(hidden_layer_sizes=(20, 16), max_steps=40, random_state=0).fit(
        digits[0]
    )


def digest(model, X):
    """Return a hash of all weights and outputs of a model."""
    total = hashlib.sha256()
    for network in model.networks_:
        for array in (a for layer in network.layers() for a in layer):
            total.update(np.ascontiguousarray(array).tobytes())
    outputs = model.predict_proba(X) if hasattr(model, "predict_proba") else model.transform(X)
    total.update(np.ascontiguousarray(outputs).tobytes())
    return total.hexdigest()


def layers_of(network, n):
    return [a for layer in network.layers()[:n] for a in layer]


def same(a, b):
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("strategy", ["frozen", "last", "fine_tune"])
def test_a_source_is_never_changed(source, encoder, few, strategy):
    for model in (source, encoder):
        before = digest(model, few[0])
        TransferClassifier(model, strategy).fit(*few)
        assert digest(model, few[0]) == before


def test_frozen_layers_keep_every_bit_and_trained_ones_move(source, few):
    frozen = TransferClassifier(source).fit(*few)
    last = TransferClassifier(source, "last").fit(*few)
    tuned = TransferClassifier(source, "fine_tune").fit(*few)
    copied = layers_of(source.networks_[0], 2)
    assert same(layers_of(frozen.network_, 2), copied)
    assert same(layers_of(last.network_, 1), copied[:2])
    assert not same(layers_of(last.network_, 2)[2:], copied[2:])
    assert not same(layers_of(tuned.network_, 1), copied[:2])
    assert frozen.network_.sizes == (64, 24, 12, 5)


def test_frozen_features_do_not_drift_on_shifted_inputs(few):
    # In torch a frozen BatchNorm keeps moving its running statistics. Here it is folded.
    import torch

    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(64, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.ReLU()
    )
    module.train()
    module(torch.randn(100, 64))
    network = Network.from_torch(module.eval())
    before = network.predict_raw(few[0])
    model = TransferClassifier(network, solver="adam", max_iter=8).fit(few[0] + 5, few[1])
    assert np.array_equal(network.predict_raw(few[0]), before)
    assert same(layers_of(model.network_, 1), [a.astype(float) for a in layers_of(network, 1)])
    assert np.array_equal(model.predict_proba(few[0]), model.predict_proba(few[0]))


def test_a_frozen_transfer_is_a_linear_model_on_standardised_features(source, few, digits):
    X, y = few
    model = TransferClassifier(source, alpha=2.0).fit(X, y, X_unlabelled=digits[0])
    features, others = (source.networks_[0].hidden(rows)[-1] for rows in (X, digits[0]))
    both = np.concatenate([features, others])
    spread = both.std(0)
    moving = spread > 0
    scale = np.where(moving, spread + 0.01 * spread[moving].mean(), spread[moving].mean())
    z = [(h - both.mean(0)) / scale for h in (features, others)]
    plain = LogisticRegression(C=0.5, tol=1e-8, max_iter=10_000).fit(z[0], y)
    assert np.allclose(model.predict_proba(digits[0]), plain.predict_proba(z[1]), atol=1e-4)


def test_a_frozen_regression_is_ridge_on_standardised_features_and_target():
    X, y = load_diabetes(return_X_y=True)
    encoder = DenoisingEncoder(hidden_layer_sizes=(12,), max_steps=30, random_state=0).fit(X)
    model = TransferRegressor(encoder, alpha=5.0).fit(X[:80], y[:80])
    h = encoder.network_.double().predict_raw((X - encoder.input_mean_) / encoder.input_scale_)
    mean, spread = h[:80].mean(0), h[:80].std(0)
    moving = spread > 0
    scale = np.where(moving, spread + 0.01 * spread[moving].mean(), spread[moving].mean())
    z, t = (h - mean) / scale, (y[:80] - y[:80].mean()) / y[:80].std()
    w = np.linalg.solve(z[:80].T @ z[:80] + 5.0 * np.eye(12), z[:80].T @ t)
    assert np.allclose(model.predict(X), y[:80].mean() + y[:80].std() * (z @ w), rtol=1e-4)
    spread = np.sqrt(np.mean((model.predict(X[:80]) - y[:80]) ** 2))
    assert np.allclose(model.predict(X[:3], return_std=True)[1], spread)


def test_fine_tuning_begins_where_the_frozen_solution_ends(source, few):
    frozen = TransferClassifier(source).fit(*few)
    still = TransferClassifier(source, "fine_tune", learning_rate_init=1e-12).fit(*few)
    assert np.allclose(frozen.predict_proba(few[0]), still.predict_proba(few[0]), atol=1e-6)
    tuned = TransferClassifier(source, "fine_tune").fit(*few)
    step = np.abs(tuned.network_.layers()[0][0] - source.networks_[0].layers()[0][0])
    assert 0 < step.max() < 0.05  # a hundred steps of 0.0002


@pytest.mark.parametrize(
    "make",
    [
        lambda X, y: Network((64, 10, 3), random_state=0),
        lambda X, y: MLPRegressor(hidden_layer_sizes=10, solver="lbfgs", tol=1.0).fit(X, y),
        lambda X, y: MixtureDensityRegressor(2, hidden_layer_sizes=10, alpha=1.0, max_iter=2).fit(
            X, y
        ),
        lambda X, y: TableClassifier("fast", hidden_layer_sizes=10, n_members=2).fit(X, y % 3),
        lambda X, y: DenoisingEncoder(hidden_layer_sizes=10, max_steps=5).fit(X),
        lambda X, y: ContrastiveEncoder(hidden_layer_sizes=10, max_steps=5).fit(X),
        lambda X, y: make_pipeline(
            StandardScaler(), DenoisingEncoder(hidden_layer_sizes=10, max_steps=5)
        ).fit(X),
        lambda X, y: FrozenEstimator(
            MLPClassifier(10, solver="lbfgs", tol=1.0, alpha=1.0).fit(X, y % 3)
        ),
        lambda X, y: GridSearchCV(
            MLPClassifier(10, solver="lbfgs", tol=1.0), {"alpha": [1.0]}, cv=2
        ).fit(X, y % 3),
        lambda X, y: Trunk.of(Network((64, 10, 4, 3), random_state=0), 1),
    ],
    ids=lambda make: "",
)
@pytest.mark.filterwarnings("ignore")
def test_any_model_with_layers_is_a_source(make, few, tmp_path):
    X, y = few
    source = make(X, y)
    trunk = Trunk.of(source)
    for strategy in ("frozen", "last"):
        model = TransferClassifier(source, strategy, max_iter=3, solver="adam").fit(X, y)
        assert model.transfer_.n_copied == 1
        assert len(model.networks_) == len(trunk.networks)
        lamina.save(model, tmp_path / strategy)
        loaded = lamina.load(tmp_path / strategy)
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
        again = clone(loaded).set_params(random_state=0).fit(X, y)
        assert same(layers_of(again.source_.networks[0], 1), layers_of(trunk.networks[0], 1))
    lamina.save(trunk, tmp_path / "trunk")
    assert np.array_equal(lamina.load(tmp_path / "trunk").transform(X), trunk.transform(X))


def test_a_trunk_of_an_encoder_gives_its_features(encoder, digits):
    X, _ = digits
    trunk = Trunk.of(encoder)
    assert np.allclose(trunk.transform(X), encoder.transform(X), atol=1e-6)
    lower = Trunk.of(encoder, 1).transform(X)
    scaled = (X - encoder.input_mean_) / encoder.input_scale_
    assert np.allclose(lower, encoder.network_.hidden(scaled)[0], atol=1e-5)


def test_members_of_an_ensemble_are_each_transferred(few, digits):
    X, y = digits
    old = y < 5
    many = MLPClassifier(8, n_members=3, solver="lbfgs", alpha=1.0, tol=0.1, random_state=0)
    many.fit(X[old], y[old])
    model = TransferClassifier(many, n_members=2, solver="adam", random_state=0).fit(*few)
    assert len(model.networks_) == 6
    wholes = [layers_of(network, 1) for network in model.networks_]
    for i, network in enumerate(many.networks_):
        assert same(wholes[2 * i], layers_of(network, 1))
        assert same(wholes[2 * i + 1], layers_of(network, 1))
    with pytest.raises(AttributeError, match="has 6"):
        _ = model.network_
    assert model.history_["member"].nunique() == 6


def test_cross_validation_uses_the_fitted_source(source, few):
    X, y = few
    model = TransferClassifier(source)
    copied = clone(model)
    assert copied.pretrained is source
    assert clone(TransferClassifier(DenoisingEncoder())).pretrained is not None
    before = digest(source, X)
    scores = cross_val_score(model, X, y, cv=3)
    by_hand = [
        TransferClassifier(source).fit(X[train], y[train]).score(X[test], y[test])
        for train, test in _folds(X, y)
    ]
    assert scores == pytest.approx(by_hand)
    assert digest(source, X) == before
    assert not any(name.startswith("pretrained__") for name in model.get_params())


def _folds(X, y):
    from sklearn.model_selection import StratifiedKFold

    return StratifiedKFold(3).split(X, y)


def test_an_unfitted_encoder_learns_from_all_rows_and_no_label(few, digits):
    X, y = few
    unfitted = DenoisingEncoder(hidden_layer_sizes=10, max_steps=20, random_state=0)
    model = TransferClassifier(unfitted).fit(X, y, X_unlabelled=digits[0])
    flipped = TransferClassifier(unfitted).fit(X, 14 - y, X_unlabelled=digits[0])
    assert same(layers_of(model.network_, 1), layers_of(flipped.network_, 1))
    by_hand = DenoisingEncoder(hidden_layer_sizes=10, max_steps=20, random_state=0)
    by_hand.fit(np.concatenate([X, digits[0]]))
    expected = [a.astype(np.float64) for a in layers_of(by_hand.network_, 1)]
    assert same(layers_of(model.network_, 1), expected)
    assert not hasattr(unfitted, "network_")
    assert model.transfer_.n_unlabelled == len(digits[0])
    grid = GridSearchCV(TransferClassifier(unfitted), {"pretrained__max_steps": [1, 2]}, cv=2)
    assert grid.fit(X, y).best_estimator_.pretrained.max_steps in (1, 2)


def test_labels_in_any_order_keep_their_columns(source, few):
    X, y = few
    names = np.array(["nine", "eight", "seven", "six", "five"])[y - 5]
    model = TransferClassifier(source).fit(X, names)
    assert model.classes_.tolist() == sorted(set(names))
    chosen = model.classes_[model.predict_proba(X).argmax(1)]
    assert np.array_equal(chosen, model.predict(X))
    assert np.mean(chosen == names) > 0.8


def test_output_rows_of_shared_labels_are_copied(digits):
    X, y = digits
    old = y < 5
    source = MLPClassifier(16, solver="lbfgs", alpha=1.0, tol=1e-2, random_state=0)
    source.fit(X[old], y[old])
    rows = np.flatnonzero((y >= 2) & old)[:40]
    still = TransferClassifier(source, "fine_tune", copy_outputs=True, learning_rate_init=1e-12)
    still.fit(X[rows], y[rows])
    # the same logits but for the labels 0 and 1, which are left out
    kept = source.predict_proba(X[old])[:, 2:]
    expected = kept / kept.sum(1, keepdims=True)
    assert np.allclose(still.predict_proba(X[old]), expected, atol=1e-6)
    mixed = np.flatnonzero((y == 4) | (y == 7))[:30]
    model = TransferClassifier(source, copy_outputs=True).fit(X[mixed], y[mixed])
    assert model.transfer_.labels == {4: "copied", 7: "new"}
    assert "outputs copied: 4; new: 7" in model.transfer_.summary()
    assert model.score(X[mixed], y[mixed]) > 0.9


def test_output_rows_of_two_classes_become_rows_of_softmax_and_back(digits):
    X, y = digits
    two = y < 2
    source = MLPClassifier(8, solver="lbfgs", alpha=1.0, tol=1e-2, random_state=0)
    source.fit(X[two], y[two])
    rows = np.flatnonzero(two)[:20]
    still = TransferClassifier(source, "fine_tune", copy_outputs=True, learning_rate_init=1e-12)
    still.fit(X[rows], y[rows])
    assert np.allclose(still.predict_proba(X[two]), source.predict_proba(X[two]), atol=1e-6)


def test_a_report_says_what_was_copied_and_what_is_new(source, few):
    model = TransferClassifier(source, "last", hidden_layer_sizes=6, random_state=0).fit(*few)
    assert model.transfer_.origins == ("copied, frozen", "copied, trained", "new", "new")
    assert model.transfer_.layers["parameters"].tolist() == [1560, 300, 78, 35]
    assert model.transfer_.layers["parameters"].sum() == model.network_.n_parameters
    assert str(model.transfer_).splitlines()[0] == "last, from MLPClassifier"
    scratch = TransferClassifier().fit(*few)
    assert (scratch.transfer_.strategy, scratch.transfer_.origins) == ("scratch", ("new",))


def test_tables_are_encoded_as_the_source_does(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=90), "kind": rng.choice(list("abc"), 90)})
    y = np.where(table["kind"] == "a", "yes", "no")
    denoising = DenoisingEncoder(hidden_layer_sizes=16, max_steps=200, random_state=0)
    encoder = make_pipeline(TableEncoder(n_bins=0), denoising)
    model = TransferClassifier(encoder).fit(table[:30], y[:30], X_unlabelled=table[30:])
    assert model.score(table[30:], y[30:]) > 0.9
    swapped = table[["kind", "size"]]
    assert np.array_equal(model.predict(swapped), model.predict(table))
    lamina.save(model, tmp_path / "model")
    assert np.array_equal(lamina.load(tmp_path / "model").predict(table), model.predict(table))
    with pytest.raises(ValueError, match="kind"):
        model.predict(table[["size"]])


def test_slopes_of_a_parametric_source_are_copied(few):
    network = Network((64, 6, 5), "prelu", random_state=0)
    network._slopes["0"].data[:] = network._slopes["0"].data + 0.5
    expected = network._slopes["0"].detach().numpy().copy()
    for strategy in ("frozen", "fine_tune"):
        model = TransferClassifier(network, strategy, learning_rate_init=1e-12, solver="adam")
        slopes = model.fit(*few).network_.slopes[0].detach().numpy()
        assert np.allclose(slopes, expected)


def test_a_transfer_can_be_transferred_and_pickled(source, few, digits):
    first = TransferClassifier(source).fit(*few)
    second = TransferClassifier(first, "last").fit(*few)
    assert second.transfer_.source == "TransferClassifier"
    assert second.network_.sizes == first.network_.sizes
    again = pickle.loads(pickle.dumps(second))
    assert np.array_equal(again.predict(digits[0]), second.predict(digits[0]))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"pretrained": MLPClassifier()}, "fitted to its own task before"),
        ({"pretrained": StandardScaler().fit(np.eye(64))}, "whose layers can be copied"),
        ({"pretrained": "encoder"}, "whose layers can be copied"),
        ({"pretrained": GraphNetwork({"b": ["a"]})}, "form no layers"),
        ({"pretrained": Network((64, 5))}, "nothing can be copied"),
        ({"pretrained": Network((64, 8, 5)), "n_layers": 2}, "n_layers must be 1 unless"),
        (
            {"pretrained": Network((64, 8, 5)), "n_layers": 2, "strategy": "last"},
            "at most 1, the layers",
        ),
        ({"strategy": "last"}, "without a pretrained model"),
        ({"copy_outputs": True}, "without a pretrained classifier"),
        ({"pretrained": Network((64, 8, 5)), "copy_outputs": True}, "the source is a classifier"),
        ({"strategy": "freeze"}, "Did you mean|must be a str among"),
        ({"solver": "lbfgs", "dropout": 0.5}, "dropout must be 0.0"),
    ],
)
def test_what_cannot_be_done_is_told(given, sentence, few):
    with pytest.raises((ParameterError, ValueError), match=sentence):
        TransferClassifier(**given).fit(*few)


def test_labels_that_are_not_shared_have_no_rows_to_copy(source, few):
    with pytest.raises(ParameterError, match="no label is shared"):
        TransferClassifier(source, copy_outputs=True).fit(*few)


def test_rows_of_another_kind_are_refused(source, few):
    X, y = few
    with pytest.raises(DataError, match="must have 64 features, as the pretrained MLPClassifier"):
        TransferClassifier(source).fit(X[:, :10], y)
    with pytest.raises(DataError, match="must have the 64 features of X"):
        TransferClassifier(source).fit(X, y, X_unlabelled=X[:, :10])
    with pytest.raises(ValueError, match="NaN"):
        TransferClassifier(source).fit(np.where(X > 0.9, np.nan, X), y)
    named = pd.DataFrame(X, columns=[f"p{i}" for i in range(64)])
    by_name = MLPClassifier(8, solver="lbfgs", tol=1.0, alpha=1.0).fit(named, y)
    with pytest.raises(DataError, match="Got 'p63' in place 0"):
        TransferClassifier(by_name).fit(named[named.columns[::-1]], y)


def test_somebody_elses_transformer_works_and_is_not_saved(few, tmp_path):
    X, y = few
    pipeline = make_pipeline(MinMaxScaler(), DenoisingEncoder(hidden_layer_sizes=8, max_steps=5))
    model = TransferClassifier(pipeline).fit(X, y)
    assert model.score(X, y) > 0.5
    with pytest.raises(ParameterError, match="MinMaxScaler"):
        lamina.save(model, tmp_path / "model")


def test_features_that_never_move_do_no_harm(few):
    X, y = few
    network = Network.from_arrays(
        [(np.zeros((8, 64)), -np.ones(8)), (np.ones((5, 8)), np.zeros(5))]
    )
    model = TransferClassifier(network, calibrate=False).fit(X, y)
    assert np.allclose(model.predict_proba(X), np.bincount(y - 5) / len(y), atol=1e-3)


def test_rows_of_any_layout_and_size_give_the_same(source, few):
    X, y = few
    model = TransferClassifier(source).fit(X, y)
    fixed = np.asfortranarray(X)
    fixed.flags.writeable = False
    again = TransferClassifier(source).fit(fixed, y)
    assert np.allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-5)
    huge = TransferClassifier().fit(1e200 * X, y)
    assert np.isfinite(huge.predict_proba(1e200 * X)).all()
    tiny = TransferClassifier().fit(1e-200 * X, y)
    assert np.mean(tiny.predict(1e-200 * X) == TransferClassifier().fit(X, y).predict(X)) == 1


def test_distributions_are_delegated():
    X, y = load_diabetes(return_X_y=True)
    encoder = DenoisingEncoder(hidden_layer_sizes=12, max_steps=50, random_state=0)
    model = TransferRegressor(encoder, loss="normal", alpha=30.0).fit(X[:200], y[:200])
    dist = model.predict_dist(X[200:])
    assert np.allclose(dist.mean(), model.predict(X[200:]))
    low, high = model.predict_interval(X[200:]).T
    assert 0.7 < np.mean((low < y[200:]) & (y[200:] < high)) < 1
    assert np.allclose(model.predict_quantile(X[200:], 0.5), dist.median())
    assert model.log_likelihood(X[200:], y[200:]) == pytest.approx(np.mean(dist.log_prob(y[200:])))
