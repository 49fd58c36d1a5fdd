"""How much memory a batch takes while a network trains on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import nn

from lamina._checks import check_integer
from lamina.nn import Network

from ._as_network import as_network

if TYPE_CHECKING:
    import pandas as pd

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True, eq=False)
class MemoryResult:
    """What a batch takes between the forward and the backward pass.

    Attributes
    ----------
    n_samples : int
        Rows of the batch.
    n_parameters : int
        Weights, biases and learned slopes.
    bytes_per_number : int
        4 for float32, 8 for float64.
    units : tuple of int
        Units of each layer, the inputs first.
    kept : tuple of int
        Numbers that each layer keeps for each row: 2 a unit for pre-activation and activation, 1
        where the slope follows from one of them.
    """

    n_samples: int
    n_parameters: int
    bytes_per_number: int
    units: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def activations(self) -> int:
        """Bytes of all pre-activations and activations of the batch, both kept."""
        return 2 * sum(self.units[1:]) * self.n_samples * self.bytes_per_number

    @property
    def least(self) -> int:
        """Bytes where each layer keeps only what its backward pass reads."""
        return sum(self.kept) * self.n_samples * self.bytes_per_number

    @property
    def inputs(self) -> int:
        """Bytes of the inputs of the batch."""
        return self.units[0] * self.n_samples * self.bytes_per_number

    @property
    def parameters(self) -> int:
        """Bytes of the parameters; the gradient takes as much, and Adam twice as much again."""
        return self.n_parameters * self.bytes_per_number

    @property
    def table(self) -> pd.DataFrame:
        """A table with a row for each layer: units, and bytes with both kept and at least."""
        import pandas as pd

        each = self.n_samples * self.bytes_per_number
        return pd.DataFrame(
            {
                "layer": range(1, len(self.units)),
                "units": self.units[1:],
                "activations": [2 * n * each for n in self.units[1:]],
                "least": [n * each for n in self.kept],
            }
        )

    def sentence(self) -> str:
        """Return the sums as one sentence."""
        return (
            f"A batch of {self.n_samples} rows keeps {in_bytes(self.activations)} of "
            f"pre-activations and activations (at least {in_bytes(self.least)}), beside "
            f"{in_bytes(self.parameters)} of parameters."
        )

    def summary(self) -> str:
        """Return a line for each layer, and the sums, as a short text."""
        each = self.n_samples * self.bytes_per_number
        lines = [
            f"layer {i}: {n} units, {in_bytes(2 * n * each)}"
            for i, n in enumerate(self.units[1:], start=1)
        ]
        return "\n".join([*lines, self.sentence()])


def memory(net: Any, n_samples: int) -> MemoryResult:
    r"""Tell the memory that the pre-activations and activations of a batch take.

    .. math:: 2 B\,(d_1 + \dots + d_L) \quad\text{numbers},

    for B rows and layers of :math:`d_l` units: it grows with depth and with the batch, and a
    network that only predicts needs no more than its widest layers. Where the slope follows
    from the activation alone (tanh, ReLU), half of it does.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network; its dtype counts.
    n_samples : int
        Rows of a batch.

    Returns
    -------
    MemoryResult
        Bytes of layers, batch and parameters.

    Raises
    ------
    ParameterError
        If ``net`` is no network that can be read, or there is no row.

    Examples
    --------
    >>> from lamina.inspection import memory
    >>> from lamina.nn import Network
    >>> memory(Network((784, 256, 256, 10), dtype="float32"), 128).activations
    534528
    """
    n_samples = check_integer("n_samples", n_samples, 1)
    network = as_network(net)
    assert isinstance(net, nn.Module)
    own: Network = Network.from_torch(net)
    return MemoryResult(
        n_samples=n_samples,
        n_parameters=network.n_parameters,
        bytes_per_number=own.dtype.itemsize,
        units=network.sizes,
        kept=tuple(
            n if activation.saves == "output" else 2 * n
            for n, activation in zip(network.sizes[1:], network.activations, strict=True)
        ),
    )


def in_bytes(count: float) -> str:
    """Return a number of bytes as people say it."""
    power = 0
    while count >= 1024 and power < len(_UNITS) - 1:
        count, power = count / 1024, power + 1
    return f"{count:.0f} {_UNITS[power]}" if power == 0 else f"{count:.1f} {_UNITS[power]}"
