"""Pictures of units and gradients are tested by reading back what was drawn."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

from lamina import plots
from lamina._errors import ParameterError
from lamina.heads import Normal
from lamina.inspection import UnitHistory, gradients, units
from lamina.nn import Network

X = np.random.default_rng(0).standard_normal((30, 3))
START = Network((3, 5, 4, 1), random_state=0)


def trained():
    """Another network of the same sizes, with unit 2 of layer 1 dead."""
    layers = Network((3, 5, 4, 1), random_state=1).layers()
    layers[0][1][2] = -50.0
    return Network.from_arrays(layers)


NET = trained()
HISTORY = UnitHistory(X, X[:, 0], Normal())
for epoch in range(3):
    HISTORY.observe([START, NET], epoch)

DRAWN = {
    "heat": lambda ax: plots.plot_units(NET, X, ax=ax),
    "saturation": lambda ax: plots.plot_units(NET, X, kind="saturation", ax=ax),
    "moved": lambda ax: plots.plot_units(NET, X, kind="moved", initial=START, ax=ax),
    "gradients": lambda ax: plots.plot_gradients(NET, X, X[:, 0], Normal(), ax=ax),
    "history": lambda ax: HISTORY.plot("gradient_norm", member=1, ax=ax),
}


@pytest.mark.parametrize("what", DRAWN)
def test_every_picture_is_drawn_where_asked_with_labelled_axes(what):
    before = dict(matplotlib.rcParams)
    ax = plots.panels()[0, 0]
    assert DRAWN[what](ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    ax.figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before


def test_the_heat_map_holds_spreads_and_crosses_the_dead():
    ax = plots.plot_units(NET, X)
    found = units(NET, X)
    numbers = plots.figure_numbers(ax)
    cells = numbers[numbers["kind"] == "grid"]
    for row, layer in enumerate(found.layers):
        own = cells[cells["y"] == row + 0.5]["value"].dropna()
        np.testing.assert_allclose(own, layer.std / layer.std.max(), rtol=1e-12)
    crosses = numbers[numbers["kind"] == "points"]
    dead = {(unit + 0.5, layer - 0.5) for layer, unit in found.dead}
    assert set(zip(crosses["x"], crosses["y"], strict=True)) == dead
    assert (2.5, 0.5) in dead


def test_strips_are_sorted_by_saturation():
    ax = plots.plot_units(NET, X, kind="saturation")
    numbers = plots.figure_numbers(ax)
    first = numbers[(numbers["kind"] == "grid") & (numbers["y"] == 0.5)]["value"].to_numpy()
    expected = units(NET, X).layers[0].saturated_share
    np.testing.assert_allclose(first, np.sort(expected)[::-1])


def test_bars_show_the_movement_of_each_unit():
    ax = plots.plot_units(NET, X, kind="moved", initial=START)
    bars = {round(p.get_x() + p.get_width() / 2): p.get_height() for p in ax.patches}
    expected = units(NET, X, initial=START).layers[0].moved
    np.testing.assert_allclose([bars[j] for j in range(5)], expected)
    with pytest.raises(ParameterError, match="Pass initial="):
        units(NET, X).plot("moved")
    with pytest.raises(ParameterError, match="kind must be"):
        units(NET, X).plot("bars")


def test_gradients_are_drawn_by_layer():
    result = gradients(NET, X, X[:, 0], Normal())
    ax = result.plot()
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [layer.signal for layer in result.layers])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [layer.norm for layer in result.layers])
    assert ax.get_yscale() == "log"


def test_a_gradient_of_zero_is_drawn_without_a_log_scale():
    net = Network.from_arrays([([[1.0, 0.0, 0.0]], [0.0])])
    assert gradients(net, X, X[:, 0], Normal()).plot().get_yscale() == "linear"


def test_a_history_draws_a_line_for_each_layer():
    ax = HISTORY.plot("dead", member=1)
    assert [line.get_label() for line in ax.lines] == ["layer 1", "layer 2"]
    assert ax.lines[0].get_xdata().tolist() == [0, 1, 2]
    with pytest.raises(ParameterError, match="what must be one of"):
        HISTORY.plot("loss")
    with pytest.raises(ParameterError, match="member"):
        HISTORY.plot(member=7)
