"""Find which hidden unit of one network is which of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import torch

from lamina._checks import check_integer
from lamina._errors import ParameterError
from lamina._typing import FloatArray, IntArray
from lamina.nn import Network

from ._axes import BLUE, axes_or_new
from ._canonical_reduction import collapse_linear, standardise
from ._match_alignment import Alignment, factors_between, scaled
from ._match_arrays import Comparison, compare_arrays, gathered
from ._match_copies import find_copy
from ._match_linear import align_linear
from ._match_search import Search, search
from ._symmetry_group import group_of, standard
from ._symmetry_layers import Layers, layers_of, network_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Optimality: TypeAlias = Literal["exact", "optimal", "local"]
_TOLD: dict[str, str] = {
    "exact": "The second network is the first one with its units reordered, to rounding.",
    "optimal": "No order of the units brings the weights nearer, in units of equal length.",
    "local": (
        "No new order of any single layer brings the weights nearer; "
        "another order of several layers at once may."
    ),
}


@dataclass(frozen=True, eq=False)
class MatchResult:
    """The second of two networks in the order, signs and scales of the first.

    Attributes
    ----------
    network : Network
        The second network, with the function it had, its units where those of the first are.
    optimality : {"exact", "optimal", "local"}
        ``"exact"`` where it is a copy of the first up to symmetry, ``"optimal"`` where no other
        order is nearer, as with one hidden layer, ``"local"`` where another may be.
    orders : tuple of ndarray of shape (units,)
        Unit k of the first network is unit ``orders[l][k]`` of the second, in each hidden layer;
        of a linear layer the order is that of the second, whose units have no names.
    factors : tuple of ndarray of shape (units,)
        What the pre-activation of that unit was multiplied by; negative where it was flipped.
    distance_before, distance_after : float
        Euclidean distance of all parameters.
    similarity : tuple of ndarray of shape (units,)
        Cosine of the incoming weights and bias of each unit and its partner.
    max_difference : float
        Largest difference of a parameter from that of the first network.
    n_sweeps, n_starts : int
        Sweeps over the layers from the best start, and starts; 0 for an exact match.
    """

    network: Network
    optimality: Optimality
    orders: tuple[IntArray, ...]
    factors: tuple[FloatArray, ...]
    distance_before: float
    distance_after: float
    similarity: tuple[FloatArray, ...]
    max_difference: float
    n_sweeps: int
    n_starts: int

    @property
    def exact(self) -> bool:
        """Whether the second network is the first one up to symmetry, to rounding."""
        return self.optimality == "exact"

    def summary(self) -> str:
        """Return what was found as a short text."""
        cosines = ", ".join(f"{s.mean():.3f}" for s in self.similarity)
        search = f" Best of {self.n_starts} starts." if self.optimality == "local" else ""
        return (
            f"Distance of the parameters {self.distance_before:.4g}, matched "
            f"{self.distance_after:.4g}. Mean cosine of incoming weights by hidden layer: "
            f"{cosines}. {_TOLD[self.optimality]}{search}"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the cosines of all pairs of units, sorted, a line for each hidden layer."""
        axes = axes_or_new(ax)
        for layer, cosines in enumerate(self.similarity):
            share = (np.arange(len(cosines)) + 0.5) / len(cosines)
            axes.plot(
                share,
                np.sort(cosines)[::-1],
                color=BLUE,
                alpha=1 - 0.7 * layer / len(self.similarity),
                marker="." if len(cosines) < 50 else None,
                label=f"layer {layer + 1}",
            )
        axes.set_xlabel("share of units")
        axes.set_ylabel("cosine of incoming weights")
        axes.set_ylim(-1.05, 1.05)
        if self.similarity:
            axes.legend()
        else:
            axes.set_title("no hidden units to match")
        return axes


