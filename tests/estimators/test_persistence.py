"""A loaded model predicts what the saved one did, bit for bit and in another process."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from lamina._errors import FileError, ParameterError
from lamina.estimators import (
    MixtureDensityRegressor,
    MLPClassifier,
    MLPRegressor,
    TableClassifier,
    TableRegressor,
)
from lamina.estimators._persistence import KINDS, load, save
from lamina.heads import Normal
from lamina.nn import ACTIVATIONS, Network

X = np.random.default_rng(0).normal(size=(20, 3))

NETWORKS = {
    **{name: Network([3, 4, 2], name, random_state=1) for name in ACTIVATIONS},
    "float32": Network([3, 4, 2], "tanh", random_state=2, dtype="float32"),
    "linear": Network([3, 1], random_state=3),
    "mixed": Network([3, 5, 4, 1], ["leaky_relu(0.2)", "prelu"], random_state=4),
    "output": Network([3, 5, 1], random_state=5, output_activation="sigmoid"),
}
NAMES = ["a", "b", "c"]
LETTERS = np.array(["x", "y", "z"])[np.digitize(X[:, 0], [-0.5, 0.5])]
TINY = {"hidden_layer_sizes": (4,), "max_iter": 3, "random_state": 0}


def mlps():
    """Fitted perceptrons of every kind of target, and the methods to ask."""
    frame = pd.DataFrame(X, columns=NAMES)
    two = np.stack([X[:, 0] > 0, X[:, 1] > 0], axis=1).astype(int)
    asked = ("predict", "predict_proba")
    several = ("predict", "predict_interval")
    return {
        "letters": (MLPClassifier(**TINY).fit(X, LETTERS), asked),
        "binary": (MLPClassifier(**TINY, class_weight={0: 2.0}).fit(X, two[:, 0]), asked),
        "truth": (MLPClassifier(**TINY).fit(X, X[:, 0] > 0), asked),
        "objects": (MLPClassifier(**TINY).fit(X, LETTERS.astype(object)), asked),
        "multilabel": (MLPClassifier(**TINY, activation="prelu").fit(X, two), asked),
        "float32": (MLPClassifier(**TINY).fit(X.astype(np.float32), LETTERS), asked),
        "sparse": (MLPClassifier(**TINY).fit(scipy.sparse.csr_matrix(X), LETTERS), asked),
        "early": (MLPClassifier(**TINY, early_stopping=True).fit(X, LETTERS), asked),
        "members": (MLPClassifier(**TINY, n_members=3).fit(X, LETTERS), asked),
        "frame": (MLPClassifier(**TINY).fit(frame, LETTERS), asked),
        "number": (MLPRegressor(**TINY, activation="gelu").fit(X, X[:, 0]), asked[:1]),
        "numbers": (MLPRegressor(**TINY, n_members=2).fit(X, X[:, :2]), asked[:1]),
        "counts": (MLPRegressor(**TINY, loss="poisson").fit(X, np.abs(X[:, 0])), asked[:1]),
        "lbfgs": (MLPRegressor(**TINY, solver="lbfgs").fit(X, X[:, 0]), asked[:1]),
        "noisy": (MLPClassifier(**TINY, label_noise="learn").fit(X, LETTERS), asked),
        "normal": (MLPRegressor("normal", **TINY).fit(X, X[:, 0]), several),
        "spread": (MLPRegressor(Normal("per_row"), **TINY).fit(X, X[:, :2]), several),
        "mixture": (MixtureDensityRegressor(2, **TINY, n_members=2).fit(X, X[:, 0]), several),
        "linear": (MLPRegressor(**(TINY | {"hidden_layer_sizes": ()})).fit(X, X[:, 0]), asked[:1]),
    }


def table(n=60):
    """A table with a column of every kind."""
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.2, np.nan, rng.normal(1e9, 1.0, n)),
            "code": rng.integers(0, 5, n),
            "city": rng.choice(["Ulm", "Köln", "float:nan"], n),
            "flag": rng.random(n) < 0.5,
            "day": pd.date_range("2024-02-25", periods=n, freq="D"),
            "same": 1.0,
        }
    )


def tables():
    """Fitted table estimators of every kind of target, and the methods to ask."""
    X, tiny = table(), {"preset": "fast", "random_state": 0}
    both = ("predict", "predict_proba")
    coded = X["code"] + np.arange(len(X)) / 100
    return {
        "number": (TableRegressor(**tiny).fit(X, coded.rename("price")), both[:1]),
        "numbers": (TableRegressor(**tiny).fit(X, np.stack([coded, -coded], axis=1)), both[:1]),
        "mae": (TableRegressor(**tiny, metric="mae", time_limit=9.0).fit(X, coded), both[:1]),
        "texts": (TableClassifier(**tiny, n_members=1).fit(X, X["city"]), both),
        "truth": (TableClassifier(**tiny).fit(X, X["flag"]), both),
        "codes": (
            TableClassifier(**tiny, categorical_features=["code"]).fit(X, X["code"] % 3),
            both,
        ),
        "categories": (TableClassifier(**tiny).fit(X, X["city"].astype("category")), both),
    }


IN_ANOTHER_PROCESS = """
import pickle, sys
import torch
torch.set_num_threads(1)
from lamina.estimators._persistence import load
answers = []
for path, method, X in pickle.load(sys.stdin.buffer):
    answers.append(getattr(load(path), method)(X))
