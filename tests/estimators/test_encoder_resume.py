"""partial_fit after partial_fit: which parameters act, and what is kept."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lamina._errors import ParameterError
from lamina.estimators import ContrastiveEncoder, CrossModalEncoder, DenoisingEncoder
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


X = np.random.default_rng(1).normal(size=(60, 4))
SMALL = {"hidden_layer_sizes": (8,), "max_steps": 5, "batch_size": 60, "random_state": 0}
ENCODERS = {
    "contrastive": lambda **more: ContrastiveEncoder(**SMALL | more),
    "denoising": lambda **more: DenoisingEncoder(**SMALL | more),
    "cross-modal": lambda **more: CrossModalEncoder(3, **SMALL | more),
}
each_encoder = pytest.mark.parametrize("name", ENCODERS)


def learn(encoder, n=60):
    """Call partial_fit with some rows; the other side of pairs is their square."""
    if isinstance(encoder, CrossModalEncoder):
        return encoder.partial_fit(X[:n], X[:n, :3] ** 2)
    return encoder.partial_fit(X[:n])


@each_encoder
def test_a_decay_that_is_changed_shrinks_the_weights_of_the_next_step(name):
    free, tight = (learn(ENCODERS[name]()) for _ in range(2))
    (before, bias), *_ = free.network_.layers()
    learn(free)
    learn(tight.set_params(weight_decay=20.0))
    (loose, loose_bias), *_ = free.network_.layers()
    (shrunk, shrunk_bias), *_ = tight.network_.layers()
    np.testing.assert_allclose(shrunk, loose - 0.001 * 20.0 * before, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(shrunk_bias, loose_bias)
    assert (bias != loose_bias).any()


@each_encoder
def test_a_larger_batch_size_goes_on_with_all_that_was_learned(name):
    grown, large = (
        learn(learn(ENCODERS[name](batch_size=size), 30), 30).set_params(batch_size=60)
        for size in (30, 60)
    )
    np.testing.assert_array_equal(learn(grown).transform(X), learn(large).transform(X))
    assert grown.n_steps_ == 3
    assert learn(grown.set_params(batch_size=20)).n_steps_ == 6


def info_nce(a, b, temperature):
    """Return the mean over both directions, by plain loops."""
    a, b = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (a, b))
    logits = a.astype(np.float64) @ b.T.astype(np.float64) / temperature
    losses = []
    for i in range(len(a)):
        for line in (logits[i], logits[:, i]):
            losses.append(np.log(np.sum(np.exp(line))) - line[i])
    return np.mean(losses)


def test_a_temperature_that_is_changed_acts_on_the_next_step():
    encoder = learn(ContrastiveEncoder(lambda some, rng: some, **SMALL))
    z = encoder.project(X)
    learn(encoder.set_params(temperature=0.7))
    assert encoder.loss_curve_[-1] == pytest.approx(info_nce(z, z, 0.7), rel=1e-5)


@pytest.mark.parametrize("learned", [False, True])
def test_a_temperature_of_pairs_that_is_changed_acts_on_the_next_step(learned):
    for changed in ({}, {"temperature": 0.5}):
        encoder = learn(CrossModalEncoder(3, **SMALL, learn_temperature=learned))
        a, b = encoder.transform(X), encoder.transform_partner(X[:, :3] ** 2)
        expected = info_nce(a, b, changed.get("temperature", encoder.temperature_))
        learn(encoder.set_params(**changed))
        assert encoder.loss_curve_[-1] == pytest.approx(expected, rel=1e-5)


def test_a_mask_weight_that_is_changed_acts_on_the_next_step():
    losses = {}
    for weight in (1.0, 2.0, 5.0):
        encoder = learn(ENCODERS["denoising"]()).set_params(mask_weight=weight)
        losses[weight] = learn(encoder).loss_curve_[-1]
    cross_entropy = losses[2.0] - losses[1.0]
    assert cross_entropy > 0.1
    assert losses[5.0] == pytest.approx(losses[1.0] + 4 * cross_entropy, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "changed", "sentence"),
    [
        *[
            (name, {"hidden_layer_sizes": sizes}, f"hidden_layer_sizes must stay (8,) .*{got}")
            for name in ENCODERS
            for sizes, got in [((8, 4), "Got (8, 4)"), ((8, 4, 3), "Got (8, 4, 3)")]
        ],
        *[
            (name, {"dtype": "float64"}, "dtype must stay 'float32' .*'float64'")
            for name in ENCODERS
        ],
        *[(name, {"activation": "tanh"}, "activation must stay 'relu'") for name in ENCODERS],
        ("contrastive", {"projection_sizes": ()}, "projection_sizes must stay (64,) .*Got ()"),
        ("denoising", {"decoder_sizes": (5,)}, "decoder_sizes must stay () .*Got (5,)"),
        ("denoising", {"mask_weight": 0}, "mask_weight must stay above 0 .*Got 0"),
        ("cross-modal", {"n_components": 4}, "n_components must stay 3 .*Got 4"),
        (
            "cross-modal",
            {"partner_hidden_layer_sizes": (4,)},
            "partner_hidden_layer_sizes must stay (8,) .*Got (4,)",
        ),
    ],
)
def test_what_the_networks_settle_cannot_change(name, changed, sentence):
    encoder = learn(ENCODERS[name]())
    before = encoder.transform(X)
    escaped = sentence.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ParameterError, match=f"{escaped}.* Call fit to begin anew"):
        learn(encoder.set_params(**changed))
    np.testing.assert_array_equal(encoder.transform(X), before)


def test_other_words_for_the_same_layers_are_welcome():
    encoder = learn(ENCODERS["denoising"](mask_weight=0.0, activation="logistic"))
    learn(encoder.set_params(hidden_layer_sizes=8, activation="sigmoid"))
    assert encoder.n_steps_ == 2
    with pytest.raises(ParameterError, match=r"mask_weight must stay 0 .* Got 1\.0"):
        learn(encoder.set_params(mask_weight=1.0))
    linear = learn(ENCODERS["contrastive"](projection_sizes=()))
    assert learn(linear.set_params(activation="tanh")).n_steps_ == 2
