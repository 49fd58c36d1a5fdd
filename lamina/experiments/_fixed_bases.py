"""The curse of dimensionality, counted: terms of polynomials and cells of a grid."""

from __future__ import annotations

import numpy as np

from lamina.inspection import cells_occupied, polynomial_count

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
