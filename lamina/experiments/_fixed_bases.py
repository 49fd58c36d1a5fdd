"""The curse of dimensionality, counted: terms of polynomials and cells of a grid."""

from __future__ import annotations

import numpy as np

from lamina.inspection import (
    KernelBasis,
    cell_vote,
    cells_occupied,
    fit_basis,
    kernel_conditioning,
    polynomial_count,
)

from ._registry import Values, experiment


@experiment("polynomial-count")
def polynomial_coefficients() -> Values:
    """Count the coefficients of full polynomials of order 1, 2, 3 and 5, exactly."""
    orders = (1, 2, 3, 5)
    table = polynomial_count((1, 2, 5, 10, 20, 100), orders)
    return {f"D{D}": [table.counts[D, M] for M in orders] for D in table.n_features}


@experiment("cells-occupied")
def occupied_cells() -> Values:
    """Drop 10,000 uniform points on grids of five bins an axis, and count what they reach."""
    rng = np.random.default_rng(6)
    found = [cells_occupied(rng.random((10_000, D)), 5, (0.0, 1.0)) for D in (1, 2, 4, 6, 8, 10)]
    return {
        **{f"D{one.n_features}": one.n_occupied for one in found},
        "cells": [one.n_cells for one in found],
        "fraction": [one.fraction for one in found],
    }


@experiment("cell-vote-no-answer")
def votes_without_answer() -> Values:
    """Let 10,000 points vote on the class of each cell, and ask 2,000 new points."""
    rng = np.random.default_rng(6)
    silent, right = [], []
    for D in (1, 2, 4, 6, 8):
        X, new = rng.random((10_000, D)), rng.random((2_000, D))
        found = cell_vote(X, X[:, 0] > 0.4, 5, (0.0, 1.0))
        answered = found.answers(new)
        silent.append(float(np.mean(~answered)))
        said = found.predict(new)[answered].astype(bool)
        right.append(float(np.mean(said == (new[answered, 0] > 0.4))))
    return {"no_answer": silent, "right_if_answered": right}


@experiment("radial-on-every-point")
def radial_on_every_point() -> Values:
    """Put a Gaussian of width 0.1 on each of N even points: condition numbers, and a fit."""
    grids = {n: np.linspace(0, 1, n)[:, None] for n in (8, 12, 16, 256)}
    found = {n: kernel_conditioning(x, 0.1, sizes=[n]) for n, x in grids.items()}
    centres, fine = grids[16], np.linspace(0, 1, 1001)[:, None]
    model = fit_basis(KernelBasis(centres, 0.1), centres, np.sin(2 * np.pi * centres[:, 0]))
    gap = model.predict(fine) - np.sin(2 * np.pi * fine[:, 0])
    return {
        "N": [8, 12, 16],
        "condition": [found[n].condition_numbers[0] for n in (8, 12, 16)],
        "singular_256": bool(np.isinf(found[256].condition_numbers[0])),
        "regularised_256": found[256].regularised[0],
        "largest_error": np.abs(gap).max(),
    }
