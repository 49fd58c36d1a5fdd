"""Fixed bases against scikit-learn, SciPy, brute force and counting by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy.interpolate import BSpline
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.preprocessing import PolynomialFeatures

from lamina._errors import DataError, ParameterError
from lamina.inspection import (
    CellBasis,
    KernelBasis,
    PolynomialBasis,
    SplineBasis,
    cell_vote,
    cells_occupied,
    fit_basis,
    kernel_conditioning,
    monomial_exponents,
    polynomial_count,
)

RNG = np.random.default_rng(0)
X3 = RNG.uniform(-1, 1, (60, 3))


@pytest.mark.parametrize(("D", "M"), [(1, 5), (2, 3), (4, 4), (10, 2), (20, 1), (3, 0)])
def test_monomials_are_enumerated_as_scikit_learn_does_and_as_many_as_counted(D, M):
    exponents = monomial_exponents(D, M)
    theirs = PolynomialFeatures(M).fit(np.zeros((1, D))).powers_
    np.testing.assert_array_equal(exponents, theirs)
    by_hand = (
        [e for e in itertools.product(range(M + 1), repeat=D) if sum(e) <= M] if D < 5 else []
    )
    if by_hand:
        assert sorted(map(tuple, exponents.tolist())) == sorted(by_hand)
    if M:
        assert polynomial_count(D, M).counts[D, M] == len(exponents)


def test_counts_are_exact_integers_however_large():
    found = polynomial_count([784, 10**6], [20])
    assert found.counts[10**6, 20] == math.comb(10**6 + 20, 20)
    assert found.growth_ratios[10**6, 20] == pytest.approx(1, abs=3e-4)
    assert found.growth_ratios[784, 20] > 1
    assert "," in found.summary()
    found.plot().figure.canvas.draw()


def test_a_basis_that_does_not_fit_is_refused_by_its_size():
    with pytest.raises(ParameterError, match="Got 96,560,646 terms of 100 variables"):
        monomial_exponents(100, 5)
    with pytest.raises(ParameterError, match=r"10\.5 powers of ten"):
        CellBasis(5)(np.zeros((3, 15)))


def test_the_polynomial_basis_is_scikit_learns():
    theirs = PolynomialFeatures(4).fit_transform(X3)
    np.testing.assert_allclose(PolynomialBasis(4)(X3), theirs, rtol=1e-12)


def test_splines_are_scipys_and_add_up_to_one_for_each_input():
    basis = SplineBasis(6, 3, (-1.0, 1.0))
    design = basis(X3)
    assert design.shape == (60, 3 * 9)
    np.testing.assert_allclose(design.sum(axis=1), 3)
    knots = np.concatenate([[-1] * 3, np.linspace(-1, 1, 7), [1] * 3])
    third = BSpline(knots, np.eye(9)[4], 3)(X3[:, 1])
    np.testing.assert_allclose(design[:, 9 + 4], third, atol=1e-12)
    np.testing.assert_array_equal(basis([[5.0]]), basis([[1.0]]))


def test_kernels_are_scikit_learns():
    centres = X3[:7]
    gaussian = KernelBasis(centres, 0.7)(X3)
    np.testing.assert_allclose(gaussian, rbf_kernel(X3, centres, gamma=1 / (2 * 0.49)))
    one = KernelBasis(centres[:, :1], 0.7, "laplacian")(X3[:, :1])
    np.testing.assert_allclose(one, laplacian_kernel(X3[:, :1], centres[:, :1], gamma=1 / 0.7))
    away = np.linalg.norm(X3[:, None] - centres, axis=2)
    inverse = KernelBasis(centres, 0.7, "inverse_multiquadric")(X3)
    np.testing.assert_allclose(inverse, 1 / np.sqrt(1 + (away / 0.7) ** 2))
    power = KernelBasis(centres, 1.0, "polynomial", 2)(X3)
    np.testing.assert_allclose(power, (1 + X3 @ centres.T) ** 2)
    with pytest.raises(DataError, match="X must have 3 columns"):
        KernelBasis(centres)([[1.0]])


def test_each_point_is_in_one_cell():
    design = CellBasis(3, (-1.0, 1.0))(X3)
    assert design.shape == (60, 27)
    np.testing.assert_array_equal(design.sum(axis=1), 1)
    low = (X3[:, 0] < -1 / 3) & (X3[:, 1] < -1 / 3) & (X3[:, 2] < -1 / 3)
    np.testing.assert_array_equal(design[:, 0] == 1, low)


def test_least_squares_are_scikit_learns_ridge():
    y = np.column_stack([np.sin(3 * X3[:, 0]), X3[:, 1] * X3[:, 2]])
    basis = PolynomialBasis(3)
    found = fit_basis(basis, X3, y, penalty=0.01)
    ridge = Ridge(alpha=60 * 0.01, fit_intercept=False, solver="svd").fit(basis(X3), y)
    np.testing.assert_allclose(found.weights, ridge.coef_.T, rtol=1e-9)
    np.testing.assert_allclose(found.predict(X3), ridge.predict(basis(X3)))
    assert found.loss == pytest.approx(np.mean((ridge.predict(basis(X3)) - y) ** 2))
    condition = np.linalg.cond(basis(X3))
    assert found.condition_number == pytest.approx(condition)


@pytest.mark.parametrize("output", ["sigmoid", "softmax"])
def test_classification_is_scikit_learns_logistic_regression(output):
    raw = X3[:, 0] + X3[:, 1] ** 2 + 0.3 * RNG.standard_normal(60)
    y = np.where(raw > 0.5, "high", "low")
    if output == "softmax":
        y[raw < 0] = "zero"
    basis, penalty = PolynomialBasis(2), 0.01
    found = fit_basis(basis, X3, y, output=output, penalty=penalty)
    theirs = LogisticRegression(C=1 / (60 * penalty), fit_intercept=False, tol=1e-9, max_iter=9999)
    theirs.fit(basis(X3), y)
    np.testing.assert_allclose(found.predict_proba(X3), theirs.predict_proba(basis(X3)), atol=1e-5)
    assert (found.predict(X3) == theirs.predict(basis(X3))).all()
    assert found.converged
    p = theirs.predict_proba(basis(X3))[np.arange(60), np.searchsorted(theirs.classes_, y)]
    assert found.loss == pytest.approx(-np.log(p).mean(), rel=1e-4)


def test_a_basis_with_the_target_in_it_is_a_copy():
    def target(X):
        return np.exp(X[:, :1])

    found = fit_basis(target, X3, np.exp(X3[:, 0]), penalty=0.0)
    assert found.weights.tolist() == [[pytest.approx(1)]]
    assert found.loss == pytest.approx(0, abs=1e-25)
    assert found.predict([[0.0, 9.0, 9.0]]).tolist() == [pytest.approx(1)]
    found.plot().figure.canvas.draw()


def test_functions_that_depend_on_one_another_get_the_shortest_weights():
    found = fit_basis(lambda X: np.column_stack([X, X]), X3[:, :1], X3[:, 0], penalty=0.0)
    np.testing.assert_allclose(found.weights[:, 0], [0.5, 0.5])
    assert found.condition_number == math.inf


def test_wrong_fits_are_told():
    with pytest.raises(DataError, match="y must have a row for each of 60"):
        fit_basis(PolynomialBasis(1), X3, [1.0])
    with pytest.raises(DataError, match=r"two classes for 'sigmoid'\. Got 3"):
        fit_basis(PolynomialBasis(1), X3, np.arange(60) % 3, output="sigmoid")
    with pytest.raises(DataError, match="basis must return a matrix with 60 rows"):
        fit_basis(lambda X: X[:, 0], X3, X3[:, 0])
    with pytest.raises(ParameterError, match="basis must be a function"):
        fit_basis("cubic", X3, X3[:, 0])
    with pytest.raises(ParameterError, match="for probabilities"):
        fit_basis(PolynomialBasis(1), X3, X3[:, 0]).predict_proba(X3)


def test_the_vote_is_that_of_a_loop():
    X, y = RNG.random((200, 2)), RNG.integers(0, 3, 200)
    found = cell_vote(X, y, 4, (0.0, 1.0))
    new = RNG.random((100, 2))
    for x, label in zip(new, found.predict(new), strict=True):
        inside = (np.floor(X * 4) == np.floor(x * 4)).all(axis=1)
        votes = np.bincount(y[inside], minlength=3)
        assert label == (votes.argmax() if inside.any() else None)
    assert found.n_votes.sum() == 200
    assert "16 cells" in found.summary()
    found.plot().figure.canvas.draw()


def test_an_empty_cell_has_no_answer_and_the_ends_belong_to_the_grid():
    found = cell_vote([[0.0], [1.0], [1.0], [1.0]], ["b", "b", "a", "a"], 3)
    assert found.predict([[0.0], [0.5], [1.0], [7.0]]).tolist() == ["b", None, "a", "a"]
    assert found.answers([[0.0], [0.5]]).tolist() == [True, False]
    tie = cell_vote([[0.0], [0.0]], [2, 1], 2)
    assert tie.predict([[0.0]]).tolist() == [1]
    with pytest.raises(DataError, match="y must have shape"):
        cell_vote([[0.0]], [1, 2])
    with pytest.raises(DataError, match="X must have 1 columns"):
        found.predict([[0.0, 1.0]])


def test_the_vote_works_where_nearly_all_cells_are_empty():
    X = RNG.random((50, 100))
    found = cell_vote(X, np.arange(50) % 2, 10, (0.0, 1.0))
    assert found.n_cells == 10**100
    assert found.predict(X).tolist() == (np.arange(50) % 2).tolist()
    assert not found.answers(RNG.random((50, 100))).any()


@pytest.mark.parametrize("D", [1, 2, 4])
def test_occupied_cells_are_about_as_many_as_expected(D):
    X = np.random.default_rng(D).random((1000, D))
    found = cells_occupied(X, 5, (0.0, 1.0))
    assert found.n_cells == 5**D
    assert found.n_occupied == len({tuple(cell) for cell in np.floor(X * 5).astype(int).tolist()})
    # 500 other draws have a standard deviation of 8 for D = 4, 0 for the rest
    assert found.n_occupied == pytest.approx(found.expected_uniform, abs=40)
    expected = 5**D * (1 - (1 - 5.0**-D) ** 1000)
    assert found.expected_uniform == pytest.approx(expected)
    assert found.empty_chance == pytest.approx(1 - found.fraction)


def test_huge_grids_are_counted_exactly():
    found = cells_occupied(RNG.random((100, 784)), 5)
    assert found.n_cells == 5**784
    assert found.n_occupied == 100
    assert found.expected_uniform == 100
    assert found.empty_chance == pytest.approx(1)
    one = cells_occupied([[1.0, 2.0]], 1)
    assert (one.n_cells, one.n_occupied, one.expected_uniform) == (1, 1, 1.0)


def test_a_constant_column_is_in_one_bin():
    found = cells_occupied(np.column_stack([np.linspace(0, 1, 50), np.full(50, 3.0)]), 5)
    assert found.n_occupied == 5
    wide = cells_occupied([[-1.7e308], [1.7e308], [0.0]], 3)
    assert wide.n_occupied == 3


def test_condition_numbers_are_those_of_the_matrix():
    X = np.linspace(0, 1, 32)[:, None]
    found = kernel_conditioning(X, 0.05, sizes=[4, 8, 32], penalty=1e-3)
    for n, plain, better in zip(
        found.sizes, found.condition_numbers, found.regularised, strict=True
    ):
        Phi = rbf_kernel(X[:n], gamma=1 / (2 * 0.05**2))
        if math.isfinite(plain):
            assert plain == pytest.approx(np.linalg.cond(Phi), rel=1e-2)
        assert better == pytest.approx(np.linalg.cond(Phi + 1e-3 * np.eye(n)), rel=1e-6)
    assert found.megabytes[-1] == pytest.approx(8 * 32**2 / 1e6)
    assert (np.diff(found.regularised) > 0).all()
    found.plot().figure.canvas.draw()
    assert list(found.to_dataframe()["sizes"]) == [4, 8, 32]


def test_copies_of_a_point_make_the_matrix_singular():
    found = kernel_conditioning(np.zeros((10, 2)))
    assert found.condition_numbers[-1] == math.inf
    assert math.isfinite(found.regularised[-1])
    with pytest.raises(ParameterError, match="at most the 10 rows"):
        kernel_conditioning(np.zeros((10, 2)), sizes=[11])
    assert kernel_conditioning(np.zeros((10, 2)), penalty=0.0).regularised[-1] == math.inf


def test_powers_too_large_are_told():
    with pytest.raises(DataError, match=r"powers up to 3 to be finite\. Got 1e"):
        PolynomialBasis(3)([[1e150, 1.0]])
    assert fit_basis(PolynomialBasis(1), X3 * 1e300, X3[:, 0]).loss < 0.2
