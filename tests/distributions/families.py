"""Mixtures of normals drawn by hypothesis: narrow, broad, far, and of tiny weight."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st
from scipy import integrate, stats

from lamina.distributions import NormalMixture

locations = st.one_of(st.just(0.0), st.floats(-30, 30).map(lambda x: round(x, 3)))
scales = st.one_of(
    st.sampled_from([1e-11, 1e-3, 1.0, 1e3]),
    st.floats(-2, 2).map(lambda x: float(10.0**x)),
)
weights = st.one_of(st.sampled_from([1e-9, 1.0]), st.floats(0.01, 1.0))


@st.composite
def normal_mixtures(draw, *, most=5):
    """Return one row of a mixture; the means of components as narrow as 1e-11 are near 0.

    Elsewhere neighbouring floats are further apart than such a component is wide.
    """
    parts = draw(st.lists(st.tuples(locations, scales, weights), min_size=1, max_size=most))
    loc, scale, weight = (np.array(column) for column in zip(*parts, strict=True))
    loc = np.where(scale < 1e-6, loc * 1e-11, loc)
    return NormalMixture(loc[None], scale[None], np.log(weight)[None])


def parts(dist):
    """Return means, standard deviations and weights of a mixture's first row."""
    return dist.loc[0], dist.scale[0], dist.weights[0]


def cdf(dist, y):
    """Return the cdf of the first row by SciPy."""
    loc, scale, weight = parts(dist)
    return float(weight @ stats.norm.cdf(y, loc, scale))


def pdf(dist, y):
    """Return the density of the first row by SciPy."""
    loc, scale, weight = parts(dist)
    return float(weight @ stats.norm.pdf(y, loc, scale))


def quadrature(of, dist, *more):
    """Return an integral over the whole line, cut where components begin, peak and end."""
    loc, scale, _ = parts(dist)
    cuts = loc[:, None] + scale[:, None] * np.array([-40, -9, -4, -2, -1, 0, 1, 2, 4, 9, 40])
    edges = np.unique(np.concatenate([cuts.ravel(), more]))
    pairs = itertools.pairwise(edges)
    total = [
        integrate.quad(of, low, high, epsabs=0, epsrel=1e-9, limit=200) for low, high in pairs
    ]
    return sum(value for value, _ in total)
