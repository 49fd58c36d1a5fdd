"""A trained network cut into the trunk that is kept and the head that only training needs."""

from __future__ import annotations

from lamina.nn import Network


def cut(network: Network, n_trunk: int) -> tuple[Network, Network | None]:
    """Return the first ``n_trunk`` layers, their activation included, and the rest if any."""
    layers, activations, slopes = network.layers(), network.activations, network.slopes
    own = [None if slope is None else slope.detach() for slope in slopes]

    def part(first: int, last: int) -> Network:
        return Network.from_arrays(
            layers[first:last],
            activations[first : last - 1] or "identity",
            output_activation=activations[last - 1],
            slopes=own[first:last],
        )

    n_layers = len(layers)
    return part(0, n_trunk), part(n_trunk, n_layers) if n_trunk < n_layers else None


def joined(trunk: Network, head: Network | None) -> Network:
    """Return trunk and head as one network again."""
    if head is None:
        return trunk
    activations = [*trunk.activations, *head.activations]
    slopes = [*trunk.slopes, *head.slopes]
    return Network.from_arrays(
        [*trunk.layers(), *head.layers()],
        activations[:-1],
        output_activation=activations[-1],
        slopes=[None if slope is None else slope.detach() for slope in slopes],
    )
