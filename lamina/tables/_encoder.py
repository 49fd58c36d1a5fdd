"""From a table as it comes to a matrix of floats."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lamina._checks import check_choice, check_integer, check_real, shown
from lamina._errors import DataWarning, ParameterError
from lamina._typing import DTYPES, Array, DtypeName, FloatArray

from ._column_names import ColumnNames
from ._columns import ColumnCode, Unusable
from ._dates import DateCode, fit_dates
from ._frame import as_frame
from ._kinds import kind_of
from ._levels import LevelCode, fit_levels
from ._number_embedding import EMBEDDINGS, Embedding, NumberEmbedding
from ._numbers import NumberCode, fit_numbers
from ._report import ColumnReport, note_on, reported
from ._target import encoding_targets

_CODES: dict[str, type[ColumnCode]] = {
    code.__name__: code for code in (NumberCode, LevelCode, DateCode)
}


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Turn a table of any columns into a matrix of floats that a network can learn from.

    Every column is taken for what it holds, whatever its dtype: numbers (also as text), truth
    values, dates (also ISO text) or categories. All arithmetic is in float64 and ends within
    :math:`(-3, 3)` or close to unit size before the cast to ``dtype``, so large offsets such as
    timestamps lose nothing.

    ============  ==========================================================================
    number        centred by its median, divided by its interquartile range, smoothly clipped
                  to ±3; its place among ``n_bins`` quantiles, or among all of its values if
                  they are few, as those of codes; or waves of ``n_waves`` lengths; if it is
                  mostly one value, other frequent values one by one
    truth value   ±1
    date          elapsed time; sine and cosine of its place in year, month, week and day
    category      one column a level (two levels: ±1); of more than ``max_levels``, the most
                  frequent ones, and the frequency and mean target of all
    missing       the centre of numbers and dates, no level of categories; and a column of its
                  own if values were missing at fitting
    ============  ==========================================================================

    Columns that cannot help are dropped: constant ones, all missing, exact copies of another,
    and text that is different in every row. `report` tells what happened to each.

    Parameters
    ----------
    categorical_features : sequence of str or int, default=None
        Columns to take for categories whatever they hold, by name or position.
    max_levels : int, default=32
        How many levels of a category get a column of their own.
    max_codes : int, default=64
        How many frequent values of a number that is mostly one value enter one by one.
    numeric_embedding : {"auto", "piecewise_linear", "periodic", "both", "none"}, default="auto"
        What a number becomes beside its scaled value z. "piecewise_linear": how far it has come
        through each of its bins, see ``n_bins``. "periodic": :math:`\cos 2\pi f_j z` and
        :math:`\sin 2\pi f_j z`, with ``n_waves`` frequencies. "auto" is "piecewise_linear".
    n_bins : int or "auto", default="auto"
        In how many bins to cut each number at its quantiles; 0 for none. "auto" is 32 from
        256 rows on, and rises from there to 96 at 15,000; fewer for more than eight numbers.
    n_waves : int or "auto", default="auto"
        Number of frequencies; "auto" is 8, the lowest of them for more than 48 numbers.
    wave_scale : float, default=1.0
        Frequencies, in periods per unit of z, are quantiles of :math:`|f|`, f normal of this
        standard deviation.
    target_type : {"auto", "continuous", "classes"}, default="auto"
        How to take ``y`` for the mean target of levels. "auto" asks scikit-learn's
        ``type_of_target``.
    dtype : {"float32", "float64"}, default="float32"
        Of the matrix.
    random_state : int, default=0
        Seed of the folds over which mean targets are computed.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names; only if ``X`` was a DataFrame.

    Notes
    -----
    `fit_transform` is not `fit` followed by `transform` if there are categories of more than
    ``max_levels`` levels and ``y`` is given: as in scikit-learn's ``TargetEncoder``, the mean
    targets of the fitted rows come from other folds.

    At `transform`, the columns of a DataFrame are found by name, in any order. A column too many
    is ignored with a warning. Levels not seen at fitting get 0 in the columns of all levels and
    the average of what else is known; newly missing values are taken for the centre. Infinity is
    an error.

    Examples
    --------
    >>> import pandas as pd
    >>> from lamina.tables import TableEncoder
    >>> table = pd.DataFrame({"height": [1.5, None, 1.8, 1.7], "kind": ["a", "b", "a", "c"]})
    >>> encoder = TableEncoder(n_bins=0).fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['height', 'height missing', 'kind=a', 'kind=b', 'kind=c']
    >>> encoder.transform(table)[1].tolist()
    [0.0, 1.0, 0.0, 1.0, 0.0]
    """

    n_features_in_: int
    feature_names_in_: Array
    _columns: ColumnNames
    _codes: dict[str, ColumnCode]
    _reports: list[ColumnReport]

    def __init__(
        self,
        *,
        categorical_features: Sequence[str | int] | None = None,
        max_levels: int = 32,
        max_codes: int = 64,
        numeric_embedding: Embedding = "auto",
        n_bins: int | Literal["auto"] = "auto",
        n_waves: int | Literal["auto"] = "auto",
        wave_scale: float = 1.0,
        target_type: Literal["auto", "continuous", "classes"] = "auto",
        dtype: DtypeName = "float32",
        random_state: int = 0,
    ) -> None:
        self.categorical_features = categorical_features
        self.max_levels = max_levels
        self.max_codes = max_codes
        self.numeric_embedding = numeric_embedding
        self.n_bins = n_bins
        self.n_waves = n_waves
        self.wave_scale = wave_scale
        self.target_type = target_type
        self.dtype = dtype
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the columns hold.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The target, for the mean targets of categories of many levels.

        Returns
        -------
        self : TableEncoder
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> FloatArray:
        """Learn what the columns hold and return the matrix of the fitted rows.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The target, for the mean targets of categories of many levels.

        Returns
        -------
        matrix : ndarray of shape (n_samples, n_features_out)
        """
        self._check_parameters()
        frame = as_frame(X)
        names = ColumnNames.of(X, frame)
        forced = names.places(self.categorical_features)
        targets = None if y is None else encoding_targets(y, self.target_type, len(frame))
        self._remember(names)
        self._codes, self._reports = {}, []
        kinds = {
            name: "category" if name in forced else kind_of(frame[name]) for name in frame.columns
        }
        embedding = NumberEmbedding.of(
            self.numeric_embedding,
            n_bins=self.n_bins,
            n_waves=self.n_waves,
            wave_scale=self.wave_scale,
            n_samples=len(frame),
            n_numbers=list(kinds.values()).count("number"),
        )

        blocks: dict[str, FloatArray] = {}
        seen: dict[str, str] = {}
        for name, kind in kinds.items():
            try:
                code, block = self._fit_column(frame[name], kind, targets, embedding)
                digest = _digest(code, block)
                if digest in seen:
                    raise Unusable(f"same as {seen[digest]!r}")
            except Unusable as reason:
                self._reports.append(reported(frame[name], kind, 0, f"dropped: {reason}"))
                continue
            seen[digest] = name
            self._codes[name], blocks[name] = code, block
            self._reports.append(reported(frame[name], kind, block.shape[1], note_on(code)))
        if not blocks:
            self._warn_nothing()
        return self._joined(blocks, len(frame))

    def transform(self, X: Any) -> FloatArray:
        """Return the matrix of a table with the same columns.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            The table.

        Returns
        -------
        matrix : ndarray of shape (n_samples, n_features_out)

        Raises
        ------
        DataError
            If a column is missing, or a value is infinite or not of the column's kind.
        """
        check_is_fitted(self)
        frame = self._columns.aligned(X, self._codes, type(self).__name__)
        blocks = {name: code.transform(frame[name]) for name, code in self._codes.items()}
        return self._joined(blocks, len(frame))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of the matrix.

        Parameters
        ----------
        input_features : array-like of str, of shape (n_features,), default=None
            Only checked, as in scikit-learn: the names seen at fitting.

        Returns
        -------
        names : ndarray of str objects, of shape (n_columns,)
        """
        check_is_fitted(self)
        if input_features is not None and tuple(input_features) != self._columns.names:
            raise ParameterError(
                "input_features must be the columns seen at fitting, "
                f"{shown(list(self._columns.names))}. Got {shown(list(input_features))}."
            )
        names = [name + suffix for name, code in self._codes.items() for suffix in code.suffixes]
        return np.array(names or ["constant"], dtype=object)

    def _parts(self) -> Array:
        """Return what each column of the matrix belongs to: "bin", "wave 1", … or ""."""
        parts = [part for code in self._codes.values() for part in code.parts]
        return np.array(parts or [""], dtype=object)

    def report(self) -> pd.DataFrame:
        """Return what each column was taken for.

        Returns
        -------
        table : DataFrame
            A row per column of the table: ``column``, ``kind``, ``distinct`` (number of distinct
            values), ``missing`` (number of missing values), ``features`` (number of columns of
            the matrix; 0 if dropped) and ``note``.
        """
        check_is_fitted(self)
        return pd.DataFrame([vars(report) for report in self._reports])

    def _check_parameters(self) -> None:
        check_integer("max_levels", self.max_levels, 2)
        check_integer("max_codes", self.max_codes, 0)
        check_choice("numeric_embedding", self.numeric_embedding, EMBEDDINGS)
        if self.n_bins != "auto":
            check_integer("n_bins", self.n_bins, 0)
        if self.n_waves != "auto":
            check_integer("n_waves", self.n_waves, 1)
        check_real("wave_scale", self.wave_scale, 0.0, open_minimum=True)
        check_choice("target_type", self.target_type, ("auto", "continuous", "classes"))
        check_choice("dtype", self.dtype, DTYPES)
        check_integer("random_state", self.random_state, 0, 2**32 - 1)

    def _remember(self, columns: ColumnNames) -> None:
        self._columns = columns
        self.n_features_in_ = len(columns.names)
        # As scikit-learn has it: the attribute is there only if the columns had names.
        if "feature_names_in_" in vars(self):
            del self.feature_names_in_
        if columns.named:
            self.feature_names_in_ = np.array(columns.names, dtype=object)

    def _fit_column(
        self,
        column: pd.Series[Any],
        kind: str,
        targets: FloatArray | None,
        embedding: NumberEmbedding,
    ) -> tuple[ColumnCode, FloatArray]:
        if kind == "category":
            return fit_levels(
                column,
                max_levels=self.max_levels,
                targets=targets,
                random_state=self.random_state,
            )
        if kind == "date":
            code: ColumnCode = fit_dates(column)
        elif kind == "boolean":
            code = fit_numbers(column, "boolean", embedding=NumberEmbedding(), max_codes=0)
        else:
            code = fit_numbers(column, "number", embedding=embedding, max_codes=self.max_codes)
        return code, code.transform(column)

    def _warn_nothing(self) -> None:
        reasons = "; ".join(f"{report.column} {report.note}" for report in self._reports[:5])
        warnings.warn(
            f"X must have at least one column that can help. Got {shown(reasons, 200)}. "
            "Predictions will be the same for all rows.",
            DataWarning,
            stacklevel=3,
        )

    def _joined(self, blocks: dict[str, FloatArray], n_samples: int) -> FloatArray:
        width = sum(block.shape[1] for block in blocks.values())
        matrix = np.zeros((n_samples, max(width, 1)), dtype=self.dtype)
        start = 0
        for block in blocks.values():
            matrix[:, start : start + block.shape[1]] = block
            start += block.shape[1]
        return matrix

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return parameters, settings of all columns and arrays; nothing else is needed."""
        check_is_fitted(self)
        features = self.categorical_features
        params = self.get_params()
        params["categorical_features"] = None if features is None else _plain(features)
        columns, arrays = [], {}
        for place, (name, code) in enumerate(self._codes.items()):
            config, own = code.to_state()
            columns.append({"column": name, "code": type(code).__name__, "config": config})
            arrays.update({f"columns.{place}.{key}": array for key, array in own.items()})
        config = {
            "params": params,
            "names": list(self._columns.names),
            "named": self._columns.named,
            "columns": columns,
            "reports": [vars(report) for report in self._reports],
        }
        return config, arrays

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Restore an encoder."""
        encoder = cls(**config["params"])
        encoder._remember(ColumnNames(tuple(config["names"]), config["named"]))
        encoder._reports = [ColumnReport(**report) for report in config["reports"]]
        encoder._codes = {}
        for place, entry in enumerate(config["columns"]):
            prefix = f"columns.{place}."
            own = {
                key.removeprefix(prefix): array
                for key, array in arrays.items()
                if key.startswith(prefix)
            }
            code = _CODES[entry["code"]].from_state(entry["config"], own)
            encoder._codes[entry["column"]] = code
        return encoder

    def __sklearn_is_fitted__(self) -> bool:
        return "n_features_in_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _plain(features: Sequence[str | int]) -> list[str | int]:
    return [feature if isinstance(feature, str) else int(feature) for feature in features]


def _digest(code: ColumnCode, block: FloatArray) -> str:
    """Return what two columns have in common only if their values are all equal."""
    config, arrays = code.to_state()
    state = hashlib.blake2b(json.dumps([type(code).__name__, config]).encode())
    for array in (*arrays.values(), block):
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()
