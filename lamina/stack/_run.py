"""A group in training: its buffers, its members still running, and what it takes to run them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from lamina._typing import Array, FloatArray, IntArray
from lamina.nn import Network

from ._batches import Batches
from ._cpu import CpuMember
from ._data import Rows
from ._dropout import DropoutPlan
from ._evaluate import Validation
from ._graph import GraphProgram
from ._layers import layer_views, pieces_of, unit_mask
from ._ledger import Ledger
from ._noise import NoisePlan
from ._optimizers import Optimizer
from ._parameters import Layout
from ._passes import Program
from ._plan import Group
from ._task import Task
from ._update import Column, column, make_updater

BEST = "best"


class GroupRun:
    """The state of one group; the functions of ``_steps.py`` move it forward.

    ``store`` holds a row for every member of the group, ``theta`` and ``extra`` hold the rows
    of the ``live`` ones, which shrink as members stop. A stack that began with two or more
    members never runs with one alone (a finished member travels as a passenger, and what
    happens to it is not kept): BLAS treats a batch of one differently, and the survivor's last
    bit would depend on its neighbours.
    """

    def __init__(
        self,
        group: Group,
        rows: Rows,
        y: Tensor,
        ledger: Ledger,
        dtype: str,
        backend: str = "torch",
    ) -> None:
        self.group, self.rows, self.y, self.ledger = group, rows, y, ledger
        self.backend = backend
        self.head = group.tasks[0].head
        self.dtype = dtype
        first = group.tasks[0]
        graph = [] if first.graph is None else first.shapes
        self.layout = Layout(group.sizes, first.learned, graph)
        k, p = len(group.tasks), self.layout.n_total
        like = torch.zeros(0, dtype=rows.dtype, device=rows.device)
        self.keeps_best = [_keeps_best(task) for task in group.tasks]
        self.optimizer: Optimizer = group.tasks[0].member.optimizer  # type: ignore[assignment]
        small = like.new_empty(1, 1)
        self.updater = make_updater(self.optimizer, self.layout, [group.sizes], small)
        self.n_moments = self.updater.n_moments
        self.n_steps = group.tasks[0].n_steps
        names = ["theta", *([BEST] if any(self.keeps_best) else [])]
        names += [f"moment{i}" for i in range(self.n_moments)]
        self.store = {name: like.new_zeros(k, p) for name in names}
        self.live: list[int] = []
        self.riding: int | None = None
        self.in_epoch = False
        self.cpu: CpuMember | None = None
        self.stop: Any = None
        self.last: dict[str, Array] = {}

    @property
    def tasks(self) -> list[Task]:
        """The tasks of the live rows."""
        return [self.group.tasks[i] for i in self.live]

    @property
    def ids(self) -> IntArray:
        """The live rows' places in the user's list."""
        return np.array([task.index for task in self.tasks])

    @property
    def running(self) -> list[int]:
        """Places in the group of members that have neither stopped nor paused."""
        members = np.array([task.index for task in self.group.tasks])
        return [int(i) for i in np.flatnonzero(self.ledger.going(members))]

    def activate(self) -> None:
        """Take the running members, and at most one passenger, into the live buffers."""
        live = self.running
        self.riding = None
        if len(live) == 1 and len(self.group.tasks) > 1:
            self.riding = next(i for i in range(len(self.group.tasks)) if i != live[0])
            live = sorted([*live, self.riding])
        index = torch.tensor(live, dtype=torch.int64, device=self.store["theta"].device)
        self.buffers = {name: t.index_select(0, index) for name, t in self.store.items()}
        self.live = live  # not before there are buffers: Ctrl-C may look at any moment
        self.theta = self.buffers["theta"]
        self.grad = torch.zeros_like(self.theta)
        # The weights stand before the biases in each row.
        self.weights = self.theta[:, : self.layout.n_weights]
        self.weight_grads = self.grad[:, : self.layout.n_weights]
        self.moments = [self.buffers[f"moment{i}"] for i in range(self.n_moments)]
        self.kept = {name: t.clone() for name, t in self.buffers.items() if name != BEST}
        held_out = any(task.validation_rows is not None for task in self.tasks)
        self.validation = (
            Validation(self.tasks, self.group.tasks, self.rows, self.y) if held_out else None
        )
        if self.backend == "cpu":
            self.cpu = CpuMember(self)
        else:
            self._make_program()
            self._make_settings()

    def release(self) -> None:
        """Give the working memory back; the store stays."""
        self.live, self.cpu, self.stop = [], None, None
        del self.buffers, self.theta, self.grad, self.weights, self.weight_grads
        del self.moments, self.kept

    def _make_program(self) -> None:
        tasks, theta = self.tasks, self.theta
        seeds = [task.member.seed for task in tasks]
        rates = [task.member.dropout for task in tasks]
        dropout = DropoutPlan(seeds, rates, theta) if any(rates) else None
        noises = [task.member.input_noise for task in tasks]
        self.noise = NoisePlan(seeds, noises, theta) if any(noises) else None
        self.program = self._program(dropout)
        self.batches = Batches(tasks, self.group.tasks, self.rows, self.y)
        size = self.batches.batch_size
        space = self.program.workspace(size, training=True)
        self.spaces: dict[int, Any] = {
            size: space,
            self.batches.last: space.rows(self.batches.last),
        }
        if self.batches.last == size:
            self.spaces[size] = space

    def _program(self, dropout: DropoutPlan | None) -> Program | GraphProgram:
        """Return the passes of the live members."""
        tasks, layout, theta = self.tasks, self.layout, self.theta
        if tasks[0].graph is not None:
            return GraphProgram(
                tasks[0].graph, layout, theta, self.grad, dropout, tasks[0].n_shared
            )
        widths = layout.sizes[1:-1]
        return Program(
            layers=layer_views(layout, theta, self.grad),
            hidden=[pieces_of(tasks, i) for i in range(len(widths))],
            unit_masks=[unit_mask(tasks, w, i, theta) for i, w in enumerate(widths)],
            dropout=dropout if widths else None,
            n_shared=tasks[0].n_shared,
        )

    def _make_settings(self) -> None:
        tasks, theta = self.tasks, self.theta
        members = [task.member for task in tasks]
        decay = np.array([m.weight_decay for m in members])
        decoupled = self.optimizer.decoupled
        sizes = [task.sizes for task in tasks]
        self.updater = make_updater(self.optimizer, self.layout, sizes, theta)
        self.alpha: Column = column([m.alpha for m in members], theta)
        self.decay: Column = column(decay if not decoupled else np.zeros_like(decay), theta)
        self.shrink: Column = column(decay if decoupled else np.zeros_like(decay), theta)
        clips = [np.inf if m.clip_norm is None else m.clip_norm for m in members]
        self.clip: Column = column(clips, theta)
        self.penalized = any(m.alpha for m in members)
        self.decays, self.shrinks = (bool(decay.any()) and d == decoupled for d in (False, True))
        self.clips = any(m.clip_norm is not None for m in members)

    def rate_table(self) -> tuple[FloatArray, FloatArray]:
        """Return corrected and plain learning rates ``(S, K)`` of the coming epoch."""
        n = self.n_steps
        ledger, ids = self.ledger, self.ids
        plain = np.empty((n, len(ids)))
        for k, task in enumerate(self.tasks):
            member, i = task.member, task.index
            epoch, seen = int(ledger.epoch[i]), int(ledger.seen[i])
            factors = member.schedule.factors(epoch, n, max(member.max_epochs, epoch + 1), seen)  # type: ignore[union-attr]
            plain[:, k] = member.learning_rate * ledger.lr_scale[i] * factors
        steps = ledger.step[ids][None, :] + np.arange(1, n + 1)[:, None]
        return self.updater.rates(plain, steps.astype(np.float64)), plain

    def begin_epoch(self) -> None:
        """Keep parameters and moments as they are after a whole epoch."""
        for name, tensor in self.kept.items():
            tensor.copy_(self.buffers[name])
        self.in_epoch = True

    def give_up_epoch(self) -> None:
        """Go back to the last whole epoch, if one is under way."""
        if self.in_epoch:
            for name, tensor in self.kept.items():
                self.buffers[name].copy_(tensor)
        self.in_epoch = False

    def sync(self) -> None:
        """Copy the live rows, without a passenger's, back into the store."""
        for place, i in enumerate(self.live):
            if i != self.riding:
                self.retire(place)

    def retire(self, place: int) -> None:
        """Copy one live row back into the store."""
        for name, tensor in self.buffers.items():
            self.store[name][self.live[place]] = tensor[place]

    def current_network(self, i: int) -> Network:
        """Return the network of a member as it is now, or as it was when it left."""
        if self.backend == "cpu":
            # Stored after each epoch; a worker may be within the next one.
            return self._network(self.store["theta"][i], self.group.tasks[i])
        live = i in self.live and i != self.riding
        row = self.theta[self.live.index(i)] if live else self.store["theta"][i]
        return self._network(row, self.group.tasks[i])

    def result_row(self, i: int) -> Tensor:
        """Return the stored row that is the member's result: its best epoch, or its last."""
        task = self.group.tasks[i]
        found = np.isfinite(self.ledger.best[task.index])
        return self.store[BEST if self.keeps_best[i] and found else "theta"][i]

    def network(self, i: int) -> Network:
        """Return the network that is the result of one member."""
        return self._network(self.result_row(i), self.group.tasks[i])

    def _network(self, row: Tensor, task: Task) -> Network:
        arrays = [a.astype(self.dtype) for a in self.layout.unpack(row, task.shapes)]
        if task.graph is not None:
            # Told as what nearly all members are, so that nobody has to ask which it is.
            return cast(Network, task.graph.with_parameters(*arrays))
        n = self.layout.n_layers
        slopes = iter(arrays[2 * n :])
        return Network.from_arrays(
            list(zip(arrays[:n], arrays[n : 2 * n], strict=True)),
            activation=task.member.activations,
            slopes=[*(next(slopes) if learns else None for learns in task.learned), None],
        )


def _keeps_best(task: Task) -> bool:
    keep = task.member.keep_best
    return task.validation_rows is not None if keep == "auto" else bool(keep)
