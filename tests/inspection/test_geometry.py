"""Components, distances, surrogates, curves and the table of them all."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lamina._errors import DataError, ParameterError
from lamina.inspection import (
    curve_geometry,
    distance_concentration,
    gaussian_surrogate,
    geometry,
    principal_components,
    shuffled_surrogate,
)

RNG = np.random.default_rng(0)
FLAT = RNG.standard_normal((300, 3)) @ RNG.standard_normal((3, 20))


@pytest.mark.parametrize("shape", [(50, 8), (8, 50), (30, 30)])
def test_components_are_counted_as_by_singular_values(shape):
    X = np.random.default_rng(1).standard_normal(shape) * np.geomspace(1, 0.01, shape[1]) + 5
    s = np.linalg.svd(X - X.mean(0), compute_uv=False)
    shares = np.cumsum(s**2) / (s**2).sum()
    found = principal_components(X, (0.5, 0.9, 0.99))
    assert found.counts == {p: int((shares < p).sum()) + 1 for p in (0.5, 0.9, 0.99)}
    np.testing.assert_allclose(found.variances[:5], s[:5] ** 2 / (shape[0] - 1), rtol=1e-9)
    np.testing.assert_allclose(found.cumulative[:5], shares[:5], rtol=1e-9)
    ratio = (s**2).sum() ** 2 / (s**4).sum()
    assert found.participation_ratio == pytest.approx(ratio)


def test_all_of_the_variance_takes_as_many_components_as_the_rank():
    assert principal_components(FLAT, 1.0).counts == {1.0: 3}


def test_equal_variances_participate_all():
    X = np.vstack([np.eye(5), -np.eye(5)])
    found = principal_components(X)
    assert found.participation_ratio == pytest.approx(5)
    assert found.counts == {0.9: 5, 0.95: 5, 0.99: 5}


def test_constant_data_need_no_component():
    found = principal_components(np.full((4, 3), 7.0))
    assert found.counts == {0.9: 0, 0.95: 0, 0.99: 0}
    assert found.participation_ratio == 0
    found.plot().figure.canvas.draw()


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e150, 1e300])
def test_huge_and_tiny_units_count_the_same(scale):
    assert principal_components(FLAT * scale).counts == principal_components(FLAT).counts
    near, plain = distance_concentration(FLAT * scale), distance_concentration(FLAT)
    assert near.nearest_to_mean == pytest.approx(plain.nearest_to_mean, rel=1e-9)
    np.testing.assert_allclose(near.nearest, plain.nearest * scale, rtol=1e-9)


@pytest.mark.parametrize("shares", [0.0, 1.1, (), (0.5, "half"), float("nan")])
def test_a_share_that_is_none_is_told(shares):
    with pytest.raises(ParameterError, match="shares must"):
        principal_components(FLAT, shares)


def test_distances_are_those_of_a_full_table_without_the_diagonal():
    X = np.random.default_rng(2).standard_normal((80, 6))
    found = distance_concentration(X, n_queries=1000)
    away = cdist(X, X)
    np.testing.assert_allclose(found.farthest, away.max(1))
    np.testing.assert_allclose(found.mean, away.sum(1) / 79)
    np.fill_diagonal(away, np.inf)
    np.testing.assert_allclose(found.nearest, away.min(1))
    assert found.nearest_to_mean == pytest.approx(np.median(found.nearest / found.mean))
    assert found.nearest_to_farthest == pytest.approx(np.median(found.nearest / found.farthest))
    given = distance_concentration(X, X)
    np.testing.assert_allclose(given.nearest, found.nearest)


def test_doubled_rows_do_not_make_neighbours():
    X = np.random.default_rng(3).standard_normal((50, 4))
    once, twice = distance_concentration(X), distance_concentration(np.vstack([X, X]))
    assert twice.n_duplicates == 50
    assert twice.nearest_to_mean == pytest.approx(once.nearest_to_mean)


def test_wrong_queries_are_told():
    X = np.random.default_rng(3).standard_normal((5, 4))
    with pytest.raises(DataError, match="queries must have 4 columns"):
        distance_concentration(X, [[1.0, 2.0]])
    with pytest.raises(DataError, match="differs from each query"):
        distance_concentration(X[:1], X[:1])
    with pytest.raises(DataError, match="at least 2 rows that differ"):
        distance_concentration(np.ones((4, 2)))


def test_gaussian_surrogates_keep_mean_and_spread_of_each_column_alone():
    X = FLAT + np.arange(20.0)
    made = gaussian_surrogate(np.repeat(X, 60, axis=0), random_state=0)
    # 18,000 rows: the mean within 5 s/√n, the deviation within 5/√(2n)
    np.testing.assert_allclose(made.mean(0), X.mean(0), atol=5 * X.std(0).max() / 134)
    np.testing.assert_allclose(made.std(0), X.std(0), rtol=5 / 190)
    assert np.abs(np.corrcoef(made.T) - np.eye(20)).max() < 0.05
    again = gaussian_surrogate(np.repeat(X, 60, axis=0), random_state=0)
    np.testing.assert_array_equal(made, again)


def test_shuffled_surrogates_keep_each_row_and_no_order():
    X = np.random.default_rng(4).random((40, 30))
    made = shuffled_surrogate(X, random_state=0)
    np.testing.assert_array_equal(np.sort(made, axis=1), np.sort(X, axis=1))
    orders = np.argsort(made, axis=1)
    assert len({tuple(order) for order in orders.tolist()}) == 40


def test_a_circle_measured():
    angle = np.linspace(0, 2 * np.pi, 361)
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(361)])
    others = [[-1.0, 0.0, 3.0], [0.0, 0.0, 9.0], circle[180]]
    found = curve_geometry(circle, others)
    assert found.mean_step == pytest.approx(2 * np.sin(np.pi / 360))  # a chord of one degree
    assert found.ends == pytest.approx(0, abs=1e-12)
    assert found.nearest_other == pytest.approx(3)
    assert found.components.counts[0.99] == 2
    np.testing.assert_allclose(np.linalg.norm(found.plane, axis=1), 1, atol=0.01)
    assert "bends" in found.summary()
    assert curve_geometry(circle).nearest_other is None
    assert curve_geometry(circle, [circle[180]]).nearest_other is None


def test_a_line_of_one_feature_is_a_curve():
    found = curve_geometry([[0.0], [1.0], [3.0]], origin=0)
    np.testing.assert_allclose(np.abs(found.plane[:, 0]), [4 / 3, 1 / 3, 5 / 3])
    assert found.plane[:, 1].tolist() == [0, 0, 0]
    with pytest.raises(DataError, match="others must have 1 columns"):
        curve_geometry([[0.0], [1.0]], [[1.0, 2.0]])
    with pytest.raises(ParameterError, match="origin"):
        curve_geometry([[0.0], [1.0]], origin=2)


def test_the_table_tells_a_bent_surface_from_noise():
    rng = np.random.default_rng(5)
    t = rng.random((800, 2))
    X = np.column_stack([np.sin(4 * t), np.cos(4 * t), np.sin(4 * t.sum(1)), np.full(800, 2.0)])
    found = geometry(np.vstack([X, X[:7]]), surrogates=True)
    assert (found.n_samples, found.n_features, found.n_duplicates) == (807, 6, 7)
    assert found.constant_columns == (5,)
    assert found.two_nn.dimension == pytest.approx(2, rel=0.15)
    assert found.levina_bickel.dimension == pytest.approx(2, rel=0.15)
    table = found.to_dataframe().set_index("name")
    assert list(table.index) == ["data", "gaussian", "shuffled"]
    nearest = table["nearest_to_mean"]
    assert nearest["data"] < nearest["gaussian"] / 2
    text = found.summary()
    assert "7 duplicates left out" in text
    assert "1 constant column" in text
    assert found.plot().get_legend() is not None


def test_the_table_has_the_figures_of_the_single_functions():
    X = np.random.default_rng(6).random((200, 3))
    found = geometry(X, shares=0.9)
    from lamina.inspection import levina_bickel, two_nn

    assert found.two_nn.dimension == pytest.approx(two_nn(X).dimension)
    assert found.levina_bickel.dimension == pytest.approx(levina_bickel(X).dimension)
    assert found.components.counts == principal_components(X, 0.9).counts
    assert found.surrogates == {}


def test_neighbours_are_searched_among_drawn_rows_only():
    X = np.random.default_rng(7).random((500, 2))
    found = geometry(X, max_samples=100)
    assert found.n_used == 100
    assert found.two_nn.n_used == 100
    assert "neighbours among 100 drawn rows" in found.summary()


def test_many_dimensions_are_doubted_once():
    X = np.random.default_rng(8).standard_normal((200, 40))
    with pytest.warns(UserWarning, match="Above 10 dimensions") as told:
        found = geometry(X)
    assert len(told) == 1
    assert any("lower bound" in note for note in found.notes)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_tiny_data_get_an_answer_with_a_reservation(n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = geometry(np.random.default_rng(9).random((n, 2)))
    assert (found.two_nn is None) == (n < 3)
    assert any("few" in note for note in found.notes)
    assert found.summary()


@pytest.mark.parametrize(
    "X", [np.ones((5, 2)), np.zeros((1, 3)), np.zeros((0, 3)), [[np.inf, 1.0]], np.zeros(3)]
)
def test_wrong_data_are_told(X):
    with pytest.raises(DataError, match="X must"):
        geometry(X)


def test_complex_numbers_are_told_and_not_cut():
    with pytest.raises(DataError, match=r"real numbers\. Got complex"):
        geometry(np.ones((3, 2)) + 1j)


@pytest.mark.parametrize("scale", [1e-300, 1e150, 1e300])
def test_curves_in_any_unit_are_measured(scale):
    points = np.random.default_rng(0).random((20, 3))
    small, large = curve_geometry(points, FLAT[:, :3]), curve_geometry(points * scale, FLAT[:, :3])
    assert large.length == pytest.approx(small.length * scale)
    far = curve_geometry(points * scale, FLAT[:, :3] * scale)
    assert far.nearest_other == pytest.approx(small.nearest_other * scale)
