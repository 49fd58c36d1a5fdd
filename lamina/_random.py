r"""Random streams without state: a draw is a function of a seed and of where it is used.

Every random number in training belongs to one member and to one place (initial weights, the
order of rows in epoch 3, the dropout mask of step 70). It is computed from

.. math:: \text{Philox}(\text{key} = (\text{seed}, \text{purpose}), \text{counter} = \text{place})

so that no draw depends on what was drawn before, on the other members, or on where training
was interrupted.

References
----------
.. [1] J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011,
   https://doi.org/10.1145/2063384.2063405
"""

from __future__ import annotations

import numpy as np

from ._typing import IntArray

INIT = 1
"""Purpose: initial weights."""
ORDER = 2
"""Purpose: order of the rows within an epoch."""
DROPOUT = 3
"""Purpose: dropout masks."""
SPLIT = 4
"""Purpose: which rows are held out for validation."""
SAMPLE = 5
"""Purpose: draws from the predictive distribution of a row."""
NOISE = 6
"""Purpose: noise on the inputs."""

MASK64 = (1 << 64) - 1
"""A seed modulo 2**64 is ``seed & MASK64``."""


def generator(seed: int, purpose: int, place: int = 0) -> np.random.Generator:
    """Return the generator of one seed, purpose and place.

    Parameters
    ----------
    seed : int
        Seed of the member, any integer; taken modulo 2**64.
    purpose : int
        One of the purposes of this module.
    place : int, default=0
        Which draw of that purpose, for example the epoch.

    Examples
    --------
    >>> generator(7, ORDER, place=3).permutation(4).tolist() == permutation(7, 3, 4).tolist()
    True
    """
    key = np.array([seed & MASK64, purpose], dtype=np.uint64)
    counter = np.array([0, 0, place & MASK64, 0], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def permutation(seed: int, epoch: int, n: int) -> IntArray:
    """Return the order in which a member meets its ``n`` rows in an epoch."""
    return generator(seed, ORDER, epoch).permutation(n)


def spawn_seeds(seed: int, n: int) -> list[int]:
    """Return ``n`` seeds that differ from one another and are fixed by ``seed``."""
    state = np.random.SeedSequence(seed & MASK64).generate_state(n, dtype=np.uint64)
    return [int(word >> np.uint64(1)) for word in state]
