"""Schedules: against torch's and scikit-learn's own, and the steps that they really make."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch
from sklearn.neural_network._stochastic_optimizers import SGDOptimizer

from lamina._errors import ParameterError
from lamina.heads import Custom
from lamina.stack import (
    SCHEDULES,
    SGD,
    Adaptive,
    Constant,
    Cosine,
    InverseScaling,
    Member,
    OneCycle,
    Schedule,
    get_schedule,
    train,
)

each_backend = pytest.mark.usefixtures("backend")

N_STEPS, N_EPOCHS = 7, 9
TOTAL = N_STEPS * N_EPOCHS

CASES = [
    ("constant", Constant()),
    ("invscaling", InverseScaling()),
    ("invscaling", InverseScaling(0.0)),
    ("invscaling", InverseScaling(1.7)),
    ("adaptive", Adaptive()),
    ("cosine", Cosine()),
    ("cosine", Cosine(warmup=0.25, final=0.1)),
    ("cosine", Cosine(warmup=0.001)),
    ("cosine", Cosine(warmup=0.99)),
    ("one_cycle", OneCycle()),
    ("one_cycle", OneCycle(warmup=0.7, start=0.5, final=0.0)),
    ("one_cycle", OneCycle(warmup=0.5, start=0.0, final=1.0)),
]


def factors(schedule, n_rows=70):
    """Return the factors of all steps of a training."""
    return np.concatenate(
        [schedule.factors(e, N_STEPS, N_EPOCHS, e * n_rows) for e in range(N_EPOCHS)]
    )


def torch_factors(make, n=TOTAL):
    """Return the learning rates that a scheduler of torch sets, for a rate of 1."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = make(optimizer)
    rates = []
    for _ in range(n):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return np.array(rates)


@pytest.mark.parametrize("final", [0.0, 0.3])
def test_cosine_equals_that_of_torch(final):
    ours = factors(Cosine(final=final))
    theirs = torch_factors(
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, TOTAL, eta_min=final)
    )
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)


@pytest.mark.parametrize("warmup", [0.001, 0.1, 0.25, 0.5, 0.99])
def test_cosine_with_warmup_equals_its_formula(warmup):
    rise, final = warmup * TOTAL, 0.2
    expected = []
    for t in range(TOTAL):
        if t < rise:
            expected.append(min((t + 1) / max(rise, 1), 1.0))
        else:
            turn = math.pi * (t - rise) / (TOTAL - rise)
            expected.append(final + (1 - final) * 0.5 * (1 + math.cos(turn)))
    ours = factors(Cosine(warmup, final))
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("warmup", "start", "final"), [(0.3, 0.04, 1e-4), (0.6, 0.5, 0.1)])
def test_one_cycle_equals_that_of_torch(warmup, start, final):
    # Torch counts from 0 to total_steps - 1 and ends its rise at pct_start·total_steps - 1.
    ours = factors(OneCycle(warmup, start, final))
    theirs = torch_factors(
        lambda o: torch.optim.lr_scheduler.OneCycleLR(
            o,
            max_lr=1.0,
            total_steps=TOTAL + 1,
            pct_start=(warmup * TOTAL + 1) / (TOTAL + 1),
            div_factor=1 / start,
            final_div_factor=start / final,
            cycle_momentum=False,
        )
    )
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.3])
def test_inverse_scaling_equals_that_of_scikit_learn(power):
    n_rows = 70
    theirs = SGDOptimizer([], learning_rate_init=0.3, lr_schedule="invscaling", power_t=power)
    expected = []
    for epoch in range(N_EPOCHS):
        expected += [theirs.learning_rate] * N_STEPS
        theirs.iteration_ends((epoch + 1) * n_rows)
    np.testing.assert_allclose(0.3 * factors(InverseScaling(power)), expected, rtol=1e-14)


@pytest.mark.parametrize("schedule", [Constant(), Adaptive()])
def test_schedules_that_keep_the_rate(schedule):
    np.testing.assert_array_equal(factors(schedule), np.ones(TOTAL))


@pytest.mark.parametrize(("name", "schedule"), CASES)
def test_factors_are_between_zero_and_one(name, schedule):
    assert SCHEDULES[name] is type(schedule)
    values = factors(schedule)
    assert values.shape == (TOTAL,)
    assert ((values >= 0) & (values <= 1)).all()


