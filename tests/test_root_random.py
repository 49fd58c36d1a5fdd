"""Random streams: Philox by the paper's definition, and no draw depends on another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from lamina import _random

WORD = 1 << 64
# Constants of Philox4x64-10: multipliers and the Weyl sequence of the keys.
MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def philox_block(counter, key):
    """Return the four words of a block, in integers of any size."""
    c, k = list(counter), list(key)
    for _ in range(10):
        high_0, low_0 = divmod(MULTIPLIERS[0] * c[0], WORD)
        high_1, low_1 = divmod(MULTIPLIERS[1] * c[2], WORD)
        c = [high_1 ^ c[1] ^ k[0], low_1, high_0 ^ c[3] ^ k[1], low_0]
        k = [(k[0] + WEYL[0]) % WORD, (k[1] + WEYL[1]) % WORD]
    return c


@pytest.mark.parametrize(
    ("counter", "key", "block"),
    [
        (
            [0, 0, 0, 0],
            [0, 0],
            [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B],
        ),
        (
            [WORD - 1] * 4,
            [WORD - 1] * 2,
            [0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0],
        ),
    ],
)
def test_the_plain_philox_gives_the_published_answers(counter, key, block):
    assert philox_block(counter, key) == block


@pytest.mark.parametrize("seed", [0, 7, -1, WORD + 5])
@pytest.mark.parametrize("place", [0, 3, 10**12])
def test_generator_is_philox_at_its_seed_purpose_and_place(seed, place):
    words = _random.generator(seed, _random.DROPOUT, place).bit_generator.random_raw(8)
    # NumPy counts up before each block.
    first = philox_block([1, 0, place, 0], [seed % WORD, _random.DROPOUT])
    second = philox_block([2, 0, place, 0], [seed % WORD, _random.DROPOUT])
    assert words.tolist() == first + second


def test_a_draw_does_not_depend_on_what_was_drawn_before():
    one = _random.generator(3, _random.INIT).normal(size=5)
    _random.generator(3, _random.ORDER).normal(size=100)
    np.random.default_rng().normal(size=3)
    np.testing.assert_array_equal(_random.generator(3, _random.INIT).normal(size=5), one)


def test_seeds_purposes_and_places_have_streams_of_their_own():
    purposes = (_random.INIT, _random.ORDER, _random.DROPOUT, _random.SPLIT)
    keys = list(itertools.product(range(8), purposes, range(8)))
    firsts = {_random.generator(*key).bit_generator.random_raw() for key in keys}
    assert len(firsts) == len(keys)


def test_neighbouring_streams_are_uncorrelated():
    # 40 streams of 2,000 normals: 780 correlations, each ~ N(0, 1/2000). The largest exceeds
    # 5/√2000 in fewer than 1 of 2,000 choices of the seeds.
    streams = [
        _random.generator(seed, 1, place).normal(size=2000)
        for seed in range(8)
        for place in range(5)
    ]
    correlations = np.corrcoef(streams)[np.triu_indices(40, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(2000)


def test_permutation_holds_every_row_once_and_differs_between_epochs():
    orders = [_random.permutation(1, epoch, 50) for epoch in range(20)]
    for order in orders:
        assert sorted(order.tolist()) == list(range(50))
    assert len({tuple(order.tolist()) for order in orders}) == 20


def test_permutations_are_uniform():
    # All 24 orders of 4 rows over 4,800 epochs; a χ² test that a sound stream fails once in
    # 10,000 seeds.
    orders = [tuple(_random.permutation(5, epoch, 4).tolist()) for epoch in range(4800)]
    counts = [orders.count(order) for order in itertools.permutations(range(4))]
    assert stats.chisquare(counts).pvalue > 1e-4


def test_spawned_seeds_are_distinct_fixed_and_fit_a_signed_word():
    seeds = _random.spawn_seeds(7, 1000)
    assert len(set(seeds)) == 1000
    assert seeds[:10] == _random.spawn_seeds(7, 10)
    assert all(isinstance(seed, int) and 0 <= seed < 2**63 for seed in seeds)
    assert set(seeds).isdisjoint(_random.spawn_seeds(8, 1000))


def test_global_streams_are_left_alone():
    before = np.random.get_state()[1].copy()
    _random.generator(0, 1).normal(size=3)
    _random.spawn_seeds(0, 3)
    np.testing.assert_array_equal(np.random.get_state()[1], before)
