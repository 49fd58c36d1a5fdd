r"""How the learning rate changes: a factor on the member's own rate, by step or by epoch.

With t the step, T the number of steps of the whole training, and N the samples seen so far:

===========  ==========================================================================
Constant     1
InverseScaling   (N + 1)^{−power}, set at the start of each epoch
Adaptive     1, divided by ``divisor`` each time patience runs out, until ``minimum``
Cosine       a linear rise over ``warmup``, then final + (1 − final)·½(1 + cos(π t/T))
OneCycle     a cosine rise from ``start`` over ``warmup``, then a cosine fall to ``final``
===========  ==========================================================================

References
----------
.. [1] I. Loshchilov, F. Hutter, SGDR, ICLR 2017, https://arxiv.org/abs/1608.03983
.. [2] L. N. Smith, N. Topin, Super-convergence, 2018, https://arxiv.org/abs/1708.07120
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lamina._checks import check_choice, check_real, shown
from lamina._errors import ParameterError
from lamina._typing import FloatArray


@dataclass(frozen=True)
class Schedule:
    """A factor on the learning rate; use one of the concrete classes.

    Attributes
    ----------
    name : str
        Name under which the schedule is found.
    """

    name: ClassVar[str] = ""

    def factors(self, epoch: int, n_steps: int, max_epochs: int, n_seen: int) -> FloatArray:
        """Return one factor per step of an epoch.

        Parameters
        ----------
        epoch : int
            Number of the epoch, from 0.
        n_steps : int
            Steps in an epoch.
        max_epochs : int
            Most epochs of the whole training.
        n_seen : int
            Samples seen before this epoch.

        Returns
        -------
        ndarray of shape (n_steps,)
            Factors on the member's learning rate.
        """
        raise NotImplementedError(f"{type(self).__name__} must define factors().")


@dataclass(frozen=True)
class Constant(Schedule):
    """The same learning rate throughout.

    Examples
    --------
    >>> Constant().factors(0, 2, 10, 0).tolist()
    [1.0, 1.0]
    """

    name: ClassVar[str] = "constant"

    def factors(self, epoch: int, n_steps: int, max_epochs: int, n_seen: int) -> FloatArray:
        """Return ones."""
        return np.ones(n_steps)


@dataclass(frozen=True)
class InverseScaling(Schedule):
    """Divide the rate by a power of the number of samples seen, as scikit-learn does.

    Parameters
    ----------
    power : float, default=0.5
        The exponent, at least 0.

    Examples
    --------
    >>> InverseScaling().factors(epoch=1, n_steps=1, max_epochs=9, n_seen=99).tolist()
    [0.1]
    """

    power: float = 0.5
    name: ClassVar[str] = "invscaling"

    def __post_init__(self) -> None:
        check_real("InverseScaling power", self.power, 0.0)

    def factors(self, epoch: int, n_steps: int, max_epochs: int, n_seen: int) -> FloatArray:
        """Return ``(n_seen + 1) ** -power`` for the whole epoch."""
        return np.full(n_steps, (n_seen + 1.0) ** -self.power)


@dataclass(frozen=True)
class Adaptive(Schedule):
    """Divide the rate each time patience runs out, and stop when it is small.

    Parameters
    ----------
    divisor : float, default=5.0
        What the rate is divided by, above 1.
    minimum : float, default=1e-6
        Training stops when patience runs out at a rate that is not larger.

    Examples
    --------
    >>> Adaptive().divisor
    5.0
    """

    divisor: float = 5.0
    minimum: float = 1e-6
    name: ClassVar[str] = "adaptive"

    def __post_init__(self) -> None:
        check_real("Adaptive divisor", self.divisor, 1.0, open_minimum=True)
        check_real("Adaptive minimum", self.minimum, 0.0)

    def factors(self, epoch: int, n_steps: int, max_epochs: int, n_seen: int) -> FloatArray:
        """Return ones; the stopping rule keeps the divided rate."""
        return np.ones(n_steps)


def _rise(position: FloatArray, warmup: float, start: float, final: float) -> FloatArray:
    """Return a cosine rise from start to 1 over warmup, then a cosine fall to final."""
    up = start + (1 - start) * 0.5 * (1 - np.cos(np.pi * position / max(warmup, 1e-12)))
    down = (position - warmup) / max(1 - warmup, 1e-12)
    fall = final + (1 - final) * 0.5 * (1 + np.cos(np.pi * np.minimum(down, 1.0)))
    both: FloatArray = np.where(position < warmup, up, fall)
    return both


@dataclass(frozen=True)
class Cosine(Schedule):
    """A fall along half a cosine, after a linear rise.

    Parameters
    ----------
    warmup : float, default=0.0
        Share of all steps for the rise, in [0, 1).
    final : float, default=0.0
        Factor at the end, in [0, 1].

    Examples
    --------
    >>> Cosine().factors(epoch=0, n_steps=4, max_epochs=1, n_seen=0).round(3).tolist()
    [1.0, 0.854, 0.5, 0.146]
    """

    warmup: float = 0.0
    final: float = 0.0
    name: ClassVar[str] = "cosine"

    def __post_init__(self) -> None:
        check_real("Cosine warmup", self.warmup, 0.0, 1.0, open_maximum=True)
        check_real("Cosine final", self.final, 0.0, 1.0)

    def factors(self, epoch: int, n_steps: int, max_epochs: int, n_seen: int) -> FloatArray:
        """Return the factors of the epoch's steps."""
        total = n_steps * max_epochs
        step = epoch * n_steps + np.arange(n_steps)
        rising = np.minimum((step + 1) / max(self.warmup * total, 1.0), 1.0)
        fall = _rise(np.maximum(step / total, self.warmup), self.warmup, 1.0, self.final)
        return np.where(step < self.warmup * total, rising, fall)


