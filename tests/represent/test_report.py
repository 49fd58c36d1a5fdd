"""What a representation is like: every figure against a plain loop or scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from lamina._errors import DataError, LaminaWarning, ParameterError
from lamina.represent import (
    cosine_similarities,
    linear_probe,
    nearest_neighbours_accuracy,
    report,
)


def clusters(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return np.eye(5)[y] * 3 + rng.normal(size=(n, 5)), y


def test_figures_equal_plain_loops():
    z, _ = clusters(40)
    other = z + 0.1
    found = report(z, pairs=other)
    units = z / np.linalg.norm(z, axis=1, keepdims=True)
    partners = other / np.linalg.norm(other, axis=1, keepdims=True)
    pairs = [(i, j) for i in range(40) for j in range(i)]
    gaps = np.array([np.sum((units[i] - units[j]) ** 2) for i, j in pairs])
    assert found.mean_cosine == pytest.approx(np.mean([units[i] @ units[j] for i, j in pairs]))
    assert found.uniformity == pytest.approx(np.log(np.mean(np.exp(-2 * gaps))))
    assert found.alignment == pytest.approx(np.mean(np.sum((units - partners) ** 2, axis=1)))
    shares = np.linalg.eigvalsh(np.cov(z.T))
    shares = shares / shares.sum()
    assert found.effective_dimension == pytest.approx(np.exp(-np.sum(shares * np.log(shares))))


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
def test_figures_do_not_depend_on_the_unit(size):
    z, y = clusters(60)
    plain, scaled = report(z, y, pairs=z + 0.1), report(z * size, y, pairs=(z + 0.1) * size)
    assert scaled.effective_dimension == pytest.approx(plain.effective_dimension)
    assert scaled.uniformity == pytest.approx(plain.uniformity)
    assert scaled.alignment == pytest.approx(plain.alignment)
    if size > 1:  # the probe takes a deviation below 1e-6 for none
        assert scaled.probe_accuracy == plain.probe_accuracy


def test_rows_without_a_direction_are_left_out():
    z, _ = clusters(40)
    rng = np.random.default_rng(3)
    none = np.zeros((30, 5))
    plain = report(z, pairs=z)
    found = report(np.r_[z, none], pairs=np.r_[z, rng.normal(size=none.shape)])
    assert found.n_zero_rows == 30
    for name in ("effective_dimension", "mean_cosine", "uniformity"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name))
    assert found.alignment == pytest.approx(0.0, abs=1e-15)
    lonely = report(z, pairs=np.r_[z[:20], np.zeros((20, 5))])
    assert lonely.alignment == pytest.approx(0.0, abs=1e-15)
    assert report(z, pairs=np.zeros_like(z)).alignment is None


def test_nearest_neighbours_equal_scikit_learns():
    z, y = clusters()
    for k in (1, 3):
        right = 0
        for i in range(len(z)):
            rest = np.arange(len(z)) != i
            model = KNeighborsClassifier(k, metric="cosine").fit(z[rest], y[rest])
            right += model.predict(z[i : i + 1])[0] == y[i]
        ours = nearest_neighbours_accuracy(z, y, k)
        # with three votes all different, ours takes the nearest and theirs the smallest label
        assert abs(ours - right / len(z)) <= (0 if k == 1 else 0.03)


def test_the_probe_equals_scikit_learns_logistic_regression():
    z, y = clusters(90)
    new, truth = clusters(400, seed=1)
    other, _ = clusters(300, seed=2)
    scale = lambda x: (x - other.mean(0)) / (other.std(0) + 1e-6)  # noqa: E731
    model = LogisticRegression(C=1 / (0.01 * 90), tol=1e-8, max_iter=5000).fit(scale(z), y)
    ours = linear_probe(z, y, new, truth, unlabelled=other, weight_decay=0.01)
    assert ours == pytest.approx(model.score(scale(new), truth), abs=0.0051)


def test_the_probe_takes_labels_of_any_kind_and_counts_new_ones_as_missed():
    z, y = clusters(60)
    names = np.array(["a", "b", "c"])[y]
    assert linear_probe(z, names, z, names) == linear_probe(z, y, z, y)
    assert linear_probe(z, names, z[:3], ["d", "d", "d"]) == 0.0


@pytest.mark.parametrize("size", [1e150, 1e300])
def test_the_probe_takes_numbers_whose_squares_overflow(size):
    z, y = clusters(60)
    new, truth = clusters(200, seed=1)
    other, _ = clusters(100, seed=2)
    mixed = np.array([size, 1.0, 1.0, size, 1.0])  # beside columns of usual size
    assert linear_probe(z * mixed, y, new * mixed, truth, unlabelled=other * mixed) == (
        pytest.approx(linear_probe(z, y, new, truth, unlabelled=other), abs=0.0051)
    )


def test_features_out_of_reach_of_the_unlabelled_ones_are_refused():
    z, y = clusters(20)
    with pytest.raises(DataError, match="new_features must be within reach of the features"):
        linear_probe(z, y, np.full((1, 5), 1e308), [0], unlabelled=np.ones((3, 5)))


def test_the_probe_of_float32_equals_that_of_the_same_numbers_in_float64():
    z, y = clusters(60)
    small = z.astype(np.float32)
    before = small.copy()
    assert linear_probe(small, y, small, y) == linear_probe(small.astype(float), y, small, y)
    np.testing.assert_array_equal(small, before)


def test_collapse_is_told():
    rng = np.random.default_rng(0)
    point = 1.0 + 1e-3 * rng.normal(size=(50, 6))
    with pytest.warns(LaminaWarning, match="The representation has collapsed"):
        found = report(point)
    assert found.collapsed
    assert found.uniformity > -0.01
    assert "COLLAPSED" in found.summary()


@pytest.mark.parametrize("z", [np.zeros((10, 3)), np.ones((10, 3)), np.zeros((2, 1))])
def test_constant_representations_have_finite_figures(z):
    with pytest.warns(LaminaWarning):
        found = report(z, np.arange(len(z)) % 2)
    assert found.collapsed
    assert found.effective_dimension == 1.0
    assert np.isfinite(found.uniformity)
    assert found.n_zero_rows == int((z == 0).all(1).sum())
    assert found.summary()


def test_labels_and_pairs_are_told_in_the_summary():
    z, y = clusters()
    text = report(z, y, pairs=z).summary()
    for words in ("nearest neighbours", "linear probe", "largest class", "alignment 0.000"):
        assert words in text
    assert "classes" not in report(z).summary()


def test_classes_met_once_leave_the_probe_out():
    z, _ = clusters(8)
    found = report(z, np.arange(8))
    assert found.probe_accuracy is None
    assert found.neighbours_accuracy == 0.0
    assert report(z, np.zeros(8)).probe_accuracy is None


def test_many_rows_are_sampled_from_the_seed():
    z, y = clusters(300)
    few = report(z, y, max_rows=50, random_state=1)
    assert few.n_rows == 50
    assert few == report(z, y, max_rows=50, random_state=1)
    assert few != report(z, y, max_rows=50, random_state=2)


def test_tensors_and_half_precision_are_welcome():
    z, y = clusters()
    half = report(torch.tensor(z).half(), y)
    assert half.mean_cosine == pytest.approx(report(z).mean_cosine, abs=1e-3)
    assert cosine_similarities(torch.tensor(z)).dtype == torch.float64


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: report(np.ones((1, 3))), DataError, "at least 2 rows. Got 1"),
        (lambda: report(np.ones((3, 3)), [1]), DataError, "labels must have one entry"),
        (lambda: report(np.ones((3, 3)), pairs=np.ones((3, 2))), DataError, "pairs must have"),
        (lambda: report(np.ones((3, 3)), max_rows=1), ParameterError, "max_rows must be"),
        (lambda: report(np.full((3, 3), np.nan)), DataError, "features must hold finite"),
        (
            lambda: linear_probe(np.ones((3, 2)), [0, 0, 0], np.ones((1, 2)), [0]),
            DataError,
            "at least 2 classes. Got 1",
        ),
        (
            lambda: linear_probe(np.ones((2, 2)), [0, 1], np.ones((1, 3)), [0]),
            DataError,
            "new_features must have 2 columns. Got 3",
        ),
        (
            lambda: linear_probe(
                np.ones((2, 2)), [0, 1], np.ones((1, 2)), [0], unlabelled=np.ones((4, 3))
            ),
            DataError,
            "unlabelled must have 2 columns. Got 3",
        ),
        (lambda: nearest_neighbours_accuracy(np.ones((1, 2)), [0]), DataError, "Got 1"),
        (lambda: cosine_similarities(np.ones((1, 2)), np.ones((1, 3))), DataError, "2 columns"),
    ],
)
def test_wrong_calls_get_one_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()
