"""Many networks: one stack against a loop of single fits and against ``torch.func.vmap``.

Every member has its own seed, learning rate and order of rows; Adam, float32, one core. Then, on
all cores, against scikit-learn's MLP in as many joblib processes:
``python -m benchmarks.stack_vs_loop``.
"""

from __future__ import annotations

import argparse
import warnings

import joblib
import numpy as np
import sklearn.neural_network
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap

from benchmarks._table import backends, median_seconds, print_ratios, usable_cores
from benchmarks.single_fit import problem
from lamina.heads import Categorical
from lamina.stack import Member, train

WIDTHS: tuple[tuple[int, ...], ...] = ((16,), (64,), (64, 64), (256,))


def sequential(n_features: int, width: tuple[int, ...], n_classes: int) -> nn.Sequential:
    """Return the same network as plain torch modules."""
    sizes = [n_features, *width, n_classes]
    modules: list[nn.Module] = []
    for i in range(len(sizes) - 1):
        modules += [nn.Linear(sizes[i], sizes[i + 1]), nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def fit_by_vmap(
    X: torch.Tensor, y: torch.Tensor, width: tuple[int, ...], k: int, epochs: int, batch: int
) -> None:
    """Train k networks with vmapped gradients; Adam acts on each number alone."""
    models = [sequential(X.shape[1], width, int(y.max()) + 1) for _ in range(k)]
    parameters, buffers = stack_module_state(models)
    skeleton = sequential(X.shape[1], width, int(y.max()) + 1).to("meta")

    def loss(p: dict, b: dict, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(functional_call(skeleton, (p, b), (x,)), t)

    gradients = vmap(grad(loss))
    leaves = list(parameters.values())
    optimizer = torch.optim.Adam(leaves, lr=1e-3, foreach=True)
    for _ in range(epochs):
        order = torch.rand(k, len(X)).argsort(dim=1)
        for start in range(0, len(X), batch):
            index = order[:, start : start + batch]
            found = gradients(parameters, buffers, X[index], y[index])
            for leaf, name in zip(leaves, parameters, strict=True):
                leaf.grad = found[name]
            optimizer.step()


def rows(k: int, n_samples: int, epochs: int, batch: int, repeats: int) -> dict:
    """Return the medians by width."""
    X, y = problem(n_samples)
    x_torch, y_torch = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
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
            )
            for i in range(k)
        ]
        ways = {
            f"stack {backend}": lambda members=members, backend=backend: train(
                members, X, y, backend=backend
            )
            for backend in backends()
        }
        ways |= {
            "loop torch": lambda members=members: [
                train([member], X, y, backend="torch") for member in members
            ],
            "vmap": lambda width=width: fit_by_vmap(x_torch, y_torch, width, k, epochs, batch),
        }
        table["-".join(map(str, width))] = median_seconds(ways, repeats=repeats)
    return table


def fit_by_sklearn(X: np.ndarray, y: np.ndarray, width: tuple[int, ...], seed: int) -> None:
    """Fit scikit-learn's MLP as the members of `on_all_cores` are fitted."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    sklearn.neural_network.MLPClassifier(
        width, batch_size=200, max_iter=10, n_iter_no_change=10, random_state=seed
    ).fit(X, y)


def on_all_cores(k: int, n_samples: int, repeats: int) -> dict:
    """Return medians per fit: a stack on all cores, and as many joblib processes."""
    X, y = problem(n_samples)
    X = X.astype(np.float32)
    table = {}
    for width in ((16,), (64,), (64, 64)):
        members = [
            Member(width, head=Categorical(3), alpha=1e-4, seed=i, batch_size=200, max_epochs=10)
            for i in range(k)
        ]
        ways = {
            f"stack {backend}": lambda members=members, backend=backend: train(
                members, X, y, backend=backend
            )
            for backend in backends()
        }
        ways["joblib, scikit-learn"] = lambda width=width: joblib.Parallel(usable_cores())(
            joblib.delayed(fit_by_sklearn)(X, y, width, seed) for seed in range(k)
        )
        medians = median_seconds(ways, repeats=repeats)
        table["-".join(map(str, width))] = {way: t / k for way, t in medians.items()}
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=64)
    parser.add_argument("--samples", type=int, default=4_000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    table = rows(
        arguments.members,
        arguments.samples,
        arguments.epochs,
        arguments.batch_size,
        arguments.repeats,
    )
    title = f"\n{arguments.members} members, {arguments.samples} rows, {arguments.epochs} epochs"
    print_ratios(title, table, ours="stack torch")
    torch.set_num_threads(usable_cores())
    table = on_all_cores(arguments.members, arguments.samples, arguments.repeats)
    title = (
        f"\nA fit of {arguments.members}, {arguments.samples} rows, 10 epochs of batches of 200"
    )
    print_ratios(f"{title}, {usable_cores()} core(s)", table, ours=f"stack {backends()[0]}")


if __name__ == "__main__":
    main()
