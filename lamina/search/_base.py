"""The steps of a search: check, cut folds, run the rounds, tell the results, fit the best."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _warn_or_raise_about_fit_failures
from sklearn.utils import check_random_state, indexable
from sklearn.utils.validation import _check_method_params, _num_samples

import lamina
from lamina._checks import check_integer, check_real, shown
from lamina._errors import DataError, LaminaError, LaminaWarning, ParameterError
from lamina._typing import FloatArray

from ._candidates import Candidate, Problem, Schedule
from ._choice import choose_votes
from ._door import (
    classes_of,
    folds_of,
    plain_target,
    score_names,
    score_of_failure,
    seeded,
    weight_of,
)
from ._ensemble import StackedEnsembleClassifier, StackedEnsembleRegressor
from ._fingerprint import described, fingerprint
from ._ledger import Ledger, open_ledger
from ._lines import ProgressLines
from ._report import SearchReport
from ._results import (
    all_score_names,
    as_sklearn,
    history_table,
    more_columns,
    out_of_fold,
    rank_again,
    refuse_if_all_failed,
)
from ._rounds import OutOfTimeError, Rounds
from ._sampler import make_sampler
from ._space import Space
from ._together import last_step, with_parameters
from ._trials import Trials
from ._work import Rules

if TYPE_CHECKING:
    import pandas as pd

BATCHES, SMALLEST_BATCH = 8, 8
"""A sampler that learns is asked so many times, for at least so many candidates."""

SOME_EPOCHS = 10
"""Epochs of the first rung where the estimator has no number of epochs."""

OF_A_CHOICE = (
    *("best_index_", "best_score_", "best_params_", "best_estimator_", "refit_time_"),
    *("feature_names_in_", "oof_predictions_", "ensemble_", "ensemble_score_"),
)
"""Attributes that some searches do not set."""


class BaseStackedSearch(BaseSearchCV):  # type: ignore[misc]
    """What `StackedSearchCV` does; that class has its parameters and tells what they mean."""

    history_: pd.DataFrame
    oof_predictions_: FloatArray | None
    interrupted_: bool

    _listen: Callable[[SearchReport], None] | None = None
    """Hears where the search stands; the command line draws it."""

    def _fit(self, X: Any, y: Any, params: dict[str, Any]) -> Self:
        """Search, and fit the best candidate on all rows."""
        began = time.monotonic()
        space = self._check()
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        if y is None:
            raise DataError("y must be given: a search needs something to predict. Got None.")
        y = plain_target(y)
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = folds_of(cv.split(X, y, **routed.splitter.split), _num_samples(X))
        self._checked_cv_orig, self.n_splits_ = cv, len(folds)
        weight = weight_of(self.estimator, routed.estimator.fit, _num_samples(X))
        problem = Problem(X, y, folds, weight, routed.scorer.score)

        names = score_names(scorers)
        metric = self.refit if isinstance(self.refit, str) else names[0]
        ledger = self._open(space, problem, names, metric)
        try:
            rounds = self._run(began, space, problem, scorers, names, metric, ledger)
        finally:
            ledger.close()
        self.scorer_ = getattr(scorers, "_scorers", scorers)
        self._tell(rounds, problem, names, refit_metric)
        self._fit_best(problem, routed.estimator.fit)
        if self.ensemble_size:
            self._fit_ensemble(rounds.candidates, problem, scorers, metric)
        return self

    def _check(self) -> Space:
        """Check the parameters, and return the space."""
        last_step(self.estimator)
        check_integer("n_iter", self.n_iter, 1)
        if self.factor is not None:
            check_real("factor", self.factor, 1.0, open_minimum=True)
        if self.min_epochs != "auto":
            check_integer("min_epochs, if not 'auto',", self.min_epochs, 1)
        check_integer("ensemble_size", self.ensemble_size, 0)
        check_integer("verbose", 1 if self.verbose is True else self.verbose, 0)
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or self.n_jobs == 0):
            raise ParameterError(
                f"n_jobs must be None or an integer other than 0. Got {shown(self.n_jobs)}."
            )
        seed = self.random_state
        if not (seed is None or isinstance(seed, np.random.RandomState)):
            check_integer("random_state, if not None or a RandomState,", seed, 0)
        if self.time_limit is not None:
            check_real("time_limit", self.time_limit, 0.0, open_minimum=True)
        if self.error_score != "raise" and not isinstance(self.error_score, Real):
            raise ParameterError(
                f"error_score must be 'raise' or a number. Got {shown(self.error_score)}."
            )
        space = Space(self.param_distributions)
        known = self.estimator.get_params()
        for name in space.names:
            if name not in known:
                clone(self.estimator).set_params(**{name: None})  # says which names there are
        return space

    def _open(self, space: Space, problem: Problem, names: Sequence[str], metric: str) -> Ledger:
        """Open the ledger of this search: a new one, or that of the same call."""
        given = self.random_state
        seed = given
        if given is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0]) % 2**31
        elif not isinstance(given, (int, np.integer)):
            given = seed = int(check_random_state(given).randint(2**31 - 1))
        if self.storage is None:
            return open_ledger(None, "", int(seed), {})
        mark = fingerprint(
            {
                "version": lamina.__version__,
                "random_state": None if given is None else int(given),
                "estimator": self.estimator,
                "space": self.param_distributions,
                "sampler": self.sampler,
                "halving": (self.n_iter, self.factor, self.min_epochs, self.ensemble_size),
                "scoring": self.scoring,
                "metric": metric,
                "errors": (str(self.error_score), self.return_train_score),
                "data": (problem.X, problem.y, problem.weight, problem.folds),
                "score_params": problem.score_params,
            }
        )
        spec = {
            "estimator": type(last_step(self.estimator)).__name__,
            "parameters": list(space.names),
            "metric": metric,
            "scores": list(names),
            "n_iter": int(self.n_iter),
            "n_candidates": sum(self._schedule(0.0, space).batches),
            "n_splits": len(problem.folds),
            "n_samples": _num_samples(problem.X),
            "factor": None if self.factor is None else float(self.factor),
            "space": described(self.param_distributions),
        }
        return open_ledger(self.storage, mark, int(seed), spec)

    def _run(
        self,
        began: float,
        space: Space,
        problem: Problem,
        scorers: Any,
        names: Sequence[str],
        metric: str,
        ledger: Ledger,
    ) -> Rounds:
        """Run the rounds until they end, or time is up, or Ctrl-C is pressed."""
        first, second = np.random.SeedSequence(ledger.seed).generate_state(2)
        self._base = seeded(clone(self.estimator), space, int(second) % 2**31)
        sampler = make_sampler(self.sampler, space, int(first))
        rules = Rules(
            estimator=self._base,
            scorer=scorers,
            score_names=tuple(names),
            error_score=self.error_score,
            return_train_score=self.return_train_score,
            classes=classes_of(self.estimator, problem.y),
        )
        rounds = Rounds(
            problem,
            rules,
            self._schedule(began, space),
            sampler,
            ledger,
            metric,
            n_jobs=self.n_jobs,
            listen=self._listener(),
            # Without a storage nobody reads them, and Optuna takes its time to load.
            ended=None if self.storage is None else Trials(ledger, sampler, metric),
        )
        self.interrupted_ = False
        try:
            rounds.run()
        except (KeyboardInterrupt, OutOfTimeError) as error:
            self.interrupted_ = True
            if not any(candidate.outcomes for candidate in rounds.candidates):
                if isinstance(error, KeyboardInterrupt):
                    raise
                raise LaminaError(
                    f"time_limit must leave time for at least one shard of candidates on each "
                    f"of {self.n_splits_} folds. Got {self.time_limit} s."
                ) from None
        return rounds

    def _schedule(self, began: float, space: Space) -> Schedule:
        n = int(self.n_iter)
        batches: tuple[int, ...] = (n,)
        if self.sampler != "random":
            size = min(n, max(SMALLEST_BATCH, -(-n // BATCHES)))
            batches = tuple(min(size, n - start) for start in range(0, n, size))
        if space.n_combinations is not None and self.sampler == "random":
            batches = (min(n, space.n_combinations),)
        return Schedule(
            batches=batches,
            min_epochs=self._first_epochs(),
            factor=None if self.factor is None else float(self.factor),
            at_least=max(1, int(self.ensemble_size)),
            deadline=None if self.time_limit is None else began + self.time_limit,
        )

    def _first_epochs(self) -> int:
        if self.min_epochs != "auto":
            return int(self.min_epochs)
        most = getattr(last_step(self.estimator), "max_iter", None)
        if not isinstance(most, (int, np.integer)) or self.factor is None:
            return SOME_EPOCHS
        return max(1, int(np.ceil(most / self.factor**2)))

    def _listener(self) -> Callable[[SearchReport], None] | None:
        if self._listen is not None:
            return self._listen
        return ProgressLines(0.0 if self.verbose > 1 else 5.0) if self.verbose else None

    def _tell(
        self, rounds: Rounds, problem: Problem, asked: Sequence[str], refit_metric: str
    ) -> None:
        """Set the attributes that tell what was found."""
        for name in OF_A_CHOICE:  # of an earlier fit, which this one may not set again
            if name in vars(self):
                delattr(self, name)
        candidates = rounds.candidates
        missing = score_of_failure(self.error_score)
        names = all_score_names(candidates, asked)
        out = as_sklearn(candidates, len(problem.folds), names, missing)
        refuse_if_all_failed(out)
        _warn_or_raise_about_fit_failures(out, self.error_score)
        self.multimetric_ = names != ["score"]
        if self.multimetric_:
            self._check_refit_for_multimetric(dict.fromkeys(names))
            refit_metric = self.refit if isinstance(self.refit, str) else refit_metric
        results: dict[str, Any] = self._format_results(
            [dict(candidate.parameters) for candidate in candidates],
            len(problem.folds),
            out,
            more_columns(candidates),
        )
        rank_again(results, candidates, names)
        self.cv_results_ = results
        self.history_ = history_table(rounds.history)
        if self.refit or not self.multimetric_:
            self.best_index_ = int(self._select_best_index(self.refit, refit_metric, results))
            if not callable(self.refit):
                self.best_score_ = float(results[f"mean_test_{refit_metric}"][self.best_index_])
            self.best_params_ = results["params"][self.best_index_]
            best = candidates[self.best_index_]
            n_samples = _num_samples(problem.X)
            self.oof_predictions_ = out_of_fold(best, problem.folds, n_samples)

    def _fit_best(self, problem: Problem, fit_params: Mapping[str, Any]) -> None:
        """Fit the best candidate on all rows."""
        if not self.refit:
            return
        self.best_estimator_ = with_parameters(self._base, self.best_params_)
        start = time.time()
        self.best_estimator_.fit(problem.X, problem.y, **fit_params)
        self.refit_time_ = time.time() - start
        names = getattr(self.best_estimator_, "feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names

    def _fit_ensemble(
        self, candidates: Sequence[Candidate], problem: Problem, scorers: Any, metric: str
    ) -> None:
        """Choose members by their out-of-fold predictions, and fit them on all rows."""
        votes, self.ensemble_score_ = choose_votes(
            candidates,
            problem,
            scorers,
            metric,
            int(self.ensemble_size),
            classes_of(self.estimator, problem.y),
            classifier=is_classifier(self.estimator),
        )
        if not votes:
            warnings.warn(
                "There is no ensemble, since no candidate was trained to its end on every fold. "
                "Give the search more time.",
                LaminaWarning,
                stacklevel=4,
            )
            return
        chosen = [number for number, n in votes.items() if n]
        models = [with_parameters(self._base, candidates[i].parameters) for i in chosen]
        classifier = is_classifier(self.estimator)
        kind = StackedEnsembleClassifier if classifier else StackedEnsembleRegressor
        self.ensemble_ = kind(models, [votes[number] for number in chosen])
        self.ensemble_.fit(problem.X, problem.y, problem.weight)

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickle keeps: all but the listener, which belongs to this process."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_listen"}
