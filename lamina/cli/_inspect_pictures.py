"""The pictures of ``lamina inspect --plots``, each with its numbers beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ._finding_data import calibration_of
from ._finding_regions import Window, curved, farthest, has_regions, window_of
from ._findings import rows_differ, signal_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lamina._typing import FloatArray
    from lamina.nn import Network

    from ._inspected import Inspected

MOST_NETWORKS = 4
"""Networks of an ensemble that are drawn."""

MOST_UNITS = 200
"""Hidden units up to which a map is drawn: about half their square regions, 20,000."""


def write_pictures(found: Inspected, folder: Path) -> tuple[list[Path], list[str]]:
    """Draw what there are data for; return the files, and sentences on what was left out."""
    from lamina.plots import save_figure, style

    files: list[Path] = []
    left_out: list[str] = []
    with style():
        for i, network in enumerate(found.networks[:MOST_NETWORKS]):
            for name, axes in _of_network(found, network, i):
                file = folder / f"network{i + 1}_{name}.png"
                files.extend(save_figure(axes, file, numbers=True))
            if found.matrix is not None:
                left_out += [f"Network {i + 1}: {why}" for why in _without_map(network)]
        if found.y is not None:
            reliability = calibration_of(found, found.y.notna().to_numpy())
            if reliability is not None:
                file = folder / "calibration.png"
                files.extend(save_figure(reliability.plot(), file, numbers=True))
    if len(found.networks) > MOST_NETWORKS:
        left_out.append(f"Of {len(found.networks)} networks the first {MOST_NETWORKS} are drawn.")
    return files, left_out


def _of_network(found: Inspected, network: Network, i: int) -> Iterator[tuple[str, Axes]]:
    """Yield the pictures of one network, each with its name."""
    from lamina.inspection import rank, units

    X = found.matrix
    if X is None or not rows_differ(X):
        yield "singular_values", rank(network).plot()
        return
    result = units(network, X)
    yield "units", result.plot("heat")
    yield "saturation", result.plot("saturation")
    axes = signal_of(network, X, seed=i).plot()
    axes.set_title(f"{axes.get_title()} (random errors)")
    yield "gradients", axes
    if has_regions(network):
        yield "regions", _regions(found, network, X)


def _regions(found: Inspected, network: Network, X: FloatArray) -> Axes:
    """Draw the map in a plane of the data, or the line between two far rows."""
    from lamina import MLPClassifier, TableClassifier
    from lamina.plots import plot_line_regions, plot_regions

    window = window_of(X)
    if window is None or sum(network.sizes[1:-1]) > MOST_UNITS:
        far = farthest(X)
        axes = plot_line_regions(network, X[0], X[far])
        axes.set_xlabel(f"t, from row {found.row(0)} to row {found.row(far)}")
        return axes
    axes = plot_regions(
        network,
        window.bounds,
        origin=window.origin,
        axes=window.axes,
        boundary=isinstance(found.model, (MLPClassifier, TableClassifier)),
    )
    _mark_rows(found, window, X, axes)
    return axes


def _mark_rows(found: Inspected, window: Window, X: FloatArray, axes: Axes) -> None:
    """Mark the rows that lie in the plane, and say which plane it is."""
    if window.rows:
        numbers = [found.row(row) for row in window.rows]
        axes.set_title(f"{axes.get_title()} in the plane of rows {numbers[0]}, {numbers[1]}, "
                       f"{numbers[2]}", fontsize="small")  # fmt: skip
        axes.set_xlabel(f"u: from row {numbers[0]} to row {numbers[1]}")
        axes.set_ylabel(f"v: towards row {numbers[2]}")
    rows = X[list(window.rows)] if window.rows else X
    u, v = ((rows - window.origin) @ window.axes.T).T
    label = "rows" if not window.rows else "the three rows"
    size = 5 if window.rows else 2
    axes.plot(
        u, v, "o", color="white", markeredgecolor="black", markersize=size,
        markeredgewidth=0.5, label=label, clip_on=False,
    )  # fmt: skip


def _without_map(network: Network) -> Iterator[str]:
    """Yield why a network has no map of regions."""
    name = curved(network)
    if name:
        yield f"no map of linear regions, since {name} is curved."
    elif has_regions(network) and sum(network.sizes[1:-1]) > MOST_UNITS:
        yield f"regions on a line, since a map of more than {MOST_UNITS} units shows nothing."
