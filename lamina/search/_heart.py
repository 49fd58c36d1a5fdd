"""A thread that does something small again and again, until it is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable

from lamina._errors import FileError


class Heart:
    """Call a function every ``period`` seconds, from the first `start` until `stop`."""

    def __init__(self, beat: Callable[[], object], period: float) -> None:
        self._beat = beat
        self._period = period
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start beating, if it does not yet."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="lamina-heart", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop beating, and wait for a beat under way."""
        self._stopped.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._period):
            try:
                self._beat()
            except FileError:
                continue  # whoever works will hear of it; a lost beat or two is no harm
