"""Whether numbers are finite, found out quickly where they are."""

from __future__ import annotations

import torch
from torch import Tensor


def all_finite(values: Tensor) -> bool:
    """Return whether every number is finite."""
    # A sum is not finite where one of its numbers is not; otherwise it may have overflowed.
    return bool(torch.isfinite(values.sum())) or bool(torch.isfinite(values).all())
