"""Outputs of one more task on layers that stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lamina._checks import check_real
from lamina._typing import Array
from lamina.nn import Network
from lamina.stack import Member, train

from ._multitask_targets import Task, observed_in
from ._prediction import raw_outputs
from ._transfer_fit import feature_scaling
from ._transfer_top import given_layers, unscaled


@dataclass(frozen=True, eq=False)
class Added:
    """A task that came later, and its outputs for each member."""

    task: Task
    networks: tuple[Network, ...]


def new_outputs(
    task: Task, column: Array, inputs: Any, trunks: Sequence[Network], alpha: float
) -> Added:
    """Return outputs that are read off the features of each trunk linearly, by L-BFGS."""
    check_real("alpha", alpha, 0.0)
    observed = observed_in(column)
    y = task.coded(column, observed)[observed]
    networks = []
    for trunk in trunks:
        features = raw_outputs(trunk, inputs[observed])
        centre, scale = feature_scaling(features, None, None)
        member = Member(
            (),
            head=task.head,
            optimizer="lbfgs",
            batch_size=len(y),
            max_epochs=1000,
            alpha=float(alpha),
            init="glorot",
        )
        values = np.asarray(y, dtype=np.int64 if task.classes is not None else np.float64)
        probe = train([member], (features - centre) / scale, values, dtype="float64").networks[0]
        ((W, b, _),) = unscaled(given_layers(probe), centre, scale)
        dtype = str(trunk.dtype).removeprefix("torch.")
        networks.append(Network.from_arrays([(W, b)], dtype=dtype))  # type: ignore[arg-type]
    return Added(task, tuple(networks))
