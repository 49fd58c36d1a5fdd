"""A fit in two halves, for whoever trains the members of many fits as one stack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lamina._typing import Array, DtypeName
from lamina.stack import Member, MemberState, StackResult

from ._members import Plan
from ._problem import Problem


@dataclass(frozen=True, eq=False)
class Preparation:
    """Everything that a multilayer perceptron's training depends on, once all is checked."""

    plan: Plan
    problem: Problem
    dtype: np.dtype[Any]  # of the fitted weights
    fresh: bool
    incremental: bool

    @property
    def precision(self) -> DtypeName:
        """In which the engine computes."""
        return "float32" if self.dtype == np.float32 else "float64"


@dataclass(frozen=True, eq=False)
class Begun:
    """A fit that waits for its members to be trained.

    What `lamina.stack.train` makes of ``members``, ``X``, ``y``, ``dtype`` and ``device``,
    given to ``finish``, makes the estimator what its ``fit`` would have made it, but for the
    curves of a training that was done in pieces, of which it has the last.
    """

    members: Sequence[Member]
    X: Any
    y: Array
    dtype: DtypeName
    device: str
    finish: Callable[[StackResult], None]
    states: Sequence[MemberState | None]
