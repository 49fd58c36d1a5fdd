"""Rounds of an encoder's training as tasks of scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.callback import CallbackSupportMixin


class Rounds:
    """Begin and end a task for each round; without callbacks nothing happens.

    The tasks form the tree ``fit → round``. A round is one pass over the rows.

    Parameters
    ----------
    encoder : estimator
        The encoder that is being fitted.
    n_rounds : int
        Most rounds.
    data : dict or None
        ``X`` and ``y`` as callbacks receive them; None leaves callbacks out.
    fitted : callable
        Makes the attributes with which a copy of the encoder can transform.
    """

    def __init__(
        self,
        encoder: CallbackSupportMixin,
        n_rounds: int,
        data: dict[str, Any] | None,
        fitted: Callable[[], dict[str, Any]],
    ) -> None:
        self._encoder, self._fitted = encoder, fitted
        self._data: dict[str, Any] = data or {}
        self._root: Any = None
        self._round: Any = None
        if data is not None and getattr(encoder, "_skl_callbacks", None):
            self._root = encoder._init_callback_context(max_subtasks=n_rounds)
            self._root.call_on_fit_task_begin(estimator=encoder, **self._data)
            self._begin_round()

    def _begin_round(self) -> None:
        self._round = self._root.subcontext("round")
        self._round.call_on_fit_task_begin(estimator=self._encoder, **self._data)

    def end_round(self, *, last: bool) -> bool:
        """End a round; return whether a callback wants to stop."""
        if self._root is None:
            return False
        stop = self._round.call_on_fit_task_end(
            estimator=self._encoder, reconstruction_attributes=self._fitted, **self._data
        )
        self._round = None
        if not (stop or last):
            self._begin_round()
        return bool(stop)

    def finish(self) -> None:
        """End what is still open, and the fit itself; the encoder is fitted by now."""
        if self._root is None:
            return
        if self._round is not None:
            self._round.call_on_fit_task_end(estimator=self._encoder)
        self._root.call_on_fit_task_end(
            estimator=self._encoder, reconstruction_attributes={}, **self._data
        )
