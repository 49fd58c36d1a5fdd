"""The error along the straight line between two networks, as they are and with units matched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lamina._checks import check_integer, check_real, shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray
from lamina.nn import Network

from ._axes import BLUE, GREY, ORANGE, axes_or_new
from ._match import MatchResult, match, two_networks
from ._symmetry_layers import Layers, layers_of, network_of
from ._units_blocks import data_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def merge(a: Any, b: Any, *, share: float = 0.5) -> Network:
    r"""Return the network between two, after the units of the second were matched.

    .. math:: (1 - s)\, \theta_a + s\, \theta_{b \to a}

    Parameters
    ----------
    a, b : Network or torch module
        Two networks of equal sizes and activations.
    share : float, default=0.5
        The share s of the second, from 0 to 1.

    Returns
    -------
    Network
        A network of the dtype of ``a``. It is good only where `segment` shows no barrier.

    Raises
    ------
    ParameterError
        If sizes or activations differ.

    Examples
    --------
    >>> from lamina.inspection import flip_signs, merge
    >>> from lamina.nn import Network
    >>> net = Network((2, 4, 1), "tanh", random_state=0)
    >>> bool((merge(net, flip_signs(net)).weights[0] == net.weights[0]).all())
    True
    """
    at = check_real("share", share, 0.0, 1.0)
    first, _ = two_networks(a, b)
    return network_of(between(first, layers_of(match(a, b).network), at))


def between(a: Layers, b: Layers, share: float) -> Layers:
    """Return the arrays at a share of the way from one network to another."""

    def mixed(p: FloatArray, q: FloatArray) -> FloatArray:
        # This form is exact at both ends, and for equal arrays everywhere.
        return p + share * (q - p) if share < 0.5 else q - (1.0 - share) * (q - p)

    slopes = [
        None if p is None or q is None else mixed(p, q)
        for p, q in zip(a.slopes, b.slopes, strict=True)
    ]
    return Layers(
        [mixed(p, q) for p, q in zip(a.weights, b.weights, strict=True)],
        [mixed(p, q) for p, q in zip(a.biases, b.biases, strict=True)],
        slopes,
        a.activations,
        a.dtype,
    )


@dataclass(frozen=True, eq=False)
class SegmentResult:
    """The mean error along two straight lines: to the second network, and to it matched.

    Attributes
    ----------
    shares : ndarray of shape (n_points,)
        Share of the second network, from 0 to 1.
    loss, matched_loss : ndarray of shape (n_points,)
        Mean error of the networks on the way, before and after matching.
    match : MatchResult
        How the units were matched.
    """

    shares: FloatArray
    loss: FloatArray
    matched_loss: FloatArray
    match: MatchResult

    @property
    def barrier(self) -> float:
        """How far the error rises above the straight line between its ends."""
        return self._above(self.loss)

    @property
    def matched_barrier(self) -> float:
        """The barrier after matching."""
        return self._above(self.matched_loss)

    @property
    def midpoint(self) -> tuple[float, float]:
        """The error halfway, before and after matching."""
        middle = len(self.shares) // 2
        return float(self.loss[middle]), float(self.matched_loss[middle])

    def _above(self, loss: FloatArray) -> float:
        """Return the largest excess over the line between the ends, at least 0."""
        line = (1.0 - self.shares) * loss[0] + self.shares * loss[-1]
        return float((loss - line).max())

    def summary(self) -> str:
        """Return barriers and ends as a short text."""
        return (
            f"The mean error is {self.loss[0]:.4g} and {self.loss[-1]:.4g} at the ends and "
            f"{self.midpoint[0]:.4g} halfway, a barrier of {self.barrier:.4g}; with units "
            f"matched {self.midpoint[1]:.4g} halfway, a barrier of {self.matched_barrier:.4g}. "
            f"{self.match.summary()}"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the error against the share of the second network, before and after matching."""
        axes = axes_or_new(ax)
        ends = [float(self.loss[0]), float(self.loss[-1])]
        axes.plot([0, 1], ends, color=GREY, linestyle="--", label="line between the ends")
        axes.plot(self.shares, self.loss, color=BLUE, label="as they are")
        axes.plot(self.shares, self.matched_loss, color=ORANGE, label="units matched")
        axes.set_xlabel("share of the second network")
        axes.set_ylabel("mean error")
        axes.legend()
        return axes


