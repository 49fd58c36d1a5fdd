"""From what the engine gives back to scikit-learn's fitted attributes and warnings."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lamina._errors import DivergedError, DivergedWarning
from lamina._typing import FloatArray
from lamina.nn import Network
from lamina.stack import Adaptive, EpochReport, InverseScaling, MemberState, StackResult

from ._losses import is_squared_error
from ._members import LastTraining, Plan
from ._parameters import optimizer, schedule
from ._problem import Problem
from ._progress import print_stop

if TYPE_CHECKING:
    from ._mlp import BaseMLP

History = dict[str, list[float]]
Listener = Callable[[EpochReport], bool | None]


def in_units_of_y(result: StackResult, problem: Problem) -> StackResult:
    """Return the result with losses of y itself, and scores that are what was monitored."""
    columns = dict(result.columns)
    if problem.loss_shift:
        for name in ("train_loss", "valid_loss"):
            columns[name] = columns[name] + problem.loss_shift
    if problem.by_likelihood:
        columns["valid_score"] = -columns["valid_loss"]
    return dataclasses.replace(result, columns=columns)


def told_in_units_of_y(listener: Listener, problem: Problem) -> Listener:
    """Return a callback of the engine that passes reports on in the same units."""

    def told(report: EpochReport) -> bool | None:
        valid_loss = report.valid_loss + problem.loss_shift
        same = dataclasses.replace(
            report,
            train_loss=report.train_loss + problem.loss_shift,
            valid_loss=valid_loss,
            valid_score=-valid_loss if problem.by_likelihood else report.valid_score,
        )
        return listener(same)

    return told


def survivors(mlp: BaseMLP, result: StackResult) -> list[int]:
    """Return the members whose networks can be used; raise if there are none.

    With early stopping a member that diverged still has the weights of its best epoch.
    """
    diverged = [i for i, status in enumerate(result.status) if status == "diverged"]
    if not diverged:
        return list(range(len(result.status)))
    saved = {i for i in diverged if mlp.early_stopping and result.best_epoch[i] > 0}
    kept = [i for i in range(len(result.status)) if i not in diverged or i in saved]
    epoch = max(result.n_epochs[i] for i in diverged)
    if not kept:
        raise DivergedError(
            "Solver produced non-finite parameter weights. The input data may contain large "
            f"values and need to be preprocessed. Loss or weights stopped being finite in epoch "
            f"{epoch}: scale X and y, lower learning_rate_init, or set clip_norm."
        )
    if saved:
        warnings.warn(
            f"Stochastic Optimizer: loss or weights stopped being finite in epoch {epoch}; the "
            "weights of the best epoch are kept. Scale X and y, lower learning_rate_init, or set "
            "clip_norm.",
            ConvergenceWarning,
            stacklevel=6,
        )
    if lost := [i for i in diverged if i not in saved]:
        warnings.warn(
            f"{len(lost)} of {len(result.status)} members diverged and are left out of the "
            f"ensemble: {', '.join(map(str, lost))}. Scale X and y, lower learning_rate_init, or "
            "set clip_norm.",
            DivergedWarning,
            stacklevel=6,
        )
    return kept


def warn_about_end(mlp: BaseMLP, result: StackResult, *, incremental: bool) -> None:
    """Say what a user should know about how training ended."""
    if result.interrupted:
        warnings.warn("Training interrupted by user.", UserWarning, stacklevel=6)
        return
    if mlp.solver == "lbfgs":
        _warn_about_lbfgs(mlp, result)
    elif "epochs" in result.status and not incremental and not mlp._runs_its_course:
        warnings.warn(
            f"Stochastic Optimizer: Maximum iterations ({mlp.max_iter}) reached and the "
            "optimization hasn't converged yet.",
            ConvergenceWarning,
            stacklevel=6,
        )
    elif mlp.verbose and "converged" in result.status:
        print_stop(mlp)


def _warn_about_lbfgs(mlp: BaseMLP, result: StackResult) -> None:
    for status, n_epochs, message in zip(
        result.status, result.n_epochs, result.messages, strict=True
    ):
        if status == "converged" or "StopIteration" in message:
            continue
        n_iter = min(n_epochs, int(mlp.max_iter))
        more = (
            f"\nIncrease the number of iterations to improve the convergence "
            f"(max_iter={mlp.max_iter})."
            if n_iter == mlp.max_iter
            else ""
        )
        warnings.warn(
            f"lbfgs failed to converge after {n_iter} iteration(s) "
            f"(status={1 if status == 'epochs' else 2}):\n{message}\n{more}"
            "\nYou might also want to scale the data as shown in:\n"
            "    https://scikit-learn.org/stable/modules/preprocessing.html",
            ConvergenceWarning,
            stacklevel=7,
        )


def fitted_attributes(
    mlp: BaseMLP,
    result: StackResult,
    plan: Plan,
    problem: Problem,
    kept: Sequence[int],
    *,
    fresh: bool,
    incremental: bool,
) -> dict[str, Any]:
    """Return the attributes that describe the training, in scikit-learn's words and units."""
    curves = _mean_curves(result, kept)
    n_iter = max(result.n_epochs)
    t = (0 if fresh else getattr(mlp, "t_", 0)) + n_iter * plan.n_train
    attributes: dict[str, Any] = {
        "n_iter_": n_iter,
        "t_": t,
        "loss_": _last_loss(mlp, result, problem, curves["train_loss"]),
        "_history": _history(mlp, result, fresh=fresh),
    }
    if mlp.solver == "lbfgs":
        return attributes | {"_optimizer": _last_training(mlp, result, t)}

    earlier: list[float] = [] if fresh else list(getattr(mlp, "loss_curve_", []))
    attributes["loss_curve_"] = earlier + curves["train_loss"]
    if mlp.early_stopping:
        before = [] if fresh else list(getattr(mlp, "validation_scores_", None) or [])
        scores = curves["valid_score"]
        attributes["validation_scores_"] = before + scores
        attributes["best_validation_score_"] = _largest(scores)
        attributes["best_loss_"] = None
        values = [-score for score in scores]
    else:
        values = curves["train_loss"]
        attributes["validation_scores_"] = attributes["best_validation_score_"] = None
        attributes["best_loss_"] = min(attributes["loss_curve_"], default=math.inf)

    best, idle = math.inf, 0
    if incremental and not fresh:
        best, idle = min(earlier, default=math.inf), getattr(mlp, "_no_improvement_count", 0)
    adaptive = isinstance(schedule(mlp), Adaptive)
    idle = idle_epochs(mlp, values, best, idle, adaptive=adaptive)
    last = _last_training(mlp, result, t)
    if incremental and adaptive and idle > mlp.n_iter_no_change and last.learning_rate > 1e-6:
        last, idle = _slower(last), 0
    return attributes | {"_no_improvement_count": idle, "_optimizer": last}


