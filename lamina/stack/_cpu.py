"""The `cpu` backend: a member's epoch in machine code, from batch order to optimiser.

The extension ``_native`` holds one kernel for each instruction set; it works on the flat buffers
of ``_parameters.py`` and follows the `torch` backend to rounding. It is optional: without it,
and for whatever it does not know, the `torch` backend runs.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from lamina._random import DROPOUT, MASK64, NOISE, ORDER
from lamina._typing import FloatArray, IntArray
from lamina.heads import Categorical, Head, Mixture, Normal
from lamina.nn import ACTIVATIONS, Activation

from ._data import DenseRows, Rows
from ._dropout import keys_of
from ._extension import instruction_set, native
from ._noise import normal_values
from ._optimizers import RMSprop
from ._task import Task

if TYPE_CHECKING:
    from ._run import GroupRun


def supports(task: Task, rows: Rows) -> bool:
    """Return whether the extension can train a member on these rows."""
    module = native()
    if module is None or not isinstance(rows, DenseRows) or rows.device.type != "cpu":
        return False
    activations = task.member.activations
    return (
        task.graph is None
        and task.head.kernel in module.HEADS
        and all(type(a) is ACTIVATIONS.get(a.name) for a in activations)
        and {a.name for a in activations} <= set(module.ACTIVATIONS)
        and task.member.optimizer.name in module.OPTIMIZERS  # type: ignore[union-attr]
        and rows.n_samples < 2**31
    )


class CpuMember:
    """One member of a group of one, in machine code.

    Parameters
    ----------
    run : GroupRun
        Its buffers are trained in place.
    """

    def __init__(self, run: GroupRun) -> None:
        module = native()
        assert module is not None
        (self.task,) = run.group.tasks
        self.run = run
        self.stop: Any = run.stop or module.StopFlag()
        x, y = run.rows.all().numpy(), run.y.numpy()
        self._member = module.Member(_spec(run, self.task), x, y, instruction_set())
        flat = [t.numpy().reshape(-1) for t in (run.theta, *run.moments)]
        self._theta, *moments = flat
        task = self.task
        rows = np.arange(task.n_rows) if task.rows is None else task.rows
        self._rows = rows.astype(np.int32)
        self._shuffled = task.member.shuffle and task.n_steps > 1
        self._moments = (moments + [np.zeros(0, x.dtype)] * 2)[:2]

    def train_epoch(self) -> tuple[FloatArray, FloatArray]:
        """Take every step of one epoch; return training loss and last learning rate ``(1,)``."""
        run, task = self.run, self.task
        corrected, plain = run.rate_table()
        loss = self._member.epoch(
            self._theta,
            *self._moments,
            self._order(),
            task.sample_weight,
            np.ascontiguousarray(corrected[:, 0]),
            np.ascontiguousarray(plain[:, 0]),
            int(run.ledger.step[task.index]),
            self.stop,
        )
        return np.array([loss]), plain[-1]

    def _order(self) -> IntArray:
        """Return `epoch_order` of the coming epoch, drawn in machine code."""
        if not self._shuffled:
            return self._rows
        order, seed = np.empty(len(self._rows), dtype=np.int32), self.task.member.seed
        epoch = int(self.run.ledger.epoch[self.task.index])
        native().permutation(seed & MASK64, ORDER, epoch, order)  # type: ignore[union-attr]
        return order if self.task.rows is None else self._rows[order]

    def forward(self, index: IntArray) -> Tensor:
        """Return the raw outputs ``(1, n, Q)`` of row numbers ``(1, n)``."""
        raw = torch.empty(1, index.size, self.task.sizes[-1], dtype=self.run.theta.dtype)
        self._member.forward(self._theta, index.reshape(-1).astype(np.int32), raw.numpy())
        return raw


def _spec(run: GroupRun, task: Task) -> dict[str, Any]:
    """Return what the extension needs to know of a member."""
    member, layout, optimizer = task.member, run.layout, run.optimizer
    settings: dict[str, Any] = dict.fromkeys(
        ("momentum", "beta_1", "beta_2", "epsilon", "adamw_ratio"), 0.0
    )
    settings |= {"nesterov": False, "n_steps": 0} | dataclasses.asdict(optimizer)
    if isinstance(optimizer, RMSprop):
        settings["beta_2"] = settings.pop("rho")
    head = task.head
    return settings | {
        "layers": [_layer(run, task, i) for i in range(layout.n_layers)],
        "n_weights": layout.n_weights,
        "n_total": layout.n_total,
        "n_shared": task.n_shared,
        "head": head.kernel,
        "smoothing": head.label_smoothing if isinstance(head, Categorical) else 0.0,
        **_scales(head, run.y.shape[-1]),
        "optimizer": optimizer.name,
        "decoupled": optimizer.decoupled,
        "alpha": member.alpha,
        "weight_decay": member.weight_decay,
        "clip_norm": -1.0 if member.clip_norm is None else member.clip_norm,
        "dropout": member.dropout,
        "keys": keys_of(member.seed, DROPOUT),
        "input_noise": member.input_noise,
        "noise_keys": keys_of(member.seed, NOISE),
        "noise_values": normal_values().tolist() if member.input_noise else [],
        "batch_size": task.batch_size,
    }


def _scales(head: Head, n_targets: int) -> dict[str, Any]:
    """Return how many components and scales a head of normal densities has, and their floor."""
    settings = {"n_components": 1, "n_scales": 1, "logits": False, "floor": 0.0}
    if isinstance(head, Normal):
        settings |= {"n_scales": n_targets, "floor": head.min_scale}
    elif isinstance(head, Mixture):
        settings |= {"n_components": head.n_components, "logits": True, "floor": head.min_scale}
        settings["n_scales"] = 1 if head.covariance_type == "spherical" else n_targets
    return settings


def _layer(run: GroupRun, task: Task, i: int) -> tuple[int, int, int, int, int, str, float]:
    """Return one layer: sizes, places in the buffer, activation and its one number."""
    layout, activations = run.layout, task.member.activations
    hidden = i < len(activations)
    slope = layout.find("slope", i).start if hidden and task.learned[i] else -1
    name, number = _function(activations[i]) if hidden else ("identity", 0.0)
    start = layout.find("weight", i).start, layout.find("bias", i).start
    return task.sizes[i], task.sizes[i + 1], *start, slope, name, number


def _function(activation: Activation) -> tuple[str, float]:
    values = [float(getattr(activation, f.name)) for f in dataclasses.fields(activation)]  # type: ignore[arg-type]
    return activation.name, values[0] if values else 0.0
