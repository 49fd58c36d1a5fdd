r"""How a member's weights move: the optimisers and their settings.

Each optimiser is a frozen record; the arithmetic on flat buffers stands in ``_update.py``. With
g the gradient of the mean error and η the learning rate of the step:

==========  =====================================================================
SGD         v ← μv − ηg;  θ ← θ + v, or with Nesterov θ ← θ + μv − ηg
Adam        m ← β₁m + (1−β₁)g;  s ← β₂s + (1−β₂)g²;
            θ ← θ − η·√(1−β₂ᵗ)/(1−β₁ᵗ) · m/(√s + ε)
AdamW       the same, after θ ← (1 − ηλ)θ on weights
RMSprop     s ← ρs + (1−ρ)g²;  v ← μv + g/(√s + ε);  θ ← θ − ηv
Muon        m ← μm + g on each hidden matrix,
            θ ← (1 − ηλ)θ − η·√max(1, out/in)·orthogonal(g + μm);
            AdamW for biases and the output layer
LBFGS       SciPy's L-BFGS-B on all rows at once
==========  =====================================================================

References
----------
.. [1] D. P. Kingma, J. Ba, Adam, ICLR 2015, https://arxiv.org/abs/1412.6980
.. [2] I. Loshchilov, F. Hutter, Decoupled weight decay regularization, ICLR 2019,
   https://arxiv.org/abs/1711.05101
.. [3] K. Jordan et al., Muon: an optimizer for hidden layers, 2024,
   https://kellerjordan.github.io/posts/muon/
.. [4] D. C. Liu, J. Nocedal, On the limited memory BFGS method, Math. Program. 45, 1989,
   https://doi.org/10.1007/BF01589116
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lamina._checks import check_choice, check_flag, check_integer, check_real, shown
from lamina._errors import ParameterError


@dataclass(frozen=True)
class Optimizer:
    """Settings of one optimiser; use one of the concrete classes.

    Attributes
    ----------
    name : str
        Name under which the optimiser is found.
    decoupled : bool
        Whether weight decay acts on the weights directly (AdamW) and not through the gradient.
    """

    name: ClassVar[str] = ""
    decoupled: ClassVar[bool] = False


def _check_rates(owner: Optimizer, *names: str) -> None:
    for name in names:
        value = getattr(owner, name)
        check_real(f"{type(owner).__name__} {name}", value, 0.0, 1.0, open_maximum=True)


@dataclass(frozen=True)
class SGD(Optimizer):
    """Gradient descent with momentum.

    Parameters
    ----------
    momentum : float, default=0.9
        Share of the last step that is kept, in [0, 1].
    nesterov : bool, default=True
        Take the gradient's effect on the next step into this one.

    Examples
    --------
    >>> SGD(momentum=0.5)
    SGD(momentum=0.5, nesterov=True)
    """

    momentum: float = 0.9
    nesterov: bool = True
    name: ClassVar[str] = "sgd"

    def __post_init__(self) -> None:
        check_real("SGD momentum", self.momentum, 0.0, 1.0)
        check_flag("SGD nesterov", self.nesterov)


@dataclass(frozen=True)
class Adam(Optimizer):
    """Steps scaled by running means of the gradient and of its square.

    Parameters
    ----------
    beta_1, beta_2 : float, default=0.9, 0.999
        Decay rates of the two running means, in [0, 1).
    epsilon : float, default=1e-8
        Added to the root of the second mean, before bias correction as in scikit-learn.

    Examples
    --------
    >>> Adam(beta_2=0.95).beta_2
    0.95
    """

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    name: ClassVar[str] = "adam"

    def __post_init__(self) -> None:
        _check_rates(self, "beta_1", "beta_2")
        check_real(f"{type(self).__name__} epsilon", self.epsilon, 0.0, open_minimum=True)


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam with weight decay that acts on the weights and not through the gradient.

    Parameters
    ----------
    beta_1, beta_2 : float, default=0.9, 0.999
        Decay rates of the two running means, in [0, 1).
    epsilon : float, default=1e-8
        Added to the root of the second mean.

    Examples
    --------
    >>> AdamW().decoupled
    True
    """

    name: ClassVar[str] = "adamw"
    decoupled: ClassVar[bool] = True


