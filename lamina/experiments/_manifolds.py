"""Digits as points: the curve of a turned one, and digits against noise."""

from __future__ import annotations

import numpy as np

from lamina.datasets import rotate_images
from lamina.inspection import (
    curve_geometry,
    distance_concentration,
    gaussian_surrogate,
    principal_components,
    shuffled_surrogate,
)

from ._data import mnist
from ._registry import Values, experiment

_N_IMAGES = 6000
_N_QUERIES = 300


@experiment("digit-rotation-manifold")
def digit_rotation() -> Values:
    """Turn the first digit from -45 to 45 degrees by half degrees, and measure the curve."""
    X, y = mnist("train", _N_IMAGES)
    angles = np.linspace(-45, 45, 181)
    turned = rotate_images(X[0].reshape(28, 28).astype(np.float64), angles)
    found = curve_geometry(turned.reshape(len(angles), -1), X[1:], shares=(0.9, 0.99))
    return {
        "label": int(y[0]),
        "n_angles": found.n_points,
        "step": found.mean_step,
        "nearest_other": found.nearest_other,
        "ends": found.ends,
        "pc90": found.components.counts[0.9],
        "pc99": found.components.counts[0.99],
    }


@experiment("mnist-vs-noise-manifold")
def digits_against_noise() -> Values:
    """Count components and compare nearest with mean distance: digits, Gaussians, shuffled."""
    X, _ = mnist("train", _N_IMAGES)
    sets = {
        "mnist": X,
        "gauss": gaussian_surrogate(X, random_state=6),
        "shuffled": shuffled_surrogate(X, random_state=7),
    }
    values: dict[str, float] = {}
    for name, rows in sets.items():
        values[f"{name}_pc90"] = principal_components(rows, 0.9).counts[0.9]
        near = distance_concentration(rows, rows[:_N_QUERIES])
        values[f"{name}_ratio"] = near.nearest_to_mean
    return values
