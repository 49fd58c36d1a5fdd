"""Noise on the inputs: its values, its effect, and that it belongs to one member alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lamina._errors import ParameterError
from lamina._random import NOISE, generator
from lamina.stack import SGD, Member, train
from lamina.stack._extension import VARIABLE, instruction_sets, native
from lamina.stack._noise import NoisePlan, normal_values

BACKENDS = ["torch", *(["cpu"] if native() is not None else [])]
each_backend = pytest.mark.parametrize("backend", BACKENDS)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 2)) * [1.0, 2.0]
Y = X @ [1.0, -0.5] + 0.1 * RNG.standard_normal(400)


def mixed(word):
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        word = ((word ^ (word >> shift)) * factor) & 0xFFFFFFFF
    return word ^ (word >> 16)


def noise_by_hand(seed, step, n_rows, n_columns):
    """Return the noise of one step in whole numbers of Python."""
    first, second, third = (int(k) for k in generator(seed, NOISE).integers(0, 2**32, size=3))
    place = step * 64
    noise = np.empty((n_rows, n_columns))
    for b in range(n_rows):
        row = mixed((b * 0x2545F491 + first + place * 0x9E3779B9) & 0xFFFFFFFF)
        for j in range(n_columns):
            key = second ^ ((place * 0x85EBCA6B + third) & 0xFFFFFFFF)
            word = mixed((row + (((j * 0x632BE59B) & 0xFFFFFFFF) ^ key)) & 0xFFFFFFFF)
            noise[b, j] = normal_values()[word % 1024]
    return noise


def test_values_have_mean_zero_and_variance_one():
    z = normal_values()
    np.testing.assert_allclose([z.mean(), z.var(), z.min(), z.max()], [0, 1, -3.3, 3.3], atol=2e-3)
    np.testing.assert_allclose(np.mean(z**4), 3, rtol=0.02)
    plan = NoisePlan([3], [0.5], torch.zeros(0, dtype=torch.float64))
    drawn = plan.added_to(torch.zeros(1, 2000, 10, dtype=torch.float64), 0)[0]
    assert abs(drawn.mean().item()) < 0.02
    assert drawn.std().item() == pytest.approx(0.5, rel=0.02)
    correlation = np.corrcoef(drawn.numpy().T) - np.eye(10)
    assert np.abs(correlation).max() < 0.1


@each_backend
def test_two_steps_by_hand(backend):
    member = Member((), init=[(np.array([[0.3, 0.2]]), np.array([0.1]))], optimizer=SGD(0.0),
                    learning_rate=0.01, input_noise=0.7, seed=5, max_epochs=2,
                    batch_size=400)  # fmt: skip
    (network,) = train([member], X, Y, backend=backend, dtype="float64").networks
    w, b = np.array([0.3, 0.2]), 0.1
    for step in range(2):
        x = X + 0.7 * noise_by_hand(5, step, 400, 2)
        residual = x @ w + b - Y
        w, b = w - 0.01 * residual @ x / 400, b - 0.01 * residual.mean()
    np.testing.assert_allclose(network.weights[0].detach().numpy()[0], w, rtol=1e-12)
    np.testing.assert_allclose(network.biases[0].item(), b, rtol=1e-12)


@each_backend
def test_a_linear_model_becomes_ridge_regression(backend):
    member = Member((), optimizer=SGD(0.0), learning_rate=0.1, schedule="cosine", batch_size=50,
                    input_noise=1.0, max_epochs=300)  # fmt: skip
    (network,) = train([member], X, Y, backend=backend, dtype="float64").networks
    x, y = X - X.mean(0), Y - Y.mean()
    ridge = np.linalg.solve(x.T @ x + 400 * np.eye(2), x.T @ y)
    np.testing.assert_allclose(network.weights[0].detach().numpy()[0], ridge, rtol=0.03)


@pytest.mark.skipif(native() is None, reason="lamina was installed without its compiled part")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_backends_add_the_same_noise(dtype, monkeypatch):
    members = [
        Member((5,), "tanh", seed=s, input_noise=0.3 * s, dropout=0.2, batch_size=64, max_epochs=5)
        for s in range(3)
    ]
    theirs = train(members, X, Y, backend="torch", dtype=dtype)
    for instruction_set in instruction_sets():
        monkeypatch.setenv(VARIABLE, instruction_set)
        ours = train(members, X, Y, backend="cpu", dtype=dtype)
        for a, b in zip(ours.networks, theirs.networks, strict=True):
            for one, two in zip(a.parameters(), b.parameters(), strict=True):
                near = 1e-11 if dtype == "float64" else 1e-4
                torch.testing.assert_close(one, two, rtol=near, atol=near)


@each_backend
def test_alone_is_together_and_training_can_go_on(backend, tmp_path):
    members = [
        Member((5,), seed=s, input_noise=0.2 * s, batch_size=64, max_epochs=6) for s in range(3)
    ]
    together = train(members, X, Y, backend=backend)
    for k, member in enumerate(members):
        (alone,) = train([member], X, Y, backend=backend).networks
        for one, two in zip(alone.parameters(), together.networks[k].parameters(), strict=True):
            torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)
    path = tmp_path / "noise.ckpt"
    seen = []

    def twice(report):
        seen.append(report.epoch)
        return len(seen) == 2

    train(members, X, Y, backend=backend, checkpoint=path, callbacks=[twice])
    resumed = train(members, X, Y, backend=backend, checkpoint=path)
    for a, b in zip(resumed.networks, together.networks, strict=True):
        for one, two in zip(a.parameters(), b.parameters(), strict=True):
            assert torch.equal(one, two)


def test_what_cannot_be():
    with pytest.raises(ParameterError, match=r"input_noise must be a finite number in .* Got -1"):
        Member(input_noise=-1)
    with pytest.raises(ParameterError, match="input_noise must be 0 with optimizer='lbfgs'"):
        Member(input_noise=0.1, optimizer="lbfgs")
