"""Torch's global settings while a stack trains; all are put back after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise

import torch

from ._plan import Group

SMALL = 200_000_000
"""Multiply-adds of a layer below which a second thread is not worth its risk.

On idle cores two threads are 1.5 times faster from a tenth of this on; on busy ones they wait for
each other and are 5 to 20 times slower.
"""


def largest_product(groups: Sequence[Group]) -> int:
    """Return the multiply-adds of the largest matrix product of any group's step."""
    products = (
        len(group.tasks) * max(task.batch_size for task in group.tasks) * a * b
        for group in groups
        for a, b in pairwise(group.sizes)
    )
    graphs = (
        task.batch_size * task.graph.engine().largest_product
        for group in groups
        for task in group.tasks
        if task.graph is not None
    )
    return max(chain(products, graphs), default=0)


@contextmanager
def threads_for(groups: Sequence[Group]) -> Iterator[None]:
    """Use one thread for small work, the caller's number otherwise, and put it back after."""
    with one_thread(largest_product(groups) < SMALL):
        yield


@contextmanager
def one_thread(small: bool) -> Iterator[None]:
    """Use one thread within the block if the work is small, and put the number back after."""
    before = torch.get_num_threads()
    if before == 1 or not small:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def without_onednn() -> Iterator[None]:
    """Keep torch from oneDNN, whose GELU takes contiguous memory only and rounds differently.

    A member's slice is contiguous when it is the last of its activation, and not before.
    """
    before = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.backends.mkldnn.enabled = before
