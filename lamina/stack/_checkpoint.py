"""Save a stack in mid-training, atomically, and go on from there bit for bit.

One file holds everything: parameters, moments, best and last whole epoch of every member,
counters, history, and a fingerprint of members and data. It is written beside its place and
then renamed, so that at any moment either the old or the new file is there, whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from lamina._checks import check_real
from lamina._errors import FileError
from lamina._typing import Array, Path

from ._ledger import HISTORY_COLUMNS, History, Ledger
from ._run import GroupRun
from ._task import Task

VERSION = 1

_ARRAYS = ("init", "rows", "validation_rows", "sample_weight")
"""What a fingerprint does not read off the member, but as the arrays that it became."""


@dataclass
class Progress:
    """All that changes while a stack trains."""

    ledger: Ledger
    history: History
    runs: Sequence[GroupRun]
    messages: list[str]

    def tensors(self) -> dict[str, Tensor]:
        """Return ledger, history and every group's store by name."""
        tensors = {f"ledger.{n}": torch.from_numpy(a) for n, a in self.ledger.arrays().items()}
        columns = self.history.arrays()
        tensors |= {f"history.{n}": torch.from_numpy(a) for n, a in columns.items()}
        for i, run in enumerate(self.runs):
            tensors |= {f"group{i}.{name}": t.cpu() for name, t in run.store.items()}
        return tensors

    def take(self, tensors: dict[str, Tensor], messages: list[str]) -> None:
        """Fill ledger, history and stores in place."""
        for name, array in self.ledger.arrays().items():
            array[...] = tensors[f"ledger.{name}"].numpy()
        for name in HISTORY_COLUMNS:
            self.history.columns[name] = [tensors[f"history.{name}"].numpy()]
        for i, run in enumerate(self.runs):
            for name, tensor in run.store.items():
                tensor.copy_(tensors[f"group{i}.{name}"])
        self.messages[:] = messages


@dataclass
class Checkpoint:
    """Where and how often to save.

    Parameters
    ----------
    path : path
        The file. Its folder must exist.
    every : float, default=5.0
        Seconds between two saves at least; 0 saves after every epoch.

    Examples
    --------
    >>> Checkpoint("run.ckpt", every=60).every
    60
    """

    path: Path
    every: float = 5.0
    _last: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        check_real("every", self.every, 0.0)
        folder = FilePath(self.path).absolute().parent
        if not folder.is_dir():
            raise FileError(f"checkpoint must be in a folder that exists. Got {str(self.path)!r}.")
        self._last = time.monotonic()

    @classmethod
    def of(cls, where: Path | Checkpoint) -> Checkpoint:
        """Return a checkpoint of a path, or ``where`` itself."""
        return where if isinstance(where, Checkpoint) else cls(where)

    def due(self) -> bool:
        """Return whether it is time to save."""
        return time.monotonic() - self._last >= self.every

    def save(self, mark: str, progress: Progress) -> None:
        """Write everything to a file beside the place, then rename it."""
        from safetensors.torch import save

        tensors = progress.tensors()
        metadata = {
            "lamina_checkpoint": str(VERSION),
            "mark": mark,
            "sha256": _digest_of(tensors),
            "messages": json.dumps(progress.messages),
        }
        data = save(tensors, metadata=metadata)
        place = FilePath(self.path)
        beside = place.with_name(f".{place.name}.{os.getpid()}.tmp")
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)
        self._last = time.monotonic()

    def restore(self, mark: str, progress: Progress) -> None:
        """Take the progress from the file, if there is one."""
        place = FilePath(self.path)
        if place.exists():
            tensors, messages = self._read(place, mark)
            progress.take(tensors, json.loads(messages))

    def _read(self, place: FilePath, mark: str) -> tuple[dict[str, Tensor], str]:
        from safetensors import SafetensorError, safe_open
        from safetensors.torch import load_file

        try:
            with safe_open(place, framework="pt") as file:
                metadata = file.metadata() or {}
            tensors: dict[str, Tensor] = load_file(place)
        except (SafetensorError, OSError, ValueError) as error:
            raise _damaged(place) from error
        if metadata.get("lamina_checkpoint") != str(VERSION):
            raise FileError(
                f"checkpoint {str(place)!r} is not one of this version of lamina. "
                "Delete it to start anew."
            )
        if metadata.get("mark") != mark:
            raise FileError(
                f"checkpoint {str(place)!r} belongs to other members, data, dtype or backend. "
                "Delete it to start anew, or give another path."
            )
        if metadata.get("sha256") != _digest_of(tensors):
            raise _damaged(place)
        return tensors, metadata["messages"]


def _damaged(place: FilePath) -> FileError:
    return FileError(
        f"checkpoint {str(place)!r} is damaged or is not a checkpoint. Delete it to start anew."
    )


def _digest_of(tensors: dict[str, Tensor]) -> str:
    """Return a hash of names and numbers."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        _feed(digest, tensors[name].numpy())
    return digest.hexdigest()


def fingerprint(tasks: Sequence[Task], X: Any, y: Array, kind: str, progress: Progress) -> str:
    """Return a hash of everything that the result depends on, before the first epoch.

    ``kind`` names precision and backends.
    First weights and states of an earlier training are in the progress. A user's own loss
    counts by its name only.
    """
    digest = hashlib.sha256(f"{VERSION} {kind} {_digest_of(progress.tensors())}".encode())
    if scipy.sparse.issparse(X):
        csr = scipy.sparse.csr_array(X)  # type: ignore[call-overload]
        parts = [csr.data, csr.indices, csr.indptr]
    else:
        parts = [X.detach().cpu().numpy() if isinstance(X, Tensor) else np.asarray(X)]
    for array in (*parts, y):
        _feed(digest, array)
    for task in tasks:
        for one in fields(task.member):
            if one.name not in _ARRAYS:
                digest.update(_text(getattr(task.member, one.name)).encode())
        if task.graph_mark is not None:
            digest.update(task.graph_mark.encode())
        for rows in (task.rows, task.validation_rows, task.sample_weight):
            _feed(digest, np.zeros(0) if rows is None else rows)
    return digest.hexdigest()


def _feed(digest: Any, array: Array) -> None:
    """Add an array to a hash."""
    digest.update(f"{array.dtype} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).tobytes())


def _text(setting: object) -> str:
    """Return a setting as text that is the same in another process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(setting)) + ";"
