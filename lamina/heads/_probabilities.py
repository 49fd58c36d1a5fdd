"""Notice that probabilities were given where raw outputs belong, and say what it costs."""

from __future__ import annotations

import math
import warnings

import torch
from torch import Tensor

from lamina._errors import ProbabilityWarning

# Nats by which reading the values as probabilities must explain the labels better than reading
# them as logits. If they are calibrated logits, that happens with probability at most exp(-3).
_EVIDENCE = 3.0


def floor_of_double_softmax(n_classes: int) -> float:
    r"""Return the least cross-entropy that softmax applied twice can reach, in nats.

    .. math:: \ln\left(1 + (K - 1) / e\right)

    The best that probabilities can do as logits is 1 for the right class and 0 for the others.

    Parameters
    ----------
    n_classes : int
        Number of classes, :math:`K`.

    Returns
    -------
    float
        The least error of a row.

    Examples
    --------
    >>> round(floor_of_double_softmax(3), 4)
    0.5514
    """
    return math.log1p((n_classes - 1) / math.e)


def _in_unit_interval(raw: Tensor) -> bool:
    return raw.numel() > 0 and bool(((raw >= 0) & (raw <= 1)).all())


def look_like_softmax(raw: Tensor) -> bool:
    """Return whether every row (..., K) is non-negative and adds up to one."""
    tolerance = 1e-3 if raw.element_size() < 4 else 1e-5
    return _in_unit_interval(raw) and bool(((raw.sum(-1) - 1).abs() <= tolerance).all())


def look_like_sigmoid(raw: Tensor, y: Tensor) -> bool:
    """Return whether values in [0, 1] explain the labels better as probabilities.

    Logits may lie in [0, 1] by right, so the labels decide.
    """
    if not _in_unit_interval(raw):
        return False
    as_logits = torch.nn.functional.softplus(raw) - y * raw
    as_probabilities = -(torch.xlogy(y, raw) + torch.special.xlog1py(1 - y, -raw))
    return bool(as_logits.sum() - as_probabilities.sum() > _EVIDENCE)


def warn_about_softmax(n_classes: int) -> None:
    """Warn that softmax seems to have been applied before the head."""
    warnings.warn(
        "raw must be logits, not probabilities. Got rows in [0, 1] that each add up to 1, so "
        "softmax would be applied twice: logits (10, 0, 0) with target 0 have error 9e-05, their "
        "softmax taken as logits has 0.5515, and with "
        f"{n_classes} classes the error cannot fall below ln(1 + {n_classes - 1}/e) = "
        f"{floor_of_double_softmax(n_classes):.4f}. Give the outputs before softmax.",
        ProbabilityWarning,
        stacklevel=4,
    )


def warn_about_sigmoid() -> None:
    """Warn that the logistic sigmoid seems to have been applied before the head."""
    warnings.warn(
        "raw must be logits, not probabilities. Got values that all lie in [0, 1] and explain "
        "the labels better as probabilities, so the sigmoid would be applied twice: logit 10 "
        "with target 1 has error 5e-05, its sigmoid taken as a logit has 0.3133, and no error "
        "can fall below ln(1 + 1/e) = 0.3133. Give the outputs before the sigmoid.",
        ProbabilityWarning,
        stacklevel=4,
    )
