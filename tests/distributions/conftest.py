"""Families of distributions that several tests walk over."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import distributions as td

from lamina.distributions import QuantileFunction, predictive

N = 4


def torch_cases():
    """Return torch distributions of N rows by name, of every kind that a head returns."""
    draw = torch.Generator().manual_seed(3)

    def real(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    def above(*shape):
        return real(*shape).exp()

    weights = td.Categorical(logits=real(N, 3))
    factor = torch.linalg.cholesky(torch.tensor([[1.0, 0.6], [0.6, 2.0]], dtype=torch.float64))
    levels = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    return {
        "normal": td.Normal(real(N), above(N)),
        "normal of event shape 1": td.Independent(td.Normal(real(N, 1), above(N, 1)), 1),
        "two normals": td.Independent(td.Normal(real(N, 2), above(N, 2)), 1),
        "multivariate normal": td.MultivariateNormal(
            real(N, 2), scale_tril=factor.expand(N, 2, 2)
        ),
        "low rank normal": td.LowRankMultivariateNormal(real(N, 3), real(N, 3, 1), above(N, 3)),
        "mixture": td.MixtureSameFamily(
            weights, td.Independent(td.Normal(real(N, 3, 1), above(N, 3, 1)), 1)
        ),
        "mixture without event": td.MixtureSameFamily(weights, td.Normal(real(N, 3), above(N, 3))),
        "diagonal mixture": td.MixtureSameFamily(
            weights, td.Independent(td.Normal(real(N, 3, 2), above(N, 3, 2)), 1)
        ),
        "full mixture": td.MixtureSameFamily(
            weights,
            td.MultivariateNormal(real(N, 3, 2), scale_tril=factor.expand(N, 3, 2, 2)),
        ),
        "mixture of bernoullis": td.MixtureSameFamily(
            weights, td.Independent(td.Bernoulli(logits=real(N, 3, 2)), 1)
        ),
        "bernoulli": td.Bernoulli(probs=torch.sigmoid(real(N))),
        "poisson": td.Independent(td.Poisson(above(N, 1)), 1),
        "two poissons": td.Independent(td.Poisson(above(N, 2)), 1),
        "negative binomial": td.NegativeBinomial(above(N), logits=real(N)),
        "quantiles": QuantileFunction(levels, real(N, 3).sort(-1).values),
        "two quantile rows": td.Independent(
            QuantileFunction(levels, real(N, 2, 3).sort(-1).values), 1
        ),
        "laplace": td.Laplace(real(N), above(N)),
        "two laplaces": td.Independent(td.Laplace(real(N, 2), above(N, 2)), 1),
        "mixture of laplaces": td.MixtureSameFamily(weights, td.Laplace(real(N, 3), above(N, 3))),
        "student": td.StudentT(3 + above(N), real(N), above(N)),
        "lognormal": td.LogNormal(real(N), 0.3 * above(N)),
        "gamma": td.Gamma(1 + above(N), above(N)),
        "beta": td.Beta(1 + above(N), 1 + above(N)),
        "inverse gamma": td.InverseGamma(3 + above(N), above(N)),
        "gumbel": td.Gumbel(real(N), above(N)),
        "transformed": td.TransformedDistribution(
            td.Normal(real(N), 0.3 * above(N)), [td.ExpTransform(), td.AffineTransform(1.0, 2.0)]
        ),
        "transformed row by row": td.TransformedDistribution(
            td.Laplace(real(N), above(N)), [td.AffineTransform(real(N), above(N))]
        ),
    }


CASES = torch_cases()
CONTINUOUS_ONE = [
    name
    for name, case in CASES.items()
    if predictive(case).n_targets == 1 and not predictive(case).is_discrete
]


@pytest.fixture(params=list(CASES))
def case(request):
    """Return a torch distribution, the predictive one, and draws in its shape."""
    dist = CASES[request.param]
    mine = predictive(dist)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        z = dist.sample()
    y = z.numpy().reshape(N) if mine.n_targets == 1 else z.numpy()
    return dist, mine, z, np.array(y)


@pytest.fixture(params=CONTINUOUS_ONE)
def continuous(request):
    """Return a predictive distribution of one continuous target."""
    return predictive(CASES[request.param])
