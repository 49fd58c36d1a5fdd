"""One hidden layer of several widths on several targets, all trained as one stack."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lamina._checks import check_integer, check_real, check_sizes
from lamina._errors import DataError, ParameterError
from lamina._typing import FloatArray
from lamina.datasets import TARGETS, make_approximation
from lamina.heads import Normal
from lamina.nn import Activation, Network, Uniform
from lamina.plots import PALETTE, panels, style
from lamina.stack import Member, train

from ._registry import Values, experiment

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Target: TypeAlias = Callable[[FloatArray], FloatArray]
_WIDTHS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, eq=False)
class WidthTable:
    """Errors and fits of networks by target and width.

    Attributes
    ----------
    widths : tuple of int
        Hidden units.
    x : ndarray of shape (n_points,)
        The grid that they were fitted on.
    targets : dict of str to ndarray
        Values (n_points,) of each target.
    fits : dict of (str, int) to ndarray
        Values (n_points,) of each network.
    networks : dict of (str, int) to Network
        The networks.
    """

    widths: tuple[int, ...]
    x: FloatArray
    targets: dict[str, FloatArray]
    fits: dict[tuple[str, int], FloatArray]
    networks: dict[tuple[str, int], Network]

    def error(self, target: str, width: int) -> float:
        """Return the root mean squared error of one network on the grid."""
        return float(np.sqrt(np.mean((self.fits[target, width] - self.targets[target]) ** 2)))

    def to_dataframe(self) -> pd.DataFrame:
        """Return root mean squared errors, a row for each target and a column for each width."""
        import pandas as pd

        rows = [[self.error(name, width) for width in self.widths] for name in self.targets]
        return pd.DataFrame(rows, index=list(self.targets), columns=list(self.widths))

    def summary(self) -> str:
        """Return the table of errors."""
        return f"Root mean squared error by hidden units:\n{self.to_dataframe().round(4)}"

    def plot(self) -> Axes:
        """Draw every fit over its target, a row of panels for each target; return the first."""
        grid = panels(len(self.targets), len(self.widths), size=(2.1, 1.8))
        places = itertools.product(self.targets.items(), self.widths)
        with style():
            for ax, ((name, values), width) in zip(grid.flat, places, strict=True):
                ax.plot(self.x, values, color=PALETTE[1], label=name)
                ax.plot(self.x, self.fits[name, width], color=PALETTE[0], label="network")
                ax.set_title(f"{name}, {width}: {self.error(name, width):.3f}", fontsize=8)
                ax.set_xlabel("x")
                ax.set_ylabel("value")
        first: Axes = grid[0, 0]
        return first


def width_table(
    targets: Mapping[str, Target] | Sequence[str] | Target = ("smooth", "kink", "step"),
    widths: int | Sequence[int] = _WIDTHS,
    *,
    interval: tuple[float, float] = (-1.0, 1.0),
    activation: str | Activation = "tanh",
    n_points: int = 200,
    epochs: int = 2500,
    learning_rate: float = 0.01,
    random_state: int = 0,
) -> WidthTable:
    r"""Train one-hidden-layer networks of several widths on several targets, as one stack.

    .. math:: \min \sum_{\text{networks}} \frac1N \sum_n (f(x_n) - g(x_n))^2

    The sum lets every network go its own way: none feels the others. How to read the table: a
    smooth target takes about one tanh unit for each half-period, a kink takes two, and a jump
    takes weights that grow without end, so that its error falls slowly. That a wider network
    is sometimes worse is the optimiser's doing: the narrower one is among its settings.

    Parameters
    ----------
    targets : dict of str to callable, sequence of str, or callable
        Functions of an array by name, names of `lamina.datasets.TARGETS`, or one function. By
        default a sine, a kink and a step.
    widths : int or sequence of int, default=(1, 2, 4, 8, 16, 32)
        Hidden units.
    interval : (float, float), default=(-1.0, 1.0)
        Where the targets are approximated. Networks see it scaled to [-1, 1].
    activation : str or Activation, default="tanh"
        Activation of the hidden units.
    n_points : int, default=200
        Even grid on the interval.
    epochs : int, default=2500
        Steps of Adam, each on the whole grid.
    learning_rate : float, default=0.01
        Size of the steps.
    random_state : int, default=0
        Seed of the first network; the others count on from it.

    Returns
    -------
    WidthTable

    Raises
    ------
    DataError
        If a target does not return a finite number for each point.
    ParameterError
        If a size or an option cannot be used.

    Examples
    --------
    >>> from lamina.experiments import width_table
    >>> table = width_table(np.cos, [1, 4], interval=(0.0, 6.0), epochs=300)
    >>> bool(table.error("target", 4) < table.error("target", 1))
    True
    """
    sizes = check_sizes("widths", widths)
    functions = _functions(targets)
    low, high = interval
    n = check_integer("n_points", n_points, 2)
    x, _ = make_approximation(np.zeros_like, n, low=low, high=high)
    values = {name: _values(name, function, x[:, 0]) for name, function in functions.items()}
    inside = np.tile(np.linspace(-1, 1, n), len(values))[:, None]
    keys = [(name, width) for name in values for width in sizes]
    start = Uniform(-3, 3, "1/sqrt(width)")
    members = [
        Member(
            (width,),
            activation,
            Normal(),
            init=start,
            seed=random_state + i,
            rows=n * (i // len(sizes)) + np.arange(n),
            batch_size=n,
            learning_rate=check_real("learning_rate", learning_rate, 0.0, open_minimum=True),
            max_epochs=check_integer("epochs", epochs, 1),
            shuffle=False,
        )
        for i, (_, width) in enumerate(keys)
    ]
    y = np.concatenate(list(values.values()))
    # Padded to one width and masked, these few small networks run fastest as one tensor.
    trained = train(members, inside, y, backend="torch").networks
    networks = {key: _on_interval(net, low, high) for key, net in zip(keys, trained, strict=True)}
    fits = {key: net.predict_raw(x)[:, 0] for key, net in networks.items()}
    return WidthTable(sizes, x[:, 0], values, fits, networks)


def _functions(targets: Any) -> dict[str, Target]:
    """Return the targets by name."""
    if callable(targets):
        return {"target": targets}
    if isinstance(targets, Mapping):
        found = dict(targets)
    else:
        names = [targets] if isinstance(targets, str) else list(targets)
        unknown = [name for name in names if name not in TARGETS]
        if unknown:
            raise ParameterError(
                f"targets must be functions or among {sorted(TARGETS)}. Got {unknown[0]!r}."
            )
        found = {name: TARGETS[name] for name in names}
    if not found or not all(callable(function) for function in found.values()):
        raise ParameterError(f"targets must hold at least one function. Got {targets!r}.")
    return found


def _values(name: str, function: Target, x: FloatArray) -> FloatArray:
    """Return the values (N,) of a target."""
    values: FloatArray = np.asarray(function(x), dtype=np.float64)
    wrong = values[~np.isfinite(values)]
    if values.shape != x.shape or wrong.size:
        got = f"{wrong[0]}" if wrong.size else f"shape {values.shape}"
        raise DataError(
            f"The target {name!r} must return a finite number for each of {len(x)} points. "
            f"Got {got}."
        )
    return values


def _on_interval(network: Network, low: float, high: float) -> Network:
    """Return the same network as a function on [low, high], in float64."""
    (W, b), *rest = [(W.astype(np.float64), b.astype(np.float64)) for W, b in network.layers()]
    scale, middle = 2 / (high - low), (low + high) / 2
    layers = [(W * scale, b - W[:, 0] * scale * middle), *rest]
    return Network.from_arrays(layers, network.activations[0])


@experiment("universal-approx-stack")
def universal_approximation() -> Values:
    """Train three targets by six widths of tanh units as one stack: RMS error of each."""
    table = width_table(random_state=189)
    return {
        "widths": list(table.widths),
        **{name: [table.error(name, width) for width in table.widths] for name in table.targets},
    }
