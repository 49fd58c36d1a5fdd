"""A network's own passes and steps against autograd and torch's optimisers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lamina._errors import DataError, ParameterError
from lamina.nn import Network
from lamina.stack import LBFGS, NetworkEngine, get_optimizer


def make(activation="tanh", dtype="float64"):
    return Network((3, 5, 4, 2), activation, random_state=3, dtype=dtype)


def batch(rows=6):
    return torch.from_numpy(np.random.default_rng(1).normal(size=(rows, 3)))


def loss_of(raw):
    """A loss that couples all rows."""
    return (raw @ raw.mT).logsumexp(1).sum()


def reference_steps(network, n, rate, make_optimizer):
    network = Network.from_torch(network)
    optimizer = make_optimizer(network.parameters(), rate)
    for _ in range(n):
        optimizer.zero_grad()
        loss_of(network(batch())).backward()
        optimizer.step()
    return network


def engine_steps(engine, n, rate):
    for _ in range(n):
        raw = engine.forward(batch()).clone().requires_grad_()
        (delta,) = torch.autograd.grad(loss_of(raw), raw)
        engine.backward(delta)
        engine.step(rate)
    return engine.network()


@pytest.mark.parametrize("activation", ["relu", "tanh", "gelu", ["prelu", "silu"]])
def test_gradient_equals_autograds(activation):
    network = make(activation)
    engine = NetworkEngine(network, 6)
    raw = engine.forward(batch())
    torch.testing.assert_close(raw, network(batch()), rtol=1e-13, atol=1e-13)
    value = loss_of(network(batch()))
    value.backward()
    leaf = raw.clone().requires_grad_()
    engine.backward(torch.autograd.grad(loss_of(leaf), leaf)[0])
    found = {b.kind + str(b.layer): b.view(engine.grad)[0] for b in engine._layout.blocks}
    for i in range(3):
        torch.testing.assert_close(found[f"weight{i}"], network.weights[i].grad)
        torch.testing.assert_close(found[f"bias{i}"], network.biases[i].grad)
        if network.slopes[i] is not None:
            torch.testing.assert_close(found[f"slope{i}"], network.slopes[i].grad)


def test_momentum_steps_equal_torchs():
    def reference(parameters, rate):
        return torch.optim.SGD(parameters, rate, momentum=0.9, nesterov=True)

    found = engine_steps(NetworkEngine(make(), 6, optimizer="sgd"), 5, 0.01)
    for ours, theirs in zip(
        found.parameters(), reference_steps(make(), 5, 0.01, reference).parameters(), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


def test_decoupled_decay_equals_torchs_on_weights():
    # torch divides the root by √(1 − β₂ᵗ) before it adds ε; with ε tiny the two agree.
    from lamina.stack import AdamW

    def reference(parameters, rate):
        weights = [p for p in parameters if p.ndim == 2]
        biases = [p for p in parameters if p.ndim == 1]
        groups = [{"params": weights, "weight_decay": 0.1}, {"params": biases, "weight_decay": 0}]
        return torch.optim.AdamW(groups, rate, eps=1e-30)

    def whole(parameters, rate):
        return reference(list(parameters), rate)

    engine = NetworkEngine(make(), 6, optimizer=AdamW(epsilon=1e-30), weight_decay=0.1)
    found = engine_steps(engine, 5, 0.01)
    for ours, theirs in zip(
        found.parameters(), reference_steps(make(), 5, 0.01, whole).parameters(), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)


def test_decay_through_the_gradient():
    engine, plain = NetworkEngine(make(), 6, optimizer="sgd", weight_decay=0.5), make()
    engine.forward(batch())
    engine.backward(torch.zeros(6, 2, dtype=torch.float64))
    engine.step(0.1)
    # the first step of Nesterov's momentum .9 is 1.9 times the gradient's
    for ours, theirs in zip(engine.network().layers(), plain.layers(), strict=True):
        np.testing.assert_allclose(ours[0], theirs[0] * (1 - 1.9 * 0.1 * 0.5), rtol=1e-12)
        np.testing.assert_array_equal(ours[1], theirs[1])


def test_smaller_batches_use_the_first_rows_of_the_memory():
    network = make("gelu")
    engine = NetworkEngine(network, 6)
    for rows in (6, 2, 5, 1):
        torch.testing.assert_close(engine.forward(batch(rows)), network(batch(rows)))


def test_the_given_network_and_the_answer_have_memory_of_their_own():
    network = make()
    before = network.layers()
    engine = NetworkEngine(network, 6)
    first = engine.network()
    engine_steps(engine, 3, 0.1)
    for a, b, c in zip(before, network.layers(), first.layers(), strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[0], c[0])
    assert not np.array_equal(engine.network().layers()[0][0], before[0][0])


def test_threads_are_put_back():
    engine = NetworkEngine(make(), 6)
    with engine.threads():
        assert torch.get_num_threads() == 1


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: NetworkEngine(make(), 0), "max_rows must be an integer of at least 1. Got 0."),
        (lambda: NetworkEngine(make(), 2, optimizer=LBFGS()), "Got 'lbfgs'. Use 'adam'."),
        (
            lambda: NetworkEngine(Network((2, 1), output_activation="tanh"), 2),
            "network must have raw outputs, without an activation. Got 'tanh'.",
        ),
    ],
)
def test_wrong_parameters_get_one_sentence(wrong, sentence):
    with pytest.raises(ParameterError) as caught:
        wrong()
    assert sentence in str(caught.value)


@pytest.mark.parametrize("shape", [(7, 3), (0, 3), (2, 4), (3,)])
def test_wrong_batches_are_refused(shape):
    with pytest.raises(DataError, match="x must have shape"):
        NetworkEngine(make(), 6).forward(torch.zeros(shape, dtype=torch.float64))


def test_a_delta_without_its_batch_is_refused():
    engine = NetworkEngine(make(), 6, optimizer=get_optimizer("rmsprop"))
    with pytest.raises(DataError, match="each of the 0 rows"):
        engine.backward(torch.zeros(2, 2))
    engine.forward(batch())
    with pytest.raises(DataError, match="each of the 6 rows"):
        engine.backward(torch.zeros(2, 2))
