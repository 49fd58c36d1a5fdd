"""The training of a stack: its groups one after another, with reports and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lamina._checks import shown
from lamina._errors import DataError, ParameterError
from lamina._finite import all_finite
from lamina._typing import DtypeName, Path
from lamina.heads import Head
from lamina.nn import Network

from ._checkpoint import Checkpoint, Progress, fingerprint
from ._cpu import supports
from ._data import Rows, as_rows, target_array
from ._lbfgs import run_lbfgs
from ._ledger import EPOCHS, RUNNING, STATUSES, STOPPED, History, Ledger
from ._optimizers import LBFGS
from ._plan import Group, plan
from ._pool import Pool
from ._result import EpochReport, MemberState, StackResult, Unfinished
from ._run import BEST, GroupRun
from ._steps import enter_epoch, leave, run_epoch
from ._task import Task, initial_arrays

REPORTED = ("member", "train_loss", "valid_loss", "valid_score", "learning_rate")


class Training:
    """One call of `train`: what it trains on, and where it stands."""

    def __init__(
        self,
        tasks: list[Task],
        rows: Rows,
        X: Any,
        y: Any,
        dtype: DtypeName,
        backend: str,
        callbacks: Sequence[Callable[[EpochReport], bool | None]],
        checkpoint: Path | Checkpoint | None,
        states: Sequence[MemberState | None] | None,
        pause_at: int | None = None,
    ) -> None:
        self.tasks, self.X, self.y, self.dtype = tasks, X, target_array(y), dtype
        self.callbacks = callbacks
        self._grad_mode = torch.is_grad_enabled()  # the caller's, for the callbacks
        alone = [t for t in tasks if backend != "torch" and supports(t, rows)]
        rest = [t for t in tasks if t not in alone]
        self.backend = ["cpu" if t in alone else "torch" for t in tasks]
        self.torch_groups = plan(rest, 8 if dtype == "float64" else 4)
        self.groups = [Group((task,), task.sizes) for task in alone] + self.torch_groups
        self.ledger, self.history = Ledger.empty(len(tasks), pause_at), History()
        self.messages = [""] * len(tasks)
        self._rows = {rows.dtype: rows}
        self._targets: dict[tuple[Head, torch.dtype], Tensor] = {}
        self._device = rows.device
        self.runs = [self._make_run(i) for i in range(len(self.groups))]
        # Who reports together: all members of the `cpu` backend, and each group of `torch`.
        alone_runs = [run for run in self.runs if run.backend == "cpu"]
        rest_runs = [[run] for run in self.runs if run.backend != "cpu"]
        self.report_groups = ([alone_runs] if alone_runs else []) + rest_runs
        self._places = {
            task.index: (run, place)
            for run in self.runs
            for place, task in enumerate(run.group.tasks)
        }
        self._load_first_weights(states)
        self.resumable = True
        self.checkpoint = None
        if checkpoint is not None:
            self.checkpoint = Checkpoint.of(checkpoint)
            self._progress = Progress(self.ledger, self.history, self.runs, self.messages)
            kind = " ".join([dtype, *self.backend])
            self._mark = fingerprint(tasks, X, self.y, kind, self._progress)
            self.checkpoint.restore(self._mark, self._progress)

    def _make_run(self, i: int) -> GroupRun:
        group = self.groups[i]
        precise = isinstance(group.tasks[0].member.optimizer, LBFGS)
        dtype = torch.float64 if precise else getattr(torch, self.dtype)
        if dtype not in self._rows:
            self._rows[dtype] = as_rows(self.X, dtype, self._device)
        y = self._target(group.tasks[0].head, dtype)
        backend = self.backend[group.tasks[0].index]
        return GroupRun(group, self._rows[dtype], y, self.ledger, self.dtype, backend)

    def _target(self, head: Head, dtype: torch.dtype) -> Tensor:
        if (head, dtype) not in self._targets:
            tensor = torch.from_numpy(np.array(head.targets(self.y), order="C"))
            kind = dtype if tensor.is_floating_point() else tensor.dtype
            converted = tensor.to(dtype=kind, device=self._device)
            if not all_finite(converted):
                row = int(torch.nonzero(~torch.isfinite(converted))[0, 0])
                raise DataError(
                    f"y must be finite in {self.dtype}. Got {float(tensor[row].abs().max())} in "
                    f"row {row}. Rescale y, or use dtype='float64'."
                )
            self._targets[head, dtype] = converted
        return self._targets[head, dtype]

    def _load_first_weights(self, states: Sequence[MemberState | None] | None) -> None:
        if states is not None and len(states) != len(self.tasks):
            raise ParameterError(
                f"states must have one entry for each of the {len(self.tasks)} members. "
                f"Got {len(states)}."
            )
        for run in self.runs:
            for place, task in enumerate(run.group.tasks):
                state = None if states is None else states[task.index]
                if state is not None:
                    self._load_state(run, place, task, state)
                else:
                    run.layout.pack(initial_arrays(task), run.store["theta"][place])

    def _load_state(self, run: GroupRun, place: int, task: Task, state: MemberState) -> None:
        if not isinstance(state, MemberState):
            raise ParameterError(
                f"states[{task.index}] must be None or a MemberState. Got {shown(state)}."
            )
        if len(state.moments) != run.n_moments:
            raise ParameterError(
                f"states[{task.index}] must come from a member with the same optimizer. "
                f"Got {len(state.moments)} moments where {run.n_moments} are needed."
            )
        if state.graph != task.graph_mark:
            raise ParameterError(
                f"states[{task.index}] must come from a member with the same graph. "
                f"Got one {'of layers' if state.graph is None else 'with another graph'}."
            )
        names = ["theta", *(f"moment{i}" for i in range(run.n_moments))]
        for name, arrays in zip(names, [state.parameters, *state.moments], strict=True):
            if [array.shape for array in arrays] != task.shapes:
                raise ParameterError(
                    f"states[{task.index}] must come from a member with the same layers, which "
                    f"have parameters of shapes {task.shapes}. "
                    f"Got {[array.shape for array in arrays]}."
                )
            run.layout.pack(arrays, run.store[name][place])
        ledger = self.ledger
        ledger.epoch[task.index], ledger.step[task.index] = state.epoch, state.step
        ledger.seen[task.index], ledger.lr_scale[task.index] = state.seen, state.lr_scale
        if state.unfinished is not None:
            self._go_on(run, place, task.index, state.unfinished)

    def _go_on(self, run: GroupRun, place: int, i: int, before: Unfinished) -> None:
        """Enter what a member knew when it paused."""
        ledger = self.ledger
        ledger.best[i], ledger.best_epoch[i] = before.best, before.best_epoch
        ledger.idle[i], ledger.n_epochs[i] = before.idle, before.n_epochs
        if before.best_parameters is not None and run.keeps_best[place]:
            run.layout.pack(before.best_parameters, run.store[BEST][place])

    def run(self, n_threads: int) -> StackResult:
        """Train every group, and return what is there, also after Ctrl-C."""
        for task in self.tasks:
            if task.member.max_epochs == 0:
                self.ledger.status[task.index] = EPOCHS
        interrupted = False
        try:
            self._train_all(n_threads)
        except KeyboardInterrupt:
            interrupted = True
            self._back_to_whole_epochs()
        if self.resumable:
            self._save()
        self.ledger.status[self.ledger.status == RUNNING] = STOPPED
        return self._result(interrupted)

    def _train_all(self, n_threads: int) -> None:
        """Train the `cpu` members on several threads, then the groups one after another."""
        for i, runs in enumerate(self.report_groups):
            going = [run for run in runs if run.running]
            if not going:
                continue
            if going[0].backend == "cpu":
                report = partial(self._report, i) if self.callbacks else None
                save = None if self.checkpoint is None else self._save_if_due
                stop = Pool(going, n_threads, self.history, save, report).run()
            else:
                stop = self._train_group(i, going[0])
            if stop:
                return

    def _train_group(self, i: int, run: GroupRun) -> bool:
        """Train one group to its end; return whether a callback stops everything."""
        run.activate()
        if isinstance(run.group.tasks[0].member.optimizer, LBFGS):
            stopped = [False]

            def report() -> bool:
                stopped[0] = self._report(i, [run])
                return stopped[0]

            self._save_if_due()
            self.resumable = False  # SciPy keeps to itself what it has learned of the curvature
            self.messages[run.group.tasks[0].index] = run_lbfgs(run, self.history, report)
            self.resumable = not stopped[0]
            return stopped[0]
        going = True
        while going:
            enter_epoch(run, self.history, run_epoch(run))
            stop = self._report(i, [run])
            going = leave(run)
            if stop:
                run.sync()
                return True
            if self.checkpoint is not None and self.checkpoint.due():
                run.sync()
            self._save_if_due()
        return False

    def _report(self, group: int, runs: Sequence[GroupRun]) -> bool:
        """Tell the callbacks about the last epoch; return whether one wants to stop."""
        if not self.callbacks:
            return False
        last = {name: np.concatenate([run.last[name] for run in runs]) for name in runs[0].last}
        order = np.argsort(last["member"]) if len(runs) > 1 else np.arange(len(last["member"]))
        ids, train_loss, valid_loss, valid_score, rate = (last[n][order] for n in REPORTED)
        report = EpochReport(
            members=tuple(int(i) for i in ids),
            group=group,
            n_groups=len(self.report_groups),
            epoch=int(self.ledger.n_epochs[ids].max()),
            max_epochs=self._max_epochs(group),
            train_loss=train_loss,
            valid_loss=valid_loss,
            valid_score=valid_score,
            learning_rate=rate,
            networks=lambda: [self._current_network(int(i)) for i in ids],
        )
        with torch.set_grad_enabled(self._grad_mode):
            return any([bool(callback(report)) for callback in self.callbacks])

    def _max_epochs(self, group: int) -> int:
        tasks = [task for run in self.report_groups[group] for task in run.group.tasks]
        return max(task.member.max_epochs for task in tasks)

    def _current_network(self, i: int) -> Network:
        run, place = self._places[i]
        return run.current_network(place)

    def _back_to_whole_epochs(self) -> None:
        """After Ctrl-C: give up the epoch that was under way."""
        for run in self.runs:
            if run.live:
                run.give_up_epoch()
                run.sync()

    def _save_if_due(self) -> None:
        if self.checkpoint is not None and self.checkpoint.due():
            self._save()

    def _save(self) -> None:
        if self.checkpoint is not None:
            self.checkpoint.save(self._mark, self._progress)

    def _result(self, interrupted: bool) -> StackResult:
        ordered = [self._places[i] for i in range(len(self.tasks))]
        ledger = self.ledger
        return StackResult(
            networks=[run.network(place) for run, place in ordered],
            status=[STATUSES[s] for s in ledger.status],
            best_epoch=[int(e) for e in ledger.best_epoch],
            n_epochs=[int(e) for e in ledger.n_epochs],
            states=[self._state(run, place) for run, place in ordered],
            messages=self.messages,
            backend=self.backend,
            interrupted=interrupted,
            columns=self.history.arrays(),
        )

    def _state(self, run: GroupRun, place: int) -> MemberState:
        task = run.group.tasks[place]
        i = task.index

        def arrays(name: str) -> list[Any]:
            return run.layout.unpack(run.store[name][place], task.shapes)

        return MemberState(
            parameters=arrays("theta"),
            moments=[arrays(f"moment{m}") for m in range(run.n_moments)],
            epoch=int(self.ledger.epoch[i]),
            step=int(self.ledger.step[i]),
            seen=int(self.ledger.seen[i]),
            lr_scale=float(self.ledger.lr_scale[i]),
            unfinished=self._unfinished(run, place, i),
            graph=task.graph_mark,
        )

    def _unfinished(self, run: GroupRun, place: int, i: int) -> Unfinished | None:
        """Return what a member that paused must remember; L-BFGS does not pause."""
        paused = self.ledger.pause_at is not None and self.ledger.status[i] == STOPPED
        if not paused or isinstance(run.optimizer, LBFGS):
            return None
        kept = run.keeps_best[place] and np.isfinite(self.ledger.best[i])
        shapes = run.group.tasks[place].shapes
        return Unfinished(
            best=float(self.ledger.best[i]),
            best_epoch=int(self.ledger.best_epoch[i]),
            idle=int(self.ledger.idle[i]),
            n_epochs=int(self.ledger.n_epochs[i]),
            best_parameters=run.layout.unpack(run.store[BEST][place], shapes) if kept else None,
        )
