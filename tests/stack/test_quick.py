"""Epochs that run in a row are the epochs that run one by one."""

from __future__ import annotations

import numpy as np
import pytest

from lamina.heads import Categorical
from lamina.stack import Adaptive, Member, train
from lamina.stack._extension import native

pytestmark = pytest.mark.skipif(native() is None, reason="the compiled part is missing")

X = np.random.default_rng(0).standard_normal((90, 4))
Y = (X[:, 0] > 0).astype(np.int64)
COLUMNS = ["member", "epoch", "train_loss", "valid_loss", "valid_score", "learning_rate"]


def members():
    """Return members that end by patience, by all epochs, at once, and by divergence."""
    common = {"head": Categorical(2), "batch_size": 16, "activation": "tanh"}
    sgd = {"optimizer": "sgd", "activation": "relu", "head": Categorical(2), "batch_size": 16}
    return [
        Member((5,), seed=1, max_epochs=60, schedule="cosine", dropout=0.3, **common),
        Member((5, 4), seed=2, max_epochs=60, patience=2, tol=0.01, **common),
        Member((5,), seed=3, max_epochs=60, patience=10, learning_rate=0.03, **common),
        Member((5,), seed=4, max_epochs=1, **common),
        Member((5,), seed=5, max_epochs=40, patience=0.5, tol=1e-4, **common),
        Member((6,), seed=6, max_epochs=50, learning_rate=1e19, **sgd),
        Member((6,), seed=7, max_epochs=50, patience=3, tol=0.05, schedule=Adaptive(), **sgd),
        Member((6,), seed=8, max_epochs=40, patience=np.inf, input_noise=0.1, **common),
        Member((6,), seed=9, max_epochs=40, keep_best=True, **common),
    ]


@pytest.mark.filterwarnings("ignore::lamina._errors.DivergedWarning")
@pytest.mark.parametrize("pause_at", [None, 7])
def test_nobody_looks_on_or_somebody_does(pause_at):
    alone = train(members(), X, Y, backend="cpu", pause_at=pause_at)
    watched = train(members(), X, Y, backend="cpu", pause_at=pause_at, callbacks=[lambda _: None])
    assert alone.status == watched.status
    assert {"diverged", "converged" if pause_at is None else "stopped"} <= set(alone.status)
    assert alone.n_epochs == watched.n_epochs
    assert alone.best_epoch == watched.best_epoch
    assert alone.history[COLUMNS].equals(watched.history[COLUMNS])
    for one, other in zip(alone.states, watched.states, strict=True):
        assert (one.epoch, one.step, one.seen) == (other.epoch, other.step, other.seen)
        for a, b in zip(
            [one.parameters, *one.moments], [other.parameters, *other.moments], strict=True
        ):
            for p, q in zip(a, b, strict=True):
                np.testing.assert_array_equal(p, q)
    for net, other in zip(alone.networks, watched.networks, strict=True):
        for p, q in zip(net.parameters(), other.parameters(), strict=True):
            np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())
