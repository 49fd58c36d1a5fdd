"""Pictures of geometry and approximation are tested by reading back what was drawn."""

import matplotlib
import numpy as np
import pytest
from scipy import stats

from lamina import plots
from lamina.inspection import (
    cell_vote,
    distance_concentration,
    geometry,
    kernel_conditioning,
    principal_components,
    two_nn,
)

RNG = np.random.default_rng(0)
X = RNG.random((60, 3))
T = np.linspace(0, 3, 40)

DRAWN = {
    "components": lambda ax: plots.plot_components(X, ax=ax),
    "curve": lambda ax: plots.plot_curve(np.column_stack([np.cos(T), np.sin(T), T]), ax=ax),
    "radii": lambda ax: plots.plot_radii(ax=ax),
    "interpolant": lambda ax: plots.plot_interpolant(np.sin, 5, (0.0, 6.0), ax=ax),
    "errors": lambda ax: plots.plot_interpolant_errors(np.exp, [2, 4], ax=ax),
    "geometry": lambda ax: geometry(X, surrogates=True).plot(ax),
    "distances": lambda ax: distance_concentration(X).plot(ax),
    "dimension": lambda ax: two_nn(X).plot(ax),
    "cells": lambda ax: cell_vote(X, np.arange(60) % 2, 3).plot(ax),
    "conditioning": lambda ax: kernel_conditioning(X).plot(ax),
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


def test_radii_are_drawn_at_their_density_each_in_its_colour():
    ax = plots.plot_radii([2, 50])
    for line, D in zip(ax.lines, (2, 50), strict=True):
        r, density = line.get_data()
        np.testing.assert_allclose(density, stats.chi(D).pdf(r), rtol=1e-9)
    assert len({line.get_color() for line in ax.lines}) == 2


def test_components_and_surrogates_are_drawn_at_their_shares():
    ax = plots.plot_components(X, 0.9, random_state=3)
    share = principal_components(X).cumulative
    np.testing.assert_allclose(ax.lines[0].get_ydata(), share)
    assert len([line for line in ax.lines if not line.get_label().startswith("_")]) == 3
    alone = plots.plot_components(X, surrogates=False)
    assert len([line for line in alone.lines if not line.get_label().startswith("_")]) == 1


def test_the_interpolant_is_drawn_through_its_knots():
    ax = plots.plot_interpolant(np.sin, 4, (0.0, 6.0))
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    knots = np.linspace(0, 6, 5)
    np.testing.assert_allclose(lines["knots"], np.column_stack([knots, np.sin(knots)]))
    x, y = lines["ReLU network"].T
    np.testing.assert_allclose(y, np.interp(x, knots, np.sin(knots)), atol=1e-12)


def test_the_error_line_has_its_bound():
    ax = plots.plot_interpolant_errors(np.square, [2, 4], max_curvature=2.0)
    errors, bounds = (line.get_ydata() for line in ax.lines)
    np.testing.assert_allclose(bounds, [2 / 8 / 4, 2 / 8 / 16])
    np.testing.assert_allclose(errors, bounds)
