"""Change the weights of a network and not its function: order, sign and scale of hidden units."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina._checks import check_flag, shown
from lamina._errors import ParameterError
from lamina._typing import FloatArray, IntArray
from lamina.nn import Network

from ._arrays import numbers
from ._symmetry_group import check_factors, group_of
from ._symmetry_layers import (
    apply_factors,
    apply_matrix,
    apply_order,
    check_layer,
    layers_of,
    network_of,
)


def permute(net: Any, order: Any, *, layer: int = 1) -> Network:
    r"""Put the units of a hidden layer in another order, which changes nothing.

    Rows of :math:`(W^{(l)}, b^{(l)})` and columns of :math:`W^{(l+1)}` move together, for any
    activation; learned slopes travel with their units.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network.
    order : array-like of int of shape (units,)
        New unit k is the old unit ``order[k]``, counted from 0.
    layer : int, default=1
        The hidden layer, counted from 1.

    Returns
    -------
    Network
        A new network of the same function and dtype.

    Raises
    ------
    ParameterError
        If ``order`` does not name each unit once.

    Examples
    --------
    >>> from lamina.inspection import permute
    >>> from lamina.nn import Network
    >>> net = Network((2, 3, 1), "gelu", random_state=0)
    >>> twin = permute(net, [2, 0, 1])
    >>> bool((twin.weights[0][0] == net.weights[0][2]).all())
    True
    """
    layers = layers_of(net)
    i = check_layer(layers, layer)
    apply_order(layers, i, check_order(order, len(layers.biases[i])))
    return network_of(layers)


def check_order(order: Any, n_units: int) -> IntArray:
    """Return an order of units that names each once."""
    indices = np.asarray(order)
    if indices.shape != (n_units,) or sorted(indices.tolist()) != list(range(n_units)):
        raise ParameterError(
            f"order must name each of the {n_units} units once, from 0 to {n_units - 1}. "
            f"Got {shown(indices.tolist())}."
        )
    return indices.astype(np.intp)


def flip_signs(net: Any, units: Any = None, *, layer: int = 1, check: bool = True) -> Network:
    r"""Turn the signs of hidden units around, on both sides of the activation.

    For an odd activation, such as tanh, :math:`f(-a) = -f(a)`, so that :math:`(w, b, v)` and
    :math:`(-w, -b, -v)` are the same unit. A logistic unit has :math:`f(-a) = 1 - f(a)`: what
    goes out turns its sign and v is added to the biases above. An even one keeps v. A parametric
    ReLU of slope s becomes one of slope 1/s, with :math:`-s v` for v.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network.
    units : int or array-like of int of shape (n_flipped,), default=None
        Units to flip, counted from 0. None flips all.
    layer : int, default=1
        The hidden layer, counted from 1.
    check : bool, default=True
        Whether to refuse an activation that a flip does not pass. False turns (w, b, v) around
        all the same and gives another function: `same_function` tells by how much.

    Returns
    -------
    Network
        A new network of the same dtype, with ``check`` of the same function.

    Raises
    ------
    ParameterError
        If there is no such unit, or a flip changes the function, as that of ReLU.

    Examples
    --------
    >>> from lamina.inspection import flip_signs
    >>> from lamina.nn import Network
    >>> net = Network((2, 3, 1), "tanh", random_state=0)
    >>> twin = flip_signs(net, [0, 2])
    >>> bool((twin.predict_raw([1.0, 2.0]) == net.predict_raw([1.0, 2.0])).all())
    True
    """
    layers = layers_of(net)
    i = check_layer(layers, layer)
    factors = np.ones(len(layers.biases[i]))
    factors[_units(units, len(factors))] = -1.0
    checked = check_flag("check", check)
    if checked or group_of(layers.activations[i]).flips:
        check_factors(layers.activations[i], factors, layers.slopes[i])
        apply_factors(layers, i, factors)
    else:
        layers.weights[i] *= factors[:, None]
        layers.biases[i] *= factors
        layers.weights[i + 1] *= factors
    return network_of(layers)


def _units(units: Any, n_units: int) -> IntArray:
    """Return the indices of units, counted from 0."""
    if units is None:
        return np.arange(n_units)
    indices = np.atleast_1d(np.asarray(units))
    whole = indices.dtype.kind in "iu" or not indices.size
    if not whole or indices.ndim != 1 or (indices < 0).any() or (indices >= n_units).any():
        raise ParameterError(
            f"units must be whole numbers from 0 to {n_units - 1}. Got {shown(units)}."
        )
    return indices.astype(np.intp)


def rescale(net: Any, factors: Any, *, layer: int = 1) -> Network:
    r"""Multiply what goes into hidden units and divide what comes out of them.

    For an activation with :math:`f(ca) = c^d f(a)` for every :math:`c > 0`, the units
    :math:`(w, b, v)` and :math:`(c w, c b, v / c^d)` are the same: d is 1 for ReLU, its
    relatives and the absolute value, 0 for a step.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network.
    factors : float or array-like of shape (units,)
        Positive factors c. Powers of two change no bit of the outputs.
    layer : int, default=1
        The hidden layer, counted from 1.

    Returns
    -------
    Network
        A new network of the same function and dtype.

    Raises
    ------
    ParameterError
        If a factor is not positive, or the activation has no scale, such as tanh.

    Examples
    --------
    >>> from lamina.inspection import rescale
    >>> from lamina.nn import Network
    >>> net = Network((2, 3, 1), "relu", random_state=0)
    >>> twin = rescale(net, [2.0, 8.0, 0.25])
    >>> bool((twin.predict_raw([1.0, 2.0]) == net.predict_raw([1.0, 2.0])).all())
    True
    """
    layers = layers_of(net)
    i = check_layer(layers, layer)
    given = numbers("factors", factors)
    n_units = len(layers.biases[i])
    if given.shape not in ((), (n_units,)) or (given <= 0).any():
        raise ParameterError(
            f"factors must be one positive number or {n_units}, one for each unit. "
            f"Got {shown(given.tolist())}. To turn signs, use flip_signs."
        )
    values: FloatArray = np.broadcast_to(given, n_units).copy()
    check_factors(layers.activations[i], values, layers.slopes[i])
    apply_factors(layers, i, values)
    return network_of(layers)


def change_basis(net: Any, matrix: Any, *, layer: int = 1) -> Network:
    r"""Multiply the units of a linear hidden layer by a matrix, and undo it above.

    Without a nonlinearity between them, :math:`W^{(l+1)} M^{-1}` and :math:`M W^{(l)}`,
    :math:`M b^{(l)}` compute the same for every invertible M.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network.
    matrix : array-like of shape (units, units)
        An invertible matrix M.
    layer : int, default=1
        The hidden layer, counted from 1; its activation is the identity.

    Returns
    -------
    Network
        A new network of the same function and dtype.

    Raises
    ------
    ParameterError
        If the layer is not linear or the matrix is singular to rounding.

    Examples
    --------
    >>> from lamina.inspection import change_basis
    >>> from lamina.nn import Network
    >>> net = Network((2, 2, 1), "identity", random_state=0)
    >>> twin = change_basis(net, [[1.0, 3.0], [0.0, 1.0]])
    >>> bool(abs(twin.predict_raw([1.0, 2.0]) - net.predict_raw([1.0, 2.0])).max() < 1e-12)
    True
    """
    layers = layers_of(net)
    i = check_layer(layers, layer)
    M, n_units = numbers("matrix", matrix), len(layers.biases[i])
    if not group_of(layers.activations[i]).linear:
        raise ParameterError(
            f"activation must be 'identity' to change the basis of a layer. "
            f"Got {layers.activations[i].spec!r}."
        )
    if M.shape != (n_units, n_units) or np.linalg.cond(M) > 1e12:
        raise ParameterError(
            f"matrix must be an invertible one of shape ({n_units}, {n_units}). "
            f"Got {'a singular one' if M.shape == (n_units, n_units) else f'shape {M.shape}'}."
        )
    apply_matrix(layers, i, M)
    return network_of(layers)
