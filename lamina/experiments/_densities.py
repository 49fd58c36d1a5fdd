"""What the experiments on densities share: a good start, errors along the way, numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from lamina._typing import Array, FloatArray
from lamina.distributions import Predictive, predictive
from lamina.heads import Head
from lamina.nn import Network
from lamina.stack import EpochReport, Member, train

from ._training import mean_error, raw_outputs


def started(hidden: Sequence[int], head: Head, X: FloatArray, y: Array, *, seed: int) -> Network:
    """Return a tanh network whose last biases are where the head says that y begins."""
    targets = head.targets(y)
    n_raw = head.n_raw(head.n_targets(targets))
    network = Network((X.shape[1], *hidden, n_raw), "tanh", init="torch", random_state=seed)
    start = head.start(targets)
    if start is not None:
        layers = network.layers()
        network = Network.from_arrays([*layers[:-1], (layers[-1][0], start)], "tanh")
    return network


def steady(
    hidden: Sequence[int],
    head: Head,
    X: FloatArray,
    y: Array,
    *,
    seed: int,
    epochs: int = 1000,
    batch_size: int | None = None,
) -> Network:
    """Train a tanh network by AdamW from rate 0.01 down to 0, and return it."""
    member = Member(
        tuple(hidden),
        "tanh",
        head,
        init=started(hidden, head, X, y, seed=seed),
        seed=seed,
        batch_size=batch_size or len(X),
        optimizer="adamw",
        learning_rate=0.01,
        schedule="cosine",
        weight_decay=0.01,
        max_epochs=epochs,
    )
    return train([member], X, y).networks[0]


def along_the_way(
    member: Member, X: FloatArray, y: Array, steps: Sequence[int]
) -> tuple[dict[int, Network], Network]:
    """Train a member on full batches; return the networks after some steps, and the last."""
    seen: dict[int, Network] = {}

    def keep(report: EpochReport) -> None:
        if report.epoch in steps:
            (seen[report.epoch],) = report.networks()

    return seen, train([member], X, y, callbacks=[keep]).networks[0]


def distribution_of(network: Network, head: Head, X: FloatArray) -> Predictive:
    """Return the predictive distribution of each row of X."""
    return predictive(head.distribution(raw_outputs(network, X).double()))


def rms(residual: FloatArray) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(residual))))


def nll(network: Network, head: Head, X: FloatArray, y: Array) -> float:
    """Return the mean negative log-likelihood in nats."""
    with torch.no_grad():
        return mean_error(network, head, X, y)
