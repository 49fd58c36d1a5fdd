"""A look at what a training made: whether it is finite, and whether rows differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning

from lamina._errors import DivergedError
from lamina._finite import all_finite
from lamina._random import SAMPLE, generator
from lamina._typing import FloatArray, IntArray
from lamina.nn import Network
from lamina.represent import cosine_similarities, row_ids

from ._encoder_warnings import warn_user

COLLAPSED_COSINE = 0.99
N_LOOKED_AT = 256


def some_rows(data: FloatArray, seed: int) -> FloatArray:
    """Return rows drawn by a seed, each once; equal ones only where all are equal."""
    drawn = generator(seed, SAMPLE).permutation(len(data))[:N_LOOKED_AT]
    some = data[drawn]
    found = some[_firsts(some)]
    if len(found) < 2:  # most rows are equal: look for the others among all of them
        found = data[_firsts(data)[:N_LOOKED_AT]]
    return found if len(found) > 1 else some


def _firsts(rows: FloatArray) -> IntArray:
    """Return where each different row is first met."""
    places: IntArray = np.unique(row_ids(rows), return_index=True)[1]
    return places


def check_finite(
    networks: Sequence[Network], seen: Sequence[FloatArray], step: int, power: int
) -> None:
    """Raise if weights, or outputs to the power that the loss takes them to, are not finite."""
    for network, rows in zip(networks, seen, strict=True):
        outputs = torch.from_numpy(network.predict_raw(rows)) ** power
        if not all(map(all_finite, (outputs, *network.parameters()))):
            raise DivergedError(
                f"Training must keep finite outputs. Got some that are not after step {step}. "
                "Lower learning_rate_init."
            )


def warn_if_collapsed(outputs: FloatArray) -> None:
    """Say so where all rows of what the loss looks at are about one point."""
    n = len(outputs)
    if n < 2:
        return
    cosines = cosine_similarities(outputs.astype(np.float64))
    mean = float((cosines.sum() - np.trace(cosines)) / (n * (n - 1)))
    if mean > COLLAPSED_COSINE or not outputs.any():
        warn_user(
            f"The representation has collapsed: different rows have a mean cosine of "
            f"{mean:.3f}. Take stronger views, a lower temperature, a smaller "
            "learning_rate_init or more rows.",
            ConvergenceWarning,
        )
