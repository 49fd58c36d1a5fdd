"""Write a file whole or not at all, and find out beforehand whether that will work."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from lamina._errors import FileError

if TYPE_CHECKING:
    import pandas as pd


def check_file(path: Path) -> None:
    """Raise FileError if a file cannot be written there; nothing stays behind."""
    if path.is_dir():
        raise FileError(f"--output must be a file. Got {str(path)!r}, which is a folder.")
    probe = _beside(path)
    try:
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        raise _not_writable(path, error) from error


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write a table; an old file stays until the new one is whole."""
    part = _beside(path)
    try:
        table.to_csv(part, index=False, lineterminator="\n")
        os.replace(part, path)
    except OSError as error:
        raise _not_writable(path, error) from error
    finally:
        part.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    """Return a hidden path in the same folder that nobody else uses."""
    return path.parent / f".{path.name[:100]}.{secrets.token_hex(6)}"


def _not_writable(path: Path, error: OSError) -> FileError:
    """Return the error for a place that cannot be written."""
    return FileError(
        f"--output must be a file that can be written. Got {str(path)!r}: {error.strerror}. "
        "Give another place."
    )
