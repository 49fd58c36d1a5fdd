"""Where two classes meet, or an output has a given value: straight lines within each face."""

from __future__ import annotations

import numpy as np

from lamina._typing import FloatArray, IntArray


def level_segments(
    maps: FloatArray, points: FloatArray, loops: IntArray, begin: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return segments (S, 2, 2) where affine functions (F, 3) are 0, and the face of each.

    Where a function is 0 along an edge, the edge is a segment of the face on whose other corners
    it is positive; where it is 0 on a whole face, there is none.
    """
    face = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    here = points[loops]
    value = maps[face, 0] * here[:, 0] + maps[face, 1] * here[:, 1] + maps[face, 2]
    size = np.abs(maps[face, :2] * here).sum(axis=1) + np.abs(maps[face, 2])
    sign = np.where(np.abs(value) <= 1e-13 * size, 0.0, np.sign(value))
    following = np.arange(1, len(loops) + 1)
    following[begin[1:] - 1] = begin[:-1]
    # Runs counter-clockwise from "not negative" to negative and back: two ends a face.
    falls = np.flatnonzero((sign >= 0) & (sign[following] < 0))
    rises = np.flatnonzero((sign < 0) & (sign[following] >= 0))
    both = np.zeros(len(begin) - 1, dtype=bool)
    both[face[sign > 0]] = True
    # One fall and one rise in each face that has both signs, since faces are convex.
    falls, rises = falls[both[face[falls]]], rises[both[face[rises]]]
    first = _between(here, value, sign, falls, following[falls])
    last = _between(here, value, sign, rises, following[rises])
    segments = np.stack([first, last], axis=1)
    along = np.flatnonzero((sign == 0) & (sign[following] == 0) & both[face])
    edges = np.stack([here[along], here[following[along]]], axis=1)
    return np.concatenate([segments, edges]), np.concatenate([face[falls], face[along]])


def _between(
    here: FloatArray, value: FloatArray, sign: FloatArray, i: IntArray, j: IntArray
) -> FloatArray:
    """Return where the value is 0 between corners i and j, one of which may be 0 itself."""
    start = np.where(sign[i] == 0, 0.0, value[i])
    end = np.where(sign[j] == 0, 0.0, value[j])
    share = start / (start - end)
    places: FloatArray = here[i] + share[:, None] * (here[j] - here[i])
    return places
