"""What every test shares: one thread, fixed seeds, the data folder, nothing left behind."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

os.environ.setdefault("MPLBACKEND", "Agg")
# A copy of MNIST may lie beside the repository; nothing fails where it does not.
_MNIST = ROOT.parent / "shared" / "data" / "mnist"
if _MNIST.is_dir():
    os.environ.setdefault("LAMINA_DATA", str(_MNIST))

torch.set_num_threads(1)

settings.register_profile(
    "lamina", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("ci", settings.get_profile("lamina"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "lamina")


@pytest.fixture(autouse=True)
def _fixed_seeds():
    """Start every test from the same global random states."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _nothing_left_behind():
    """Fail the test after which a global setting of torch differs."""
    before = _global_settings()
    yield
    assert _global_settings() == before


def _global_settings():
    """Return the global settings that code under test must leave alone."""
    return {
        "default dtype": torch.get_default_dtype(),
        "threads": torch.get_num_threads(),
        "gradients": torch.is_grad_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "floating-point errors": np.geterr(),
    }


@pytest.fixture
def rng():
    """Return a NumPy generator, the same in every test."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def root():
    """Return the folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def data_folder():
    """Return the folder with MNIST's four IDX files, or skip the test."""
    folder = os.environ.get("LAMINA_DATA")
    if not folder:
        pytest.skip("LAMINA_DATA names no folder with MNIST's IDX files")
    return Path(folder)
