"""Read a network from torch's own modules and write it back to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from lamina._errors import ParameterError

from ._activation import Activation
from ._batch_norm import batch_norm_map, fold_after, fold_before
from ._piecewise import HardTanh, Identity, LeakyReLU, PReLU, ReLU
from ._smooth import ELU, GELU, Sigmoid, SiLU, Softplus, Tanh

_DROPOUT = (nn.Dropout, nn.AlphaDropout, nn.FeatureAlphaDropout)


class ActivationLayer(nn.Module):
    """An activation as a module of its own, for those that torch has no module for.

    Parameters
    ----------
    activation : Activation
        The function, without learned slopes.

    Examples
    --------
    >>> from lamina.nn import Step
    >>> nn.Sequential(nn.Linear(2, 1), ActivationLayer(Step()))
    Sequential(
      (0): Linear(in_features=2, out_features=1, bias=True)
      (1): ActivationLayer(step)
    )
    """

    def __init__(self, activation: Activation) -> None:
        super().__init__()
        self.activation = activation

    def forward(self, a: Tensor) -> Tensor:
        """Return the activation of a tensor of any shape."""
        return self.activation.forward(a)

    def extra_repr(self) -> str:
        """Return the activation's name."""
        return self.activation.spec


@dataclass
class _Part:
    """A linear layer that has been read, and what follows it."""

    weights: Tensor
    biases: Tensor
    activation: Activation | None = None
    slope: Tensor | None = None


def read_module(
    module: nn.Module,
) -> tuple[list[tuple[Tensor, Tensor]], tuple[Activation, ...], list[Tensor | None]]:
    """Return layers, activations and slopes of a ``Sequential`` or a ``Linear``."""
    parts: list[_Part] = []
    # A batch normalisation that no Linear stands before: it goes into the next one.
    ahead: tuple[str, Tensor, Tensor] | None = None
    for path, child in _flattened(module, ""):
        if isinstance(child, nn.Linear) and type(child).forward is nn.Linear.forward:
            parts.append(_read_linear(path, child, parts, ahead))
            ahead = None
        elif type(child) is nn.BatchNorm1d:
            width = parts[-1].weights.shape[0] if parts else None
            scale, shift = batch_norm_map(_place(path), child, width)
            if parts and parts[-1].activation is None:
                last = parts[-1]
                last.weights, last.biases = fold_after(last.weights, last.biases, scale, shift)
            else:
                if ahead is not None:
                    scale, shift = scale * ahead[1], scale * ahead[2] + shift
                ahead = (path, scale, shift)
        elif type(child) not in (nn.Identity, *_DROPOUT):
            _refuse_norm_ahead(ahead, f"followed by {type(child).__name__}")
            _attach_activation(path, child, parts)
    _refuse_norm_ahead(ahead, "at the end")
    if not parts:
        raise ParameterError(
            f"module must have at least one Linear layer. Got {type(module).__name__} without one."
        )
    layers = [(part.weights, part.biases) for part in parts]
    return layers, tuple(p.activation or Identity() for p in parts), [p.slope for p in parts]


def _refuse_norm_ahead(ahead: tuple[str, Tensor, Tensor] | None, where: str) -> None:
    """Refuse a batch normalisation that stands beside no linear layer."""
    if ahead is not None:
        raise ParameterError(
            f"{_place(ahead[0])} must stand beside a Linear layer to be folded into it. Got "
            f"BatchNorm1d after an activation and {where}."
        )


def _flattened(module: nn.Module, path: str) -> Iterator[tuple[str, nn.Module]]:
    """Yield the modules within nested ``Sequential``s, with their place for messages."""
    # A class of one's own may compute anything in its forward; it is refused by name.
    own = type(module).forward is not nn.Sequential.forward
    if not isinstance(module, nn.Sequential) or own:
        yield path, module
        return
    # Not named_children(), which leaves out a module that stands there a second time.
    for name, child in module._modules.items():
        assert child is not None  # a Sequential holds nothing else
        yield from _flattened(child, f"{path}.{name}" if path else name)


def _place(path: str) -> str:
    """Return where a module stands, for a message."""
    return f"module {path!r}" if path else "module"


def _read_linear(
    path: str,
    linear: nn.Linear,
    parts: Sequence[_Part],
    ahead: tuple[str, Tensor, Tensor] | None,
) -> _Part:
    """Return a linear layer's parameters, zeros where it has no biases."""
    if nn.parameter.is_lazy(linear.weight):
        raise ParameterError(
            f"{_place(path)} must have weights. Got {type(linear).__name__} before its first "
            "batch. Run the module once."
        )
    if type(linear) is nn.Linear and "weight" not in linear._parameters:
        raise ParameterError(
            f"{_place(path)} must hold its weights itself. Got Linear whose weights a hook "
            "computes before each call: they may be old. Remove weight_norm or prune first."
        )
    weights = linear.weight.detach()
    if parts and parts[-1].weights.shape[0] != weights.shape[1]:
        raise ParameterError(
            f"{_place(path)} must take the {parts[-1].weights.shape[0]} outputs of the layer "
            f"before it. Got Linear with in_features={weights.shape[1]}."
        )
    biases = weights.new_zeros(weights.shape[0]) if linear.bias is None else linear.bias.detach()
    if ahead is None:
        return _Part(weights, biases)
    if len(ahead[1]) != weights.shape[1]:
        raise ParameterError(
            f"{_place(ahead[0])} must have the {weights.shape[1]} inputs of the Linear layer "
            f"after it. Got BatchNorm1d with num_features={len(ahead[1])}."
        )
    return _Part(*fold_before(weights, biases, *ahead[1:]))


