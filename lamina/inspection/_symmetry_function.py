"""Whether two networks are one function: proved by their forms, or refuted by an input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from lamina._checks import check_integer, check_real
from lamina._errors import ParameterError
from lamina._typing import FloatArray
from lamina.nn import Network

from ._axes import BLUE, axes_or_new
from ._canonical import reduced
from ._match_alignment import factors_between
from ._match_arrays import compare_arrays, gathered
from ._match_copies import find_copy
from ._symmetry_count import sample_inputs
from ._symmetry_layers import Layers, finite_outputs, layers_of, network_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CLIMBERS, _STEPS = 16, 60


@dataclass(frozen=True, eq=False)
class SameFunctionResult:
    """What is known of whether two networks are one function.

    A result is true in a condition only where equality is proved.

    Attributes
    ----------
    verdict : {"proved", "different", "undecided"}
        ``"proved"`` where the canonical forms are equal to rounding, ``"different"`` where an
        input was found on which outputs differ by more than rounding, else ``"undecided"``.
    largest_difference : float
        The largest difference of an output that was found.
    where : ndarray of shape (n_features,)
        The input on which it was found.
    output : int
        The output that differs, counted from 0.
    largest_output : float
        Largest absolute output of the first network that was met.
    tolerance : float
        Differences up to this share of `largest_output`, or of 1, count as rounding.
    n_inputs : int
        Inputs that were looked at before the search climbed from the worst of them.
    differences : ndarray of shape (n_inputs,)
        The largest difference of an output on each of them.
    """

    verdict: Literal["proved", "different", "undecided"]
    largest_difference: float
    where: FloatArray
    output: int
    largest_output: float
    tolerance: float
    n_inputs: int
    differences: FloatArray

    def __bool__(self) -> bool:
        return self.verdict == "proved"

    def summary(self) -> str:
        """Return the verdict and the evidence as a short text."""
        told = {
            "proved": "The networks are one function: their canonical forms are equal.",
            "different": "The networks are different functions.",
            "undecided": "No difference was found, and the canonical forms differ: undecided.",
        }[self.verdict]
        return (
            f"{told} The largest difference found is {self.largest_difference:.3g}, in output "
            f"{self.output}, from {self.n_inputs} inputs with outputs up to "
            f"{self.largest_output:.3g}."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the differences on all inputs, sorted, on a logarithmic axis."""
        axes = axes_or_new(ax)
        share = (np.arange(self.n_inputs) + 0.5) / self.n_inputs
        smallest = np.finfo(np.float64).tiny
        axes.plot(share, np.maximum(np.sort(self.differences), smallest), color=BLUE)
        axes.set_yscale("log")
        axes.set_xlabel("share of inputs")
        axes.set_ylabel("largest difference of an output")
        return axes


def same_function(
    a: Any,
    b: Any,
    X: Any = None,
    *,
    tolerance: float | None = None,
    n_inputs: int = 1000,
    random_state: int = 0,
) -> SameFunctionResult:
    """Tell whether two networks compute the same, whatever their weights and sizes.

    Equal canonical forms prove it. Otherwise an input is looked for on which outputs differ
    most: among those given and normal ones of three sizes, and by climbing from the worst.
    Finding none proves nothing: ReLU networks have symmetries beyond those of units [1]_.

    Parameters
    ----------
    a, b : Network or torch module
        Networks with equal numbers of inputs and of outputs.
    X : array-like of shape (n_inputs, n_features), default=None
        Inputs to compare outputs on, in place of normal ones.
    tolerance : float, default=None
        Differences up to this share of the largest output, or of 1, count as rounding. None
        takes 1e-10, and 1e-4 where a network is float32.
    n_inputs : int, default=1000
        How many inputs of each size are drawn. Only used without ``X``.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    SameFunctionResult
        The verdict, the largest difference found and where.

    Raises
    ------
    ParameterError
        If numbers of inputs or outputs differ.

    References
    ----------
    .. [1] J. E. Grigsby, K. Lindsey, D. Rolnick, Hidden symmetries of ReLU networks, ICML 2023,
       https://proceedings.mlr.press/v202/grigsby23a.html

    Examples
    --------
    >>> from lamina.inspection import flip_signs, same_function
    >>> from lamina.nn import Network
    >>> tanh, relu = Network((2, 4, 1), "tanh", random_state=0), Network((2, 4, 1), random_state=0)
    >>> same_function(tanh, flip_signs(tanh)).verdict
    'proved'
    >>> same_function(relu, flip_signs(relu, check=False)).verdict
    'different'
    """
    first, second = layers_of(a, "a"), layers_of(b, "b")
    ends = [(layers.sizes[0], layers.sizes[-1]) for layers in (first, second)]
    if ends[0] != ends[1]:
        raise ParameterError(
            "a and b must have the same numbers of inputs and outputs. "
            f"Got {ends[0]} and {ends[1]}."
        )
    single = torch.float32 in (first.dtype, second.dtype)
    usual = 1e-4 if single else 1e-10
    allowed = usual if tolerance is None else check_real("tolerance", tolerance, 0.0)
    inputs = sample_inputs(first, X, 1)
    if X is None:
        inputs = _normal(first.sizes[0], check_integer("n_inputs", n_inputs, 1), random_state)
    one, two = (network_of(layers, torch.float64) for layers in (first, second))
    differences, where, output, top = _largest(one, two, inputs)
    gap = np.abs(one.predict_raw(where) - two.predict_raw(where))
    largest = float(gap[output])
    if _forms_agree(first, second, single):
        verdict: Literal["proved", "different", "undecided"] = "proved"
    else:
        verdict = "different" if largest > allowed * max(1.0, top) else "undecided"
    return SameFunctionResult(
        verdict, largest, where, output, top, allowed, len(inputs), differences
    )


