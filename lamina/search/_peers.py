"""Who else works on a search, and whether they still live.

Each process counts up a number in the database. Another one that has seen the same number for
as long as a lease, by its own clock, takes it for dead: no two clocks are compared. A process
of the same machine is known to be dead at once, when its number is gone or means another one.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process: its machine, its number there, and when it was born, to know it from others.

    ``host`` names the machine since it was started, and the container, whose numbers mean
    something only within it.
    """

    host: str
    pid: int
    born: str

    def has_ended(self) -> bool:
        """Return whether it is of this machine, and ended; False where nobody can know."""
        if self.host != _host() or sys.platform == "win32":
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return _birth(self.pid) != self.born


def this_process() -> Process:
    """Return the process that asks."""
    pid = os.getpid()
    return Process(_host(), pid, _birth(pid))


@cache
def _host() -> str:
    """Return a name of this machine since its start, and of the container."""
    parts = [socket.gethostname()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip())
        parts.append(Path("/proc/self/ns/pid").readlink().name)
    except OSError:
        pass
    return "/".join(parts)[:200]


def _birth(pid: int) -> str:
    """Return when a process was born, ``"dead"`` for one nobody has buried, or an empty text."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()  # the name before it may hold anything
    return "dead" if fields[0] in ("Z", "X") else fields[19]


class Watch:
    """What one process has seen of the others' counts."""

    def __init__(self, lease: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lease = lease
        self._clock = clock
        self._seen: dict[str, tuple[int, float]] = {}

    def is_dead(self, owner: str, process: Process, beats: int) -> bool:
        """Return whether an owner has ended or has not counted up for a whole lease."""
        now = self._clock()
        before, since = self._seen.get(owner, (None, now))
        if before != beats:
            since = now
        self._seen[owner] = (beats, since)
        return now - since >= self._lease or process.has_ended()
