"""How many directions each layer of a network uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from lamina._typing import FloatArray

from ._as_network import as_network
from ._axes import axes_or_new
from ._units_blocks import blocks, data_matrix

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class LayerRank:
    r"""How many directions one layer uses.

    Attributes
    ----------
    layer : int
        The layer of weights, counted from 1.
    singular_values : ndarray of shape (min(n_inputs, n_units),)
        Those of the weights, falling.
    shape : tuple of int
        Units and inputs.
    rank : int
        Singular values above rounding in the network's precision.
    effective_rank : float
        :math:`\exp(-\sum_i p_i \ln p_i)` of :math:`p_i = s_i / \sum_j s_j`.
    stable_rank : float
        :math:`\lVert W\rVert_F^2 / \lVert W\rVert_2^2`.
    feature_rank : float or None
        The effective rank of the centred activations on data.
    """

    layer: int
    singular_values: FloatArray
    shape: tuple[int, int]
    rank: int
    effective_rank: float
    stable_rank: float
    feature_rank: float | None

    @property
    def largest_possible(self) -> int:
        """The rank that a matrix of this shape can have."""
        return min(self.shape)

    @property
    def n_factored(self) -> int:
        """Weights of two factors of this rank; `n_weights` are those of the one matrix."""
        return self.rank * sum(self.shape)

    @property
    def n_weights(self) -> int:
        """Weights of the layer."""
        return self.shape[0] * self.shape[1]


@dataclass(frozen=True, eq=False)
class RankResult:
    """How many directions each layer of a network uses.

    Attributes
    ----------
    layers : tuple of LayerRank
        A record for each layer.
    """

    layers: tuple[LayerRank, ...]

    @property
    def table(self) -> pd.DataFrame:
        """A table with a row for each layer."""
        import pandas as pd

        names = ("layer", "shape", "rank", "effective_rank", "stable_rank", "feature_rank")
        return pd.DataFrame({name: [getattr(e, name) for e in self.layers] for name in names})

    def summary(self) -> str:
        """Return a line for each layer as a short text."""
        lines = [
            f"{'layer':<7}{'shape':>12}{'rank':>7}{'effective':>11}{'stable':>9}{'features':>10}"
        ]
        for layer in self.layers:
            shape = f"{layer.shape[0]}×{layer.shape[1]}"
            features = "-" if layer.feature_rank is None else f"{layer.feature_rank:.1f}"
            lines.append(
                f"{layer.layer:<7}{shape:>12}{layer.rank:>7}{layer.effective_rank:>11.1f}"
                f"{layer.stable_rank:>9.1f}{features:>10}"
            )
        lines += [
            f"layer {layer.layer}: two factors of rank {layer.rank} have {layer.n_factored:,} "
            f"weights instead of {layer.n_weights:,}"
            for layer in self.layers
            if layer.rank and layer.n_factored < layer.n_weights
        ]
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the singular values of each layer beside its largest, on a log scale.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        Axes
            The axes drawn into.
        """
        from ._units_pictures import draw_singular_values

        return draw_singular_values(self, axes_or_new(ax))


def rank(net: Any, X: Any = None) -> RankResult:
    r"""Tell how many directions each layer uses: rank, effective rank [1]_ and stable rank.

    Of singular values :math:`s_1 \ge s_2 \ge \dots` of the weights (out, in) count as rank those
    above :math:`s_1 \max(\text{out}, \text{in})\,\epsilon`, with the rounding error
    :math:`\epsilon` of the network's own dtype. The effective rank is the exponential of the
    entropy of their shares: all equal give their number, one alone gives 1.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network.
    X : array-like of shape (n_samples, n_features), default=None
        Rows on which the activations' effective rank is taken; at least 2.

    Returns
    -------
    RankResult
        A record for each layer.

    Raises
    ------
    ParameterError
        If ``net`` is no network that can be read.
    DataError
        If ``X`` has the wrong shape or is not finite.

    References
    ----------
    .. [1] O. Roy, M. Vetterli, The effective rank: a measure of effective dimensionality,
       EUSIPCO 2007, https://ieeexplore.ieee.org/document/7098875

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.inspection import rank
    >>> from lamina.nn import Network
    >>> net = Network.from_arrays([(np.diag([3.0, 1.0, 0.0]), np.zeros(3))])
    >>> found = rank(net).layers[0]
    >>> found.rank, round(found.effective_rank, 3), round(found.stable_rank, 3)
    (2, 1.755, 1.111)
    """
    network = as_network(net)
    epsilon = precision_of(net)
    features: list[float | None] = [None] * len(network.weights)
    if X is not None:
        rows = data_matrix(network, X, minimum=2)
        kept = [block.after for block in blocks(network, rows)]
        for i in range(len(features)):
            h = torch.cat([after[i] for after in kept]).numpy()
            features[i] = effective(np.linalg.svd(h - h.mean(0), compute_uv=False))
    layers = []
    for i, weights in enumerate(network.weights):
        W = weights.detach().numpy()
        values = np.linalg.svd(W, compute_uv=False)
        layers.append(
            LayerRank(
                layer=i + 1,
                singular_values=values,
                shape=W.shape,
                rank=_above_rounding(values, W.shape, epsilon),
                effective_rank=effective(values),
                stable_rank=float(np.sum((values / values[0]) ** 2)) if values[0] else 0.0,
                feature_rank=features[i],
            )
        )
    return RankResult(tuple(layers))


def precision_of(net: Any) -> float:
    """Return the rounding error of a module's own dtype."""
    assert isinstance(net, nn.Module)
    return float(torch.finfo(next(net.parameters()).dtype).eps)


def machine_rank(W: FloatArray, epsilon: float) -> int:
    """Return how many singular values are above rounding."""
    return _above_rounding(np.linalg.svd(W, compute_uv=False), W.shape, epsilon)


def _above_rounding(values: FloatArray, shape: tuple[int, ...], epsilon: float) -> int:
    return int((values > values[0] * max(shape) * epsilon).sum())


def effective(values: FloatArray) -> float:
    """Return the exponential of the entropy of the shares of singular values; 0 of zeros."""
    if not values[0]:
        return 0.0
    shares = values / values.sum()
    # Values that are nothing but rounding would add to the entropy.
    shares = shares[shares > shares[0] * len(shares) * np.finfo(np.float64).eps]
    return float(np.exp(-np.sum(shares * np.log(shares))))