def match(a: Any, b: Any, *, n_starts: int = 3, random_state: int = 0) -> MatchResult:
    r"""Bring the units of one network into order, signs and scales of another.

    Both are first written with units of length 1 where a scale is free. If ``b`` is a copy of
    ``a`` up to its symmetries, every unit is found by what comes in, units with equal incoming
    weights by what goes out. Otherwise the weights are brought as near as can be found,

    .. math:: \max_{\pi_1, \dots, \pi_{L-1}} \sum_l \big\langle W_a^{(l)},
              P_l W_b^{(l)} P_{l-1}^{-1} \big\rangle + \langle b_a^{(l)}, P_l b_b^{(l)} \rangle,

    by one exact assignment of a layer after the other [1]_, biases and signs included.

    Parameters
    ----------
    a, b : Network or torch module
        Two networks of equal sizes and activations.
    n_starts : int, default=3
        Starts of the search: from the inputs on, from the order there is, and random ones. Only
        used with several hidden layers, for networks that are no copies.
    random_state : int, default=0
        Seed of the random starts and of the order of layers.

    Returns
    -------
    MatchResult
        The second network matched, how near it is, and whether that is the nearest.

    Raises
    ------
    ParameterError
        If sizes or activations differ.

    Notes
    -----
    A copy takes a few products of matrices with eight vectors; anything else a product of
    matrices and an assignment for each layer and sweep, which is cubic in the width.

    References
    ----------
    .. [1] S. K. Ainsworth, J. Hayase, S. Srinivasa, Git Re-Basin: merging models modulo
       permutation symmetries, ICLR 2023, https://arxiv.org/abs/2209.04836

    Examples
    --------
    >>> from lamina.inspection import flip_signs, match, permute
    >>> from lamina.nn import Network
    >>> net = Network((2, 4, 1), "tanh", random_state=0)
    >>> result = match(net, permute(flip_signs(net, [1, 2]), [3, 1, 0, 2]))
    >>> result.optimality, result.orders[0].tolist(), result.distance_after
    ('exact', [2, 1, 3, 0], 0.0)
    """
    check_integer("n_starts", n_starts, 1)
    check_integer("random_state", random_state, 0)
    first, second = two_networks(a, b)
    before = compare_arrays(first, second).distance
    (one, places), (two, _) = _simplified(first), _simplified(second)
    tolerance = 1e-5 if torch.float32 in (first.dtype, second.dtype) else 1e-10
    copy = find_copy(one, two, tolerance)
    if copy is not None:
        factors = factors_between(copy.alignment, copy.a, copy.b)
        found = _moved(first, second, places, copy.alignment, factors)
        compared = compare_arrays(first, found)
        if compared.ratio <= tolerance:
            named = places, copy.alignment, factors
            return _result("exact", found, compared, before, named, None)
    (gauged_a, scales_a), (gauged_b, scales_b) = scaled(one), scaled(two)
    best = search(gauged_a, gauged_b, n_starts, np.random.default_rng(random_state))
    factors = factors_between(best.alignment, scales_a, scales_b)
    found = _moved(first, second, places, best.alignment, factors)
    compared = compare_arrays(first, found)
    fixed_ends = first.n_hidden <= 1 and one.n_hidden == first.n_hidden
    told: Optimality = "optimal" if fixed_ends else "local"
    if compared.ratio <= tolerance:
        told = "exact"
    return _result(told, found, compared, before, (places, best.alignment, factors), best)


def two_networks(a: Any, b: Any) -> tuple[Layers, Layers]:
    """Return the arrays of two networks of one shape."""
    first, second = layers_of(a, "a"), layers_of(b, "b")
    for what, one, two in (
        ("sizes", first.sizes, second.sizes),
        ("activations", _specs(first), _specs(second)),
    ):
        if one != two:
            raise ParameterError(
                f"a and b must have the same {what}. Got {one} and {two}. "
                "same_function compares networks of any form."
            )
    return first, second


def _specs(layers: Layers) -> tuple[str, ...]:
    """Return the names of all activations."""
    return tuple(activation.spec for activation in layers.activations)


def _simplified(layers: Layers) -> tuple[Layers, list[int]]:
    """Return the arrays without shifts and linear layers, and the places of hidden layers."""
    bent = [i for i in range(layers.n_hidden) if not group_of(layers.activations[i]).linear]
    forms = [standard(activation) for activation in layers.activations[:-1]]
    if len(bent) == layers.n_hidden and all((f.c, f.p, f.q) == (1, 1, 0) for f in forms):
        return layers, bent
    copy = layers.copy()
    standardise(copy)
    collapse_linear(copy)
    return copy, bent


def _moved(
    first: Layers,
    second: Layers,
    places: list[int],
    alignment: Alignment,
    factors: list[FloatArray],
) -> Layers:
    """Return the second network in the order and gauge of the first."""
    found = gathered(
        second,
        dict(zip(places, alignment.orders, strict=True)),
        dict(zip(places, factors, strict=True)),
    )
    align_linear(first, found)
    return found


def _result(
    told: Optimality,
    found: Layers,
    compared: Comparison,
    before: float,
    named: tuple[list[int], Alignment, list[FloatArray]],
    best: Search | None,
) -> MatchResult:
    """Return the result, with entries for linear layers too."""
    orders: list[IntArray] = [np.arange(n) for n in found.sizes[1:-1]]
    all_factors: list[FloatArray] = [np.ones(n) for n in found.sizes[1:-1]]
    places, alignment, factors = named
    for place, order, factor in zip(places, alignment.orders, factors, strict=True):
        orders[place], all_factors[place] = order, factor
    return MatchResult(
        network=network_of(found),
        optimality=told,
        orders=tuple(orders),
        factors=tuple(all_factors),
        distance_before=before,
        distance_after=compared.distance,
        similarity=compared.cosines[:-1],
        max_difference=compared.largest,
        n_sweeps=0 if best is None else best.n_sweeps,
        n_starts=0 if best is None else len(best.starts),
    )
