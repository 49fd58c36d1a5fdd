"""Noise of real targets: learnt with the weights, by input, between targets, of another shape."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch.distributions import Laplace
from torch.distributions import Normal as TorchNormal

from lamina._typing import Array, FloatArray
from lamina.datasets import make_inverse_problem
from lamina.heads import FromDistribution, MultivariateNormal, Normal

from ._densities import along_the_way, distribution_of, nll, rms, started, steady
from ._registry import Values, experiment
from ._training import full_batch, largest_gap, raw_outputs


class _LogVariance(FromDistribution):
    """A normal whose second raw output is s = ln σ², the same in every row, from 0."""

    def shared_raw(self, n_targets: int) -> int:
        """Return 1: the noise does not depend on the inputs."""
        return 1

    def start(self, y: Array) -> Array:
        """Return zeros: σ begins at 1."""
        return np.zeros(2)


@experiment("learn-noise-variance")
def learn_noise_variance() -> Values:
    """Learn s = ln σ² with the weights of a 1-16-1 tanh net by the negative log-likelihood."""
    noise, steps = 0.05, [0, 500, 1000, 1500, 2000]
    X, t = make_inverse_problem(noise=noise, random_state=16)
    head = _LogVariance(lambda raw: TorchNormal(raw[..., 0], (0.5 * raw[..., 1]).exp()), 2)
    member = full_batch(
        (16,), "tanh", head, n_rows=len(X), seed=6, epochs=steps[-1] + 1,
        init=started((16,), head, X, t, seed=6),
    )  # fmt: skip
    # step 0 is the first one: what it leaves behind
    seen, network = along_the_way(member, X, t, [step + 1 for step in steps])
    loc, s = raw_outputs(network, X).double().numpy().T
    return {
        "step": steps,
        "nll": [nll(net, head, X, t) for net in seen.values()],
        "sigma": [math.exp(0.5 * raw_outputs(net, X)[0, 1].item()) for net in seen.values()],
        "final_sigma": math.exp(0.5 * s[0]),
        "rms_residual": rms(loc - t),
        "true_noise": noise,
    }


@experiment("variance-of-several-targets")
def variance_of_several_targets() -> Values:
    """Divide the squared residuals of K targets by N·K, and look for the best σ² on a grid.

    At the best σ² a residual costs (1 + ln 2πσ²)/2 nats: the squared error in other units.
    """
    rng = np.random.default_rng(6)
    n_rows, n_targets = 500, 3
    residual = 0.3 * rng.standard_normal((n_rows, n_targets))
    variance = float(np.sum(residual**2)) / (n_rows * n_targets)
    grid = variance * np.linspace(0.9, 1.1, 201)
    cost = 0.5 * np.log(2 * np.pi * grid) + np.mean(residual**2) / (2 * grid)
    scaled = torch.from_numpy(residual / math.sqrt(variance))
    unit = Normal().error(scaled, torch.zeros_like(scaled)).sum().item() / residual.size
    return {
        "variance": variance,
        "best_on_grid": float(grid[np.argmin(cost)]) / variance,
        "gap": abs(unit - 0.5 * (1 + math.log(2 * math.pi))),
    }


def _fan(n_rows: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return a sine whose noise grows with x in [-1, 1], from σ = 0.05 to 0.30."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n_rows)
    y = np.sin(3 * x) + _fan_noise(x) * rng.standard_normal(n_rows)
    return x[:, None], y


def _fan_noise(x: FloatArray) -> FloatArray:
    return np.asarray(0.05 * 6 ** ((x + 1) / 2))


@experiment("heteroscedastic")
def heteroscedastic() -> Values:
    """Give the scale an output of its own, and compare with one scale for all inputs."""
    X, y = _fan(2000, 6)
    X_new, y_new = _fan(4000, 7)
    places = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    left, right = X_new[:, 0] < -0.5, X_new[:, 0] > 0.5
    values: dict[str, object] = {"x": places, "true_sigma": _fan_noise(places)}
    for name, head in (("shared", Normal("shared")), ("per_row", Normal("per_row"))):
        network = steady((16,), head, X, y, seed=6, epochs=600)
        dist = distribution_of(network, head, X_new)
        low, high = dist.interval(0.9).T
        inside = (low <= y_new) & (y_new <= high)
        values |= {
            f"sigma_{name}": distribution_of(network, head, places[:, None]).std(),
            f"nll_{name}": -float(dist.log_prob(y_new).mean()),
            f"coverage_{name}": [float(inside[part].mean()) for part in (left, right)],
        }
    truth = np.log(_fan_noise(X_new[:, 0])).mean() + 0.5 * math.log(2 * math.pi * math.e)
    return values | {"nll_truth": float(truth)}


@experiment("full-noise-covariance")
def full_noise_covariance() -> Values:
    """Learn a covariance of two targets through its Cholesky factor, with the weights."""
    rng = np.random.default_rng(6)
    covariance = np.array([[0.09, 0.06], [0.06, 0.16]])
    x = rng.uniform(-1, 1, 4000)
    curve = np.column_stack([np.sin(3 * x), np.cos(3 * x)])
    Y = curve + rng.standard_normal((len(x), 2)) @ np.linalg.cholesky(covariance).T
    X, first, rest = x[:, None], slice(0, 2000), slice(2000, None)
    errors, learnt = {}, {}
    for name, head in (("full", MultivariateNormal()), ("diagonal", Normal("shared"))):
        network = steady((16,), head, X[first], Y[first], seed=6, epochs=600)
        dist = distribution_of(network, head, X[rest])
        errors[name] = -float(dist.log_prob(Y[rest]).mean())
        learnt[name] = dist.covariance()[0]
        if name == "full":
            residual = Y[first] - head.mean(raw_outputs(network, X[first])).double().numpy()
    return {
        "true": covariance,
        "learnt": learnt["full"],
        "residual": residual.T @ residual / len(residual),
        "gap": largest_gap(learnt["full"], residual.T @ residual / len(residual)),
        "diagonal": np.diag(learnt["diagonal"]),
        "gain": errors["diagonal"] - errors["full"],
        "gain_of_truth": -0.5 * math.log(1 - 0.06**2 / (0.09 * 0.16)),
    }


@experiment("own-distribution")
def own_distribution() -> Values:
    """Write a Laplace distribution in one line, train with it, and compare with a normal."""
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, 4000)
    y = np.sin(3 * x) + rng.laplace(0.0, 0.2, len(x))
    X, first, rest = x[:, None], slice(0, 2000), slice(2000, None)
    own = FromDistribution(lambda raw: Laplace(raw[..., 0], raw[..., 1].exp()), 2, "laplace")
    networks = {
        head: steady((16,), head, X[first], y[first], seed=6, epochs=600)
        for head in (own, Normal("per_row"))
    }
    own_nll, normal_nll = (nll(net, head, X[rest], y[rest]) for head, net in networks.items())
    scale = raw_outputs(networks[own], X[rest])[:, 1].exp()
    return {
        "scale": scale.double().mean().item(),
        "true_scale": 0.2,
        "nll": own_nll,
        "nll_truth": 1 + math.log(2 * 0.2),
        "nll_normal": normal_nll,
    }
