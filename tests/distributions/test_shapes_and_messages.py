"""What y may look like, tables and pictures, and one sentence for everything else."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from lamina.distributions import (
    MultivariateNormalMixture,
    NormalMixture,
    PoissonMixture,
    Predictive,
    ProductMixture,
)


@pytest.fixture
def dist():
    """Return three rows of a mixture."""
    return NormalMixture([[0.0, 1.0], [2.0, 3.0], [4.0, 9.0]], [[1.0, 0.5]] * 3)


@pytest.fixture
def joint():
    """Return three rows of two targets."""
    return MultivariateNormalMixture(np.arange(6.0).reshape(3, 2), np.tile(np.eye(2), (3, 1, 1)))


def test_y_may_be_a_number_a_value_a_row_or_a_grid(dist):
    for tell in (dist.cdf, dist.pdf, dist.log_prob, dist.crps):
        one = tell(0.5)
        assert one.shape == (3,)
        np.testing.assert_array_equal(tell([0.5] * 3), one)
        np.testing.assert_array_equal(tell(np.full((1, 4), 0.5)), np.tile(one[:, None], (1, 4)))
        np.testing.assert_array_equal(tell(np.full((3, 1), 0.5)), one[:, None])
        np.testing.assert_array_equal(tell(pd.Series([0.5] * 3, index=[7, 8, 9])), one)


def test_several_targets_may_be_paired_or_on_a_grid(joint):
    y = np.zeros((3, 2))
    assert joint.log_prob(y).shape == (3,)
    np.testing.assert_array_equal(joint.log_prob([0.0, 0.0]), joint.log_prob(y))
    assert joint.log_prob(np.zeros((1, 5, 2))).shape == (3, 5)
    assert joint.cdf(np.zeros((3, 5, 2))).shape == (3, 5, 2)


def test_read_only_and_strided_arrays(dist):
    loc = np.arange(12.0).reshape(3, 4)[:, ::2]
    loc.flags.writeable = False
    y = np.arange(6.0)[::2]
    y.flags.writeable = False
    mine = NormalMixture(loc, np.asfortranarray(np.ones((3, 2))))
    same = NormalMixture(loc.copy(), np.ones((3, 2)))
    np.testing.assert_array_equal(mine.log_prob(y), same.log_prob(y.copy()))


def test_a_distribution_does_not_follow_its_arrays():
    loc = np.zeros(2)
    dist = NormalMixture(loc, np.ones(2))
    loc += 7
    assert dist.mean().tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(4), r"y must be a number or have shape \(3,\)"),
        (np.zeros((4, 2)), r"y must be a number or have shape \(3,\)"),
        (np.zeros((3, 2, 1)), r"y must be a number or have shape \(3,\)"),
        ([0.0, np.nan, 0.0], "y must be finite numbers. Got nan in row 1"),
        (np.nan, "y must be finite numbers"),
        ("high", "y must hold numbers"),
        ([None, 1, 2], "y must be finite numbers"),
        ([[1.0], [1.0, 2.0]], "y must hold numbers"),
    ],
)
def test_a_wrong_y_gets_one_sentence(dist, y, message):
    for tell in (dist.cdf, dist.pdf, dist.log_prob, dist.crps, dist.responsibilities):
        with pytest.raises(ValueError, match=message):
            tell(y)


def test_a_score_needs_a_finite_y(dist, joint):
    for tell in (dist.crps, dist.energy_score, dist.responsibilities):
        with pytest.raises(ValueError, match="Got inf in row 0"):
            tell(np.array([np.inf, 0.0, 0.0]))
    with pytest.raises(ValueError, match="Got inf in row 0"):
        joint.energy_score([[np.inf, 0.0]] * 3)


@pytest.mark.parametrize("y", [np.zeros(3), np.zeros((3, 3)), np.zeros((4, 2)), 0.0])
def test_a_wrong_y_of_several_targets_gets_one_sentence(joint, y):
    with pytest.raises(ValueError, match=r"y must have shape \(3, 2\)"):
        joint.log_prob(y)


@pytest.mark.parametrize("q", [-0.1, 1.5, np.nan, [], [[0.5]], "half"])
def test_a_wrong_probability_gets_one_sentence(dist, q):
    with pytest.raises(ValueError, match="q must"):
        dist.quantile(q)


@pytest.mark.parametrize("index", [1.5, "a", [0.5], [[0, 1]], [True, False]])
def test_a_wrong_index_gets_one_sentence(dist, index):
    with pytest.raises(ValueError, match="rows are picked by an integer, a slice"):
        dist[index]


def test_rows_are_counted_from_both_ends(dist):
    assert dist[-1].rows.tolist() == [2]
    for nothing in ([], slice(3, 3), [False] * 3):
        with pytest.raises(ValueError, match="which picks none"):
            dist[nothing]
    for index in (3, -4, [0, 3]):
        with pytest.raises(IndexError, match="is outside the 3 rows"):
            dist[index]


@pytest.mark.parametrize(
    ("loc", "scale", "more", "message"),
    [
        ([0.0], [0.0], {}, r"scale must be above 0. Got 0.0 in row 0"),
        ([0.0], [-1.0], {}, "scale must be above 0"),
        ([0.0], [np.inf], {}, "scale must be finite"),
        ([np.nan], [1.0], {}, "loc must be finite"),
        ([0.0, 1.0], [1.0], {}, "must have the same shape"),
        ([], [], {}, r"loc must have shape \(N, C\)"),
        (0.0, 1.0, {}, r"loc must have shape \(N, C\)"),
        ([0.0], [1.0], {"log_weights": [np.nan]}, "log_weights must be finite"),
        ([[0.0, 1]], [[1.0, 1]], {"log_weights": [[-np.inf, -np.inf]]}, "log_weights must be fin"),
        ([[0.0, 1]], [[1.0, 1]], {"log_weights": [0.0]}, "log_weights must have shape"),
        ([0.0], [1.0], {"log_weights": np.zeros((3, 1))}, "log_weights must have shape"),
        ([0.0], [1.0], {"rows": [0.5]}, "rows must be 1 integers"),
        ([0.0], [1.0], {"rows": [1, 2]}, "rows must be 1 integers"),
    ],
)
def test_a_wrong_parameter_gets_one_sentence(loc, scale, more, message):
    with pytest.raises(ValueError, match=message):
        NormalMixture(loc, scale, **more)


def test_one_target_has_itself_as_marginal(dist):
    assert dist.marginal(0) is dist
    with pytest.raises(ValueError, match="target must be 0"):
        dist.marginal(1)
    with pytest.raises(ValueError, match="condition needs several targets"):
        dist.condition({0: 1.0})


@pytest.mark.parametrize("target", [2, -1, 0.0, True, "y"])
def test_a_wrong_target_gets_one_sentence(joint, target):
    with pytest.raises(ValueError, match="target must be a number from 0 to 1"):
        joint.marginal(target)


def test_the_base_class_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Predictive()


def test_it_says_what_it_is(dist, joint):
    assert repr(dist) == "NormalMixture(n_rows=3, n_targets=1)"
    assert repr(joint[1:]) == "MultivariateNormalMixture(n_rows=2, n_targets=2)"


def test_a_table_has_a_row_for_each_row(dist, joint):
    table = dist[1:].to_dataframe(quantiles=[0.1, 0.999])
    assert table.columns.tolist() == ["mean", "std", "q0.1", "q0.999"]
    assert table.index.tolist() == [1, 2]
    np.testing.assert_array_equal(table["q0.1"], dist[1:].quantile(0.1))
    table = joint.to_dataframe(0.5, names=["height", "width"])
    assert table.columns.tolist() == [
        f"{name}_{what}" for name in ("height", "width") for what in ("mean", "std", "q0.5")
    ]
    assert "y1_mean" in joint.to_dataframe().columns


@pytest.mark.parametrize("names", [["a"], ["a", "a"], "ab"])
def test_wrong_names_get_one_sentence(joint, names):
    with pytest.raises(ValueError, match="names must be 2 different texts"):
        joint.to_dataframe(names=names)


def test_the_picture_of_a_row_shows_the_density(dist):
    axes = dist.plot(2)
    y, density = axes.lines[0].get_data()
    np.testing.assert_allclose(density, dist[2].pdf(y[None])[0])
    assert axes.get_title() == "row 2"
    assert len(axes.collections) == len(dist.highest_density(0.9)[2])
    assert dist.plot(0, ax=axes) is axes


def test_the_picture_of_counts_and_of_two_targets(joint):
    axes = PoissonMixture([1.0]).plot()
    assert axes.get_ylabel() == "probability"
    axes = joint.plot(1)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("y0", "y1")


def test_the_heat_map_has_a_column_for_each_row(dist):
    axes = dist.plot_density(x=[3.0, 1.0, 2.0])
    mesh = axes.collections[0].get_array()
    assert mesh.shape == (400, 3)
    grid = np.linspace(0, 5, 7)
    mesh = dist.plot_density(grid).collections[0].get_array()
    np.testing.assert_allclose(mesh, dist.pdf(grid[None]).T)
    assert dist[0].plot_density().collections
    assert PoissonMixture([0.0, 1.0]).plot_density().collections


def test_what_cannot_be_drawn_gets_one_sentence(dist, joint):
    counts = ProductMixture([PoissonMixture([0.0])] * 2)
    for draw, message in [
        (lambda: dist.plot(5), "i must be an integer of at least -3 and at most 2"),
        (lambda: dist.plot(level=2), "level must be a finite number"),
        (lambda: counts.plot(), "plot draws one target, or two continuous ones"),
        (lambda: joint.plot_density(), "plot_density draws one target"),
        (lambda: dist.plot_density(x=[1.0]), r"x must have shape \(3,\)"),
        (lambda: dist.plot_density([[1.0]]), r"grid must have shape \(m,\)"),
        (lambda: dist.plot_density([np.nan]), "grid must be finite"),
    ]:
        with pytest.raises(ValueError, match=message):
            draw()


def test_drawing_opens_no_window_and_telling_needs_no_matplotlib():
    code = (
        "import sys\nfrom lamina.distributions import NormalMixture\n"
        "dist = NormalMixture([0.0], [1.0])\ndist.modes(), dist.sample(2, 0), dist.mean()\n"
        "assert 'matplotlib' not in sys.modules and 'pandas' not in sys.modules\n"
        "dist.plot()\nassert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
