"""Transfer: a network that knows the digits 0 to 4 meets the digits 5 to 9."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from lamina._typing import FloatArray, IntArray
from lamina.datasets import make_placed_digits
from lamina.estimators import TransferClassifier
from lamina.heads import Categorical
from lamina.nn import Network
from lamina.stack import Member, train

from ._data import mnist
from ._registry import Values, experiment

_N_LABELS = (5, 20, 50)
_N_DRAWS = 3
N_UNLABELLED = 1_000  # enough to standardise with
_WEIGHT_DECAY = 1e-3

Rows = tuple[FloatArray, IntArray]


@experiment("pretrain-task-b")
def pretrain_task_b() -> Values:
    """Train 1156-256-5 on the placed digits 0 to 4 for five epochs, and test it on new ones."""
    source = _trained(_tasks("train", 20_000, 6)[0])
    return {"accuracy": _accuracy(source, *_tasks("test", 4_000, 7)[0])}


@experiment("transfer-few-labels")
def transfer_few_labels() -> Values:
    """Learn the placed digits 5 to 9 from few labels in four ways, each from three draws.

    Pixels and frozen features are read linearly by 200 steps of Adam on all rows; scratch takes
    120 steps from random weights; fine-tuning 50 small ones from the frozen solution.
    """
    old, rows = _tasks("train", 20_000, 6)
    return _compared(old, rows, _tasks("test", 4_000, 7)[1])


@experiment("centred-digits-transfer")
def centred_digits_transfer() -> Values:
    """Do the same with digits in the middle, where pixels are good features already."""
    old, rows = _tasks("train", 20_000, None)
    return _compared(old, rows, _tasks("test", 4_000, None)[1])


@experiment("wider-transfer")
def wider_transfer() -> Values:
    """Do the same with twice the images and a layer of 512 units, for 5 and 50 labels."""
    old, rows = _tasks("train", 40_000, 6)
    new = _tasks("test", 4_000, 7)[1]
    return _compared(old, rows, new, width=512, n_labels=(5, 50), scratch=False)


def _tasks(part: str, n: int, seed: int | None) -> tuple[Rows, Rows]:
    """Return the digits 0 to 4, and 5 to 9, placed at random or (no seed) in the middle."""
    images, digits = mnist(part, n)
    old = digits < 5
    return _placed(images[old], digits[old], seed), _placed(images[~old], digits[~old], seed)


def _placed(images: FloatArray, digits: IntArray, seed: int | None) -> Rows:
    if seed is not None:
        placed, _ = make_placed_digits(images.reshape(-1, 28, 28), random_state=seed)
        images = placed.reshape(len(placed), -1)
    return images.astype(np.float32), digits


def _trained(rows: Rows, width: int = 256) -> Network:
    """Return a network of one hidden layer, trained on the old digits by Adam."""
    X, y = rows
    member = Member(
        (width,), head=Categorical(5), init="torch", batch_size=128, max_epochs=5, seed=6
    )
    return train([member], X, y % 5).networks[0]


def _scratch(X: FloatArray, y: IntArray, draws: Sequence[IntArray]) -> list[Network]:
    """Return networks that begin from random weights, one for each draw of labelled rows."""
    members = [
        Member(
            (256,),
            head=Categorical(5),
            init="torch",
            rows=rows,
            batch_size=len(rows),
            max_epochs=120,
            learning_rate=2e-3,
            seed=seed,
        )
        for seed, rows in enumerate(draws)
    ]
    return train(members, X, y % 5).networks


def _accuracy(network: Network, X: FloatArray, y: IntArray) -> float:
    return float(np.mean(network.predict_raw(X).argmax(1) == y % 5))


def _compared(
    old: Rows,
    rows: Rows,
    new: Rows,
    *,
    width: int = 256,
    n_labels: Sequence[int] = _N_LABELS,
    scratch: bool = True,
) -> Values:
    """Return the mean accuracy on new rows, by way and number of labels a class."""
    rng = np.random.default_rng(6)
    draws = [_labelled(rows[1], n, rng) for n in n_labels for _ in range(_N_DRAWS)]
    # each fit is one small network, which one thread trains
    threads = Parallel(n_jobs=-1, prefer="threads")
    pixels = [delayed(_probed)(None, rows, draw, new) for draw in draws]
    source, *scores = threads([delayed(_trained)(old, width), *pixels])
    found = {"pixels": [score for (score,) in scores]}
    if scratch:
        networks = _scratch(*rows, draws)
        found["scratch"] = [_accuracy(network, *new) for network in networks]
    scores = threads(delayed(_probed)(source, rows, draw, new, tune=True) for draw in draws)
    found["frozen"], found["fine_tuned"] = (list(part) for part in zip(*scores, strict=True))
    means = {
        way: np.mean(np.reshape(part, (-1, _N_DRAWS)), axis=1).tolist()
        for way, part in found.items()
    }
    return {"n": list(n_labels), **means}


def _probed(
    source: Network | None, rows: Rows, chosen: IntArray, new: Rows, *, tune: bool = False
) -> list[float]:
    """Return the accuracy on new rows of a linear probe, and of what is tuned from there."""
    (X, y), n = rows, len(chosen)
    fixed: dict[str, Any] = {
        "batch_size": n,
        "random_state": 0,
        "dtype": "float32",
        "calibrate": False,
    }
    probe = TransferClassifier(
        source,
        solver="adam",
        learning_rate_init=1e-2,
        max_iter=200,
        alpha=_WEIGHT_DECAY * n,  # the engine divides it by the rows
        **fixed,
    ).fit(X[chosen], y[chosen], X_unlabelled=X[:N_UNLABELLED])
    models = [probe]
    if tune:
        rate: dict[str, Any] = {"learning_rate_init": 2e-4, "max_iter": 50}
        tuned = TransferClassifier(probe, "fine_tune", copy_outputs=True, **rate, **fixed)
        models.append(tuned.fit(X[chosen], y[chosen]))
    return [float(model.score(*new)) for model in models]


def _labelled(y: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """Return n rows of each class."""
    return np.concatenate(
        [rng.choice(np.flatnonzero(y == k), n, replace=False) for k in np.unique(y)]
    )
