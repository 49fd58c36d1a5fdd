"""Finer pixels add numbers to an image, and no way for it to change."""

from __future__ import annotations

import warnings

import numpy as np

from lamina._typing import FloatArray
from lamina.inspection import gaussian_surrogate, principal_components, two_nn

from ._registry import Values, experiment

_SIDES = (8, 16, 32)
_N_IMAGES = 1000
_BLOBS = ((-0.35, -0.2, 0.22, 1.0), (0.3, -0.25, 0.16, 0.7), (0.05, 0.4, 0.28, 0.9))
"""Centre x, y, width and height of each blob of the figure, in half frames."""


@experiment("resolution-adds-no-dimension")
def resolution() -> Values:
    """Draw a turned, a shifted, and a turned and shifted figure at three resolutions."""
    rng = np.random.default_rng(6)
    angle = rng.uniform(-np.pi / 4, np.pi / 4, _N_IMAGES)
    shift = rng.uniform(-0.25, 0.25, (_N_IMAGES, 2))
    families = {
        "turned": (angle, np.zeros_like(shift)),
        "shifted": (np.zeros_like(angle), shift),
        "both": (angle, shift),
    }
    values: dict[str, object] = {"pixels": [side * side for side in _SIDES]}
    with warnings.catch_warnings():
        # The noise has far more than ten dimensions, of which TwoNN warns.
        warnings.simplefilter("ignore", UserWarning)
        for name, (turns, shifts) in families.items():
            rows = [_drawn(side, turns, shifts) for side in _SIDES]
            values[f"{name}_dimension"] = [two_nn(r).dimension for r in rows]
            values[f"{name}_pc99"] = [principal_components(r, 0.99).counts[0.99] for r in rows]
        noise = [gaussian_surrogate(r, random_state=7) for r in rows]
        values["noise_dimension"] = [two_nn(r).dimension for r in noise]
    return values


def _drawn(side: int, turns: FloatArray, shifts: FloatArray) -> FloatArray:
    """Return images (N, side²) of the figure, each pixel the exact value at its middle."""
    middles = (np.arange(side) + 0.5) / side * 2 - 1
    x, y = (axis.ravel()[None] for axis in np.meshgrid(middles, middles))
    x, y = x - shifts[:, :1], y - shifts[:, 1:]
    cosine, sine = np.cos(turns)[:, None], np.sin(turns)[:, None]
    x, y = cosine * x + sine * y, cosine * y - sine * x
    images: FloatArray = np.zeros_like(x)
    for left, low, width, height in _BLOBS:
        images += height * np.exp(-0.5 * ((x - left) ** 2 + (y - low) ** 2) / width**2)
    return images
