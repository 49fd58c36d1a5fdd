"""Small lower triangles, many at once: solving with them, and making them."""

from __future__ import annotations

import numpy as np

from lamina._typing import FloatArray


def solved(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Return L⁻¹ r for factors (..., T, T) and right sides (..., T), which broadcast."""
    rows: list[FloatArray] = []
    for t in range(factor.shape[-1]):
        rest = right[..., t]
        for s, z in enumerate(rows):
            rest = rest - factor[..., t, s] * z
        rows.append(rest / factor[..., t, t])
    return np.stack(rows, axis=-1)


def factor_of(root: FloatArray) -> FloatArray:
    """Return the Cholesky factor of R Rᵀ from any square root R (..., T, T).

    It is made by reflections of R itself and not of R Rᵀ, so that no digit is squared away.
    """
    upper: FloatArray = np.asarray(np.linalg.qr(root.swapaxes(-1, -2), mode="r"))
    signs = np.where(np.einsum("...tt->...t", upper) < 0, -1.0, 1.0)
    return np.tril((upper * signs[..., None]).swapaxes(-1, -2))
