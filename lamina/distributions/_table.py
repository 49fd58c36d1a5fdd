"""A predictive distribution as a table: a row for each row, a column for each number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from lamina._checks import shown
from lamina._errors import ParameterError

from ._arguments import levels
from ._predictive import Predictive


def to_dataframe(dist: Predictive, quantiles: Any, names: Sequence[str] | None) -> pd.DataFrame:
    """Return mean, standard deviation and quantiles of each target as columns."""
    probabilities, _ = levels("quantiles", quantiles)
    if names is None:
        names = [f"y{target}" for target in range(dist.n_targets)]
        names = [""] if dist.n_targets == 1 else names
    if isinstance(names, str) or len(names) != dist.n_targets or len(set(names)) != len(names):
        raise ParameterError(
            f"names must be {dist.n_targets} different texts, one for each target. "
            f"Got {shown(names)}."
        )
    columns: dict[str, Any] = {}
    for target, name in enumerate(names):
        own = dist.marginal(target)
        prefix = f"{name}_" if name else ""
        columns[f"{prefix}mean"] = own.mean()
        columns[f"{prefix}std"] = own.std()
        for q, values in zip(probabilities, own.quantile(probabilities).T, strict=True):
            columns[f"{prefix}q{q:g}"] = values
    return pd.DataFrame(columns, index=pd.Index(np.asarray(dist.rows), name="row"))
