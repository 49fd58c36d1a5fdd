"""Time things fairly and print what came out as a table of ratios.

A ratio travels between machines better than seconds do. The ways that are compared take turns
(first, second, first, second, …), so that a busy minute hits each alike, and each one's median
is taken.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import torch

from lamina.stack._cpu import native


def median_seconds(
    ways: Mapping[str, Callable[[], object]], *, repeats: int = 5, warm_up: bool = True
) -> dict[str, float]:
    """Return the median time of each way in seconds.

    Parameters
    ----------
    ways : dict of str to callable
        What to time, by name.
    repeats : int, default=5
        How often each way is timed.
    warm_up : bool, default=True
        Whether each way runs once before, untimed.

    Returns
    -------
    dict of str to float
        The medians, in the order of ``ways``.
    """
    if warm_up:
        for way in ways.values():
            way()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def usable_cores() -> int:
    """Return how many cores this process may use."""
    # Not every system can say which cores a process is bound to.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def backends() -> list[str]:
    """Return the backends that can run here, the best first."""
    return ["cpu", "torch"] if native() is not None else ["torch"]


def machine() -> str:
    """Return one line on what was measured where."""
    return (
        f"{processor()}, {usable_cores()} cores, {torch.get_num_threads()} torch threads, "
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )


def processor() -> str:
    """Return the processor's name where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [
                line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
            ]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def print_ratios(
    title: str,
    rows: Mapping[str, Mapping[str, float]],
    *,
    ours: str,
    unit: str = "ms",
) -> None:
    """Print a table: a row a case, a column a way, then how many times faster ours is.

    Parameters
    ----------
    title : str
        What is compared.
    rows : dict of str to dict of str to float
        Seconds of each way, by case. Every case has the same ways.
    ours : str
        The way that the others are divided by.
    unit : {"s", "ms", "us"}, default="ms"
        Unit of the printed times.
    """
    scale = {"s": 1.0, "ms": 1e3, "us": 1e6}[unit]
    ways = list(next(iter(rows.values())))
    others = [way for way in ways if way != ours]
    header = ["", *(f"{way} [{unit}]" for way in ways), *(f"{way} / {ours}" for way in others)]
    body = [
        [
            case,
            *(f"{seconds[way] * scale:.3g}" for way in ways),
            *(f"{seconds[way] / seconds[ours]:.2f}" for way in others),
        ]
        for case, seconds in rows.items()
    ]
    print(title)
    print(machine())
    print(aligned([header, *body]))


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as lines: the first column to the left, the others to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)