@dataclass(frozen=True)
class OneCycle(Schedule):
    """A rise and a longer fall; momentum stays as it is.

    Parameters
    ----------
    warmup : float, default=0.3
        Share of all steps for the rise, in (0, 1).
    start : float, default=0.04
        Factor at the first step.
    final : float, default=1e-4
        Factor at the end.

    Examples
    --------
    >>> OneCycle(warmup=0.5).factors(epoch=0, n_steps=4, max_epochs=1, n_seen=0).round(3).tolist()
    [0.04, 0.52, 1.0, 0.5]
    """

    warmup: float = 0.3
    start: float = 0.04
    final: float = 1e-4
    name: ClassVar[str] = "one_cycle"

    def __post_init__(self) -> None:
        check_real("OneCycle warmup", self.warmup, 0.0, 1.0, open_minimum=True, open_maximum=True)
        check_real("OneCycle start", self.start, 0.0, 1.0)
        check_real("OneCycle final", self.final, 0.0, 1.0)

    def factors(self, epoch: int, n_steps: int, max_epochs: int, n_seen: int) -> FloatArray:
        """Return the factors of the epoch's steps."""
        position = (epoch * n_steps + np.arange(n_steps)) / (n_steps * max_epochs)
        return _rise(position, self.warmup, self.start, self.final)


SCHEDULES: dict[str, type[Schedule]] = {
    kind.name: kind for kind in (Constant, InverseScaling, Adaptive, Cosine, OneCycle)
}
"""Every schedule by its name."""


def get_schedule(spec: str | Schedule | None) -> Schedule:
    """Return the schedule of a name, ``Constant()`` for None, or ``spec`` itself.

    Parameters
    ----------
    spec : str, Schedule or None
        A name in ``SCHEDULES`` or an object of one of its classes.

    Returns
    -------
    Schedule
        The schedule.

    Raises
    ------
    ParameterError
        If the name is not known.

    Examples
    --------
    >>> get_schedule(None)
    Constant()
    """
    if spec is None:
        return Constant()
    if isinstance(spec, Schedule):
        return spec
    if not isinstance(spec, str):
        raise ParameterError(
            f"schedule must be None, a name or a Schedule such as Cosine(). Got {shown(spec)}."
        )
    return SCHEDULES[check_choice("schedule", spec, SCHEDULES)]()
