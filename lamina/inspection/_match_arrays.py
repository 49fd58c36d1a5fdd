"""Gather a network in another order, and compare two arrays by arrays, in few passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lamina._typing import FloatArray, IntArray

from ._symmetry_group import answer, group_of
from ._symmetry_layers import Layers, blocks


def gathered(
    layers: Layers, orders: Mapping[int, IntArray], factors: Mapping[int, FloatArray]
) -> Layers:
    """Return a copy with hidden layers in other orders, then multiplied by factors."""
    copy = Layers([], [], [], list(layers.activations), layers.dtype)
    order: IntArray = np.arange(layers.sizes[0])
    p: FloatArray = np.ones(layers.sizes[0])
    q: FloatArray = np.zeros(layers.sizes[0])
    for i, (W, b) in enumerate(zip(layers.weights, layers.biases, strict=True)):
        rows = orders.get(i, np.arange(len(b)))
        factor = factors.get(i, np.ones(len(b)))
        own = layers.slopes[i]
        new = np.empty((len(rows), len(order)))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for some in blocks(*new.shape):
                W[rows[some]].take(order, axis=1, out=new[some], mode="clip")
                new[some] /= p
            bias = b[rows] - new @ q if q.any() else b[rows]
            new *= factor[:, None]
            bias = bias * factor
        slopes = None if own is None else own[rows]
        copy.weights.append(new)
        copy.biases.append(bias)
        copy.slopes.append(slopes)
        if i < layers.n_hidden:
            told = answer(layers.activations[i], factor, slopes)
            order, p, q, copy.slopes[i] = rows, told.p, told.q, told.slopes
    return copy


@dataclass(frozen=True, eq=False)
class Comparison:
    """How far the parameters of two networks of one shape are apart.

    Attributes
    ----------
    distance : float
        Euclidean, of all parameters.
    largest : float
        Largest difference of a parameter.
    ratio : float
        The same as a share of the largest parameter of the unit.
    cosines : tuple of ndarray of shape (units,)
        Of incoming weights and biases of the units of each layer.
    """

    distance: float
    largest: float
    ratio: float
    cosines: tuple[FloatArray, ...]


def compare_arrays(a: Layers, b: Layers) -> Comparison:
    """Compare weights, biases and slopes."""
    square = largest = ratio = 0.0
    cosines = []
    for i, (W, V) in enumerate(zip(a.weights, b.weights, strict=True)):
        shift = abs(group_of(a.activations[i - 1]).shift) if i else 0.0
        cosine = np.empty(len(W))
        for some in blocks(*W.shape):
            ours, theirs = (
                np.column_stack([X[some], x.biases[i][some]]) for X, x in ((W, a), (V, b))
            )
            gap = np.abs(ours - theirs)
            size = np.abs(ours)
            top = size.max(axis=1)
            # A bias that took up the shifts of a layer is rounded like the largest of them.
            top[:] = np.maximum(top, shift * size[:, :-1].sum(axis=1))
            square += float(np.vdot(gap, gap))
            worst = gap.max(axis=1)
            largest = max(largest, float(worst.max()))
            ratio = max(ratio, float((worst / np.where(top == 0, 1.0, top)).max()))
            product = np.einsum("ij,ij->i", ours, theirs)
            lengths = [np.sqrt(np.einsum("ij,ij->i", x, x)) for x in (ours, theirs)]
            both = lengths[0] * lengths[1]
            cosine[some] = product / np.where(both == 0, 1.0, both)
        cosines.append(cosine)
        slopes = a.slopes[i], b.slopes[i]
        if slopes[0] is not None and slopes[1] is not None:
            gap = np.abs(slopes[0] - slopes[1])
            square += float(np.vdot(gap, gap))
            largest = max(largest, float(gap.max()))
            ratio = max(ratio, float((gap / np.maximum(1.0, np.abs(slopes[0]))).max()))
    return Comparison(float(np.sqrt(square)), largest, ratio, tuple(cosines))
