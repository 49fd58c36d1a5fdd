"""The data themselves: sizes, classes, first rows and printed figures."""

from __future__ import annotations

import os

import numpy as np

from lamina._errors import FileError
from lamina._typing import FloatArray, IntArray
from lamina.datasets import (
    TARGETS,
    load_concrete,
    load_mnist,
    make_approximation,
    make_inverse_problem,
    make_moons,
    make_placed_digits,
    make_spirals,
    make_two_spirals,
    make_xor,
)

from ._registry import NeedsDataError, Values, experiment


@experiment("toy-data-facts")
def toy_data_facts() -> Values:
    """Count rows and classes of the toy data, and read their printed figures."""
    sets = {
        "xor": make_xor(random_state=189),
        "spirals": make_spirals(random_state=189),
        "two_spirals": make_two_spirals(random_state=0),
        "moons": make_moons(random_state=189),
    }
    facts: dict[str, object] = {name: [len(X), len(np.unique(y))] for name, (X, y) in sets.items()}
    x, t = make_inverse_problem(100_000, noise=0.0, random_state=0)
    middle = np.abs(x[:, 0]) < 1.2
    curves = [make_approximation(name, 2001)[1] for name in TARGETS]
    return {
        **facts,
        "xor_first_row": sets["xor"][0][0],
        "turning_height": t[middle].max(),
        "target_ranges": [[curve.min(), curve.max()] for curve in curves],
    }


@experiment("concrete-facts")
def concrete_facts() -> Values:
    """Read the packaged table of concrete strengths."""
    table = load_concrete()
    return {
        "shape": list(table.shape),
        "strength_mean": float(table["strength"].mean()),
        "repeated_rows": int(table.duplicated().sum()),
    }


def mnist(part: str, n_samples: int | None = None) -> tuple[FloatArray, IntArray]:
    """Return MNIST, or say that it is not there."""
    if not os.environ.get("LAMINA_DATA"):
        raise NeedsDataError("LAMINA_DATA must name the folder of MNIST's files. Got nothing.")
    try:
        return load_mnist(part, n_samples)
    except FileError as error:
        raise NeedsDataError(str(error)) from error


@experiment("mnist-facts")
def mnist_facts() -> Values:
    """Read MNIST and look at sizes, range and first label."""
    X, y = mnist("train")
    X_new, _ = mnist("test")
    return {
        "train": list(X.shape),
        "test": list(X_new.shape),
        "range": [float(X.min()), float(X.max())],
        "first_label": int(y[0]),
    }


@experiment("mnist-placed-tasks")
def mnist_placed_tasks() -> Values:
    """Place digits on a 34 by 34 canvas, and split them into 0 to 4 and 5 to 9."""
    X, y = mnist("train", 20_000)
    X_new, y_new = mnist("test", 4_000)
    shapes = []
    for pixels, chosen in ((X, y < 5), (X, y > 4), (X_new, y_new > 4)):
        canvases, _ = make_placed_digits(pixels[chosen].reshape(-1, 28, 28), random_state=6)
        shapes.append([len(canvases), canvases[0].size])
    return {"task_B": shapes[0], "task_A": shapes[1], "task_A_test": shapes[2]}
