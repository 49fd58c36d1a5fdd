"""Write a whole folder or nothing.

A folder is written under a hidden name beside its place, flushed to disk and then renamed, so
that a crash leaves the old folder or the new one and never a half of each. In the instant
between the two renames of a replacement the old one stands beside its place, under its name
with a dot before it and random letters after it.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Give an empty folder to fill; put it in the target's place if the block succeeds.

    Missing parents are made. What stands in the target's place is replaced. Raises OSError.
    """
    try_folder(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = _beside(target)
    folder.mkdir()
    try:
        yield folder
        _flush(folder)
        _put_in_place(folder, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def try_folder(target: Path) -> None:
    """Raise OSError if `new_folder` could not make the target; nothing stays behind."""
    nearest = next(parent for parent in target.parents if parent.exists())
    probe = _beside(nearest / target.name)
    probe.mkdir()
    probe.rmdir()


def _beside(target: Path) -> Path:
    """Return a hidden path in the same folder that nobody else uses."""
    return target.parent / f".{target.name[:100]}.{secrets.token_hex(6)}"


def _put_in_place(folder: Path, target: Path) -> None:
    """Rename the new folder to its place; an old one goes away only after that."""
    old = _beside(target)
    if target.exists():
        target.rename(old)
    try:
        folder.rename(target)
    except OSError:
        if old.exists():
            old.rename(target)
        raise
    _flush(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _flush(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can do that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot flush a folder; the files themselves are flushed.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
