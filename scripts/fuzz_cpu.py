"""Feed the `cpu` backend random legal members, and compare it with `torch`.

Each case is a function of its number: ``--case 123`` runs one again. A case is either calm, and
its weights are those of torch to rounding, or wild (huge numbers, huge rates), and ends in
finite weights. Where roundings grow, as they do at the kink of a ReLU, torch is run again with
inputs and first weights that differ in their last place, and the backends may differ as much as
these runs do.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from lamina._errors import DivergedWarning
from lamina._typing import DTYPES, DtypeName
from lamina.estimators._losses import HalfDeviance, HalfMeanSquare
from lamina.heads import Bernoulli, Categorical, Mixture, Normal, Poisson
from lamina.nn import ACTIVATIONS, ELU, INITIALISATIONS, LeakyReLU, PReLU, Sigmoid, SiLU
from lamina.stack import (
    SCHEDULES,
    SGD,
    Adam,
    AdamW,
    Member,
    Muon,
    RMSprop,
    StackResult,
    engine_info,
    train,
)

OPTIMIZERS = [
    *(SGD(), SGD(0.0, False), SGD(1.0, False), Adam(), Adam(0.0, 0.0, 1e-2), AdamW(0.5, 0.9)),
    *(RMSprop(), RMSprop(0.9, 0.8, 1e-3), Muon(), Muon(0.5, False, 2, 1.0)),
]
KINDS = [
    *(kind() for kind in ACTIVATIONS.values()),
    *(Sigmoid(0.3), LeakyReLU(-0.7), PReLU(-0.3), SiLU(3.0), ELU(0.4)),
]
# Optimisers that divide by the gradient's size enlarge its roundings, and torch rounds the
# logarithm of a probability near 1 before it takes the difference from 1.
TOLERANCE = {"float64": 1e-10, "float32": 5e-4}
WIDTHS = [1, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 100, 129, 260]


@dataclasses.dataclass
class Case:
    """One call of train, and what to expect of it."""

    members: list[Member]
    X: np.ndarray
    y: np.ndarray
    dtype: DtypeName
    n_threads: int
    instruction_set: str
    wild: bool


def densities(rng: np.random.Generator) -> list[Any]:
    """Return normal heads of learnt scales."""
    floor = float(rng.choice([0.0, 1e-3, 0.3]))
    scales = str(rng.choice(["shared", "per_row"]))
    covariance = str(rng.choice(["spherical", "diag"]))
    mixture = Mixture(int(rng.choice([1, 2, 3, 9])), covariance, min_scale=floor)  # type: ignore[arg-type]
    return [Normal(scales, min_scale=floor), mixture]  # type: ignore[arg-type]


def problem(rng: np.random.Generator, wild: bool) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Return inputs, a target, and heads that fit it."""
    n, d = int(rng.choice([1, 2, 3, 10, 33, 64, 100, 200])), int(rng.choice(WIDTHS))
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    q = int(rng.choice([1, 1, 2, 3, 8, 17, 33]))
    n_classes = int(rng.choice([2, 3, 8, 17, 40]))
    smooth = float(rng.choice([0.1, 0.5]))
    y, heads = [
        (rng.standard_normal((n, q)), [Normal(), HalfMeanSquare()]),
        (rng.standard_normal((n, q)), densities(rng)),
        (np.floor(np.exp(rng.normal(size=(n, q)))), [Poisson(), HalfDeviance(), Normal()]),
        (rng.integers(0, 2, (n, q)).astype(float), [Bernoulli(), Normal()]),
        (
            rng.integers(0, n_classes, n),
            [Categorical(n_classes), Categorical(n_classes, label_smoothing=smooth)],
        ),
    ][rng.integers(5)]
    if wild:
        X *= 10 ** rng.uniform(-30, 30)
    return X, y, heads


def settings_of(
    rng: np.random.Generator, n: int, heads: Sequence[Any], wild: bool
) -> dict[str, Any]:
    """Return random settings of a member."""
    depth = int(rng.choice([0, 1, 1, 2, 2, 3, 5]))
    rows = [None, None, rng.permutation(n)[: rng.integers(1, n + 1)], rng.integers(0, n, n + 3)]
    weight = [None, None, rng.uniform(0.1, 2, n), rng.integers(0, 3, n) + (np.arange(n) == 0.0)]
    held_out = [None, None, rng.integers(0, n, rng.integers(1, 2 * n + 1))]
    settings = {
        "hidden_layer_sizes": [int(rng.choice(WIDTHS)) for _ in range(depth)],
        "activation": [KINDS[rng.integers(len(KINDS))] for _ in range(depth)],
        "head": heads[rng.integers(len(heads))],
        "init": str(rng.choice([*INITIALISATIONS])),
        "seed": int(rng.integers(-(2**40), 2**60)),
        "rows": rows[rng.integers(4)],
        "sample_weight": weight[rng.integers(4)],
        "validation_rows": held_out[rng.integers(3)],
        "batch_size": int(rng.choice([1, 2, 3, 7, 8, 16, 33, 64, 500])),
        "optimizer": OPTIMIZERS[rng.integers(len(OPTIMIZERS))],
        "learning_rate": float(10 ** rng.uniform(-5, -2)),
        "schedule": str(rng.choice([*SCHEDULES])),
        "weight_decay": float(rng.choice([0, 0, 0.01, 0.3])),
        "alpha": float(rng.choice([0, 0, 0.1, 2.0])),
        "dropout": float(rng.choice([0, 0, 0.2, 0.6, 0.99])),
        "input_noise": float(rng.choice([0, 0, 0.3])),
        "clip_norm": [None, None, 0.1, 5.0][rng.integers(4)],
        "shuffle": bool(rng.integers(4)),
        "keep_best": [True, False, "auto"][rng.integers(3)],
        "patience": [None, None, 0, 2][rng.integers(4)],
        "max_epochs": int(rng.integers(0, 5)),
    }
    if wild:
        settings["learning_rate"] = float(10 ** rng.uniform(-30, 30))
        settings["alpha"] *= float(10 ** rng.uniform(-20, 20))
        if settings["sample_weight"] is not None:
            settings["sample_weight"] = settings["sample_weight"] * 10 ** rng.uniform(-30, 30)
    return usable(settings, n)


