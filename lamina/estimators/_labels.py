"""Class labels of any kind, numbered 0 to K − 1 for the network, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets, type_of_target, unique_labels

from lamina._errors import DataError
from lamina._typing import Array, FloatArray, IntArray

LabelKind: TypeAlias = Literal["one class", "binary", "multiclass", "multilabel"]


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels that a classifier knows.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels in order; for a multilabel problem the numbers of the columns.
    multilabel : bool
        Whether a row may carry any number of labels at once.
    sparse : bool
        Whether predictions of a multilabel problem are sparse, as the target was.
    """

    classes: Array
    multilabel: bool = False
    sparse: bool = False

    @property
    def kind(self) -> LabelKind:
        """Which of the four problems this is."""
        if self.multilabel:
            return "multilabel"
        return {1: "one class", 2: "binary"}.get(len(self.classes), "multiclass")  # type: ignore[return-value]

    def numbers(self, y: Array) -> IntArray:
        """Return the number of each label of ``y``; all of them are known."""
        return np.searchsorted(self.classes, y)

    def indicators(self, y: Any) -> FloatArray:
        """Return a multilabel ``y`` as float64 zeros and ones of shape (N, n_classes)."""
        matrix: Any = y
        dense = np.asarray(matrix.toarray() if sp.issparse(y) else y)
        if dense.ndim != 2 or dense.shape[1] != len(self.classes):
            raise DataError(
                f"y must have {len(self.classes)} columns of 0 and 1, as in the first call. "
                f"Got an array of shape {dense.shape}."
            )
        wrong = np.argwhere((dense != 0) & (dense != 1))
        if wrong.size:
            row, column = (int(i) for i in wrong[0])
            raise DataError(
                f"y must be 0 or 1. Got {dense[row, column].item()} in row {row}, column {column}."
            )
        return dense.astype(np.float64)

    def decode(self, numbers: IntArray) -> Array:
        """Return the labels of class numbers (N,)."""
        labels: Array = self.classes[numbers]
        return labels

    def decode_indicators(self, positive: Array) -> Any:
        """Return the indicator matrix of a multilabel prediction, dense or sparse as ``y`` was."""
        matrix = positive.astype(int)
        return sp.csr_matrix(matrix) if self.sparse else matrix


def learn_labels(y: Any) -> Labels:
    """Return the labels that occur in ``y``.

    Raises
    ------
    ValueError
        If ``y`` holds no class labels; the sentences are scikit-learn's.
    """
    kind = type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass", "multilabel-indicator"):
        check_classification_targets(y)
        raise ValueError("Multioutput target data is not supported with label binarization")
    multilabel = kind == "multilabel-indicator"
    return Labels(np.asarray(unique_labels(y)), multilabel, multilabel and sp.issparse(y))


def is_multilabel(y: Any) -> bool:
    """Return whether ``y`` is an indicator matrix with several columns."""
    return bool(type_of_target(y).startswith("multilabel"))


def refuse_unknown(y: Any, known: Labels) -> None:
    """Raise if ``y`` has a label that ``known`` has not; the message names the first row."""
    found = unique_labels(y)
    unknown = np.setdiff1d(found, known.classes)
    if len(unknown):
        row = int(np.flatnonzero(np.isin(y, unknown))[0])
        raise ValueError(
            f"`y` has classes not in `self.classes_`. `self.classes_` has {known.classes}. "
            f"'y' has {found}. The first unknown one is in row {row}: name all classes in the "
            f"`classes` of the first call to partial_fit."
        )


def refuse_other_classes(y: Any, known: Labels) -> None:
    """Raise if ``y`` has not exactly the classes of the previous fit."""
    found = unique_labels(y)
    if set(found) != set(known.classes):
        raise ValueError(
            "warm_start can only be used where `y` has the same classes as in the previous "
            f"call to fit. Previously got {known.classes}, `y` has {found}"
        )
