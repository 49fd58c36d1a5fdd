"""From an estimator and its problem to the members that the engine trains."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from lamina._errors import ParameterError
from lamina._random import spawn_seeds
from lamina._typing import Array, FloatArray, IntArray
from lamina.nn import Network, SklearnUniform, initialise
from lamina.stack import LBFGS, Member, MemberState, Optimizer

from ._losses import is_squared_error, reported
from ._parameters import hidden_activations, hidden_sizes, optimizer, schedule
from ._problem import Problem
from ._validation_split import hold_out

if TYPE_CHECKING:
    from ._mlp import BaseMLP

Layer: TypeAlias = tuple[FloatArray, FloatArray]
Monitor: TypeAlias = Literal["train_loss", "valid_loss", "valid_score"]

QUIET = 0.1
"""Factor of the first weights into raw outputs whose biases begin at the data's own values."""


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """The members of one call of fit, and where each begins."""

    members: list[Member]
    states: list[MemberState | None]
    n_train: int


def private_random_state(random_state: Any) -> np.random.RandomState:
    """Return scikit-learn's random state, but a new one for None: never NumPy's global one."""
    if random_state is None or random_state is np.random:
        return np.random.RandomState()
    stream: np.random.RandomState = check_random_state(random_state)
    return stream


def make_plan(
    mlp: BaseMLP, problem: Problem, before: Sequence[Network] | None, *, incremental: bool
) -> Plan:
    """Return the members to train, drawing in scikit-learn's order: weights, then the split.

    ``before`` are the networks to go on from; None means to begin anew.
    """
    random_state = private_random_state(mlp.random_state)
    sizes = (problem.X.shape[1], *hidden_sizes(mlp), problem.n_raw)
    first = mlp._first_layers(sizes, random_state) if before is None else None
    train, valid = problem.rows, None
    if mlp.early_stopping and mlp.solver != "lbfgs":
        numbers = None if problem.numbers is None else problem.numbers[train]
        train, valid = hold_out(train, mlp.validation_fraction, random_state, numbers)
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    seeds = [seed, *spawn_seeds(seed, mlp.n_members - 1)] if mlp.n_members > 1 else [seed]

    if first is not None:
        streams = [np.random.RandomState(s % 2**32) for s in seeds[1:]]
        drawn = [first, *(mlp._first_layers(sizes, stream) for stream in streams)]
        last = _start(problem, train)
        starts: Sequence[Network] = [_network(mlp, layers, last) for layers in drawn]
    else:
        assert before is not None
        starts = before
        _check_sizes(starts, sizes, mlp.n_members)
    pattern = make_pattern(mlp, problem, train, valid, incremental=incremental)
    members = [
        dataclasses.replace(pattern, init=start, seed=seed)
        for start, seed in zip(starts, seeds, strict=True)
    ]
    states: list[MemberState | None] = [None] * len(members)
    if before is not None:
        states = _states(mlp, starts, incremental=incremental)
    return Plan(members, states, len(train))


def sklearns_draw(
    mlp: BaseMLP, sizes: Sequence[int], random_state: np.random.RandomState
) -> list[Layer]:
    """Draw weights and biases exactly as scikit-learn does; the output has the last c too."""
    hidden = hidden_activations(mlp)
    rule = [*hidden, hidden[-1]] if hidden else "identity"
    return initialise(sizes, SklearnUniform(), rule, random_state)


def first_network(
    mlp: BaseMLP, problem: Problem, rows: IntArray, random_state: np.random.RandomState
) -> Network:
    """Return a network as it begins when it is trained on some rows."""
    sizes = (problem.X.shape[1], *hidden_sizes(mlp), problem.n_raw)
    return _network(mlp, mlp._first_layers(sizes, random_state), _start(problem, rows))


def _start(problem: Problem, rows: IntArray) -> Array | None:
    """Return the biases at which the head wants to begin; weights count as repeated rows."""
    if problem.weight is not None:
        rows = np.repeat(rows, _repeats(problem.weight[rows]))
    return problem.head.start(problem.head.targets(problem.y[rows]))


def _repeats(weight: FloatArray) -> IntArray:
    """Return how often each row stands for its weight: exactly, if weights are small counts."""
    most = 10 * len(weight)
    counts = np.rint(weight)
    if (counts != weight).any() or counts.sum() > most:
        counts = np.maximum(1, np.rint(weight * (most / weight.sum())))
    return counts.astype(np.int64)


def _network(mlp: BaseMLP, layers: list[Layer], last: Array | None) -> Network:
    """Return the first network; ``last`` are biases of the raw outputs that the head asks for.

    Then the last weights begin small, so that the first distributions are about those.
    """
    if last is not None:
        layers = [*layers[:-1], (QUIET * layers[-1][0], last)]
    return Network.from_arrays(layers, hidden_activations(mlp) or "identity")


