"""Which rows are looked at after a training, and where warnings point."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lamina._errors import DataWarning
from lamina.estimators import ContrastiveEncoder, CrossModalEncoder, DenoisingEncoder
from lamina.estimators._encoder_looks import some_rows

RNG = np.random.default_rng(1)
SMALL = {"hidden_layer_sizes": (8,), "max_steps": 5, "batch_size": 20, "random_state": 0}
ENCODERS = {
    "contrastive": lambda **more: ContrastiveEncoder(**SMALL | more),
    "denoising": lambda **more: DenoisingEncoder(**SMALL | more),
    "cross-modal": lambda **more: CrossModalEncoder(3, **SMALL | more),
}
each_encoder = pytest.mark.parametrize("name", ENCODERS)


def data(name, rows):
    return (rows, rows[:, :3] ** 2) if name == "cross-modal" else (rows,)


@each_encoder
@pytest.mark.parametrize("n_equal", [256, 5000])
def test_equal_rows_in_front_do_not_look_like_a_collapse(name, n_equal):
    rows = np.r_[np.ones((n_equal, 4)), RNG.normal(size=(30, 4))]
    with (
        warnings.catch_warnings(action="ignore", category=DataWarning),
        warnings.catch_warnings(action="error", category=ConvergenceWarning),
    ):
        ENCODERS[name]().fit(*data(name, rows))


def test_rows_are_drawn_from_all_and_each_once():
    rows = np.r_[np.zeros((1000, 2)), RNG.normal(size=(1000, 2))]
    some = some_rows(rows, 0)
    assert len(some) == len(np.unique(some, axis=0))
    assert 80 < len(some) < 200  # about half of 256 draws are different rows
    assert not (some_rows(rows, 1) == some[: len(some_rows(rows, 1))]).all()
    np.testing.assert_array_equal(some, some_rows(rows, 0))
    rare = np.r_[np.zeros((5000, 1)), [[1.0]]]
    np.testing.assert_array_equal(np.sort(some_rows(rare, 0), axis=0), [[0.0], [1.0]])
    np.testing.assert_array_equal(some_rows(np.ones((9, 1)), 0), np.ones((9, 1)))


def here():
    """Return the number of the line that calls."""
    return inspect.currentframe().f_back.f_lineno


@pytest.mark.parametrize("name", ["contrastive", "cross-modal"])
def test_warnings_point_at_the_line_of_the_user(name):
    rows = RNG.normal(size=(40, 4))
    rows[7] = rows[3]
    lines = []
    with warnings.catch_warnings(record=True, action="always") as caught:
        lines.append(here() + 1)
        ENCODERS[name]().fit(*data(name, rows))
        lines.append(here() + 1)
        ENCODERS[name]().partial_fit(*data(name, rows))
        lines.append(here() + 1)
        make_pipeline(StandardScaler(), ENCODERS[name]()).fit(*data(name, rows))
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, line) for line in lines]
    assert {w.category for w in caught} == {DataWarning}


def test_a_collapse_points_at_the_line_of_the_user():
    with warnings.catch_warnings(record=True, action="always") as caught:
        ENCODERS["denoising"]().fit(np.ones((40, 4)))
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, here() - 1)]
    assert caught[0].category is ConvergenceWarning
