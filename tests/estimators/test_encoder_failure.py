"""A fit that fails leaves the encoder as it was, and says what helps."""

from __future__ import annotations

import numpy as np
import pytest

from lamina._errors import DivergedError
from lamina.estimators import ContrastiveEncoder, CrossModalEncoder, DenoisingEncoder

X = np.random.default_rng(1).normal(size=(60, 4))
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
@pytest.mark.parametrize("how", ["rows", "length", "step size"])
def test_after_a_failed_refit_all_is_as_before(name, how):
    encoder = ENCODERS[name]().fit(*data(name, X))
    before, features = dict(vars(encoder)), encoder.transform(X)
    wide = np.tile(X, 2)
    bad = {
        "rows": data(name, wide[:1]),
        "length": (wide, X[:7, :1].round()) if name != "denoising" else (wide[:0],),
        "step size": data(name, wide),
    }[how]
    if how == "step size":
        encoder.set_params(learning_rate_init=1e30)
        before["learning_rate_init"] = 1e30
    with pytest.raises(ValueError, match=r"finite|row|inconsistent"):
        encoder.fit(*bad)
    after = vars(encoder)
    assert after.keys() == before.keys()
    assert all(after[key] is value for key, value in before.items())
    np.testing.assert_array_equal(encoder.transform(X), features)


@each_encoder
def test_a_first_fit_that_fails_leaves_nothing(name):
    encoder = ENCODERS[name](learning_rate_init=1e30)
    before = dict(vars(encoder))
    with pytest.raises(DivergedError, match="Lower learning_rate_init"):
        encoder.fit(*data(name, X))
    assert vars(encoder) == before
    encoder.set_params(learning_rate_init=1e-3)
    fresh = ENCODERS[name]().partial_fit(*data(name, X)).transform(X)
    np.testing.assert_array_equal(encoder.partial_fit(*data(name, X)).transform(X), fresh)


@each_encoder
def test_after_a_divergence_a_smaller_step_size_goes_on_as_if_nothing_had_been(name):
    one, two = (ENCODERS[name]().partial_fit(*data(name, X)) for _ in range(2))
    with pytest.raises(DivergedError, match="Lower learning_rate_init"):
        one.set_params(learning_rate_init=1e30).partial_fit(*data(name, X))
    one.set_params(learning_rate_init=1e-3).partial_fit(*data(name, X))
    two.partial_fit(*data(name, X))
    np.testing.assert_array_equal(one.transform(X), two.transform(X))


@pytest.mark.parametrize(
    ("name", "rate"),
    [*[(name, 1e30) for name in ENCODERS], ("denoising", 1e10)],  # its loss takes squares
)
def test_a_last_step_that_explodes_is_told(name, rate):
    encoder = ENCODERS[name](max_steps=1, learning_rate_init=rate)
    with pytest.raises(DivergedError, match=r"after step 1\. Lower learning_rate_init"):
        encoder.fit(*data(name, X))
    assert "network_" not in vars(encoder)


@pytest.mark.parametrize(
    ("standardize", "cure"), [(False, "Set standardize=True"), (True, "smaller")]
)
def test_a_first_loss_that_is_not_finite_is_the_datas(standardize, cure):
    encoder = DenoisingEncoder(**SMALL, standardize=standardize)
    if standardize:
        encoder.partial_fit(X)
    with pytest.raises(DivergedError, match=rf"{cure}") as caught:
        encoder.partial_fit(X * 1e30)
    assert "learning_rate_init" not in str(caught.value)
    assert "columns of X" in str(caught.value)


class Raiser:
    """A callback that fails in the middle of a fit."""

    torn_down = False

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.torn_down = True

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        raise RuntimeError("enough")


@each_encoder
def test_a_callback_that_fails_is_torn_down_and_changes_nothing(name):
    raiser = Raiser()
    encoder = ENCODERS[name]().set_callbacks(raiser)
    before = dict(vars(encoder))
    with pytest.raises(RuntimeError, match="enough"):
        encoder.fit(*data(name, X))
    assert raiser.torn_down
    assert vars(encoder) == before
