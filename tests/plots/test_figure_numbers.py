"""Every picture of ``lamina.plots`` and of an inspection can write the numbers behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lamina import inspection as look
from lamina import plots
from lamina.distributions import NormalMixture
from lamina.heads import Normal
from lamina.nn import GraphNetwork, Network

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 2))
Y = X[:, 0] + 0.1 * RNG.standard_normal(30)
CLASSES = (Y > 0).astype(int)
PROBA = 1 / (1 + np.exp(-3 * X[:, 0]))
NET = Network((2, 5, 4, 1), random_state=0)
OTHER = Network((2, 5, 4, 1), random_state=1)
ODD = Network((2, 3, 1), "tanh", random_state=0)
WINDOW = ((-2, 2), (-1, 1))
DIST, AT = NormalMixture([0.0, 0.0, 0.0], [1.0, 2.0, 4.0]), np.array([0.1, -3.0, 8.0])
HISTORY = pd.DataFrame({"epoch": [1, 2, 3], "train_loss": [1.0, 0.5, 0.3]})
WATCH = look.UnitHistory(X, Y, Normal())
WATCH.observe([NET], 0)
WATCH.observe([OTHER], 1)
PLANE = look.regions_in_plane(NET, WINDOW)
LINE = look.regions_on_line(NET, [-2, 0], [2, 1])
UNITS = look.units(NET, X, initial=OTHER)
GRADIENTS = look.gradients(NET, X, Y, Normal())
COVERAGE = look.coverage(DIST, AT)
INTERPOLANT = look.relu_interpolant(np.sin, 5, (0.0, 6.0))
SEGMENT = look.segment(NET, OTHER, X, Y, Normal())


@dataclass(frozen=True)
class Picture:
    """A picture, and numbers that must be found in columns of what it writes."""

    of: str
    draw: Any
    behind: dict[str, Any]


def result(value, *arguments, behind, **options):
    """A picture that a result draws of itself."""
    return Picture(type(value).__name__, lambda: value.plot(*arguments, **options), behind)


FUNCTIONS = [
    Picture("plot_activations", lambda: plots.plot_activations(["tanh"], resolution=5)[0],
            {"x": np.linspace(-4, 4, 5), "y": np.tanh(np.linspace(-4, 4, 5))}),
    Picture("plot_classes", lambda: plots.plot_classes(X, CLASSES),
            {"x": X[:, 0], "y": X[:, 1], "label": ["0", "1"]}),
    Picture("plot_components", lambda: plots.plot_components(X),
            {"y": look.principal_components(X).cumulative}),
    Picture("plot_coverage", lambda: plots.plot_coverage(DIST, AT),
            {"x": COVERAGE.levels, "y": COVERAGE.observed}),
    Picture("plot_curve", lambda: plots.plot_curve(X),
            {"label": ["curve", "ends"]}),
    Picture("plot_decision",
            lambda: plots.plot_decision(lambda x: x[:, 0] > 0, X, CLASSES, resolution=3),
            {"x": X[:, 0], "y": X[:, 1], "value": [0.0, 1.0]}),
    Picture("plot_decision_panels",
            lambda: plots.plot_decision_panels({"a": lambda x: x[:, 0] > 0}, X, CLASSES)[0],
            {"x": X[:, 0], "panel": [0], "value": [0.0, 1.0]}),
    Picture("plot_gradients", lambda: plots.plot_gradients(NET, X, Y, Normal()),
            {"y": [layer.norm for layer in GRADIENTS.layers]}),
    Picture(
        "plot_graph",
        lambda: plots.plot_graph(GraphNetwork({"h": ["a"], "y": ["h"]}, random_state=0)),
        {"label": ["a", "h", "y", "input", "output"], "x": [0, 1, 2]},
    ),
    Picture("plot_history", lambda: plots.plot_history(HISTORY),
            {"x": HISTORY["epoch"], "y": HISTORY["train_loss"]}),
    Picture("plot_interpolant", lambda: plots.plot_interpolant(np.sin, 5, (0.0, 6.0)),
            {"x": INTERPOLANT.knots[:, 0], "y": INTERPOLANT.values}),
    Picture("plot_interpolant_errors", lambda: plots.plot_interpolant_errors(np.exp, [2, 4]),
            {"x": [2, 4], "y": look.interpolant_errors(np.exp, [2, 4]).errors}),
    Picture("plot_line_regions", lambda: plots.plot_line_regions(NET, [-2, 0], [2, 1]),
            {"x": LINE.breakpoints, "y": LINE.values[:, 0, 0]}),
    Picture("plot_pit", lambda: plots.plot_pit(DIST, AT),
            {"y": look.pit(DIST, AT).counts, "kind": ["bar", "band", "line"]}),
    Picture("plot_predictions", lambda: plots.plot_predictions(Y, X[:, 0]),
            {"x": Y, "y": X[:, 0]}),
    Picture("plot_radii", lambda: plots.plot_radii([3]), {"label": ["D = 3"]}),
    Picture("plot_regions", lambda: plots.plot_regions(NET, WINDOW, boundary=True),
            {"x": PLANE.vertices[:, 0], "y": PLANE.decision_boundary()[..., 1].ravel()}),
    Picture("plot_regression", lambda: plots.plot_regression(Y, X[:, 0], lambda x: 2 * x[:, 0]),
            {"x": Y, "y": X[:, 0]}),
    Picture("plot_reliability", lambda: plots.plot_reliability(CLASSES, PROBA, n_bins=3),
            {"y": look.calibration(CLASSES, PROBA, n_bins=3).by_class[1].interval().ravel()}),
    Picture("plot_residuals", lambda: plots.plot_residuals(Y, X[:, 0]), {"y": Y - X[:, 0]}),
    Picture(
        "plot_search_history",
        lambda: plots.plot_search_history([0.5, 0.7, 0.6]),
        {"y": [0.5, 0.7, 0.6]},
    ),
    Picture(
        "plot_search_parameters",
        lambda: plots.plot_search_parameters([{"a": "relu"}, {"a": "tanh"}], [0.5, 0.7]),
        {"label": ["candidate 1", "relu", "tanh", "0.5", "0.7"]},
    ),
    Picture(
        "plot_search_rungs",
        lambda: plots.plot_search_rungs([{10: 0.5, 30: 0.7}, {10: 0.4}]),
        {"x": [10, 30], "y": [0.5, 0.7, 0.4]},
    ),
    Picture("plot_segment", lambda: plots.plot_segment(NET, OTHER, X, Y, Normal()),
            {"x": SEGMENT.shares, "y": np.concatenate([SEGMENT.loss, SEGMENT.matched_loss])}),
    Picture("plot_sharpness", lambda: plots.plot_sharpness(DIST, AT),
            {"y": np.concatenate([COVERAGE.mean_width, np.quantile(COVERAGE.widths, 0.9, 0)])}),
    Picture("plot_units", lambda: plots.plot_units(NET, X),
            {"value": UNITS.layers[0].std / UNITS.layers[0].std.max()}),
]  # fmt: skip

BARRON = look.barron_rate(3, (4, 16), n_points=50, n_repeats=2)
FIT = look.fit_basis(look.PolynomialBasis(2), X, Y)
CALIBRATION = look.calibration(CLASSES, PROBA, n_bins=3)
CANONICAL = look.canonical(NET)
VOTE = look.cell_vote(X, CLASSES, 3)
COMPARED = look.compare(NET, OTHER, X)
COMPONENTS = look.principal_components(X)
CONDITIONING = look.kernel_conditioning(X)
CURVE = look.curve_geometry(X)
DISTANCES = look.distance_concentration(X)
COUNTED = look.polynomial_count([2, 3], [2, 3])
ENUMERATED = look.enumerate_symmetries(ODD)
EXCEPTION = look.polynomial_exception(np.sin, widths=(1, 2), n_points=30)
MATCHED = look.match(NET, OTHER)
BOUND = look.region_bound((2, 9, 9, 1))
RANK = look.rank(NET)
RIDGES = look.ridges(Network((2, 5, 1), random_state=0))
SAME = look.same_function(NET, OTHER)
SCORED = look.scores(DIST, AT)
TEMPERATURE = look.temperature(CLASSES, 9 * X[:, 0])
TWIN = look.twin(NET)
ERRORS = look.interpolant_errors(np.exp, [2, 4])

RESULTS = [
    result(BARRON, behind={"x": BARRON.widths, "y": [*BARRON.errors, *BARRON.bounds]}),
    result(FIT, behind={"y": FIT.weights[:, 0]}),
    result(CALIBRATION, behind={"x": CALIBRATION.by_class[1].confidence}),
    result(CALIBRATION.top_label, behind={"y": CALIBRATION.top_label.frequency}),
    result(CANONICAL, behind={"label": ["kept", "merged", "constant", "silent"], "y": [5, 4]}),
    result(VOTE, behind={"label": ["0", "1"]}),
    result(COMPARED, behind={"value": COMPARED.cka.ravel()}),
    result(COMPONENTS, behind={"y": COMPONENTS.cumulative}),
    result(CONDITIONING, behind={"x": CONDITIONING.sizes, "y": CONDITIONING.regularised}),
    result(COVERAGE, behind={"y": COVERAGE.observed}),
    result(CURVE, behind={"label": ["curve", "ends"]}),
    result(look.two_nn(X), behind={"label": ["rows"]}),
    result(DISTANCES, behind={"y": [*DISTANCES.nearest, *DISTANCES.farthest]}),
    result(ENUMERATED, behind={"kind": ["bar"]}),
    result(look.GaussianRadius(3), behind={"kind": ["line"]}),
    result(look.geometry(X), behind={"y": look.geometry(X).components.cumulative}),
    result(GRADIENTS, behind={"y": [layer.signal for layer in GRADIENTS.layers]}),
    result(ERRORS, behind={"y": ERRORS.errors}),
    result(INTERPOLANT, behind={"x": INTERPOLANT.knots[:, 0], "y": INTERPOLANT.values}),
    result(LINE, behind={"x": LINE.breakpoints}),
    result(MATCHED, behind={"y": np.concatenate(MATCHED.similarity)}),
    result(look.pit(DIST, AT), behind={"y": look.pit(DIST, AT).counts}),
    result(PLANE, behind={"x": PLANE.vertices[:, 0], "value": np.arange(PLANE.n_regions)}),
    result(COUNTED, behind={"y": list(COUNTED.counts.values())}),
    result(EXCEPTION, behind={"y": [*EXCEPTION.errors, EXCEPTION.polynomial_error]}),
    result(RANK, behind={"y": RANK.layers[0].singular_values / RANK.layers[0].singular_values[0]}),
    result(BOUND, behind={"x": np.log10([BOUND.reached, BOUND.upper]), "label": ["at most"]}),
    result(
        look.count_regions(NET, WINDOW),
        behind={"y": look.count_regions(NET, WINDOW).regions_by_layer},
    ),
    result(RIDGES, behind={"x": RIDGES.offsets, "y": RIDGES.slope_changes[0]}),
    result(SAME, behind={"y": SAME.differences}),
    result(SCORED, behind={"x": [SCORED.nll], "kind": ["bar"]}),
    result(SEGMENT, behind={"y": SEGMENT.loss}),
    result(look.n_symmetries(ODD), behind={"y": [np.log10(48.0)]}),
    result(TEMPERATURE, behind={"x": TEMPERATURE.curve[:, 0], "y": TEMPERATURE.curve[:, 1]}),
    result(TWIN, behind={"label": ["twin", "equal"]}),
    result(WATCH, behind={"x": [0, 1], "y": WATCH.columns["dead"]}),
    result(UNITS, "moved", behind={"y": UNITS.layers[0].moved}),
    result(UNITS, "saturation", behind={"value": UNITS.layers[0].saturated_share}),
]


def test_no_picture_is_left_out():
    functions = {name for name in plots.__all__ if name.startswith("plot_")}
    assert {picture.of for picture in FUNCTIONS} == functions
    results = {name for name in look.__all__ if hasattr(getattr(look, name), "plot")}
    assert {picture.of for picture in RESULTS} == results


@pytest.mark.parametrize("picture", FUNCTIONS + RESULTS, ids=lambda picture: picture.of)
def test_the_numbers_behind_are_written_beside_on_request(picture, tmp_path):
    drawn = np.ravel(picture.draw())[0]
    files = plots.save_figure(drawn, tmp_path / "a.svg", numbers=True)
    assert [file.name for file in files] == ["a.svg", "a.csv"]
    written = pd.read_csv(files[1], dtype={"label": str})
    for column, numbers in picture.behind.items():
        found = written[column].to_numpy()
        for number in numbers:
            if isinstance(number, str):
                assert number in found
            elif not np.isnan(number):
                assert np.isclose(found, number, rtol=1e-9, atol=1e-12).any()
