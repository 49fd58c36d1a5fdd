"""What is to be said about a model on data: scales of inputs, calibration, coverage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._finding import Finding, Level

if TYPE_CHECKING:
    from ._inspected import Inspected


def findings_on_data(found: Inspected) -> Iterator[Finding]:
    """Yield the findings about a model on the rows of a table."""
    if found.matrix is None:
        return
    yield from _scales(found)
    if found.y is None:
        return
    known = found.y.notna().to_numpy()
    if known.any():
        yield from _calibration(found, known)
        yield from _coverage(found, known)


def _scales(found: Inspected) -> Iterator[Finding]:
    """Yield inputs whose spreads are far apart."""
    assert found.matrix is not None
    spread = found.matrix.std(axis=0)
    spread = spread[spread > 0]
    if len(spread) and spread.max() > 100 * spread.min():
        ratio = float(spread.max() / spread.min())
        yield Finding(
            "look", "input scales", ratio,
            f"The spreads of the inputs differ by a factor of {ratio:,.0f}.",
            "Standardise the columns before the model is fitted.", 0.4,
        )  # fmt: skip


def _calibration(found: Inspected, known: Any) -> Iterator[Finding]:
    """Yield how far a classifier's probabilities are from frequencies."""
    result = calibration_of(found, known)
    if result is None:
        return
    over = result.mean_confidence - result.accuracy
    chance = result.top_label.ece_by_chance
    word = "overconfident" if over > 0 else "underconfident"
    bad = result.ece > max(0.02, 2 * chance)
    yield Finding(
        ("serious" if result.ece > 0.15 else "look") if bad else "fact", "calibration", result.ece,
        f"Its probabilities are {word} by {abs(over):.3f}: accuracy {result.accuracy:.3f}, "
        f"calibration error {result.ece:.3f} ({chance:.3f} would be chance).",
        "Find a temperature on rows held out: lamina.inspection.temperature." if bad else "",
        result.ece,
    )  # fmt: skip


def calibration_of(found: Inspected, known: Any) -> Any:
    """Return the calibration of a classifier on rows it has labels for, or None."""
    import numpy as np

    from lamina import MLPClassifier, TableClassifier, TransferClassifier
    from lamina.inspection import calibration

    model = found.model
    kinds = (MLPClassifier, TableClassifier, TransferClassifier)
    if not isinstance(model, kinds) or found.table is None:
        return None
    proba = np.asarray(model.predict_proba(_rows(found, known)), dtype=np.float64)
    if proba.ndim != 2 or not np.allclose(proba.sum(axis=1), 1, atol=1e-3):
        return None  # several labels at once
    labels = np.asarray(found.y)[known]
    seen = np.isin(labels, model.classes_)
    if not seen.any():
        return None
    return calibration(labels[seen], proba[seen], classes=model.classes_)


def _rows(found: Inspected, known: Any) -> Any:
    """Return the rows as the model takes them: a table, or the columns of an array."""
    from lamina import TableClassifier, TableRegressor, TransferClassifier, TransferRegressor

    assert found.table is not None
    model, rows = found.model, found.table[known]
    trunk = model.source_ if isinstance(model, (TransferClassifier, TransferRegressor)) else None
    if isinstance(model, (TableClassifier, TableRegressor)) or (trunk and trunk.reads_tables):
        return rows
    names = getattr(model, "feature_names_in_", None)
    return rows.to_numpy() if names is None else rows.loc[:, list(names)]


def _coverage(found: Inspected, known: Any) -> Iterator[Finding]:
    """Yield how often the 90 % intervals of a regressor hold the target."""
    import numpy as np

    from lamina import (
        MixtureDensityRegressor,
        MLPRegressor,
        TableRegressor,
        TransferRegressor,
    )
    from lamina.inspection import coverage

    model = found.model
    kinds = (MixtureDensityRegressor, MLPRegressor, TableRegressor, TransferRegressor)
    if not isinstance(model, kinds) or found.table is None or found.y is None:
        return
    if found.y.dtype.kind not in "biuf":
        return
    rows = _rows(found, known)
    y = np.asarray(found.y, dtype=np.float64)[known]
    result = coverage(model.predict_dist(rows), y, 0.9)
    observed, error = float(result.observed[0]), float(result.standard_error[0])
    off = abs(observed - 0.9)
    bad = off > max(0.03, 3 * error)
    level: Level = "serious" if observed < 0.6 else "look"
    cure = "Look at rows it was not fitted to; " + (
        "stop earlier, or use more members."
        if observed < 0.9
        else "train longer, on scaled inputs."
    )
    yield Finding(
        level if bad else "fact", "coverage", observed,
        f"Its 90 % intervals hold {observed:.1%} of the targets, and are "
        f"{result.mean_width[0]:.4g} wide on average.", cure if bad else "", off,
    )  # fmt: skip
