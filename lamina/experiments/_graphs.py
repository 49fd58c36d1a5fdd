"""Networks on any acyclic graph of units."""

from __future__ import annotations

import numpy as np

from lamina._errors import CycleError
from lamina.nn import GraphNetwork

from ._registry import Values, experiment

PARENTS = {
    "u1": ["x1", "x2"],
    "u2": ["x2", "u1"],
    "u3": ["x1", "u1", "u2"],
    "y1": ["u2", "u3"],
    "y2": ["x2", "u3"],  # skips u1 and u2
}


@experiment("dag-network")
def dag_network() -> Values:
    """Evaluate five units with skips in topological order, and close a cycle from y2 to u1."""
    rng = np.random.default_rng(6)
    network = GraphNetwork(
        PARENTS,
        outputs=["y1", "y2"],
        weights={unit: rng.standard_normal(len(above)) for unit, above in PARENTS.items()},
        biases={unit: float(rng.standard_normal()) for unit in PARENTS},
        inputs=["x1", "x2"],
    )
    cycle: list[str] = []
    try:
        GraphNetwork(PARENTS | {"u1": ["x1", "x2", "y2"]}, inputs=["x1", "x2"])
    except CycleError as error:
        cycle = str(error).rpartition("Got ")[2].rstrip(".").split(" → ")
    return {
        "order": list(network.order),
        "y": network.predict_raw(rng.standard_normal(2)),
        "cycle_detected": bool(cycle),
        "cycle": cycle,
    }
