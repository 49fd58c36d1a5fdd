"""InfoNCE of pairs that are one another's negatives, in one modality or across two."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lamina._checks import check_flag, check_real
from lamina._errors import DataError

from ._labels import id_numbers
from ._loss import ContrastiveLoss, attach, check_temperature, warn_of_skipped, warn_of_zeros
from ._units import UnitRows, unit_rows, wide

NO_NEGATIVES = "every row of the batch is their positive, and there is no negative"


@dataclass(frozen=True)
class PairLoss:
    """Value and derivatives of one batch of pairs.

    Attributes
    ----------
    value : Tensor, a scalar
        Mean over anchors that have a negative, of one direction or of both.
    to_a, to_b : Tensor of shape (n, d)
        Derivatives on the embeddings.
    to_log_scale : Tensor, a scalar
        Derivative on ln(1/τ).
    """

    value: Tensor
    to_a: Tensor
    to_b: Tensor
    to_log_scale: Tensor


def same_id(ids: Tensor) -> Tensor:
    """Return which rows of a batch are each other's positives (n, n) from ids (n,) or (n, m)."""
    columns = ids.reshape(len(ids), -1)
    return (columns[:, None] == columns[None]).any(2)


def pair_loss(
    a: UnitRows, b: UnitRows, scale: float, same: Tensor | None, two_sided: bool
) -> PairLoss:
    """Return the loss of rows of unit length; ``same`` are the positives beside the diagonal."""
    cosines = a.units @ b.units.mT
    logits = cosines * scale
    value, delta = _one_way(logits, same)
    if two_sided:
        back, delta_back = _one_way(logits.mT, None if same is None else same.mT)
        value, delta = 0.5 * (value + back), 0.5 * (delta + delta_back.mT)
    to_log_scale = scale * (delta * cosines).sum()
    delta = delta * scale
    return PairLoss(
        value, a.pull_back(delta @ b.units), b.pull_back(delta.mT @ a.units), to_log_scale
    )


