"""The command line: ``lamina fit``, ``predict``, ``evaluate`` and the other commands."""

from ._app import main

__all__ = ["main"]
