"""Save a stack in mid-training, atomically, and go on from there bit for bit.

One file holds everything: parameters, moments, best and last whole epoch of every member,
counters, history, and a fingerprint of members and data. It is written beside its place and
then renamed, so that at any moment either the old or the new file is there, whole.
"""

from __future__ import annotations

import hashlib
import json
import os
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
from lamina._typing import Array, DtypeName, Path
from lamina.nn import Network

from ._ledger import HISTORY_COLUMNS, History, Ledger
from ._run import GroupRun
from ._task import Task

VERSION = 1


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

    def save(self, mark: str, ledger: Ledger, history: History, runs: Sequence[GroupRun]) -> None:
        """Write everything to a file beside the place, then rename it."""
        from safetensors.torch import save

        tensors = {f"ledger.{n}": torch.from_numpy(a) for n, a in ledger.arrays().items()}
        columns = history.arrays()
        tensors |= {f"history.{n}": torch.from_numpy(a) for n, a in columns.items()}
        for i, run in enumerate(runs):
            tensors |= {f"group{i}.{name}": t.cpu() for name, t in run.store.items()}
        data = save(tensors, metadata={"lamina_checkpoint": str(VERSION), "mark": mark})
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

    def restore(
        self, mark: str, ledger: Ledger, history: History, runs: Sequence[GroupRun]
    ) -> None:
        """Fill ledger, history and stores from the file, if there is one."""
        place = FilePath(self.path)
        if not place.exists():
            return
        tensors = self._read(place, mark)
        for name, array in ledger.arrays().items():
            array[...] = tensors[f"ledger.{name}"].numpy()
        for name in HISTORY_COLUMNS:
            history.columns[name] = [tensors[f"history.{name}"].numpy()]
        for i, run in enumerate(runs):
            for name, tensor in run.store.items():
                tensor.copy_(tensors[f"group{i}.{name}"])

    def _read(self, place: FilePath, mark: str) -> dict[str, Tensor]:
        from safetensors import SafetensorError, safe_open
        from safetensors.torch import load_file

        try:
            with safe_open(place, framework="pt") as file:
                metadata = file.metadata() or {}
            tensors: dict[str, Tensor] = load_file(place)
        except (SafetensorError, OSError, ValueError) as error:
            raise FileError(
                f"checkpoint {str(place)!r} is damaged or is not a checkpoint. "
                "Delete it to start anew."
            ) from error
        if metadata.get("lamina_checkpoint") != str(VERSION):
            raise FileError(
                f"checkpoint {str(place)!r} is not one of this version of lamina. "
                "Delete it to start anew."
            )
        if metadata.get("mark") != mark:
            raise FileError(
                f"checkpoint {str(place)!r} belongs to other members, data or dtype. "
                "Delete it to start anew, or give another path."
            )
        return tensors


def fingerprint(tasks: Sequence[Task], X: Any, y: Array, dtype: DtypeName, states: Any) -> str:
    """Return a hash of everything that the result depends on."""
    digest = hashlib.sha256(f"{VERSION} {dtype} {states is not None}".encode())
    if scipy.sparse.issparse(X):
        csr = scipy.sparse.csr_array(X)  # type: ignore[call-overload]
        parts = [csr.data, csr.indices, csr.indptr]
    else:
        parts = [X.detach().cpu().numpy() if isinstance(X, Tensor) else np.asarray(X)]
    for array in (*parts, y):
        _feed(digest, array)
    for task in tasks:
        for one in fields(task.member):
            _feed(digest, getattr(task.member, one.name))
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    """Add one value of a member, an array or a setting, to a hash."""
    if isinstance(value, Network):
        value = value.layers()
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype} {value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes() if value.dtype != object else b"")
    elif isinstance(value, (list, tuple)):
        digest.update(f"[{len(value)}".encode())
        for one in value:
            _feed(digest, one)
    else:
        digest.update(json.dumps(repr(value)).encode())