def _one_way(logits: Tensor, same: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the mean loss of the rows as anchors, and its derivative on the logits."""
    log_p = torch.log_softmax(logits, 1)
    delta = log_p.exp()
    n = len(logits)
    if same is None:
        delta.diagonal().sub_(1.0)
        return -log_p.diagonal().mean() + 0.0, delta.div_(n) if n > 1 else delta.zero_()
    counts = same.sum(1) < n  # anchors with a negative
    log_positive = torch.logsumexp(log_p.masked_fill(~same, -math.inf), 1)
    within = (log_p - log_positive[:, None]).exp().masked_fill(~same, 0.0)
    n_counts = counts.sum().clamp_min(1)
    value = -log_positive.masked_fill(~counts, 0.0).sum() / n_counts + 0.0
    return value, ((delta - within) / n_counts).masked_fill(~counts[:, None], 0.0)


def references(same: Tensor | None, n: int, scale: float, two_sided: bool) -> tuple[float, float]:
    """Return the loss at collapse and its floor, the means over anchors with a negative."""
    if same is None:
        return (math.log(n), math.log1p((n - 1) * math.exp(-2.0 * scale))) if n > 1 else (0.0, 0.0)
    sides = (same, same.mT) if two_sided else (same,)
    values = []
    for side in sides:
        positives = side.sum(1).double()
        positives = positives[positives < n]
        if len(positives) == 0:
            values.append((0.0, 0.0))
            continue
        odds = (n - positives) / positives
        floors = torch.log1p(odds * math.exp(-2.0 * scale))
        values.append((torch.log1p(odds).mean().item(), floors.mean().item()))
    collapse, floor = np.mean(values, axis=0).tolist()
    return collapse, floor


def in_batch_info_nce(
    a: Any,
    b: Any,
    temperature: float = 0.1,
    *,
    two_sided: bool = True,
    ids: Any = None,
) -> ContrastiveLoss:
    r"""Compute InfoNCE of n pairs, where the partners of the others are the negatives.

    With :math:`s_{ij}` the cosine of :math:`a_i` and :math:`b_j`,

    .. math:: E_{a \to b} = -\frac1n \sum_i \ln
              \frac{\sum_{j \in P_i} e^{s_{ij}/\tau}}{\sum_{j=1}^n e^{s_{ij}/\tau}},
              \qquad P_i = \{i\},

    and two-sided the mean of it and of the same with a and b exchanged. Rows of one id are the
    same thing met again: all of them are positives of each other, and none is pushed away.

    Parameters
    ----------
    a, b : array or Tensor of shape (n, d)
        Embeddings of the two views, row i of one belongs to row i of the other.
    temperature : float, default=0.1
        τ, above 0.
    two_sided : bool, default=True
        Whether the rows of ``b`` are anchors as well.
    ids : array of shape (n,) or (n, m), optional
        What each row is; rows that agree in a column share their positives. By default all
        differ.

    Returns
    -------
    ContrastiveLoss
        With gradients for a and b.

    Raises
    ------
    DataError
        If shapes do not fit, a number is not finite, or an id is missing.
    ParameterError
        If the temperature is below 1e-30.

    Warns
    -----
    DataWarning
        If anchors have no negative, as in a batch of one pair, or rows are zero.

    References
    ----------
    .. [1] T. Chen et al., A simple framework for contrastive learning of visual
       representations, ICML 2020, https://arxiv.org/abs/2002.05709

    Examples
    --------
    >>> import numpy as np
    >>> z = np.random.default_rng(0).normal(size=(128, 16))
    >>> aligned = in_batch_info_nce(z, z)
    >>> point = in_batch_info_nce(np.ones((128, 16)), np.ones((128, 16)))
    >>> print(f"{float(aligned):.2f} {float(point):.3f} {point.collapse:.3f}")
    0.08 4.852 4.852
    """
    scale = 1.0 / check_temperature(temperature)
    loss, found = _paired(a, b, scale, check_flag("two_sided", two_sided), ids)
    gradients = (found.to_a, found.to_b)
    return _finished(loss, attach(found.value, gradients, (a, b)), gradients)


def cross_modal(a: Any, b: Any, log_scale: Any, *, ids: Any = None) -> ContrastiveLoss:
    r"""Compute the loss of pairs across two modalities, with a temperature that is learned.

    It is two-sided :func:`in_batch_info_nce` at :math:`\tau = e^{-t}`, with a derivative on t as
    well: :math:`\partial E/\partial t = \sum_{ij} \frac{\partial E}{\partial(s_{ij}/\tau)}
    \frac{s_{ij}}{\tau}`.

    Parameters
    ----------
    a, b : array or Tensor of shape (n, d)
        Embeddings by the two encoders, row i of one belongs to row i of the other.
    log_scale : float or Tensor, a scalar
        t, at most ln 100 so that it cannot run away: a larger one counts as ln 100.
    ids : array of shape (n,) or (n, m), optional
        What each pair shows; pairs that agree in a column share their positives, so that equal
        captions are not negatives of each other.

    Returns
    -------
    ContrastiveLoss
        With gradients for a, b and log_scale.

    Raises
    ------
    DataError
        If shapes do not fit, a number is not finite, or an id is missing.
    ParameterError
        If log_scale is not finite.

    Warns
    -----
    DataWarning
        If anchors have no negative, or rows are zero.

    References
    ----------
    .. [1] A. Radford et al., Learning transferable visual models from natural language
       supervision, ICML 2021, https://arxiv.org/abs/2103.00020

    Examples
    --------
    >>> import math
    >>> loss = cross_modal([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], math.log(10))
    >>> print(f"{float(loss):.1e} {float(loss.gradients[2]):.1e}")
    4.5e-05 -4.5e-04
    """
    single = isinstance(log_scale, (Tensor, np.ndarray)) and log_scale.ndim == 0
    t = check_real("log_scale", log_scale.item() if single else log_scale)
    loss, found = _paired(a, b, math.exp(min(t, MAX_LOG_SCALE)), True, ids)
    to_t = found.to_log_scale if t <= MAX_LOG_SCALE else torch.zeros_like(found.value)
    gradients = (found.to_a, found.to_b, to_t)
    if isinstance(log_scale, Tensor):
        gradients = (found.to_a, found.to_b, to_t.reshape(log_scale.shape))
    return _finished(loss, attach(found.value, gradients, (a, b, log_scale)), gradients)


MAX_LOG_SCALE = math.log(100.0)


@dataclass(frozen=True)
class _Counts:
    n_anchors: int
    n_skipped: int
    n_zero_rows: int
    collapse: float
    floor: float


def _paired(a: Any, b: Any, scale: float, two_sided: bool, ids: Any) -> tuple[_Counts, PairLoss]:
    """Return counts, and the loss of checked embeddings."""
    left, right = wide("a", a).detach(), wide("b", b).detach()
    if left.shape != right.shape:
        raise DataError(f"b must have shape {tuple(left.shape)}. Got {tuple(right.shape)}.")
    dtype = torch.promote_types(left.dtype, right.dtype)
    units = unit_rows(left.to(dtype)), unit_rows(right.to(dtype))
    n = len(left)
    same = None if ids is None else same_id(id_numbers(ids, n).to(left.device))
    found = pair_loss(*units, scale, same, two_sided)
    n_zeros = units[0].n_zero_rows + units[1].n_zero_rows
    lonely = int(n == 1) if same is None else int((same.sum(1) == n).sum())
    sides = 2 if two_sided else 1
    warn_of_zeros(n_zeros)
    warn_of_skipped(sides * lonely, sides * n, NO_NEGATIVES)
    collapse, floor = references(same, n, scale, two_sided)
    return _Counts(sides * (n - lonely), sides * lonely, n_zeros, collapse, floor), found


def _finished(counts: _Counts, value: Tensor, gradients: tuple[Tensor, ...]) -> ContrastiveLoss:
    return ContrastiveLoss(
        value=value,
        gradients=gradients,
        n_anchors=counts.n_anchors,
        n_skipped=counts.n_skipped,
        n_zero_rows=counts.n_zero_rows,
        collapse=counts.collapse,
        floor=counts.floor,
    )
