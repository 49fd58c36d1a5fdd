"""A robot arm with two joints: one end point forwards, two elbow positions backwards."""

from __future__ import annotations

import math

import numpy as np

from lamina._checks import check_integer, check_real, shown
from lamina._errors import ParameterError
from lamina._typing import FloatArray

from ._seeded import Seed, check_noise, generator_of


def make_robot_arm(
    n_samples: int = 1000,
    *,
    noise: float = 0.01,
    inverse: bool = False,
    lengths: tuple[float, float] = (1.0, 0.5),
    max_elbow: float = 2.5,
    random_state: Seed = None,
) -> tuple[FloatArray, FloatArray]:
    r"""Make positions of an arm with two joints in the plane, and the points it reaches.

    With the shoulder's angle :math:`\theta_1 \sim U(0, \pi/2)` from the horizontal and the
    elbow's angle :math:`\theta_2 \sim U(-\text{max\_elbow}, \text{max\_elbow})` from the
    direction of the upper arm, the end point is

    .. math:: \begin{pmatrix} p_1 \\ p_2 \end{pmatrix}
              = l_1 \begin{pmatrix} \cos\theta_1 \\ \sin\theta_1 \end{pmatrix}
              + l_2 \begin{pmatrix} \cos(\theta_1 + \theta_2) \\ \sin(\theta_1 + \theta_2)
              \end{pmatrix} + \text{noise} \cdot \varepsilon

    Forwards there is one answer. Backwards there are up to two, the elbow to the right or to
    the left of the line from shoulder to end point, and their mean reaches another point. Such
    are most inverse problems: many causes have one effect, as many bodies have one shadow.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of positions.
    noise : float, default=0.01
        Standard deviation of both coordinates of the end point.
    inverse : bool, default=False
        Whether to swap input and target: predict the joints from the end point.
    lengths : tuple of float, default=(1.0, 0.5)
        Lengths l₁ and l₂ of upper arm and forearm, above 0.
    max_elbow : float, default=2.5
        Largest bend of the elbow to either side, in radians, above 0 and at most π.
    random_state : int, Generator or None, default=None
        Seed; all shoulders are drawn first, then all elbows, then the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Angles θ₁ and θ₂ in radians; with ``inverse=True`` the end points.
    y : ndarray of shape (n_samples, 2)
        End points; with ``inverse=True`` the angles.

    Raises
    ------
    ParameterError
        If a parameter is outside what is allowed.

    References
    ----------
    .. [1] C. M. Bishop, Mixture density networks, 1994, section 5,
       https://publications.aston.ac.uk/id/eprint/373/

    Examples
    --------
    >>> import numpy as np
    >>> joints, point = make_robot_arm(noise=0.0, random_state=0)
    >>> upper, fore = joints[:, 0], joints.sum(axis=1)
    >>> bool(np.allclose(point[:, 0], np.cos(upper) + 0.5 * np.cos(fore)))
    True
    """
    rng, n_samples = generator_of(random_state), check_integer("n_samples", n_samples, 1)
    upper, fore = _lengths(lengths)
    bend = check_real("max_elbow", max_elbow, 0.0, math.pi, open_minimum=True)
    shoulder = rng.uniform(0.0, math.pi / 2, n_samples)
    joints = np.column_stack([shoulder, rng.uniform(-bend, bend, n_samples)])
    turned = joints.sum(axis=1)
    point = upper * np.column_stack([np.cos(shoulder), np.sin(shoulder)])
    point += fore * np.column_stack([np.cos(turned), np.sin(turned)])
    point += check_noise(noise) * rng.standard_normal(point.shape)
    return (point, joints) if inverse else (joints, point)


def _lengths(lengths: tuple[float, float]) -> tuple[float, float]:
    """Return the two lengths, each above 0."""
    if not isinstance(lengths, (tuple, list)) or len(lengths) != 2:
        raise ParameterError(
            f"lengths must be two numbers, of upper arm and forearm. Got {shown(lengths)}."
        )
    upper, fore = (check_real(f"lengths[{i}]", lengths[i], 0.0, open_minimum=True) for i in (0, 1))
    return upper, fore
