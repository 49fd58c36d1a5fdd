"""How large the gradient of the error is in each layer, and what made it so."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from lamina._checks import shown
from lamina._errors import DataError, ParameterError
from lamina._typing import FloatArray
from lamina.nn import Network

from ._arrays import lengths
from ._as_network import as_network
from ._axes import axes_or_new
from ._memory import MemoryResult, memory
from ._units_blocks import blocks, data_matrix

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

VANISHED, EXPLODED = 1e-2, 1e2
"""Size of a layer's signal, beside that of the last hidden one, that is called so."""


@dataclass(frozen=True, eq=False)
class GradientLayer:
    r"""The gradient in one layer.

    Attributes
    ----------
    layer : int
        The layer of weights, counted from 1.
    activation : str
        Name of the function above the weights.
    norm : float
        Euclidean norm of the gradient of the mean error with respect to weights and biases.
    weight_norm : float
        Norm of the weights and biases themselves.
    signal : float
        Root mean square over the rows of :math:`\lVert\delta_n\rVert`, the gradient of a row's
        error with respect to its pre-activations.
    from_weights, from_slopes : float
        What the weights above and the slopes make of the signal of the layer above; their
        product is the ratio of the two signals. NaN in the output layer, or where nothing comes.
    unit_norm : ndarray of shape (n_units,)
        Norm of the gradient of each unit's incoming weights and bias.
    unit_slope : ndarray of shape (n_units,)
        The factor :math:`h'` of each unit: mean of :math:`|f'(a)|` over the rows.
    unit_passed : ndarray of shape (n_units,)
        The share of the signal that gets through the unit's slope: root mean square of
        :math:`f'(a)\,\partial E/\partial h` over that of :math:`\partial E/\partial h`.
    """

    layer: int
    activation: str
    norm: float
    weight_norm: float
    signal: float
    from_weights: float
    from_slopes: float
    unit_norm: FloatArray
    unit_slope: FloatArray
    unit_passed: FloatArray


