"""Learnt scales and mixtures in machine code, and raw outputs that inputs do not reach."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lamina.heads import Bernoulli, Mixture, MultivariateNormal, NegativeBinomial, Normal
from lamina.stack import SGD, Member, train
from lamina.stack._extension import VARIABLE, instruction_sets, native

needs_native = pytest.mark.skipif(
    native() is None, reason="lamina was installed without its compiled part"
)
NATIVE = [
    *(Normal("shared"), Normal("shared", min_scale=0.0), Normal("per_row"), Mixture(1)),
    *(Normal("per_row", min_scale=0.5), Mixture(3), Mixture(5, "diag"), Mixture(2, min_scale=0.0)),
]


class Own(Mixture):
    """A head of a user's own."""


def data(n_targets, n=47):
    rng = np.random.default_rng(n_targets)
    X = rng.standard_normal((n, 3))
    return X, X[:, :1] * [1.0, -2.0, 0.5][:n_targets] + 0.3 * rng.standard_normal((n, n_targets))


@needs_native
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_targets", [1, 2, 3])
@pytest.mark.parametrize("head", NATIVE, ids=str)
def test_machine_code_trains_as_torch_does(head, n_targets, dtype, monkeypatch):
    X, y = data(n_targets)
    weight = np.random.default_rng(5).uniform(0.1, 2, len(X))
    members = [
        Member((7,), "tanh", head=head, seed=s, batch_size=10, max_epochs=10, learning_rate=0.01,
               sample_weight=weight if s else None, alpha=0.1)
        for s in range(2)
    ]  # fmt: skip
    theirs = train(members, X, y, backend="torch", dtype=dtype)
    for instruction_set in instruction_sets():
        monkeypatch.setenv(VARIABLE, instruction_set)
        ours = train(members, X, y, backend="cpu", dtype=dtype)
        assert ours.backend == ["cpu", "cpu"]
        near = 1e-10 if dtype == "float64" else 2e-3
        for a, b in zip(ours.networks, theirs.networks, strict=True):
            for one, two in zip(a.parameters(), b.parameters(), strict=True):
                torch.testing.assert_close(one, two, rtol=near, atol=near)
        np.testing.assert_allclose(
            ours.columns["train_loss"], theirs.columns["train_loss"], rtol=near
        )


@needs_native
@pytest.mark.parametrize("size", [0.0, 1.0, 30.0, 800.0])
@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("head", NATIVE, ids=str)
def test_error_and_gradient_at_extreme_raw_outputs(head, n_targets, size):
    rng = np.random.default_rng(3)
    y = rng.standard_normal((1, n_targets))
    n_raw = head.n_raw(n_targets)
    for _ in range(5):
        raw = size * rng.choice([-1.0, 1.0, 0.3], n_raw) + rng.standard_normal(n_raw)
        member = Member((), head=head, init=[(np.zeros((n_raw, 1)), raw)], optimizer=SGD(0.0),
                        learning_rate=1.0, max_epochs=1)  # fmt: skip
        error, gradient = head.error_and_gradient(
            torch.from_numpy(raw)[None, None], torch.from_numpy(y)[None]
        )
        after = raw - gradient.numpy()[0, 0]
        assert np.isfinite(after).all()
        assert math.isfinite(error.item())
        ours = train([member], np.zeros((1, 1)), y, backend="cpu", dtype="float64")
        np.testing.assert_allclose(
            ours.networks[0].biases[0].detach().numpy(), after, rtol=1e-10, atol=1e-12
        )
        np.testing.assert_allclose(ours.columns["train_loss"], error[0], rtol=1e-12)


@needs_native
def test_what_has_no_machine_code_goes_to_torch():
    X, y = data(1)
    for head in (Mixture(2, "full"), Normal("per_row", beta=0.5), Own(2)):
        assert train([Member((3,), head=head, max_epochs=1)], X, y).backend == ["torch"]
    bits = train([Member((3,), head=Mixture(2, component="bernoulli"), max_epochs=1)], X, y > 0)
    assert bits.backend == ["torch"]


BACKENDS = ["torch", *(["cpu"] if native() is not None else [])]
SHARED = [
    (Normal("shared"), 2, 2),
    (MultivariateNormal("shared"), 2, 3),
    (NegativeBinomial(), 2, 2),
    (Bernoulli(label_noise="learn"), 2, 2),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize("optimizer", ["adam", "adamw", "muon", "lbfgs"])
@pytest.mark.parametrize(("head", "n_targets", "n_shared"), SHARED, ids=str)
def test_shared_raw_outputs_are_the_same_for_every_input(
    head, n_targets, n_shared, optimizer, depth, backend
):
    X, y = data(n_targets)
    if isinstance(head, NegativeBinomial):
        y = np.floor(np.exp(y))
    elif isinstance(head, Bernoulli):
        y = (y > 0).astype(float)
    members = [
        Member((5,) * depth, head=head, seed=s, optimizer=optimizer, max_epochs=3, alpha=0.1,
               weight_decay=0.0 if optimizer == "lbfgs" else 0.01, batch_size=16)
        for s in range(2)
    ]  # fmt: skip
    for network in train(members, X, y, backend=backend).networks:
        raw = network.predict_raw(X)
        assert np.ptp(raw[:, -n_shared:], axis=0).max() == 0.0
        assert np.ptp(raw[:, :-n_shared], axis=0).min() > 0.0
        assert (network.biases[-1][-n_shared:] != 0.0).all()
        assert (network.weights[-1][-n_shared:] == 0.0).all()


def test_a_shared_scale_becomes_the_root_mean_square_of_the_residuals():
    X, y = data(2, n=200)
    member = Member((), head=Normal("shared", min_scale=0.0), optimizer="lbfgs", max_epochs=500)
    (network,) = train([member], X, y, dtype="float64").networks
    raw = network.predict_raw(X)
    design = np.column_stack([X, np.ones(len(X))])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(
        np.exp(raw[0, 2:]), np.sqrt(np.mean(residual**2, axis=0)), rtol=1e-4
    )
