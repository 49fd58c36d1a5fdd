"""Activations made of straight pieces: identity, ReLU and its relatives, hard tanh, step.

``backward_`` and the ``out=`` branch of ``forward`` run thousands of times a second on small
tensors. Each uses the fewest torch operations that were measured to be the fastest on 128 rows
of 64 units; comparisons with Boolean results and ``torch.where`` are five times slower there
than arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from lamina._checks import check_real

from ._activation import Activation, Symmetry

_leaky_relu_out: Any = torch.ops.aten.leaky_relu.out
_leaky_relu_backward: Any = torch.ops.aten.leaky_relu_backward.grad_input
_hardtanh_backward: Any = torch.ops.aten.hardtanh_backward.grad_input
_threshold_backward: Any = torch.ops.aten.threshold_backward.grad_input
_threshold_backward_new: Any = torch.ops.aten.threshold_backward.default


@dataclass(frozen=True)
class Identity(Activation):
    r"""The identity, :math:`f(a) = a`: a layer without a nonlinearity.

    Without ``out``, :meth:`forward` returns ``a`` itself, as ``torch.nn.Identity`` does.

    Examples
    --------
    >>> Identity().breakpoints
    ()
    """

    name: ClassVar[str] = "identity"
    symmetry: ClassVar[Symmetry] = "linear"
    saves: ClassVar[Literal["output", "input"]] = "output"

    @property
    def gain(self) -> float:
        return 1.0

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return ()

    def forward(self, a: Tensor, slope: Tensor | None = None, out: Tensor | None = None) -> Tensor:
        return a if out is None or out is a else out.copy_(a)

    def derivative(self, a: Tensor, slope: Tensor | None = None) -> Tensor:
        return torch.ones_like(a)

    def backward_(self, delta: Tensor, a: Tensor, h: Tensor, slope: Tensor | None = None) -> None:
        pass


@dataclass(frozen=True)
class HardTanh(Activation):
    r"""Straight stand-in for tanh, :math:`f(a) = \max(-1, \min(1, a))`.

    The derivative is 1 inside (−1, 1) and 0 elsewhere, also at the two kinks.

    Examples
    --------
    >>> HardTanh()(torch.tensor([-3.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """

    name: ClassVar[str] = "hard_tanh"
    symmetry: ClassVar[Symmetry] = "odd"
    saves: ClassVar[Literal["output", "input"]] = "output"

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return (-1.0, 1.0)

    def forward(self, a: Tensor, slope: Tensor | None = None, out: Tensor | None = None) -> Tensor:
        if out is None:
            # clamp's own autograd has derivative 1 at the kinks, hardtanh's has 0.
            return torch.nn.functional.hardtanh(a)
        return torch.clamp(a, -1.0, 1.0, out=out)

    def derivative(self, a: Tensor, slope: Tensor | None = None) -> Tensor:
        return (a.abs() < 1.0).to(a.dtype)

    def backward_(self, delta: Tensor, a: Tensor, h: Tensor, slope: Tensor | None = None) -> None:
        _hardtanh_backward(delta, h, -1.0, 1.0, grad_input=delta)


@dataclass(frozen=True)
class ReLU(Activation):
    r"""Rectified linear unit, :math:`f(a) = \max(0, a)`.

    Gives exact zeros, and a derivative that is 0 or 1 and does not shrink. At the kink the
    derivative is 0. A unit whose pre-activation is negative on every row receives no gradient
    and stays dead.

    Examples
    --------
    >>> ReLU().derivative(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 1.])

    References
    ----------
    .. [1] X. Glorot, A. Bordes, Y. Bengio, Deep sparse rectifier neural networks,
       AISTATS 2011, https://proceedings.mlr.press/v15/glorot11a.html
    """

    name: ClassVar[str] = "relu"
    symmetry: ClassVar[Symmetry] = "scale"
    saves: ClassVar[Literal["output", "input"]] = "output"

    @property
    def gain(self) -> float:
        return math.sqrt(2.0)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return (0.0,)

    def forward(self, a: Tensor, slope: Tensor | None = None, out: Tensor | None = None) -> Tensor:
        # clamp_min is twice as fast with out=, but its autograd has derivative 1 at the kink.
        return torch.relu(a) if out is None else torch.clamp_min(a, 0.0, out=out)

    def derivative(self, a: Tensor, slope: Tensor | None = None) -> Tensor:
        return (a > 0.0).to(a.dtype)

    def backward_(self, delta: Tensor, a: Tensor, h: Tensor, slope: Tensor | None = None) -> None:
        _threshold_backward(delta, h, 0.0, grad_input=delta)


@dataclass(frozen=True)
class LeakyReLU(Activation):
    r"""Rectifier with a slope left of zero, :math:`f(a) = \max(0, a) + \alpha \min(0, a)`.

    Slope −1 gives the absolute value, 0 gives ReLU, 1 the identity. At the kink the derivative
    is the slope.

    Parameters
    ----------
    slope : float, default=0.01
        The slope :math:`\alpha` for negative pre-activations.

    Examples
    --------
    >>> LeakyReLU(0.1)(torch.tensor([-2.0, 3.0]))
    tensor([-0.2000,  3.0000])

    References
    ----------
    .. [1] A. L. Maas, A. Y. Hannun, A. Y. Ng, Rectifier nonlinearities improve neural network
       acoustic models, ICML 2013, https://ai.stanford.edu/~amaas/papers/relu_hybrid_icml2013_final.pdf
    """

    slope: float = 0.01

    name: ClassVar[str] = "leaky_relu"
    symmetry: ClassVar[Symmetry] = "scale"
    # With a negative slope the sign of the output does not tell that of the input.
    saves: ClassVar[Literal["output", "input"]] = "input"

    def __post_init__(self) -> None:
        object.__setattr__(self, "slope", check_real("slope", self.slope))

    @property
    def gain(self) -> float:
        return math.sqrt(2.0 / (1.0 + self.slope**2))

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return () if self.slope == 1.0 else (0.0,)

    def forward(self, a: Tensor, slope: Tensor | None = None, out: Tensor | None = None) -> Tensor:
        if out is None:
            return torch.nn.functional.leaky_relu(a, self.slope)
        _leaky_relu_out(a, self.slope, out=out)
        return out

    def derivative(self, a: Tensor, slope: Tensor | None = None) -> Tensor:
        return torch.where(a > 0.0, torch.ones_like(a), self.slope)

    def backward_(self, delta: Tensor, a: Tensor, h: Tensor, slope: Tensor | None = None) -> None:
        _leaky_relu_backward(delta, a, self.slope, False, grad_input=delta)


@dataclass(frozen=True)
class PReLU(Activation):
    r"""Leaky ReLU whose slope is learned, one for each unit.

    .. math:: f(a) = \max(0, a) + \alpha \min(0, a)

    The slopes belong to the network, not to this object; without them ``init`` is used.

    Parameters
    ----------
    init : float, default=0.25
        Slope of every unit before training.

    Examples
    --------
    >>> PReLU()(torch.tensor([[-2.0, -2.0]]), slope=torch.tensor([0.5, 1.0]))
    tensor([[-1., -2.]])

    References
    ----------
    .. [1] K. He, X. Zhang, S. Ren, J. Sun, Delving deep into rectifiers, ICCV 2015,
       https://arxiv.org/abs/1502.01852
    """

    init: float = 0.25

    name: ClassVar[str] = "prelu"
    symmetry: ClassVar[Symmetry] = "scale"
    saves: ClassVar[Literal["output", "input"]] = "input"
    learned: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "init", check_real("init", self.init))

    @property
    def gain(self) -> float:
        return math.sqrt(2.0 / (1.0 + self.init**2))

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return (0.0,)

    def forward(self, a: Tensor, slope: Tensor | None = None, out: Tensor | None = None) -> Tensor:
        weight = self.init if slope is None else slope
        if out is None:
            return torch.where(a > 0.0, a, weight * a)
        # relu + slope · (a − relu), in two operations.
        rectified = torch.clamp_min(a, 0.0)
        return torch.lerp(rectified, a, weight, out=out)

    def derivative(self, a: Tensor, slope: Tensor | None = None) -> Tensor:
        weight = self.init if slope is None else slope
        return torch.where(a > 0.0, torch.ones_like(a), weight)

    def backward_(self, delta: Tensor, a: Tensor, h: Tensor, slope: Tensor | None = None) -> None:
        # The part where a > 0 passes unchanged, the rest times the slope.
        passed = _threshold_backward_new(delta, a, 0.0)
        torch.lerp(passed, delta, self.init if slope is None else slope, out=delta)

    def slope_gradient(self, delta: Tensor, a: Tensor) -> Tensor:
        return torch.clamp_max(a, 0.0).mul_(delta)


@dataclass(frozen=True)
class Abs(Activation):
    r"""Absolute value, :math:`f(a) = |a|`, with derivative 0 at the kink.

    Examples
    --------
    >>> Abs().derivative(torch.tensor([-3.0, 0.0, 3.0]))
    tensor([-1.,  0.,  1.])
    """

    name: ClassVar[str] = "abs"
    symmetry: ClassVar[Symmetry] = "scale"
    saves: ClassVar[Literal["output", "input"]] = "input"

    @property
    def gain(self) -> float:
        return 1.0

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return (0.0,)

    def forward(self, a: Tensor, slope: Tensor | None = None, out: Tensor | None = None) -> Tensor:
        return torch.abs(a, out=out)

    def derivative(self, a: Tensor, slope: Tensor | None = None) -> Tensor:
        return torch.sign(a)

    def backward_(self, delta: Tensor, a: Tensor, h: Tensor, slope: Tensor | None = None) -> None:
        delta.mul_(torch.sign(a))


@dataclass(frozen=True)
class Step(Activation):
    r"""Threshold of the hand-wired neuron, 1 where :math:`a > 0` and 0 elsewhere.

    The value at 0 is 0, so that the step is the derivative of ReLU with the same convention.
    Its own derivative is 0 everywhere: a layer below it cannot be trained by gradients. To see
    what it computes, replace it by a steep sigmoid, ``Sigmoid(steepness=5)``.

    Examples
    --------
    >>> Step()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 1.])
    """

    name: ClassVar[str] = "step"
    symmetry: ClassVar[Symmetry] = "none"
    saves: ClassVar[Literal["output", "input"]] = "output"

    @property
    def gain(self) -> float:
        return math.sqrt(2.0)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return (0.0,)

    def forward(self, a: Tensor, slope: Tensor | None = None, out: Tensor | None = None) -> Tensor:
        return (a > 0.0).to(a.dtype) if out is None else torch.gt(a, 0.0, out=out)

    def derivative(self, a: Tensor, slope: Tensor | None = None) -> Tensor:
        return torch.zeros_like(a)

    def backward_(self, delta: Tensor, a: Tensor, h: Tensor, slope: Tensor | None = None) -> None:
        delta.zero_()
