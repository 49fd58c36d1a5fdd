"""Compare two networks by what they compute and represent, and not by their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._errors import ParameterError
from lamina._typing import FloatArray

from ._arrays import lengths
from ._as_network import as_network
from ._axes import axes_or_new
from ._match import MatchResult, match
from ._symmetry_layers import finite_outputs
from ._units_blocks import data_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class CompareResult:
    """How alike two networks are in outputs, in representations, and in weights.

    Attributes
    ----------
    rms_difference, max_difference : float
        Root mean square and largest difference of outputs, in their units.
    rms_output : float
        Root mean square of the outputs of the first network about their means.
    cka : ndarray of shape (hidden layers of a, hidden layers of b)
        Linear centred kernel alignment of representations: 1 where one is the other turned,
        shifted and scaled, 0 where they have nothing in common; NaN where one is constant.
    unit_correlation : tuple of ndarray of shape (units,) or None
        Correlation of each unit of the first network with its partner after matching, for each
        hidden layer; NaN for a constant unit. None where sizes or activations differ.
    matched : MatchResult or None
        How the units were matched.
    n_samples : int
        Rows.
    """

    rms_difference: float
    max_difference: float
    rms_output: float
    cka: FloatArray
    unit_correlation: tuple[FloatArray, ...] | None
    matched: MatchResult | None
    n_samples: int

    def summary(self) -> str:
        """Return the numbers as a short text."""
        share = self.rms_difference / (self.rms_output or 1.0)
        text = (
            f"On {self.n_samples} rows outputs differ by {self.rms_difference:.3g} (root mean "
            f"square), {share:.1%} of their spread, and by {self.max_difference:.3g} at most. "
        )
        same = ", ".join(map(_told, np.diagonal(self.cka)))
        text += f"Alignment of representations by hidden layer: {same or 'none'}."
        if self.matched is not None and self.unit_correlation is not None:
            text += (
                f" Distance of parameters {self.matched.distance_before:.3g}, matched "
                f"{self.matched.distance_after:.3g}; median correlation of matched units: "
                + ", ".join(_told(_median(r)) for r in self.unit_correlation)
                + "."
            )
        return text

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the alignment of every layer of one network with every layer of the other."""
        axes = axes_or_new(ax)
        rows, columns = (np.arange(n + 1) + 0.5 for n in self.cka.shape)
        mesh = axes.pcolormesh(columns, rows, self.cka, vmin=0, vmax=1, cmap="cividis")
        axes.figure.colorbar(mesh, ax=axes, label="alignment")
        axes.set_xticks(np.arange(1, self.cka.shape[1] + 1))
        axes.set_yticks(np.arange(1, self.cka.shape[0] + 1))
        axes.set_xlabel("hidden layer of b")
        axes.set_ylabel("hidden layer of a")
        return axes


def _told(number: float) -> str:
    """Return an alignment or a correlation as text; NaN means that something is constant."""
    return "constant" if np.isnan(number) else f"{number:.3f}"


