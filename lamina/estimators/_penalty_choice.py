"""How strongly to penalise weights, found on held-out rows before the real training."""

from __future__ import annotations

import dataclasses
import warnings
from typing import TYPE_CHECKING

import numpy as np
import torch

from lamina._errors import DivergedWarning
from lamina._typing import FloatArray, IntArray
from lamina.nn import Network
from lamina.stack import train

from ._members import first_network, make_pattern, private_random_state
from ._prediction import raw_outputs
from ._problem import Problem

if TYPE_CHECKING:
    from ._mlp import BaseMLP

CANDIDATES = (1.0, 3.0, 10.0, 30.0, 100.0)
"""Precisions of the weights' prior that are tried."""

FOLDS, ROWS = 5, 1000
"""Rows are held out in so many parts; parts are left out so that about so many rows train."""

FEWEST = 10
"""With fewer rows nothing is held out, and the fourth candidate is taken."""


def choose_alpha(mlp: BaseMLP, problem: Problem) -> float:
    """Return the candidate with the smallest error on rows that it was not trained on.

    All candidates and folds are trained as one stack in single precision, each as the estimator
    itself is, from the same first weights.

    Parameters
    ----------
    mlp : BaseMLP
        The estimator, for all other parameters.
    problem : Problem
        Its checked data.
    """
    rows = problem.rows
    if len(rows) < FEWEST:
        return CANDIDATES[3]
    random_state = private_random_state(mlp.random_state)
    order = random_state.permutation(rows)
    held_out = np.array_split(order, FOLDS)[: min(FOLDS, max(1, round(ROWS / len(rows))))]
    folds = [(np.setdiff1d(rows, part), np.sort(part)) for part in held_out]
    members = []
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    for kept, _ in folds:
        init = first_network(mlp, problem, kept, np.random.RandomState(seed))
        for alpha in CANDIDATES:
            candidate = dataclasses.replace(problem, alpha=alpha)
            pattern = make_pattern(mlp, candidate, kept, None, incremental=False)
            members.append(dataclasses.replace(pattern, init=init, seed=seed))
    with warnings.catch_warnings(action="ignore", category=DivergedWarning):
        result = train(members, problem.X, problem.y, device=mlp.device, dtype="float32")
    errors = np.zeros(len(CANDIDATES))
    for i, network in enumerate(result.networks):
        fold, candidate_number = divmod(i, len(CANDIDATES))
        bad = result.status[i] == "diverged"
        errors[candidate_number] += np.inf if bad else _error(network, problem, folds[fold][1])
    return CANDIDATES[int(np.argmin(errors))]


def _error(network: Network, problem: Problem, rows: IntArray) -> float:
    """Return the summed error of some rows."""
    raw = torch.from_numpy(raw_outputs(network, problem.X[rows])).double()
    errors: FloatArray = problem.head.error(raw, torch.from_numpy(problem.y[rows])).numpy()
    return float(errors.sum() if problem.weight is None else errors @ problem.weight[rows])
