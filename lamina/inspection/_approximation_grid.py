r"""The interpolating ReLU network in several dimensions, on a grid cut into simplices.

Every cell of a grid is cut into D! simplices, one for each order of its coordinates (Kuhn). The
hat at a grid point is 1 there, 0 at all others and affine on each simplex; with
:math:`t = (x - p) / h` in units of the cells it is

.. math:: \phi_p(x) = \max(0,\; 1 - \max(0, t_1, \dots, t_D) - \max(0, -t_1, \dots, -t_D))

Maxima are ReLUs: :math:`\max(a, b) = a + \max(0, b - a)`, with :math:`a = \max(0, a)` where a is
not negative. Pairs are taken layer by layer, so that the depth grows like log2 D.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from lamina._checks import check_integer, check_real
from lamina._errors import ParameterError
from lamina._typing import FloatArray
from lamina.nn import Network

from ._approximation_arrays import Function, check_interval, values_of
from ._approximation_interpolant import InterpolantResult, interpolant

_MOST_WEIGHTS = 30_000_000


def relu_grid_interpolant(
    function: Function,
    n_features: int,
    n_cells: int,
    interval: tuple[float, float] = (0.0, 1.0),
    *,
    max_curvature: float | None = None,
    n_points: int = 20_000,
) -> InterpolantResult:
    r"""Write down a ReLU network through the values of a function on a grid in D dimensions.

    The network is affine on each of the D! simplices of a cell (Kuhn's cut) and, with cells of
    side h and the Hessian H of the function in the spectral norm,

    .. math:: |f - g| \le \frac{D h^2}{8} \max \lVert H \rVert,

    since a simplex lies in the ball of radius :math:`\sqrt D h / 2` around its long diagonal
    [1]_. One dimension gives the law of `relu_interpolant`. The grid has
    :math:`(n + 1)^D` points: in many dimensions no grid is affordable.

    Parameters
    ----------
    function : callable
        The function g, of an array of shape (N, D); of shape (N,) where D is 1.
    n_features : int
        Dimension D.
    n_cells : int
        Cells n along each axis.
    interval : (float, float), default=(0.0, 1.0)
        Interval of each coordinate.
    max_curvature : float, default=None
        The largest spectral norm of the Hessian, for the bound.
    n_points : int, default=20000
        Points drawn at random, always the same ones, at which the error is looked for.

    Returns
    -------
    InterpolantResult

    Raises
    ------
    ParameterError
        If the network would have more than 30 million weights.

    References
    ----------
    .. [1] S. Waldron, The error in linear interpolation at the vertices of a simplex,
       SIAM J. Numer. Anal. 1998, https://doi.org/10.1137/S0036142996313154

    Examples
    --------
    >>> from lamina.inspection import relu_grid_interpolant
    >>> result = relu_grid_interpolant(lambda X: X[:, 0] * X[:, 1], 2, 4, max_curvature=1.0)
    >>> result.exact_at_knots, result.max_error <= result.bound
    (True, True)
    """
    D = check_integer("n_features", n_features, 1)
    n = check_integer("n_cells", n_cells, 1)
    low, high = check_interval("interval", interval)
    n_weights = _n_weights(D, n)
    if n_weights > _MOST_WEIGHTS:
        raise ParameterError(
            f"n_cells and n_features must need at most {_MOST_WEIGHTS:,} weights. Got {n} cells "
            f"along each of {D} axes: {n_weights:,}. Take fewer cells."
        )
    line = np.linspace(low, high, n + 1)
    places = np.array(list(itertools.product(range(n + 1), repeat=D)))  # (P, D)
    knots = line[places]
    values = values_of(function, knots[:, 0] if D == 1 else knots)
    network = _hats(line, places, values)
    bound = None
    if max_curvature is not None:
        curvature = check_real("max_curvature", max_curvature, 0.0)
        bound = curvature * D * ((high - low) / n) ** 2 / 8
    rng = np.random.default_rng(0)
    points = rng.uniform(low, high, (check_integer("n_points", n_points, 1), D))
    middles = knots[(places < n).all(axis=1)] + (high - low) / n / 2
    return interpolant(network, knots, values, np.concatenate([points, middles]), function, bound)


def _n_weights(D: int, n: int) -> int:
    """Return about how many weights the widest matrices have."""
    n_knots: int = (n + 1) ** D
    first = 2 * D * (n + 1)
    if D == 1:
        return n_knots * first
    widest = 2 * n_knots * D
    return widest * first + (widest * widest if D > 2 else 0)


def _hats(line: FloatArray, places: FloatArray, values: FloatArray) -> Network:
    """Return the network whose last hidden layer are the hats of all grid points."""
    n_knots, D = places.shape
    step, n_lines = line[1] - line[0], len(line)
    # First layer: max(0, ±t) for each axis and each line of the grid, shared by all points.
    W = np.zeros((2, D, n_lines, D))
    for axis in range(D):
        W[0, axis, :, axis], W[1, axis, :, axis] = 1 / step, -1 / step
    b = np.broadcast_to(line / step, (D, n_lines))
    layers: list[tuple[FloatArray, FloatArray]] = [(W.reshape(-1, D), np.stack([-b, b]).ravel())]

    # What each point still has to take the maximum of, as rows over the units of the layer.
    units = np.arange(2 * D * n_lines).reshape(2, D, n_lines)
    terms = units[:, np.arange(D)[:, None], places.T].reshape(2, D, n_knots)
    rows: FloatArray = np.eye(2 * D * n_lines)[terms]  # (2, terms, P, units)
    while rows.shape[1] > 1:
        layer, rows = _pairwise_maximum(rows)
        layers.append((layer, np.zeros(len(layer))))
    layers.append((-(rows[0, 0] + rows[1, 0]), np.ones(n_knots)))
    layers.append((values[None], np.zeros(1)))
    return Network.from_arrays(layers, "relu")


def _pairwise_maximum(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights of a layer of maxima of pairs, and its outcomes as rows over it."""
    n_pairs = rows.shape[1] // 2
    first, second = rows[:, : 2 * n_pairs : 2], rows[:, 1 : 2 * n_pairs : 2]
    blocks = [first, second - first, rows[:, 2 * n_pairs :]]  # the last is 0 or 1 term left over
    layer = np.concatenate(blocks, axis=1)
    n_units = math.prod(layer.shape[:3])
    unit = np.eye(n_units).reshape(*layer.shape[:3], n_units)
    outcome = np.concatenate(
        [unit[:, :n_pairs] + unit[:, n_pairs : 2 * n_pairs], unit[:, 2 * n_pairs :]], axis=1
    )
    return layer.reshape(n_units, -1), outcome
