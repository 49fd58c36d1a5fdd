"""The rows of a transfer: checked, joined with those without labels, and given to the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import (
    _check_n_features,
    _num_samples,
    check_array,
    column_or_1d,
    validate_data,
)

from lamina._checks import shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray

from ._inputs import check_new_data, check_training_data
from ._table_base import BaseTable
from ._trunk import Trunk
from ._trunk_inputs import prepared
from ._weights import check_weights


@dataclass(frozen=True, eq=False)
class Data:
    """Checked rows: a matrix, or a table as it came."""

    X: Any
    y: Any
    weight: FloatArray | None
    X_unlabelled: Any
    tables: bool  # whether the source encodes the columns itself

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
    return isinstance(source, (BaseTable, Pipeline)) or (
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
    if takes_tables(transfer.pretrained):
        validate_data(transfer, X, y, skip_check_array=True, reset=True)
        if _num_samples(X) != len(y):
            raise DataError(
                f"y must have one entry for each of the {_num_samples(X)} rows of X. Got {len(y)}."
            )
        weight = check_weights(sample_weight, np.empty((_num_samples(X), 1)))
        return Data(X, _one_column(np.asarray(y)), weight, X_unlabelled, tables=True)
    X, y = check_training_data(
        transfer,
        X,
        y,
        dtype=transfer.dtype,
        reset=True,
        numeric_target=transfer._numeric_target,
    )
    _check_names(transfer)
    y = y if sp.issparse(y) else _one_column(y)
    if X_unlabelled is not None:
        X_unlabelled = check_array(
            X_unlabelled, accept_sparse="csr", dtype=X.dtype, input_name="X_unlabelled"
        )
        if X_unlabelled.shape[1] != X.shape[1]:
            raise DataError(
                f"X_unlabelled must have the {X.shape[1]} features of X. "
                f"Got {X_unlabelled.shape[1]}."
            )
    return Data(X, y, check_weights(sample_weight, X), X_unlabelled, tables=False)


def _one_column(y: Array) -> Array:
    return column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y


def _check_names(transfer: Any) -> None:
    """Refuse columns of other names, or in another order, than the source was fitted to."""
    source = transfer.pretrained
    known = source.feature_names if isinstance(source, Trunk) else None
    if known is None and is_fitted(source):
        known = getattr(source, "feature_names_in_", None)
    own = getattr(transfer, "feature_names_in_", None)
    if known is None or own is None or len(known) != len(own):
        return
    for place, (theirs, ours) in enumerate(zip(known, own, strict=True)):
        if theirs != ours:
            raise DataError(
                f"X must have the columns that the pretrained model was fitted to, in their "
                f"order. Got {ours!r} in place {place}, where it had {theirs!r}."
            )


def new_rows(transfer: Any, X: Any) -> Any:
    """Return rows to predict for, as the whole networks take them."""
    if transfer._tables:
        if not isinstance(X, pd.DataFrame):
            _check_n_features(transfer, np.empty((1, np.shape(X)[-1])), reset=False)
    else:
        X = check_new_data(transfer, X)
    return prepared(transfer._steps, X)


def pretrain(transfer: Any, data: Data) -> Trunk:
    """Return the trunk of the source, which is fitted first where it is not."""
    source = transfer.pretrained
    if is_fitted(source):
        return Trunk.of(source)
    last = source.steps[-1][1] if isinstance(source, Pipeline) else source
    if is_classifier(last) or is_regressor(last):
        raise ParameterError(
            f"pretrained must be fitted to its own task before its layers can be used. Got an "
            f"unfitted {type(last).__name__}. Call its fit first; only an encoder, which needs no "
            "labels, is fitted here."
        )
    if not isinstance(last, BaseEstimator) or not callable(getattr(last, "transform", None)):
        raise ParameterError(
            f"pretrained must be a model whose layers can be copied. Got {shown(source)}."
        )
    encoder = clone(source)
    rows = _stacked(data)
    if getattr(last, "pairs", None) == "class":
        labels = np.full(_num_samples(rows), None, dtype=object)
        labels[: len(data.y)] = list(data.y)
        return Trunk.of(encoder.fit(rows, labels))
    return Trunk.of(encoder.fit(rows))


def _stacked(data: Data) -> Any:
    """Return the labelled rows that have a weight, and the others below them."""
    X, more = data.X, data.X_unlabelled
    if data.weight is not None and not (data.weight > 0).all():
        kept = np.flatnonzero(data.weight > 0)
        X = X.iloc[kept] if isinstance(X, pd.DataFrame) else np.asarray(X)[kept]
    if more is None:
        return X
    if isinstance(X, pd.DataFrame) and isinstance(more, pd.DataFrame):
        return pd.concat([X, more], ignore_index=True)
    if sp.issparse(X) or sp.issparse(more):
        return sp.vstack([X, more]).tocsr()
    return np.concatenate([np.asarray(X), np.asarray(more)])
