"""How fast the outputs of a network can change: bounds from above and below, and on a slice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lamina._checks import check_integer
from lamina._errors import ParameterError
from lamina._typing import FloatArray
from lamina.nn import Network

from ._as_network import as_network
from ._line import certainty
from ._line_walk import Unit
from ._lipschitz_slice import largest_on_slice
from ._units_blocks import Block, blocks, data_matrix
from ._units_slopes import largest_slopes

_ROUNDING = 1e-12
"""What is added to the upper bound, so that rounding cannot put it below the truth."""


@dataclass(frozen=True, eq=False)
class LipschitzResult:
    r"""How fast the outputs of a network can change, in Euclidean norms.

    Attributes
    ----------
    upper : float
        A bound from above that holds everywhere: the product of `factors`.
    factors : tuple of float
        :math:`\lVert D^{(l)} W^{(l)} \rVert_2` of each layer, D the largest slopes of its units.
    lower : float or None
        A bound from below: the largest norm of a Jacobian found, at `lower_at`.
    lower_at : ndarray of shape (n_features,) or None
        The point.
    n_points : int
        Points that were looked at.
    on_slice : float or None
        The exact largest rate of change between two points of the slice that was handed in,
        but for rounding; along the slice only, so that it is a bound from below elsewhere.
    slice : str
        What kind of slice: "line", "plane" or nothing.
    certain : bool
        Whether `on_slice` rests on regions that are certain. If not, rounding may have hidden a
        region, and the rate with it: `on_slice` is then a bound from below even on the slice.
    doubtful : tuple of (layer, unit)
        The units that make the regions uncertain; layers from 1, units from 0.
    """

    upper: float
    factors: tuple[float, ...]
    lower: float | None
    lower_at: FloatArray | None
    n_points: int
    on_slice: float | None
    slice: str
    certain: bool = True
    doubtful: tuple[Unit, ...] = ()

    @property
    def gap(self) -> float:
        """The upper bound over the largest rate found; NaN without one that is finite."""
        found = max(self.lower or 0.0, self.on_slice or 0.0)
        return self.upper / found if found and np.isfinite(self.upper) else float("nan")

    def summary(self) -> str:
        """Return each number with what it is a bound of."""
        factors = " × ".join(f"{factor:.4g}" for factor in self.factors)
        lines = [f"upper bound, holds everywhere: {self.upper:.6g} = {factors}"]
        if self.lower is not None:
            lines.append(
                f"lower bound, largest Jacobian norm at {self.n_points} points: {self.lower:.6g}"
            )
        if self.on_slice is not None:
            kind = "exact" if self.certain else "lower bound"
            lines.append(f"{kind} on the {self.slice} alone: {self.on_slice:.6g}")
            if not self.certain:
                lines.append(certainty(self.certain, self.doubtful))
        if not np.isnan(self.gap):
            lines.append(f"the upper bound is at most {self.gap:.4g} times the true constant")
        return "\n".join(lines)


def lipschitz(
    net: Any, X: Any = None, *, regions: Any = None, max_points: int = 200
) -> LipschitzResult:
    r"""Bound the Lipschitz constant of a network from above and below.

    The constant is the smallest c with :math:`\lVert f(x) - f(x')\rVert \le
    c\,\lVert x - x'\rVert` for all inputs. From above, with the largest slope :math:`s_l` of
    each activation,

    .. math:: c \le \prod_{l=1}^{L} s_l\,\lVert W^{(l)} \rVert_2

    which is often far too large [1]_; from below the norm of any Jacobian. The two are labelled,
    and neither stands for the constant itself. On a line or in a plane whose linear regions are
    known, the largest norm of their affine maps is exact, as far as the regions are certain.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network.
    X : array-like of shape (n_samples, n_features), default=None
        Points for the lower bound. One on a kink, where there is no Jacobian, is moved a little.
    regions : result of `regions_on_line` or `regions_in_plane` of this network, default=None
        The slice. Their doubt, if any, is carried over to ``certain`` and ``doubtful``.
    max_points : int, default=200
        Of more rows in ``X`` so many are taken, evenly spaced.

    Returns
    -------
    LipschitzResult
        The bounds, each under its own name. A step activation has an infinite upper one.

    Raises
    ------
    ParameterError
        If ``net`` has a curved activation that is not lamina's, whose largest slope is unknown.
    DataError
        If ``X`` has the wrong shape or is not finite.

    References
    ----------
    .. [1] A. Virmaux, K. Scaman, Lipschitz regularity of deep neural networks, NeurIPS 2018,
       https://arxiv.org/abs/1805.10965

    Examples
    --------
    >>> from lamina.inspection import lipschitz
    >>> from lamina.nn import Network
    >>> net = Network.from_arrays([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])
    >>> result = lipschitz(net, [[-1.0], [2.0]])
    >>> round(result.upper, 6), result.lower
    (2.0, 1.0)
    """
    max_points = check_integer("max_points", max_points, 1)
    network = as_network(net)
    factors = tuple(_factor(network, i) for i in range(len(network.weights)))
    lower, at, n_points = None, None, 0
    if X is not None:
        points = _off_kinks(network, _evenly(data_matrix(network, X, minimum=1), max_points))
        norms = jacobian_norms(network, points)
        best, n_points = int(norms.argmax()), len(points)
        lower, at = float(norms[best]), points[best]
    with np.errstate(over="ignore"):
        upper = _product(factors) * (1 + _ROUNDING)
    if regions is None:
        return LipschitzResult(upper, factors, lower, at, n_points, None, "")
    found = largest_on_slice(network, regions)
    doubt = regions.certain, regions.doubtful
    return LipschitzResult(upper, factors, lower, at, n_points, *found, *doubt)


def _product(factors: tuple[float, ...]) -> float:
    """Return a product in which a layer of zeros stops even an infinite slope."""
    return 0.0 if 0.0 in factors else float(np.prod(factors))


def _factor(net: Network, i: int) -> float:
    """Return what one layer can make of a change of its inputs."""
    W = net.weights[i].numpy()
    slopes = largest_slopes(net.activations[i], net.slopes[i], len(W))
    if slopes is None:
        raise ParameterError(
            f"net must have activations of lamina.nn.ACTIVATIONS, whose largest slopes are known. "
            f"Got {net.activations[i].spec!r} in layer {i + 1}."
        )
    if np.isinf(slopes).any():
        return float("inf") if W.any() else 0.0
    return spectral_norm(slopes[:, None] * W)


def spectral_norm(W: FloatArray) -> float:
    """Return the largest singular value, of large matrices from the smaller Gram matrix."""
    if min(W.shape) <= 256:
        return float(np.linalg.norm(W, 2))
    from scipy.linalg import eigvalsh

    size = float(np.abs(W).max())
    if not size:
        return 0.0
    scaled = W / size
    gram = scaled @ scaled.T if len(W) <= W.shape[1] else scaled.T @ scaled
    last = len(gram) - 1
    return size * float(np.sqrt(eigvalsh(gram, subset_by_index=(last, last))[0]))


def _evenly(rows: FloatArray, n: int) -> FloatArray:
    """Return at most so many rows, evenly spaced."""
    if len(rows) <= n:
        return rows
    thinned: FloatArray = rows[np.linspace(0, len(rows) - 1, n).round().astype(np.intp)]
    return thinned


def _off_kinks(net: Network, points: FloatArray) -> FloatArray:
    """Return the points, those on a kink moved by about a millionth of their spread."""
    near = np.concatenate([_on_kink(net, block) for block in blocks(net, points)])
    if not near.any():
        return points
    spread = np.maximum(np.abs(points).max(), 1e-3)
    moved = points.copy()
    moved[near] += 1e-6 * spread * np.random.default_rng(0).standard_normal(moved[near].shape)
    return moved


def _on_kink(net: Network, block: Block) -> FloatArray:
    """Tell which rows have a pre-activation on a kink, to rounding."""
    near = torch.zeros(len(block.inputs), dtype=torch.bool)
    for a, activation in zip(block.before, net.activations, strict=True):
        for kink in activation.breakpoints or ():
            near |= ((a - kink).abs() <= 1e-12 * a.abs().max()).any(1)
    found: FloatArray = near.numpy()
    return found


def jacobian_norms(net: Network, points: FloatArray, axes: FloatArray | None = None) -> FloatArray:
    """Return the largest singular value of the Jacobian at each point (N,), along axes if given.

    Parameters
    ----------
    net : Network
        In float64.
    points : ndarray of shape (N, D)
        None of them on a kink.
    axes : ndarray of shape (k, D) or None
        Orthonormal directions; the Jacobian is then that of the function along them.
    """
    norms = []
    from_inputs = axes if axes is not None else np.eye(net.sizes[0])
    # From the narrower end: fewer rows to carry through.
    backward = net.sizes[-1] <= len(from_inputs)
    narrow = min(net.sizes[-1], len(from_inputs))
    height = max(1, 2**22 // (narrow * max(net.sizes)))
    for start in range(0, len(points), height):
        for block in blocks(net, points[start : start + height]):
            J = _carried(net, block, torch.tensor(from_inputs), backward)
            gram = J @ J.mT if J.shape[1] <= J.shape[2] else J.mT @ J
            norms.append(torch.linalg.eigvalsh(gram)[:, -1].clamp_min(0).sqrt().numpy())
    return np.concatenate(norms)


def _carried(net: Network, block: Block, inputs: torch.Tensor, backward: bool) -> torch.Tensor:
    """Return the Jacobians, (N, Q, k) or their transposes (N, k, Q)."""
    layers = list(zip(net.weights, block.slopes, strict=True))
    if backward:
        J = torch.eye(net.sizes[-1], dtype=torch.float64).expand(len(block.inputs), -1, -1)
        for W, slope in reversed(layers):
            J = (J * slope[:, None, :]) @ W
        return J @ inputs.mT
    J = inputs.expand(len(block.inputs), -1, -1)
    for W, slope in layers:
        J = (J @ W.mT) * slope[:, None, :]
    return J