sys.stdout.buffer.write(pickle.dumps(answers))
"""


def elsewhere(questions):
    """Load each model in one new process and return what its method answers."""
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS],
        input=pickle.dumps(questions),
        capture_output=True,
        check=True,
        timeout=120,
    )
    return pickle.loads(done.stdout)


def sign(folder):
    """Write the digest that belongs to an edited model.json."""
    document = json.loads((folder / "model.json").read_text())
    document.pop("sha256", None)
    text = json.dumps(document, separators=(",", ":"))
    document["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "model.json").write_text(json.dumps(document))


@pytest.fixture
def folder(tmp_path):
    save(NETWORKS["mixed"], tmp_path / "model")
    return tmp_path / "model"


def edit(folder, change):
    """Change the config of a saved model and sign it."""
    document = json.loads((folder / "model.json").read_text())
    change(document["config"])
    (folder / "model.json").write_text(json.dumps(document))
    sign(folder)


# Every kind


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """What each model answers here and, saved and loaded, in one new process."""
    folder = tmp_path_factory.mktemp("saved")
    seen = pd.concat([table(), table().assign(city="Trier", size=None, code=99)])
    frame = pd.DataFrame(X, columns=NAMES)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        models = {
            **{f"network {name}": (net, ("predict_raw",), X) for name, net in NETWORKS.items()},
            **{
                f"mlp {name}": (model, methods, frame if name == "frame" else X)
                for name, (model, methods) in mlps().items()
            },
            # Also rows with levels, holes and values that were not there at fitting.
            **{f"table {name}": (*pair, seen) for name, pair in tables().items()},
        }
    questions, answers = [], []
    for name, (model, methods, data) in models.items():
        save(model, folder / name)
        questions += [(folder / name, method, data) for method in methods]
        answers += [getattr(model, method)(data) for method in methods]
    return list(zip(questions, answers, elsewhere(questions), strict=True))


@pytest.mark.parametrize("kind", ["network", "mlp", "table"])
def test_predictions_in_a_new_process_are_equal_bit_for_bit(asked, kind):
    own = [entry for entry in asked if entry[0][0].name.startswith(kind)]
    assert len(own) >= 10
    for (path, method, _), here, there in own:
        assert here.dtype == there.dtype, (path.name, method)
        np.testing.assert_array_equal(here, there, err_msg=f"{path.name} {method}")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_mlp_comes_back_with_its_parameters_and_attributes(tmp_path):
    for name, (mlp, _) in mlps().items():
        save(mlp, tmp_path / name)
        loaded = load(tmp_path / name)
        assert type(loaded) is type(mlp)
        assert repr(loaded.get_params()) == repr(mlp.get_params())
        assert set(vars(mlp)) - set(vars(loaded)) <= {"_optimizer", "_random_state"}
        for attribute in ("n_iter_", "n_features_in_", "loss_", "loss_curve_", "t_"):
            if attribute in vars(mlp):
                assert getattr(loaded, attribute) == getattr(mlp, attribute), (name, attribute)
        pd.testing.assert_frame_equal(loaded.history_, mlp.history_)
        if isinstance(mlp, MLPClassifier):
            assert loaded.classes_.dtype == mlp.classes_.dtype
            np.testing.assert_array_equal(loaded.classes_, mlp.classes_)


def test_a_table_estimator_comes_back_with_its_parameters_and_attributes(tmp_path):
    for name, (model, _) in tables().items():
        save(model, tmp_path / name)
        loaded = load(tmp_path / name)
        assert type(loaded) is type(model)
        assert set(vars(loaded)) == set(vars(model))
        assert loaded.get_params() == model.get_params()
        assert loaded.target_name_ == model.target_name_
        pd.testing.assert_frame_equal(loaded.history_, model.history_)
        pd.testing.assert_frame_equal(loaded.encoder_.report(), model.encoder_.report())
        if isinstance(model, TableClassifier):
            assert loaded.classes_.dtype == model.classes_.dtype
            np.testing.assert_array_equal(loaded.classes_, model.classes_)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_comes_back_whole(tmp_path, name):
    network = NETWORKS[name]
    save(network, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded) is Network
    assert loaded.sizes == network.sizes
    assert loaded.activations == network.activations
    for ours, theirs in zip(loaded.parameters(), network.parameters(), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours.detach().numpy(), theirs.detach().numpy())


def test_a_saved_model_can_be_saved_again_to_equal_files(tmp_path, folder):
    save(load(folder), tmp_path / "again")
    for name in os.listdir(folder):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


# What cannot be saved


@pytest.mark.parametrize("model", [None, 3, "model", {"W": 1}, np.zeros(2), Network])
def test_an_object_of_another_kind_is_refused(tmp_path, model):
    with pytest.raises(ParameterError) as caught:
        save(model, tmp_path / "model")
    assert str(caught.value).startswith(f"model must be one of {', '.join(KINDS)} to be saved.")
    assert os.listdir(tmp_path) == []


UNFITTED = [MLPClassifier(), MLPRegressor(), TableClassifier(), TableRegressor()]


@pytest.mark.parametrize("model", UNFITTED, ids=lambda model: type(model).__name__)
def test_what_is_not_fitted_is_refused(tmp_path, model):
    with pytest.raises(
        NotFittedError, match=f"This {type(model).__name__} instance is not fitted"
    ):
        save(model, tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_a_subclass_is_refused_because_its_state_is_unknown(tmp_path):
    network = type("Network", (Network,), {})([3, 1])
    with pytest.raises(ParameterError, match="to be saved"):
        save(network, tmp_path / "model")


# What cannot be loaded


def test_an_unknown_kind_is_refused_and_never_imported(folder):
    edit(folder, lambda config: config.update(kind="Networks"))
    with pytest.raises(FileError) as caught:
        load(folder)
    assert str(caught.value) == (
        f"The kind of the model in {str(folder)!r} must be one of {', '.join(KINDS)}. "
        "Got 'Networks'. Did you mean 'Network'?"
    )


@pytest.mark.parametrize("kind", [None, 3, ["Network"], "os.system", "subprocess:run"])
def test_nothing_named_in_the_file_is_run(folder, kind):
    edit(folder, lambda config: config.update(kind=kind))
    with pytest.raises(FileError, match=r"must be one of .*Network"):
        load(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config.pop("state"),
        lambda config: config.update(state=None),
        lambda config: config.update(state={}),
        lambda config: config["state"].update(sizes=[3, 5, 5, 1]),
        lambda config: config["state"].update(sizes="many"),
        lambda config: config["state"].update(activations=["relu"]),
        lambda config: config["state"].update(activations=["relu", "nope", "identity"]),
        lambda config: config["state"].update(dtype="float16"),
        lambda config: config["state"].update(dtype=None),
    ],
)
def test_a_state_that_makes_no_model_is_refused_by_one_sentence(folder, change):
    edit(folder, change)
    with pytest.raises(FileError) as caught:
        load(folder)
    assert str(caught.value).startswith(
        f"{str(folder)!r} must hold a whole Network. Got a state that does not make one: "
    )
    assert str(caught.value).endswith("Save the model again with this version of lamina.")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**6) | st.text(max_size=5) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
)


@settings(max_examples=150, deadline=None, database=None, derandomize=True)
@given(data=st.data())
def test_any_state_is_a_model_or_refused_by_fileerror(tmp_path_factory, data):
    """A signed file may hold any JSON; whatever it is, no other exception comes out."""
    folder = tmp_path_factory.mktemp("signed") / "model"
    save(NETWORKS["mixed"], folder)
    key = data.draw(st.sampled_from(["sizes", "activations", "dtype", "extra"]))
    value = data.draw(JSON.map(lambda value: json.loads(json.dumps(value).replace("NaN", "0"))))
    edit(folder, lambda config: config["state"].update({key: value}))
    try:
        loaded = load(folder)
    except FileError:
        return
    assert type(loaded) is Network
