"""Output rows of labels that two classification tasks share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lamina._checks import shown
from lamina._errors import ParameterError
from lamina._typing import FloatArray

from ._labels import Labels
from ._trunk import Trunk


class Outputs(NamedTuple):
    """The first output layer of a transfer."""

    weights: FloatArray  # (Q, H)
    biases: FloatArray  # (Q,)
    complete: bool  # whether every row was copied


def shared_outputs(trunk: Trunk, k: int, labels: Labels) -> Outputs:
    """Return output rows that begin as the source's for shared labels, and at 0 for others.

    Logits mean something up to a constant for all classes, so the source's rows are taken with
    their mean over its classes at 0. One logit for two classes is the difference of their rows.
    """
    known = None if trunk.classes is None else trunk.classes.tolist()
    network = trunk.networks[k]
    if known is None or trunk.n_layers != len(network.activations) - 1 or labels.multilabel:
        raise ParameterError(
            "copy_outputs must be False unless the source is a classifier with one label a row, "
            f"and this task too. Got True with {trunk!r}."
        )
    wanted = labels.classes.tolist()
    if not set(known) & set(wanted):
        raise ParameterError(
            "copy_outputs must be False where no label is shared. Got True, with "
            f"{shown(known)} in the source and {shown(wanted)} in y."
        )
    W, b = network.layers()[-1]
    rows = _by_class(
        np.column_stack([W, b]).astype(np.float64), len(known), logistic=trunk.logistic
    )
    first = np.zeros((len(wanted), rows.shape[1]))
    for i, label in enumerate(wanted):
        if label in known:
            first[i] = rows[known.index(label)]
    if len(wanted) == 2:
        first = first[1:] - first[:1]
    elif len(wanted) == 1:
        first = first[:1]
    return Outputs(first[:, :-1], first[:, -1], set(wanted) <= set(known))


def _by_class(rows: FloatArray, n_classes: int, *, logistic: bool) -> FloatArray:
    """Return a row for each class, their mean at 0, of a layer with its biases as last column."""
    if logistic:
        return np.concatenate([-rows[:1] / 2, rows[:1] / 2])
    rows = rows[:n_classes]  # what follows is label noise
    centred: FloatArray = rows - rows.mean(0)
    return centred