def _check_sizes(networks: Sequence[Network], sizes: tuple[int, ...], n_members: int) -> None:
    """Raise if the networks to go on from are of another make."""
    if len(networks) != n_members:
        raise ParameterError(
            f"n_members must stay {len(networks)} to go on from an earlier fit. Got {n_members}. "
            "Set warm_start=False to begin anew."
        )
    for network in networks:
        if network.sizes != sizes:
            raise ParameterError(
                f"hidden_layer_sizes must fit the weights of the earlier fit, whose layers have "
                f"{network.sizes} units. Got {sizes}. Set warm_start=False to begin anew."
            )


def make_pattern(
    mlp: BaseMLP,
    problem: Problem,
    train: IntArray,
    valid: IntArray | None,
    *,
    incremental: bool,
) -> Member:
    """Return what all members share."""
    solver = optimizer(mlp)
    exact = isinstance(solver, LBFGS)
    batch_size = len(train) if exact else _batch_size(mlp, len(train))
    several = is_squared_error(problem.head) and problem.n_raw > 1
    everything = valid is None and len(train) == problem.X.shape[0]
    return Member(
        hidden_layer_sizes=hidden_sizes(mlp),
        activation=hidden_activations(mlp),
        head=reported(problem.head, consistent=exact and several),
        rows=None if everything else train,
        validation_rows=valid,
        sample_weight=problem.weight,
        batch_size=batch_size,
        optimizer=solver,
        learning_rate=float(mlp.learning_rate_init),
        schedule=schedule(mlp),
        weight_decay=float(mlp.weight_decay),
        alpha=_alpha(mlp, problem, len(train), batch_size),
        dropout=float(mlp.dropout),
        input_noise=float(mlp.input_noise),
        clip_norm=None if mlp.clip_norm is None else float(mlp.clip_norm),
        max_epochs=1 if incremental else mlp._epochs(len(train), batch_size),
        patience=None if exact else float(mlp.n_iter_no_change),
        tol=float(mlp.tol),
        monitor=_monitor(problem, valid),
        keep_best=valid is not None,
        shuffle=bool(mlp.shuffle),
    )


def _alpha(mlp: BaseMLP, problem: Problem, n_rows: int, batch_size: int) -> float:
    """Return the engine's α: divided by the weight of the batch, as scikit-learn has it."""
    if problem.alpha is None:
        return float(mlp.alpha)
    return problem.alpha * batch_size / n_rows


def _monitor(problem: Problem, valid: IntArray | None) -> Monitor:
    """Return what decides on stopping and on the best epoch."""
    if valid is None:
        return "train_loss"
    return "valid_loss" if problem.by_likelihood else "valid_score"


def _batch_size(mlp: BaseMLP, n_rows: int) -> int:
    """Return the rows of a step; a warning if a given number is larger than the data."""
    if mlp.batch_size == "auto":
        return min(200, n_rows)
    if mlp.batch_size > n_rows:
        warnings.warn(
            "Got `batch_size` less than 1 or larger than sample size. It is going to be clipped",
            UserWarning,
            stacklevel=8,
        )
    return min(int(mlp.batch_size), n_rows)


def _states(
    mlp: BaseMLP, starts: Sequence[Network], *, incremental: bool
) -> list[MemberState | None]:
    """Return where the members stand: with partial_fit all of it, else the samples seen.

    The weights are those of ``starts``, which a user may have changed since.
    """
    last: LastTraining | None = getattr(mlp, "_optimizer", None)
    if last is None or last.optimizer != optimizer(mlp) or len(last.states) != len(starts):
        return [None] * len(starts)
    return [
        _continued(state, start) if incremental else _restarted(state, start)
        for state, start in zip(last.states, starts, strict=True)
    ]


def _continued(state: MemberState, start: Network) -> MemberState:
    return dataclasses.replace(state, parameters=_parameters(start), unfinished=None)


def _restarted(state: MemberState, start: Network) -> MemberState:
    """Return the state of a new fit that keeps only the number of samples seen."""
    zeros = [[np.zeros_like(array) for array in moment] for moment in state.moments]
    return MemberState(_parameters(start), zeros, epoch=0, step=0, seen=state.seen, lr_scale=1.0)


def _parameters(network: Network) -> list[Any]:
    """Return weights, biases and slopes in the order of the engine's states."""
    layers = network.layers()
    slopes = [s.detach().cpu().numpy() for s in network.slopes if s is not None]
    return [w for w, _ in layers] + [b for _, b in layers] + slopes


@dataclasses.dataclass(frozen=True, eq=False)
class LastTraining:
    """What the last training left behind, for partial_fit.

    Attributes
    ----------
    learning_rate : float
        Learning rate of the next epoch.
    optimizer : Optimizer
        Settings under which the states were made.
    states : list of MemberState
        Moments and counters of the members.
    """

    learning_rate: float
    optimizer: Optimizer
    states: list[MemberState]
