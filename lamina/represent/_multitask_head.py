"""Several targets with a head each, of which a row may have any number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NoReturn

import numpy as np
import torch
from torch import Tensor

from lamina._checks import shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array
from lamina.heads import Categorical, Head


@dataclass(frozen=True)
class MultitaskHead(Head):
    r"""The errors of several tasks added up, each over the rows that have its target.

    .. math:: E(a, y) = \sum_t c_t \, E_t(a_t, y_t)

    with a slice of the raw outputs for each task. The factors belong to the row: 0 where the
    target is missing, and :math:`c_t = w_t N / N_t` where it is there make the mean over all N
    rows what one wants, :math:`\sum_t w_t` times the mean over the :math:`N_t` observed targets.

    Parameters
    ----------
    heads : tuple of Head
        One for each task, with one target each; `Categorical` with its ``n_classes``.

    Notes
    -----
    Targets have two columns for each task, all values first and then all factors. What stands
    for a missing value must be a possible one, such as 0.

    References
    ----------
    .. [1] R. Caruana, Multitask learning, Machine Learning 28, 1997,
       https://doi.org/10.1023/A:1007379606734

    Examples
    --------
    >>> from lamina.heads import Normal
    >>> head = MultitaskHead((Normal(), Categorical(3)))
    >>> head.n_raw(2)
    4
    >>> raw = torch.zeros(2, 4)
    >>> y = torch.tensor([[0.0, 2.0, 1.0, 1.0], [0.0, 2.0, 0.0, 1.0]])  # no first target in row 1
    >>> head.error(raw, y)
    tensor([2.0176, 1.0986])
    """

    heads: tuple[Head, ...]

    name: ClassVar[str] = "multitask"
    metric_name: ClassVar[str] = "minus the loss"

    def __post_init__(self) -> None:
        if not isinstance(self.heads, (tuple, list)):
            raise ParameterError(
                f"heads must be a tuple with a head for each task. Got {shown(self.heads)}."
            )
        heads = tuple(self.heads)
        for head in heads:
            if not isinstance(head, Head) or head.shared_raw(_n(head)):
                raise ParameterError(
                    "heads must be heads without noise that is the same in all rows. "
                    f"Got {shown(head)}."
                )
        object.__setattr__(self, "heads", heads)

    @property
    def widths(self) -> tuple[int, ...]:
        """Raw outputs of each task."""
        return tuple(head.n_raw(_n(head)) for head in self.heads)

    def n_targets(self, y: Array) -> int:
        """Return the number of tasks."""
        return len(self.heads)

    def n_raw(self, n_targets: int) -> int:
        """Return the raw outputs of all tasks together."""
        return sum(self.widths)

    def targets(self, y: Array) -> Array:
        """Return values and factors as float64 of shape (N, 2 T)."""
        array, n_tasks = np.asarray(y), len(self.heads)
        if array.dtype.kind not in "biuf":
            raise DataError(f"y must hold numbers, values and factors. Got dtype {array.dtype}.")
        columns = array.astype(np.float64)
        if columns.ndim != 2 or columns.shape[1] != 2 * n_tasks:
            raise DataError(
                f"y must have {2 * n_tasks} columns, values and factors of {n_tasks} tasks. "
                f"Got shape {columns.shape}."
            )
        factors = columns[:, n_tasks:]
        if not np.isfinite(columns).all() or (factors < 0).any():
            raise DataError(
                "y must hold finite values, and factors of at least 0, which are 0 where a value "
                "is missing. Got others."
            )
        for head, column in zip(self.heads, columns.T, strict=False):
            head.targets(column)
        return columns

    def slices(self, raw: Any) -> list[Any]:
        """Return the raw outputs of each task, (..., B, Q_t)."""
        ends = np.cumsum((0, *self.widths))
        return [raw[..., a:b] for a, b in pairwise(ends)]

    def _tasks(self, raw: Tensor, y: Tensor) -> Iterator[tuple[Head, Tensor, Tensor, Tensor]]:
        """Yield head, raw outputs, target and factor (..., B) of each task."""
        n_tasks = len(self.heads)
        for t, (head, part) in enumerate(zip(self.heads, self.slices(raw), strict=True)):
            value = y[..., t]
            target = value.long() if isinstance(head, Categorical) else value.unsqueeze(-1)
            yield head, part, target, y[..., n_tasks + t]

    def _check(self, raw: Tensor, y: Tensor) -> None:
        if raw.shape[-1] != sum(self.widths) or y.shape[-1] != 2 * len(self.heads):
            raise DataError(
                f"raw must have {sum(self.widths)} columns, and y {2 * len(self.heads)}. "
                f"Got {tuple(raw.shape)} and {tuple(y.shape)}."
            )

    def _error(self, raw: Tensor, y: Tensor) -> Tensor:
        return torch.stack(
            [
                _counted(c, head._error(part, target))
                for head, part, target, c in self._tasks(raw, y)
            ]
        ).sum(0)

    def error_and_gradient(self, raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error (..., B) and its gradient (..., B, Q), without checks."""
        errors, gradients = [], []
        for head, part, target, factor in self._tasks(raw, y):
            error, gradient = head.error_and_gradient(part, target)
            errors.append(_counted(factor, error))
            gradients.append(_counted(factor.unsqueeze(-1), gradient))
        return torch.stack(errors).sum(0), torch.cat(gradients, -1)

    def distribution(self, raw: Tensor) -> NoReturn:
        """Raise, since the tasks have a distribution each and none together."""
        raise ParameterError(
            "head must be that of one task to have a distribution. Got a multitask head. "
            "Use heads[t].distribution(slices(raw)[t])."
        )

    def mean(self, raw: Tensor) -> Tensor:
        """Return the conditional means of all tasks side by side."""
        parts = zip(self.heads, self.slices(raw), strict=True)
        return torch.cat([head.mean(part) for head, part in parts], -1)

    def score(self, raw: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return minus the mean error, over rows that have a weight."""
        error = self._error(raw, y).double()
        if weight is None:
            return -error.mean(-1)
        counted = torch.where(weight > 0, error, 0.0)
        return -(weight * counted).sum(-1) / weight.sum(-1)

    def _to_config(self) -> dict[str, Any]:
        return {"name": self.name, "heads": [head._to_config() for head in self.heads]}


def _counted(factor: Tensor, values: Tensor) -> Tensor:
    """Return factor · values, and 0 where the factor is 0, even of what has overflowed."""
    return torch.where(factor > 0, factor * values, 0.0)


def _n(head: Head) -> int:
    """Return what `n_raw` takes: the classes, or one target."""
    if not isinstance(head, Categorical):
        return 1
    if head.n_classes is None:
        raise ParameterError("heads must have n_classes where they are Categorical. Got none.")
    return head.n_classes
