r"""Which factors on a pre-activation an activation lets through, and at what price.

The group of a unit is made of the factors :math:`c \ne 0` for which there are p and q with

.. math:: f(c a) = p f(a) + q \quad \text{for every } a.

Then weights :math:`c w`, bias :math:`c b` and outgoing weights :math:`v / p` compute the same,
with :math:`-q v / p` added to the biases above.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import torch

from lamina._errors import ParameterError
from lamina._typing import Array, FloatArray
from lamina.nn import ELU, Abs, Activation, Identity, LeakyReLU, PReLU, ReLU, Sigmoid, SiLU, Tanh

_AT = np.concatenate([[0.0], np.geomspace(0.07, 9.0, 23)])
_FACTORS = (0.3, 0.5, 2.0, 7.0)
_ROUNDING = 1e-11


@dataclass(frozen=True)
class Group:
    r"""The factors that pass through one activation.

    Attributes
    ----------
    degree : float or None
        The d of f(ca) = c**d f(a) for every c > 0; None where no c but 1 passes.
    parity : {-1, 0, 1}
        The sign in f(-a) = ± f(a) + shift; 0 where a flip does not pass.
    shift : float
        What a flip adds: 1 for the logistic sigmoid.
    linear : bool
        Whether the function is the identity, through which any invertible matrix passes.
    inverts : bool
        Whether a flip passes that turns the slope of a parametric ReLU into its inverse.
    """

    degree: float | None
    parity: int
    shift: float
    linear: bool = False
    inverts: bool = False

    @property
    def scales(self) -> bool:
        """Whether every positive factor passes."""
        return self.degree is not None

    @property
    def flips(self) -> bool:
        """Whether the factor -1 passes."""
        return self.parity != 0 or self.inverts


@functools.lru_cache(maxsize=256)
def group_of(activation: Activation) -> Group:
    """Return the factors that pass, found by trying them: so a user's own function is read too."""
    slope = None if not activation.learned else torch.tensor([[-0.7], [0.3], [1.9]])
    degree = _degree(activation, slope)
    parity, shift = _parity(activation, slope)
    # f(ca) = c f(a) for c of both signs: a multiple of the identity.
    linear = activation.breakpoints == () and degree == 1.0 and parity == -1
    return Group(degree, parity, shift, linear, isinstance(activation, PReLU))


def values_of(activation: Activation, a: Array, slope: torch.Tensor | None = None) -> FloatArray:
    """Return f(a) in float64."""
    tensor = torch.from_numpy(np.ascontiguousarray(a, dtype=np.float64))
    slopes = None if slope is None else slope.double()
    values: FloatArray = activation.forward(tensor, slopes).numpy()
    return values


def _degree(activation: Activation, slope: torch.Tensor | None) -> float | None:
    """Return the degree of a homogeneous function, or None."""
    at = np.concatenate([-_AT[:0:-1], _AT])
    f = values_of(activation, at, slope)
    once, twice = (values_of(activation, np.array([c, -c]), slope).ravel() for c in (1, 2))
    told = np.flatnonzero((once != 0) & (twice / np.where(once == 0, 1, once) > 0))
    if not told.size:
        return None
    degree = round(math.log2(twice[told[0]] / once[told[0]]), 9)
    fits = [
        np.allclose(values_of(activation, c * at, slope), c**degree * f, _ROUNDING, _ROUNDING)
        for c in _FACTORS
    ]
    return degree if all(fits) else None


def _parity(activation: Activation, slope: torch.Tensor | None) -> tuple[int, float]:
    """Return the sign and the shift of a flip, or 0 and 0."""
    right, left = (values_of(activation, sign * _AT, slope) for sign in (1, -1))
    for sign in (-1, 1):
        rest = left - sign * right
        shift = float(rest.flat[0])
        if np.abs(rest - shift).max() <= _ROUNDING:
            return sign, 0.0 if abs(shift) <= _ROUNDING else round(shift, 12)
    return 0, 0.0


@dataclass(frozen=True, eq=False)
class Answer:
    """What factors on the pre-activations of a layer do above it: f(ca) = p f(a) + q.

    Attributes
    ----------
    p, q : ndarray of shape (units,)
    slopes : ndarray of shape (units,) or None
        Learned slopes afterwards.
    """

    p: FloatArray
    q: FloatArray
    slopes: FloatArray | None


def answer(activation: Activation, factors: FloatArray, slopes: FloatArray | None) -> Answer:
    """Return what factors that pass do; `refusal` says which do not."""
    group, size, flipped = group_of(activation), np.abs(factors), factors < 0
    p = np.ones_like(factors) if group.degree is None else size**group.degree
    q = np.where(flipped, group.shift, 0.0)
    if not group.inverts or slopes is None:
        return Answer(np.where(flipped, group.parity * p, p), q, slopes)
    # f_s(-a) = -s f_t(a) with t = 1/s: a flip exchanges the two sides of the kink.
    inverse = 1.0 / np.where(flipped, slopes, 1.0)
    return Answer(np.where(flipped, -p * inverse, p), q, np.where(flipped, inverse, slopes))


def check_factors(activation: Activation, factors: FloatArray, slopes: FloatArray | None) -> None:
    """Refuse the first factor that changes what the layer computes."""
    group, name = group_of(activation), activation.spec
    flipped, scaled = factors < 0, ~np.isin(factors, (1.0, -1.0))
    if flipped.any() and not group.flips:
        raise ParameterError(
            f"activation must be one that a flip of signs passes, as an odd one. Got {name!r}. "
            "flip_signs with check=False shows by how much the function changes."
        )
    if scaled.any() and not group.scales:
        raise ParameterError(
            f"activation must be one that a positive factor passes, as ReLU. Got {name!r}. "
            + ("Its units can be flipped and permuted." if group.flips else "Permute its units.")
        )
    if group.inverts and slopes is not None and (flipped & (slopes == 0)).any():
        raise ParameterError(
            "slopes must not be 0 to flip a unit of a parametric ReLU. "
            f"Got 0 for unit {int(np.flatnonzero(flipped & (slopes == 0))[0])}."
        )


@dataclass(frozen=True)
class Standard:
    """An activation as a standard one between affine maps: f(a) = p g(c a) + q."""

    g: Activation
    c: float = 1.0
    p: float = 1.0
    q: float = 0.0


def standard(activation: Activation) -> Standard:
    """Return the activation that stands for all that are the same up to affine maps."""
    match activation:
        case Sigmoid(steepness=s):
            return Standard(Tanh(), 0.5 * s, 0.5, 0.5)
        case SiLU(beta=beta):
            return Standard(SiLU(), beta, 1.0 / beta)
        case LeakyReLU(slope=0.0) | ELU(alpha=0.0):
            return Standard(ReLU())
        case LeakyReLU(slope=-1.0):
            return Standard(Abs())
        case LeakyReLU(slope=1.0):
            return Standard(Identity())
        case _:
            return Standard(activation)
