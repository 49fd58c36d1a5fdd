"""Two spirals by networks of several shapes, and by polynomials of rising degree."""

from __future__ import annotations

from lamina.datasets import make_two_spirals
from lamina.heads import Categorical
from lamina.stack import train

from ._registry import Values, experiment
from ._training import full_batch, score

SHAPES = {"w4": (4,), "w16": (16,), "w64": (64,), "w888": (8, 8, 8)}
SEEDS = (0, 2, 3)


@experiment("two-spirals-widths")
def two_spirals_widths() -> Values:
    """Train four shapes from three seeds as one stack, and test on 4,000 fresh points."""
    X, y = make_two_spirals(600, random_state=0)
    X_new, y_new = make_two_spirals(4000, random_state=1)
    head = Categorical()
    members = [
        full_batch(hidden, "relu", head, n_rows=len(X), seed=seed, epochs=3000)
        for hidden in SHAPES.values()
        for seed in SEEDS
    ]
    networks = train(members, X, y).networks
    accuracy = [score(network, head, X_new, y_new) for network in networks]
    n_seeds = len(SEEDS)
    values: dict[str, object] = {
        name: accuracy[i * n_seeds : (i + 1) * n_seeds] for i, name in enumerate(SHAPES)
    }
    return {"parameters": [net.n_parameters for net in networks[::n_seeds]], **values}


@experiment("spirals-polynomial-baseline")
def polynomial_baseline() -> Values:
    """Fit logistic regression on all monomials up to a degree."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    X, y = make_two_spirals(600, random_state=0)
    X_new, y_new = make_two_spirals(4000, random_state=1)
    degrees, accuracy = [1, 2, 3, 5], []
    for degree in degrees:
        model = make_pipeline(
            PolynomialFeatures(degree, include_bias=False),
            StandardScaler(),
            LogisticRegression(C=1e4, max_iter=2000),
        )
        accuracy.append(float(model.fit(X, y).score(X_new, y_new)))
    return {"degrees": degrees, "accuracy": accuracy}
