"""Keep another package's progress messages out of ours, for the time of a call."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


def _warnings_only(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING


@contextmanager
def quiet(package: str) -> Iterator[None]:
    """Let a package log nothing below a warning; its settings stay as they are."""
    handlers = list(logging.getLogger(package).handlers)
    for handler in handlers:
        handler.addFilter(_warnings_only)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(_warnings_only)