@dataclass(frozen=True)
class RMSprop(Optimizer):
    """Steps divided by the running root mean square of the gradient.

    Parameters
    ----------
    rho : float, default=0.99
        Decay rate of the running mean of squares, in [0, 1).
    momentum : float, default=0.0
        Share of the last step that is kept, in [0, 1].
    epsilon : float, default=1e-8
        Added to the root.

    Examples
    --------
    >>> RMSprop(rho=0.9).rho
    0.9
    """

    rho: float = 0.99
    momentum: float = 0.0
    epsilon: float = 1e-8
    name: ClassVar[str] = "rmsprop"

    def __post_init__(self) -> None:
        _check_rates(self, "rho")
        check_real("RMSprop momentum", self.momentum, 0.0, 1.0)
        check_real("RMSprop epsilon", self.epsilon, 0.0, open_minimum=True)


@dataclass(frozen=True)
class Muon(Optimizer):
    """Orthogonalised momentum for hidden matrices, AdamW for everything else.

    The output layer, all biases and learned slopes move by AdamW with the learning rate
    times ``adamw_ratio``, in the decay of weights too: a good Muon rate (0.02) is far above a
    good AdamW rate.

    Parameters
    ----------
    momentum : float, default=0.95
        Share of the last step that is kept, in [0, 1).
    nesterov : bool, default=True
        Look one step ahead.
    n_steps : int, default=5
        Newton–Schulz iterations per step.
    adamw_ratio : float, default=0.05
        AdamW's learning rate as a multiple of the member's.
    beta_1, beta_2, epsilon : float, default=0.9, 0.999, 1e-8
        Settings of AdamW.

    Examples
    --------
    >>> Muon().n_steps
    5
    """

    momentum: float = 0.95
    nesterov: bool = True
    n_steps: int = 5
    adamw_ratio: float = 0.05
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    name: ClassVar[str] = "muon"
    decoupled: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_rates(self, "momentum", "beta_1", "beta_2")
        check_flag("Muon nesterov", self.nesterov)
        check_integer("Muon n_steps", self.n_steps, 1)
        check_real("Muon adamw_ratio", self.adamw_ratio, 0.0)
        check_real("Muon epsilon", self.epsilon, 0.0, open_minimum=True)


@dataclass(frozen=True)
class LBFGS(Optimizer):
    """A quasi-Newton method on all rows at once, by SciPy; one network at a time, in float64.

    Learning rate, schedule, batch size, dropout and clipping have no meaning here.

    Parameters
    ----------
    max_fun : int, default=15000
        Most evaluations of the loss.
    gtol : float, default=1e-4
        Stop when no component of the gradient is larger.

    Examples
    --------
    >>> LBFGS(max_fun=100).max_fun
    100
    """

    max_fun: int = 15000
    gtol: float = 1e-4
    name: ClassVar[str] = "lbfgs"

    def __post_init__(self) -> None:
        check_integer("LBFGS max_fun", self.max_fun, 1)
        check_real("LBFGS gtol", self.gtol, 0.0)


OPTIMIZERS: dict[str, type[Optimizer]] = {
    kind.name: kind for kind in (SGD, Adam, AdamW, RMSprop, Muon, LBFGS)
}
"""Every optimiser by its name."""


def get_optimizer(spec: str | Optimizer) -> Optimizer:
    """Return the optimiser of a name, or ``spec`` itself if it is one already.

    Parameters
    ----------
    spec : str or Optimizer
        A name in ``OPTIMIZERS`` or an object of one of its classes.

    Returns
    -------
    Optimizer
        Settings of the optimiser.

    Raises
    ------
    ParameterError
        If the name is not known.

    Examples
    --------
    >>> get_optimizer("sgd")
    SGD(momentum=0.9, nesterov=True)
    """
    if isinstance(spec, Optimizer) and type(spec) in OPTIMIZERS.values():
        return spec
    if not isinstance(spec, str):
        raise ParameterError(
            f"optimizer must be a name or an Optimizer such as Adam(). Got {shown(spec)}."
        )
    return OPTIMIZERS[check_choice("optimizer", spec, OPTIMIZERS)]()
