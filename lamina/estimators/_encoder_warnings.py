"""Warnings that point at the user's line, whatever stands between it and the encoder."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import sklearn

SKIPPED = (str(Path(__file__).parent.parent), sklearn.__path__[0])
"""Where a warning about the user's data must not point."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line that is neither lamina's nor scikit-learn's."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(SKIPPED):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
