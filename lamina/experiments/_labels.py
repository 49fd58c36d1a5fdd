"""Labels: flipped ones, sure networks, and the directions in which softmax is flat."""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import softmax

from lamina._typing import Array, FloatArray
from lamina.datasets import make_moons, make_spirals
from lamina.heads import Bernoulli, Categorical
from lamina.inspection import calibration, temperature
from lamina.stack import Member, train

from ._registry import Values, experiment
from ._training import full_batch, raw_outputs, score


@experiment("label-noise-loss")
def label_noise_loss() -> Values:
    """Flip 15 % of the labels of two moons, and train with and without knowing of it.

    Three starts each. The flip probability itself is learnt along with one straight boundary,
    on points that a straight line divides.
    """
    share = 0.15
    plain, known = Bernoulli(), Bernoulli(label_noise=share)
    X, y = make_moons(400, noise=0.1, random_state=6)
    seen = _flipped(y, share)
    X_new, y_new = make_moons(4000, noise=0.1, random_state=7)
    values: dict[str, object] = {"flipped": float((seen != y).mean())}
    for name, head in (("plain", plain), ("known", known)):
        members = [
            full_batch((32, 32), "tanh", head, n_rows=len(X), seed=seed, epochs=600)
            for seed in range(3)
        ]
        accuracy = [score(net, head, X_new, y_new) for net in train(members, X, seen).networks]
        values[f"accuracy_{name}"] = float(np.mean(accuracy))
    sure = torch.tensor([[-800.0], [800.0]], dtype=torch.float64)
    worst = known.error(sure, torch.tensor([[1.0], [0.0]], dtype=torch.float64))
    return values | {"worst_errors": worst.numpy(), "noise_learnt": _learnt_noise(share)}


def _flipped(y: Array, share: float) -> Array:
    """Return labels of which a share is wrong."""
    return np.where(np.random.default_rng(6).random(len(y)) < share, 1 - y, y)


def _learnt_noise(share: float) -> float:
    """Return the flip probability that logistic regression learns from flipped labels."""
    X = np.random.default_rng(6).uniform(-1, 1, (2000, 2))
    y = _flipped((X.sum(1) > 0.2).astype(int), share)
    head = Bernoulli(label_noise="learn")
    member = full_batch((), "tanh", head, n_rows=len(X), seed=6, learning_rate=0.1, epochs=400)
    raw = raw_outputs(train([member], X, y).networks[0], X)
    return 0.5 * raw[0, 1].sigmoid().item()


@experiment("overconfidence-temperature")
def overconfidence_temperature() -> Values:
    """Train a net on few rows of a noisy rule for long, then divide its logits by a temperature.

    The temperature is fitted on held-out rows; both are measured on further ones.
    """
    rng = np.random.default_rng(6)
    (X, y), (X_held, y_held), (X_new, y_new) = (_unsure(rng, n) for n in (400, 1000, 4000))
    member = full_batch((64,), "relu", Categorical(2), n_rows=len(X), seed=6, epochs=300)
    network = train([member], X, y).networks[0]
    held, new = (raw_outputs(network, part).double().numpy() for part in (X_held, X_new))
    cure = temperature(y_held, held)
    results = [calibration(y_new, proba) for proba in (softmax(new, axis=1), cure.apply(new))]
    return {
        "temperature": cure.temperature,
        "accuracy": [result.accuracy for result in results],
        "confidence": [result.mean_confidence for result in results],
        "ece": [result.ece for result in results],
        "nll": [result.log_loss for result in results],
    }


def _unsure(rng: np.random.Generator, n_rows: int) -> tuple[FloatArray, Array]:
    """Return rows whose class is 1 with probability σ(1.5 (x1 + x2 x3 + x4))."""
    X = rng.standard_normal((n_rows, 10))
    logit = 1.5 * (X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3])
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-logit))).astype(int)


@experiment("softmax-flat-directions")
def softmax_flat_directions() -> Values:
    """Start softmax regression from shifted weights: only weight decay takes the shift away.

    Adding the same row to the weights of every class changes no probability, so that the error
    alone never moves their mean over the classes.
    """
    X, y = make_spirals(random_state=189)
    shift, means, errors = 2.0, [], []
    rng = np.random.default_rng(6)
    start = [(shift + 0.1 * rng.standard_normal((3, 2)), np.zeros(3))]
    for decay in (0.0, 0.1):
        member = Member(
            (),
            head=Categorical(3),
            init=start,
            batch_size=len(X),
            optimizer="sgd",
            learning_rate=0.5,
            weight_decay=decay,
            max_epochs=500,
            shuffle=False,
        )
        network = train([member], X, y, dtype="float64").networks[0]
        means.append(network.layers()[0][0].mean(0))
        errors.append(Categorical().error(raw_outputs(network, X), torch.from_numpy(y)).mean())
    return {
        "start": start[0][0].mean(0),
        "moved_without_decay": float(np.abs(means[0] - start[0][0].mean(0)).max()),
        "left_with_decay": float(np.abs(means[1]).max()),
        "error": [error.item() for error in errors],
    }
