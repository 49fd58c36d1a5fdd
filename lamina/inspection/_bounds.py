r"""How many regions there can be: bounds by widths alone, and arrangements counted exactly.

Depth separation: a function with exponentially many pieces in its depth, such as the sawtooth,
needs exponentially many units in a network of little depth (Telgarsky; Eldan and Shamir; Montúfar
et al.). That is what depth *can* express. Random and trained networks use little of it: their
regions along a line, or in a plane, grow with the number of units whatever the depth (Hanin and
Rolnick).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer, check_sizes, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array

from ._arrays import numbers
from ._axes import axes_or_new
from ._region_exact import to_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class RegionBoundResult:
    """Bounds on the number of activation regions of a network of given sizes.

    Attributes
    ----------
    sizes : tuple of int
        Inputs, hidden layers, outputs.
    upper : int
        No network of these sizes has more regions. One input: the product of (n + 1) over the
        hidden layers, which is (m + 1)**L.
    upper_relu : int
        The sharper bound for ReLU, whose units pass nothing on where they are off.
    shallow : int
        The most that one hidden layer of as many units can have: the regions of N hyperplanes
        in general position, which is N + 1 for one input.
    reached : int
        So many are reached by some ReLU network of these sizes: a lower bound on the maximum.
        Its construction needs layers at least as wide as the inputs; else this is the number
        that the first layer alone reaches.
    """

    sizes: tuple[int, ...]
    upper: int
    upper_relu: int
    shallow: int
    reached: int

    def summary(self) -> str:
        """Return a paragraph that says what each number is."""
        layers = "-".join(str(size) for size in self.sizes)
        n_units = sum(self.sizes[1:-1])
        return (
            f"A {layers} network has at most {_grouped(self.upper)} activation regions, with ReLU "
            f"at most {_grouped(self.upper_relu)}, and some ReLU networks of these sizes have "
            f"{_grouped(self.reached)}.\n"
            f"The same {n_units} units in one hidden layer have at most "
            f"{_grouped(self.shallow)}.\n"
            "These bounds say what depth can do; random and trained networks have far fewer."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the numbers as bars on a logarithmic axis."""
        from ._region_pictures import draw_bounds

        return draw_bounds(self, axes_or_new(ax))


def _grouped(number: int) -> str:
    """Return a whole number with commas, or its size where it has many digits."""
    return f"{number:,}" if number < 10**15 else f"about 10^{len(str(number)) - 1}"


def region_bound(sizes: Any, *, pieces_per_unit: int = 2) -> RegionBoundResult:
    r"""Bound the number of regions of a network by its sizes.

    With :math:`n_l` cuts in hidden layer :math:`l` and :math:`d_l = \min(n_0, \dots, n_{l-1})`

    .. math::

        R \le \prod_{l=1}^{L} \sum_{j=0}^{d_l} \binom{n_l}{j}, \qquad
        R_\text{ReLU} \le \sum_{j_1, \dots, j_L} \prod_{l=1}^{L} \binom{n_l}{j_l}, \quad
        j_l \le \min(n_0, n_1 - j_1, \dots, n_{l-1} - j_{l-1}, n_l).

    One hidden layer in d dimensions gives :math:`\sum_{i \le d} \binom{m}{i}`, which m
    hyperplanes in general position reach: m + 1 pieces for one input. L layers of m units on one
    input give :math:`(m + 1)^L`.

    Parameters
    ----------
    sizes : sequence of int
        Inputs, hidden layers, outputs, as for `lamina.nn.Network`.
    pieces_per_unit : int, default=2
        Linear pieces of the activation: 2 for ReLU and its relatives, abs and step, 3 for hard
        tanh.

    Returns
    -------
    RegionBoundResult
        Exact whole numbers.

    Raises
    ------
    ParameterError
        If there is no hidden layer, or a size is not positive.

    References
    ----------
    .. [1] G. Montúfar, R. Pascanu, K. Cho, Y. Bengio, On the number of linear regions of deep
       neural networks, NeurIPS 2014, https://arxiv.org/abs/1402.1869
    .. [2] M. Raghu, B. Poole, J. Kleinberg, S. Ganguli, J. Sohl-Dickstein, On the expressive
       power of deep neural networks, ICML 2017, https://arxiv.org/abs/1606.05336
    .. [3] T. Serra, C. Tjandraatmadja, S. Ramalingam, Bounding and counting linear regions of
       deep neural networks, ICML 2018, https://arxiv.org/abs/1711.02114
    .. [4] M. Telgarsky, Benefits of depth in neural networks, COLT 2016,
       https://arxiv.org/abs/1602.04485
    .. [5] R. Eldan, O. Shamir, The power of depth for feedforward neural networks, COLT 2016,
       https://arxiv.org/abs/1512.03965

    Examples
    --------
    >>> region_bound((2, 24, 1)).upper, region_bound((2, 12, 12, 1)).upper
    (301, 6241)
    >>> region_bound((1, 4, 4, 4, 1)).upper
    125
    """
    layers = check_sizes("sizes", sizes)
    if len(layers) < 3:
        raise ParameterError(
            f"sizes must hold inputs, at least one hidden layer, and outputs. Got {shown(layers)}."
        )
    cuts = check_integer("pieces_per_unit", pieces_per_unit, 2) - 1
    n_inputs, hidden = layers[0], layers[1:-1]
    narrowest = [min(layers[: i + 1]) for i in range(len(hidden))]
    return RegionBoundResult(
        sizes=layers,
        upper=prod(_cells(n * cuts, d) for n, d in zip(hidden, narrowest, strict=True)),
        upper_relu=_serra(hidden, n_inputs),
        shallow=_cells(sum(hidden) * cuts, n_inputs),
        reached=_folded(hidden, n_inputs),
    )


