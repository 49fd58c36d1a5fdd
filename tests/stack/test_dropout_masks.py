"""Dropout masks: the right share, the right scale, and no pattern.

Correlations of n pairs of independent masks have standard deviation 1/√n; the bound of five of
them is passed by chance once in 1.7 million comparisons, and the seeds are fixed.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from lamina.stack._dropout import DropoutPlan

N_ROWS, WIDTH = 200, 128


def mask(seed=0, rate=0.5, step=0, layer=0, taken=0, rows=N_ROWS, width=WIDTH, dtype="float64"):
    """Return one member's mask as an array."""
    like = torch.zeros(0, dtype=getattr(torch, dtype))
    plan = DropoutPlan([seed], [rate], like)
    plan.begin_epoch(np.array([taken]))
    found = torch.full((1, rows, width), torch.nan, dtype=like.dtype)
    plan.fill_mask(found, step, layer)
    return found[0].numpy()


def correlation(one, two):
    """Return the correlation of two masks in standard deviations of chance."""
    one, two = (a.ravel() - a.mean() for a in (one, two))
    return float((one * two).mean() / (one.std() * two.std()) * np.sqrt(one.size))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rate", [0.01, 0.1, 0.25, 0.5, 0.9, 0.999])
def test_rate_and_scale(rate, dtype):
    masks = np.stack([mask(rate=rate, step=s, dtype=dtype) for s in range(10)])
    assert set(np.unique(masks)) == {0.0, np.dtype(dtype).type(1 / (1 - rate))}
    n = masks.size
    dropped = (masks == 0).sum()
    assert abs(dropped - n * rate) < 5 * np.sqrt(n * rate * (1 - rate))


def test_no_dropout_is_ones():
    assert (mask(rate=0.0) == 1).all()


def test_every_unit_and_every_row_has_its_share():
    masks = np.stack([mask(rate=0.3, step=s) for s in range(50)]) == 0
    for counts in (masks.sum((0, 1)), masks.sum((0, 2))):
        n = masks.size // counts.size
        z = (counts - 0.3 * n) / np.sqrt(n * 0.3 * 0.7)
        # The mean of z² is 1 with standard deviation √(2/k) for k counts.
        assert abs((z**2).mean() - 1) < 5 * np.sqrt(2 / z.size)
        assert abs(z).max() < 5


def test_the_same_place_has_the_same_mask():
    np.testing.assert_array_equal(mask(3, step=4, layer=1), mask(3, step=4, layer=1))
    assert (mask(3, dtype="float32") > 0).tolist() == (mask(3) > 0).tolist()


def test_padding_and_partial_batches_only_cut_the_mask():
    whole = mask(rows=300, width=300)
    np.testing.assert_array_equal(mask(rows=300, width=7), whole[:, :7])
    np.testing.assert_array_equal(mask(rows=5, width=300), whole[:5])


def test_steps_are_counted_on_over_epochs():
    np.testing.assert_array_equal(mask(taken=12, step=3), mask(taken=0, step=15))


def test_masks_come_again_after_two_to_the_26_steps():
    # 64 layers are counted in 32 bits; more steps than that do no harm.
    np.testing.assert_array_equal(mask(step=2**26 + 3), mask(step=3))
    assert 0.45 < (mask(step=2**60) == 0).mean() < 0.55


def test_neighbours_do_not_matter():
    like = torch.zeros(0, dtype=torch.float64)
    seeds, rates, taken = [5, 9, -1], [0.2, 0.0, 0.7], np.array([10, 0, 3])
    plan = DropoutPlan(seeds, rates, like)
    plan.begin_epoch(taken)
    together = torch.empty(3, 40, 30, dtype=torch.float64)
    plan.fill_mask(together, 2, 1)
    for k in range(3):
        alone = mask(seeds[k], rates[k], 2, 1, taken[k], rows=40, width=30)
        np.testing.assert_array_equal(together[k].numpy(), alone)


def test_it_writes_into_strided_memory():
    wide = torch.zeros(1, 2 * N_ROWS, WIDTH, dtype=torch.float64)
    plan = DropoutPlan([0], [0.5], wide)
    plan.fill_mask(wide[:, :N_ROWS], 0, 0)
    np.testing.assert_array_equal(wide[0, :N_ROWS].numpy(), mask())
    assert not wide[0, N_ROWS:].any()


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_other_steps_layers_and_seeds_are_independent(rate):
    places = [{"step": s} for s in (0, 1, 2, 3, 63, 64, 65, 1000, 2**20, 2**25)]
    places += [{"layer": i} for i in range(1, 5)] + [{"step": 1, "layer": i} for i in range(1, 5)]
    places += [{"seed": s} for s in (1, 2, 3, -1, 2**32, 2**63)]
    masks = [mask(rate=rate, rows=64, width=64, **place) for place in places]
    for (a, one), (b, two) in itertools.combinations(zip(places, masks, strict=True), 2):
        assert abs(correlation(one, two)) < 5, (a, b)
        assert abs(correlation(one, two[::-1])) < 5, (a, b)


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 63, 64, 100])
def test_rows_and_units_of_one_mask_are_independent(lag):
    for step in range(4):
        found = mask(step=step)
        assert abs(correlation(found[lag:], found[:-lag])) < 5
        assert abs(correlation(found[:, lag:], found[:, :-lag])) < 5
        assert abs(correlation(found[lag:, lag:], found[:-lag, :-lag])) < 5
        assert abs(correlation(found[lag:, :-lag], found[:-lag, lag:])) < 5


@pytest.mark.parametrize(("down", "right"), [(1, 1), (1, 2), (3, 1), (8, 8), (16, 1), (64, 32)])
def test_corners_of_rectangles_are_independent(down, right):
    # A mask made of a part for the row and a part for the unit would show here.
    for step in range(4):
        signs = np.sign(mask(step=step) - 0.5)
        corners = (
            signs[down:, right:] * signs[:-down, right:]
            * signs[down:, :-right] * signs[:-down, :-right]
        )  # fmt: skip
        assert abs(corners.mean()) * np.sqrt(corners.size) < 5


def test_a_unit_over_steps_is_a_fair_coin():
    series = np.stack([mask(step=s, rows=4, width=8) > 0 for s in range(3000)])
    for lag in (1, 2, 3, 16, 64, 128):
        for row, unit in itertools.product(range(4), range(8)):
            one = series[:, row, unit].astype(float)
            assert abs(correlation(one[lag:], one[:-lag])) < 5
