"""Train the fits of several estimators as one stack, where their data are equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from lamina._errors import ParameterError
from lamina._typing import Array, DtypeName
from lamina.stack import Member, MemberState, StackResult, train


class Begun(Protocol):
    """A fit of an estimator that waits for its members to be trained."""

    members: Sequence[Member]
    X: Any
    y: Array
    dtype: DtypeName
    device: str
    finish: Callable[[StackResult], None]
    states: Sequence[MemberState | None]


def last_step(model: Any) -> Any:
    """Return the estimator that predicts: the last step of a pipeline, or what was given."""
    predictor = model.steps[-1][1] if isinstance(model, Pipeline) and model.steps else model
    if isinstance(predictor, type):
        raise ParameterError(
            f"estimator must be an object. Got the class {predictor.__name__}. "
            f"Write {predictor.__name__}()."
        )
    if not all(callable(getattr(predictor, name, None)) for name in ("fit", "predict")):
        raise ParameterError(
            "estimator must fit and predict, or be a Pipeline whose last step does. "
            f"Got {type(predictor).__name__}."
        )
    return predictor


def steps_before(model: Any) -> Pipeline | None:
    """Return what comes before the last step of a pipeline, or None."""
    several = isinstance(model, Pipeline) and len(model.steps) > 1
    return model[:-1] if several else None


def with_parameters(estimator: Any, parameters: Mapping[str, Any]) -> Any:
    """Return a clone with a candidate's parameters, which may be estimators themselves."""
    return clone(estimator).set_params(**clone(dict(parameters), safe=False))


def begin(model: Any, X: Any, y: Any, weight: Any) -> Begun | None:
    """Begin the fit of an estimator; one that cannot wait is fitted, and None is returned."""
    first_half = getattr(model, "_begin", None)
    if first_half is not None:
        begun: Begun = first_half(X, y, weight)
        return begun
    if weight is None:
        model.fit(X, y)
    else:
        model.fit(X, y, sample_weight=weight)
    return None


def groups(fits: Sequence[Begun]) -> Iterator[list[int]]:
    """Yield the places of fits that one call can train: on equal data, in one precision."""
    found: list[list[int]] = []
    for i, one in enumerate(fits):
        for group in found:
            other = fits[group[0]]
            if (
                (one.dtype, one.device) == (other.dtype, other.device)
                and equal(one.y, other.y)
                and equal(one.X, other.X)
            ):
                group.append(i)
                break
        else:
            found.append([i])
    yield from found


def equal(a: Any, b: Any) -> bool:
    """Return whether two arrays or sparse matrices are equal, number for number."""
    if a is b:
        return True
    if sp.issparse(a) and sp.issparse(b):
        names = ("shape", "data", "indices", "indptr")
        return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)
    if sp.issparse(a) or sp.issparse(b) or a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def train_together(
    fits: Sequence[Begun],
    states: Sequence[Sequence[MemberState | None]] | None = None,
    pause_at: int | None = None,
) -> list[StackResult]:
    """Train one group, and return the result of each fit."""
    if states is None:
        states = [fit.states for fit in fits]
    result = train(
        [member for fit in fits for member in fit.members],
        fits[0].X,
        fits[0].y,
        device=fits[0].device,
        dtype=fits[0].dtype,
        states=[state for own in states for state in own],
        pause_at=pause_at,
    )
    if result.interrupted:
        raise KeyboardInterrupt
    ends = np.cumsum([len(fit.members) for fit in fits]).tolist()
    starts = [0, *ends[:-1]]
    return [_part(result, start, end) for start, end in zip(starts, ends, strict=True)]


def _part(result: StackResult, start: int, stop: int) -> StackResult:
    """Return the result of the members from ``start`` up to ``stop``, counted from zero."""
    members = slice(start, stop)
    own = (result.columns["member"] >= start) & (result.columns["member"] < stop)
    columns = {name: values[own] for name, values in result.columns.items()}
    columns["member"] = columns["member"] - start
    return StackResult(
        networks=result.networks[members],
        status=result.status[members],
        best_epoch=result.best_epoch[members],
        n_epochs=result.n_epochs[members],
        states=result.states[members],
        messages=result.messages[members],
        backend=result.backend[members],
        interrupted=result.interrupted,
        columns=columns,
    )
