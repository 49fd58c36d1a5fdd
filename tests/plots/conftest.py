"""Run a program in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture
def run_fresh():
    def run(program: str) -> None:
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

    return run
