"""Whole distributions on the inverse problem: lamina against mixture networks and NGBoost.

``x → t = x - 1.5 tanh 2x + N(0, 0.05²)`` with x uniform on ±2.5, and x is to be predicted from t:
one to three answers. 800 rows to fit and 4,000 to test for each seed. Then quantiles of what was
fitted, exactly and from draws: ``python -m benchmarks.distributions``.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import torch
from torch import nn

from benchmarks._table import aligned, machine, median_seconds
from lamina import MixtureDensityRegressor
from lamina.datasets import make_inverse_problem
from lamina.distributions import NormalMixture

LEVELS = np.arange(1, 10) / 10

Fit = Callable[[np.ndarray, np.ndarray, int], Callable[[np.ndarray], NormalMixture]]
"""Fit (t, x, seed), and return what gives the distributions of rows t."""


def ours(n_members: int, steps: int | None) -> Fit:
    """Return `MixtureDensityRegressor` at its defaults."""

    def fit(t: np.ndarray, x: np.ndarray, seed: int) -> Callable[[np.ndarray], NormalMixture]:
        model = MixtureDensityRegressor(
            n_members=n_members, max_iter=steps or "auto", random_state=seed
        )
        return model.fit(t, x).predict_dist

    return fit


class PlainNetwork(nn.Module):
    """A mixture density network as textbooks write it: 20 tanh units, three components."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 9))

    def forward(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return log weights, means and log scales, each of shape (N, 3)."""
        logits, loc, log_scale = self.body(t).chunk(3, -1)
        return logits.log_softmax(-1), loc, log_scale

    def loss(self, t: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Return the mean negative log-likelihood."""
        log_weights, loc, log_scale = self(t)
        z = (x[:, None] - loc) * (-log_scale).exp()
        terms = log_weights - 0.5 * z**2 - log_scale - 0.5 * math.log(2 * math.pi)
        return -terms.logsumexp(-1).mean()


def plain_torch(steps: int) -> Fit:
    """Return the textbook network, trained by Adam on all rows at once."""

    def fit(t: np.ndarray, x: np.ndarray, seed: int) -> Callable[[np.ndarray], NormalMixture]:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            network = PlainNetwork()
        optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
        rows, targets = torch.tensor(t).float(), torch.tensor(x).float()
        for _ in range(steps):
            optimizer.zero_grad()
            network.loss(rows, targets).backward()
            optimizer.step()

        def predict(t: np.ndarray) -> NormalMixture:
            with torch.no_grad():
                log_weights, loc, log_scale = network(torch.tensor(t).float())
            return NormalMixture(loc.numpy(), log_scale.exp().numpy(), log_weights.numpy())

        return predict

    return fit


def ngboost(trees: int) -> Fit:
    """Return NGBoost with a normal distribution, at its defaults."""
    from ngboost import NGBRegressor

    def fit(t: np.ndarray, x: np.ndarray, seed: int) -> Callable[[np.ndarray], NormalMixture]:
        model = NGBRegressor(n_estimators=trees, random_state=seed, verbose=False).fit(t, x)

        def predict(t: np.ndarray) -> NormalMixture:
            params = model.pred_dist(t).params
            return NormalMixture(params["loc"], params["scale"])

        return predict

    return fit


def scikit_mdn(steps: int) -> Fit:
    """Return scikit-mdn with the units, components and steps of the textbook network."""
    from skmdn import MixtureDensityEstimator

    def fit(t: np.ndarray, x: np.ndarray, seed: int) -> Callable[[np.ndarray], NormalMixture]:
        model = MixtureDensityEstimator(hidden_dim=20, n_gaussians=3, epochs=steps)
        with torch.random.fork_rng():
            torch.manual_seed(seed)  # it has no seed of its own
            model.fit(t, x[:, None])

        def predict(t: np.ndarray) -> NormalMixture:
            weights, loc, scale = model.forward(t)
            return NormalMixture(loc, scale, np.log(np.maximum(weights, 1e-37)))

        return predict

    return fit


def skpro(epochs: int) -> Fit:
    """Return skpro's mixture density network at its defaults."""
    import pandas as pd
    from skpro.regression.mdn import MDNRegressor

    def fit(t: np.ndarray, x: np.ndarray, seed: int) -> Callable[[np.ndarray], NormalMixture]:
        model = MDNRegressor(epochs=epochs, random_state=seed)
        with torch.random.fork_rng():  # it seeds the global generator
            model.fit(pd.DataFrame(t, columns=["t"]), pd.DataFrame(x, columns=["x"]))

        def predict(t: np.ndarray) -> NormalMixture:
            dist = model.predict_proba(pd.DataFrame(t, columns=["t"]))
            log_weights = np.log(np.maximum(dist.pi, 1e-37))
            return NormalMixture(dist.mu[:, :, 0], dist.sigma[:, :, 0], log_weights)

        return predict

    return fit


Figures = tuple[float, float, float, float]
"""Seconds to fit, negative log-likelihood in nats, CRPS, coverage of 90 % intervals."""


def known_fits(steps: int | None) -> dict[str, Fit]:
    """Return what can be fitted here, and say what is missing."""
    fits = {
        "lamina": ours(1, steps),
        "lamina, 5 members": ours(5, steps),
        "plain torch": plain_torch(steps or 2000),
    }
    others = [
        ("skmdn", "scikit-mdn", lambda: scikit_mdn(steps or 2000)),
        ("skpro", "skpro", lambda: skpro(steps or 1000)),
        ("ngboost", "NGBoost", lambda: ngboost(steps or 500)),
    ]
    for module, name, make in others:
        if find_spec(module) is None:
            print(f"{name} is not installed: pip install {name.lower()}")
        else:
            fits[name] = make()
    return fits


def measured(fit: Fit, n_rows: int, n_test: int, seed: int) -> Figures:
    """Return the figures of one fit."""
    t, x = make_inverse_problem(n_rows, inverse=True, random_state=seed)
    t_test, x_test = make_inverse_problem(n_test, inverse=True, random_state=10_000 + seed)
    start = time.perf_counter()
    predict = fit(t, x, seed)
    seconds = time.perf_counter() - start
    dist = predict(t_test)
    low, high = dist.interval(0.9).T
    inside = (low <= x_test) & (x_test <= high)
    nll = -float(dist.log_prob(x_test).mean())
    return seconds, nll, float(dist.crps(x_test).mean()), float(inside.mean())


def truth(n_test: int, seed: int) -> Figures:
    """Return the figures of the conditional distribution that made the data, on a fine grid."""
    t, x = make_inverse_problem(n_test, inverse=True, random_state=10_000 + seed)
    width = 5 / 2000
    grid = -2.5 + width * (np.arange(2000) + 0.5)  # the middles of cells

    def log_density(x: np.ndarray) -> np.ndarray:
        return -0.5 * ((t - x + 1.5 * np.tanh(2 * x)) / 0.05) ** 2

    weights = np.exp(log_density(grid[None]))
    mass = weights.sum(axis=1)
    cdf = (weights.cumsum(axis=1) - 0.5 * weights) / mass[:, None]
    crps = ((cdf - (grid >= x[:, None])) ** 2).sum(axis=1) * width
    nll = np.log(mass * width) - log_density(x[:, None])[:, 0]
    place = [np.interp(value, grid, row) for value, row in zip(x, cdf, strict=True)]
    inside = np.abs(np.array(place) - 0.5) <= 0.45
    return 0.0, float(nll.mean()), float(crps.mean()), float(inside.mean())


def compare(arguments: argparse.Namespace) -> None:
    """Print a row for each way to fit."""
    table = [["", "fit [s]", "NLL", "worst", "CRPS", "in 90 %"]]
    seeds, fits = range(arguments.seeds), known_fits(arguments.steps)
    results: dict[str, list[Figures]] = {name: [] for name in fits}
    for seed in seeds:
        for name, fit in fits.items():
            results[name].append(measured(fit, arguments.rows, arguments.test, seed))
    results["the truth"] = [truth(arguments.test, seed) for seed in seeds]
    for name, figures in results.items():
        seconds, nll, crps, inside = np.array(figures).T
        table.append(
            [
                name,
                f"{np.median(seconds):.2f}",
                f"{nll.mean():.4f}",
                f"{nll.max():.4f}",
                f"{crps.mean():.4f}",
                f"{inside.mean():.3f}",
            ]
        )
    print(f"\nThe inverse problem, {arguments.rows} rows, {arguments.seeds} seeds")
    print(machine())
    print(aligned(table))


def quantiles(arguments: argparse.Namespace) -> None:
    """Print how fast and how exact nine quantiles of each test row are."""
    t, x = make_inverse_problem(arguments.rows, inverse=True, random_state=0)
    t_test, _ = make_inverse_problem(arguments.test, inverse=True, random_state=10_000)
    dist = ours(1, arguments.steps)(t, x, 0)(t_test)
    mixture = torch.distributions.MixtureSameFamily(
        torch.distributions.Categorical(logits=torch.tensor(dist.log_weights)),
        torch.distributions.Normal(torch.tensor(dist.loc), torch.tensor(dist.scale)),
    )
    draws, levels = arguments.draws, torch.tensor(LEVELS)
    ways = {
        "lamina, exact": lambda: dist.quantile(LEVELS),
        f"lamina, {draws} draws": lambda: np.quantile(dist.sample(draws, 0), LEVELS, axis=1).T,
        f"torch, {draws} draws": lambda: (
            torch.quantile(mixture.sample((draws,)), levels, dim=0).numpy().T
        ),
    }
    seconds = median_seconds(ways, repeats=arguments.repeats)
    table = [["", "ms", "quantiles/s", "largest |cdf - q|"]]
    for name, way in ways.items():
        gap = np.abs(dist.cdf(way()) - LEVELS).max()
        rate = len(t_test) * len(LEVELS) / seconds[name]
        table.append([name, f"{seconds[name] * 1e3:.3g}", f"{rate:,.0f}", f"{gap:.1e}"])
    print(f"\nNine quantiles of {len(t_test)} rows")
    print(aligned(table))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=800)
    parser.add_argument("--test", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="epochs or trees; by default each one's own")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    compare(arguments)
    quantiles(arguments)


if __name__ == "__main__":
    main()
