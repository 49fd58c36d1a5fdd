"""A member together with the data it is trained on: everything that depends on both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from lamina._checks import shown
from lamina._errors import DataError, ParameterError
from lamina._random import INIT, generator
from lamina._typing import Array, FloatArray, IntArray
from lamina.heads import Head
from lamina.nn import GraphNetwork, Identity, Network, PReLU, initialise

from ._member import Member
from ._optimizers import LBFGS


@dataclass(frozen=True, eq=False)
class Task:
    """One member with its true layer sizes, rows and weights.

    Attributes
    ----------
    index : int
        Place of the member in the list given by the user.
    sizes : tuple of int
        Inputs, hidden widths, raw outputs.
    rows, validation_rows : array of int or None
        Rows for training (None means all) and held-out rows (None means none).
    n_shared : int
        How many of the last raw outputs do not depend on the inputs.
    """

    index: int
    member: Member
    head: Head
    sizes: tuple[int, ...]
    rows: IntArray | None
    n_rows: int
    validation_rows: IntArray | None
    sample_weight: FloatArray | None
    n_shared: int = 0

    @property
    def full_batch(self) -> bool:
        """Whether every step sees all rows."""
        return isinstance(self.member.optimizer, LBFGS) or self.member.batch_size >= self.n_rows

    @property
    def batch_size(self) -> int:
        """Rows per step."""
        return self.n_rows if self.full_batch else self.member.batch_size

    @property
    def n_steps(self) -> int:
        """Steps per epoch."""
        return -(-self.n_rows // self.batch_size)

    @property
    def learned(self) -> tuple[bool, ...]:
        """For each hidden layer, whether its activation learns slopes."""
        return tuple(activation.learned for activation in self.member.activations)

    @property
    def graph(self) -> GraphNetwork | None:
        """The graph that the member is, or None where it is made of layers."""
        return self.member.init if isinstance(self.member.init, GraphNetwork) else None

    @property
    def graph_mark(self) -> str | None:
        """A hash of the graph, or None where the member is made of layers."""
        return None if self.graph is None else self.graph.engine().fingerprint

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the weights, then of the biases, then of the learned slopes."""
        if self.graph is not None:
            weights, biases, slopes = (tuple(p.shape) for p in self.graph.graph_parameters())
            return [weights, biases, *([slopes] if slopes[0] else [])]
        matrices = [(n_out, n_in) for n_in, n_out in pairwise(self.sizes)]
        learned = [n for n, learns in zip(self.member.sizes, self.learned, strict=True) if learns]
        return [*matrices, *((n,) for n in (*self.sizes[1:], *learned))]


def make_task(
    index: int, member: Member, n_samples: int, n_features: int, n_raw: int, n_shared: int = 0
) -> Task:
    """Return the task of one member, or raise a sentence that names what does not fit."""
    name = f"members[{index}]"
    weight = _check_weight(f"{name}.sample_weight", member.sample_weight, n_samples)
    rows = _check_rows(f"{name}.rows", member.rows, n_samples)
    if weight is not None:
        rows = _without_weightless(name, rows, weight)
    held_out = _check_rows(f"{name}.validation_rows", member.validation_rows, n_samples)
    if weight is not None and held_out is not None and not (weight[held_out] > 0).any():
        raise DataError(
            f"{name}.sample_weight must be above 0 in at least one of validation_rows. Got all 0."
        )
    assert isinstance(member.head, Head)
    if isinstance(member.init, GraphNetwork):
        _check_graph(f"{name}.init", member.init, n_features, n_raw, n_shared)
    return Task(
        index=index,
        member=member,
        head=member.head,
        sizes=(n_features, *member.sizes, n_raw),
        rows=rows,
        n_rows=n_samples if rows is None else len(rows),
        validation_rows=held_out,
        sample_weight=weight,
        n_shared=n_shared,
    )


def _check_graph(
    name: str, graph: GraphNetwork, n_features: int, n_raw: int, n_shared: int
) -> None:
    """Refuse a graph that has other inputs than X, or other outputs than the head wants."""
    n_in, n_out = len(graph.inputs), len(graph.outputs)
    if n_in != n_features:
        raise ParameterError(
            f"{name} must have as many inputs as X has columns, {n_features}. "
            f"Got {n_in}: {shown(graph.inputs)}."
        )
    if n_out != n_raw:
        raise ParameterError(
            f"{name} must have as many outputs as the head has raw outputs, {n_raw}. "
            f"Got {n_out}: {shown(graph.outputs)}."
        )
    shared = set(graph.outputs[n_out - n_shared :])
    wrong = [unit for unit in graph.inputs if unit in shared]
    if wrong:
        raise ParameterError(
            f"{name} must have units as its last {n_shared} outputs, which hold what is the "
            f"same in every row. Got the input {wrong[0]!r}."
        )