def usable(settings: dict[str, Any], n: int) -> dict[str, Any]:
    """Return the settings without weights that leave nothing to train or to measure on."""
    weight = settings["sample_weight"]
    if weight is not None:
        for name in ("rows", "validation_rows"):
            rows = settings[name] if settings[name] is not None else np.arange(n)
            if not (weight[rows] > 0).any():
                settings["sample_weight"] = None
    return settings


def make_case(number: int) -> Case:
    """Return the case of a number."""
    rng = np.random.default_rng([number, 20])
    wild = bool(rng.random() < 0.2)
    X, y, heads = problem(rng, wild)
    members = [Member(**settings_of(rng, len(X), heads, wild)) for _ in range(rng.integers(1, 6))]
    return Case(
        members,
        X,
        y,
        DTYPES[rng.integers(2)],
        int(rng.choice([1, 2, 3])),
        str(rng.choice(engine_info().instruction_sets)),
        wild,
    )


def run(case: Case, backend: Any, shake: np.random.Generator | None = None) -> StackResult:
    """Train the members of a case, perhaps from a beginning that differs in the last place."""
    X, states = case.X, None
    if shake is not None:
        unit = float(np.finfo(case.dtype).eps)
        X = X * (1 + unit * shake.uniform(-1, 1, X.shape))
        members = [dataclasses.replace(member, max_epochs=0) for member in case.members]
        states = train(members, X, case.y, backend="torch", dtype=case.dtype).states
        for array in (array for state in states for array in state.parameters):
            array += unit * shake.uniform(-1, 1, array.shape)  # zeros too
    torch.set_num_threads(case.n_threads)
    os.environ["LAMINA_INSTRUCTION_SET"] = case.instruction_set
    with warnings.catch_warnings(action="ignore", category=DivergedWarning):
        return train(case.members, X, case.y, backend=backend, dtype=case.dtype, states=states)


def numbers(result: StackResult, k: int) -> list[np.ndarray]:
    """Return a member's parameters, moments (unless they overflowed) and history."""
    state, mine = result.states[k], result.columns["member"] == k
    history = [result.columns[name][mine] for name in ("train_loss", "valid_loss")]
    moments = [] if result.status[k] == "diverged" else state.moments
    return [*state.parameters, *(a for moment in moments for a in moment), *history]


def distance(one: StackResult, two: StackResult, k: int) -> float:
    """Return the largest difference of two results of a member, relative to the numbers' size."""
    worst = 0.0
    for a, b in zip(numbers(one, k), numbers(two, k), strict=True):
        if a.shape != b.shape:
            return np.inf
        scale = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0.0)))
        with np.errstate(invalid="ignore"):
            difference = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        worst = max(worst, float(difference.max(initial=0.0)) / scale)
    return worst


def calm(result: StackResult, k: int) -> bool:
    """Return whether a member's gradients are small enough for a comparison.

    Roundings of huge ones are as large as others that decide where a weight goes.
    """
    losses = result.columns["train_loss"][result.columns["member"] == k]
    return bool((np.abs(losses) < 1e4).all())


def complaint(case: Case) -> str:
    """Return what is wrong with a case, or nothing."""
    ours = run(case, "cpu")
    if set(ours.backend) != {"cpu"}:
        return f"the backends are {ours.backend}"
    for k, network in enumerate(ours.networks):
        if not all(bool(p.isfinite().all()) for p in network.parameters()):
            return f"member {k} has weights that are not finite"
    theirs = run(case, "torch")
    if case.wild:
        return ""
    far = [
        k
        for k in range(len(case.members))
        if calm(theirs, k) and distance(ours, theirs, k) > TOLERANCE[case.dtype]
    ]
    if far:
        rng = np.random.default_rng(0)
        shaken = [run(case, "torch", rng) for _ in range(8)]
        for k in far:
            own = max(distance(other, theirs, k) for other in shaken)
            found = distance(ours, theirs, k)
            if not (found <= 30 * own or own > 0.01):  # beyond that all is chance
                return (
                    f"member {k} is {found:.1e} away from torch, which is {own:.1e} from itself: "
                    f"{' '.join(repr(case.members[k]).split())}"
                )
    return ""


def main() -> int:
    """Run cases until the time is up; return 1 if one is wrong."""
    parser = argparse.ArgumentParser(description="Compare the cpu backend with torch.")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--first", type=int, default=None, help="number of the first case")
    parser.add_argument("--case", type=int, default=None, help="run this one only")
    given = parser.parse_args()
    if engine_info().backend != "cpu":
        print(f"The compiled part of lamina is missing: {engine_info().missing}", file=sys.stderr)
        return 1
    first = given.case if given.case is not None else given.first
    number = first if first is not None else int(time.time()) * 1000
    end, wrong, done = time.monotonic() + given.seconds, 0, 0
    while time.monotonic() < end and (given.case is None or done == 0):
        case = make_case(number)
        what = complaint(case)
        if what:
            wrong += 1
            print(f"case {number} ({case.dtype}, {case.instruction_set}): {what}", flush=True)
        number, done = number + 1, done + 1
    print(f"{done} cases from {number - done}, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
