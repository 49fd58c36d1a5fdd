"""Write a network down in superscript-layer notation."""

from __future__ import annotations

from collections.abc import Sequence

from ._activation import Activation
from ._counting import LayerCount

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def superscript(layer: int) -> str:
    """Return a layer's number as it stands behind a letter: ``⁽²⁾``."""
    return f"⁽{str(layer).translate(_SUPERSCRIPTS)}⁾"


def layer_formulas(activations: Sequence[Activation]) -> list[str]:
    """Return the law of every layer, such as ``a⁽¹⁾ = W⁽¹⁾x + b⁽¹⁾, h⁽¹⁾ = tanh(a⁽¹⁾)``."""
    formulas = []
    for layer, activation in enumerate(activations, start=1):
        below = "x" if layer == 1 else f"h{superscript(layer - 1)}"
        top = superscript(layer)
        affine = f"a{top} = W{top}{below} + b{top}"
        left = "y" if layer == len(activations) else f"h{top}"
        function = f"a{top}" if activation.name == "identity" else f"{activation.spec}(a{top})"
        formulas.append(f"{affine}, {left} = {function}")
    return formulas


def layer_names(n_layers: int) -> str:
    """Say how layers are counted here and what else such a network is called."""
    n_hidden = n_layers - 1
    layers = f"{n_layers} layer{'s' if n_layers > 1 else ''} of weights (depth L = {n_layers})"
    hidden = f"{n_hidden} hidden layer{'s' if n_hidden != 1 else ''}"
    names = [f"{_word(n_layers + 1)}-layer by those who count the inputs too"]
    if n_hidden == 1:
        names.insert(0, "single-hidden-layer")
    return f"{layers}, {hidden}. Also called {', or '.join(names)}."


def _word(number: int) -> str:
    """Return a small number as a word."""
    return _NUMBER_WORDS[number] if number < len(_NUMBER_WORDS) else str(number)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of text as lines with aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def describe(title: str, counts: Sequence[LayerCount], activations: Sequence[Activation]) -> str:
    """Return the summary of a network: a line for each layer of weights, and the names."""
    rows = [("layer", "units", "weights + biases", "parameters", "computes")]
    for layer, (count, formula) in enumerate(
        zip(counts, layer_formulas(activations), strict=True), start=1
    ):
        units = f"{count.inputs} → {count.outputs}"
        rows.append((f"l = {layer}", units, str(count), f"{count.parameters:,}", formula))
    return "\n".join([title, *table(rows), layer_names(len(counts))])
