"""One shard: begin the fits of some candidates on a fold, train them as one stack, score them."""

from __future__ import annotations

import contextlib
import pickle
import time
import traceback
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection._validation import _score
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples

from lamina._errors import DivergedError, DivergedWarning, ParameterError
from lamina._typing import Array, FloatArray, IntArray
from lamina.stack import MemberState, StackResult

from ._door import score_of_failure
from ._fingerprint import described
from ._outcome import End, Outcome, Place
from ._together import (
    Begun,
    begin,
    groups,
    last_step,
    steps_before,
    train_together,
    with_parameters,
)

Parameters = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Rules:
    """How fits are judged; the same for every shard.

    Attributes
    ----------
    estimator : estimator
        Not fitted; the candidates' parameters are set on clones.
    scorer : scorer
        Of scikit-learn; several at once give a dict.
    score_names : tuple of str
        Names of its scores.
    error_score : "raise" or float
        The score of a fit that failed.
    classes : ndarray or None
        All classes, so that a fold that lacks one has a column for it.
    """

    estimator: BaseEstimator
    scorer: Any
    score_names: tuple[str, ...]
    error_score: Any
    return_train_score: bool = False
    classes: Array | None = None


@dataclass(frozen=True, eq=False)
class Job:
    """One shard, ready to be run anywhere.

    Attributes
    ----------
    rules : Rules
        How its fits are judged.
    fold : int
        Number of the fold.
    rows, held_out : arrays of int
        Rows for training, and those for the scores.
    candidates : dict of int to parameters
        What to fit.
    pause_at : int or None
        Epochs after which members pause.
    states : dict of place to list of MemberState
        Where those that go on stand.
    weight, score_params : array or None, dict
        Weights of all rows for training, and what the scorer wants to know of all rows.
    """

    rules: Rules
    fold: int
    rows: IntArray
    held_out: IntArray
    candidates: Mapping[int, Parameters]
    pause_at: int | None = None
    states: Mapping[Place, Sequence[MemberState]] = field(default_factory=dict)
    weight: Any = None
    score_params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class _Fit:
    """One candidate under way."""

    candidate: int
    model: Any = None
    begun: Begun | None = None
    X: Any = None
    X_test: Any = None
    result: StackResult | None = None
    seconds: float = 0.0
    error: str | None = None

    def fail(self, error: Exception, rules: Rules) -> None:
        """Keep what went wrong, or raise it."""
        if rules.error_score == "raise":
            raise error
        self.error = "".join(traceback.format_exception_only(error)).strip()


Result = tuple[list[Outcome], dict[Place, list[MemberState]]]


def run_job(job: Job, X: Any, y: Any) -> Result:
    """Return the outcomes of a shard, and the states of those that paused."""
    estimator = job.rules.estimator
    X_train, y_train = _safe_split(estimator, X, y, job.rows)
    X_test, y_test = _safe_split(estimator, X, y, job.held_out, job.rows)
    weight = None if job.weight is None else _safe_indexing(job.weight, job.rows)
    inputs = _Inputs(X_train, y_train, X_test)
    # That a member reached its last epoch or diverged is told by the results.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DivergedWarning)
        fits = [_begin(number, job, inputs, weight) for number in job.candidates]
        _train(fits, job)
        outcomes = [_judged(fit, job, y_train, y_test) for fit in fits]
    states = {
        outcome.place: fit.result.states
        for fit, outcome in zip(fits, outcomes, strict=True)
        if outcome.end == "paused" and fit.result is not None
    }
    return outcomes, states


class _Inputs:
    """A fold's inputs after whatever comes before the network, which is fitted on its rows."""

    def __init__(self, X: Any, y: Any, X_test: Any) -> None:
        self._X, self._y, self._X_test = X, y, X_test
        self._known: dict[Hashable, tuple[Any, Any]] = {}

    def after(self, steps: Pipeline | None) -> tuple[Any, Any]:
        """Return the inputs for training and those that are held out."""
        if steps is None:
            return self._X, self._X_test
        key = _key(steps)
        if key not in self._known:
            X = steps.fit_transform(self._X, self._y)
            self._known[key] = X, steps.transform(self._X_test)
        return self._known[key]

    @property
    def y(self) -> Any:
        """The targets for training."""
        return self._y


def _key(steps: Pipeline) -> Hashable:
    """Return something that is equal for equal steps; where that cannot be told, for none."""
    with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
        return str(joblib.hash(steps))
    with contextlib.suppress(ParameterError):
        return described(steps)
    return object()


