"""A training in pieces: members that pause and go on are the members that never paused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lamina._errors import ParameterError
from lamina.heads import Categorical
from lamina.stack import Adaptive, Member, train

pytestmark = pytest.mark.usefixtures("backend")

X = np.random.default_rng(3).standard_normal((60, 3))
Y = (X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3).astype(np.int64)
MAX_EPOCHS = 9


def members():
    """Return members that end in every way: by patience, by all epochs, and as L-BFGS does."""
    held_out = {"rows": np.arange(45), "validation_rows": np.arange(45, 60)}
    common = {
        "activation": "tanh",
        "head": Categorical(2),
        "batch_size": 16,
        "max_epochs": MAX_EPOCHS,
        "learning_rate": 0.02,
    }
    return [
        Member((4,), seed=1, dropout=0.2, schedule="cosine", **common),
        Member((4,), seed=2, patience=1, **held_out, **common),
        Member((4,), seed=5, patience=1, monitor="valid_score", **held_out, **common),
        Member((4, 3), seed=3, patience=0, tol=0.2, schedule=Adaptive(), **held_out, **common),
        Member((4, 3), seed=6, optimizer="sgd", keep_best=True, **common),
        Member((4,), seed=4, activation="tanh", head=Categorical(2), optimizer="lbfgs"),
    ]


def flat(network):
    return np.concatenate([p.detach().numpy().ravel() for p in network.parameters()])


def in_pieces(stack, pauses, **settings):
    """Train to each pause in turn; members that have ended leave."""
    going = list(range(len(stack)))
    states, last = [None] * len(stack), [None] * len(stack)
    for pause in pauses:
        result = train(
            [stack[i] for i in going],
            X,
            Y,
            states=[states[i] for i in going],
            pause_at=pause,
            **settings,
        )
        for place, i in enumerate(going):
            states[i] = result.states[place]
            last[i] = (
                result.networks[place],
                result.status[place],
                result.best_epoch[place],
                result.n_epochs[place],
            )
        going = [i for i in going if states[i].unfinished is not None]
    return last, going


@pytest.mark.parametrize("pauses", [(4, None), (1, 2, 3, 8, None), (MAX_EPOCHS,), (50,)])
def test_training_with_pauses_is_the_training_without(backend, pauses):
    whole = train(members(), X, Y, backend=backend)
    pieces, going = in_pieces(members(), pauses, backend=backend)
    assert not going
    for i, (network, status, best_epoch, n_epochs) in enumerate(pieces):
        assert (status, best_epoch, n_epochs) == (
            whole.status[i],
            whole.best_epoch[i],
            whole.n_epochs[i],
        )
        # With fewer neighbours the `torch` backend adds in another order.
        tolerance = 0 if backend == "cpu" else 1e-5
        np.testing.assert_allclose(
            flat(network), flat(whole.networks[i]), rtol=tolerance, atol=tolerance
        )


def test_the_pause_is_the_result_of_fewer_epochs(backend):
    stack = [dataclasses.replace(member, schedule=None) for member in members()[:3]]
    paused = train(stack, X, Y, backend=backend, pause_at=3)
    short = train([dataclasses.replace(m, max_epochs=3) for m in stack], X, Y, backend=backend)
    for one, other in zip(paused.networks, short.networks, strict=True):
        np.testing.assert_array_equal(flat(one), flat(other))
    ended = ["stopped" if s == "epochs" else s for s in short.status]
    assert paused.status == ended
    assert paused.history["epoch"].max() == 3


def test_history_goes_on_counting(backend):
    first = train(members()[:1], X, Y, backend=backend, pause_at=4)
    rest = train(members()[:1], X, Y, backend=backend, states=first.states)
    assert rest.history["epoch"].tolist() == list(range(5, MAX_EPOCHS + 1))
    assert rest.states[0].unfinished is None
    assert rest.n_epochs == [MAX_EPOCHS]


def test_a_pause_that_is_over_leaves_everything_as_it_is(backend):
    first = train(members()[:2], X, Y, backend=backend, pause_at=4)
    again = train(members()[:2], X, Y, backend=backend, states=first.states, pause_at=2)
    assert again.status == first.status
    assert again.n_epochs == first.n_epochs
    for one, other in zip(again.networks, first.networks, strict=True):
        np.testing.assert_array_equal(flat(one), flat(other))


def test_pause_works_with_a_checkpoint(backend, tmp_path):
    file = tmp_path / "run.ckpt"
    first = train(members()[:2], X, Y, backend=backend, pause_at=3, checkpoint=file)
    assert first.states[0].unfinished.n_epochs == 3
    rest = train(members()[:2], X, Y, backend=backend, checkpoint=file)
    whole = train(members()[:2], X, Y, backend=backend)
    for one, other in zip(rest.networks, whole.networks, strict=True):
        np.testing.assert_array_equal(flat(one), flat(other))


@pytest.mark.parametrize("pause_at", [0, -1, 2.5, "3"])
def test_pause_must_be_a_number_of_epochs(backend, pause_at):
    with pytest.raises(ParameterError, match="pause_at must be an integer of at least 1"):
        train(members()[:1], X, Y, backend=backend, pause_at=pause_at)
