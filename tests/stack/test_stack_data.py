"""What may come in as X and y, and the sentence for what may not."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from lamina._errors import DataError
from lamina.heads import Bernoulli, Categorical, Normal, Poisson
from lamina.stack import Member, train

pytestmark = pytest.mark.usefixtures("backend")

N_SAMPLES, N_FEATURES = 60, 6


def whole_numbers():
    """Small whole numbers, which every dtype holds exactly; many zeros."""
    rng = np.random.default_rng(2)
    return rng.integers(0, 3, (N_SAMPLES, N_FEATURES)) * rng.integers(0, 2, (N_SAMPLES, 1))


X = whole_numbers().astype(np.float64)
Y = X[:, 0] - X[:, 1] + 0.1 * X[:, 2] ** 2


def trained(X, y, dtype="float64", **settings):
    common = {"batch_size": 16, "max_epochs": 3, "learning_rate": 0.01}
    members = [Member((5,), "tanh", seed=i, **(common | settings)) for i in range(2)]
    result = train(members, X, y, dtype=dtype)
    return [p.detach().numpy() for net in result.networks for p in net.parameters()]


def assert_same(one, two, tolerance=0.0):
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def every_other_place(array):
    wide = np.full((2 * array.shape[0], 3 * array.shape[1]), np.nan)
    wide[::2, ::3] = array
    return wide[::2, ::3]


FORMS = {
    "read-only": read_only,
    "column-major": np.asfortranarray,
    "strided": every_other_place,
    "negative strides": lambda array: array[::-1, ::-1].copy()[::-1, ::-1],
    "a list of lists": lambda array: array.tolist(),
    "a data frame": pd.DataFrame,
    "float16": lambda array: array.astype(np.float16),
    "float32": lambda array: array.astype(np.float32),
    "long double": lambda array: array.astype(np.longdouble),
    "big-endian": lambda array: array.astype(">f8"),
    "big-endian int": lambda array: array.astype(">i4"),
    "int8": lambda array: array.astype(np.int8),
    "int64": lambda array: array.astype(np.int64),
    "uint16": lambda array: array.astype(np.uint16),
    "uint64": lambda array: array.astype(np.uint64),
    "tensor": torch.tensor,
    "float32 tensor": lambda array: torch.tensor(array, dtype=torch.float32),
    "int tensor": lambda array: torch.tensor(array, dtype=torch.int32),
    "transposed tensor": lambda array: torch.tensor(array.T.copy()).T,
    "tensor with gradient": lambda array: torch.tensor(array, requires_grad=True),
}

SPARSE = ["csr_array", "csc_array", "coo_array", "csr_matrix", "lil_matrix", "dok_array"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_x_trains_the_same_network(form, dtype):
    given = FORMS[form](X)
    assert_same(trained(given, Y, dtype), trained(X, Y, dtype))


def test_booleans_count_as_zero_and_one():
    assert_same(trained(X > 0, Y), trained((X > 0).astype(float), Y))


@pytest.mark.parametrize("form", [form for form in FORMS if form != "strided"])
def test_every_form_of_y_trains_the_same_network(form):
    y = X[:, :1] + X[:, 1:2]
    assert_same(trained(X, FORMS[form](y)), trained(X, y))


def test_y_of_one_column_equals_a_vector():
    assert_same(trained(X, Y[:, None]), trained(X, Y))
    number = (X[:, 0] > 0).astype(int)
    for head in (Categorical(), Categorical(2), Bernoulli(), Poisson()):
        assert_same(trained(X, number[:, None], head=head), trained(X, number, head=head))


def test_y_as_series_list_or_tensor_with_gradient():
    expected = trained(X, Y)
    for y in (pd.Series(Y), Y.tolist(), torch.tensor(Y, requires_grad=True)):
        assert_same(trained(X, y), expected)


@pytest.mark.parametrize("settings", [{}, {"batch_size": 500}, {"rows": np.arange(40)}])
@pytest.mark.parametrize("form", SPARSE)
def test_sparse_equals_dense(form, settings):
    sparse = getattr(scipy.sparse, form)(X)
    settings = {"validation_rows": np.arange(40, 60), **settings}
    assert_same(trained(sparse, Y, **settings), trained(X, Y, **settings), 1e-14)


def test_sparse_of_whole_numbers_and_booleans():
    assert_same(trained(scipy.sparse.csr_array(X.astype(int)), Y), trained(X, Y), 1e-14)
    assert_same(trained(scipy.sparse.csr_array(X > 0), Y), trained(X > 0, Y), 1e-14)


def test_sparse_with_lbfgs():
    settings = {"optimizer": "lbfgs", "max_epochs": 5}
    sparse = scipy.sparse.csr_array(X)
    assert_same(trained(sparse, Y, **settings), trained(X, Y, **settings), 1e-10)


def test_the_data_are_not_changed():
    x, y = X.copy(), Y.copy()
    tensor, sparse = torch.tensor(X), scipy.sparse.csr_array(X)
    for given in (x, tensor, sparse):
        trained(given, y)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(tensor.numpy(), X)
    np.testing.assert_array_equal(sparse.toarray(), X)


def put(value, row=7, column=2, array=X):
    array = array.astype(np.float64)
    array[(row, column) if array.ndim == 2 else row] = value
    return array


NOT_FINITE = "Remove or impute missing values, and rescale values that are too large."
WRONG_X = [
    (put(np.nan), f"X must be finite in float32. Got nan in row 7, column 2. {NOT_FINITE}"),
    (put(-np.inf), f"X must be finite in float32. Got -inf in row 7, column 2. {NOT_FINITE}"),
    (put(1e39), f"X must be finite in float32. Got inf in row 7, column 2. {NOT_FINITE}"),
    (
        torch.tensor(put(np.nan)),
        f"X must be finite in float32. Got nan in row 7, column 2. {NOT_FINITE}",
    ),
    (
        scipy.sparse.csr_array(put(np.nan)),
        f"X must be finite in float32. Got nan in row 7, column 2. {NOT_FINITE}",
    ),
    (
        scipy.sparse.csc_matrix(put(1e39)),
        f"X must be finite in float32. Got inf in row 7, column 2. {NOT_FINITE}",
    ),
    (
        X[:, 0],
        "X must be 2-D, with at least one row and one column. Got an array of shape (60,).",
    ),
    (
        X[None],
        "X must be 2-D, with at least one row and one column. Got an array of shape (1, 60, 6).",
    ),
    (
        X[:, :0],
        "X must be 2-D, with at least one row and one column. Got an array of shape (60, 0).",
    ),
    (
        np.zeros((0, 6)),
        "X must be 2-D, with at least one row and one column. Got an array of shape (0, 6).",
    ),
    (
        scipy.sparse.csr_array((0, 6)),
        "X must be 2-D, with at least one row and one column. Got an array of shape (0, 6).",
    ),
    (3.0, "X must be 2-D, with at least one row and one column. Got an array of shape ()."),
    (
        [[1.0], [1.0, 2.0]],
        "X must be an array, or lists of equal length. Got [[1.0], [1.0, 2.0]].",
    ),
    (
        X.astype(str),
        "X must hold real numbers. Got dtype <U32. "
        "Encode text and categories first (TableClassifier and TableRegressor do).",
    ),
    (
        X.astype(object),
        "X must hold real numbers. Got dtype object. "
        "Encode text and categories first (TableClassifier and TableRegressor do).",
    ),
    (
        X + 1j,
        "X must hold real numbers. Got dtype complex128. "
        "Encode text and categories first (TableClassifier and TableRegressor do).",
    ),
    (
        scipy.sparse.csr_array(X + 1j),
        "X must hold real numbers. Got dtype complex128. "
        "Encode text and categories first (TableClassifier and TableRegressor do).",
    ),
    (
        torch.tensor(X) + 1j,
        "X must be a dense tensor of real numbers. Got torch.strided, torch.complex128.",
    ),
    (
        torch.tensor(X).to_sparse(),
        "X must be a dense tensor of real numbers. Got torch.sparse_coo, torch.float64.",
    ),
]


@pytest.mark.parametrize(("wrong", "sentence"), WRONG_X)
def test_wrong_x(wrong, sentence):
    with pytest.raises(DataError, match=f"^{re.escape(sentence)}$"):
        train([Member((2,))], wrong, Y)


def test_large_values_are_fine_in_float64():
    assert train([Member((2,), max_epochs=1)], put(1e39), Y, dtype="float64").status == ["epochs"]


WRONG_Y = [
    (Y[:-1], "y must have one entry for each of the 60 rows of X. Got shape (59,)."),
    (1.0, "y must have one entry for each of the 60 rows of X. Got shape ()."),
    (
        scipy.sparse.csr_array(X),
        "y must have one entry for each of the 60 rows of X. Got shape ().",
    ),
    (
        [[1.0], [1.0, 2.0]],
        "y must be an array, or lists of equal length. Got [[1.0], [1.0, 2.0]].",
    ),
    (np.zeros((60, 1, 1)), "y must have shape (N,) or (N, Q). Got (60, 1, 1)."),
    (put(np.nan, 4, array=Y), "y must be finite. Got nan in row 4."),
    (put(np.inf, 5, 1), "y must be finite. Got inf in row 5, column 1."),
    (np.array(["a"] * 60), "y must be numbers. Got an array of type <U1."),
    (np.array([None] * 60), "y must be numbers. Got an array of type object."),
    (Y + 0j, "y must be numbers. Got an array of type complex128."),
    (
        put(1e39, 9, array=Y),
        "y must be finite in float32. Got 1e+39 in row 9. Rescale y, or use dtype='float64'.",
    ),
]


@pytest.mark.parametrize(("wrong", "sentence"), WRONG_Y)
def test_wrong_y(wrong, sentence):
    with pytest.raises(DataError, match=f"^{re.escape(sentence)}$"):
        train([Member((2,), head=Normal())], X, wrong)


@pytest.mark.parametrize("head", [Categorical(), Categorical(3), Bernoulli()])
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (np.nan, "y must be finite. Got nan in row 4."),
        (-1, "Got -1.0 in row 4."),
        (0.5, "Got 0.5"),
    ],
)
def test_wrong_labels(head, value, sentence):
    with pytest.raises(DataError, match=re.escape(sentence)):
        train([Member((2,), head=head)], X, put(value, 4, array=(Y > 0).astype(float)))


def test_text_labels_are_told_in_a_sentence():
    with pytest.raises(DataError, match=r"^y must be numbers. Got an array of type <U1.$"):
        train([Member((2,), head=Categorical())], X, np.array(["a"] * 60))


SMALL = [
    {},
    {"batch_size": 1},
    {"optimizer": "lbfgs"},
    {"hidden_layer_sizes": ()},
    {"hidden_layer_sizes": (1,), "activation": "prelu"},
    {"validation_rows": np.array([0])},
    {"sample_weight": np.array([3.0])},
]


@pytest.mark.parametrize("settings", SMALL)
def test_one_row_and_one_column(settings):
    settings = {"hidden_layer_sizes": (2,), "max_epochs": 30, "learning_rate": 0.05} | settings
    result = train([Member(**settings)] * 2, [[1.0]], [2.0], dtype="float64")
    first = float(result.history["train_loss"].iloc[0])
    assert result.history["train_loss"].iloc[29 if "optimizer" not in settings else -1] < first
    assert result.networks[0].predict_raw([[1.0]]).shape == (1, 1)
