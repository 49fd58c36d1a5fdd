"""A robot arm backwards: from the end point to both positions of the elbow."""

from __future__ import annotations

import numpy as np

from lamina._typing import FloatArray
from lamina.datasets import make_robot_arm
from lamina.heads import Mixture, Normal

from ._densities import distribution_of, steady
from ._registry import Values, experiment
from ._training import raw_outputs

_UPPER, _FORE = 1.0, 0.5


def positions(point: FloatArray) -> FloatArray:
    """Return both positions (N, 2, 2) of the joints that reach end points (N, 2).

    By the law of cosines; the elbow bends to the left in the first and to the right in the
    second.
    """
    square = np.sum(point**2, axis=1)
    bend = np.arccos((square - _UPPER**2 - _FORE**2) / (2 * _UPPER * _FORE))
    across = np.arctan2(point[:, 1], point[:, 0])
    lead = np.arctan2(_FORE * np.sin(bend), _UPPER + _FORE * np.cos(bend))
    left, right = np.stack([across - lead, bend], -1), np.stack([across + lead, -bend], -1)
    return np.stack([left, right], axis=1)


def reached(joints: FloatArray) -> FloatArray:
    """Return the end points of joints (..., 2)."""
    shoulder, turned = joints[..., 0], joints.sum(-1)
    return np.stack(
        [
            _UPPER * np.cos(shoulder) + _FORE * np.cos(turned),
            _UPPER * np.sin(shoulder) + _FORE * np.sin(turned),
        ],
        axis=-1,
    )


def _test_points() -> FloatArray:
    """Return end points that both positions of the elbow reach within the joints' ranges."""
    joints, point = make_robot_arm(400, noise=0.0, random_state=7)
    both = positions(point)[:, :, 0]
    inside = ((both > 0.05) & (both < np.pi / 2 - 0.05)).all(axis=1)
    bent = np.abs(joints[:, 1])
    return point[inside & (bent > 0.5) & (bent < 2.3)]


@experiment("robot-arm")
def robot_arm() -> Values:
    """Predict both joints from the end point, by least squares and by a mixture.

    Least squares gives the mean of the two positions, which reaches another point. Each mode
    of the mixture is one position.
    """
    X, joints = make_robot_arm(2000, inverse=True, random_state=6)
    points = _test_points()
    exact = positions(points)
    mixture, line = Mixture(4), Normal()
    network, flat = (steady((32, 32), head, X, joints, seed=6) for head in (mixture, line))
    dist = distribution_of(network, mixture, points)
    found = dist.modes().locations  # (N, K, 2), filled up with NaN
    apart = np.linalg.norm(exact[:, :, None] - found[:, None], axis=-1)
    nearest = np.nanmin(apart, axis=2)  # of both positions, to a mode
    miss = [
        np.linalg.norm(reached(guess) - points, axis=-1)
        for guess in (raw_outputs(flat, points).double().numpy(), dist.mean(), dist.mode())
    ]
    covariance = dist.covariance()
    spread = np.sqrt(np.einsum("nii->ni", covariance))
    return {
        "n_points": len(points),
        "position_off": float(np.median(nearest)),
        "both_found": float((nearest < 0.25).all(axis=1).mean()),
        "miss_least_squares": float(np.median(miss[0])),
        "miss_of_mean": float(np.median(miss[1])),
        "miss_of_mode": float(np.median(miss[2])),
        "correlation": float(np.median(covariance[:, 0, 1] / spread.prod(axis=1))),
        "first_point": points[0],
        "first_positions": exact[0],
        "first_modes": found[0][np.isfinite(found[0, :, 0])],
    }
