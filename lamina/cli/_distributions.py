"""Whole answers on rows of a known target: distributions of numbers, probabilities of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._output import Output, number

if TYPE_CHECKING:
    import pandas as pd

Told = Mapping[str, Any]

_LEVELS = (0.5, 0.8, 0.9, 0.95)


def distribution_of(model: Any, X: pd.DataFrame, y: pd.Series[Any]) -> Told | str:
    """Return how good the predicted distributions are, or a sentence why that is not known."""
    import numpy as np

    from lamina.inspection import coverage, pit, scores

    if getattr(model, "metric", None) == "mae":
        return "A model of the absolute error predicts no distribution."
    dist = model.predict_dist(X)
    observed = np.asarray(y, dtype=np.float64)
    if dist.is_discrete and (observed != np.floor(observed)).any():
        return "A distribution of counts says nothing of targets that are no whole numbers."
    score = scores(dist, observed, baseline=observed)
    inside = coverage(dist, observed, _LEVELS)
    transform = pit(dist, observed)
    return {
        "nll": score.nll,
        "crps": score.crps,
        "pit_ks": transform.ks_distance,
        "pit_ks_pvalue": transform.ks_pvalue,
        "baseline_nll": score.baseline_nll,
        "baseline_crps": score.baseline_crps,
        "coverage": inside.to_dataframe().to_dict("records"),
    }


def report_distribution(say: Output, told: Told) -> None:
    """Print the scores of distributions, and the coverage of intervals."""
    say.line("")
    say.table(
        "Distribution",
        ["", "NLL (nats)", "CRPS", "PIT KS"],
        [
            ["lamina", *(number(told[name]) for name in ("nll", "crps", "pit_ks"))],
            [
                "one distribution for all rows",
                *(number(told[name]) for name in ("baseline_nll", "baseline_crps")),
                "",
            ],
        ],
    )
    say.line("")
    say.table(
        "Central intervals",
        ["promised", "observed", "mean width"],
        [
            [f"{row['level']:.0%}", f"{row['observed']:.1%}", number(row["mean_width"])]
            for row in told["coverage"]
        ],
    )


def calibration_of(model: Any, X: pd.DataFrame, y: pd.Series[Any]) -> Told | str:
    """Return whether probabilities are frequencies, or a sentence why that is not known."""
    from lamina.inspection import calibration

    known = set(model.classes_.tolist())
    strange = [label for label in y.tolist() if label not in known]
    if strange:
        return (
            f"Calibration is left out: the model does not know the class {strange[0]!r} of "
            f"{len(strange)} of {len(y)} rows."
        )
    result = calibration(y.to_numpy(), model.predict_proba(X), classes=model.classes_)
    return {
        "log_loss": result.log_loss,
        "brier": result.brier,
        "ece": result.ece,
        "ece_by_chance": result.top_label.ece_by_chance,
        "mean_confidence": result.mean_confidence,
        "accuracy": result.accuracy,
    }


def report_calibration(say: Output, told: Told) -> None:
    """Print the scores of probabilities."""
    say.line("")
    say.table(
        "Calibration",
        ["", "log loss (nats)", "Brier score", "ECE", "ECE by chance", "mean confidence"],
        [
            [
                "lamina",
                *(
                    number(told[name])
                    for name in ("log_loss", "brier", "ece", "ece_by_chance", "mean_confidence")
                ),
            ]
        ],
    )
