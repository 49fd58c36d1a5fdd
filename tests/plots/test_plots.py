"""Pictures are tested by reading back what was drawn."""

from __future__ import annotations

import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from lamina import plots
from lamina._errors import DataError, MissingDependencyError, ParameterError
from lamina.nn import ACTIVATIONS

HISTORY = pd.DataFrame(
    {
        "member": [0, 0, 0, 1, 1],
        "epoch": [1, 2, 3, 1, 2],
        "train_loss": [1.0, 0.1, 0.01, 2.0, 0.2],
        "valid_loss": [1.5, 0.4, 0.6, np.nan, np.nan],
    }
)
X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])


def luminance(colour: str) -> float:
    """Relative luminance as the WCAG defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def simulated(colour: str, kind: str) -> np.ndarray:
    """What a reader without red or green cones sees, in linear light [Viénot et al. 1999]."""
    matrix = {
        "protan": [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
        "deutan": [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
    }[kind]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return np.asarray(matrix) @ linear


# Style


def test_palette_stays_apart_for_colour_blind_readers():
    for kind in ("protan", "deutan"):
        seen = [simulated(colour, kind) for colour in plots.PALETTE]
        gaps = [np.abs(a - b).max() for i, a in enumerate(seen) for b in seen[:i]]
        assert min(gaps) > 0.05


def test_first_two_colours_differ_in_lightness():
    first, second = (luminance(colour) for colour in plots.PALETTE[:2])
    assert (second + 0.05) / (first + 0.05) > 2


def test_drawing_changes_no_setting_and_imports_no_pyplot(run_fresh):
    run_fresh(
        "import sys, matplotlib\n"
        "before = dict(matplotlib.rcParams)\n"
        "from lamina.plots import plot_predictions\n"
        "ax = plot_predictions([1, 2], [1, 3])\n"
        "ax.figure.canvas.draw()\n"
        "assert dict(matplotlib.rcParams) == before\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )


def test_style_ends_with_its_block():
    before = dict(matplotlib.rcParams)
    with plots.style():
        assert matplotlib.rcParams["axes.grid"] is True
    assert dict(matplotlib.rcParams) == before


def test_panels_have_the_shape_and_size_that_was_asked_for():
    axes = plots.panels(2, 3, size=(2.0, 1.0))
    assert axes.shape == (2, 3)
    assert axes[0, 0].figure.get_size_inches().tolist() == [6.0, 2.0]
    with pytest.raises(ParameterError, match="n_rows must be an integer of at least 1"):
        plots.panels(0)


def test_without_matplotlib_the_cure_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError) as caught:
        plots.plot_predictions([1], [1])
    assert str(caught.value) == (
        "Plotting needs the package 'matplotlib', which is not installed. "
        "Install it with: pip install 'lamina[plots]'"
    )


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plots.plot_history(HISTORY, ax=ax),
        lambda ax: plots.plot_predictions([1, 2], [1, 3], ax=ax),
        lambda ax: plots.plot_residuals([1, 2], [1, 3], ax=ax),
        lambda ax: plots.plot_classes(X, [0, 0, 1, 1], ax=ax),
        lambda ax: plots.plot_decision(lambda x: x[:, 0], X, [0, 1, 0, 1], ax=ax),
        lambda ax: plots.plot_regression([0, 1], [0, 1], lambda x: x, ax=ax),
    ],
    ids=["history", "predictions", "residuals", "classes", "decision", "regression"],
)
def test_every_picture_is_drawn_where_asked_with_labelled_axes(draw):
    ax = plots.panels()[0, 0]
    assert draw(ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    ax.figure.canvas.draw()


# History


def test_history_is_a_line_per_member_on_a_log_axis():
    ax = plots.plot_history(HISTORY, name="loss (nats)")
    assert ax.get_yscale() == "log"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("epoch", "loss (nats)")
    first, second, held_out, best = ax.lines
    assert first.get_xydata().tolist() == [[1, 1.0], [2, 0.1], [3, 0.01]]
    assert second.get_xydata().tolist() == [[1, 2.0], [2, 0.2]]
    assert held_out.get_xydata().tolist() == [[1, 1.5], [2, 0.4], [3, 0.6]]
    assert best.get_xydata().tolist() == [[2, 0.4]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["training", "held out"]


def test_history_with_a_negative_loss_is_linear():
    history = pd.DataFrame({"epoch": [1, 2], "train_loss": [0.5, -0.5]})
    assert plots.plot_history(history).get_yscale() == "linear"
    assert plots.plot_history(HISTORY, log=False).get_yscale() == "linear"


def test_history_without_a_column_is_refused():
    with pytest.raises(DataError) as caught:
        plots.plot_history(pd.DataFrame({"epoch": [1], "train_los": [2.0]}))
    assert str(caught.value) == (
        "history must have a column 'train_loss'. Got ['epoch', 'train_los']. "
        "Did you mean 'train_los'?"
    )


# Predictions


def test_predictions_and_residuals_show_the_numbers():
    y, predicted = np.array([10.0, 20.0, 40.0]), np.array([12.0, 20.0, 37.0])
    ax = plots.plot_predictions(y, predicted, name="strength", unit="MPa")
    line, points = ax.lines
    assert points.get_xydata().tolist() == [[10, 12], [20, 20], [40, 37]]
    np.testing.assert_array_equal(line.get_xdata(), line.get_ydata())
    assert ax.get_xlabel() == "measured strength (MPa)"
    assert ax.get_ylabel() == "predicted strength (MPa)"
    assert ax.get_title() == f"RMSE {np.sqrt((4 + 9) / 3):.3g} MPa"
    residuals = plots.plot_residuals(y, predicted, name="strength", unit="MPa")
    assert residuals.lines[1].get_xydata().tolist() == [[12, -2], [20, 0], [37, 3]]
    assert residuals.get_title() == "mean residual +0.33 MPa"


def test_predictions_of_other_length_are_refused():
    for function in (plots.plot_predictions, plots.plot_residuals):
        with pytest.raises(DataError, match=r"Got shapes \(2,\) and \(3,\)"):
            function([1, 2], [1, 2, 3])


# Classes and decisions


def test_classes_have_own_colours_and_markers():
    ax = plots.plot_classes(X, ["b", "a", "b", "a"], names=("width", "height"))
    first, second = ax.collections
    assert first.get_offsets().tolist() == X[[1, 3]].tolist()
    assert second.get_offsets().tolist() == X[[0, 2]].tolist()
    assert first.get_facecolor().tolist() != second.get_facecolor().tolist()
    assert len(first.get_paths()[0].vertices) != len(second.get_paths()[0].vertices)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")
    assert ax.get_aspect() == 1.0


def test_two_classes_are_shaded_by_probability_with_the_half_contour():
    def proba(points):
        return 1 / (1 + np.exp(-4 * (points[:, 0] - 0.3)))

    ax = plots.plot_decision(proba, X, [0, 1, 0, 1], bounds=((-1, 1), (0, 2)), resolution=41)
    mesh, contour = ax.collections[:2]
    grid = np.linspace(-1, 1, 41)
    expected = np.tile(1 / (1 + np.exp(-4 * (grid - 0.3))), (41, 1))
    np.testing.assert_allclose(mesh.get_array(), expected)
    assert mesh.get_clim() == (0, 1)
    np.testing.assert_allclose(contour.get_paths()[0].vertices[:, 0], 0.3, atol=1e-3)
    assert (ax.get_xlim(), ax.get_ylim()) == ((-1, 1), (0, 2))


def test_one_and_two_columns_of_probability_draw_the_same():
    one = plots.plot_decision(lambda x: x[:, 0], X, [0, 1, 0, 1], resolution=9)
    two = plots.plot_decision(
        lambda x: np.stack([1 - x[:, 0], x[:, 0]], axis=1), X, [0, 1, 0, 1], resolution=9
    )
    arrays = [ax.collections[0].get_array() for ax in (one, two)]
    np.testing.assert_array_equal(*arrays)


def test_more_classes_are_drawn_by_the_likeliest():
    def proba(points):
        near = [(points[:, 0] - centre) ** 2 for centre in (0.0, 1.0, 2.0)]
        return np.exp(-np.stack(near, axis=1))

    points = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    ax = plots.plot_decision(proba, points, [0, 1, 2], bounds=((-0.5, 2.5), (-1, 1)), resolution=7)
    row = [0, 0, 0, 1, 1, 2, 2]  # at −.5, 0, .5, 1, 1.5, 2, 2.5; the first wins a tie
    assert ax.collections[0].get_array().tolist() == [row] * 7


def test_decision_panels_have_accuracies_in_their_titles():
    models = {"right": lambda x: x[:, 0], "left": lambda x: 1 - x[:, 0]}
    axes = plots.plot_decision_panels(models, X, [0, 1, 0, 1], resolution=9, n_columns=2)
    titles = [ax.get_title() for ax in axes.flat]
    assert titles == ["right: accuracy 1.000", "left: accuracy 0.000"]


def test_points_out_of_the_plane_are_refused():
    with pytest.raises(DataError, match=r"Got shapes \(4, 3\) and \(4,\)"):
        plots.plot_classes(np.zeros((4, 3)), [0, 1, 0, 1])
    with pytest.raises(DataError, match=r"predict_proba must return shape \(100, n_classes\)"):
        plots.plot_decision(lambda x: 0.5, X, [0, 1, 0, 1], resolution=10)


# Regression


def test_regression_goes_beyond_the_data():
    x = np.array([0.0, 2.0, 4.0])
    ax = plots.plot_regression(x, x + 1, lambda X: 2 * X, truth=np.sin, beyond=0.5, resolution=9)
    low, high, data, truth, fitted = ax.lines
    assert [edge.get_xdata()[0] for edge in (low, high)] == [0.0, 4.0]
    assert data.get_xydata().tolist() == [[0, 1], [2, 3], [4, 5]]
    grid = np.linspace(-2, 6, 9)
    np.testing.assert_allclose(truth.get_ydata(), np.sin(grid))
    np.testing.assert_allclose(fitted.get_xydata(), np.stack([grid, 2 * grid], axis=1))
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["data", "true function", "network"]


# Activations


def test_all_activations_are_drawn_beside_their_derivatives():
    functions, derivatives = plots.plot_activations(resolution=81)
    assert len(functions.lines) == len(derivatives.lines) == len(ACTIVATIONS)
    a = torch.linspace(-4, 4, 81, dtype=torch.float64)
    drawn = {line.get_label(): line for line in functions.lines}
    np.testing.assert_allclose(drawn["gelu"].get_ydata(), torch.nn.functional.gelu(a))
    slopes = {line.get_label(): line for line in derivatives.lines}
    np.testing.assert_allclose(slopes["tanh"].get_ydata(), 1 - np.tanh(a.numpy()) ** 2, atol=1e-12)
    looks = {(line.get_color(), line.get_linestyle()) for line in functions.lines}
    assert len(looks) == len(ACTIVATIONS)
    with pytest.raises(ParameterError, match="bounds must be two growing numbers"):
        plots.plot_activations(bounds=(1, 1))


# Files


def test_figure_and_its_numbers_are_written(tmp_path):
    ax = plots.plot_predictions([1.0, 2.0], [1.0, 3.0])
    files = plots.save_figure(ax, tmp_path / "new" / "fit.png", numbers=True)
    assert files == [tmp_path / "new" / "fit.png", tmp_path / "new" / "fit.csv"]
    height, width = imread(files[0]).shape[:2]
    assert (width, height) == (720, 540)  # 4.8 × 3.6 inches at 150 dots
    table = pd.read_csv(files[1])
    points = table[table.kind == "points"]
    assert points[["panel", "label", "x", "y"]].values.tolist() == [
        [0, "a row", 1.0, 1.0],
        [0, "a row", 2.0, 3.0],
    ]


def test_numbers_of_a_grid_and_of_bars():
    ax = plots.plot_decision(
        lambda x: x[:, 0], X, [0, 1, 0, 1], bounds=((0, 1), (0, 2)), resolution=3
    )
    grid = plots.figure_numbers(ax).query("kind == 'grid'")
    assert grid[["x", "y", "value"]].values.tolist() == [
        [x, y, x] for y in (0.0, 1.0, 2.0) for x in (0.0, 0.5, 1.0)
    ]
    bars = plots.panels()[0, 0]
    bars.bar([1, 2], [0.5, 0.75])
    assert plots.figure_numbers(bars)[["kind", "x", "y"]].values.tolist() == [
        ["bar", 1.0, 0.5],
        ["bar", 2.0, 0.75],
    ]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_equal_figures_are_equal_files(tmp_path, ending):
    files = [tmp_path / f"{i}.{ending}" for i in range(2)]
    for file in files:
        plots.save_figure(plots.plot_history(HISTORY), file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_unknown_ending_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(ParameterError) as caught:
        plots.save_figure(plots.panels()[0, 0], tmp_path / "fit.jpeg")
    assert str(caught.value) == (
        "The ending of path must be one of 'pdf', 'png', 'svg'. Got 'jpeg'."
    )


def test_numbers_of_lying_and_stacked_bars_bands_intervals_and_edge_to_edge_lines():
    ax = plots.panels()[0, 0]
    ax.barh(["one", "two"], [3.0, 4.0])
    ax.axvline(2.0, label="limit")
    ax.axhspan(0.25, 0.5, label="band")
    ax.set_ylim(-1.0, 3.0)
    ax.set_xlim(0.0, 8.0)
    table = plots.figure_numbers(ax).drop(columns=["panel", "title"]).fillna(-9)
    assert table.sort_values(["kind", "label"], kind="stable").values.tolist() == [
        ["band", "band", 0.0, 0.25, -9.0],
        ["band", "band", 8.0, 0.5, -9.0],
        ["bar", "one", 3.0, 0.0, 0.0],
        ["bar", "two", 4.0, 1.0, 0.0],
        ["line", "limit", 2.0, -1.0, -9.0],
        ["line", "limit", 2.0, 3.0, -9.0],
    ]
    ax = plots.panels()[0, 0]
    ax.bar([1.0], [2.0], label="low")
    ax.bar([1.0], [3.0], bottom=[2.0], label="high")
    ax.errorbar([5.0], [4.0], yerr=[[1.0], [2.0]], label="mean")
    table = plots.figure_numbers(ax)[["kind", "label", "x", "y", "value"]].fillna(-9)
    assert sorted(table.values.tolist()) == [
        ["bar", "high", 1.0, 3.0, 2.0],
        ["bar", "low", 1.0, 2.0, 0.0],
        ["line", "mean", 5.0, 4.0, -9.0],
        ["segment", "mean", 5.0, 3.0, 0.0],
        ["segment", "mean", 5.0, 6.0, 0.0],
    ]
