"""What the mixture fitted to the inverse problem says: moments, modes, samples, a density map."""

from __future__ import annotations

import numpy as np

from lamina._typing import FloatArray
from lamina.nn import Network

from ._densities import distribution_of
from ._inverse import solutions
from ._mixtures import INVERSE_HEAD, inverse_fit
from ._registry import Values, experiment
from ._training import largest_gap, raw_outputs


@experiment("mdn-predictive")
def mdn_predictive() -> Values:
    """Read mean, deviation, modes, samples and a density map from the fitted mixture.

    The mode is the highest point of the whole density; the mean of the heaviest component is
    listed beside it, since a narrow light component may be higher than a wide heavy one.
    """
    places = np.array([-1.0, -0.4, 0.0, 0.25, 0.5, 1.0])
    network = inverse_fit()[0]
    dist = distribution_of(network, INVERSE_HEAD, places[:, None])
    raw = raw_outputs(network, places[:, None])
    heaviest = raw[:, 3:6].gather(1, raw[:, :3].argmax(1, keepdim=True))[:, 0].numpy()
    modes = [np.sort(row[np.isfinite(row)]) for row in dist.modes().locations]
    exact = [np.array(solutions(t)) for t in places]
    samples = dist.sample(20_000, 6)
    low, high = dist.quantile([1e-8, 1 - 1e-8]).T
    grid = np.linspace(low, high, 20_001, axis=1)
    mass = np.trapezoid(dist.pdf(grid), grid, axis=1)
    inner = range(1, 5)  # outside them the one solution is at an end of the data
    return {
        "t": places,
        "mean": dist.mean(),
        "sd": dist.std(),
        "mode": dist.mode(),
        "heaviest": heaviest,
        "mode_is_not_heaviest": int(np.sum(np.abs(dist.mode() - heaviest) > 0.2)),
        "modes": modes,
        "solutions": exact,
        "solution_off": max(farthest(exact[i], modes[i]) for i in inner),
        "mode_off": max(farthest(dist.mode()[i : i + 1], exact[i]) for i in inner),
        "mass": mass,
        "sample_gap": max(
            largest_gap(samples.mean(1), dist.mean()), largest_gap(samples.std(1), dist.std())
        ),
        "samples_near": [np.mean(_apart(samples[i], exact[i]) < 0.15) for i in inner],
        **_density_map(network),
    }


def _apart(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return the distance of each point to the nearest of the others."""
    return np.asarray(np.abs(points[:, None] - others).min(axis=1))


def farthest(points: FloatArray, others: FloatArray) -> float:
    """Return the largest distance of a point to the nearest of the others."""
    return float(_apart(points, others).max())


def _density_map(network: Network) -> dict[str, object]:
    """Return the density over a grid of heights and places: the data of a heat map."""
    heights, places = np.linspace(-1.2, 1.2, 9), np.linspace(-2.4, 2.4, 17)
    dist = distribution_of(network, INVERSE_HEAD, heights[:, None])
    density = dist.pdf(np.tile(places, (len(heights), 1)))
    return {"map_t": heights, "map_x": places, "map_density": density.round(3)}
