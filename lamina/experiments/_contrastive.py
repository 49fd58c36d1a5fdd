"""Contrastive learning: one anchor, collapse without negatives, and placed digits."""

from __future__ import annotations

import math

import numpy as np
import torch
from sklearn.utils.parallel import Parallel, delayed

from lamina._typing import FloatArray, IntArray
from lamina.datasets import make_placed_digits
from lamina.estimators import ContrastiveEncoder
from lamina.heads import Categorical
from lamina.nn import Network
from lamina.represent import (
    alignment,
    collapse_value,
    cosine_similarities,
    floor_value,
    in_batch_info_nce,
    info_nce,
    linear_probe,
)
from lamina.stack import NetworkEngine

from ._data import mnist
from ._registry import Values, experiment
from ._transfer import N_UNLABELLED

_CANVAS = 34
_BORDER = 3  # (34 - 28) / 2: a shift by up to this places a centred digit anywhere
_N_LABELS = (5, 20, 50)


@experiment("infonce-single")
def infonce_single() -> Values:
    """Compute InfoNCE for one anchor and 31 negatives: close, random and collapsed."""
    rng = np.random.default_rng(6)
    anchor, noise = rng.normal(size=(2, 16))
    negatives = rng.normal(size=(31, 16))
    positive, other = anchor + 0.5 * noise, rng.normal(size=16)
    cosines = np.concatenate(
        [cosine_similarities(anchor[None], z) for z in (positive[None], negatives)], axis=1
    )
    by_head = Categorical(32).error(torch.from_numpy(cosines), torch.tensor([0])).item()
    point = np.ones(16), np.ones(16), np.ones((31, 16))

    def loss(positive: FloatArray, temperature: float) -> float:
        return float(info_nce(anchor, positive, negatives, temperature))

    return {
        "infonce": loss(positive, 1.0),
        "via_cross_entropy": by_head,
        "close_tau1": loss(positive, 1.0),
        "close_tau01": loss(positive, 0.1),
        "random_tau1": loss(other, 1.0),
        "random_tau01": loss(other, 0.1),
        "collapse_tau1": float(info_nce(*point, 1.0)),
        "collapse_tau01": float(info_nce(*point, 0.1)),
        "ln_N_plus_1": collapse_value(31),
        "floor_tau1": floor_value(31),
    }