def _median(values: FloatArray) -> float:
    """Return the median of what is a number, NaN where nothing is."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else float("nan")


def compare(a: Any, b: Any, X: Any) -> CompareResult:
    r"""Compare two networks by outputs and representations on data, and by matched units.

    The linear centred kernel alignment [1]_ of representations H and G, columns centred, is

    .. math:: \frac{\lVert H^T G \rVert_F^2}{\lVert H^T H \rVert_F \lVert G^T G \rVert_F}

    Parameters
    ----------
    a, b : Network or torch module
        Networks with equal numbers of inputs and of outputs; they may differ otherwise.
    X : array-like of shape (n_samples, n_features)
        Data, at least two rows.

    Returns
    -------
    CompareResult
        Differences of outputs, alignment of every pair of hidden layers, correlation of matched
        units.

    Raises
    ------
    ParameterError
        If numbers of inputs or outputs differ.

    References
    ----------
    .. [1] S. Kornblith, M. Norouzi, H. Lee, G. Hinton, Similarity of neural network
       representations revisited, ICML 2019, https://proceedings.mlr.press/v97/kornblith19a.html

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.inspection import compare, permute
    >>> from lamina.nn import Network
    >>> net, X = Network((2, 4, 1), "tanh", random_state=0), np.eye(2)
    >>> result = compare(net, permute(net, [3, 1, 0, 2]), X)
    >>> result.max_difference < 1e-15, result.cka.round(6).tolist(), result.matched.optimality
    (True, [[1.0]], 'exact')
    """
    one, two = as_network(a, "a"), as_network(b, "b")
    ends = [(net.sizes[0], net.sizes[-1]) for net in (one, two)]
    if ends[0] != ends[1]:
        raise ParameterError(
            "a and b must have the same numbers of inputs and outputs. "
            f"Got {ends[0]} and {ends[1]}."
        )
    inputs = data_matrix(one, X, minimum=2)
    outputs = finite_outputs(one, inputs), finite_outputs(two, inputs)
    gap = outputs[0] - outputs[1]
    hidden = [[_unit_size(_centred(h)) for h in net.hidden(inputs)] for net in (one, two)]
    same_form = one.sizes == two.sizes and one.activations == two.activations
    matched = match(a, b) if same_form else None
    correlations = None
    if matched is not None:
        partners = as_network(matched.network).hidden(inputs)
        correlations = tuple(
            _correlation(h, _unit_size(_centred(g)))
            for h, g in zip(hidden[0], partners, strict=True)
        )
    return CompareResult(
        rms_difference=_root_mean_square(gap),
        max_difference=float(np.abs(gap).max()),
        rms_output=_root_mean_square(_centred(outputs[0])),
        cka=np.array([[_alignment(h, g) for g in hidden[1]] for h in hidden[0]]).reshape(
            len(hidden[0]), len(hidden[1])
        ),
        unit_correlation=correlations,
        matched=matched,
        n_samples=len(inputs),
    )


def _centred(h: FloatArray) -> FloatArray:
    """Return columns (N, H) less their means; a column that is constant becomes exactly 0."""
    centred: FloatArray = h - h.mean(axis=0)
    return np.where(np.ptp(h, axis=0) == 0, 0.0, centred)


def _unit_size(h: FloatArray) -> FloatArray:
    """Return numbers over their largest; alignment and correlation know no scale."""
    return h / (np.abs(h).max() or 1.0)


def _root_mean_square(values: FloatArray) -> float:
    """Return the root mean square of numbers whose squares may leave float64."""
    return float(lengths(values.reshape(1, -1))[0] / np.sqrt(values.size))


def _alignment(h: FloatArray, g: FloatArray) -> float:
    """Return the linear centred kernel alignment of centred representations."""
    if len(h) < max(h.shape[1], g.shape[1]):
        # ‖HᵀG‖² is the inner product of HHᵀ and GGᵀ, which are smaller for few rows.
        K, L = h @ h.T, g @ g.T
        both, sizes = float(np.vdot(K, L)), (np.linalg.norm(K), np.linalg.norm(L))
    else:
        both = float(np.square(h.T @ g).sum())
        sizes = np.linalg.norm(h.T @ h), np.linalg.norm(g.T @ g)
    size = float(sizes[0] * sizes[1])
    return both / size if size else float("nan")


def _correlation(h: FloatArray, g: FloatArray) -> FloatArray:
    """Return the correlation of each pair of centred columns (H,), NaN for a constant one."""
    sizes = lengths(h.T), lengths(g.T)
    constant = (sizes[0] == 0) | (sizes[1] == 0)
    h, g = (x / np.where(constant, 1.0, size) for x, size in zip((h, g), sizes, strict=True))
    return np.where(constant, np.nan, (h * g).sum(axis=0))