def _cells(n: int, d: int) -> int:
    """Return the regions of n hyperplanes in general position in d dimensions."""
    return sum(comb(n, i) for i in range(min(n, d) + 1))


def _serra(hidden: tuple[int, ...], n_inputs: int) -> int:
    """Return the sum over all (j_1, …, j_L), by recursion on the dimension that is left."""

    @cache
    def total(layer: int, dimension: int) -> int:
        if layer == len(hidden):
            return 1
        n = hidden[layer]
        terms = (
            comb(n, j) * total(layer + 1, min(dimension, n - j))
            for j in range(min(dimension, n) + 1)
        )
        return int(sum(terms))

    bound: int = total(0, n_inputs)
    return bound


def _folded(hidden: tuple[int, ...], n_inputs: int) -> int:
    """Return the regions of the construction of [1]: each layer folds the inputs."""
    if min(hidden) < n_inputs:
        return _cells(hidden[0], n_inputs)
    folds: int = prod((n // n_inputs) ** n_inputs for n in hidden[:-1])
    return folds * _cells(hidden[-1], n_inputs)


def count_arrangement(W: Any, b: Any) -> int:
    r"""Count the regions that hyperplanes cut a whole space into, in any dimension.

    By deletion and restriction: taking the hyperplane H away joins as many regions as the other
    hyperplanes cut H into,

    .. math:: r(A) = r(A \setminus H) + r(A|_H).

    Arithmetic is in whole numbers, so that parallel, equal and concurrent hyperplanes are
    counted right. In general position the answer is :math:`\sum_{i \le d} \binom{m}{i}`.

    Parameters
    ----------
    W : array-like of shape (m, d)
        Normals: hyperplane i holds the x with W[i] · x + b[i] = 0. Rows of zeros are no
        hyperplanes and are left out.
    b : array-like of shape (m,)
        Offsets.

    Returns
    -------
    int
        The number of regions; those of one hidden layer of ReLUs on all inputs.

    Raises
    ------
    DataError
        If the shapes do not fit.

    Notes
    -----
    It takes about :math:`\binom{m}{d-1}` steps: quick for d = 2 and hundreds of lines, or d = 5
    and 20 hyperplanes.

    References
    ----------
    .. [1] T. Zaslavsky, Facing up to arrangements: face-count formulas for partitions of space by
       hyperplanes, Memoirs of the AMS 154, 1975, https://bookstore.ams.org/memo-1-154

    Examples
    --------
    >>> count_arrangement([[1, 0], [0, 1], [1, 1]], [0, 0, -1])
    7
    >>> count_arrangement([[1, 0], [0, 1], [1, 1]], [0, 0, 0])
    6
    """
    normals, offsets = numbers("W", W), numbers("b", b)
    if normals.ndim != 2 or offsets.shape != normals.shape[:1]:
        raise DataError(
            f"W must have shape (m, d) and b shape (m,). Got {normals.shape} and {offsets.shape}."
        )
    table, _ = to_whole(np.column_stack([normals, offsets]))
    return _count({_primitive(row) for row in table if row[:-1].any()})


def _primitive(row: Array) -> tuple[int, ...]:
    """Return the one multiple of whole numbers that stands for the same hyperplane."""
    divisor = int(np.gcd.reduce(row)) if len(row) else 1
    lead = next(int(part) for part in row if part != 0)
    sign = 1 if lead > 0 else -1
    return tuple(sign * int(part) // abs(divisor) for part in row)


def _count(planes: set[tuple[int, ...]]) -> int:
    """Return the regions of different hyperplanes, each as (normal, offset)."""
    if not planes:
        return 1
    if len(next(iter(planes))) == 2:
        return len(planes) + 1
    total, rest = 1, set(planes)
    while rest:
        plane = rest.pop()
        total += _count(_restricted(rest, plane))
    return total


def _restricted(planes: set[tuple[int, ...]], plane: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Return what the hyperplanes leave on one of them, with one coordinate eliminated."""
    pivot = next(i for i, part in enumerate(plane[:-1]) if part != 0)
    left = set()
    for other in planes:
        row = [
            other[i] * plane[pivot] - other[pivot] * plane[i]
            for i in range(len(plane))
            if i != pivot
        ]
        if any(row[:-1]):
            left.add(_primitive(np.array(row, dtype=object)))
    return left
