"""Between the engine's reports and scikit-learn's own callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.callback import CallbackSupportMixin

from lamina.stack import EpochReport


class CallbackBridge:
    """Turn each epoch of the engine into a task of scikit-learn's callbacks.

    The tasks form the tree ``fit → epoch``; an ensemble has ``fit → members → epoch``, since it
    may train in several groups. A task begins when the one before it has ended. One that never
    ran, because training stopped, is ended empty, so that each begin has its end. The context
    of an epoch has one attribute more than scikit-learn's, ``report``: the engine's figures of
    the epoch, or None until it has ended.

    Parameters
    ----------
    mlp : estimator
        The estimator that is being fitted.
    data : dict
        ``X``, ``y`` and ``metadata`` as callbacks receive them.
    fitted : callable
        Makes, from a report, the attributes with which a copy of the estimator can predict.
    max_epochs : int or None
        Most epochs of a single network; None for an ensemble.
    """

    def __init__(
        self,
        mlp: CallbackSupportMixin,
        data: dict[str, Any],
        fitted: Callable[[EpochReport], dict[str, Any]],
        *,
        max_epochs: int | None,
    ) -> None:
        self._mlp, self._data, self._fitted = mlp, data, fitted
        alone = max_epochs is not None
        self._root = mlp._init_callback_context(max_subtasks=max_epochs)
        self._root.call_on_fit_task_begin(estimator=mlp, **data)
        self._group = 0 if alone else -1
        self._parent: Any = self._root if alone else None
        self._epoch: Any = None
        if alone:
            self._begin_epoch(None)

    def __call__(self, report: EpochReport) -> bool:
        """End the epoch that the report is about; return whether a callback wants to stop."""
        if report.group != self._group:
            self._leave_group()
            self._enter_group(report)
        task, self._epoch = self._epoch, None
        task.report = report
        stop = task.call_on_fit_task_end(
            estimator=self._mlp,
            reconstruction_attributes=lambda: self._fitted(report),
            **self._data,
        )
        if not stop and report.epoch < report.max_epochs:
            self._begin_epoch(report)
        return bool(stop)

    def finish(self) -> None:
        """End what is still open, and the fit itself; the estimator is fitted by now."""
        self._leave_group()
        self._root.call_on_fit_task_end(
            estimator=self._mlp, reconstruction_attributes={}, **self._data
        )

    def _enter_group(self, report: EpochReport) -> None:
        self._group = report.group
        name = f"members {min(report.members)} to {max(report.members)}"
        self._parent = self._root.subcontext(name, max_subtasks=report.max_epochs)
        self._parent.call_on_fit_task_begin(estimator=self._mlp, **self._data)
        self._begin_epoch(None)

    def _leave_group(self) -> None:
        if self._epoch is not None:
            self._epoch.call_on_fit_task_end(estimator=self._mlp)
            self._epoch = None
        if self._parent is not None and self._parent is not self._root:
            self._parent.call_on_fit_task_end(estimator=self._mlp, **self._data)
        self._parent = None

    def _begin_epoch(self, report: EpochReport | None) -> None:
        self._epoch = self._parent.subcontext("epoch")
        self._epoch.report = None
        self._epoch.call_on_fit_task_begin(
            estimator=self._mlp,
            reconstruction_attributes=None if report is None else lambda: self._fitted(report),
            **self._data,
        )
