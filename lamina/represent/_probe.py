"""Simple classifiers on features: a linear probe and nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lamina._checks import check_integer, check_real
from lamina._errors import DataError
from lamina._typing import Array, FloatArray, IntArray
from lamina.heads import Categorical
from lamina.stack import Member, train

from ._labels import kind_of, labels_of
from ._units import unit_rows, wide


def linear_probe(
    features: Any,
    labels: Any,
    new_features: Any,
    new_labels: Any,
    *,
    unlabelled: Any = None,
    weight_decay: float = 1e-3,
    max_iter: int = 1000,
) -> float:
    r"""Return the accuracy of a softmax that reads classes off features linearly.

    .. math:: \min_{W, b}\; \frac1n\sum_i -\ln p(y_i \mid W\tilde z_i + b)
              + \frac{\lambda}{2}\lVert W\rVert^2, \qquad
              \tilde z = \frac{z - \mu}{\sigma + 10^{-6}}

    The mean μ and deviation σ are those of unlabelled features, of which there are more. The
    minimum is found by L-BFGS and has no randomness.

    Parameters
    ----------
    features : array or Tensor of shape (n, d)
        Features of the labelled rows.
    labels : array of shape (n,)
        Their classes.
    new_features : array or Tensor of shape (m, d)
        Features of the rows to judge by.
    new_labels : array of shape (m,)
        Their classes; one that no labelled row has counts as missed.
    unlabelled : array or Tensor of shape (k, d), optional
        Features for mean and deviation; by default the labelled ones.
    weight_decay : float, default=1e-3
        λ.
    max_iter : int, default=1000
        Most iterations.

    Returns
    -------
    float
        Share of the new rows whose class is found.

    Raises
    ------
    DataError
        If shapes or the types of labels do not fit, a number is not finite, a label is missing,
        or there is one class.

    Examples
    --------
    >>> z = np.array([[0.0, 1.0], [0.1, 1.0], [1.0, 0.0], [0.9, 0.1]])
    >>> linear_probe(z, ["a", "a", "b", "b"], z, ["a", "a", "b", "a"])
    0.75
    """
    z, new = _matrix("features", features), _matrix("new_features", new_features)
    other = z if unlabelled is None else _matrix("unlabelled", unlabelled)
    for name, matrix in (("new_features", new), ("unlabelled", other)):
        if matrix.shape[1] != z.shape[1]:
            raise DataError(f"{name} must have {z.shape[1]} columns. Got {matrix.shape[1]}.")
    classes, codes = np.unique(labels_of("labels", labels, len(z)), return_inverse=True)
    truth = labels_of("new_labels", new_labels, len(new))
    if len(classes) < 2:
        raise DataError(f"labels must have at least 2 classes. Got {len(classes)}.")
    kinds = kind_of(classes[0]), kind_of(truth[0])
    if kinds[0] != kinds[1]:
        raise DataError(
            f"new_labels must be of the type of labels, {kinds[0]}. Got {kinds[1]}. Convert both "
            "to text."
        )
    scaling = _Scaling.of(other)
    member = Member(
        (),
        head=Categorical(len(classes)),
        optimizer="lbfgs",
        batch_size=len(z),
        max_epochs=check_integer("max_iter", max_iter, 1),
        # the engine divides α by the number of rows
        alpha=check_real("weight_decay", weight_decay, 0.0) * len(z),
        init="glorot",
    )
    network = train([member], scaling("features", z), codes, dtype="float64").networks[0]
    raw = network.predict_raw(scaling("new_features", new))
    return float(np.mean(classes[raw.argmax(1)] == truth))


def nearest_neighbours_accuracy(features: Any, labels: Any, n_neighbors: int = 5) -> float:
    """Return how often the nearest other rows agree on a row's class, by cosine.

    Every row is classified by the vote of its nearest neighbours, itself left out; a tie goes
    to the class of the nearest among the tied.

    Parameters
    ----------
    features : array or Tensor of shape (n, d)
        Features.
    labels : array of shape (n,)
        Classes.
    n_neighbors : int, default=5
        Neighbours that vote; all others where there are fewer.

    Returns
    -------
    float
        Share of the rows whose class is found.

    Raises
    ------
    DataError
        If shapes do not fit, a number is not finite, a label is missing, or there is one row.

    Examples
    --------
    >>> z = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> nearest_neighbours_accuracy(z, [0, 0, 1, 1], n_neighbors=1)
    1.0
    """
    z = wide("features", features).detach()
    codes = np.unique(labels_of("labels", labels, len(z)), return_inverse=True)[1]
    if len(z) < 2:
        raise DataError("features must have at least 2 rows. Got 1.")
    k = min(check_integer("n_neighbors", n_neighbors, 1), len(z) - 1)
    units = unit_rows(z).units
    found: list[IntArray] = []
    for start in range(0, len(z), CHUNK):
        rows = torch.arange(start, min(start + CHUNK, len(z)))
        cosines = units[rows] @ units.mT
        cosines[rows - start, rows] = -2.0  # never its own neighbour
        near = codes[cosines.topk(k, dim=1).indices.numpy()]  # (B, k), nearest first
        votes = (near[:, :, None] == near[:, None]).sum(2)
        found.append(near[np.arange(len(near)), votes.argmax(1)])
    return float(np.mean(np.concatenate(found) == codes))


CHUNK = 1024
"""Rows whose cosines with all others are in memory at a time."""


LARGE = 1e100
"""Columns with larger numbers are brought to 1 first, so that their squares are finite."""


@dataclass(frozen=True)
class _Scaling:
    """What columns are standardised with: centre and spread are of columns divided by unit."""

    unit: FloatArray
    centre: FloatArray
    spread: FloatArray

    @classmethod
    def of(cls, values: Array) -> _Scaling:
        """Measure columns; their spread is a millionth more, so that none is 0."""
        largest = np.maximum(values.max(0), -values.min(0)).astype(np.float64)
        unit = np.where(largest > LARGE, largest, 1.0)
        reduced = np.divide(values, unit, dtype=np.float64)
        return cls(unit, reduced.mean(0), reduced.std(0) + 1e-6 / unit)

    def __call__(self, name: str, values: Array) -> FloatArray:
        """Return standardised columns, in one array of float64 that is new."""
        with np.errstate(over="ignore", invalid="ignore"):
            scaled: FloatArray = np.divide(values, self.unit, dtype=np.float64)
            scaled -= self.centre
            scaled /= self.spread
        if not np.isfinite(scaled).all():
            row = np.argwhere(~np.isfinite(scaled))[0][0]
            raise DataError(
                f"{name} must be within reach of the features that give mean and deviation. Got "
                f"a row that is too far, {row}."
            )
        return scaled


def _matrix(name: str, values: Any) -> Array:
    matrix: Array = wide(name, values).detach().cpu().numpy()
    return matrix
