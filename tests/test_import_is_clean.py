"""Importing lamina changes nothing global, costs little, and works in any order."""

from __future__ import annotations

import json
import os
import pkgutil
import statistics
import subprocess
import sys

import pytest

import lamina

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(lamina.__path__, prefix="lamina.")
    if not module.name.endswith("__main__")
)
ROOMS = [name for name in MODULES if name.count(".") == 1 and "._" not in name]

LOOK = """
import json, random, sys, threading, warnings
import numpy as np
import torch
import pandas, scipy
# Its progress bar comes from rich, which takes numbers from Python's stream when imported.
import sklearn.preprocessing

def look():
    return {
        "default dtype": str(torch.get_default_dtype()),
        "default device": str(torch.get_default_device()),
        "threads": torch.get_num_threads(),
        "torch stream": torch.get_rng_state().sum().item(),
        "NumPy stream": repr(np.random.get_state()),
        "Python stream": repr(random.getstate()),
        "validation": torch.distributions.Distribution._validate_args,
        "gradients": torch.is_grad_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "warning filters": [repr(entry) for entry in warnings.filters],
        "floating-point errors": np.geterr(),
        "print options": repr(np.get_printoptions()),
        "pandas": pandas.get_option("display.max_rows"),
        "exception hook": repr(sys.excepthook),
        "running threads": threading.active_count(),
    }
"""


def run(code: str) -> str:
    """Return what a new interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONWARNINGS": ""},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_every_room_changes_no_global():
    rooms = "\n".join(f"import {room}" for room in ROOMS)
    code = f"{LOOK}\nbefore = look()\n{rooms}\nprint(json.dumps([before, look()]))"
    before, after = json.loads(run(code))
    assert after == before


def test_the_front_brings_no_heavy_package():
    heavy = "['torch', 'sklearn', 'pandas', 'scipy', 'matplotlib', 'cyclopts', 'rich', 'pyarrow']"
    code = f"import sys, lamina; print([name for name in {heavy} if name in sys.modules])"
    assert run(code).strip() == "[]"


def test_the_network_room_brings_torch_and_no_tables():
    heavy = "['sklearn', 'pandas', 'matplotlib', 'cyclopts', 'rich']"
    code = f"import sys, lamina.nn; print([name for name in {heavy} if name in sys.modules])"
    assert run(code).strip() == "[]"


def test_drawing_and_the_command_line_wait_until_they_are_used():
    code = (
        "import sys, lamina.estimators, lamina.tables, lamina.datasets\n"
        "heavy = ['matplotlib', 'cyclopts']\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    assert run(code).strip() == "[]"


def seconds_to_import(module: str) -> float:
    """Return the median of three imports, each in a new interpreter."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    return statistics.median(float(run(code)) for _ in range(3))


def test_the_front_is_quicker_than_torch():
    assert seconds_to_import("lamina") < seconds_to_import("torch") / 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_every_room_imports_first_and_every_module_after_it():
    # One interpreter forks once a room, so that torch and the like are read only once: their
    # order is no part of the question, that of lamina is.
    rooms = {
        room: [name for name in MODULES if f"{name}.".startswith(f"{room}.")] for room in ROOMS
    }
    code = f"""
import os, traceback
import torch, pandas, scipy.stats, sklearn.callback, sklearn.metrics, sklearn.preprocessing
failed = []
for room, modules in {rooms!r}.items():
    child = os.fork()
    if child == 0:
        try:
            for name in modules:
                __import__(name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(room)
print(failed)
"""
    assert run(code).strip() == "[]"
