"""Find the compiled part of lamina, and choose the instruction set that it uses."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Literal

from lamina._checks import check_choice

MODULE = "lamina.stack._native"
INTERFACE = 3
"""Number that the extension must have; raised with every change of what it and Python exchange."""

VARIABLE = "LAMINA_INSTRUCTION_SET"
"""Environment variable that names another instruction set than the best; for tests."""


@cache
def _loaded() -> tuple[ModuleType | None, str]:
    """Return the extension, or None and the reason why it cannot be loaded."""
    try:
        module = importlib.import_module(MODULE)
    except ModuleNotFoundError:
        return None, "it was not built when lamina was installed"
    except ImportError as error:
        return None, f"it was built, and cannot be loaded here: {error}"
    if getattr(module, "INTERFACE", 0) != INTERFACE:
        return None, "it was built from another version of lamina"
    return module, ""


def native() -> ModuleType | None:
    """Return the compiled extension, or None where it was not built."""
    return _loaded()[0]


@cache
def instruction_sets() -> tuple[str, ...]:
    """Return the instruction sets that build and machine have in common, best first."""
    module = native()
    return () if module is None else tuple(module.instruction_sets())


def instruction_set() -> str:
    """Return the instruction set to train with: the best, or the one that is asked for."""
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return instruction_sets()[0]
    return check_choice(f"The environment variable {VARIABLE}", wanted, instruction_sets())


@dataclass(frozen=True)
class EngineInfo:
    """What trains networks on the CPU of this machine.

    Attributes
    ----------
    backend : {"cpu", "torch"}
        What ``train(backend="auto")`` takes there: "cpu" where the compiled part is present.
    instruction_set : str or None
        Instruction set of the compiled part that is used.
    instruction_sets : tuple of str
        All that the compiled part and this machine have in common, best first.
    file : str or None
        Where the compiled part lies.
    missing : str
        Why there is no compiled part; empty where there is one.
    """

    backend: Literal["cpu", "torch"]
    instruction_set: str | None
    instruction_sets: tuple[str, ...]
    file: str | None
    missing: str


def engine_info() -> EngineInfo:
    """Return what trains networks on the CPU of this machine.

    Returns
    -------
    EngineInfo
        Backend and instruction set, and why the compiled part is missing if it is.

    Examples
    --------
    >>> info = engine_info()
    >>> info.backend == ("torch" if info.missing else "cpu")
    True
    """
    module, missing = _loaded()
    if module is None:
        return EngineInfo("torch", None, (), None, missing)
    return EngineInfo("cpu", instruction_set(), instruction_sets(), module.__file__, "")