def _forms_agree(a: Layers, b: Layers, single: bool) -> bool:
    """Return whether the canonical forms are equal, or equal in another order."""
    one, two = (reduced(x.copy(), 1e-5 if single else 1e-12).layers for x in (a, b))
    specs = [[f.spec for f in layers.activations] for layers in (one, two)]
    if one.sizes != two.sizes or specs[0] != specs[1]:
        return False
    tolerance = 1e-4 if single else 1e-10
    if compare_arrays(one, two).ratio <= tolerance:
        return True
    # Units so close that rounding decided on their order.
    copy = find_copy(one, two, 1e-5 if single else tolerance)
    if copy is None:
        return False
    factors = factors_between(copy.alignment, copy.a, copy.b)
    found = gathered(two, dict(enumerate(copy.alignment.orders)), dict(enumerate(factors)))
    return compare_arrays(one, found).ratio <= tolerance


def _normal(n_features: int, n_inputs: int, seed: int) -> FloatArray:
    """Return the origin, and normal inputs of three sizes (3 n + 1, D)."""
    rng = np.random.default_rng(check_integer("random_state", seed, 0))
    draws = rng.standard_normal((3, n_inputs, n_features))
    sized: FloatArray = draws * np.array([0.1, 1.0, 10.0])[:, None, None]
    return np.concatenate([np.zeros((1, n_features)), sized.reshape(-1, n_features)])


def _largest(
    one: Network, two: Network, X: FloatArray
) -> tuple[FloatArray, FloatArray, int, float]:
    """Return the difference on each input, the worst input found, its output, the top output."""
    before = finite_outputs(one, X)
    gaps = np.abs(before - finite_outputs(two, X))
    rows = gaps.max(axis=1)
    climbed = _climb(one, two, X[np.argsort(rows)[-_CLIMBERS:]], X.min(axis=0), X.max(axis=0))
    found = np.concatenate([X[[int(rows.argmax())]], climbed])
    worst = np.abs(one.predict_raw(found) - two.predict_raw(found))
    place = int(worst.max(axis=1).argmax())
    top = max(float(np.abs(before).max()), float(np.abs(one.predict_raw(found)).max()))
    return rows, found[place], int(worst[place].argmax()), top


def _climb(
    one: Network, two: Network, X: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Follow the gradient of the squared difference from some inputs, within their box."""
    bottom, top = torch.from_numpy(low), torch.from_numpy(high)
    tried = torch.from_numpy(X).clone()
    best, uphill = tried, torch.zeros_like(tried)
    reached = torch.full((len(X),), -1.0, dtype=tried.dtype)
    pace = torch.full((len(X), 1), 0.1, dtype=tried.dtype)
    for _ in range(_STEPS):
        error, gradient = _error_and_gradient(one, two, tried)
        better = (error > reached)[:, None]
        best, uphill = torch.where(better, tried, best), torch.where(better, gradient, uphill)
        reached = torch.maximum(reached, error)
        # A climber that found nothing higher tries half as far from where it was.
        pace = torch.where(better, 1.5 * pace, 0.5 * pace)
        size = uphill.abs().amax(dim=1, keepdim=True)
        step = pace * (top - bottom) * uphill / torch.where(size > 0, size, 1.0)
        tried = torch.minimum(torch.maximum(best + step, bottom), top)
    found: FloatArray = best.numpy()
    return found


def _error_and_gradient(one: Network, two: Network, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the squared difference of outputs (N,) and its gradient on the inputs (N, D)."""
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        # The last term is zero: it gives steps, which have no derivative, one of zero.
        error = (one(leaf) - two(leaf)).square().sum(dim=-1) + 0.0 * leaf.sum(dim=-1)
        (gradient,) = torch.autograd.grad(error.sum(), leaf)
    return error.detach(), gradient