def segment(
    a: Any, b: Any, X: Any, y: Any, head: Any, *, n_points: int = 25, n_starts: int = 3
) -> SegmentResult:
    r"""Compute the error on the straight line between two networks, and after matching.

    .. math:: E\big((1 - s)\,\theta_a + s\,\theta_b\big), \qquad 0 \le s \le 1

    Between two copies of one minimum the error rises: it is not convex. With units matched,
    copies are the same point, and networks trained apart come nearer [1]_.

    Parameters
    ----------
    a, b : Network or torch module
        Two networks of equal sizes and activations.
    X : array-like of shape (n_samples, n_features)
        Inputs.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    head : Head or callable
        A head of `lamina.heads`, whose mean error is taken; or a loss of torch that takes raw
        outputs and targets and returns one number.
    n_points : int, default=25
        Points on the line with its ends, an odd number to have one halfway.
    n_starts : int, default=3
        Starts of the search, see `match`.

    Returns
    -------
    SegmentResult
        Both curves, their barriers, and how the units were matched.

    Raises
    ------
    ParameterError
        If sizes or activations differ, or ``head`` is neither.
    DataError
        If the error is not finite at an end.

    Notes
    -----
    What is known, in mild terms: gradient descent seldom ends at a saddle, since it is repelled
    there; wide networks have large connected sets of nearly optimal weights; and runs from
    different seeds usually end at a similar error, in different places.

    References
    ----------
    .. [1] R. Entezari, H. Sedghi, O. Saukh, B. Neyshabur, The role of permutation invariance in
       linear mode connectivity of neural networks, ICLR 2022,
       https://openreview.net/forum?id=dNigytemkL

    Examples
    --------
    >>> import numpy as np, torch
    >>> from lamina.inspection import flip_signs, segment
    >>> from lamina.nn import Network
    >>> net, X = Network((1, 4, 1), "tanh", random_state=0), np.linspace(-2, 2, 9)[:, None]
    >>> result = segment(net, flip_signs(net), X, net.predict_raw(X), torch.nn.MSELoss())
    >>> result.barrier > 1e-3, result.matched_barrier
    (True, 0.0)
    """
    n = check_integer("n_points", n_points, 3)
    first, second = two_networks(a, b)
    inputs = data_matrix(network_of(first), X)
    error = mean_error(head, y, len(inputs))
    matched = match(a, b, n_starts=n_starts)
    shares = np.linspace(0.0, 1.0, n)
    others = second, layers_of(matched.network)
    curves = [
        np.array([error(network_of(between(first, other, s)), inputs) for s in shares.tolist()])
        for other in others
    ]
    for end, name in ((0, "a"), (-1, "b")):
        if not np.isfinite(curves[0][end]):
            raise DataError(f"The error of {name} must be finite. Got {curves[0][end]}.")
    return SegmentResult(shares, curves[0], curves[1], matched)


def mean_error(head: Any, y: Any, n_rows: int) -> Callable[[Network, FloatArray], float]:
    """Return a function that gives the mean error of a network on some inputs."""
    told, prepared = getattr(head, "error", None), getattr(head, "targets", None)
    is_head = callable(told) and callable(prepared)
    if not is_head and not callable(head):
        raise ParameterError(
            f"head must be a head of lamina.heads, or a loss of torch. Got {shown(head)}. "
            "Pass for example lamina.heads.Categorical(3)."
        )
    given: Array = np.asarray(y)
    if given.shape[:1] != (n_rows,):
        raise DataError(f"y must have {n_rows} rows, as X. Got shape {given.shape}.")
    values: Array = prepared(given) if callable(prepared) and is_head else given
    targets = torch.tensor(values)
    targets = targets.double() if targets.is_floating_point() else targets

    def of_network(network: Network, X: FloatArray) -> float:
        raw = torch.as_tensor(network.predict_raw(X)).double()
        if callable(told) and is_head:
            return float(told(raw, targets).mean())
        # A column of targets is a column: without it a loss would compare all with all.
        shaped = targets[:, None] if targets.is_floating_point() and targets.ndim == 1 else targets
        return float(head(raw, shaped))

    return of_network
