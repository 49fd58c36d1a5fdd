"""Tables whose columns have names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import DataError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

WITHOUT_NAMES = (np.ndarray, list, tuple, int, float)
"""What is no table for certain, and need not wait for the import that tells."""


def named_table(X: Any, name: str = "X") -> nw.DataFrame[Any] | None:
    """Return a DataFrame of any library whose columns have names, anything else as None.

    Numbers, as pandas gives them by itself, are no names.
    """
    if isinstance(X, WITHOUT_NAMES):
        return None
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    if not nw.dependencies.is_into_dataframe(X):
        return None
    try:
        table: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
    except DuplicateError:
        raise DataError(
            f"{name} must have a different name for each column. Got one more than once."
        ) from None
    return table if any(isinstance(column, (str, tuple)) for column in table.columns) else None