def _attach_activation(path: str, module: nn.Module, parts: Sequence[_Part]) -> None:
    """Give the last linear layer the activation that ``module`` is."""
    activation = _read_activation(path, module)
    if not parts or parts[-1].activation is not None:
        raise ParameterError(
            f"{_place(path)} must follow a Linear layer. Got {type(module).__name__} "
            f"{'after another activation' if parts else 'before the first one'}."
        )
    part = parts[-1]
    part.activation = activation
    if isinstance(module, nn.PReLU):
        width = part.weights.shape[0]
        if module.num_parameters not in (1, width):
            raise ParameterError(
                f"{_place(path)} must have 1 slope or {width}. Got {module.num_parameters}."
            )
        part.slope = module.weight.detach().expand(width)


def _read_activation(path: str, module: nn.Module) -> Activation:
    """Return the activation that a torch module computes, or refuse the module by name."""
    if isinstance(module, ActivationLayer):
        return module.activation
    reader = _READERS.get(type(module))
    if reader is None:
        raise ParameterError(
            f"{_place(path)} must be Linear, BatchNorm1d, Dropout, Identity, Sequential or an "
            f"activation that lamina has. Got {type(module).__name__}."
            f"{_CURES.get(type(module), '')}"
        )
    activation = reader(module)
    if activation is None:
        raise ParameterError(
            f"{_place(path)} must have the parameters that lamina's activation has. Got {module}."
        )
    return activation


_CURES: dict[type[nn.Module], str] = {
    kind: " Leave it out: outputs are raw, and the head turns them into probabilities."
    for kind in (nn.Softmax, nn.LogSoftmax, nn.LogSigmoid)
}

# Each reader returns None for parameters that the activation cannot have.
_READERS: dict[type[nn.Module], Callable[[Any], Activation | None]] = {
    nn.Sigmoid: lambda m: Sigmoid(),
    nn.Tanh: lambda m: Tanh(),
    nn.Hardtanh: lambda m: HardTanh() if (m.min_val, m.max_val) == (-1.0, 1.0) else None,
    nn.ReLU: lambda m: ReLU(),
    nn.LeakyReLU: lambda m: LeakyReLU(m.negative_slope),
    nn.PReLU: lambda m: PReLU(),
    nn.Softplus: lambda m: Softplus() if m.beta == 1 and m.threshold >= 20 else None,
    nn.GELU: lambda m: GELU() if m.approximate == "none" else None,
    nn.SiLU: lambda m: SiLU(),
    nn.ELU: lambda m: ELU(m.alpha) if m.alpha >= 0 else None,
}


def build_sequential(
    layers: Sequence[tuple[Tensor, Tensor]],
    activations: Sequence[Activation],
    slopes: Sequence[Tensor | None],
) -> nn.Sequential:
    """Return torch modules with copies of the parameters."""
    modules: list[nn.Module] = []
    for (W, b), activation, slope in zip(layers, activations, slopes, strict=True):
        linear = nn.utils.skip_init(  # type: ignore[no-untyped-call]
            nn.Linear, W.shape[1], W.shape[0], device=W.device, dtype=W.dtype
        )
        with torch.no_grad():
            linear.weight.copy_(W)
            linear.bias.copy_(b)
        modules.append(linear)
        if activation.name != "identity":
            modules.append(_torch_activation(activation, slope))
    return nn.Sequential(*modules)


def _torch_activation(activation: Activation, slope: Tensor | None) -> nn.Module:
    """Return torch's module for an activation, or ours where torch has none."""
    match activation:
        case PReLU() if slope is not None:
            module = nn.PReLU(slope.numel(), device=slope.device, dtype=slope.dtype)
            with torch.no_grad():
                module.weight.copy_(slope)
            return module
        case Sigmoid(steepness=1.0):
            return nn.Sigmoid()
        case Tanh():
            return nn.Tanh()
        case HardTanh():
            return nn.Hardtanh()
        case ReLU():
            return nn.ReLU()
        case LeakyReLU(slope=alpha):
            return nn.LeakyReLU(alpha)
        case Softplus():
            return nn.Softplus(threshold=40.0)
        case GELU():
            return nn.GELU()
        case SiLU(beta=1.0):
            return nn.SiLU()
        case ELU(alpha=alpha):
            return nn.ELU(alpha)
        case _:
            return ActivationLayer(activation)
