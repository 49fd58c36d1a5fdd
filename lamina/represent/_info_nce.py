"""InfoNCE of anchors with their own positive and negatives."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lamina._errors import DataError

from ._loss import ContrastiveLoss, attach, check_temperature, warn_of_zeros
from ._reference import collapse_value, floor_value
from ._units import same_width, unit_rows, wide


def info_nce(
    anchor: Any, positive: Any, negatives: Any, temperature: float = 0.1
) -> ContrastiveLoss:
    r"""Compute InfoNCE of anchors, each with one positive and N negatives.

    With cosines :math:`s_0` of the positive and :math:`s_1, \dots, s_N` of the negatives,

    .. math:: E = -\ln\frac{e^{s_0/\tau}}{\sum_{j=0}^N e^{s_j/\tau}}
                = \operatorname{logsumexp}_j(s_j/\tau) - s_0/\tau ,

    the cross-entropy of a softmax over N + 1 classes whose true class is the positive.
    Embeddings are normalised inside; exponentials are never formed.

    Parameters
    ----------
    anchor : array or Tensor of shape (d,) or (A, d)
        One anchor or several; the loss is their mean.
    positive : array or Tensor of the shape of ``anchor``
        What belongs to each.
    negatives : array or Tensor of shape (N, d) or (A, N, d)
        What does not, the same for all anchors or for each its own.
    temperature : float, default=0.1
        τ, above 0.

    Returns
    -------
    ContrastiveLoss
        With gradients for anchor, positive and negatives.

    Raises
    ------
    DataError
        If shapes do not fit or a number is not finite.
    ParameterError
        If the temperature is below 1e-30.

    References
    ----------
    .. [1] A. van den Oord, Y. Li, O. Vinyals, Representation learning with contrastive
       predictive coding, 2018, https://arxiv.org/abs/1807.03748

    Examples
    --------
    >>> loss = info_nce([1.0, 0.0], [1.0, 0.0], [[-1.0, 0.0]] * 31, temperature=1.0)
    >>> print(f"{float(loss):.3f} {loss.floor:.3f} {loss.collapse:.3f}")
    1.648 1.648 3.466
    """
    tau = check_temperature(temperature)
    a, p, n = (
        wide("anchor", anchor, (1, 2)),
        wide("positive", positive, (1, 2)),
        wide("negatives", negatives, (2, 3)),
    )
    if a.shape != p.shape:
        raise DataError(f"positive must have shape {tuple(a.shape)}. Got {tuple(p.shape)}.")
    same_width("negatives", n, a)
    rows = a.reshape(-1, a.shape[-1])
    if n.ndim == 3 and len(n) != len(rows):
        raise DataError(f"negatives must be for {len(rows)} anchors. Got {len(n)}.")
    dtype = max(a.dtype, p.dtype, n.dtype, key=lambda kind: torch.finfo(kind).bits)
    value, gradients, n_zeros = _softmax_against(
        rows.to(dtype), p.reshape(rows.shape).to(dtype), n.to(dtype), tau
    )
    warn_of_zeros(n_zeros)
    shaped = (gradients[0].reshape(a.shape), gradients[1].reshape(a.shape), gradients[2])
    n_negatives = n.shape[-2]
    return ContrastiveLoss(
        value=attach(value, shaped, (anchor, positive, negatives)),
        gradients=shaped,
        n_anchors=len(rows),
        n_skipped=0,
        n_zero_rows=n_zeros,
        collapse=collapse_value(n_negatives),
        floor=floor_value(n_negatives, tau),
    )


def _softmax_against(
    anchor: Tensor, positive: Tensor, negatives: Tensor, tau: float
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor], int]:
    """Return value, gradients and number of zero rows, for anchors (A, d)."""
    with torch.no_grad():
        a, p, n = (unit_rows(z) for z in (anchor, positive, negatives))
        shared = negatives.ndim == 2
        own = (a.units * p.units).sum(1, keepdim=True)
        others = a.units @ n.units.mT if shared else (n.units @ a.units[:, :, None])[:, :, 0]
        log_p = torch.log_softmax(torch.cat([own, others], 1) / tau, 1)  # (A, 1 + N)
        delta = log_p.exp()
        delta[:, 0] -= 1.0
        delta /= tau * len(anchor)
        first, rest = delta[:, :1], delta[:, 1:]
        to_anchor = first * p.units
        if shared:
            to_anchor = to_anchor + rest @ n.units
            to_negatives = rest.mT @ a.units
        else:
            to_anchor = to_anchor + (rest[:, None] @ n.units)[:, 0]
            to_negatives = rest[:, :, None] * a.units[:, None]
        gradients = (
            a.pull_back(to_anchor),
            p.pull_back(first * a.units),
            n.pull_back(to_negatives),
        )
        n_zeros = a.n_zero_rows + p.n_zero_rows + n.n_zero_rows
        return -log_p[:, 0].mean(), gradients, n_zeros
