"""Linear regions: exact polygons against regioncam (PyPI), and against a fine grid.

Networks have two inputs and PyTorch's default initialisation; the window is [-2, 2]². regioncam
computes in float32, and its network is the float32 one; counts are compared before times are.
Then a line through a wide network of 784 inputs, with a scan of many points beside it:
``python -m benchmarks.regions``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec

import numpy as np
import torch
from torch import nn

from benchmarks._table import aligned, machine, median_seconds, print_ratios
from lamina.inspection import count_regions, regions_in_plane, regions_on_line

WINDOW = ((-2.0, 2.0), (-2.0, 2.0))
HIDDEN = ("24", "12-12", "8-8-8", "64-64", "128-128-128")


def network(sizes: Sequence[int], seed: int, zero_biases: bool = False) -> nn.Sequential:
    """Return a ReLU network as torch initialises it, or with Kaiming weights and no biases."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        modules: list[nn.Module] = []
        for i in range(len(sizes) - 1):
            linear = nn.Linear(sizes[i], sizes[i + 1])
            if zero_biases:
                nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
                nn.init.zeros_(linear.bias)
            modules += [linear, nn.ReLU()]
        return nn.Sequential(*modules[:-1])


def by_regioncam(module: nn.Sequential) -> int:
    """Return the number of faces that regioncam finds."""
    import regioncam

    camera = regioncam.Regioncam(size=2.0)
    camera.add(module)
    return int(camera.num_faces)


def in_the_window(hidden: Sequence[str], seeds: int, repeats: int) -> None:
    """Print medians of ours and of regioncam, and the counts."""
    has_rival = find_spec("regioncam") is not None
    times: dict[str, dict[str, float]] = {}
    counts = [["", "regions", "regioncam", "certain", "V - E + F", "area - 16"]]
    for text in hidden:
        sizes = [2, *map(int, text.split("-")), 1]
        for seed in range(seeds):
            module = network(sizes, seed)
            result = regions_in_plane(module, WINDOW)
            case = f"{text} seed {seed}"
            rival = str(by_regioncam(module)) if has_rival else "-"
            euler = len(result.vertices) - len(result.edges) + result.n_regions
            counts.append([
                case, str(result.n_regions), rival, str(result.certain), str(euler),
                f"{result.areas.sum() - 16:.1e}",
            ])  # fmt: skip
            ways: dict[str, Callable[[], object]] = {
                "lamina": lambda m=module: regions_in_plane(m, WINDOW),
                "count only": lambda m=module: count_regions(m, WINDOW),
            }
            if has_rival:
                ways["regioncam"] = lambda m=module: by_regioncam(m)
            times[case] = median_seconds(ways, repeats=repeats)
    print(aligned(counts))
    print()
    print_ratios("Regions in a window, exact polygons", times, ours="lamina")
    if has_rival:
        alone = {
            case: {way: t[way] for way in ("count only", "regioncam")} for case, t in times.items()
        }
        print_ratios(
            "\nTheir number, which is all that regioncam is asked", alone, ours="count only"
        )
    else:
        print("regioncam is not installed: pip install regioncam")


def against_a_grid(hidden: Sequence[str], points: int) -> None:
    """Print how many regions a grid sees, and how long it takes, zero biases included."""
    rows = [["", "regions", "seen by the grid", "share", "grid [ms]", "exact [ms]"]]
    for text in hidden:
        sizes = [2, *map(int, text.split("-")), 1]
        for zero_biases in (False, True):
            module = network(sizes, 0, zero_biases)
            start = time.perf_counter()
            result = regions_in_plane(module, WINDOW)
            exact = time.perf_counter() - start
            start = time.perf_counter()
            share = result.seen_by_grid(points)
            grid = time.perf_counter() - start
            rows.append([
                f"{text}{' zero biases' if zero_biases else ''}", str(result.n_regions),
                f"{round(share * result.n_regions)}", f"{share:.4f}",
                f"{grid * 1e3:.3g}", f"{exact * 1e3:.3g}",
            ])  # fmt: skip
    print(f"\nA grid of {points} by {points} points")
    print(aligned(rows))


def on_a_line(width: int, depth: int, scan: int, repeats: int) -> None:
    """Print the breakpoints on a line through 784 inputs, and what a scan sees of them."""
    module = network([784, *[width] * depth, 1], 0).double()
    rng = np.random.default_rng(0)
    start, end = rng.normal(size=(2, 784))
    result = regions_on_line(module, start, end)
    seconds = median_seconds(
        {"line": lambda: regions_on_line(module, start, end)}, repeats=repeats
    )
    wrong, seen = scanned(module, start, end, scan, result.breakpoints, result.patterns)
    rows = [
        ["", "breakpoints", "exact [ms]", "regions the scan sees", "patterns unlike ours"],
        [
            f"784-{width}x{depth}-1", str(len(result.breakpoints)), f"{seconds['line'] * 1e3:.4g}",
            f"{seen} of {result.n_regions}", str(wrong),
        ],
    ]  # fmt: skip
    print(f"\nA line through 784 inputs, and a scan of {scan:,} points; {machine()}")
    print(aligned(rows))


def scanned(
    module: nn.Sequential, start: np.ndarray, end: np.ndarray, scan: int,
    breakpoints: np.ndarray, patterns: np.ndarray,
) -> tuple[int, int]:  # fmt: skip
    """Return points whose pattern, by torch, is not that of our region there; regions seen."""
    wrong, seen = 0, np.zeros(len(patterns), dtype=bool)
    for t in np.array_split(np.linspace(0, 1, scan), max(1, scan // 4_000)):
        h = torch.from_numpy(start + t[:, None] * (end - start))
        codes = []
        with torch.no_grad():
            for layer in module:
                h = layer(h)
                if isinstance(layer, nn.ReLU):
                    codes.append((h > 0).numpy())
        region = np.searchsorted(breakpoints, t)
        wrong += int((np.concatenate(codes, axis=1) != (patterns[region] > 0)).any(axis=1).sum())
        seen[region] = True
    return wrong, int(seen.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hidden", nargs="+", default=list(HIDDEN))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--grid", type=int, default=1_000)
    parser.add_argument("--width", type=int, default=1_024)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--scan", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    in_the_window(arguments.hidden, arguments.seeds, arguments.repeats)
    against_a_grid(arguments.hidden, arguments.grid)
    on_a_line(arguments.width, arguments.depth, arguments.scan, arguments.repeats)


if __name__ == "__main__":
    main()
