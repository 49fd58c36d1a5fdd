"""Where a learnt share of wrong labels begins: at the mistakes of a quick fit that is sure."""

from __future__ import annotations

import math

import numpy as np

from lamina._typing import Array, FloatArray
from lamina.heads import Categorical

from ._prediction import raw_outputs
from ._table_recipe import PRESETS, Task, make_members
from ._table_training import check_any_usable, train_round, usable

_SUREST = 0.5
"""Share of the held-out rows that count: far from the border between classes a label that is
not the predicted one is more likely to be wrong than to be a hard case."""


def first_label_noise(
    X: FloatArray, codes: Array, weights: FloatArray | None, seed: int, device: str
) -> float:
    r"""Return the raw output b with which the share of wrong labels begins.

    It says :math:`\varepsilon = \sigma(b) (K - 1)/K` for K classes, see `Categorical`.
    """
    n_classes = int(codes.max()) + 1
    recipe = PRESETS["fast"]
    (family,) = recipe.families
    task = Task(Categorical(n_classes), seed, len(codes), codes, weights, "valid_loss")
    epochs = recipe.epochs_for(len(codes))
    members = make_members(recipe, family, task, range(2), epochs)
    trained = train_round(members, X, codes, device=device)
    wrong, sure = [], []
    check_any_usable([trained])
    for network, member in usable(trained).values():
        held = member.validation_rows
        rows = np.arange(len(codes)) if held is None else np.asarray(held)
        raw = raw_outputs(network, X[rows])
        wrong.append(raw.argmax(axis=1) != codes[rows])
        two = np.partition(raw, -2, axis=1)[:, -2:]
        sure.append(two[:, 1] - two[:, 0])
    margin = np.concatenate(sure)
    surest = np.concatenate(wrong)[margin >= np.quantile(margin, 1 - _SUREST)]
    # A mistake and a row without one are added, so that a few sure rows do not settle it.
    share = (surest.sum() + 1) / (len(surest) + 2) * n_classes / (n_classes - 1)
    share = min(share, 0.9)
    return math.log(share / (1 - share))
