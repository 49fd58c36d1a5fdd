"""Networks wired by hand: logic from step neurons, and XOR from two of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lamina._checks import check_integer, shown
from lamina._errors import DataError
from lamina._typing import Array, FloatArray

from ._arrays import numeric_array
from ._network import Network
from ._smooth import Sigmoid

if TYPE_CHECKING:
    import pandas as pd

MAX_POINTS = 16


def step_neuron(weights: Sequence[float], bias: float) -> Network:
    r"""Return one neuron that fires, with output 1, where its input is on one side of a line.

    .. math:: y = [\, w^\top x + b > 0 \,]

    Parameters
    ----------
    weights : sequence of D floats
        The weights :math:`w`.
    bias : float
        The bias :math:`b`.

    Returns
    -------
    Network
        With sizes (D, 1) and a step as output activation.

    Examples
    --------
    >>> step_neuron([1, 1], -1.5).predict_raw([[0, 1], [1, 1]]).ravel().tolist()
    [0.0, 1.0]
    """
    return Network.from_arrays(
        [(np.array([weights], dtype=float), np.array([bias], dtype=float))],
        output_activation="step",
    )


def and_neuron(n_inputs: int = 2) -> Network:
    """Return the neuron that fires only where all inputs are 1.

    Parameters
    ----------
    n_inputs : int, default=2
        Number of inputs. All weights are 1 and the bias is ½ − ``n_inputs``.

    Returns
    -------
    Network
        One step neuron.

    Examples
    --------
    >>> print(truth_table(and_neuron()).to_string(index=False))
    x1 x2 y1
     0  0  0
     0  1  0
     1  0  0
     1  1  1
    """
    n_inputs = check_integer("n_inputs", n_inputs, 1)
    return step_neuron([1.0] * n_inputs, 0.5 - n_inputs)


def or_neuron(n_inputs: int = 2) -> Network:
    """Return the neuron that fires where any input is 1.

    Parameters
    ----------
    n_inputs : int, default=2
        Number of inputs. All weights are 1 and the bias is −½.

    Returns
    -------
    Network
        One step neuron.

    Examples
    --------
    >>> truth_table(or_neuron())["y1"].tolist()
    [0, 1, 1, 1]
    """
    n_inputs = check_integer("n_inputs", n_inputs, 1)
    return step_neuron([1.0] * n_inputs, -0.5)


def xor_network(steepness: float | None = None) -> Network:
    r"""Return the network of two hidden units and nine parameters that computes XOR.

    .. math::

        z_1 = s(x_1 - x_2 - \tfrac12), \qquad z_2 = s(x_2 - x_1 - \tfrac12), \qquad
        y = s(z_1 + z_2 - \tfrac12)

    Hidden unit 1 is "x1 and not x2", unit 2 is "x2 and not x1", and the output is their OR. No
    line separates the two classes in the plane of inputs (:func:`best_neuron`); in the plane
    of :math:`z_1, z_2` the line :math:`z_1 + z_2 = \tfrac12` does. With a step every point
    lands on one of three places there; a steep sigmoid spreads them out enough to be seen.

    Parameters
    ----------
    steepness : float, optional
        Replaces the step :math:`s` by the sigmoid :math:`\sigma(\text{steepness} \cdot a)`.

    Returns
    -------
    Network
        With sizes (2, 2, 1).

    Examples
    --------
    >>> print(truth_table(xor_network()).to_string(index=False))
    x1 x2 z1 z2 y1
     0  0  0  0  0
     0  1  0  1  1
     1  0  1  0  1
     1  1  0  0  0
    >>> xor_network(steepness=5).hidden([0, 1])[0].round(3).tolist()
    [0.001, 0.924]
    """
    unit = "step" if steepness is None else Sigmoid(steepness)
    return Network.from_arrays(
        [([[1.0, -1.0], [-1.0, 1.0]], [-0.5, -0.5]), ([[1.0, 1.0]], [-0.5])],
        unit,
        output_activation=unit,
    )


def truth_table(network: Network) -> pd.DataFrame:
    """Return what every unit of a small network gives for every combination of 0 and 1.

    Parameters
    ----------
    network : Network
        A network of at most 16 inputs.

    Returns
    -------
    DataFrame
        A row for each combination; columns ``x1…`` for inputs, ``z1…`` for hidden units in
        their order through the layers, and ``y1…`` for outputs. Whole numbers where all
        values are.

    Raises
    ------
    DataError
        If the table would have more than 65,536 rows.

    Examples
    --------
    >>> truth_table(xor_network())["y1"].tolist()
    [0, 1, 1, 0]
    """
    n_inputs = network.sizes[0]
    if n_inputs > MAX_POINTS:
        raise DataError(f"network must have at most {MAX_POINTS} inputs. Got {n_inputs}.")
    X = np.array(list(itertools.product([0.0, 1.0], repeat=n_inputs)))
    hidden = np.hstack([np.empty((len(X), 0)), *network.hidden(X)])
    columns = {"x": X, "z": hidden, "y": network.predict_raw(X)}
    import pandas as pd

    table = pd.DataFrame(
        {f"{letter}{i + 1}": v[:, i] for letter, v in columns.items() for i in range(v.shape[1])}
    )
    whole = bool((table == table.round()).all(axis=None))
    return table.astype(int) if whole else table


def best_neuron(X: Array, y: Array) -> Network:
    r"""Return the step neuron that gets the most of a few points right.

    Searches the sets of points from the largest down for one that a line can separate, by
    linear programming: is there :math:`w, b` with :math:`\pm(w^\top x_n + b) \ge 1` for every
    point of the set? For the four corners of XOR the answer is three: no line does better than
    an accuracy of .75, and logistic regression, which weighs all four alike, stays at
    probability ½ and cross-entropy :math:`\ln 2`.

    Parameters
    ----------
    X : array of shape (N, D)
        At most 16 points.
    y : array of shape (N,)
        Their labels, 0 or 1.

    Returns
    -------
    Network
        One step neuron.

    Raises
    ------
    DataError
        If there are too many points, or labels other than 0 and 1.

    Examples
    --------
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> y = np.array([0, 1, 1, 0])
    >>> float(np.mean(best_neuron(X, y).predict_raw(X).ravel() == y))
    0.75
    """
    X = numeric_array("X", X).astype(np.float64)
    y = numeric_array("y", y)
    if X.ndim != 2 or not 1 <= len(X) <= MAX_POINTS:
        raise DataError(f"X must have shape (N, D) with N from 1 to 16. Got shape {X.shape}.")
    if not np.isfinite(X).all():
        raise DataError(f"X must be finite. Got {shown(X)}.")
    if y.shape != (len(X),) or not np.isin(y, (0, 1)).all():
        raise DataError(f"y must have {len(X)} labels, each 0 or 1. Got {shown(y)}.")
    # w and b of each signed row: s (w·x + b) >= 1
    rows = np.where(y == 1, 1.0, -1.0)[:, None] * np.column_stack([X, np.ones(len(X))])
    sets = (
        list(chosen)
        for size in range(len(rows), 0, -1)
        for chosen in itertools.combinations(range(len(rows)), size)
    )
    # A set of one point can always be separated, so that the search ends.
    *weights, bias = next(found for chosen in sets if (found := _separation(rows[chosen])))
    return step_neuron(weights, bias)


def _separation(rows: FloatArray) -> list[float] | None:
    """Return w and b with ``rows @ (w, b) >= 1``, or ``None`` if there are none."""
    # Imported here: it takes as long as the rest of the room, and only this function needs it.
    from scipy.optimize import linprog

    found = linprog(
        np.zeros(rows.shape[1]), A_ub=-rows, b_ub=-np.ones(len(rows)), bounds=(None, None)
    )
    return None if found.x is None else np.asarray(found.x).tolist()