def idle_epochs(
    mlp: BaseMLP, values: Sequence[float], best: float, idle: int, *, adaptive: bool
) -> int:
    """Return for how many epochs in a row the values, smaller being better, have not improved."""
    for value in values:
        if adaptive and idle > mlp.n_iter_no_change:
            idle = 0
        idle = idle + 1 if value > best - mlp.tol else 0
        best = min(best, value)
    return idle


def _mean_curves(result: StackResult, kept: Sequence[int]) -> dict[str, list[float]]:
    """Return loss and score by epoch, a mean over the kept members that ran in it."""
    used = np.isin(result.columns["member"], kept)
    _, place = np.unique(result.columns["epoch"][used], return_inverse=True)
    counts = np.bincount(place)
    return {
        name: (np.bincount(place, weights=result.columns[name][used]) / counts).tolist()
        for name in ("train_loss", "valid_score")
    }


def _last_loss(
    mlp: BaseMLP, result: StackResult, problem: Problem, losses: Sequence[float]
) -> float:
    """Return the last loss; L-BFGS with several targets has it in nats, which are converted."""
    if not losses:
        return math.nan
    if mlp.solver != "lbfgs" or not is_squared_error(problem.head) or problem.n_raw == 1:
        return losses[-1]
    weight = len(problem.y) if problem.weight is None else float(problem.weight.sum())
    norms = [sum(float((w**2).sum()) for w, _ in net.layers()) for net in result.networks]
    penalty = 0.5 * (float(mlp.alpha) / weight + mlp.weight_decay) * float(np.mean(norms))
    return (losses[-1] - penalty) / problem.n_raw - 0.5 * math.log(2 * math.pi) + penalty


def _largest(scores: Sequence[float]) -> float:
    """Return the best score, passing over those that are NaN."""
    finite = [score for score in scores if not math.isnan(score)]
    return max(finite, default=-math.inf)


def _history(mlp: BaseMLP, result: StackResult, *, fresh: bool) -> History:
    """Return the columns of the history, earlier calls first; epochs count on."""
    before: History = {} if fresh else getattr(mlp, "_history", {})
    columns = {name: values.tolist() for name, values in result.columns.items()}
    if not before:
        return columns
    done = max(before["epoch"], default=0)
    if min(columns["epoch"], default=done + 1) <= done:
        columns["epoch"] = [epoch + done for epoch in columns["epoch"]]
    for name, values in columns.items():
        before[name].extend(values)  # in place: partial_fit may be called very often
    return before


def _last_training(mlp: BaseMLP, result: StackResult, t: int) -> LastTraining:
    """Return what partial_fit goes on from, with the learning rate of the next epoch."""
    rate = float(mlp.learning_rate_init)
    plan = schedule(mlp)
    if isinstance(plan, InverseScaling):
        rate = rate / (t + 1) ** mlp.power_t
    elif isinstance(plan, Adaptive):
        rate *= max(state.lr_scale for state in result.states)
    elif len(result.columns["learning_rate"]):
        rate = float(result.columns["learning_rate"][-1])
    return LastTraining(rate, optimizer(mlp), result.states)


def _slower(last: LastTraining, divisor: float = 5.0) -> LastTraining:
    """Return the state with the learning rate that the adaptive schedule goes on with."""
    states: list[MemberState] = [
        dataclasses.replace(state, lr_scale=state.lr_scale / divisor) for state in last.states
    ]
    return dataclasses.replace(last, learning_rate=last.learning_rate / divisor, states=states)


def fitted_weights(
    networks: Sequence[Network], dtype: np.dtype[Any] | None, *, alone: bool
) -> dict[str, Any]:
    """Return the attributes that hold the weights: arrays (in, out) of one, or all networks."""
    if not alone:
        return {"_networks": list(networks)}
    (network,) = networks

    def array(values: FloatArray) -> FloatArray:
        return np.ascontiguousarray(values, dtype=dtype)

    return {
        "_networks": None,
        "coefs_": [array(w.T) for w, _ in network.layers()],
        "intercepts_": [array(b) for _, b in network.layers()],
        "_slopes": [None if s is None else s.detach().cpu().numpy() for s in network.slopes],
    }
