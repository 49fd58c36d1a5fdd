"""Optimisers: one step worked by hand, known optima, settings and their sentences."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from lamina._errors import ParameterError
from lamina.stack import (
    LBFGS,
    OPTIMIZERS,
    SGD,
    Adam,
    AdamW,
    Member,
    Muon,
    Optimizer,
    RMSprop,
    get_optimizer,
    train,
)
from lamina.stack._update import orthogonalize

each_backend = pytest.mark.usefixtures("backend")

CASES = [
    ("sgd", SGD(), 0.05),
    ("adam", Adam(), 0.05),
    ("adamw", AdamW(), 0.05),
    ("rmsprop", RMSprop(), 0.05),
    ("muon", Muon(), 0.05),
    ("lbfgs", LBFGS(gtol=1e-10), 1.0),
]
"""Name, object, and a learning rate at which it solves a small problem."""

KINDS = {name: type(optimizer) for name, optimizer, _ in CASES}


def step(optimizer, n_steps=1, init=((((2.0, -1.0),), (0.5,)),), **settings):
    """Train a linear network on one row for some steps; return weights and biases."""
    layers = [(np.array(W), np.array(b)) for W, b in init]
    member = Member(
        (len(init[0][1]),) if len(init) > 1 else (),
        "relu",
        init=layers,
        optimizer=optimizer,
        max_epochs=n_steps,
        **({"learning_rate": 0.1} | settings),
    )
    result = train([member], [[1.0, 2.0]], [1.5], dtype="float64")
    return [array.tolist() for layer in result.networks[0].layers() for array in layer]


# The row x = (1, 2) with y = 1.5 and the weights w = (2, -1), b = 0.5 give
# a = 2·1 - 1·2 + 0.5 = 0.5, so ∂E/∂a = a - y = -1 and the gradient is (-1, -2) on w, -1 on b.


@each_backend
def test_one_step_of_sgd_by_hand():
    # w - 0.1·g = (2.1, -0.8), b - 0.1·g = 0.6
    W, b = step(SGD(momentum=0.0, nesterov=False))
    assert W[0] == pytest.approx([2.1, -0.8], abs=1e-15)
    assert b == pytest.approx([0.6], abs=1e-15)


@each_backend
def test_two_steps_of_momentum_by_hand():
    # After the first step a = 2.1 - 1.6 + 0.6 = 1.1 and ∂E/∂a = -0.4, g = (-0.4, -0.8, -0.4).
    # v = 0.5·(0.1, 0.2, 0.1) - 0.1·g = (0.09, 0.18, 0.09)
    W, b = step(SGD(momentum=0.5, nesterov=False), 2)
    assert W[0] == pytest.approx([2.19, -0.62], abs=1e-15)
    assert b == pytest.approx([0.69], abs=1e-15)


@each_backend
def test_one_step_of_nesterov_by_hand():
    # v = -0.1·g = (0.1, 0.2, 0.1); w + 0.5·v - 0.1·g = (2, -1) + (0.05, 0.1) + (0.1, 0.2)
    W, b = step(SGD(momentum=0.5, nesterov=True))
    assert W[0] == pytest.approx([2.15, -0.7], abs=1e-15)
    assert b == pytest.approx([0.65], abs=1e-15)


@each_backend
def test_one_step_of_adam_by_hand():
    # With β = (0, 0) and t = 1: m = g, s = g², no correction; the step is 0.1·g/(|g| + 1):
    # 0.1·1/2 for w₁ and b, 0.1·2/3 for w₂.
    W, b = step(Adam(0.0, 0.0, epsilon=1.0))
    assert W[0] == pytest.approx([2.05, -1 + 0.2 / 3], abs=1e-15)
    assert b == pytest.approx([0.55], abs=1e-15)
    # With β = (0.5, 0.75): m = g/2, s = g²/4, and √(1 - 0.75)/(1 - 0.5) = 1, so the step is
    # 0.1·(g/2)/(|g|/2 + 1) = 0.1·g/(|g| + 2): ε is not divided by the correction.
    W, b = step(Adam(0.5, 0.75, epsilon=1.0))
    assert W[0] == pytest.approx([2 + 0.1 / 3, -0.95], abs=1e-15)
    assert b == pytest.approx([0.5 + 0.1 / 3], abs=1e-15)


@each_backend
def test_one_step_of_adamw_by_hand():
    # Weights, not biases, first shrink by 1 - 0.1·0.5 = 0.95 to (1.9, -0.95).
    W, b = step(AdamW(0.0, 0.0, epsilon=1.0), weight_decay=0.5)
    assert W[0] == pytest.approx([1.95, -0.95 + 0.2 / 3], abs=1e-15)
    assert b == pytest.approx([0.55], abs=1e-15)


@each_backend
def test_one_step_of_coupled_decay_and_clipping_by_hand():
    # g + 0.5·w = (-1, -2) + (1, -0.5) = (0, -2.5) on w, -1 on b; its norm is √7.25.
    scale = 2.0 / 7.25**0.5
    W, b = step(SGD(0.0, False), weight_decay=0.5, clip_norm=2.0)
    assert W[0] == pytest.approx([2.0, -1 + 0.25 * scale], abs=1e-15)
    assert b == pytest.approx([0.5 + 0.1 * scale], abs=1e-15)


@each_backend
def test_one_step_of_rmsprop_by_hand():
    # s = 0.25·g²; the step is 0.1·g/(|g|/2 + 1): 0.1/1.5 for w₁ and b, 0.2/2 for w₂.
    W, b = step(RMSprop(rho=0.75, epsilon=1.0))
    assert W[0] == pytest.approx([2 + 0.1 / 1.5, -0.9], abs=1e-15)
    assert b == pytest.approx([0.5 + 0.1 / 1.5], abs=1e-15)


@each_backend
def test_one_step_of_muon_moves_by_a_unit_matrix():
    # One hidden unit: its matrix has one row, so that orthogonal(g) is g/‖g‖ up to the
    # iteration's 0.68 to 1.2. a = 0.5 > 0, the output weight 3 gives 1.5 + 0 = 1.5 = y: no
    # gradient. With output weight 2, ∂E/∂raw = 1 - 1.5 = -0.5 and g = -0.5·2·x = (-1, -2).
    init = ((((2.0, -1.0),), (0.5,)), (((2.0,),), (0.0,)))
    (W, b, *_) = step(Muon(adamw_ratio=0.0), init=init)
    moved = np.array(W[0]) - [2.0, -1.0]
    assert moved[1] == pytest.approx(2 * moved[0], rel=1e-12)
    assert 0.068 <= np.linalg.norm(moved) <= 0.12
    assert b == [0.5]


@pytest.mark.parametrize("shape", [(5, 5), (3, 8), (8, 3), (1, 4), (4, 1)])
def test_orthogonalize_keeps_the_singular_vectors(shape, rng):
    matrix = rng.standard_normal((3, *shape)) * np.array([1e-6, 1.0, 1e6])[:, None, None]
    found = orthogonalize(torch.from_numpy(matrix), 5).numpy()
    for one, other in zip(matrix, found, strict=True):
        U, s, Vt = np.linalg.svd(one, full_matrices=False)
        inner = U.T @ other @ Vt.T
        np.testing.assert_allclose(inner, np.diag(np.diag(inner)), atol=1e-10)
        # 0.68 to 1.14 for what the iteration brings up from above 0.01 of the norm
        large = s > 0.02 * np.linalg.norm(one)
        assert ((np.diag(inner)[large] > 0.65) & (np.diag(inner)[large] < 1.25)).all()


@pytest.mark.parametrize("scale", [1e-44, 1e-38, 1e-25, 1e25, 1e38])
def test_orthogonalize_takes_every_size_that_float32_has(scale):
    matrix = torch.tensor([[[3.0, 0.0, 0.0], [0.0, 0.0, 2.0]]]) * scale
    found = orthogonalize(matrix, 5)[0]
    assert found[0, 0] > 0.65
    assert found[1, 2] > 0.65
    assert found.abs().sum() < 2.5


def test_orthogonalize_of_zero_is_zero():
    assert not orthogonalize(torch.zeros(2, 3, 4), 5).any()


@each_backend
@pytest.mark.parametrize(("name", "optimizer", "rate"), CASES)
def test_known_optimum_of_least_squares(name, optimizer, rate, rng):
    X = rng.standard_normal((40, 3))
    y = X @ [1.0, -2.0, 0.5] + 3.0 + 0.1 * rng.standard_normal(40)
    best, *_ = np.linalg.lstsq(np.column_stack([X, np.ones(40)]), y, rcond=None)
    # Muon moves a linear model by AdamW at a twentieth of the rate.
    rate = rate / optimizer.adamw_ratio if name == "muon" else rate
    member = Member((), optimizer=optimizer, learning_rate=rate, schedule="cosine", max_epochs=600)
    (net,) = train([member], X, y, dtype="float64").networks
    ((W, b),) = net.layers()
    np.testing.assert_allclose([*W[0], *b], best, rtol=0, atol=1e-5)


@each_backend
@pytest.mark.parametrize(("name", "optimizer", "rate"), CASES)
def test_a_hidden_layer_learns_to_multiply(name, optimizer, rate, rng):
    X = rng.uniform(-1, 1, (80, 2))
    y = X[:, 0] * X[:, 1]
    member = Member(
        (12,), "tanh", optimizer=optimizer, learning_rate=rate, batch_size=20, max_epochs=150
    )
    (net,) = train([member], X, y, dtype="float64").networks
    assert np.mean((net.predict_raw(X)[:, 0] - y) ** 2) < 0.1 * y.var()


def test_names_give_the_defaults():
    assert {name: get_optimizer(name) for name in OPTIMIZERS} == {
        "sgd": SGD(0.9, True),
        "adam": Adam(0.9, 0.999, 1e-8),
        "adamw": AdamW(0.9, 0.999, 1e-8),
        "rmsprop": RMSprop(0.99, 0.0, 1e-8),
        "muon": Muon(0.95, True, 5, 0.05, 0.9, 0.999, 1e-8),
        "lbfgs": LBFGS(15000, 1e-4),
    }
    assert KINDS == OPTIMIZERS


def test_an_object_is_returned_as_it_is():
    rule = Adam(0.5)
    assert get_optimizer(rule) is rule


def test_an_optimiser_is_what_it_says():
    assert SGD(0.5) != SGD(0.6)
    assert Adam() != AdamW()
    assert len({Adam(), Adam(0.9), AdamW()}) == 2
    assert {name for name, kind in OPTIMIZERS.items() if kind.decoupled} == {"adamw", "muon"}


NAMES = "'adam', 'adamw', 'lbfgs', 'muon', 'rmsprop', 'sgd'"
UNIT = "must be a finite number in [0, 1]"
BELOW_ONE = "must be a finite number in [0, 1)"
POSITIVE = "must be a finite number in (0, inf]"
WRONG = [
    (
        lambda: get_optimizer("adm"),
        f"optimizer must be one of {NAMES}. Got 'adm'. Did you mean 'adam'?",
    ),
    (lambda: get_optimizer("SGD"), f"optimizer must be one of {NAMES}. Got 'SGD'."),
    (lambda: get_optimizer(3), "optimizer must be a name or an Optimizer such as Adam(). Got 3."),
    (
        lambda: get_optimizer(Adam),
        "optimizer must be a name or an Optimizer such as Adam(). "
        "Got <class 'lamina.stack._optimizers.Adam'>.",
    ),
    (lambda: SGD(1.5), f"SGD momentum {UNIT}. Got 1.5."),
    (lambda: SGD(-0.1), f"SGD momentum {UNIT}. Got -0.1."),
    (lambda: SGD(float("nan")), f"SGD momentum {UNIT}. Got nan."),
    (lambda: SGD("0.9"), f"SGD momentum {UNIT}. Got '0.9'."),
    (lambda: SGD(nesterov="no"), "SGD nesterov must be True or False. Got 'no'."),
    (lambda: Adam(1.0), f"Adam beta_1 {BELOW_ONE}. Got 1.0."),
    (lambda: Adam(beta_2=-1), f"Adam beta_2 {BELOW_ONE}. Got -1."),
    (lambda: Adam(epsilon=0), f"Adam epsilon {POSITIVE}. Got 0."),
    (lambda: AdamW(2.0), f"AdamW beta_1 {BELOW_ONE}. Got 2.0."),
    (lambda: AdamW(epsilon=-1e-8), f"AdamW epsilon {POSITIVE}. Got -1e-08."),
    (lambda: RMSprop(1.0), f"RMSprop rho {BELOW_ONE}. Got 1.0."),
    (lambda: RMSprop(momentum=1.1), f"RMSprop momentum {UNIT}. Got 1.1."),
    (lambda: RMSprop(epsilon=0.0), f"RMSprop epsilon {POSITIVE}. Got 0.0."),
    (lambda: Muon(1.0), f"Muon momentum {BELOW_ONE}. Got 1.0."),
    (lambda: Muon(nesterov=1), "Muon nesterov must be True or False. Got 1."),
    (lambda: Muon(n_steps=0), "Muon n_steps must be an integer of at least 1. Got 0."),
    (lambda: Muon(n_steps=2.0), "Muon n_steps must be an integer of at least 1. Got 2.0."),
    (
        lambda: Muon(adamw_ratio=-1),
        "Muon adamw_ratio must be a finite number in [0, inf]. Got -1.",
    ),
    (lambda: Muon(beta_2=1), f"Muon beta_2 {BELOW_ONE}. Got 1."),
    (lambda: Muon(epsilon=0), f"Muon epsilon {POSITIVE}. Got 0."),
    (lambda: LBFGS(0), "LBFGS max_fun must be an integer of at least 1. Got 0."),
    (lambda: LBFGS(gtol=-1), "LBFGS gtol must be a finite number in [0, inf]. Got -1."),
]


@pytest.mark.parametrize(("make", "sentence"), WRONG)
def test_wrong_settings(make, sentence):
    with pytest.raises(ParameterError, match=f"^{re.escape(sentence)}$"):
        make()


def test_a_kind_that_the_engine_does_not_know_is_refused():
    class Mine(Optimizer):
        pass

    with pytest.raises(ParameterError, match=r"^optimizer must be a name or an Optimizer"):
        Member(optimizer=Mine())
