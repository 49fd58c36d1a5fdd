"""What a representation is like: spread, collapse, and how well classes can be read off."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lamina._checks import check_integer
from lamina._errors import DataError, LaminaWarning
from lamina._random import SPLIT, generator
from lamina._typing import Array, IntArray

from ._labels import labels_of
from ._probe import linear_probe, nearest_neighbours_accuracy
from ._reconstruction import alignment
from ._units import UnitRows, unit_rows, wide

COLLAPSED_COSINE = 0.99
"""Mean cosine of different rows from which an embedding counts as one point."""


@dataclass(frozen=True)
class RepresentationResult:
    """What `report` found.

    Attributes
    ----------
    n_rows, n_features : int
        Size of the representation.
    n_zero_rows : int
        Rows without a direction, which are left out of everything but the accuracies.
    mean_cosine : float
        Mean cosine of two different rows; 1 is one point.
    uniformity : float
        ln of the mean of exp(-2 d²) over pairs of rows, d their distance on the unit sphere; 0
        is one point, -4 is about the least.
    effective_dimension : float
        exp of the entropy of the shares of variance; 1 is a line.
    alignment : float or None
        Mean squared distance of the pairs on the unit sphere, where pairs were given of which
        both have a direction.
    neighbours_accuracy : float or None
        Classes by the vote of nearest other rows, where labels were given.
    probe_accuracy : float or None
        Classes by a linear probe of half the rows, judged on the other half.
    largest_class : float or None
        Share of the most frequent class, which is what guessing gives.
    collapsed : bool
        Whether all rows are about one point.
    """

    n_rows: int
    n_features: int
    n_zero_rows: int
    mean_cosine: float
    uniformity: float
    effective_dimension: float
    alignment: float | None
    neighbours_accuracy: float | None
    probe_accuracy: float | None
    largest_class: float | None
    collapsed: bool

    def summary(self) -> str:
        """Return some lines with the figures and what they say."""
        lines = [
            f"{self.n_rows} rows of {self.n_features} features, effective dimension "
            f"{self.effective_dimension:.1f}",
            f"uniformity {self.uniformity:.2f} (0 is one point, -4 is spread out), mean cosine "
            f"{self.mean_cosine:.2f}",
        ]
        if self.n_zero_rows:
            lines.append(f"{self.n_zero_rows} rows are zero and have no direction")
        if self.alignment is not None:
            lines.append(f"alignment {self.alignment:.3f} (0 is equal, 2 is unrelated)")
        if self.neighbours_accuracy is not None:
            lines.append(f"classes by nearest neighbours {self.neighbours_accuracy:.3f}")
        if self.probe_accuracy is not None:
            lines.append(f"classes by a linear probe {self.probe_accuracy:.3f}")
        if self.largest_class is not None:
            lines.append(f"the largest class alone gives {self.largest_class:.3f}")
        if self.collapsed:
            lines.append("COLLAPSED: all rows are about one point")
        return "\n".join(lines)


def report(
    features: Any,
    labels: Any = None,
    *,
    pairs: Any = None,
    n_neighbors: int = 5,
    max_rows: int = 2000,
    random_state: int = 0,
) -> RepresentationResult:
    r"""Measure a representation: is it spread out, are pairs close, can classes be read off.

    .. math:: \text{uniformity} =
              \ln \operatorname*{mean}_{i \ne j} e^{-2\lVert u_i - u_j\rVert^2},
              \qquad \text{alignment} = \operatorname*{mean}_i \lVert u_i - v_i\rVert^2

    for rows :math:`u_i = z_i/\lVert z_i\rVert` and their partners :math:`v_i`. Good
    representations have both small: pairs together, everything else apart.

    Parameters
    ----------
    features : array or Tensor of shape (n, d)
        The representation, at least 2 rows.
    labels : array of shape (n,), optional
        Classes, for nearest neighbours and the linear probe.
    pairs : array or Tensor of shape (n, d), optional
        The representation of another view of each row.
    n_neighbors : int, default=5
        Neighbours that vote.
    max_rows : int, default=2000
        With more rows, so many are drawn for all figures.
    random_state : int, default=0
        Seed of that draw and of the halves of the probe.

    Returns
    -------
    RepresentationResult

    Raises
    ------
    DataError
        If shapes do not fit, a number is not finite, a label is missing, or there is one row.

    Warns
    -----
    LaminaWarning
        If the representation has collapsed to one point.

    References
    ----------
    .. [1] T. Wang, P. Isola, Understanding contrastive representation learning through alignment
       and uniformity on the hypersphere, ICML 2020, https://arxiv.org/abs/2005.10242

    Examples
    --------
    >>> z = np.random.default_rng(0).normal(size=(500, 8))
    >>> found = report(z, z[:, 0] > 0)
    >>> print(f"{found.uniformity:.1f} {found.effective_dimension:.1f} {found.collapsed}")
    -3.1 7.9 False
    """
    z = wide("features", features).detach()
    partners = None if pairs is None else wide("pairs", pairs).detach()
    y = None if labels is None else labels_of("labels", labels, len(z))
    if len(z) < 2:
        raise DataError("features must have at least 2 rows. Got 1.")
    if partners is not None and partners.shape != z.shape:
        raise DataError(f"pairs must have shape {tuple(z.shape)}. Got {tuple(partners.shape)}.")
    rng = generator(check_integer("random_state", random_state, 0), SPLIT)
    order = rng.permutation(len(z))[: check_integer("max_rows", max_rows, 2)]
    z = z[order].double()
    units = unit_rows(z)
    mean_cosine, uniformity = _spread(units)
    collapsed = mean_cosine > COLLAPSED_COSINE
    if collapsed:
        warnings.warn(
            f"The representation has collapsed: different rows have a mean cosine of "
            f"{mean_cosine:.3f}. Use a loss with negatives or with a reconstruction, a lower "
            "temperature, or stronger views.",
            LaminaWarning,
            stacklevel=2,
        )
    neighbours, probe, largest = _readable(z, None if y is None else y[order], n_neighbors)
    return RepresentationResult(
        n_rows=len(z),
        n_features=z.shape[1],
        n_zero_rows=units.n_zero_rows,
        mean_cosine=mean_cosine,
        uniformity=uniformity,
        effective_dimension=effective_dimension(z[units.has_direction]),
        alignment=None if partners is None else _alignment(units, partners[order]),
        neighbours_accuracy=neighbours,
        probe_accuracy=probe,
        largest_class=largest,
        collapsed=collapsed,
    )


def _spread(units: UnitRows) -> tuple[float, float]:
    """Return mean cosine and uniformity over pairs of different rows that have a direction."""
    u = units.units[units.has_direction]
    if len(u) < 2:
        return 1.0, 0.0  # nothing is told apart
    cosines = u @ u.mT
    i, j = torch.triu_indices(len(u), len(u), offset=1)
    each = cosines[i, j].clamp(-1.0, 1.0)
    # ‖u − v‖² = 2 − 2 cos
    uniformity = torch.logsumexp(4.0 * each - 4.0, 0) - np.log(len(each))
    return each.mean().item(), uniformity.item()


def _alignment(units: UnitRows, partners: Tensor) -> float | None:
    """Return the mean squared distance of pairs whose sides both have a direction."""
    others = unit_rows(partners.double())
    both = units.has_direction & others.has_direction
    if not both.any():
        return None
    return float(alignment(units.units[both], others.units[both]))


def effective_dimension(z: Tensor) -> float:
    """Return exp of the entropy of the shares that directions have in the variance."""
    # Shares do not depend on the scale; brought to 1 before a square, nothing overflows.
    centred = _to_one(z)
    centred = _to_one(centred - centred.mean(0))
    values = torch.linalg.svdvals(centred).square()
    total = values.sum()
    if total == 0:
        return 1.0
    shares = values / total
    return float(torch.special.entr(shares).sum().exp())


def _to_one(z: Tensor) -> Tensor:
    """Return numbers divided by the largest of them."""
    largest = z.abs().max() if z.numel() else 0.0
    return z / largest if largest > 0 else z


def _readable(
    z: Tensor, y: Array | None, n_neighbors: int
) -> tuple[float | None, float | None, float | None]:
    """Return accuracy by neighbours, by the probe, and the share of the largest class."""
    if y is None:
        return None, None, None
    classes, counts = np.unique(y, return_counts=True)
    largest = float(counts.max() / len(y))
    neighbours = nearest_neighbours_accuracy(z, y, n_neighbors)
    first, second = halves(y)
    if len(classes) < 2 or len(second) == 0 or len(np.unique(y[first])) < 2:
        return neighbours, None, largest
    return neighbours, linear_probe(z[first], y[first], z[second], y[second]), largest


def halves(y: Array) -> tuple[IntArray, IntArray]:
    """Return rows such that every second one of each class is in the second half."""
    order = np.argsort(y, kind="stable")
    _, starts, counts = np.unique(y[order], return_index=True, return_counts=True)
    rank = np.arange(len(y)) - np.repeat(starts, counts)
    return order[rank % 2 == 0], order[rank % 2 == 1]
