"""Mixture density networks: outputs, gradients, the fit of the inverse problem, other parts."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch

from lamina.datasets import make_inverse_problem
from lamina.heads import Bernoulli, Head, Mixture
from lamina.nn import Network

from ._densities import along_the_way, distribution_of, nll, rms, steady
from ._inverse import least_squares
from ._registry import Values, experiment
from ._training import full_batch, largest_gap, raw_outputs

_STEPS = [0, 400, 800, 1200, 1600, 2000]
INVERSE_HEAD = Mixture(3)


@experiment("mdn-outputs")
def mdn_outputs() -> Values:
    """Count the raw outputs of mixtures of K spherical normals in L dimensions."""
    pairs = [(K, L) for K in range(1, 8) for L in range(1, 6)]
    fits = all(Mixture(K).n_raw(L) == (L + 2) * K for K, L in pairs)
    return {"formula": "(L+2)K" if fits else "another"}


@experiment("mdn-gradients")
def mdn_gradients() -> Values:
    """Write π - γ, γ(μ - t)/σ² and γ(L - |t - μ|²/σ²) out, and compare with autograd.

    Ten points, three components, one and two target dimensions.
    """
    gaps = []
    for n_targets in (1, 2):
        head = Mixture(3, min_scale=0.0)
        generator = torch.Generator().manual_seed(6)
        raw = torch.randn(10, head.n_raw(n_targets), generator=generator).requires_grad_()
        y = torch.randn(10, n_targets, generator=generator)
        (expected,) = torch.autograd.grad(head.error(raw, y).sum(), raw)
        hand, cut = _hand_gradients(raw.detach(), y, 3), [3, 3 + 3 * n_targets]
        auto = np.split(expected.numpy(), cut, axis=1)
        gaps.append([largest_gap(a, b) for a, b in zip(hand, auto, strict=True)])
    return dict(zip(("a_pi", "a_mu", "a_sigma"), np.max(gaps, axis=0), strict=True))


def _hand_gradients(raw: torch.Tensor, y: torch.Tensor, n: int) -> list[torch.Tensor]:
    """Return the gradients on logits, means and log scales by the three formulas."""
    n_targets = y.shape[1]
    weight = raw[:, :n].softmax(1)
    mean = raw[:, n : n + n * n_targets].reshape(-1, n, n_targets)
    variance = (2 * raw[:, -n:]).exp()
    away = mean - y[:, None]
    square = away.square().sum(2)
    joint = weight * (2 * math.pi * variance) ** (-n_targets / 2)
    joint = joint * (-0.5 * square / variance).exp()
    share = joint / joint.sum(1, keepdim=True)  # the responsibilities γ
    pull = (share / variance)[..., None] * away
    return [weight - share, pull.flatten(1), share * (n_targets - square / variance)]


@cache
def inverse_fit() -> tuple[Network, dict[int, Network], Network]:
    """Return the mixture net 1-20-9, what it was at some steps, and the least squares net."""
    T, x = make_inverse_problem(inverse=True, random_state=16)
    member = full_batch((20,), "tanh", INVERSE_HEAD, n_rows=len(T), seed=6, epochs=_STEPS[-1] + 1)
    seen, network = along_the_way(member, T, x, [step + 1 for step in _STEPS])
    return network, seen, least_squares(T, x)


@experiment("mdn-fit")
def mdn_fit() -> Values:
    """Fit a 1-20-9 tanh net with three components, and follow its error."""
    T, x = make_inverse_problem(inverse=True, random_state=16)
    network, seen, line = inverse_fit()
    residual = rms(raw_outputs(line, T).numpy()[:, 0] - x)
    mean = distribution_of(network, INVERSE_HEAD, T).mean()
    share = INVERSE_HEAD.responsibilities(
        raw_outputs(network, T), torch.from_numpy(x[:, None]).float()
    )
    return {
        "step": _STEPS,
        "nll": [nll(net, INVERSE_HEAD, T, x) for net in seen.values()],
        "gaussian_nll": 0.5 * math.log(2 * math.pi * math.e * residual**2),
        "rms_least_squares": residual,
        "rms_of_mean": rms(mean - x),
        "responsibilities_sum": share.sum(1).max().item(),
    }


@experiment("mixture-of-bits")
def mixture_of_bits() -> Values:
    """Predict two bits that are always alike, by a mixture and by independent bits.

    Where both answers are as likely, independent bits cannot tell that 01 and 10 never come.
    """
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, 1000)
    bit = (rng.random(len(x)) < 1 / (1 + np.exp(-4 * x))).astype(float)
    X, Y = x[:, None], np.column_stack([bit, bit])
    heads: dict[str, Head] = {
        "mixture": Mixture(2, component="bernoulli"),
        "independent": Bernoulli(),
    }
    values: dict[str, object] = {}
    for name, head in heads.items():
        network = steady((8,), head, X, Y, seed=6, epochs=500)
        values[f"nll_{name}"] = nll(network, head, X, Y)
        dist = distribution_of(network, head, np.zeros((1, 1)))
        pairs = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
        values[f"pairs_{name}"] = [float(dist.pdf(np.array([pair]))[0]) for pair in pairs]
    entropy = np.logaddexp(0, 4 * x) - 4 * x / (1 + np.exp(-4 * x))
    return values | {"nll_truth": float(entropy.mean())}
