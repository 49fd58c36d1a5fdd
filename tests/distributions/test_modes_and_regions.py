"""All maxima of the density, and its smallest regions, against dense grids and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from scipy import stats
from torch import distributions as td

from lamina.distributions import NormalMixture, predictive

from .families import cdf, normal_mixtures, parts


def grid_of(dist):
    """Return points of the first row, dense around every component."""
    loc, scale, _ = parts(dist)
    around = loc[:, None] + scale[:, None] * np.linspace(-6, 6, 1201)
    return np.unique(around)


@given(normal_mixtures())
def test_no_mode_is_missing_and_none_is_invented(dist):
    loc, scale, weight = parts(dist)
    modes = dist.modes()
    places, heights = modes.locations[0], modes.heights[0]
    assert 1 <= len(places) <= dist.n_components
    assert (np.diff(heights) <= 0).all()
    y = grid_of(dist)
    with np.errstate(under="ignore"):
        density = stats.norm.pdf(y[:, None], loc, scale) @ weight
    # Maxima of the grid that stand out from their surroundings by more than rounding.
    middle = density[1:-1]
    tops = 1 + np.flatnonzero(
        (middle > density[:-2] * (1 + 1e-12))
        & (middle > density[2:] * (1 + 1e-12))
        & (middle > 1e-300)
    )
    for top in tops:
        near = (places >= y[top - 1]) & (places <= y[min(top + 1, len(y) - 1)])
        assert near.any()
    assert density.max() <= heights[0] * (1 + 1e-12)


@given(normal_mixtures())
def test_the_density_is_lower_on_both_sides_of_a_mode(dist):
    loc, scale, weight = parts(dist)
    modes = dist.modes()
    for place, height in zip(modes.locations[0], modes.heights[0], strict=True):
        # As narrow as the narrowest component that may matter there.
        step = 1e-2 * scale[np.abs(place - loc) < 60 * scale].min()
        sides = np.array([place - step, place + step])
        if step > 1e3 * np.spacing(abs(place)):
            assert (
                stats.norm.pdf(sides[:, None], loc, scale) @ weight <= height * (1 + 1e-12)
            ).all()


def test_two_normals_split_at_a_distance_of_two_standard_deviations():
    near = NormalMixture([[0.0, 2.0]], [[1.0, 1.0]]).modes()
    assert near.locations.tolist() == [[1.0]]
    apart = NormalMixture([[0.0, 2.0001]], [[1.0, 1.0]]).modes()
    assert apart.locations.shape == (1, 2)
    assert apart.locations.sum() == pytest.approx(2.0001, rel=1e-12)


def test_a_mode_may_stand_where_no_component_has_its_mean():
    dist = NormalMixture([[-0.9, 0.9, 20.0]], [[1.0, 1.0, 1.0]])
    np.testing.assert_allclose(dist.modes().locations, [[0.0, 20.0]], atol=1e-9)


def test_the_mode_is_not_the_mean_of_the_heaviest_component():
    dist = NormalMixture([[0.0, 5.0]], [[3.0, 0.1]], np.log([[0.9, 0.1]]))
    assert float(dist.mode()[0]) == pytest.approx(5.0, abs=0.01)
    assert dist.weights[0].argmax() == 0


def test_modes_that_are_many_scales_apart():
    dist = NormalMixture([[0.0, 1.0, 1.0]], [[1e-11, 1e-11, 1.0]], np.log([[0.5, 0.4, 0.1]]))
    assert dist.modes().locations.round(9).tolist() == [[0.0, 1.0]]
    far = NormalMixture([[0.0, 50.0]], [[1.0, 1.0]], np.log([[1.0, 1e-9]]))
    np.testing.assert_allclose(far.modes().locations, [[0.0, 50.0]], atol=1e-9)
    np.testing.assert_allclose(far.modes().heights, [[0.39894228, 0.39894228e-9]], rtol=1e-6)


def test_rows_with_fewer_modes_are_filled_up():
    modes = NormalMixture([[0.0, 9.0], [0.0, 0.5]], np.ones((2, 2))).modes()
    assert modes.locations.shape == modes.heights.shape == (2, 2)
    assert np.isnan(modes.locations[1, 1])
    assert np.isnan(modes.heights[1, 1])


@settings(max_examples=40)
@given(normal_mixtures(most=4))
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_a_region_holds_its_level_between_points_of_equal_density(level, dist):
    (pieces,) = dist.highest_density(level)
    loc, scale, weight = parts(dist)
    assert (np.diff(pieces.ravel()) >= 0).all()
    fine = np.spacing(np.abs(pieces)).max() < 1e-9 * scale.min()
    if fine:
        inside = sum(cdf(dist, high) - cdf(dist, low) for low, high in pieces)
        # Where a piece begins at a maximum, its width is the square root of a rounding error.
        assert inside == pytest.approx(level, abs=1e-7)
        borders = stats.norm.pdf(pieces.ravel()[:, None], loc, scale) @ weight
        np.testing.assert_allclose(borders, borders[0], rtol=1e-6)
    central = dist.interval(level)[0]
    length = (pieces[:, 1] - pieces[:, 0]).sum()
    assert length <= (central[1] - central[0]) * (1 + 1e-9)


def test_a_region_of_one_normal_is_its_interval():
    dist = NormalMixture([1.0, -2.0], [0.5, 3.0])
    np.testing.assert_allclose(np.array(dist.highest_density(0.8))[:, 0], dist.interval(0.8))


def test_a_region_of_two_far_normals_has_two_pieces():
    (pieces,) = NormalMixture([[0.0, 100.0]], [[1.0, 1.0]]).highest_density(0.9)
    half = stats.norm.ppf(0.95)
    np.testing.assert_allclose(pieces, [[-half, half], [100 - half, 100 + half]], rtol=1e-9)


def test_every_continuous_family_tells_its_regions(continuous):
    for pieces, row in zip(continuous.highest_density(0.6), continuous, strict=True):
        inside = sum(float((row.cdf(high) - row.cdf(low))[0]) for low, high in pieces)
        # A piece of constant density is inside as a whole.
        assert inside >= 0.6 - 1e-9
        middle = (pieces[:, :1] + pieces[:, 1:]) / 2
        assert (row.pdf(middle.T) > 0).all()
    assert (continuous.modes().heights[:, 0] >= continuous.pdf(continuous.median()) - 1e-9).all()


def test_modes_of_a_gamma_are_the_closed_form():
    shape, rate = np.array([3.0, 1.5]), np.array([2.0, 0.1])
    dist = predictive(td.Gamma(torch.from_numpy(shape), torch.from_numpy(rate)))
    np.testing.assert_allclose(dist.mode(), (shape - 1) / rate, rtol=1e-6)
    assert dist.modes().locations.shape == (2, 1)


def test_a_plateau_is_inside_as_a_whole():
    dist = predictive(td.Uniform(torch.zeros(1), torch.tensor([3.0])))
    np.testing.assert_allclose(dist.highest_density(0.5)[0], [[0.0, 3.0]], atol=1e-9)
    assert 0 < dist.mode()[0] < 3


@pytest.mark.parametrize("level", [0, 1, -0.5, np.nan, "most"])
def test_a_wrong_level_gets_one_sentence(level):
    dist = NormalMixture([0.0], [1.0])
    for tell in (dist.highest_density, dist.interval):
        with pytest.raises(ValueError, match="level must be a finite number"):
            tell(level)
