"""The tent map and its compositions, deep with few units and shallow with many."""

from __future__ import annotations

import numpy as np

from lamina._checks import check_flag, check_integer
from lamina.nn import Network

MAX_DEPTH = 40
MAX_SHALLOW = 16


def sawtooth_network(depth: int, *, shallow: bool = False) -> Network:
    r"""Return the L-fold composition of the tent map on [0, 1] as a ReLU network.

    .. math:: g(x) = 2 \max(0, x) - 4 \max(0, x - \tfrac12), \qquad f = g \circ \dots \circ g

    It has :math:`2^L` linear pieces, :math:`2^{L-1}` teeth of height 1, and with two units a
    layer 2L units in all. One hidden layer needs :math:`2^L` of them: a shallow network of M
    units on one input has at most M + 1 pieces, so at least :math:`2^L - 1` units; that is a
    lower bound, reached only with a linear term beside the units, since each slope is
    :math:`\pm 2^L` and each bend :math:`\mp 2^{L+1}`. All weights are powers of two, and the
    values at dyadic points are exact.

    Parameters
    ----------
    depth : int
        The number of compositions L, 1 to 40; 1 to 16 where ``shallow``.
    shallow : bool, default=False
        Whether to return the equal network of one hidden layer.

    Returns
    -------
    Network
        In float64, with one input and one output.

    References
    ----------
    .. [1] M. Telgarsky, Representation benefits of deep feedforward networks, 2015,
       https://arxiv.org/abs/1509.08101

    Examples
    --------
    >>> sawtooth_network(3).sizes, sawtooth_network(3, shallow=True).sizes
    ((1, 2, 2, 2, 1), (1, 8, 1))
    >>> sawtooth_network(3).predict_raw([[0.0], [0.125], [0.25], [1.0]]).ravel().tolist()
    [0.0, 1.0, 0.0, 0.0]
    """
    if check_flag("shallow", shallow):
        return _shallow(check_integer("depth", depth, 1, MAX_SHALLOW))
    depth = check_integer("depth", depth, 1, MAX_DEPTH)
    out = np.array([[2.0, -4.0]])
    biases = np.array([0.0, -0.5])
    first = (np.ones((2, 1)), biases)
    between = (np.repeat(out, 2, axis=0), biases)
    return Network.from_arrays([first, *[between] * (depth - 1), (out, np.zeros(1))])


def _shallow(depth: int) -> Network:
    """Return one hidden layer with a unit for each piece."""
    n = 2**depth
    bends = np.where(np.arange(n) % 2 == 1, -2.0 * n, 2.0 * n)
    bends[0] = n
    hidden = (np.ones((n, 1)), -np.arange(n) / n)
    return Network.from_arrays([hidden, (bends[None], np.zeros(1))])