def _check_rows(name: str, rows: Array | None, n_samples: int) -> IntArray | None:
    if rows is None:
        return None
    array = np.asarray(rows)
    if array.dtype == bool:
        raise ParameterError(
            f"{name} must be an array of row numbers. Got a mask of booleans. "
            "Use numpy.flatnonzero(mask)."
        )
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ParameterError(f"{name} must be a 1-D array of row numbers. Got {shown(rows)}.")
    if array.size == 0:
        raise DataError(f"{name} must hold at least one row. Got none.")
    if array.min() < 0 or array.max() >= n_samples:
        worst = array.max() if array.max() >= n_samples else array.min()
        raise DataError(f"{name} must be row numbers from 0 to {n_samples - 1}. Got {worst}.")
    return array.astype(np.int64, copy=False)


def _check_weight(name: str, weight: Array | None, n_samples: int) -> FloatArray | None:
    if weight is None:
        return None
    array = np.asarray(weight)
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} must hold real numbers. Got dtype {array.dtype}.")
    array = array.astype(np.float64)
    if array.shape != (n_samples,):
        raise DataError(
            f"{name} must have one weight for each of the {n_samples} rows of X. "
            f"Got an array of shape {array.shape}."
        )
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if wrong.size:
        raise DataError(
            f"{name} must be finite and at least 0. Got {array[wrong[0]]} in row {wrong[0]}."
        )
    return array


def _without_weightless(name: str, rows: IntArray | None, weight: FloatArray) -> IntArray | None:
    """Drop rows of weight zero: they must not fill batches."""
    used = weight if rows is None else weight[rows]
    if not (used > 0).any():
        raise DataError(f"{name}.sample_weight must be above 0 in at least one row. Got all 0.")
    if (used > 0).all():
        return rows
    return np.flatnonzero(used > 0) if rows is None else rows[used > 0]


def initial_arrays(task: Task) -> list[FloatArray]:
    """Return a member's first weights, then biases, then learned slopes."""
    if task.graph is not None:
        parameters = [p.double().cpu().numpy().copy() for p in task.graph.graph_parameters()]
        if not all(np.isfinite(array).all() for array in parameters):
            raise ParameterError(
                f"members[{task.index}].init must be finite. Got NaN or infinity."
            )
        weights, biases, slopes = parameters
        if task.n_shared:
            weights[task.graph.engine().edges_into_outputs(task.n_shared).numpy()] = 0.0
        return [weights, biases, *([slopes] if slopes.size else [])]
    arrays = _arrays(task)
    if task.n_shared:
        last = len(task.sizes) - 2
        arrays[last] = np.array(arrays[last])
        arrays[last][-task.n_shared :] = 0.0
    return arrays


def _arrays(task: Task) -> list[FloatArray]:
    member = task.member
    if isinstance(member.init, Network):
        return _network_arrays(task, member.init)
    slopes = [
        np.full(width, activation.init)
        for width, activation in zip(member.sizes, member.activations, strict=True)
        if isinstance(activation, PReLU)
    ]
    if isinstance(member.init, (list, tuple)):
        layers = _layers(task, member.init)
    else:
        rng = generator(member.seed, INIT)
        layers = initialise(task.sizes, member.init, member.activations, rng)  # type: ignore[arg-type]
    return [w for w, _ in layers] + [b for _, b in layers] + slopes


def _network_arrays(task: Task, net: Network) -> list[FloatArray]:
    layers = _layers(task, net.layers())
    wanted = (*task.member.activations, Identity())
    if tuple(net.activations) != wanted:
        raise ParameterError(
            f"members[{task.index}].init must be a network with the member's activations "
            f"{wanted}, the last one after the output layer. Got {tuple(net.activations)}."
        )
    slopes = [s.detach().cpu().numpy().reshape(-1) for s in net.slopes if s is not None]
    return [w for w, _ in layers] + [b for _, b in layers] + slopes


def _layers(task: Task, init: Sequence[Any]) -> Sequence[tuple[FloatArray, FloatArray]]:
    """Return the user's weights and biases as arrays that fit the member."""
    name = f"members[{task.index}].init"
    try:
        layers = [(np.array(w, dtype=np.float64), np.array(b, dtype=np.float64)) for w, b in init]
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"{name} must be pairs (W, b) of arrays, one for each layer. Got {shown(init)}."
        ) from error
    n_layers = len(task.sizes) - 1
    wanted = task.shapes[:n_layers]
    got = [w.shape for w, _ in layers]
    if got != wanted or [b.shape for _, b in layers] != task.shapes[n_layers : 2 * n_layers]:
        raise ParameterError(
            f"{name} must have weights (out, in) of shapes {wanted} and biases to match. "
            f"Got weights of shapes {got}."
        )
    if not all(np.isfinite(array).all() for layer in layers for array in layer):
        raise ParameterError(f"{name} must be finite. Got NaN or infinity.")
    return layers
