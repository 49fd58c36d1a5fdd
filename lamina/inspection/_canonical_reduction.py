"""Bring a network into its canonical form: fewer units where some are superfluous, then sorted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from lamina._typing import Array, FloatArray, IntArray

from ._canonical_units import choose_gauge, incoming, merge_columns, places
from ._symmetry_group import group_of, standard, values_of
from ._symmetry_layers import Layers, apply_order


@dataclass(eq=False)
class Reduction:
    """Arrays on the way to their canonical form, and what was taken out of them.

    Attributes
    ----------
    layers : Layers
        Changed in place.
    places : list of int
        Which hidden layer of the network, from 0, each one that is left was.
    units : list of ndarray
        Which unit of its layer each one that is left was.
    constant, silent, merged : ndarray of shape (hidden layers,)
        How many units of each layer of the network were taken out.
    collapsed : list of int
        Which linear hidden layers of the network, from 0, are no more.
    certain : bool
        Whether rounding decided nothing.
    """

    layers: Layers
    places: list[int]
    units: list[IntArray]
    constant: IntArray
    silent: IntArray
    merged: IntArray
    collapsed: list[int]
    certain: bool = True

    def keep(self, i: int, kept: Array) -> int:
        """Keep some units of a hidden layer, a mask; return how many went."""
        layers, slopes = self.layers, self.layers.slopes[i]
        layers.weights[i] = layers.weights[i][kept]
        layers.biases[i] = layers.biases[i][kept]
        layers.slopes[i] = None if slopes is None else slopes[kept]
        layers.weights[i + 1] = layers.weights[i + 1][:, kept]
        self.units[i] = self.units[i][kept]
        return int((~kept).sum())


def reduce(layers: Layers, tolerance: float) -> Reduction:
    """Return the canonical form of arrays, which are changed."""
    n = layers.n_hidden
    standardise(layers)
    collapsed = collapse_linear(layers)
    state = Reduction(
        layers,
        [i for i in range(n) if i not in collapsed],
        [np.arange(len(b)) for b in layers.biases[:-1]],
        constant=np.zeros(n, dtype=np.intp),
        silent=np.zeros(n, dtype=np.intp),
        merged=np.zeros(n, dtype=np.intp),
        collapsed=collapsed,
    )
    while True:
        state.certain = True
        before = layers.sizes
        _drop_silent(state)
        _settle(state, tolerance)
        # Above an empty layer every unit is constant and has moved.
        if layers.n_hidden and not len(layers.biases[-2]):
            _make_constant(state)
        if layers.sizes == before:
            return state


def standardise(layers: Layers) -> None:
    """Write each activation as a standard one between affine maps."""
    for i in range(layers.n_hidden):
        form = standard(layers.activations[i])
        layers.activations[i] = form.g
        layers.weights[i], layers.biases[i] = (
            form.c * layers.weights[i],
            form.c * layers.biases[i],
        )
        above = layers.weights[i + 1]
        layers.biases[i + 1] = layers.biases[i + 1] + form.q * above.sum(axis=1)
        layers.weights[i + 1] = form.p * above


def collapse_linear(layers: Layers) -> list[int]:
    """Multiply linear hidden layers into the layer above; return which they were, from 0."""
    linear = [i for i in range(layers.n_hidden) if group_of(layers.activations[i]).linear]
    for i in reversed(linear):
        above = layers.weights[i + 1]
        layers.biases[i + 1] = layers.biases[i + 1] + above @ layers.biases[i]
        layers.weights[i + 1] = above @ layers.weights[i]
        _remove_layer(layers, i)
    return linear


def _remove_layer(layers: Layers, i: int) -> None:
    """Take a hidden layer out of every list."""
    del layers.weights[i], layers.biases[i], layers.slopes[i], layers.activations[i]


def _drop_silent(state: Reduction) -> None:
    """Take out units from which nothing goes out, from the last hidden layer to the first."""
    for i in reversed(range(state.layers.n_hidden)):
        heard = (state.layers.weights[i + 1] != 0).any(axis=0)
        if not heard.all():
            state.silent[state.places[i]] += state.keep(i, heard)


def _settle(state: Reduction, tolerance: float) -> None:
    """Take out constant units, choose signs and scales, merge and sort, first layer to last."""
    layers = state.layers
    for i in range(layers.n_hidden):
        _drop_constant(state, i)
        if not len(layers.biases[i]):
            continue
        choose_gauge(layers, i, tolerance)
        slopes = layers.slopes[i]
        keys = incoming(layers, i)
        keys = keys if slopes is None else np.column_stack([keys, slopes])
        placed = places(keys, tolerance)
        state.certain = state.certain and placed.certain
        apply_order(layers, i, placed.order)
        state.units[i] = state.units[i][placed.order]
        first = np.concatenate([[True], np.diff(placed.labels) != 0])
        if not first.all():
            sums = merge_columns(layers.weights[i + 1], placed.labels)
            state.merged[state.places[i]] += state.keep(i, first)
            layers.weights[i + 1] = sums


def _drop_constant(state: Reduction, i: int) -> None:
    """Move units without incoming weights into the biases above."""
    layers, slopes = state.layers, state.layers.slopes[i]
    moving = (layers.weights[i] != 0).any(axis=1)
    if moving.all():
        return
    told = None if slopes is None else torch.from_numpy(slopes)
    h: FloatArray = values_of(layers.activations[i], layers.biases[i], told)
    layers.biases[i + 1] = layers.biases[i + 1] + layers.weights[i + 1][:, ~moving] @ h[~moving]
    state.constant[state.places[i]] += state.keep(i, moving)


def _make_constant(state: Reduction) -> None:
    """Write a network whose last hidden layer is empty as one affine map without weights."""
    layers = state.layers
    layers.weights[-1] = np.zeros((len(layers.biases[-1]), layers.weights[0].shape[1]))
    for i in reversed(range(layers.n_hidden)):
        state.silent[state.places[i]] += len(layers.biases[i])
        _remove_layer(layers, i)
    state.places.clear()
    state.units.clear()