@pytest.mark.parametrize(("name", "schedule"), CASES)
def test_more_epochs_than_planned_do_no_harm(name, schedule):
    for epoch in (N_EPOCHS, 3 * N_EPOCHS):
        values = schedule.factors(epoch, N_STEPS, epoch + 1, 70 * epoch)
        assert ((values >= 0) & (values <= 1)).all()


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(("name", "schedule"), CASES)
def test_every_step_moves_by_its_factor(name, schedule, together):
    # The loss is the raw output itself, so that the bias moves by minus the rate in each step.
    rate, n_rows = 0.25, 68
    head = Custom(lambda raw, y: raw[..., 0])
    member = Member(
        (),
        head=head,
        optimizer=SGD(0.0, False),
        schedule=schedule,
        learning_rate=rate,
        batch_size=10,
        max_epochs=N_EPOCHS,
    )
    X, y = np.zeros((n_rows, 1)), np.zeros(n_rows)
    other = Member(**{**vars(member), "schedule": "cosine", "learning_rate": 1e-3})
    result = train([member, other] if together else [member], X, y, dtype="float64")
    planned = rate * factors(schedule, n_rows)
    ((_, b),) = result.networks[0].layers()
    assert -b[0] == pytest.approx(planned.sum(), rel=1e-13)
    mine = result.history[result.history["member"] == 0]
    np.testing.assert_allclose(mine["learning_rate"], planned[N_STEPS - 1 :: N_STEPS], rtol=1e-14)


def test_names_give_the_defaults():
    assert {name: get_schedule(name) for name in SCHEDULES} == {
        "constant": Constant(),
        "invscaling": InverseScaling(0.5),
        "adaptive": Adaptive(5.0, 1e-6),
        "cosine": Cosine(0.0, 0.0),
        "one_cycle": OneCycle(0.3, 0.04, 1e-4),
    }
    assert {name for name, _ in CASES} == set(SCHEDULES)
    assert get_schedule(None) == Constant()
    rule = Cosine(0.1)
    assert get_schedule(rule) is rule


@each_backend
def test_a_schedule_of_ones_own():
    class Alternating(Schedule):
        def factors(self, epoch, n_steps, max_epochs, n_seen):
            return np.full(n_steps, [1.0, 0.5][epoch % 2])

    member = Member((), schedule=Alternating(), learning_rate=0.1, max_epochs=4)
    history = train([member], np.ones((5, 1)), np.ones(5)).history
    assert history["learning_rate"].tolist() == [0.1, 0.05, 0.1, 0.05]


def test_a_schedule_must_say_its_factors():
    with pytest.raises(NotImplementedError, match=r"^Schedule must define factors\(\)\.$"):
        Schedule().factors(0, 1, 1, 0)


NAMES = "'adaptive', 'constant', 'cosine', 'invscaling', 'one_cycle'"
UNIT, BELOW_ONE = "must be a finite number in [0, 1]", "must be a finite number in [0, 1)"
WRONG = [
    (
        lambda: get_schedule("cosin"),
        f"schedule must be one of {NAMES}. Got 'cosin'. Did you mean 'cosine'?",
    ),
    (
        lambda: get_schedule(1),
        "schedule must be None, a name or a Schedule such as Cosine(). Got 1.",
    ),
    (
        lambda: InverseScaling(-0.5),
        "InverseScaling power must be a finite number in [0, inf]. Got -0.5.",
    ),
    (lambda: Adaptive(1.0), "Adaptive divisor must be a finite number in (1, inf]. Got 1.0."),
    (
        lambda: Adaptive(minimum=-1e-9),
        "Adaptive minimum must be a finite number in [0, inf]. Got -1e-09.",
    ),
    (lambda: Cosine(1.0), f"Cosine warmup {BELOW_ONE}. Got 1.0."),
    (lambda: Cosine(final=1.1), f"Cosine final {UNIT}. Got 1.1."),
    (lambda: OneCycle(0.0), "OneCycle warmup must be a finite number in (0, 1). Got 0.0."),
    (lambda: OneCycle(start=2), f"OneCycle start {UNIT}. Got 2."),
    (lambda: OneCycle(final=-1), f"OneCycle final {UNIT}. Got -1."),
]


@pytest.mark.parametrize(("make", "sentence"), WRONG)
def test_wrong_settings(make, sentence):
    with pytest.raises(ParameterError, match=f"^{re.escape(sentence)}$"):
        make()
