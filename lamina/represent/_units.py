"""Embeddings of unit length, safely, and the way of a gradient back through that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lamina._checks import shown
from lamina._errors import DataError
from lamina._finite import all_finite

WIDE = (torch.float32, torch.float64)
"""Precisions to compute in; anything narrower, or whole numbers, is widened to float32."""


@dataclass(frozen=True)
class UnitRows:
    """Rows of unit length, and what is needed to take a gradient back to the rows they were.

    Attributes
    ----------
    units : Tensor of shape (..., d)
        Rows divided by their length; a row of zeros stays one.
    inverse : Tensor of shape (..., 1)
        One divided by the length, 0 for a row of zeros.
    """

    units: Tensor
    inverse: Tensor

    @property
    def n_zero_rows(self) -> int:
        """Number of rows that have no direction."""
        return int((~self.has_direction).sum())

    @property
    def has_direction(self) -> Tensor:
        """Which rows (...) are not zero."""
        return self.inverse[..., 0] > 0

    def pull_back(self, gradient: Tensor) -> Tensor:
        """Return the derivative on the rows from the derivative on the units."""
        along = (gradient * self.units).sum(-1, keepdim=True)
        return torch.addcmul(gradient, self.units, along, value=-1).mul_(self.inverse)


def unit_rows(z: Tensor) -> UnitRows:
    """Return rows of unit length; neither large nor small ones overflow on the way."""
    largest = z.abs().amax(-1, keepdim=True)
    nothing = largest == 0
    reduced = z / largest.masked_fill(nothing, 1.0)
    length = torch.linalg.vector_norm(reduced, dim=-1, keepdim=True).masked_fill(nothing, 1.0)
    inverse = (1.0 / length / largest).masked_fill(nothing, 0.0)
    units = (reduced / length).masked_fill(nothing, 0.0)
    return UnitRows(units, inverse.clamp_max(torch.finfo(z.dtype).max))


def wide(name: str, values: Any, n_axes: tuple[int, ...] = (2,)) -> Tensor:
    """Return embeddings in float32 or wider, or say what is wrong with them."""
    tensor = _tensor(name, values)
    if tensor.is_complex() or tensor.ndim not in n_axes or 0 in tensor.shape:
        axes = " or ".join(f"{n}-D" for n in n_axes)
        raise DataError(
            f"{name} must be real numbers in a {axes} array with at least one row and column. "
            f"Got {tensor.dtype} of shape {tuple(tensor.shape)}."
        )
    wider = tensor if tensor.dtype in WIDE else tensor.to(torch.float32)
    if not all_finite(wider):
        row = torch.nonzero(~torch.isfinite(wider))[0][0].item()
        raise DataError(f"{name} must hold finite numbers. Got one that is not in row {row}.")
    return wider


def _tensor(name: str, values: Any) -> Tensor:
    """Return a dense tensor, of the memory of the values where that can be."""
    if isinstance(values, Tensor):
        if values.layout != torch.strided:
            raise DataError(f"{name} must be dense. Got a tensor of layout {values.layout}.")
        return values
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(f"{name} must have rows of one length. Got {shown(values)}.") from error
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} must hold real numbers. Got dtype {array.dtype}.")
    if array.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # an infinity is refused
            array = array.astype(np.float64)
    forwards = min(array.strides, default=0) >= 0
    if not (forwards and array.flags.writeable and array.dtype.isnative):
        array = np.array(array, array.dtype.newbyteorder("="), order="C")
    return torch.as_tensor(array)


def normalise(z: Any) -> Any:
    r"""Divide every row by its length; a row of zeros stays zero.

    .. math:: u_i = z_i / \lVert z_i\rVert, \qquad u_i = 0 \text{ where } z_i = 0

    Parameters
    ----------
    z : array or Tensor of shape (n, d)
        Embeddings, of any length that a float holds. Half precision is computed in float32.

    Returns
    -------
    array or Tensor of shape (n, d)
        Of the kind that came in.

    Raises
    ------
    DataError
        If z is not a matrix of finite numbers.

    Examples
    --------
    >>> normalise([[3.0, 4.0], [0.0, 0.0], [1e300, 0.0]]).tolist()
    [[0.6, 0.8], [0.0, 0.0], [1.0, 0.0]]
    """
    units = unit_rows(wide("z", z)).units
    return units if isinstance(z, Tensor) else units.numpy()


def cosine_similarities(a: Any, b: Any = None) -> Any:
    r"""Return the cosine of the angle between every row of one set and every row of another.

    .. math:: s_{ij} = \frac{a_i \cdot b_j}{\lVert a_i\rVert\,\lVert b_j\rVert}

    Parameters
    ----------
    a : array or Tensor of shape (n, d)
        Embeddings. A row of zeros has the cosine 0 with everything.
    b : array or Tensor of shape (m, d), optional
        Other embeddings; by default those of ``a``.

    Returns
    -------
    array or Tensor of shape (n, m)
        Between -1 and 1, of the kind and the precision of ``a``.

    Raises
    ------
    DataError
        If one of them is not a matrix of finite numbers, or widths differ.

    Examples
    --------
    >>> cosine_similarities([[1.0, 0.0]], [[2.0, 0.0], [0.0, 5.0], [-1.0, 0.0]]).tolist()
    [[1.0, 0.0, -1.0]]
    """
    left = wide("a", a)
    right = left if b is None else wide("b", b)
    same_width("b", right, left)
    # Cast when of unit length: before, a long row may not fit into the precision of a.
    cosines = unit_rows(left).units @ unit_rows(right).units.to(left).mT
    cosines = cosines.clamp(-1.0, 1.0)
    return cosines if isinstance(a, Tensor) else cosines.detach().numpy()


def same_width(name: str, z: Tensor, like: Tensor) -> None:
    """Refuse embeddings of another width."""
    if z.shape[-1] != like.shape[-1]:
        raise DataError(f"{name} must have {like.shape[-1]} columns. Got {z.shape[-1]}.")
