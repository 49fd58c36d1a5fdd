"""What an activation function has to be able to do."""

from __future__ import annotations

import dataclasses
import functools
from abc import ABC, abstractmethod
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from lamina._errors import ParameterError

Symmetry: TypeAlias = Literal["odd", "scale", "linear", "none"]


@functools.lru_cache(maxsize=256)
def _gain_by_quadrature(activation: Activation) -> float:
    """Return 1/√E[f(z)²] for z ~ N(0, 1) by Simpson's rule on [−12, 12]."""
    # The step of .01 puts the kinks of every activation here (−1, 0, 1) on even nodes, where
    # two panels meet, so that the rule keeps its fourth order.
    z = np.linspace(-12.0, 12.0, 2401)
    weights = np.full(z.size, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    values = activation.forward(torch.from_numpy(z)).numpy()
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return float(1.0 / np.sqrt(np.sum(weights * density * values**2) * 0.01 / 3.0))


class Activation(ABC):
    r"""An elementwise function :math:`h = f(a)` with its exact derivative.

    Concrete activations are frozen dataclasses whose fields are their hyperparameters: two
    with equal fields are equal and have one hash. They hold no tensors, and they work on
    ``float32`` and ``float64`` tensors of any shape on any device.

    Attributes
    ----------
    name : str
        Name in :data:`ACTIVATIONS`.
    symmetry : {"odd", "scale", "linear", "none"}
        Which changes of sign or scale pass through the function: ``"odd"`` means
        :math:`f(-a) = -f(a)`, ``"scale"`` means :math:`f(ca) = c f(a)` for every
        :math:`c > 0`, and ``"linear"`` for every :math:`c`.
    saves : {"output", "input"}
        What :meth:`backward_` reads. With ``"output"`` the forward pass may overwrite ``a``.
    learned : bool
        Whether the function has one trainable slope for each unit.
    """

    name: ClassVar[str]
    symmetry: ClassVar[Symmetry]
    saves: ClassVar[Literal["output", "input"]]
    learned: ClassVar[bool] = False

    @property
    def gain(self) -> float:
        r"""Scale of the weights that keeps the mean square of the signal.

        .. math:: g = 1 / \sqrt{\mathrm{E}[f(z)^2]}, \qquad z \sim N(0, 1)

        It is :math:`\sqrt 2` for ReLU and 1 for the identity.
        """
        return _gain_by_quadrature(self)

    @property
    def breakpoints(self) -> tuple[float, ...] | None:
        """Kinks and jumps of a piecewise linear function, or ``None`` for a curved one."""
        return None

    @property
    def at_zero(self) -> float:
        """The value :math:`f(0)`, which a padded unit sends on."""
        return float(self.forward(torch.zeros(1, dtype=torch.float64)))

    @property
    def spec(self) -> str:
        """The text that :func:`get_activation` turns back into an equal activation."""
        values = [getattr(self, field.name) for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        defaults = [field.default for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return self.name if values == defaults else f"{self.name}({values[0]!r})"

    @abstractmethod
    def forward(self, a: Tensor, slope: Tensor | None = None, out: Tensor | None = None) -> Tensor:
        """Return ``f(a)``.

        Parameters
        ----------
        a : Tensor of any shape
            Pre-activations.
        slope : Tensor that broadcasts against ``a``, optional
            Only used when the activation is learned: the slope of each unit.
        out : Tensor of the shape of ``a``, optional
            Where to write; may be ``a`` itself. Without it the call can be differentiated
            by autograd.
        """

    @abstractmethod
    def derivative(self, a: Tensor, slope: Tensor | None = None) -> Tensor:
        """Return the exact derivative at ``a``; at a kink the value that torch's autograd has."""

    @abstractmethod
    def backward_(self, delta: Tensor, a: Tensor, h: Tensor, slope: Tensor | None = None) -> None:
        """Multiply ``delta`` by the derivative, in place.

        Parameters
        ----------
        delta : Tensor of any shape
            Gradient of the error with respect to ``h``; afterwards with respect to ``a``.
        a, h : Tensor of the shape of ``delta``
            Pre-activations and activations. Where ``saves`` is ``"output"``, ``a`` is not read.
        slope : Tensor that broadcasts against ``a``, optional
            Only used when the activation is learned.
        """

    def slope_gradient(self, delta: Tensor, a: Tensor) -> Tensor:
        """Return the gradient with respect to the slope, before it is summed over rows.

        Called with the ``delta`` that :meth:`backward_` has not yet changed.
        """
        raise ParameterError(
            f"activation must be one with a learned slope. Got {self.spec!r}. Use 'prelu'."
        )

    def __call__(self, a: Tensor, slope: Tensor | None = None) -> Tensor:
        """Return :meth:`forward`."""
        return self.forward(a, slope)
