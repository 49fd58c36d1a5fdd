"""How wide the distributions of a table regressor must be: held-out rows tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from lamina._typing import Array, FloatArray, IntArray
from lamina.heads import Head, Mixture, Normal
from lamina.nn import Network
from lamina.stack import Member

from ._prediction import raw_outputs

_PRIOR = 0.5
"""Standard deviation, in ln σ, of what is believed of the factor beforehand: it decides where a
handful of rows are held out."""

_WIDEST = 3.0
"""The factor is between 1/e³ and e³."""

_NARROWEST = 0.25
"""Least share of the squared factor that is left for the mixture of many members."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that one or two members held out.

    Attributes
    ----------
    raws : list of Tensor of shape (N, Q)
        Raw outputs of the members, float64.
    y : Tensor of shape (N, T)
        Target as the networks learn it.
    weights : Tensor of shape (N,)
        Weights of the rows.
    """

    raws: list[Tensor]
    y: Tensor
    weights: Tensor


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A table, and for each network the member that says which rows it held out."""

    X: FloatArray
    y: Array
    weights: FloatArray | None
    members: Sequence[Member]

    def of_each(self, networks: Sequence[Network]) -> Iterator[Rows]:
        """Yield the rows that a network has not seen; all rows if it has seen them all."""
        everything = np.arange(len(self.y))
        for network, member in zip(networks, self.members, strict=True):
            held = member.validation_rows
            yield self._rows([network], everything if held is None else np.asarray(held))

    def of_neighbours(self, networks: Sequence[Network]) -> Iterator[Rows]:
        """Yield the rows that two networks, one after the other, both have not seen."""
        for i in range(1, len(networks)):
            one, other = (member.validation_rows for member in self.members[i - 1 : i + 1])
            both = None if one is None or other is None else np.intersect1d(one, other)
            if both is not None and len(both):
                yield self._rows(networks[i - 1 : i + 1], both)

    def _rows(self, networks: Sequence[Network], rows: IntArray) -> Rows:
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        raws = [
            torch.from_numpy(raw_outputs(network, self.X[rows])).double() for network in networks
        ]
        return Rows(raws, torch.from_numpy(self.y[rows]), torch.from_numpy(weights))

    @property
    def is_empty(self) -> bool:
        """Whether no rows were held out."""
        return all(member.validation_rows is None for member in self.members)


def noise_of_least_squares(networks: Sequence[Network], held_out: HeldOut) -> FloatArray:
    """Return the standard deviation (T,) of z around what each member predicts.

    It is at least the rounding error of float32, so that a perfect fit has a density.
    """
    alone = list(held_out.of_each(networks))
    total = sum(float(rows.weights.sum()) for rows in alone)
    squares = sum(rows.weights @ (rows.raws[0] - rows.y) ** 2 for rows in alone) / total
    assert isinstance(squares, Tensor)
    noise = squares.sqrt().clamp(min=float(np.finfo(np.float32).eps))
    head = Normal("per_row", min_scale=0.0)
    n_targets = len(noise)
    places = (torch.arange(2 * n_targets) >= n_targets).double()
    shift = 0.0
    if not held_out.is_empty:
        pairs = [_with_noise(rows, noise) for rows in held_out.of_neighbours(networks)]
        shift = _for_mixture(head, places, 0.0, pairs, len(networks))
    widened: FloatArray = (noise * math.exp(shift)).numpy()
    return widened


def _with_noise(rows: Rows, noise: Tensor) -> Rows:
    """Return rows whose raw outputs are those of a normal distribution with that noise."""
    raws = [torch.cat([raw, noise.log().expand_as(raw)], dim=1) for raw in rows.raws]
    return Rows(raws, rows.y, rows.weights)


def widened(networks: list[Network], head: Head, held_out: HeldOut) -> tuple[list[Network], float]:
    r"""Return the networks with all scales multiplied by one factor, and the factor.

    Networks are too sure of rows that they were trained on, more or less so. The factor c of a
    member maximises the likelihood of the rows that were held out,

    .. math:: \sum_k \sum_{n \in V_k} -\ln p_k(z_n \mid x_n; c\,\sigma) + \frac{(\ln c)^2}{2 s^2}

    over all members k and the rows :math:`V_k` that each did not see. The mixture of K members
    that are right on the average is too wide: their means differ, and the mean of their means
    is nearer to the truth than each is. Both grow as (K - 1)/K. How much it is for two members
    is measured on the rows that neither of two neighbours has seen.

    Raw scales are logarithms, so that ln c is simply added to their last biases. Without
    held-out rows, and for a head whose raw scales are not known, the factor is 1.
    """
    places = _log_scales(head, held_out.y.shape[-1], networks[0].sizes[-1])
    if places is None or held_out.is_empty:
        return networks, 1.0
    mask = torch.from_numpy(places.astype(np.float64))
    alone = _best_shift(head, mask, list(held_out.of_each(networks)))
    pairs = list(held_out.of_neighbours(networks))
    shift = _for_mixture(head, mask, alone, pairs, len(networks))
    return [_shifted(network, places * shift) for network in networks], math.exp(shift)


def _log_scales(head: Head, n_targets: int, n_raw: int) -> Array | None:
    """Return which raw outputs (n_raw,) are logarithms of scales, or None if that is not known."""
    if type(head) is Normal and head.location_scale:
        return np.arange(n_raw) >= n_targets
    if type(head) is Mixture and head.location_scale and head.covariance_type != "full":
        return np.arange(n_raw) >= head.n_components * (1 + n_targets)
    return None


def _for_mixture(
    head: Head, places: Tensor, alone: float, pairs: Sequence[Rows], n_members: int
) -> float:
    """Return ln c for a mixture of so many members, from that of each alone."""
    if not pairs:
        return alone
    one = _best_shift(
        head, places, [Rows([raw], rows.y, rows.weights) for rows in pairs for raw in rows.raws]
    )
    two = _best_shift(head, places, pairs)
    lost = (1 - math.exp(2 * (two - one))) * 2 * (n_members - 1) / n_members
    return alone + 0.5 * math.log(max(1 - lost, _NARROWEST))


def _best_shift(head: Head, places: Tensor, parts: Sequence[Rows]) -> float:
    """Return ln c of the most probable factor for the members, or pairs of them, of the parts."""

    def loss(shift: float) -> float:
        total = 0.5 * (shift / _PRIOR) ** 2
        for rows in parts:
            errors = torch.stack([head.error(raw + shift * places, rows.y) for raw in rows.raws])
            mixed = math.log(len(errors)) - (-errors).logsumexp(0)
            total += float((rows.weights * mixed).sum())
        return total

    return _least(loss)


def _least(loss: Callable[[float], float]) -> float:
    found = minimize_scalar(loss, bounds=(-_WIDEST, _WIDEST), method="bounded")
    return float(found.x)


def _shifted(network: Network, shifts: FloatArray) -> Network:
    """Return a network with other last biases."""
    layers = network.layers()
    weights, biases = layers[-1]
    layers = [*layers[:-1], (weights, (biases + shifts).astype(biases.dtype))]
    return Network.from_arrays(layers, network.activations[:-1], slopes=network.slopes)
