"""Graphs of units: level by level against a loop over units, and against neat-python (PyPI).

Every unit has ten parents, drawn from all units before it ("any") or from the last 64 ("near",
which is deep). The loop has the units' values as rows of torch and takes one product a unit;
neat-python takes one unit and one row of data at a time, in Python's floats. Outputs are compared
before times are: ``python -m benchmarks.graph``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import torch
from torch import Tensor

from benchmarks._table import aligned, machine, median_seconds, print_ratios
from lamina.nn import GraphNetwork

N_INPUTS, N_OUTPUTS = 32, 4
NEAR = 64


def parents_of(n: int, n_parents: int, near: bool) -> dict[str, list[str]]:
    """Return a random graph of ``n`` units; the last ones are the outputs."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(N_INPUTS)] + [f"u{i}" for i in range(n)]
    parents = {}
    for i in range(N_INPUTS, N_INPUTS + n):
        first = max(0, i - NEAR) if near else 0
        parents[names[i]] = [names[j] for j in rng.integers(first, i, n_parents)]
    return parents


def by_units(network: GraphNetwork) -> Callable[[Tensor], tuple[Tensor, list[Tensor]]]:
    """Return a loop over units, one product each, and the tensors that it can be trained by."""
    place = {name: i for i, name in enumerate(network.order)}
    weights, biases, parents = network.weights, network.biases, network.parents
    functions = {unit: function.name for unit, function in network.activations.items()}
    units = [
        (
            unit,
            [place[parent] for parent in parents[unit]],
            torch.tensor(weights[unit]).requires_grad_(),
            torch.tensor(biases[unit], dtype=network.dtype).requires_grad_(),
            functions[unit] == "tanh",
        )
        for unit in network.order[N_INPUTS:]
    ]

    def run(X: Tensor) -> tuple[Tensor, list[Tensor]]:
        values = list(X.T)
        for _, above, w, b, bends in units:
            a = w @ torch.stack([values[i] for i in above]) + b
            values.append(torch.tanh(a) if bends else a)
        outputs = torch.stack([values[place[name]] for name in network.outputs], dim=1)
        return outputs, [t for unit in units for t in unit[2:4]]

    return run


def by_neat(network: GraphNetwork) -> Callable[[Tensor], np.ndarray]:
    """Return neat-python's own evaluation of the same units; its construction is left out."""
    import math

    from neat.nn import FeedForwardNetwork

    weights, biases = network.weights, network.biases
    parents, functions = network.parents, network.activations
    evaluations = [
        (
            unit,
            math.tanh if functions[unit].name == "tanh" else float,
            sum,
            biases[unit],
            1.0,
            list(zip(parents[unit], weights[unit].tolist(), strict=True)),
        )
        for unit in network.order[N_INPUTS:]
    ]
    net = FeedForwardNetwork(list(network.inputs), list(network.outputs), evaluations)
    return lambda X: np.array([net.activate(row) for row in X.tolist()])


def gradients(outputs: Tensor, parameters: list[Tensor]) -> tuple[Tensor, ...]:
    """Return the gradient of the sum of squares; some units reach no output."""
    return torch.autograd.grad(
        outputs.square().sum(), parameters, allow_unused=True, materialize_grads=True
    )


def compared(network: GraphNetwork, X: Tensor, repeats: int) -> tuple[dict[str, float], ...]:
    """Return seconds forward, seconds forward and backward, and how far the ways differ."""
    loop = by_units(network)
    parameters = list(network.parameters())
    ours: dict[str, Callable[[], object]] = {"lamina": lambda: network.predict_raw(X)}

    def loop_forward() -> Tensor:
        with torch.no_grad():
            return loop(X)[0]

    raw = network.predict_raw(X)
    gap = {"loop": float((raw - loop_forward()).abs().max())}
    forward = median_seconds(ours | {"loop": loop_forward}, repeats=repeats)
    if find_spec("neat") is not None:
        neat = by_neat(network)
        start = time.perf_counter()
        gap["neat-python"] = float(np.abs(raw.numpy() - neat(X)).max())
        forward["neat-python"] = time.perf_counter() - start
    both = median_seconds(
        {
            "lamina": lambda: gradients(network(X), parameters[:2]),
            "loop": lambda: gradients(*loop(X)),
        },
        repeats=repeats,
    )
    ours_by_unit = network.with_parameters(
        *gradients(network(X), parameters[:2]), torch.zeros(len(network.unit_slopes))
    )
    theirs = gradients(*loop(X))[::2]
    by_name = ours_by_unit.weights
    found = [by_name[unit] for unit in network.order[N_INPUTS:]]
    scale = max(float(np.abs(one).max(initial=0.0)) for one in found) or 1.0
    gap["gradients"] = max(
        float(np.abs(one - other.numpy()).max(initial=0.0)) / scale
        for one, other in zip(found, theirs, strict=True)
    )
    return forward, both, gap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, nargs="*", default=[100, 1000, 10_000])
    parser.add_argument("--parents", type=int, default=10)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()

    X = torch.from_numpy(np.random.default_rng(1).standard_normal((arguments.rows, N_INPUTS)))
    X = X.to(torch.float32)
    forward, both = {}, {}
    facts = [["", "edges", "depth", "build [ms]", "loop differs", "neat differs", "gradients"]]
    for n in arguments.units:
        for near in (False, True):
            parents = parents_of(n, arguments.parents, near)
            names = [f"x{i}" for i in range(N_INPUTS)], [f"u{n - 1 - i}" for i in range(N_OUTPUTS)]
            start = time.perf_counter()
            network = GraphNetwork(
                parents,
                inputs=names[0],
                outputs=names[1],
                init="lecun",  # with more, rounding grows from level to level
                random_state=0,
                dtype="float32",
            )
            built = time.perf_counter() - start
            case = f"{n:,} {'near' if near else 'any'}"
            forward[case], both[case], gap = compared(network, X, arguments.repeats)
            sizes = f"{len(network.edge_weights):,}", str(network.depth), f"{built * 1e3:.3g}"
            gaps = (
                f"{gap[w]:.0e}" if w in gap else "-" for w in ("loop", "neat-python", "gradients")
            )
            facts.append([case, *sizes, *gaps])
    rows = f"{arguments.rows} rows, {arguments.parents} parents a unit, float32"
    print_ratios(f"Forward: {rows}", forward, ours="lamina")
    print_ratios(f"Forward and backward: {rows}", both, ours="lamina")
    print("The graphs, and the largest difference between the ways (of gradients: relative)")
    print(machine())
    print(aligned(facts))
    if find_spec("neat") is None:
        print("neat-python is not installed: pip install neat-python")


if __name__ == "__main__":
    main()
