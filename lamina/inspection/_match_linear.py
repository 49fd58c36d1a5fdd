"""Align linear hidden layers, whose units are a basis and have no names of their own."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_sylvester

from lamina._typing import FloatArray

from ._match_arrays import compare_arrays
from ._symmetry_group import group_of
from ._symmetry_layers import Layers, apply_matrix

_WORST_CONDITION = 1e10
_PULL = 1e-12


def align_linear(a: Layers, b: Layers) -> None:
    """Change the basis of linear hidden layers of ``b`` so that it is nearest that of ``a``."""
    for i in range(a.n_hidden):
        if not group_of(a.activations[i]).linear:
            continue
        matrix = _nearest_basis(a, b, i)
        if np.linalg.cond(matrix) > _WORST_CONDITION:
            continue
        moved = b.copy()
        apply_matrix(moved, i, matrix)
        if compare_arrays(a, moved).distance <= compare_arrays(a, b).distance:
            b.weights, b.biases = moved.weights, moved.biases


def _nearest_basis(a: Layers, b: Layers, i: int) -> FloatArray:
    r"""Return the M for which M [b W]_b is [b W]_a, and W_a M is W_b above.

    Where what comes in tells all, it alone is used. Otherwise M solves the normal equations

    .. math:: (V_a^T V_a) M + M (X_b X_b^T) = X_a X_b^T + V_a^T V_b,

    which are linear in M, with a slight pull towards 1 in directions that nothing tells.
    """
    ours = np.column_stack([a.biases[i], a.weights[i]])
    theirs = np.column_stack([b.biases[i], b.weights[i]])
    if np.linalg.matrix_rank(theirs) == len(theirs):
        solution: FloatArray = np.linalg.lstsq(theirs.T, ours.T)[0].T
        return solution
    above = i + 1 < a.n_hidden and group_of(a.activations[i + 1]).linear
    V, U = (x.weights[i + 1] * (0.0 if above else 1.0) for x in (a, b))
    left, right, told = V.T @ V, theirs @ theirs.T, ours @ theirs.T + V.T @ U
    pull = _PULL * max(float(np.trace(left)), float(np.trace(right)), 1e-300)
    eye = np.eye(len(theirs))
    matrix: FloatArray = solve_sylvester(
        left + pull * eye, right + pull * eye, told + 2 * pull * eye
    )
    return matrix
