"""Many networks: one stack against JAX's ``vmap`` inside a jitted ``scan``, the strongest rival.

Every member has its own weights, learning rate and order of rows; Adam, float32, all cores. An
epoch of all members is one compiled program, whose compilation is not counted. JAX is no
dependency of lamina: ``pip install jax``, then ``python -m benchmarks.against_jax``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks._table import backends, median_seconds, print_ratios, usable_cores
from benchmarks.single_fit import problem
from lamina.heads import Categorical
from lamina.stack import Member, train

WIDTHS: tuple[tuple[int, ...], ...] = ((4,), (8,), (16,), (32,), (64,), (64, 64))


def jax_training(
    X: np.ndarray, y: np.ndarray, width: tuple[int, ...], k: int, epochs: int, batch: int
) -> Callable[[], object]:
    """Return what trains k networks with JAX, compiled."""
    import jax
    import jax.numpy as jnp

    x_all, y_all = jnp.asarray(X), jnp.asarray(y)
    n_steps = len(X) // batch
    sizes = [X.shape[1], *width, int(y.max()) + 1]
    rates = 1e-3 * (1 + jnp.arange(k) / k)

    def first(key: Any) -> list:
        keys = jax.random.split(key, len(sizes) - 1)
        return [
            (jax.random.normal(key, (i, o)) * (2 / i) ** 0.5, jnp.zeros(o))
            for key, i, o in zip(keys, sizes[:-1], sizes[1:], strict=True)
        ]

    def loss(p: list, x: Any, t: Any) -> Any:
        for w, b in p[:-1]:
            x = jnp.maximum(x @ w + b, 0)
        a = x @ p[-1][0] + p[-1][1]
        return (jax.nn.logsumexp(a, axis=1) - a[jnp.arange(batch), t]).mean()

    def epoch(p: list, m: list, v: list, t: Any, key: Any, rate: Any) -> tuple:
        order = jax.random.permutation(key, len(X))[: n_steps * batch].reshape(n_steps, batch)

        def step(carry: tuple, index: Any) -> tuple:
            p, m, v, t = carry
            t = t + 1
            value, g = jax.value_and_grad(loss)(p, x_all[index], y_all[index])
            m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
            v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
            scale = rate * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
            p = jax.tree.map(lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), p, m, v)
            return (p, m, v, t), value

        (p, m, v, t), values = jax.lax.scan(step, (p, m, v, t), order)
        return p, m, v, t, values.mean()

    run = jax.jit(jax.vmap(epoch))
    start = jax.vmap(first)(jax.random.split(jax.random.key(0), k))

    def fit() -> object:
        p, t, mean = start, jnp.zeros(k), None
        m = v = jax.tree.map(jnp.zeros_like, p)
        for e in range(epochs):
            p, m, v, t, mean = run(p, m, v, t, jax.random.split(jax.random.key(e), k), rates)
        return jax.block_until_ready((p, mean))

    return fit


def rows(k: int, n_samples: int, epochs: int, batch: int, repeats: int) -> dict:
    """Return the medians by width."""
    X, y = problem(n_samples)
    X = X.astype(np.float32)
    table = {}
    for width in WIDTHS:
        members = [
            Member(
                width,
                head=Categorical(3),
                seed=i,
                learning_rate=1e-3 * (1 + i / k),
                max_epochs=epochs,
                batch_size=batch,
                patience=None,
            )
            for i in range(k)
        ]
        ways: dict[str, Callable[[], object]] = {
            f"stack {backend}": lambda members=members, backend=backend: train(
                members, X, y, backend=backend
            )
            for backend in backends()
        }
        ways["JAX"] = jax_training(X, y, width, k, epochs, batch)
        table["-".join(map(str, width))] = median_seconds(ways, repeats=repeats)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=32)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    try:
        import jax
    except ImportError:
        print("JAX is not installed: pip install jax")
        return
    torch.set_num_threads(usable_cores())
    table = rows(
        arguments.members,
        arguments.samples,
        arguments.epochs,
        arguments.batch_size,
        arguments.repeats,
    )
    print_ratios(
        f"\n{arguments.members} members, {arguments.samples} rows, {arguments.epochs} epochs, "
        f"batches of {arguments.batch_size}, {usable_cores()} core(s), JAX {jax.__version__}",
        table,
        ours=f"stack {backends()[0]}",
    )


if __name__ == "__main__":
    main()
