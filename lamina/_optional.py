"""Import an optional package when it is used, or say how to install it."""

from __future__ import annotations

import importlib
from types import ModuleType

from ._errors import MissingDependencyError


def optional_import(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Return the imported ``module``, or raise a sentence that tells the cure.

    Parameters
    ----------
    module : str
        Name of the module, for example ``"matplotlib.pyplot"``.
    extra : str
        Name of lamina's extra that installs it.
    purpose : str
        What it is needed for, as the subject of a sentence: ``"Plotting"``.

    Raises
    ------
    MissingDependencyError
        If the module cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".", maxsplit=1)[0]
        raise MissingDependencyError(
            f"{purpose} needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'lamina[{extra}]'"
        ) from error
