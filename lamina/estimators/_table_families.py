"""Families of members compete on rows that they hold out, and share the ensemble."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from lamina._typing import Array, FloatArray, IntArray
from lamina.heads import Custom, Head
from lamina.nn import Network

from ._losses import is_squared_error
from ._prediction import raw_outputs

Loss = Callable[[FloatArray], float]

_PRIOR_ROWS = 2.0
"""So many rows speak beforehand for equal shares: they decide where a handful are held out."""


_LEAST = 1 / 8
"""Weight below which a family is not heard."""


def shares(weights: FloatArray, n_members: int) -> list[int]:
    """Return how many of the members each family has, by its weight and largest remainders.

    A family that deserves less than one member of eight gets none: half of what it would say
    is noise.
    """
    weights = np.asarray(weights) / np.sum(weights)
    heard = np.where(weights >= min(_LEAST, weights.max()), weights, 0.0)
    exact = heard / heard.sum() * n_members
    counts = np.floor(exact).astype(int)
    missing = n_members - int(counts.sum())
    for i in np.argsort(counts - exact, kind="stable")[:missing]:
        counts[i] += 1
    return [int(count) for count in counts]


def family_weights(
    head: Head,
    raws: Sequence[Sequence[FloatArray]],
    targets: Sequence[Array],
    weights: Sequence[FloatArray] | None,
) -> FloatArray:
    r"""Return how much each family should count in the mean of all, (F,), with sum 1.

    They maximise the likelihood of rows that no member has seen,

    .. math:: \sum_n \ln \sum_f w_f\, p_f(y_n \mid x_n) + m \sum_f \frac1F \ln w_f

    with a prior worth m rows for equal weights; for least squares the first term is
    :math:`-\frac N2 \ln \sum_n (\sum_f w_f \mu_f(x_n) - y_n)^2`, the likelihood at the best σ.

    Parameters
    ----------
    head : Head
        What the raw outputs mean.
    raws : sequence over the families, of sequences over the folds, of arrays (N, Q)
        Raw outputs of the members on the rows that each holds out.
    targets, weights : sequences over the folds
        Targets of these rows, and weights if they have any.
    """
    y = torch.from_numpy(np.concatenate(targets))
    raw = torch.stack([torch.from_numpy(np.concatenate(parts)).double() for parts in raws])
    counted = np.ones(len(y)) if weights is None else np.concatenate(weights)
    n_rows, n_families = float(counted.sum()) or 1.0, len(raw)
    if is_squared_error(head) or isinstance(head, Custom):
        loss = _of_mean(head, raw, y, torch.from_numpy(counted))
    else:
        loss = _of_mixture(head, raw, y, counted)

    def objective(z: FloatArray) -> float:
        w = _softmax(z)
        return float((loss(w) - _PRIOR_ROWS * np.log(w).mean()) / n_rows)

    found = minimize(
        objective, np.zeros(n_families), method="L-BFGS-B", bounds=[(-9, 9)] * n_families
    )
    return _softmax(found.x)


def _of_mean(head: Head, raw: Tensor, y: Tensor, counted: Tensor) -> Loss:
    n_rows = float(counted.sum())

    def loss(w: FloatArray) -> float:
        mean = (torch.from_numpy(w)[:, None, None] * raw).sum(0)
        if is_squared_error(head):
            squares = (mean - y).square().sum(-1)
            size = float((counted * squares).sum() / n_rows) ** 0.5
        else:
            size = float((counted * head.error(mean, y)).sum() / n_rows)
        return n_rows * float(np.log(max(size, 1e-30)))

    return loss


def _of_mixture(head: Head, raw: Tensor, y: Tensor, counted: FloatArray) -> Loss:
    errors = np.stack([head.error(one, y).numpy() for one in raw])
    least = errors.min(0)
    densities = np.exp(least - errors)

    def loss(w: FloatArray) -> float:
        return float(counted @ (least - np.log(w @ densities)))

    return loss


def _softmax(z: FloatArray) -> FloatArray:
    powers = np.exp(z - z.max())
    weights: FloatArray = powers / powers.sum()
    return weights


def widened(network: Network, columns: IntArray, n_columns: int) -> Network:
    """Return a network that sees all columns, those that it was not trained on with weight 0."""
    layers = network.layers()
    weights, biases = layers[0]
    if weights.shape[1] == n_columns:
        return network
    whole = np.zeros((len(weights), n_columns), weights.dtype)
    whole[:, columns] = weights
    layers = [(whole, biases), *layers[1:]]
    return Network.from_arrays(layers, network.activations[:-1], slopes=network.slopes)


def held_out_raws(
    networks: Sequence[Network], X: FloatArray, rows: Sequence[IntArray]
) -> list[FloatArray]:
    """Return the raw outputs of each network on its own rows."""
    return [raw_outputs(network, X[held]) for network, held in zip(networks, rows, strict=True)]
