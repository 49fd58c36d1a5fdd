"""Models of the command line: loading them, and what they know of the table they came from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamina._errors import FileError, ParameterError

if TYPE_CHECKING:
    import pandas as pd


def load_table_model(path: Path) -> Any:
    """Return the model of a folder that ``lamina fit`` or ``lamina search`` wrote."""
    from lamina import (
        TableClassifier,
        TableRegressor,
        TransferClassifier,
        TransferRegressor,
        load,
    )
    from lamina.estimators import Trunk
    from lamina.search import EncodedClassifier, EncodedRegressor

    model = load(path)
    front = members_of(model)[0]
    transferred = isinstance(front, (TransferClassifier, TransferRegressor))
    if transferred and front.source_ is not None and front.source_.reads_tables:
        return model
    if isinstance(front, (TableClassifier, TableRegressor, EncodedClassifier, EncodedRegressor)):
        return model
    if isinstance(front, Trunk):
        raise FileError(
            f"The model must be one that lamina fit or lamina search wrote. Got {str(path)!r}, "
            f"an encoder, which has no answers yet: lamina fit DATA --target COLUMN --from {path}"
        )
    raise FileError(
        f"The model must be one that lamina fit or lamina search wrote. Got {str(path)!r}, which "
        f"holds a {type(model).__name__}. Use it from Python: lamina.load."
    )


def members_of(model: Any) -> list[Any]:
    """Return the models of a searched ensemble, or the one model."""
    from lamina.search import StackedEnsembleClassifier, StackedEnsembleRegressor

    if isinstance(model, (StackedEnsembleClassifier, StackedEnsembleRegressor)):
        return list(model.estimators_)
    return [model]


def is_classifier(model: Any) -> bool:
    """Tell whether a model answers with classes."""
    from sklearn.base import is_classifier

    return bool(is_classifier(model))


def target_of(model: Any, path: Path) -> str:
    """Return the name of the column that the model predicts."""
    if model.target_name_ is not None:
        return str(model.target_name_)
    raise ParameterError(
        f"--target must name the column to compare with. Got none, and the model in {str(path)!r} "
        "was fitted to a target without a name."
    )


def drop_target(model: Any, table: pd.DataFrame) -> pd.DataFrame:
    """Return the table without the column that the model predicts, if it is there."""
    if model.target_name_ is None:
        return table
    return table.loc[:, [name for name in table.columns if name != model.target_name_]]
