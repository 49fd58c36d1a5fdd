"""Points of several classes in the plane and in space."""

from __future__ import annotations

import math

import numpy as np

from lamina._checks import check_integer, check_real
from lamina._typing import FloatArray, IntArray

from ._seeded import Seed, check_noise, generator_of


def make_xor(
    n_per_corner: int = 100, *, noise: float = 0.15, random_state: Seed = None
) -> tuple[FloatArray, IntArray]:
    r"""Make four clusters at the corners of the unit square, labelled by exclusive or.

    .. math:: x = c + \text{noise} \cdot \varepsilon, \qquad y = c_1 \oplus c_2

    No straight line separates the two classes: the best one leaves a corner wrong.

    Parameters
    ----------
    n_per_corner : int, default=100
        Number of points around each corner.
    noise : float, default=0.15
        Standard deviation of both coordinates.
    random_state : int, Generator or None, default=None
        Seed. The coordinates are drawn point by point, corners in the order (0, 0), (0, 1),
        (1, 0), (1, 1).

    Returns
    -------
    X : ndarray of shape (4 * n_per_corner, 2)
    y : ndarray of shape (4 * n_per_corner,)
        0 or 1.

    Examples
    --------
    >>> X, y = make_xor(random_state=189)
    >>> X[0].round(4).tolist(), int(y.sum())
    ([0.1006, 0.0177], 200)
    """
    n_per_corner = check_integer("n_per_corner", n_per_corner, 1)
    rng = generator_of(random_state)
    corners = np.array([(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])
    X = np.repeat(corners, n_per_corner, axis=0)
    X += check_noise(noise) * rng.standard_normal(X.shape)
    return X, np.repeat([0, 1, 1, 0], n_per_corner)


def make_spirals(
    n_per_arm: int = 150, *, n_arms: int = 3, noise: float = 0.2, random_state: Seed = None
) -> tuple[FloatArray, IntArray]:
    r"""Make spiral arms around the origin, one class each.

    Along arm k the radius grows from 0.2 to 1 while the angle runs through 4 radians,

    .. math:: \theta = 2\pi k / K + 4 s + \text{noise} \cdot \varepsilon,
              \qquad r = 0.2 + 0.8 s, \qquad 0 \le s \le 1

    Parameters
    ----------
    n_per_arm : int, default=150
        Number of points on each arm, evenly spaced in s.
    n_arms : int, default=3
        Number of arms K.
    noise : float, default=0.2
        Standard deviation of the angle, in radians.
    random_state : int, Generator or None, default=None
        Seed; the arms are drawn one after another.

    Returns
    -------
    X : ndarray of shape (n_arms * n_per_arm, 2)
    y : ndarray of shape (n_arms * n_per_arm,)
        Number of the arm.

    Examples
    --------
    >>> X, y = make_spirals(random_state=189)
    >>> X.shape, np.bincount(y).tolist()
    ((450, 2), [150, 150, 150])
    """
    n_per_arm = check_integer("n_per_arm", n_per_arm, 1)
    y = np.repeat(np.arange(check_integer("n_arms", n_arms, 1)), n_per_arm)
    along = np.tile(np.linspace(0.0, 1.0, n_per_arm), n_arms)
    jitter = check_noise(noise) * generator_of(random_state).standard_normal(y.size)
    angle = 2 * np.pi * y / n_arms + 4 * along + jitter
    return _polar(0.2 + 0.8 * along, angle), y


def make_two_spirals(
    n_samples: int = 600,
    *,
    noise: float = 0.03,
    turns: float = 1.5,
    random_state: Seed = None,
) -> tuple[FloatArray, IntArray]:
    r"""Make two interleaved spirals, each the other turned by half a revolution.

    .. math:: s = \sqrt{u}, \quad u \sim U(0, 1), \qquad
              \theta = 2\pi \cdot \text{turns} \cdot s + \pi y, \qquad r = 0.05 + 0.95 s

    The root makes the points about equally dense along the arm. Polynomials of degree 1 to 3
    fail on the default spirals; degree 5 separates them.

    Parameters
    ----------
    n_samples : int, default=600
        Number of points, alternating between the classes.
    noise : float, default=0.03
        Standard deviation of both coordinates.
    turns : float, default=1.5
        Revolutions of each arm.
    random_state : int, Generator or None, default=None
        Seed; all places along the arms are drawn before the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        0 or 1.

    Examples
    --------
    >>> X, y = make_two_spirals(600, random_state=0)
    >>> X.shape, int(y.sum())
    ((600, 2), 300)
    """
    rng = generator_of(random_state)
    y = np.arange(check_integer("n_samples", n_samples, 1)) % 2
    turns = check_real("turns", turns, 0.0, open_minimum=True)
    along = np.sqrt(rng.uniform(size=y.size))
    X = _polar(0.05 + 0.95 * along, 2 * np.pi * turns * along + np.pi * y)
    return X + check_noise(noise) * rng.standard_normal(X.shape), y


def make_moons(
    n_samples: int = 400, *, noise: float = 0.2, random_state: Seed = None
) -> tuple[FloatArray, IntArray]:
    r"""Make two half circles that reach into one another.

    .. math:: (\cos t, \sin t) \quad\text{and}\quad (1 - \cos t, \tfrac12 - \sin t),
              \qquad 0 \le t \le \pi

    Parameters
    ----------
    n_samples : int, default=400
        Number of points; class 0 has the smaller half of an odd number.
    noise : float, default=0.2
        Standard deviation of both coordinates.
    random_state : int, Generator or None, default=None
        Seed of the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        0 for the upper half circle, 1 for the lower.

    Examples
    --------
    >>> X, y = make_moons(5, noise=0.0)
    >>> X.round(2).tolist()
    [[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [1.0, -0.5], [2.0, 0.5]]
    """
    n_samples = check_integer("n_samples", n_samples, 2)
    n_upper = n_samples // 2
    upper, lower = np.linspace(0, np.pi, n_upper), np.linspace(0, np.pi, n_samples - n_upper)
    X = np.concatenate(
        [
            np.column_stack([np.cos(upper), np.sin(upper)]),
            np.column_stack([1 - np.cos(lower), 0.5 - np.sin(lower)]),
        ]
    )
    X += check_noise(noise) * generator_of(random_state).standard_normal(X.shape)
    return X, np.repeat([0, 1], [n_upper, n_samples - n_upper])


def make_clouds(
    n_per_class: int = 100,
    *,
    n_classes: int = 2,
    n_features: int = 2,
    separation: float = 3.0,
    noise: float = 1.0,
    random_state: Seed = None,
) -> tuple[FloatArray, IntArray]:
    r"""Make one spherical Gaussian cloud for each class.

    The centres lie on a circle in the plane of the first two features, neighbours
    ``separation`` apart; with one feature they lie on a line.

    .. math:: x = c_y + \text{noise} \cdot \varepsilon

    Parameters
    ----------
    n_per_class : int, default=100
        Number of points in each cloud.
    n_classes : int, default=2
        Number of clouds.
    n_features : int, default=2
        Number of coordinates; those beyond the second hold noise only.
    separation : float, default=3.0
        Distance between neighbouring centres.
    noise : float, default=1.0
        Standard deviation of every coordinate.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_classes * n_per_class, n_features)
    y : ndarray of shape (n_classes * n_per_class,)
        Number of the cloud.

    Examples
    --------
    >>> X, y = make_clouds(50, n_classes=3, n_features=5, random_state=0)
    >>> X.shape, np.bincount(y).tolist()
    ((150, 5), [50, 50, 50])
    """
    n_classes = check_integer("n_classes", n_classes, 1)
    n_features = check_integer("n_features", n_features, 1)
    n_per_class = check_integer("n_per_class", n_per_class, 1)
    separation = check_real("separation", separation, 0.0)
    y = np.repeat(np.arange(n_classes), n_per_class)

    centres = np.zeros((n_classes, n_features))
    if n_features == 1:
        centres[:, 0] = separation * np.arange(n_classes)
    elif n_classes > 1:
        radius = separation / (2 * math.sin(math.pi / n_classes))
        angles = 2 * np.pi * np.arange(n_classes) / n_classes
        centres[:, :2] = _polar(np.full(n_classes, radius), angles)
    spread = generator_of(random_state).standard_normal((y.size, n_features))
    return centres[y] + check_noise(noise) * spread, y


def _polar(radius: FloatArray, angle: FloatArray) -> FloatArray:
    """Return points (N, 2) of the plane from polar coordinates."""
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
