r"""The registry of activation functions, and which one to use.

**Which one.** Take ReLU or GELU unless there is a reason for another. ReLU gives exact zeros
and a derivative of 0 or 1. GELU and SiLU are its smooth relatives and the default of
transformers. Tanh is centred and has slope 1 at the origin, which the logistic sigmoid is not
and has not. Bounded functions belong where a bounded output is wanted, such as a gate, and
never by default in a deep stack.

**Saturation.** The backward pass multiplies the signal by :math:`f'(a)` at every layer. Far
from zero a bounded function is flat: the logistic derivative is .25 at 0, its largest value,
and .0066 at 5, so that a signal through :math:`L` logistic layers shrinks at least like
:math:`4^{-L}` and the first layers hardly learn. ReLU, GELU, SiLU and ELU keep a derivative
near 1 for positive pre-activations. Yet the scale of the initial weights
(:func:`lamina.nn.initialise`) and the scaling of inputs and targets decide more than the
choice of function: weights of the right size keep pre-activations where :math:`f'` is not
small.

**Kinks.** At a kink the derivative is the one that torch's autograd has: 0 for ReLU, absolute
value and hard tanh; the left slope for leaky and parametric ReLU and ELU.
"""

from __future__ import annotations

import dataclasses
import re

from lamina._checks import shown, suggestion
from lamina._errors import ParameterError

from ._activation import Activation
from ._piecewise import Abs, HardTanh, Identity, LeakyReLU, PReLU, ReLU, Step
from ._smooth import ELU, GELU, Sigmoid, SiLU, Softplus, Tanh

ACTIVATIONS: dict[str, type[Activation]] = {
    kind.name: kind
    for kind in (
        Identity,
        Sigmoid,
        Tanh,
        HardTanh,
        ReLU,
        LeakyReLU,
        PReLU,
        Abs,
        Softplus,
        GELU,
        SiLU,
        ELU,
        Step,
    )
}
"""Every activation by its name."""

ALIASES: dict[str, str] = {"logistic": "sigmoid", "swish": "silu"}
"""Other names in use: scikit-learn's ``"logistic"``, and ``"swish"``."""

_WITH_NUMBER = re.compile(r"\s*(\w+)\s*\(\s*(\S+?)\s*\)\s*")


def get_activation(spec: str | Activation, *, parameter: str = "activation") -> Activation:
    """Return the activation that a name, a name with a number, or an object stands for.

    Parameters
    ----------
    spec : str or Activation
        A name of :data:`ACTIVATIONS`, ``"logistic"`` or ``"swish"``; or a name with its
        hyperparameter, such as ``"leaky_relu(0.1)"``; or an activation, which is returned.
    parameter : str, default="activation"
        What messages call the value.

    Raises
    ------
    ParameterError
        If there is no such activation, or the number is not allowed.

    Examples
    --------
    >>> get_activation("leaky_relu(0.1)")
    LeakyReLU(slope=0.1)
    >>> get_activation("logistic").spec
    'sigmoid'
    """
    if isinstance(spec, Activation):
        return spec
    if not isinstance(spec, str):
        raise ParameterError(
            f"{parameter} must be a name or an Activation. Got {shown(spec)}. "
            "A name is 'relu', or 'leaky_relu(0.1)' with its number."
        )
    match = _WITH_NUMBER.fullmatch(spec)
    name = match[1] if match else spec
    kind = ACTIVATIONS.get(ALIASES.get(name, name))
    if kind is None:
        names = [*ACTIVATIONS, *ALIASES]
        choices = ", ".join(repr(choice) for choice in sorted(names))
        raise ParameterError(
            f"{parameter} must be one of {choices}. Got {spec!r}.{suggestion(name, names)}"
        )
    return kind() if match is None else _with_number(kind, spec, match[2], parameter)


def _with_number(kind: type[Activation], spec: str, text: str, parameter: str) -> Activation:
    """Return ``kind`` with its one hyperparameter read from ``text``."""
    if not dataclasses.fields(kind):  # type: ignore[arg-type]
        raise ParameterError(
            f"{parameter} must be a name alone for {kind.name!r}, which takes no number. "
            f"Got {spec!r}. Write {kind.name!r}."
        )
    try:
        number = float(text)
    except ValueError:
        raise ParameterError(
            f"{parameter} must have a number between its brackets. Got {spec!r}."
        ) from None
    return kind(number)  # type: ignore[call-arg]
