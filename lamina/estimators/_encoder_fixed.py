"""What a fit has settled for the calls of `partial_fit` after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamina._checks import shown
from lamina._errors import ParameterError
from lamina.nn import Activation, Network, get_activation

Settled = dict[str, tuple[Any, Any]]
"""Of each parameter what the networks have, and what is asked for now."""


def of_all(networks: Sequence[Network], activation: str | Activation, dtype: str) -> Settled:
    """Return what any networks settle: their precision, and the activation of hidden layers."""
    settled: Settled = {"dtype": (str(networks[0].dtype).removeprefix("torch."), dtype)}
    hidden = [own for network in networks for own in network.activations[:-1]]
    if hidden and hidden[0] != get_activation(activation):
        settled["activation"] = (hidden[0].spec, activation)
    return settled


def check_settled(settled: Settled) -> None:
    """Refuse to go on with what the networks do not have."""
    for name, (was, now) in settled.items():
        if was != now:
            raise unsettled(name, shown(was), now)


def unsettled(name: str, rule: str, now: Any) -> ParameterError:
    """Return what to say of a parameter that does not go with the networks."""
    return ParameterError(
        f"{name} must stay {rule} to go on from an earlier fit. Got {shown(now)}. "
        "Call fit to begin anew."
    )
