"""Accuracy and R² in torch for many members at once, equal to scikit-learn's."""

from __future__ import annotations

import torch
from torch import Tensor


def _wide(values: Tensor) -> Tensor:
    """Return the values in double precision, where the device has it."""
    return values.float() if values.device.type == "mps" else values.double()


def _weights(weight: Tensor | None, like: Tensor) -> Tensor:
    """Return weights of the shape of ``like`` (..., B)."""
    if weight is None:
        return torch.ones_like(like)
    return _wide(weight).expand(like.shape)


def weighted_mean(values: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return the mean over rows, (..., B) to (...); rows of weight zero do not count.

    It is NaN where the weights add up to zero or a row that counts is not finite.
    """
    values = _wide(values)
    weights = _weights(weight, values)
    counted = torch.where(weights > 0, values, 0.0)
    return (weights * counted).sum(-1) / weights.sum(-1)


def accuracy(hit: Tensor, raw: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return the share of rows that are right; NaN if a raw output is not finite.

    ``hit`` is boolean (..., B) or, for several labels, (..., B, Q): then a row is right only
    if all its labels are (subset accuracy).
    """
    if hit.ndim == raw.ndim:
        hit = hit.all(-1)
    right = torch.where(raw.isfinite().all(-1), _wide(hit), torch.nan)
    return weighted_mean(right, weight)


def r2(prediction: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
    r"""Return the coefficient of determination, averaged over the targets.

    .. math:: R^2 = 1 - \sum_n w_n (y_n - \hat y_n)^2 / \sum_n w_n (y_n - \bar y)^2

    A constant target counts 1 if it is predicted exactly, else 0. It is NaN with fewer than
    two rows or a prediction that is not finite.
    """
    prediction = _wide(prediction)
    y = _wide(y).expand(prediction.shape)
    weights = _weights(weight, y[..., 0]).unsqueeze(-1)  # (..., B, 1)
    used = weights > 0
    y, prediction = torch.where(used, y, 0.0), torch.where(used, prediction, 0.0)

    centre = (weights * y).sum(-2, keepdim=True) / weights.sum(-2, keepdim=True)
    residual = (weights * (y - prediction).square()).sum(-2)  # (..., Q)
    spread = (weights * (y - centre).square()).sum(-2)
    share = 1.0 - residual / torch.where(spread > 0, spread, 1.0)
    constant = torch.where(residual == 0, 1.0, torch.where(residual.isfinite(), 0.0, torch.nan))
    value = torch.where(spread > 0, share, constant).mean(-1)

    enough = used.sum((-2, -1)) >= 2
    return torch.where(enough & prediction.isfinite().all(-1).all(-1), value, torch.nan)
