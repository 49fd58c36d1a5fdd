"""The rows of a transfer: checked, joined with those without labels, and given to the source."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _get_feature_names,
    _num_samples,
    column_or_1d,
    validate_data,
)

from lamina._checks import shown
from lamina._errors import DataError, DataWarning, ParameterError
from lamina._typing import Array, FloatArray

from ._encoder_cross_modal import CrossModalEncoder
from ._inputs import check_new_data, check_training_data
from ._table_base import BaseTable
from ._trunk import Trunk, slip_of
from ._trunk_inputs import finds_columns, prepared, takes_numbers
from ._trunk_rows import check_names, matrix
from ._weights import check_weights


@dataclass(frozen=True, eq=False)
class Data:
    """Checked rows: a matrix, or a table as it came."""

    X: Any
    y: Any
    weight: FloatArray | None
    X_unlabelled: Any
    tables: bool  # whether the source encodes the columns itself

    def used(self, values: Any) -> Any:
        """Return of X or y the rows that have a weight."""
        if self.weight is None or (self.weight > 0).all():
            return values
        return _safe_indexing(values, np.flatnonzero(self.weight > 0))

    @property
    def n_unlabelled(self) -> int:
        """Rows without a label."""
        return 0 if self.X_unlabelled is None else int(_num_samples(self.X_unlabelled))


def is_fitted(source: Any) -> bool:
    """Return whether a source is a trained model, which is read and never fitted."""
    if source is None or not isinstance(source, BaseEstimator):
        return True
    if isinstance(source, Pipeline):
        return bool(source.steps) and is_fitted(source.steps[-1][1])
    known = getattr(source, "__sklearn_is_fitted__", None)
    if known is not None:
        return bool(known())
    return any(name.endswith("_") and not name.startswith("_") for name in vars(source))


def takes_tables(source: Any) -> bool:
    """Return whether a source reads the columns of a table by itself."""
    if isinstance(source, Trunk):
        return source.reads_tables
    if isinstance(source, Pipeline):
        *before, last = [step for _, step in source.steps] or [None]
        return not all(takes_numbers(step) for step in before) or takes_tables(last)
    return isinstance(source, BaseTable) or (
        getattr(source, "_tables", False) or takes_tables_inside(source)
    )


def takes_tables_inside(source: Any) -> bool:
    """Return whether a search or a wrapper holds a source that reads tables."""
    inner = getattr(source, "best_estimator_", getattr(source, "estimator", None))
    return inner is not None and takes_tables(inner)


def tags_of(source: Any) -> Any:
    """Return scikit-learn's tags of a source, or None where it has none."""
    return get_tags(source) if isinstance(source, BaseEstimator) else None


def check_data(transfer: Any, X: Any, y: Any, sample_weight: Any, X_unlabelled: Any) -> Data:
    """Return the rows, checked as far as they are not left to a table's encoder."""
    _refuse_missing(y)
    if takes_tables(transfer.pretrained):
        return _table_data(transfer, X, y, sample_weight, X_unlabelled)
    X, y = check_training_data(
        transfer,
        X,
        y,
        dtype=transfer.dtype,
        reset=True,
        numeric_target=transfer._numeric_target,
    )
    y = y if sp.issparse(y) else _one_column(y)
    if X_unlabelled is not None:
        names = getattr(transfer, "feature_names_in_", None)
        check_names("X_unlabelled", _get_feature_names(X_unlabelled), names, "of X")
        X_unlabelled = matrix(X_unlabelled, "X_unlabelled", dtype=X.dtype.name, finite=True)
        if X_unlabelled.shape[1] != X.shape[1]:
            raise DataError(
                f"X_unlabelled must have the {X.shape[1]} features of X. "
                f"Got {X_unlabelled.shape[1]}."
            )
    return Data(X, y, check_weights(sample_weight, X), X_unlabelled, tables=False)


def _refuse_missing(y: Any) -> None:
    """Refuse targets of which some are not there, and say where their rows belong."""
    if y is None or sp.issparse(y):
        return
    values = y if isinstance(y, (pd.Series, pd.DataFrame)) else np.asarray(y)
    missing = np.asarray(pd.isna(values))
    if missing.ndim and missing.any():
        row = int(np.argwhere(missing)[0][0])
        raise DataError(
            f"y must have a target in every row. Got none in row {row}; Input y contains NaN. "
            "Give rows without a target as X_unlabelled."
        )