@experiment("collapse-without-negatives")
def collapse_without_negatives() -> Values:
    """Train an encoder to bring pairs together, without negatives and with them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(256, 10))
    pairs = torch.from_numpy(np.stack([X, X + 0.3 * rng.normal(size=X.shape)]))
    start = Network((10, 32, 8), "tanh", init="lecun", random_state=0)
    found = {"start": _mean_cosine(start.predict_raw(X))}
    for name, loss in (("without", alignment), ("with", in_batch_info_nce)):
        engine = NetworkEngine(start, 512)
        for _ in range(300):
            z = engine.forward(pairs.reshape(512, 10))
            engine.backward(torch.cat(loss(z[:256], z[256:]).gradients))
            engine.step(0.01)
        found[name] = _mean_cosine(engine.network().predict_raw(X))
    return {f"cosine_{name}": value for name, value in found.items()}


def _mean_cosine(z: FloatArray) -> float:
    """Return the mean cosine of two different rows."""
    cosines = cosine_similarities(z)
    n = len(z)
    return float((cosines.sum() - n) / (n * (n - 1)))


@experiment("contrastive-mnist")
def contrastive_mnist() -> Values:
    """Train 1156-256 with a projection to 64 on pairs of placed digits, and probe few labels.

    A digit in the middle of the canvas, shifted by up to three pixels, is a digit placed at
    random: two such views make a pair. Features and pixels are probed on digits from 5 to 9.
    """
    images, digits = mnist("train", 20_000)
    encoder = ContrastiveEncoder(
        "shift",
        hidden_layer_sizes=(256,),
        strength=_BORDER,
        standardize=False,
        max_steps=301,
        random_state=6,
    ).fit(_centred(images))
    X, y = _task(images, digits, 6)
    X_new, y_new = _task(*mnist("test", 4_000), 7)
    sets = {
        "pixels": (X, X_new),
        "contrastive": (encoder.transform(X), encoder.transform(X_new)),
    }
    rng = np.random.default_rng(6)
    scores: dict[str, list[float]] = {name: [] for name in sets}
    for n in _N_LABELS:
        draws = [_labelled(y, n, rng) for _ in range(3)]
        for name, (features, new) in sets.items():
            scores[name].append(_mean_probe(features, y, new, y_new, draws))
    return {
        "loss_at_0_100_200_300": [encoder.loss_curve_[i] for i in (0, 100, 200, 300)],
        "collapse": encoder.collapse_loss_,
        "n": list(_N_LABELS),
        **scores,
    }


def _centred(images: FloatArray) -> FloatArray:
    """Return digits in the middle of the canvas, row by row."""
    canvas = np.zeros((len(images), _CANVAS, _CANVAS))
    inside = slice(_BORDER, _BORDER + 28)
    canvas[:, inside, inside] = images.reshape(-1, 28, 28)
    return canvas.reshape(len(images), -1)


def _task(images: FloatArray, digits: IntArray, seed: int) -> tuple[FloatArray, IntArray]:
    """Return the digits from 5 to 9, placed at random."""
    chosen = digits > 4
    placed, _ = make_placed_digits(images[chosen].reshape(-1, 28, 28), random_state=seed)
    return placed.reshape(len(placed), -1).astype(np.float32), digits[chosen]


def _labelled(y: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """Return n rows of each class."""
    return np.concatenate(
        [rng.choice(np.flatnonzero(y == k), n, replace=False) for k in np.unique(y)]
    )


def _mean_probe(
    features: FloatArray,
    y: IntArray,
    new: FloatArray,
    y_new: IntArray,
    draws: list[IntArray],
) -> float:
    """Return the mean accuracy of linear probes, each trained on one draw of labels."""
    unlabelled = features[:N_UNLABELLED]
    found = Parallel(n_jobs=-1, prefer="threads")(
        delayed(linear_probe)(features[rows], y[rows], new, y_new, unlabelled=unlabelled)
        for rows in draws
    )
    return math.fsum(found) / len(found)


@experiment("supervised-pairs")
def supervised_pairs() -> Values:
    """Compare cosines within a class: instances push images of one kind apart, labels do not."""
    images, digits = mnist("train", 4_000)
    X = _centred(images)
    same = digits[:500, None] == digits[:500]
    found: dict[str, float] = {}
    for pairs in ("instance", "class"):
        encoder = ContrastiveEncoder(
            "shift",
            hidden_layer_sizes=(64,),
            projection_sizes=(32,),
            standardize=False,
            pairs=pairs,
            max_steps=150,
            random_state=0,
        ).fit(X, digits)
        cosines = cosine_similarities(encoder.project(X[:500]))
        own = np.eye(500, dtype=bool)
        found[f"{pairs}_within"] = float(cosines[same & ~own].mean())
        found[f"{pairs}_between"] = float(cosines[~same].mean())
    return found


@experiment("factored-code")
def factored_code() -> Values:
    """Give ten attributes to 60 of 1024 situations, and predict them for those never met.

    A factored code has one unit an attribute; a local one has a unit a situation, and nothing to
    say of a situation that it has not met. Both are read linearly.
    """
    attributes = np.array(list(np.ndindex(*(2,) * 10)), dtype=np.float64)
    rng = np.random.default_rng(0)
    target = attributes @ rng.normal(size=10)
    met = rng.permutation(len(attributes))[:60]
    never = np.setdiff1d(np.arange(len(attributes)), met)
    codes = {"factored": attributes, "local": np.eye(len(attributes))}
    return {
        "n_situations": len(attributes),
        **{f"n_units_{name}": code.shape[1] for name, code in codes.items()},
        **{f"error_{name}": _error(code, target, met, never) for name, code in codes.items()},
    }


def _error(code: FloatArray, target: FloatArray, met: IntArray, never: IntArray) -> float:
    """Return the error on situations never met, as a share of their spread."""
    centre, level = code[met].mean(0), target[met].mean()
    weights = np.linalg.lstsq(code[met] - centre, target[met] - level, rcond=None)[0]
    gap = (code[never] - centre) @ weights + level - target[never]
    return float(np.sqrt(np.mean(gap**2)) / target[never].std())
