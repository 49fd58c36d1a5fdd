"""What may come in: labels of any type but missing ones, numbers of any kind and size."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from lamina._errors import DataError, ParameterError
from lamina.represent import (
    cosine_similarities,
    cross_modal,
    denoising,
    in_batch_info_nce,
    info_nce,
    linear_probe,
    nearest_neighbours_accuracy,
    normalise,
    report,
    supervised_contrastive,
)

Z = np.random.default_rng(0).normal(size=(6, 4))
CODES = [0, 0, 1, 1, 2, 2]

# Labels


def of_labels(name):
    """Return what takes labels, as a function of them, and their name."""
    return {
        "supervised": (lambda y: supervised_contrastive(Z, y), "labels"),
        "ids": (lambda y: in_batch_info_nce(Z, Z, ids=y), "ids"),
        "cross-modal": (lambda y: cross_modal(Z, Z, 1.0, ids=y), "ids"),
        "report": (lambda y: report(Z, y), "labels"),
        "neighbours": (lambda y: nearest_neighbours_accuracy(Z, y), "labels"),
        "probe": (lambda y: linear_probe(Z, y, Z, CODES), "labels"),
        "new of probe": (lambda y: linear_probe(Z, CODES, Z, y), "new_labels"),
    }[name]


TAKERS = ["supervised", "ids", "cross-modal", "report", "neighbours", "probe", "new of probe"]
MISSING = {
    "None among numbers": [0, 0, 1, None, 2, 2],
    "None among texts": ["a", "a", "b", None, "c", "c"],
    "NaN": [0.0, 0.0, 1.0, np.nan, 2.0, 2.0],
    "NaN among objects": np.array([0, 0, 1, np.nan, 2, 2], dtype=object),
    "NaN in a list of texts": ["a", "a", "b", float("nan"), "c", "c"],
    "NaT": np.array(["2020", "2020", "2021", "NaT", "2022", "2022"], dtype="datetime64[Y]"),
    "NaT among objects": pd.Series([pd.Timestamp(2020, 1, 1)] * 3 + [pd.NaT] * 3, dtype=object),
    "NA": pd.Series([0, 0, 1, None, 2, 2], dtype="Int64"),
    "a missing level": pd.Series(["a", "a", "b", None, "c", "c"], dtype="category"),
    "a tensor": torch.tensor([0.0, 0.0, 1.0, float("nan"), 2.0, 2.0]),
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("labels", MISSING.values(), ids=MISSING)
def test_missing_labels_are_refused_with_their_row(taker, labels):
    call, name = of_labels(taker)
    got = "(None|nan|NaT|<NA>)"
    with pytest.raises(DataError, match=rf"^{name} must not be missing. Got {got} in row 3. Drop"):
        call(labels)


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize(
    "labels", [[0, 0, "a", "a", 1, 1], np.array([0, 0, "a", "a", 1, 1], dtype=object)]
)
def test_labels_of_mixed_types_are_refused(taker, labels):
    call, name = of_labels(taker)
    with pytest.raises(DataError, match=f"^{name} must be of one type. Got a number and a text."):
        call(labels)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([5, 5, np.int64(7), 7.0, 9, 9], dtype=object),
        np.array(list("aabbcc"), dtype=object),
        list("aabbcc"),
        pd.Series(list("aabbcc"), dtype="category"),
        np.array([2**70, 2**70, 2**71, 2**71, 0, 0], dtype=object),
        np.array([1, 1, np.inf, np.inf, -np.inf, -np.inf]),
        np.array(["2020", "2020", "2021", "2021", "2022", "2022"], dtype="datetime64[Y]"),
        torch.tensor(CODES),
    ],
)
def test_labels_of_any_one_type_are_the_same_classes(labels):
    expected = supervised_contrastive(Z, CODES)
    assert float(supervised_contrastive(Z, labels)) == float(expected)
    expected = in_batch_info_nce(Z, Z[::-1], ids=CODES)
    assert float(in_batch_info_nce(Z, Z[::-1], ids=labels)) == float(expected)
    assert linear_probe(Z, labels, Z, labels) == linear_probe(Z, CODES, Z, CODES)


def test_labels_that_cannot_be_sorted_or_compared_are_refused():
    with pytest.raises(DataError, match=r"labels must be of a type that can be sorted. Got dict."):
        supervised_contrastive(Z, [{}, {}, {}, {}, {}, {}])
    with pytest.raises(DataError, match=r"new_labels must be of the type of labels, a n.* Got"):
        linear_probe(Z, CODES, Z, list("aabbcc"))
    with pytest.raises(DataError, match=r"labels must be an array. Got"):
        supervised_contrastive(Z, [[1, 2], [3]])


# Numbers


@pytest.mark.parametrize(
    "values",
    [
        Z.astype(">f8"),
        Z.astype(np.longdouble),
        np.asfortranarray(Z),
        Z[::-1][::-1],
        np.broadcast_to(Z, (6, 4)),  # read-only
        Z.tolist(),
        pd.DataFrame(Z),
    ],
)
def test_numbers_of_any_layout_are_the_same_numbers(values):
    expected = supervised_contrastive(Z, CODES)
    found = supervised_contrastive(values, CODES)
    assert found.value.dtype == torch.float64
    assert float(found) == pytest.approx(float(expected), rel=1e-13)
    before = np.array(values)
    assert report(values, CODES) == report(Z, CODES)
    assert linear_probe(values, CODES, values, CODES) == linear_probe(Z, CODES, Z, CODES)
    np.testing.assert_array_equal(np.array(values), before)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([[1.0, 2.0], [3.0]], "a must have rows of one length. Got"),
        (torch.tensor(Z).to_sparse(), "a must be dense. Got a tensor of layout torch.sparse_coo"),
        (np.full((6, 4), np.longdouble("1e4000")), "a must hold finite numbers."),
    ],
)
def test_what_is_no_matrix_of_numbers_gets_one_sentence(values, sentence):
    with pytest.raises(DataError) as caught:
        in_batch_info_nce(values, Z)
    assert str(caught.value).startswith(sentence)


def test_cosines_with_a_tensor_that_is_trained():
    trained = torch.tensor(Z, requires_grad=True)
    expected = cosine_similarities(Z, Z[::-1])
    np.testing.assert_array_equal(cosine_similarities(Z, trained.flip(0)), expected)
    assert cosine_similarities(trained, Z).requires_grad


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_cosines_do_not_depend_on_a_length_that_float32_cannot_hold(size):
    small = Z.astype(np.float32)
    expected = cosine_similarities(small, Z)
    found = cosine_similarities(small, Z * size)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "loss",
    [
        lambda tau: in_batch_info_nce(Z, Z, tau),
        lambda tau: supervised_contrastive(Z, CODES, tau),
        lambda tau: info_nce(Z, Z, Z, tau),
    ],
)
def test_a_temperature_whose_reciprocal_overflows_is_refused(loss):
    for tau in (1e-40, 1e-310):
        with pytest.raises(ParameterError, match="temperature must be at least 1e-30, so"):
            loss(tau)


def test_the_least_temperature_is_finite_in_float32():
    z = Z.astype(np.float32)
    for loss in (
        in_batch_info_nce(z, z[::-1], 1e-30),
        supervised_contrastive(z, CODES, 1e-30),
        info_nce(z, z, z, 1e-30),
    ):
        assert np.isfinite(float(loss))
        assert all(torch.isfinite(gradient).all() for gradient in loss.gradients)


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        (np.full((6, 4), np.nan), "mask must hold finite numbers."),
        (np.full((6, 4), 5), "mask must hold truth values, or 0 and 1. Got 5 in row 0."),
        (np.full((6, 4), "a"), "mask must hold real numbers. Got dtype <U1."),
        (np.ones((6, 3)), "mask must have shape (6, 4). Got (6, 3)."),
    ],
)
def test_a_mask_holds_truth_values(mask, sentence):
    with pytest.raises(DataError) as caught:
        denoising(Z, Z, Z, mask)
    assert str(caught.value).startswith(sentence)


def test_a_mask_of_0_and_1_is_one_of_truth_values():
    mask = Z > 0
    expected = float(denoising(Z, Z, Z, mask))
    assert float(denoising(Z, Z, Z, mask.astype(int))) == expected
    assert float(denoising(Z, Z, Z, torch.tensor(mask).double())) == expected


def test_half_precision_normalises_as_before():
    assert normalise(Z.astype(np.float16)).dtype == np.float32
