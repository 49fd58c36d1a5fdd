"""The command line: ``lamina fit``, ``predict``, ``evaluate``, ``demo`` and ``experiments``."""

from ._app import main

__all__ = ["main"]
