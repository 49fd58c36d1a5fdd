"""The network that a transfer trains on frozen features, with weights to begin with."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning

from lamina._errors import DataError
from lamina._typing import FloatArray
from lamina.nn import Network
from lamina.stack import Member, StackResult

from ._begun import Preparation
from ._classifier import MLPClassifier
from ._mlp import BaseMLP
from ._parameters import hidden_sizes
from ._prediction import raw_outputs
from ._problem import Problem
from ._regressor import MLPRegressor

GivenLayer: TypeAlias = "tuple[FloatArray, FloatArray, FloatArray | None]"
"""Weights (out, in), biases (out,) and the learnt slopes, if any, of one layer."""

WORSE = 0.1
"""By how many nats a row the error may end above its beginning: small steps wander a little."""


class _Started(BaseMLP):
    """A perceptron whose members begin with given layers instead of drawn ones."""

    _runs_its_course: ClassVar[bool] = True
    _starts: Sequence[Sequence[GivenLayer | None]] | None = None

    @property
    def _is_convex(self) -> bool:
        """Whether training finds the one minimum, wherever it begins."""
        return self.solver == "lbfgs" and not hidden_sizes(self)

    def begin_with(self, starts: Sequence[Sequence[GivenLayer | None]]) -> Self:
        """Set what each member begins with: a layer, or None for a drawn one."""
        self._starts = starts
        return self

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, *, incremental: bool, classes: Any = None
    ) -> Preparation:
        fit = super()._prepare(X, y, sample_weight, incremental=incremental, classes=classes)
        if self.early_stopping and self.solver != "lbfgs":
            # of a few rows held out the score moves by jumps, between which the loss improves
            judged = [replace(member, monitor="valid_loss") for member in fit.plan.members]
            fit = _with(fit, judged)
        starts = self._starts
        if starts is None and self._is_convex and not _has_start(fit):
            nothing = np.zeros((fit.problem.n_raw, X.shape[1])), np.zeros(fit.problem.n_raw), None
            starts = [[nothing]] * len(fit.plan.members)  # so that nothing is left to chance
        if starts is None:
            return fit
        members = [
            replace(member, init=replaced(member.init, given))
            for member, given in zip(fit.plan.members, starts, strict=True)
        ]
        return _with(fit, members)

    def _take(self, result: StackResult, fit: Preparation) -> None:
        super()._take(result, fit)
        if self.solver != "lbfgs":
            warn_if_worse(result, fit)


def warn_if_worse(result: StackResult, fit: Preparation) -> None:
    """Say so where training ended with a much larger error than it began with."""
    for member, network, status in zip(
        fit.plan.members, result.networks, result.status, strict=True
    ):
        if status == "diverged":  # which is told elsewhere
            continue
        before, after = (_mean_error(net, fit.problem) for net in (member.init, network))
        if after > before + WORSE:
            warnings.warn(
                f"Training ended with a mean error of {after:.3g} nats a row, after {before:.3g} "
                f"at its beginning. Lower learning_rate_init, which is {member.learning_rate:g}.",
                ConvergenceWarning,
                stacklevel=12,
            )
            return


def _mean_error(network: Any, problem: Problem) -> float:
    """Return the mean error of the rows that have a weight."""
    rows, head = problem.rows, problem.head
    raw = torch.from_numpy(raw_outputs(network, problem.X[rows])).double()
    with np.errstate(over="ignore", invalid="ignore"):
        errors = head.error(raw, torch.from_numpy(head.targets(problem.y[rows])))
    weight = None if problem.weight is None else problem.weight[rows]
    return float(np.average(errors.numpy(), weights=weight))


def _with(fit: Preparation, members: list[Member]) -> Preparation:
    """Return the preparation with other members."""
    return replace(fit, plan=replace(fit.plan, members=members))


def _has_start(fit: Preparation) -> bool:
    """Return whether the head has a place of its own to begin at."""
    head, y = fit.problem.head, fit.problem.y[fit.problem.rows]
    return head.start(head.targets(y)) is not None


class TopClassifier(_Started, MLPClassifier):
    """The upper part of a classifier."""

    def _problem(
        self, X: Any, y: Any, sample_weight: Any, *, fresh: bool, incremental: bool, classes: Any
    ) -> Problem:
        problem = super()._problem(
            X, y, sample_weight, fresh=fresh, incremental=incremental, classes=classes
        )
        if self.early_stopping and problem.numbers is not None:
            counts = np.bincount(problem.numbers[problem.rows])
            if len(counts) == 2 and counts.min() == 1:
                raise DataError(
                    "y must have at least two rows of each of two classes with "
                    "early_stopping=True, which holds rows of both out. Got one of a class."
                )
        return problem


class TopRegressor(_Started, MLPRegressor):
    """The upper part of a regressor."""


def replaced(network: Any, given: Sequence[GivenLayer | None]) -> Network:
    """Return the network with the given layers in the place of its own."""
    layers, slopes = [], []
    for own, slope, other in zip(network.layers(), network.slopes, given, strict=True):
        layers.append(own if other is None else other[:2])
        slopes.append(slope if other is None or other[2] is None else other[2])
    return Network.from_arrays(
        layers,
        network.activations[:-1] or "identity",
        slopes=[None if slope is None else _array(slope) for slope in slopes],
        dtype=str(network.dtype).removeprefix("torch."),  # type: ignore[arg-type]
    )


def given_layers(network: Network | None) -> list[GivenLayer]:
    """Return the layers of a network, none where there is no network."""
    if network is None:
        return []
    slopes = [None if slope is None else _array(slope) for slope in network.slopes]
    return [(W, b, slope) for (W, b), slope in zip(network.layers(), slopes, strict=True)]


def unscaled(
    layers: Sequence[GivenLayer], centre: FloatArray, scale: FloatArray
) -> list[GivenLayer]:
    """Return layers that take h where the given ones take (h - centre)/scale."""
    (W, b, slope), *rest = layers
    wide = np.asarray(W, dtype=np.float64) / scale
    return [(wide, b - wide @ centre, slope), *rest]


def composed(
    body: Network | None, layers: Sequence[GivenLayer], like: Network, dtype: str
) -> Network:
    """Return the body with layers upon it; ``like`` has the activations of these."""
    before = () if body is None else body.activations
    whole = [*given_layers(body), *layers]
    return Network.from_arrays(
        [(W, b) for W, b, _ in whole],
        [*before, *like.activations[:-1]] or "identity",
        slopes=[slope for _, _, slope in whole],
        dtype=dtype,  # type: ignore[arg-type]
    )


def _array(values: Any) -> FloatArray:
    array: FloatArray = (
        values.detach().cpu().numpy() if getattr(values, "detach", None) else np.asarray(values)
    )
    return array
