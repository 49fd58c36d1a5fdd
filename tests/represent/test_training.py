"""Steps of training against the same steps by autograd and torch's Adam."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lamina._errors import DataError, ParameterError
from lamina.nn import Network
from lamina.represent import (
    ClassBatches,
    ContrastiveTraining,
    CrossModalTraining,
    DenoisingTraining,
    InstanceBatches,
    corrupt,
    cross_modal,
    denoising,
    in_batch_info_nce,
    supervised_contrastive,
)
from lamina.stack import Adam

X = np.random.default_rng(0).normal(size=(24, 4))
LABELS = np.arange(24) % 3
TINY = Adam(epsilon=1e-30)  # with it torch's Adam and ours agree


def views(rows, rng):
    return X[rows], X[rows] + 0.1 * rng.normal(size=(len(rows), 4))


def network(n_out, seed=0, n_in=4):
    return Network((n_in, 6, n_out), "tanh", random_state=seed)


def by_autograd(networks, loss, n_steps, extra=()):
    """Take the steps with torch alone; ``loss`` gets the number of the step."""
    parameters = [p for net in networks for p in net.parameters()] + list(extra)
    optimizer = torch.optim.Adam(parameters, 0.01, eps=1e-30)
    values = []
    for step in range(n_steps):
        optimizer.zero_grad()
        value = loss(step)
        value.backward()
        optimizer.step()
        values.append(value.item())
    return values


def assert_equal_networks(ours, theirs):
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a.data, b.data, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("how", ["instance", "ids", "class"])
def test_contrastive_steps_equal_autograds(how):
    sampler = ClassBatches(LABELS, 9, seed=1) if how == "class" else InstanceBatches(24, 10, 1)
    ids = np.arange(24) // 2
    drawn = {}

    def seen(rows, rng):
        drawn[len(drawn)] = (rows, *(torch.from_numpy(view) for view in views(rows, rng)))
        return views_of(len(drawn) - 1)

    def views_of(step):
        return tuple(view.numpy() for view in drawn[step][1:])

    training = ContrastiveTraining(
        network(3),
        sampler,
        seen,
        temperature=0.2,
        labels=LABELS if how == "class" else None,
        ids=ids if how == "ids" else None,
        optimizer=TINY,
    )
    ours = [training.step(0.01) for _ in range(6)]
    theirs = network(3)

    def loss(step):
        rows, a, b = drawn[step]
        if how == "class":
            return supervised_contrastive(
                torch.cat([theirs(a), theirs(b)]), np.tile(LABELS[rows], 2), 0.2
            ).value
        same = ids[rows] if how == "ids" else None
        return in_batch_info_nce(theirs(a), theirs(b), 0.2, ids=same).value

    assert ours == pytest.approx(by_autograd([theirs], loss, 6), rel=1e-9)
    assert_equal_networks(training.networks()[0], theirs)
    assert training.n_steps == 6


@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_denoising_steps_equal_autograds(weight):
    drawn = []

    def seen(rows, rng):
        drawn.append((X[rows], corrupt(X[rows], 0.4, random_state=rng)[0]))
        return drawn[-1]

    n_out = 8 if weight else 4
    training = DenoisingTraining(
        network(n_out), InstanceBatches(24, 10, 1), seen, mask_weight=weight, optimizer=TINY
    )
    ours = [training.step(0.01) for _ in range(6)]
    theirs = network(n_out)

    def loss(step):
        clean, corrupted = (torch.from_numpy(part) for part in drawn[step])
        raw = theirs(corrupted)
        logits = raw[:, 4:] if weight else torch.zeros_like(raw)
        return denoising(raw[:, :4], logits, clean, clean != corrupted, mask_weight=weight).value

    assert ours == pytest.approx(by_autograd([theirs], loss, 6), rel=1e-9)
    assert_equal_networks(training.networks()[0], theirs)


def test_cross_modal_steps_and_temperature_equal_autograds():
    drawn = []

    def seen(rows, rng):
        drawn.append((rows, X[rows], X[rows][:, :2]))
        return drawn[-1][1:]

    ids = np.arange(24) // 2
    training = CrossModalTraining(
        [network(3), network(3, 1, 2)],
        InstanceBatches(24, 10, 1),
        seen,
        temperature=0.1,
        ids=ids,
        optimizer=TINY,
    )
    ours = [training.step(0.01) for _ in range(6)]
    one, other = network(3), network(3, 1, 2)
    t = torch.tensor(-math.log(0.1), dtype=torch.float64, requires_grad=True)

    def loss(step):
        rows, a, b = drawn[step]
        sides = one(torch.from_numpy(a)), other(torch.from_numpy(b))
        return cross_modal(*sides, t, ids=ids[rows]).value

    assert ours == pytest.approx(by_autograd([one, other], loss, 6, [t]), rel=1e-7)
    assert training.temperature == pytest.approx(math.exp(-t.item()), rel=1e-6)
    for found, expected in zip(training.networks(), (one, other), strict=True):
        assert_equal_networks(found, expected)


def test_the_temperature_stays_between_its_bounds():
    for start, step in ((0.0101, 0.5), (1.0, 0.5)):
        training = CrossModalTraining(
            [network(3), network(3, 1)],
            InstanceBatches(24, 10, 1),
            lambda rows, rng: (X[rows], X[rows]),
            temperature=start,
        )
        for _ in range(40):
            training.step(step)
            assert 0.01 - 1e-12 <= training.temperature <= 1.0


def test_a_fixed_temperature_stays():
    training = CrossModalTraining(
        [network(3), network(3, 1)],
        InstanceBatches(24, 10, 1),
        lambda rows, rng: (X[rows], X[rows]),
        learn_temperature=False,
    )
    training.step(0.1)
    assert training.temperature == pytest.approx(0.07)


def test_a_loss_that_is_not_finite_leaves_the_weights_alone():
    training = ContrastiveTraining(
        network(3), InstanceBatches(24, 10, 1), lambda rows, rng: (X[rows] * np.nan,) * 2
    )
    assert math.isnan(training.step(0.01))
    assert_equal_networks(training.networks()[0], network(3))


def test_rows_without_a_direction_are_counted():
    training = ContrastiveTraining(
        Network.from_arrays([(np.zeros((3, 4)), np.zeros(3))]), InstanceBatches(24, 10), views
    )
    assert training.step(0.01) == pytest.approx(math.log(10))
    assert training.n_zero_rows == 20


def test_going_on_with_other_data():
    training = ContrastiveTraining(network(3), InstanceBatches(24, 6), views, max_batch_size=10)
    training.step(0.01)
    training.feed(InstanceBatches(24, 10), views)
    assert math.isfinite(training.step(0.01))
    assert training.n_steps == 2


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda: DenoisingTraining(network(5), InstanceBatches(24, 10), views),
            DataError,
            "network must have 8 outputs. Got 5.",
        ),
        (
            lambda: CrossModalTraining([network(3), network(2)], InstanceBatches(24, 9), views),
            DataError,
            "networks must have outputs of one width. Got 3 and 2.",
        ),
        (
            lambda: ContrastiveTraining(network(3), InstanceBatches(24, 9), views, temperature=0),
            ParameterError,
            "temperature must be a finite number in (0, inf]. Got 0.",
        ),
        (
            lambda: ContrastiveTraining(
                network(3), InstanceBatches(24, 9), views, max_batch_size=8
            ),
            ParameterError,
            "max_batch_size must be an integer of at least 9. Got 8.",
        ),
    ],
)
def test_wrong_calls_get_one_sentence(call, error, sentence):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == sentence
