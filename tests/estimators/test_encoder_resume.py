"""partial_fit after partial_fit: which parameters act, and what is kept."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lamina.nn import Network
from lamina.stack import NetworkEngine


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_engine_goes_on_bit_for_bit_where_another_stands(dtype):
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=(6, 3)), dtype=getattr(torch, dtype))

    def steps(engine, n):
        for _ in range(n):
            engine.backward(engine.forward(x))
            engine.step(0.05)

    network = Network((3, 5, 2), random_state=0, dtype=dtype)
    whole = NetworkEngine(network, 6, optimizer="adamw", weight_decay=0.1)
    steps(whole, 7)
    first = NetworkEngine(network, 6, optimizer="adamw", weight_decay=0.1)
    steps(first, 3)
    then = NetworkEngine(network, 9, optimizer="adamw", weight_decay=0.1)
    then.resume(first)
    steps(then, 4)
    assert then.n_steps == 7
    assert torch.equal(then.theta, whole.theta)
