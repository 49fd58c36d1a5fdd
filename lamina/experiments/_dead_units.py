"""Dead units: forced, by chance of the draw, from too large steps; and what lets them recover."""

from __future__ import annotations

import numpy as np

from lamina.datasets import make_xor
from lamina.heads import Bernoulli
from lamina.inspection import UnitHistory, gradients, units
from lamina.nn import Network
from lamina.stack import train

from ._registry import Values, experiment
from ._training import full_batch


def _forced(activation: str, bias: float) -> Network:
    """Return a net 2-8-1 whose first unit has the given bias."""
    (W, b), output = Network((2, 8, 1), init="torch", random_state=189).layers()
    b[0] = bias
    return Network.from_arrays([(W, b), output], activation)


@experiment("dead-relu")
def dead_relu() -> Values:
    """Give one ReLU the bias -10, train, and measure how far every unit's weights moved."""
    X, y = make_xor(random_state=189)
    start = _forced("relu", -10.0)
    member = full_batch((8,), "relu", Bernoulli(), n_rows=len(X), seed=189, init=start)
    trained = train([member], X, y, dtype="float64").networks[0]
    layer = units(trained, X, initial=start).layers[0]
    return {
        "max_preactivation": float(layer.highest[0]),
        "moved": layer.moved,
        "dead": np.flatnonzero(layer.dead),
    }


@experiment("dead-relu-and-leaky")
def dead_relu_and_leaky() -> Values:
    """Start a unit below zero on every row, as a ReLU and with a slope of 0.1 on the left."""
    X, y = make_xor(random_state=189)
    head, values = Bernoulli(), {}
    for name, activation in (("relu", "relu"), ("leaky", "leaky_relu(0.1)")):
        start = _forced(activation, -1.0)
        member = full_batch(
            (8,), activation, head, n_rows=len(X), seed=189, init=start, epochs=1500,
            learning_rate=0.02,
        )  # fmt: skip
        trained = train([member], X, y, dtype="float64").networks[0]
        after = units(trained, X, initial=start).layers[0]
        assert after.moved is not None
        values[f"{name}_highest_before"] = float(units(start, X).layers[0].highest[0])
        values[f"{name}_gradient_row"] = float(gradients(start, X, y, head).layers[0].unit_norm[0])
        values[f"{name}_moved"] = float(after.moved[0])
        values[f"{name}_highest_after"] = float(after.highest[0])
    return values


@experiment("dead-at-start")
def dead_at_start() -> Values:
    """Draw He's weights with zero biases and count the units that are dead before any step."""
    X, _ = make_xor(random_state=189)
    shares = {}
    for name, rows in (
        ("one_positive_input", np.array([[0.5], [1.0]])),
        ("two_positive_inputs", np.eye(2)),
        ("inputs_on_both_sides", np.vstack([X, -X])),
    ):
        network = Network((rows.shape[1], 4000, 1), random_state=0)
        shares[name] = float(units(network, rows, tolerance=0.0).layers[0].dead.mean())
    return shares


@experiment("dead-while-training")
def dead_while_training() -> Values:
    """Count dead ReLUs before, during and after training with steps of two sizes."""
    X, y = make_xor(random_state=189)
    start = Network((2, 64, 1), init="torch", random_state=189)
    watch = UnitHistory(X, every=20)
    watch.observe([start, start])
    members = [
        full_batch((64,), "relu", Bernoulli(), n_rows=len(X), seed=189, init=start, epochs=200,
                   learning_rate=rate)
        for rate in (0.01, 3.0)
    ]  # fmt: skip
    train(members, X, y, dtype="float64", callbacks=[watch])
    counts = watch.history.pivot(index="epoch", columns="member", values="dead")
    return {
        "epochs": counts.index.tolist(),
        "small_steps": counts[0].tolist(),
        "large_steps": counts[1].tolist(),
    }
