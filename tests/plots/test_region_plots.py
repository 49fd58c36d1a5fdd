"""Pictures of regions are tested by reading back what was drawn."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from lamina import plots
from lamina.inspection import count_regions, region_bound, regions_in_plane, sawtooth_network
from lamina.nn import Network

WINDOW = ((-2, 2), (-1, 1))
NETWORK = Network((2, 10, 8, 1), init="torch", random_state=2)
SLICE = {"origin": np.ones(5), "axes": np.arange(10.0).reshape(2, 5) ** 2}

DRAWN = {
    "map": lambda ax: plots.plot_regions(NETWORK, WINDOW, ax=ax),
    "sizes": lambda ax: plots.plot_regions(NETWORK, WINDOW, colour="size", ax=ax),
    "slice": lambda ax: plots.plot_regions(Network((5, 9, 3), random_state=0), WINDOW, ax=ax,
                                           boundary=True, **SLICE),
    "line": lambda ax: plots.plot_line_regions(NETWORK, [-2, 0], [2, 1], ax=ax),
    "many": lambda ax: plots.plot_line_regions(sawtooth_network(9), [0.0], [1.0], ax=ax),
    "counts": lambda ax: count_regions(NETWORK, WINDOW).plot(ax),
    "bounds": lambda ax: region_bound((2, 9, 9, 1)).plot(ax),
}  # fmt: skip


@pytest.mark.parametrize("what", DRAWN)
def test_every_picture_is_drawn_where_asked_with_labelled_axes(what):
    before = dict(matplotlib.rcParams)
    ax = plots.panels()[0, 0]
    assert DRAWN[what](ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    ax.figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before


def test_the_map_has_a_polygon_and_a_colour_a_region():
    result = regions_in_plane(NETWORK, WINDOW)
    ax = plots.plot_regions(NETWORK, WINDOW)
    (faces,) = [c for c in ax.collections if isinstance(c, PolyCollection)]
    drawn = [path.vertices[:-1] for path in faces.get_paths()]
    assert len(drawn) == result.n_regions
    for polygon, face in zip(drawn, result.faces, strict=True):
        np.testing.assert_array_equal(polygon, result.vertices[face])
    ax.figure.canvas.draw()
    assert len(np.unique(faces.get_facecolors(), axis=0)) > 0.9 * result.n_regions
    assert ax.get_title() == f"{result.n_regions} regions"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "x2")
    assert (ax.get_xlim(), ax.get_ylim()) == WINDOW


def test_the_numbers_of_a_map_are_its_polygons():
    ax = plots.plot_regions(NETWORK, WINDOW, boundary=True)
    table = plots.figure_numbers(ax)
    result = regions_in_plane(NETWORK, WINDOW)
    corners = table[table["kind"] == "polygon"]
    np.testing.assert_array_equal(corners.groupby("value").size(), [len(f) for f in result.faces])
    segments = table[table["kind"] == "segment"]
    np.testing.assert_array_equal(
        segments[["x", "y"]].to_numpy().reshape(-1, 2, 2), result.decision_boundary()
    )
    assert set(segments["label"]) <= {"decision boundary"}


def test_colours_by_size_are_the_areas():
    ax = plots.plot_regions(NETWORK, WINDOW, colour="size")
    areas = regions_in_plane(NETWORK, WINDOW).areas
    np.testing.assert_allclose(ax.collections[0].get_array(), np.log10(areas))


def test_a_line_shows_its_breakpoints():
    ax = plots.plot_line_regions(sawtooth_network(3), [0.0], [1.0])
    curve, marks, ticks = ax.lines
    assert curve.get_ydata().tolist() == [0, 1, 1, 0] * 4
    assert marks.get_xdata().tolist() == ticks.get_xdata().tolist() == [i / 8 for i in range(1, 8)]
    assert marks.get_ydata().tolist() == [1, 0, 1, 0, 1, 0, 1]


def test_counts_by_layer_are_bars():
    result = count_regions(NETWORK, WINDOW)
    bars = result.plot().containers[0]
    assert [bar.get_height() for bar in bars] == list(result.regions_by_layer)
