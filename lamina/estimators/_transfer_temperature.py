"""How sure a transfer may be: rows that cross-validation holds out tell."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from scipy.optimize import minimize_scalar
from sklearn.utils import _safe_indexing
from torch import Tensor

from lamina._errors import DataError
from lamina._typing import FloatArray, IntArray
from lamina.heads import Head

from ._classification import head_targets
from ._transfer_fit import Fitting
from ._transfer_inputs import Data
from ._trunk import Trunk
from ._trunk_inputs import prepared

N_FOLDS = 5
ENOUGH = 1000
"""Rows that are held out at most, a fold more or less: one number needs no more."""
HOTTEST = 10.0
PRIOR = 1.0
"""Standard deviation, in ln T, of what is believed beforehand: it decides where rows are few."""


@dataclass(frozen=True, eq=False)
class Told:
    """What trainings without them say of rows: raw outputs of each network, targets, weights."""

    head: Head
    raws: list[Tensor]
    y: Tensor
    weight: FloatArray | None

    def loss(self, log_temperature: float) -> float:
        """Return the sum of −ln of the mean probability of the right answers."""
        errors = [self.head.error(raw * math.exp(-log_temperature), self.y) for raw in self.raws]
        log_mean = torch.logsumexp(-torch.stack(errors), dim=0) - math.log(len(errors))
        loss = -log_mean.double().numpy()
        return float(loss.sum() if self.weight is None else loss @ self.weight)


def cross_validated_temperature(transfer: Any, trunk: Trunk | None, data: Data) -> float:
    r"""Return what logits must be divided by for rows that were not trained on.

    .. math:: \ln T = \arg\min_{t \ge 0} \sum_{n} -\ln p_{-n}(y_n \mid x_n, e^t) + \frac{t^2}{2},

    where :math:`p_{-n}` was trained without the fold of row n. Answers are never made surer than
    they are: few rows that happen to be right prove nothing. Where each class has one row, or
    folds are too small to train on, T is 1.
    """
    try:
        told = list(_folds_told(transfer, trunk, data))
    except DataError:
        return 1.0
    if not told:
        return 1.0

    def loss(t: float) -> float:
        return 0.5 * (t / PRIOR) ** 2 + sum(fold.loss(t) for fold in told)

    found = minimize_scalar(loss, bounds=(0.0, math.log(HOTTEST)), options={"xatol": 1e-8})
    return math.exp(float(found.x)) if found.fun < loss(0.0) else 1.0


def _folds_told(transfer: Any, trunk: Trunk | None, data: Data) -> Iterator[Told]:
    """Yield what is told of each fold that is held out."""
    quiet = copy.copy(transfer)
    quiet.verbose = False
    if trunk is not None:  # rows are encoded once and not for each fold
        more = data.X_unlabelled
        more = None if more is None else trunk.inputs(more)
        data = replace(data, X=trunk.inputs(data.X), X_unlabelled=more, tables=False)
        trunk = replace(trunk, steps=(), feature_names=None)
    folds = fold_numbers(data.X, data.y, data.weight)
    n_held_out = 0
    for fold in range(N_FOLDS):
        rows, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        if not len(rows) or n_held_out >= ENOUGH:
            continue
        n_held_out += len(rows)
        with warnings.catch_warnings(action="ignore"):  # the whole training has told them
            outcome = Fitting(quiet, trunk, _part(data, others)).run()
        predictor: Any = outcome.predictor
        own = _part(data, rows)
        labels, head = predictor._labels, predictor._head
        codes = labels.indicators(own.y) if labels.multilabel else labels.numbers(own.y)
        raws = predictor._raws(prepared(outcome.steps, own.X))
        yield Told(
            head,
            [torch.from_numpy(np.asarray(raw)).double() for raw in raws],
            torch.from_numpy(np.array(head.targets(head_targets(head, labels, codes)))),
            own.weight,
        )


def fold_numbers(inputs: Any, y: Any, weight: FloatArray | None) -> IntArray:
    """Return the fold of each row, -1 for one that is never held out.

    Each class is spread over the folds, so that it is always trained on. Folds depend on what
    rows hold alone: equal ones are held out together, and a row of weight 2 is two rows. A class
    of which all rows are equal is never held out, nor is a row without a weight.
    """
    n = int(inputs.shape[0])
    marks = _marks(inputs)
    labels = np.asarray(y) if np.ndim(y) == 1 else np.zeros(n)  # of any number of labels a row
    used = np.ones(n, dtype=bool) if weight is None else weight > 0
    folds = np.full(n, -1)
    for label in np.unique(labels):
        rows = np.flatnonzero((labels == label) & used)
        different, number = np.unique(marks[rows], return_inverse=True)
        if len(different) > 1:
            folds[rows] = number % N_FOLDS
    return folds


def _marks(inputs: Any) -> IntArray:
    """Return a number for each row, which looks random and is equal for equal rows."""
    matrix: Any = inputs
    if sp.issparse(inputs):
        csr = matrix.tocsr().copy()
        csr.sum_duplicates()
        csr.eliminate_zeros()
        ends = pairwise(csr.indptr)
        content = [csr.indices[a:b].tobytes() + csr.data[a:b].tobytes() for a, b in ends]
    else:
        content = [row.tobytes() for row in np.ascontiguousarray(inputs)]
    marks = [int.from_bytes(blake2b(row, digest_size=8).digest()) for row in content]
    return np.array(marks, dtype=np.uint64)


def _part(data: Data, rows: IntArray) -> Data:
    """Return some of the rows with labels, and all those without."""
    weight = None if data.weight is None else data.weight[rows]
    return replace(
        data, X=_safe_indexing(data.X, rows), y=_safe_indexing(data.y, rows), weight=weight
    )
