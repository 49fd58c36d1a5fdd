"""Pictures of calibration are tested by reading back what was drawn."""

from __future__ import annotations

import sys

import matplotlib
import numpy as np
import pytest
from scipy import stats

from lamina import plots
from lamina._errors import MissingDependencyError
from lamina.distributions import NormalMixture
from lamina.inspection import calibration, coverage, pit, scores, temperature

Y, P = np.array([0, 1, 1, 1]), np.array([0.1, 0.4, 0.6, 1.0])
DIST, AT = NormalMixture([0.0, 0.0, 0.0], [1.0, 2.0, 4.0]), np.array([0.1, -3.0, 8.0])

DRAWN = {
    "reliability": lambda ax: plots.plot_reliability(Y, P, n_bins=2, ax=ax),
    "pit": lambda ax: plots.plot_pit(DIST, AT, ax=ax),
    "coverage": lambda ax: plots.plot_coverage(DIST, AT, ax=ax),
    "sharpness": lambda ax: plots.plot_sharpness(DIST, AT, ax=ax),
    "temperature": lambda ax: temperature(Y, [-1.0, -0.5, 2.0, 3.0]).plot(ax),
    "scores": lambda ax: scores(DIST, AT, baseline=[0, 1, 2]).plot(ax),
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


@pytest.mark.parametrize(
    "result",
    [
        calibration(Y, P),
        calibration(Y, P).top_label,
        temperature([1, 0, 1], [1.0, 2.0, 3.0]),
        pit(DIST, AT),
        coverage(DIST, AT),
        scores(DIST, AT),
    ],
    ids=["calibration", "top label", "temperature", "pit", "coverage", "scores"],
)
def test_a_result_draws_itself_into_a_new_figure(result):
    ax = result.plot()
    assert ax.get_xlabel()
    ax.figure.canvas.draw()


def bars(ax):
    """Heights of the bars of a picture."""
    return [patch.get_height() for patch in ax.containers[0]]


def test_reliability_has_bins_intervals_and_shares():
    ax = plots.plot_reliability(Y, P, n_bins=2)
    assert bars(ax) == [0.5, 0.5]
    diagonal, points = ax.lines[:2]
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    np.testing.assert_allclose(points.get_xydata(), [[0.25, 0.5], [0.8, 1.0]])
    segments = ax.collections[0].get_segments()
    low, high = stats.binomtest(1, 2).proportion_ci(method="wilson")
    np.testing.assert_allclose(segments[0], [[0.25, low], [0.25, high]])
    assert ax.get_title() == "class 1: ECE 0.225"


def test_of_many_classes_the_highest_probability_is_drawn_unless_one_is_named():
    proba = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    assert plots.plot_reliability([0, 1, 2], proba).get_title().startswith("highest probability")
    assert plots.plot_reliability([0, 1, 2], proba, label=1).get_title().startswith("class 1:")


def test_an_empty_bin_is_left_out():
    ax = plots.plot_reliability(Y, P, n_bins=10)
    assert len(ax.lines[1].get_xdata()) == 4


def test_pit_has_counts_and_the_band_of_the_binomial():
    dist = NormalMixture(np.zeros(40), np.ones(40))
    y = stats.norm.ppf((np.arange(40) + 0.5) / 40)
    ax = plots.plot_pit(dist, y, n_bins=4)
    assert bars(ax) == [10, 10, 10, 10]
    low, high = stats.binom.interval(0.95, 40, 0.25)
    band = ax.patches[-1]
    assert (band.get_y(), band.get_y() + band.get_height()) == (low, high)
    assert ax.lines[0].get_ydata()[0] == 10
    assert ax.get_title() == "KS distance 0.013, p = 1"


def test_coverage_has_its_points_in_order():
    ax = plots.plot_coverage(DIST, AT, [0.9, 0.5])
    observed = coverage(DIST, AT, [0.5, 0.9]).observed
    assert ax.lines[1].get_xydata().tolist() == [[0.5, observed[0]], [0.9, observed[1]]]


def test_sharpness_is_the_width_in_units_of_y():
    ax = plots.plot_sharpness(DIST, AT, [0.9, 0.5])
    widths = 2 * np.outer(stats.norm.ppf([0.75, 0.95]), [1.0, 2.0, 4.0])
    np.testing.assert_allclose(ax.lines[0].get_xydata(), np.c_[[0.5, 0.9], widths.mean(axis=1)])
    drawn = ax.collections[0].get_paths()[0].vertices
    assert drawn[:, 1].max() == pytest.approx(np.quantile(widths[1], 0.9))


def test_temperature_marks_before_and_after():
    result = temperature([1, 0, 1], [1.0, 2.0, 3.0])
    curve, before, after = result.plot().lines
    assert before.get_xydata().tolist() == [[1.0, result.nll_before]]
    assert after.get_xydata().tolist() == [[result.temperature, result.nll_after]]
    np.testing.assert_array_equal(curve.get_xydata(), result.curve)
    worse = temperature([0, 1], [1.0, -1.0]).plot()
    assert worse.lines[2].get_ydata()[0] == pytest.approx(np.log(2))


def test_scores_mark_the_mean_and_the_baseline():
    result = scores(DIST, AT, baseline=[0, 1, 2])
    mean, baseline = result.plot().lines
    assert mean.get_xdata()[0] == result.nll
    assert baseline.get_xdata()[0] == result.baseline_nll


def test_without_matplotlib_the_cure_is_named(monkeypatch):
    result = pit(DIST, AT)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'lamina\[plots\]'"):
        result.plot()
