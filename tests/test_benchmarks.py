"""The benchmarks still run, and their helper measures and prints what it says."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.util import find_spec

import pytest

from benchmarks._table import aligned, backends, median_seconds, print_ratios

SMALL = {
    "single_fit": ["--samples=200", "--epochs=1", "--repeats=1"],
    "stack_vs_loop": ["--members=2", "--samples=200", "--epochs=1", "--repeats=1"],
    "against_jax": ["--members=2", "--samples=200", "--epochs=1", "--repeats=1"],
    "roofline": ["--widths", "8", "--batches", "32", "--operations=1e5"],
    "scaling": ["--largest=1000", "--no-memory"],
    "distributions": ["--rows=60", "--test=20", "--seeds=1", "--steps=5", "--draws=20"],
    "intervals": ["--seeds=1", "--rows=60", "--members=2", "--trees=5"],
    "symmetry": ["--largest=0", "--repeats=1"],
    "regions": ["--hidden", "6", "--seeds=1", "--grid=20", "--width=8", "--scan=50"],
    "few_labels": ["--only", "wine", "--labels", "5", "--draws=1", "--steps=20"],
    "search": ["--repeats=0", "--epochs=1", "--large=3"],
    "graph": ["--units", "30", "--rows=8", "--repeats=1"],
    "tables": ["--preset=fast", "--only", "wine", "diabetes"],
}


@pytest.mark.parametrize(
    ("name", "column", "cases"),
    [
        ("single_fit", f"scikit-learn / {backends()[0]}", {"16", "64", "64-64", "256-256"}),
        ("stack_vs_loop", "loop torch / stack torch", {"16", "64", "64-64", "256"}),
        ("roofline", "torch share", {"8"}),
        ("scaling", "torch [ms]", {"512", "1,000", "256", "exponent"}),
        ("symmetry", "units found", {"1-64-1"}),
        ("regions", "seen by the grid", {"6", "784-8x4-1"}),
        ("few_labels", "contrastive", {"wine/5"}),
        ("search", "best mean score", {"3"}),
        ("graph", "loop / lamina", {"30", "Forward:"}),
        ("tables", "boosting", {"wine"}),
        ("intervals", "coverage", {"diabetes"}),
        ("distributions", "largest |cdf - q|", {"lamina", "plain", "the", "lamina,"}),
    ],
)
def test_a_benchmark_prints_a_row_a_case(name, column, cases, root):
    command = [sys.executable, "-m", f"benchmarks.{name}", *SMALL[name]]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert column in done.stdout
    assert cases <= {line.strip().split(" ")[0] for line in done.stdout.splitlines()}


def test_against_jax_says_what_it_needs_or_prints_a_row_a_width(root):
    command = [sys.executable, "-m", "benchmarks.against_jax", *SMALL["against_jax"]]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    if find_spec("jax") is None:
        assert done.stdout == "JAX is not installed: pip install jax\n"
    else:
        assert {"4", "64-64"} <= {line.strip().split(" ")[0] for line in done.stdout.splitlines()}


def test_every_benchmark_is_run_here_and_by_make(root):
    names = {file.stem for file in (root / "benchmarks").glob("[!_]*.py")}
    assert names == set(SMALL)
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    assert all(f"benchmarks.{name}" in makefile for name in names)


def test_ways_take_turns_and_the_median_is_taken():
    calls = []
    pauses = iter([0.0, 0.0, 0.0, 0.0, 0.03, 0.0, 0.0, 0.0])

    def way(name):
        calls.append(name)
        time.sleep(next(pauses))

    ways = {"a": lambda: way("a"), "b": lambda: way("b")}
    seconds = median_seconds(ways, repeats=3)
    assert calls == ["a", "b"] * 4
    # One of three runs of "a" took 30 ms; its median does not see it.
    assert seconds["a"] < 0.03


def test_ratios_are_others_by_ours(capsys):
    print_ratios("title", {"case": {"ours": 0.002, "theirs": 0.005}}, ours="ours")
    title, _, header, row = capsys.readouterr().out.splitlines()
    assert title == "title"
    assert header.split("  ")[-1].strip() == "theirs / ours"
    assert row.split() == ["case", "2", "5", "2.50"]


def test_columns_are_aligned():
    assert aligned([["", "b"], ["long", "1"]]) == "      b\nlong  1"
