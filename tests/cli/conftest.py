"""Run commands in this process, on small tables."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lamina.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left behind; blanks at the ends of lines are cut off."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.out.splitlines()]

    @property
    def notes(self) -> list[str]:
        return [line.rstrip() for line in self.err.splitlines()]


@pytest.fixture
def run(capsys, monkeypatch):
    """Run ``lamina`` with some arguments."""
    monkeypatch.setenv("TERM", "unknown")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run_command(*arguments: object) -> Done:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        return Done(status, *capsys.readouterr())

    return run_command


@pytest.fixture
def spawn():
    """Run a program of Python in a process of its own."""

    def run_program(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run_program


def houses(n: int) -> pd.DataFrame:
    """A table with a number to predict, and columns of several kinds."""
    rng = np.random.default_rng(1)
    area = rng.uniform(20, 200, n).round(1)
    city = rng.choice(["Ulm", "Bonn", "Köln"], n)
    price = 2.0 * area + np.where(city == "Köln", 90.0, 0.0) + rng.normal(0, 5, n)
    return pd.DataFrame(
        {
            "area": np.where(rng.random(n) < 0.1, np.nan, area),
            "city": city,
            "sold": pd.date_range("2020-01-01", periods=n, freq="D").strftime("%Y-%m-%d"),
            "country": "DE",
            "price": price.round(2),
        }
    )


def flowers(n: int) -> pd.DataFrame:
    """A table with three classes to predict."""
    rng = np.random.default_rng(2)
    kind = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "length": (kind + rng.normal(0, 0.3, n)).round(3),
            "width": rng.normal(0, 1, n).round(3),
            "kind": np.array(["rose", "tulip", "lily"])[kind],
        }
    )


@dataclass(frozen=True)
class Files:
    """Two tables and the models that were fitted to them, in a folder."""

    folder: Path
    houses: Path
    flowers: Path
    regressor: Path
    classifier: Path


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> Files:
    """Fit once; the tests of predict and evaluate only read."""
    folder = tmp_path_factory.mktemp("cli")
    made = Files(
        folder,
        folder / "houses.csv",
        folder / "flowers.csv",
        folder / "regressor",
        folder / "classifier",
    )
    houses(120).to_csv(made.houses, index=False)
    flowers(150).to_csv(made.flowers, index=False)
    quick = ["--preset", "fast", "--quiet"]
    for table, target, model in [
        (made.houses, "price", made.regressor),
        (made.flowers, "kind", made.classifier),
    ]:
        assert main(["fit", str(table), "--target", target, "-o", str(model), *quick]) == 0
    return made
