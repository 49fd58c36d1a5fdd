"""How time and memory grow with members, rows and width.

Each series is fitted by time = c · size^e over its larger half; the exponent e is printed, and
the memory that training needs above data and imports: ``python -m benchmarks.scaling``.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import threading

import numpy as np
import torch

from benchmarks._table import aligned, backends, machine, median_seconds
from benchmarks.single_fit import problem
from lamina.heads import Categorical
from lamina.stack import Member, train

MEMBERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
ROWS = (1_000, 10_000, 100_000, 1_000_000)
WIDTHS = (4, 16, 64, 256, 1024)


def seconds_for(k: int, n_rows: int, width: int, backend: str) -> float:
    """Return the median time of one epoch."""
    X, y = problem(n_rows)
    members = [
        Member((width,), head=Categorical(3), seed=i, batch_size=200, max_epochs=1)
        for i in range(k)
    ]
    ways = {"": lambda: train(members, X, y, backend=backend)}  # type: ignore[arg-type]
    return median_seconds(ways, repeats=3, warm_up=n_rows < 100_000)[""]


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Return the slope of log time on log size over the larger half."""
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(seconds[half:]), 1)[0])


def series(name: str, sizes: tuple[int, ...], cases: list[tuple[int, int, int]]) -> None:
    """Print the times of one series for each backend, with the fitted exponents."""
    columns = {b: [seconds_for(*case, b) for case in cases] for b in backends()}
    lines = [[name, *(f"{b} [ms]" for b in columns)]]
    for i, size in enumerate(sizes):
        lines.append([f"{size:,}", *(f"{columns[b][i] * 1e3:.3g}" for b in columns)])
    lines.append(["exponent", *(f"{exponent(sizes, s):.2f}" for s in columns.values())])
    print()
    print(aligned(lines))


_MEASURE = """
import resource, sys
import numpy as np, torch
from benchmarks.scaling import memory_case
print(memory_case(sys.argv[1]))
"""


def memory_case(backend: str) -> float:
    """Return the MB that training 256 members of 64-64 on 10,000 rows adds."""
    torch.set_num_threads(1)
    X, y = problem(10_000)
    members = [
        Member((64, 64), head=Categorical(3), seed=i, batch_size=200, max_epochs=1)
        for i in range(256)
    ]
    train([members[0]], X[:400], y[:400], backend=backend)  # type: ignore[arg-type]
    before = resident()
    most, ended = [before], threading.Event()

    def watch() -> None:
        while not ended.wait(0.001):
            most[0] = max(most[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    result = train(members, X, y, backend=backend)  # type: ignore[arg-type]
    most[0] = max(most[0], resident())  # while all networks are there
    ended.set()
    watcher.join()
    assert len(result.networks) == len(members)
    return most[0] - before


def resident() -> float:
    """Return the MB of memory that this process holds now, or held at most where Linux is not."""
    try:
        with open("/proc/self/statm", encoding="ascii") as numbers:
            return int(numbers.read().split()[1]) * resource.getpagesize() / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=10**9, help="leave larger sizes out")
    parser.add_argument("--no-memory", action="store_true", help="do not measure memory")
    arguments = parser.parse_args()
    largest = arguments.largest
    torch.set_num_threads(1)
    print(machine())
    members, rows, widths = (
        tuple(n for n in sizes if n <= largest) for sizes in (MEMBERS, ROWS, WIDTHS)
    )
    series("members", members, [(k, 2_000, 16) for k in members])
    series("rows", rows, [(1, n, 16) for n in rows])
    series("width", widths, [(1, 2_000, w) for w in widths])
    print()
    for backend in [] if arguments.no_memory else backends():
        command = [sys.executable, "-c", _MEASURE, backend]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        print(f"256 members of 64-64 on 10,000 rows, {backend}: {float(output):.0f} MB more")


if __name__ == "__main__":
    main()