@dataclass(frozen=True, eq=False)
class GradientsResult:
    """How large the gradient is in each layer, and what made it so.

    Attributes
    ----------
    n_samples : int
        Rows.
    error : float
        The mean error, in nats for a head of lamina.
    layers : tuple of GradientLayer
        A record for each layer, the output's last.
    memory : MemoryResult
        What a batch of these rows takes.
    """

    n_samples: int
    error: float
    layers: tuple[GradientLayer, ...]
    memory: MemoryResult

    @property
    def ratio(self) -> float:
        """Signal of the first hidden layer over that of the last one; 1 with a single one."""
        hidden = self.layers[:-1] or self.layers
        return hidden[0].signal / hidden[-1].signal if hidden[-1].signal else 0.0

    @property
    def verdict(self) -> Literal["healthy", "vanishes", "explodes", "zero"]:
        """What happens to the signal on its way from the last hidden layer to the first."""
        if not any(layer.norm for layer in self.layers):
            return "zero"
        if self.ratio < VANISHED:
            return "vanishes"
        return "explodes" if self.ratio > EXPLODED else "healthy"

    @property
    def cause(self) -> Literal["none", "slopes", "weights"]:
        """Which of the two did more of it, by the logarithms of what they did."""
        if self.verdict in ("healthy", "zero"):
            return "none"
        slopes, weights = self._made_by()
        more = slopes < weights if self.verdict == "vanishes" else slopes > weights
        return "slopes" if more else "weights"

    def _made_by(self) -> tuple[float, float]:
        """Return what slopes and weights made of the signal below the last hidden layer."""
        # Where nothing leaves the last hidden layer, what happened within it counts.
        below = self.layers[:-2] if self.layers[:-1][-1].signal else self.layers[-2:-1]
        slopes = [layer.from_slopes for layer in below if not np.isnan(layer.from_slopes)]
        weights = [layer.from_weights for layer in below if not np.isnan(layer.from_weights)]
        return float(np.prod(slopes)), float(np.prod(weights))

    @property
    def table(self) -> pd.DataFrame:
        """A table with a row for each layer."""
        import pandas as pd

        names = [field.name for field in dataclasses.fields(GradientLayer)][:7]
        return pd.DataFrame({name: [getattr(e, name) for e in self.layers] for name in names})

    def summary(self) -> str:
        """Return a line for each layer, and what follows from them, as a short text."""
        lines = [
            f"Gradient of the mean error {self.error:.4g} on {self.n_samples} rows",
            f"{'layer':<7}{'|gradient|':>12}{'|weights|':>12}{'signal':>12}"
            f"{'× weights':>12}{'× slopes':>12}",
        ]
        lines += [
            f"{layer.layer:<7}{layer.norm:>12.3g}{layer.weight_norm:>12.3g}"
            f"{layer.signal:>12.3g}{layer.from_weights:>12.3g}{layer.from_slopes:>12.3g}"
            for layer in self.layers
        ]
        return "\n".join([*lines, self.explanation(), self.memory.sentence()])

    def explanation(self) -> str:
        """Return one sentence: whether the gradient vanishes or explodes, and why."""
        if self.verdict == "zero":
            return "The gradient is 0 in every layer."
        if self.verdict == "healthy":
            return (
                f"The signal is healthy: the first hidden layer has {self.ratio:.3g} of the last."
            )
        slopes, weights = self._made_by()
        return (
            f"The gradient {self.verdict}: the first hidden layer has {self.ratio:.3g} of the "
            f"last one's signal. The slopes h' made {slopes:.3g} of it and the weights "
            f"{weights:.3g}, so that the {self.cause} did it."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw signal and gradient of each layer on a log scale.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        Axes
            The axes drawn into.
        """
        from ._units_pictures import draw_gradients

        return draw_gradients(self, axes_or_new(ax))


def gradients(net: Any, X: Any, y: Any, head: Any) -> GradientsResult:
    r"""Measure the gradient of the mean error in each layer, and tell what made it so large.

    From the output down, a layer's signal is that of the layer above, through the weights and
    times the slope at each unit:

    .. math::

        \delta^{(l)} = f'(a^{(l)}) \odot W^{(l+1)\top}\,\delta^{(l+1)}, \qquad
        \nabla W^{(l)} = \tfrac1N \sum_n \delta^{(l)}_n h_n^{(l-1)\top}

    so that whatever reaches the incoming weights of a unit has been multiplied by the slope
    :math:`h'` there: 0 at a dead unit, at most 1/4 at a logistic one. The ratio of two layers'
    signals splits into what the weights and what the slopes did.

    Parameters
    ----------
    net : Network or torch module
        A feedforward network; numbers are float64.
    X : array-like of shape (n_samples, n_features)
        Inputs.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets, as the head wants them.
    head : head of lamina.heads, or callable
        What the error is. A callable is a loss of torch, ``loss(raw, y) -> scalar`` mean over
        the rows, such as ``torch.nn.CrossEntropyLoss()``.

    Returns
    -------
    GradientsResult
        A record for each layer, and the memory of a batch.

    Raises
    ------
    ParameterError
        If ``net`` is no network that can be read, or ``head`` neither a head nor a loss.
    DataError
        If ``X`` or ``y`` do not fit.

    References
    ----------
    .. [1] X. Glorot, Y. Bengio, Understanding the difficulty of training deep feedforward
       neural networks, AISTATS 2010, https://proceedings.mlr.press/v9/glorot10a.html

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.heads import Normal
    >>> from lamina.inspection import gradients
    >>> from lamina.nn import Network
    >>> X = np.random.default_rng(0).standard_normal((64, 8))
    >>> net = Network((8, *[8] * 9, 1), "sigmoid", random_state=0)
    >>> result = gradients(net, X, X[:, 0], Normal())
    >>> result.verdict, result.cause
    ('vanishes', 'slopes')
    """
    network = as_network(net)
    rows = data_matrix(network, X)
    raw = torch.cat([block.after[-1] for block in blocks(network, rows)])
    error, delta = _error_and_delta(head, raw, y)
    found = [_Sums(network, i) for i in range(len(network.activations))]
    for block in blocks(network, rows):
        entering = [block.inputs, *block.after[:-1]]
        signal = delta[block.rows]
        for i in reversed(range(len(found))):
            # of the row's error by h, and after the slope by a
            passed = signal * block.slopes[i]
            found[i].add(signal, passed, block.slopes[i], entering[i])
            signal = passed @ network.weights[i]
    layers = _records(network, found, len(rows))
    return GradientsResult(len(rows), error, layers, memory(net, len(rows)))


def _error_and_delta(head: Any, raw: Tensor, y: Any) -> tuple[float, Tensor]:
    """Return the mean error, and the gradient of each row's error on its outputs (N, Q)."""
    joint = getattr(head, "error_and_gradient", None)
    if joint is None and not callable(head):
        raise ParameterError(
            f"head must be a head of lamina.heads, or a loss of torch. Got {shown(head)}. "
            "Pass for example lamina.heads.Categorical(3)."
        )
    if joint is None:
        return _of_loss(head, raw, y)
    targets = torch.as_tensor(head.targets(np.asarray(y)))
    targets = targets.to(raw.dtype) if targets.is_floating_point() else targets
    if len(targets) != len(raw):
        raise DataError(f"y must have {len(raw)} rows, as X has. Got {len(targets)}.")
    n_raw = head.n_raw(head.n_targets(np.asarray(y)))
    if n_raw != raw.shape[1]:
        raise DataError(f"net must have {n_raw} outputs for this head and y. Got {raw.shape[1]}.")
    errors, delta = joint(raw, targets)
    return float(errors.mean()), delta


def _of_loss(loss: Any, raw: Tensor, y: Any) -> tuple[float, Tensor]:
    """Return the same from a loss of torch that is a mean over the rows."""
    targets = torch.as_tensor(np.asarray(y)) if not isinstance(y, Tensor) else y
    targets = targets.to(raw.dtype) if targets.is_floating_point() else targets
    with torch.enable_grad():
        leaf = raw.detach().requires_grad_()
        error = loss(leaf, targets)
        if not isinstance(error, Tensor) or error.ndim:
            raise ParameterError(
                "head must be a loss that gives one number, the mean over the rows. "
                f"Got {shown(error)}."
            )
        (gradient,) = torch.autograd.grad(error, leaf)
    return float(error.detach()), gradient * len(raw)


class _Sums:
    """Sums over rows in one layer."""

    def __init__(self, net: Network, i: int) -> None:
        n_units, n_inputs = net.weights[i].shape
        self.weights = torch.zeros(n_units, n_inputs, dtype=torch.float64)
        self.biases, self.before, self.after, self.slope = torch.zeros(
            4, n_units, dtype=torch.float64
        )

    def add(self, signal: Tensor, passed: Tensor, slope: Tensor, entering: Tensor) -> None:
        """Take some rows in."""
        self.weights += passed.mT @ entering
        self.biases += passed.sum(0)
        self.before += signal.square().sum(0)
        self.after += passed.square().sum(0)
        self.slope += slope.abs().sum(0)


def _records(net: Network, found: list[_Sums], n: int) -> tuple[GradientLayer, ...]:
    """Return what the sums tell."""
    layers: list[GradientLayer] = []
    above = float("nan")
    for i in reversed(range(len(found))):
        sums = found[i]
        rows = torch.column_stack([sums.weights, sums.biases]).div(n).numpy()
        own = torch.column_stack([net.weights[i], net.biases[i]]).numpy()
        reached, signal = (
            float(torch.sqrt(square.sum() / n)) for square in (sums.before, sums.after)
        )
        before, after = np.sqrt(sums.before.numpy()), np.sqrt(sums.after.numpy())
        layers.append(
            GradientLayer(
                layer=i + 1,
                activation=net.activations[i].spec,
                norm=float(lengths(rows.reshape(1, -1))[0]),
                weight_norm=float(lengths(own.reshape(1, -1))[0]),
                signal=signal,
                from_weights=_ratio(reached, above),
                from_slopes=_ratio(signal, reached) if i + 1 < len(found) else float("nan"),
                unit_norm=lengths(rows),
                unit_slope=sums.slope.numpy() / n,
                unit_passed=np.divide(
                    after, before, out=np.full(len(after), np.nan), where=before > 0
                ),
            )
        )
        above = signal
    return tuple(layers[::-1])


def _ratio(part: float, whole: float) -> float:
    """Return a ratio, NaN where there is nothing to compare with."""
    return part / whole if whole else float("nan")
