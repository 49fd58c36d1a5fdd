"""What is to be said about a network, in plain sentences with a number and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ._finding import Finding
from ._finding_regions import findings_on_regions

if TYPE_CHECKING:
    from lamina._typing import FloatArray
    from lamina.inspection import GradientsResult, UnitsResult
    from lamina.nn import Network

_BOUNDED = ("sigmoid", "tanh", "hard_tanh")


def findings_of(network: Network, X: FloatArray | None, seed: int) -> Iterator[Finding]:
    """Yield the findings about one network, on rows if there are any."""
    if X is not None and rows_differ(X):
        from lamina.inspection import units

        found = units(network, X)
        yield from _units(found)
        yield from _signal(network, X, seed)
    yield from _superfluous(network)
    yield from _linear(network)
    yield from _ranks(network)
    yield from _rate(network, X)
    yield from findings_on_regions(network, X)
    yield from _copies(network)


def rows_differ(X: FloatArray) -> bool:
    """Tell whether there is anything to see in rows."""
    return len(X) > 1 and bool((X[0] != X).any())


def _units(found: UnitsResult) -> Iterator[Finding]:
    """Yield what units do on the rows."""
    if found.layers[-1].constant.all():
        yield Finding(
            "serious", "constant output", 1.0, "The outputs are the same on every row.",
            "Train it anew: look at the findings below, the learning rate and the data.", 2.0,
        )  # fmt: skip
    n_dead = len(found.dead)
    for layer in found.layers[:-1]:
        if layer.dead.all():
            yield Finding(
                "serious", "dead layer", float(layer.layer),
                f"All {layer.n_units} units of layer {layer.layer} are dead: nothing gets by.",
                "Train it anew with a smaller learning rate, or with leaky_relu or gelu.", 1.0,
            )  # fmt: skip
    if n_dead:
        share = n_dead / found.n_hidden
        worst = max(found.layers[:-1], key=lambda layer: layer.dead.mean())
        yield Finding(
            "look" if share >= 0.1 else "note", "dead units", share,
            f"{n_dead} of {found.n_hidden} hidden units are dead ({share:.0%}), "
            f"most in layer {worst.layer}.",
            "Lower the learning rate, scale the inputs, or use leaky_relu or gelu; for prediction "
            "they can be cut out.", share,
        )  # fmt: skip
    for kind in (_saturated, _straight):
        yield from kind(found)


def _saturated(found: UnitsResult) -> Iterator[Finding]:
    """Yield a layer of bounded units that is flat on most rows."""
    bounded = [
        layer
        for layer in found.layers[:-1]
        if layer.activation.split("(")[0] in _BOUNDED and layer.saturated_share.mean() > 0.5
    ]
    if bounded:
        worst = max(bounded, key=lambda layer: layer.saturated_share.mean())
        share = float(worst.saturated_share.mean())
        yield Finding(
            "look", "saturated units", share,
            f"The {worst.activation} units of layer {worst.layer} are saturated on {share:.0%} of "
            "the rows.",
            "Scale the inputs to a spread of 1, lower the learning rate, or use relu or gelu.",
            share,
        )  # fmt: skip


def _straight(found: UnitsResult) -> Iterator[Finding]:
    """Yield a layer whose kinks are hardly used."""
    share, worst = max(
        ((float(layer.always_on.mean()), layer) for layer in found.layers[:-1]),
        key=lambda pair: pair[0],
        default=(0.0, None),
    )
    if worst is not None and share > 0.5:
        yield Finding(
            "look" if share > 0.9 else "note", "always on", share,
            f"{share:.0%} of the units of layer {worst.layer} are on for every row, so that the "
            "layer is nearly linear.",
            "Centre the inputs, or leave the layer out.", share,
        )  # fmt: skip


def signal_of(network: Network, X: FloatArray, seed: int) -> GradientsResult:
    """Return the gradients for errors of random signs: what any loss would send back."""
    import numpy as np

    from lamina.inspection import gradients

    errors = np.random.default_rng(seed).choice([-1.0, 1.0], (len(X), network.sizes[-1]))
    loss: Callable[[Any, Any], Any] = lambda raw, y: (raw * y).sum(1).mean()  # noqa: E731
    return gradients(network, X, errors, loss)


def _signal(network: Network, X: FloatArray, seed: int) -> Iterator[Finding]:
    """Yield a signal that vanishes or explodes on its way back, for random errors."""
    import numpy as np

    if len(network.sizes) < 4:
        return
    found = signal_of(network, X, seed)
    if found.verdict in ("vanishes", "explodes"):
        far = max(found.ratio, 1 / found.ratio) if found.ratio else np.inf
        yield Finding(
            "look", "gradient", found.ratio, found.explanation(),
            "Use init='he' with relu or gelu and fewer layers."
            if found.verdict == "vanishes"
            else "Set clip_norm, lower the learning rate, or add weight_decay.",
            float(np.log10(far)) if np.isfinite(far) else 99.0,
        )  # fmt: skip


def _superfluous(network: Network) -> Iterator[Finding]:
    """Yield units that can go without any change of the outputs, for all inputs."""
    from lamina.inspection import canonical

    found = canonical(network)
    n_hidden = sum(network.sizes[1:-1])
    if found.n_removed:
        share = found.n_removed / n_hidden
        after = "-".join(map(str, found.network.sizes))
        yield Finding(
            "look" if share >= 0.25 else "note", "superfluous units", float(found.n_removed),
            f"{found.n_removed} of {n_hidden} hidden units are copies of others, constant or "
            f"without a way out: {after} computes the same.",
            "Take the smaller network: lamina.inspection.canonical(network).network.", share,
        )  # fmt: skip


def _linear(network: Network) -> Iterator[Finding]:
    """Yield layers with no nonlinearity between them."""
    from lamina.inspection import collapse

    found = collapse(network)
    for run in found.runs:
        bill = run.bill
        meant = bill.saves and bill.limits
        advice = "Use a nonlinear activation, or lamina.inspection.collapse(network).network."
        if meant:
            advice = (
                f"As a bottleneck it saves: {bill.n_through:,} weights, not {bill.n_direct:,}."
            )
        yield Finding(
            "note" if meant else "look", "linear layers",
            float(run.last - run.first + 1),
            f"Layers {run.first} to {run.last} are one affine map of rank {run.rank}: no "
            "nonlinearity stands between them.", advice, 0.5,
        )  # fmt: skip


def _ranks(network: Network) -> Iterator[Finding]:
    """Yield a layer whose weights use few directions."""
    from lamina.inspection import rank

    low = [e for e in rank(network).layers if e.rank and e.n_factored < e.n_weights / 2]
    if low:
        worst = min(low, key=lambda e: e.n_factored / e.n_weights)
        yield Finding(
            "note", "low rank", float(worst.rank),
            f"The {worst.shape[0]} × {worst.shape[1]} weights of layer {worst.layer} have rank "
            f"{worst.rank}.",
            f"Two factors would need {worst.n_factored:,} weights instead of {worst.n_weights:,}.",
            0.3,
        )  # fmt: skip


def _rate(network: Network, X: FloatArray | None) -> Iterator[Finding]:
    """Yield how fast the outputs can change."""
    from lamina.inspection import lipschitz

    found = lipschitz(network, X)
    if found.lower is None:
        text = f"No change of the inputs is amplified more than {found.upper:.4g} times (bound)."
    else:
        where = f"at the worst of {found.n_points} rows" if found.n_points > 1 else "at the row"
        text = (
            f"A small change of the inputs is amplified {found.lower:.4g} times {where}, and "
            f"nowhere more than {found.upper:.4g} times (bound)."
        )
    yield Finding("fact", "amplification", found.upper, text, weight=0.2)


def _copies(network: Network) -> Iterator[Finding]:
    """Yield how many weight vectors have the same function."""
    from lamina.inspection import n_symmetries

    found = n_symmetries(network)
    if found.total > 1:
        text = found.summary().split(". ")[0]
        yield Finding(
            "fact", "symmetries", _finite(found.total), f"{text[0].upper()}{text[1:]}.",
            "Compare networks by their outputs, not by their weights.",
        )  # fmt: skip


def _finite(count: int) -> float:
    """Return a count as a float, infinite where it is too large for one."""
    try:
        return float(count)
    except OverflowError:
        return float("inf")
