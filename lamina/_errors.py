"""The exceptions and warnings of lamina, all in one tree.

::

    LaminaError
    ├── ParameterError (ValueError)       a parameter is outside what is allowed
    ├── DataError (ValueError)            a table, column, row or array cannot be used
    ├── FileError (ValueError, OSError)   a file or folder is missing, foreign or damaged
    ├── DivergedError (ValueError)        training produced weights that are not finite
    ├── CycleError (ValueError)           a graph of units is not feed-forward
    └── MissingDependencyError (ImportError)   an optional package is not installed
    LaminaWarning (UserWarning)
    ├── DataWarning        data were changed or ignored in a way that a user may want to know
    ├── ProbabilityWarning probabilities were given where raw outputs (logits) belong
    └── DivergedWarning    a member of a stack diverged and was stopped
"""

from __future__ import annotations

__all__ = [
    "CycleError",
    "DataError",
    "DataWarning",
    "DivergedError",
    "DivergedWarning",
    "FileError",
    "LaminaError",
    "LaminaWarning",
    "MissingDependencyError",
    "ParameterError",
    "ProbabilityWarning",
]


class LaminaError(Exception):
    """Root of every exception that lamina raises on purpose."""


class ParameterError(LaminaError, ValueError):
    """A parameter is outside what is allowed; the message names it and the cure."""


class DataError(LaminaError, ValueError):
    """Data cannot be used as they are; the message names the row or column and the cure."""


class FileError(LaminaError, ValueError, OSError):
    """A file or folder is missing, foreign or damaged; the message names it."""


class DivergedError(LaminaError, ValueError):
    """Training produced weights that are not finite."""


class CycleError(LaminaError, ValueError):
    """A graph of units contains a cycle; the message names the units on it."""


class MissingDependencyError(LaminaError, ImportError):
    """An optional package is not installed; the message says how to install it."""


class LaminaWarning(UserWarning):
    """Root of every warning that lamina gives."""


class DataWarning(LaminaWarning):
    """Data were changed or ignored in a way that a user may want to know."""


class ProbabilityWarning(LaminaWarning):
    """Probabilities were given where raw outputs (logits) belong."""


class DivergedWarning(LaminaWarning):
    """A member of a stack diverged and was stopped."""
