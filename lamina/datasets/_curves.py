"""Real targets of one input: a noisy sine, three targets to approximate, an inverse problem."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lamina._checks import check_choice, check_integer, check_real
from lamina._errors import ParameterError
from lamina._typing import FloatArray

from ._seeded import Seed, check_noise, generator_of


def make_sine(
    n_samples: int = 200,
    *,
    noise: float = 0.2,
    low: float = -3.0,
    high: float = 3.0,
    random_state: Seed = None,
) -> tuple[FloatArray, FloatArray]:
    r"""Make a sine of double frequency with noise, at random places in rising order.

    .. math:: y = \sin 2x + \text{noise} \cdot \varepsilon,
              \qquad x \sim U(\text{low}, \text{high})

    Parameters
    ----------
    n_samples : int, default=200
        Number of points.
    noise : float, default=0.2
        Standard deviation of ``y`` around the sine.
    low, high : float, default=-3.0 and 3.0
        Interval of ``x``.
    random_state : int, Generator or None, default=None
        Seed; all of ``x`` is drawn before the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> X, y = make_sine(200, noise=0.0, random_state=189)
    >>> bool(np.allclose(y, np.sin(2 * X[:, 0])))
    True
    """
    rng, n_samples = generator_of(random_state), check_integer("n_samples", n_samples, 1)
    low, high = _interval(low, high)
    x = np.sort(rng.uniform(low, high, n_samples))
    return x[:, None], np.sin(2 * x) + check_noise(noise) * rng.standard_normal(n_samples)


def _smooth(x: FloatArray) -> FloatArray:
    return np.asarray(np.sin(2.5 * np.pi * x))


def _kink(x: FloatArray) -> FloatArray:
    return np.asarray(np.abs(x) - 0.5)


def _step(x: FloatArray) -> FloatArray:
    return np.where(x > 0.2, 0.5, -0.5)


TARGETS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "smooth": _smooth,
    "kink": _kink,
    "step": _step,
}
"""Functions on [-1, 1]: sin(2.5πx), abs(x) - 1/2, and a step from -1/2 to 1/2 at 0.2."""


def make_approximation(
    target: str | Callable[[FloatArray], FloatArray] = "smooth",
    n_samples: int = 200,
    *,
    noise: float = 0.0,
    low: float = -1.0,
    high: float = 1.0,
    random_state: Seed = None,
) -> tuple[FloatArray, FloatArray]:
    r"""Make values of a function on an even grid, to be approximated.

    .. math:: y = g(x) + \text{noise} \cdot \varepsilon

    Parameters
    ----------
    target : {"smooth", "kink", "step"} or callable, default="smooth"
        A name from `TARGETS`, or a function of an array.
    n_samples : int, default=200
        Number of grid points, both ends included.
    noise : float, default=0.0
        Standard deviation of ``y`` around the function.
    low, high : float, default=-1.0 and 1.0
        Interval of ``x``.
    random_state : int, Generator or None, default=None
        Seed of the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> X, y = make_approximation("kink", 5)
    >>> y.tolist()
    [0.5, 0.0, -0.5, 0.0, 0.5]
    """
    n_samples = check_integer("n_samples", n_samples, 1)
    function = target if callable(target) else TARGETS[check_choice("target", target, TARGETS)]
    x = np.linspace(*_interval(low, high), n_samples)
    jitter = check_noise(noise) * generator_of(random_state).standard_normal(n_samples)
    return x[:, None], function(x) + jitter


def make_inverse_problem(
    n_samples: int = 800,
    *,
    noise: float = 0.05,
    inverse: bool = False,
    low: float = -2.5,
    high: float = 2.5,
    random_state: Seed = None,
) -> tuple[FloatArray, FloatArray]:
    r"""Make a problem that has one answer forwards and up to three backwards.

    .. math:: t = x - 1.5 \tanh 2x + \text{noise} \cdot \varepsilon,
              \qquad x \sim U(\text{low}, \text{high})

    The curve turns at x = ±0.5731, where t = ∓0.6516; between these heights three x belong to
    one t, so the mean of x given t lies where no data are.

    Parameters
    ----------
    n_samples : int, default=800
        Number of points.
    noise : float, default=0.05
        Standard deviation of ``t``.
    inverse : bool, default=False
        Whether to swap input and target: predict x from t.
    low, high : float, default=-2.5 and 2.5
        Interval of ``x``.
    random_state : int, Generator or None, default=None
        Seed; all of ``x`` is drawn before the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> X, y = make_inverse_problem(random_state=16)
    >>> T, x = make_inverse_problem(inverse=True, random_state=16)
    >>> bool((T[:, 0] == y).all() and (x == X[:, 0]).all())
    True
    """
    rng, n_samples = generator_of(random_state), check_integer("n_samples", n_samples, 1)
    x = rng.uniform(*_interval(low, high), n_samples)
    t = x - 1.5 * np.tanh(2 * x) + check_noise(noise) * rng.standard_normal(n_samples)
    return (t[:, None], x) if inverse else (x[:, None], t)


def _interval(low: float, high: float) -> tuple[float, float]:
    low, high = check_real("low", low), check_real("high", high)
    if low >= high:
        raise ParameterError(f"high must be greater than low. Got {low} and {high}.")
    return low, high
