"""A fit that fails leaves the encoder as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator

CALLBACKS = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")
"""What scikit-learn needs after a fit that failed."""


@contextmanager
def undone_on_failure(estimator: BaseEstimator) -> Iterator[None]:
    """Put all attributes back where the block raises; they are replaced, never changed."""
    own = vars(estimator)
    before, failed = dict(own), True
    try:
        yield
        failed = False
    finally:
        if failed:
            needed = {name: own[name] for name in CALLBACKS if name in own}
            own.clear()
            own.update(before | needed)
