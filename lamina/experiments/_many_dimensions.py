"""Shells, lengths and distances in many dimensions."""

from __future__ import annotations

import numpy as np

from lamina.inspection import (
    GaussianRadius,
    PolynomialBasis,
    distance_concentration,
    fit_basis,
    shell_fraction,
)

from ._registry import Values, experiment


@experiment("gaussian-radius")
def gaussian_radius() -> Values:
    """Compare the length of Gaussian vectors with its law: shell, density, mean, peak."""
    dimensions = (1, 2, 10, 100, 784)
    laws = [GaussianRadius(D) for D in dimensions]
    r = np.linspace(1e-6, 40, 200_001)
    densities = [np.exp(law.log_pdf(r)) for law in laws]
    lengths = [law.sample(20_000, random_state=6) for law in laws]
    return {
        "D": list(dimensions),
        "shell": [shell_fraction(D, 0.05) for D in dimensions],
        "integral": [np.trapezoid(density, r) for density in densities],
        "peak": [r[density.argmax()] for density in densities],
        "sqrt_Dm1": [law.mode for law in laws],
        "mean_norm": [length.mean() for length in lengths],
        "sd_norm": [length.std() for length in lengths],
        "log10_density_ratio": laws[-1].log10_density_ratio,
    }


@experiment("distance-concentration")
def nearest_against_farthest() -> Values:
    """Divide nearest by farthest distance of a query to 500 Gaussian points."""
    rng = np.random.default_rng(6)
    dimensions = (2, 10, 100, 1000)
    ratios = [
        distance_concentration(
            rng.standard_normal((500, D)), rng.standard_normal((1, D))
        ).nearest_to_farthest
        for D in dimensions
    ]
    return {"D": list(dimensions), "ratio": ratios}


@experiment("extra-variable-separates")
def extra_variable() -> Values:
    """Add a second variable to one in which two classes lie on top of one another."""
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1], 500)
    first = rng.standard_normal(1000)
    second = first + np.where(y == 1, 0.5, -0.5) + 0.1 * rng.standard_normal(1000)
    X = np.column_stack([first, second])
    accuracy = []
    for rows in (X[:, :1], X):
        model = fit_basis(PolynomialBasis(1), rows, y, output="sigmoid")
        accuracy.append(float(np.mean(model.predict(rows) == y)))
    return {"first_alone": accuracy[0], "both": accuracy[1]}
