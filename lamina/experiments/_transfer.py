"""Transfer: a network that knows the digits 0 to 4 meets the digits 5 to 9."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    return _compared(_trained(old), rows, _tasks("test", 4_000, 7)[1])


@experiment("centred-digits-transfer")
def centred_digits_transfer() -> Values:
    """Do the same with digits in the middle, where pixels are good features already."""
    old, rows = _tasks("train", 20_000, None)
    return _compared(_trained(old), rows, _tasks("test", 4_000, None)[1])


@experiment("wider-transfer")
def wider_transfer() -> Values:
    """Do the same with twice the images and a layer of 512 units, for 5 and 50 labels."""
    old, rows = _tasks("train", 40_000, 6)
    return _compared(
        _trained(old, width=512),
        rows,
        _tasks("test", 4_000, 7)[1],
        n_labels=(5, 50),
        ways=("pixels", "frozen", "fine_tuned"),
    )


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
    source: Network,
    rows: Rows,
    new: Rows,
    *,
    n_labels: Sequence[int] = _N_LABELS,
    ways: Sequence[str] = ("pixels", "scratch", "frozen", "fine_tuned"),
) -> Values:
    """Return the mean accuracy on new rows, by way and number of labels a class."""
    rng = np.random.default_rng(6)
    draws = [_labelled(rows[1], n, rng) for n in n_labels for _ in range(_N_DRAWS)]
    found: dict[str, list[float]] = {}
    for way in ways:
        if way == "scratch":
            scores = [_accuracy(network, *new) for network in _scratch(*rows, draws)]
        else:
            # each fit is one small network, which one thread trains
            fits = (delayed(_score)(way, source, rows, draw, new) for draw in draws)
            scores = Parallel(n_jobs=-1, prefer="threads")(fits)
        found[way] = np.mean(np.reshape(scores, (-1, _N_DRAWS)), axis=1).tolist()
    return {"n": list(n_labels), **found}


def _score(way: str, source: Network, rows: Rows, chosen: IntArray, new: Rows) -> float:
    """Return the accuracy on new rows of what is learned from the chosen ones."""
    (X, y), n = rows, len(chosen)
    probe: dict[str, Any] = {
        "solver": "adam",
        "learning_rate_init": 1e-2,
        "max_iter": 200,
        "alpha": _WEIGHT_DECAY * n,  # the engine divides it by the rows
    }
    made: dict[str, Callable[[], TransferClassifier]] = {
        "pixels": lambda: TransferClassifier(None, batch_size=n, **probe),
        "frozen": lambda: TransferClassifier(source, batch_size=n, **probe),
        "fine_tuned": lambda: TransferClassifier(
            source, "fine_tune", batch_size=n, learning_rate_init=2e-4, max_iter=50
        ),
    }
    model = made[way]().set_params(random_state=0, dtype="float32", calibrate=False)
    model.fit(X[chosen], y[chosen], X_unlabelled=X[:N_UNLABELLED])
    return float(model.score(*new))


def _labelled(y: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """Return n rows of each class."""
    return np.concatenate(
        [rng.choice(np.flatnonzero(y == k), n, replace=False) for k in np.unique(y)]
    )