def _begin(number: int, job: Job, inputs: _Inputs, weight: Any) -> _Fit:
    fit, start = _Fit(number), time.perf_counter()
    try:
        model = with_parameters(job.rules.estimator, job.candidates[number])
        fit.model = last_step(model)
        fit.X, fit.X_test = inputs.after(steps_before(model))
        fit.begun = begin(fit.model, fit.X, inputs.y, weight)
    except Exception as error:
        fit.fail(error, job.rules)
    fit.seconds = time.perf_counter() - start
    return fit


def _train(fits: Sequence[_Fit], job: Job) -> None:
    """Train all fits that share their data as one stack."""
    ready = [fit for fit in fits if fit.begun is not None]
    for places in groups([fit.begun for fit in ready if fit.begun is not None]):
        group = [ready[i] for i in places]
        try:
            _train_group(group, job)
        except Exception as error:
            if len(group) == 1:
                group[0].fail(error, job.rules)
                continue
            for fit in group:  # one of them is to blame, and the others shall not suffer
                try:
                    _train_group([fit], job)
                except Exception as own:
                    fit.fail(own, job.rules)


def _train_group(group: Sequence[_Fit], job: Job) -> None:
    begun = [fit.begun for fit in group if fit.begun is not None]
    states = [
        job.states.get((fit.candidate, job.fold), one.states)
        for fit, one in zip(group, begun, strict=True)
    ]
    for fit, result in zip(group, train_together(begun, states, job.pause_at), strict=True):
        fit.result = result
        fit.seconds += float(result.columns["seconds"].sum())


def _judged(fit: _Fit, job: Job, y: Any, y_test: Any) -> Outcome:
    """Return what came of a fit, with the scores of its held-out rows."""
    rules, start = job.rules, time.perf_counter()
    scores = dict.fromkeys(rules.score_names, score_of_failure(rules.error_score))
    end: End = "failed"
    held_out = None
    if fit.error is None:
        try:
            end = _finished(fit)
            scores = _scores(fit.model, fit.X_test, y_test, job, job.held_out)
            if rules.return_train_score:
                own = _scores(fit.model, fit.X, y, job, job.rows)
                scores |= {f"train_{name}": value for name, value in own.items()}
            if end == "finished":
                held_out = _predictions(fit.model, fit.X_test, rules.classes)
        except DivergedError as error:
            fit.fail(error, rules)
            end = "diverged"
        except Exception as error:
            fit.fail(error, rules)
            end = "failed"
    epochs = [0] if fit.result is None else fit.result.n_epochs
    most = [0] if fit.begun is None else [member.max_epochs for member in fit.begun.members]
    return Outcome(
        candidate=fit.candidate,
        fold=job.fold,
        end=end,
        n_epochs=max(epochs),
        max_epochs=max(most),
        scores=scores,
        fit_seconds=fit.seconds,
        score_seconds=time.perf_counter() - start,
        error=fit.error,
        held_out=held_out,
    )


def _finished(fit: _Fit) -> End:
    """Give an estimator what was trained; return whether it could train on."""
    if fit.begun is None or fit.result is None:  # it was fitted at once
        return "finished"
    fit.begun.finish(fit.result)
    going = any(state.unfinished is not None for state in fit.result.states)
    return "paused" if going else "finished"


def _scores(model: Any, X: Any, y: Any, job: Job, rows: IntArray) -> dict[str, float]:
    rules = job.rules
    params = {
        name: value if np.ndim(value) == 0 else _safe_indexing(value, rows)
        for name, value in job.score_params.items()
    }
    found = _score(model, X, y, rules.scorer, params, rules.error_score)
    found = found if isinstance(found, dict) else {"score": found}
    return {name: float(value) for name, value in found.items()}


def _predictions(model: Any, X: Any, classes: Array | None) -> FloatArray | None:
    """Return (n, K): probabilities of all classes, if it has some, or the predicted targets."""
    if not is_classifier(model):
        return np.asarray(model.predict(X), dtype=np.float64).reshape(_num_samples(X), -1)
    if getattr(model, "predict_proba", None) is None:
        return None
    told = np.asarray(model.predict_proba(X))
    proba: FloatArray = told.astype(np.float64)
    if classes is not None and told.dtype != np.float64:  # they add up to 1 as float32 does
        proba = proba / proba.sum(axis=1, keepdims=True)
    if classes is None or len(classes) == proba.shape[1]:
        return proba
    whole = np.zeros((len(proba), len(classes)))
    whole[:, np.searchsorted(classes, model.classes_)] = proba
    return whole