def _table_data(transfer: Any, X: Any, y: Any, sample_weight: Any, X_unlabelled: Any) -> Data:
    """Return rows whose columns the source reads, with those without a label in their order."""
    validate_data(transfer, X, y, skip_check_array=True, reset=True)
    n_rows = _num_samples(X)
    if np.ndim(y) == 0 or len(y) != n_rows:
        raise DataError(
            f"y must have one entry for each of the {n_rows} rows of X. "
            f"Got {shown(y) if np.ndim(y) == 0 else len(y)}."
        )
    weight = check_weights(sample_weight, np.empty((n_rows, 1)))
    if X_unlabelled is not None and _num_samples(X_unlabelled) == 0:
        raise DataError("X_unlabelled must have at least one row. Got none. Leave it out.")
    more = _in_order_of(X, X_unlabelled)
    return Data(X, _one_column(np.asarray(y)), weight, more, tables=True)


def _in_order_of(X: Any, more: Any) -> Any:
    """Return the columns of X of a table that may have them in another order, and more."""
    if not (isinstance(X, pd.DataFrame) and isinstance(more, pd.DataFrame)):
        return more
    missing = [column for column in X.columns if column not in more.columns]
    if missing:
        raise DataError(
            f"X_unlabelled must have the columns of X. Got none of the name {shown(missing[0])}."
        )
    unknown = [column for column in more.columns if column not in X.columns]
    if unknown:
        warnings.warn(
            f"X_unlabelled has columns that X has not; they are ignored: {shown(unknown)}.",
            DataWarning,
            stacklevel=6,
        )
    return more if list(more.columns) == list(X.columns) else more[list(X.columns)]


def _one_column(y: Array) -> Array:
    return column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y


def new_rows(transfer: Any, X: Any) -> Any:
    """Return rows to predict for, as the whole networks take them."""
    steps = transfer._steps
    if not transfer._tables:
        return prepared(steps, check_new_data(transfer, X))
    if np.ndim(X) != 2:
        raise DataError(f"X must be a table of rows and columns. Got {shown(X)}.")
    by_name = finds_columns(steps)
    if not by_name:
        _check_feature_names(transfer, X, reset=False)
    if not (by_name and isinstance(X, pd.DataFrame)):
        _check_n_features(transfer, X, reset=False)
    return prepared(steps, X)


def pretrain(transfer: Any, data: Data) -> Trunk:
    """Return the trunk of the source, which is fitted first where it is not."""
    source = transfer.pretrained
    if is_fitted(source):
        trunk = Trunk.of(source)
        trunk.check_names(getattr(transfer, "feature_names_in_", None))
        return trunk
    last = source.steps[-1][1] if isinstance(source, Pipeline) else source
    _refuse_what_needs_more(source, last)
    encoder = clone(source)
    rows = stacked(data.used(data.X), data.X_unlabelled)
    if getattr(last, "pairs", None) == "class":
        own = data.used(data.y)
        labels = np.full(_num_samples(rows), None, dtype=object)
        labels[: len(own)] = list(own)
        return Trunk.of(encoder.fit(rows, labels))
    return Trunk.of(encoder.fit(rows))


def _refuse_what_needs_more(source: Any, last: Any) -> None:
    """Raise unless the end of a source that is not fitted learns from rows alone."""
    if is_classifier(last) or is_regressor(last):
        raise ParameterError(
            f"pretrained must be fitted to its own task before its layers can be used. Got an "
            f"unfitted {type(last).__name__}. Call its fit first; only an encoder, which needs no "
            "labels, is fitted here. scikit-learn clones the values of a grid, and a clone is not "
            "fitted: give a grid sklearn.frozen.FrozenEstimator(model) or Trunk.of(model)."
        )
    if isinstance(last, CrossModalEncoder):
        raise ParameterError(
            "pretrained must be fitted to its pairs before its layers can be used. Got an "
            "unfitted CrossModalEncoder. Call its fit with both sides of the pairs first."
        )
    if not isinstance(last, BaseEstimator) or not callable(getattr(last, "transform", None)):
        raise ParameterError(
            f"pretrained must be a model whose layers can be copied. Got {shown(source)}. "
            f"{slip_of(source)}".strip()
        )


def stacked(X: Any, more: Any) -> Any:
    """Return the rows of both, the first above."""
    if more is None:
        return X
    if isinstance(X, pd.DataFrame) and isinstance(more, pd.DataFrame):
        return pd.concat([X, more], ignore_index=True)
    if sp.issparse(X) or sp.issparse(more):
        return cast(Any, sp.vstack)([X, more]).tocsr()
    return np.concatenate([np.asarray(X), np.asarray(more)])
