"""What a contrastive loss has to be compared with."""

from __future__ import annotations

import math

from lamina._checks import check_integer, check_real


def collapse_value(n_negatives: int) -> float:
    r"""Return InfoNCE where all embeddings are one point, and also that of guessing.

    .. math:: \ln(N + 1)

    Parameters
    ----------
    n_negatives : int
        N, negatives of an anchor; a batch of B pairs has B - 1.

    Returns
    -------
    float
        In nats.

    Examples
    --------
    >>> print(f"{collapse_value(31):.3f} {collapse_value(127):.3f}")
    3.466 4.852
    """
    return math.log(check_integer("n_negatives", n_negatives, 0) + 1)


def floor_value(n_negatives: int, temperature: float = 1.0) -> float:
    r"""Return the least InfoNCE that cosines allow.

    .. math:: \ln\left(1 + N e^{-2/\tau}\right),

    with the positive at cosine 1 and every negative at -1. With two negatives or more not all
    anchors of a batch can have it at once.

    Parameters
    ----------
    n_negatives : int
        N, negatives of an anchor.
    temperature : float, default=1.0
        τ.

    Returns
    -------
    float
        In nats.

    Examples
    --------
    >>> print(f"{floor_value(31):.3f} {floor_value(31, 0.1):.1e}")
    1.648 6.4e-08
    """
    n = check_integer("n_negatives", n_negatives, 0)
    tau = check_real("temperature", temperature, 0.0, open_minimum=True)
    return math.log1p(n * math.exp(-2.0 / tau))
