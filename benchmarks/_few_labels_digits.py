"""MNIST's digits at random places: 0 to 4 make a task to learn from, 5 to 9 one to learn."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from lamina import MLPClassifier
from lamina.datasets import load_mnist, make_placed_digits


@dataclass(frozen=True)
class Digits:
    """Placed digits as rows, and their labels."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    shape: tuple[int, int] = (34, 34)

    def draw(self, n_labels: int, n_rows: int, seed: int) -> tuple[Any, Any, Any, Any, Any, Any]:
        """Draw labelled rows of the digits 5 to 9, and others without their labels."""
        rng = np.random.default_rng(seed)
        pool = rng.permutation(np.flatnonzero(self.y > 4))[:n_rows]
        chosen = [pool[self.y[pool] == label][:n_labels] for label in range(5, 10)]
        labelled = np.concatenate(chosen)
        others = np.setdiff1d(pool, labelled)
        test = self.y_test > 4
        X, y = self.X, self.y
        known = X[labelled], y[labelled], X[others]
        return (*known, self.X_test[test], self.y_test[test], X[pool])


def digits() -> Digits | None:
    """Return the placed digits, or None where LAMINA_DATA does not name MNIST's folder."""
    if not os.environ.get("LAMINA_DATA"):
        print("Digits are left out: LAMINA_DATA does not name a folder with MNIST's files")
        return None
    parts = []
    for part, n, seed in (("train", 20_000, 6), ("test", 4_000, 7)):
        X, y = load_mnist(part, n)
        placed, _ = make_placed_digits(X.reshape(-1, 28, 28), random_state=seed)
        parts += [placed.reshape(len(X), -1).astype(np.float32), y]
    return Digits(*parts)


def known_digits(images: Digits) -> MLPClassifier:
    """Return a network that tells the digits 0 to 4 apart."""
    old = images.y < 5
    network = MLPClassifier((256,), batch_size=128, max_iter=5, random_state=0)
    with warnings.catch_warnings(action="ignore"):  # five epochs are meant
        return network.fit(images.X[old], images.y[old])
