"""Count the parameters of a network from the sizes of its layers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._activation import Activation
from ._layer_sizes import check_layer_sizes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class LayerCount:
    """The numbers of parameters in one layer of weights.

    Parameters
    ----------
    inputs, outputs : int
        Numbers of units below and above the weights.
    slopes : int, default=0
        Learned slopes of a parametric ReLU, one for each output.

    Examples
    --------
    >>> str(LayerCount(3, 4)), LayerCount(3, 4).parameters
    ('12 + 4', 16)
    """

    inputs: int
    outputs: int
    slopes: int = 0

    @property
    def weights(self) -> int:
        return self.inputs * self.outputs

    @property
    def biases(self) -> int:
        return self.outputs

    @property
    def parameters(self) -> int:
        return self.weights + self.biases + self.slopes

    def __str__(self) -> str:
        text = f"{self.weights:,} + {self.biases:,}"
        return f"{text} + {self.slopes:,} slopes" if self.slopes else text


def count_layers(sizes: Sequence[int], activations: Sequence[Activation] = ()) -> list[LayerCount]:
    """Return the counts of every layer of weights, slopes included if activations are given."""
    learned = [activation.learned for activation in activations] or [False] * (len(sizes) - 1)
    pairs = itertools.pairwise(check_layer_sizes(sizes))
    return [
        LayerCount(below, above, above if has_slopes else 0)
        for (below, above), has_slopes in zip(pairs, learned, strict=True)
    ]


def count_parameters(sizes: Sequence[int]) -> int:
    r"""Return the number of weights and biases of a layered network.

    .. math:: \sum_{l=1}^{L} d_l\,(d_{l-1} + 1)

    Parameters
    ----------
    sizes : sequence of int
        Numbers of units :math:`d_0, \dots, d_L` from input to output.

    Returns
    -------
    int
        The count; learned slopes of a parametric ReLU come on top.

    Examples
    --------
    >>> count_parameters((3, 4, 2)), count_parameters((784, 128, 10))
    (26, 101770)
    """
    return sum(count.parameters for count in count_layers(sizes))


def count_table(counts: Sequence[LayerCount]) -> pd.DataFrame:
    """Return the counts as a table indexed by layer, from 1."""
    columns = ("inputs", "outputs", "weights", "biases", "slopes", "parameters")
    import pandas as pd

    table = pd.DataFrame({name: [getattr(c, name) for c in counts] for name in columns})
    table["text"] = [str(count) for count in counts]
    table.index = pd.RangeIndex(1, len(counts) + 1, name="layer")
    return table
