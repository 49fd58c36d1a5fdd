"""Who trains together: groups of members whose steps are one program.

Members of a group share depth, batch size, steps per epoch, head and optimiser with its
settings; widths may differ within limits (narrower members are padded with zeros, which stay
zero), everything else may differ freely. Within a group members are ordered so that one
activation is one contiguous slice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ._optimizers import LBFGS
from ._task import Task

OVERHEAD = 400_000
"""Cost of a step's bookkeeping, in multiply-adds: about 20 µs on one core."""

PADDING = 1.5
"""A member joins a group if padding makes it no more than this many times as costly."""

GROUP_BYTES = 24 * 2**20
"""Largest working set of a group: parameters, gradients, moments and one batch."""


@dataclass(frozen=True)
class Group:
    """Members that train as one program, with the padded layer sizes of their buffers."""

    tasks: tuple[Task, ...]
    sizes: tuple[int, ...]

    @property
    def padded(self) -> bool:
        """Whether some member is narrower than the buffers."""
        return any(task.sizes != self.sizes for task in self.tasks)


def plan(tasks: Sequence[Task], itemsize: int) -> list[Group]:
    """Return the groups of a stack, each task in exactly one.

    Parameters
    ----------
    tasks : sequence of Task
        The members with their data.
    itemsize : int
        Bytes per number.
    """
    by_key: dict[Hashable, list[Task]] = defaultdict(list)
    for task in tasks:
        by_key[_key(task)].append(task)
    groups = []
    for family in by_key.values():
        family.sort(key=lambda task: (-_cost(task.sizes, task.batch_size), task.sizes))
        groups.extend(_cut(family, itemsize))
    return groups


def _key(task: Task) -> Hashable:
    """Return what the members of a group must share."""
    member = task.member
    by_itself = isinstance(member.optimizer, LBFGS) or task.graph is not None
    alone = task.index if by_itself else -1
    return (
        len(task.sizes),
        task.sizes[-1],
        task.n_steps,
        task.batch_size if task.n_steps > 1 else -1,
        task.head,
        member.optimizer,
        task.learned,
        member.shuffle or task.full_batch,
        alone,
    )


def _cost(sizes: Sequence[int], batch_size: int) -> float:
    """Return the cost of a step in multiply-adds."""
    return OVERHEAD + 3.0 * batch_size * sum(a * b for a, b in pairwise(sizes))


def _bytes(sizes: Sequence[int], batch_size: int, itemsize: int) -> int:
    """Return a member's working set: four parameter-sized buffers and the batch's units."""
    n_parameters = sum(b * (a + 1) for a, b in pairwise(sizes))
    return itemsize * (4 * n_parameters + 2 * batch_size * sum(sizes))


def _cut(family: list[Task], itemsize: int) -> list[Group]:
    """Cut members of one key, widest first, into groups of similar width."""
    groups: list[Group] = []
    current: list[Task] = []
    widest: tuple[int, ...] = ()
    for task in family:
        joined = tuple(map(max, widest, task.sizes)) if current else task.sizes
        batch = max(task.batch_size, *(t.batch_size for t in current)) if current else 0
        limit = PADDING * min(_cost(t.sizes, t.batch_size) for t in (*current, task))
        too_wide = current and _cost(joined, batch) > limit
        too_big = current and (len(current) + 1) * _bytes(joined, batch, itemsize) > GROUP_BYTES
        if too_wide or too_big:
            groups.append(_ordered(current, widest))
            current, joined = [], task.sizes
        current.append(task)
        widest = joined
    groups.append(_ordered(current, widest))
    return groups


def _ordered(tasks: list[Task], sizes: tuple[int, ...]) -> Group:
    """Order members by activation, so that each activation is one slice."""
    ordered = sorted(tasks, key=lambda task: (repr(task.member.activations), task.index))
    return Group(tuple(ordered), sizes)
