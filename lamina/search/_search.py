"""Search hundreds of networks in the time of a few, with scikit-learn's search interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from lamina._typing import Path

from ._base import BaseStackedSearch
from ._report import SearchReport


class StackedSearchCV(BaseStackedSearch):
    r"""Search over parameters with cross-validation, many networks as one stack.

    Every candidate is fitted on every fold as it would be alone; candidates of a fold train
    together. With successive halving a candidate pauses after a rung of epochs, the best
    ``1 / factor`` of them go on from where they stood, and the others leave:

    .. math:: n_{r+1} = \lceil n_r / \eta \rceil, \qquad e_{r+1} = \eta \, e_r

    Parameters
    ----------
    estimator : estimator
        A network of lamina, or a Pipeline whose last step is one; the steps before it are
        fitted on the training rows of each fold. The table estimators, which train a stack of
        their own, and estimators from elsewhere are fitted one by one, without halving.
    param_distributions : dict or list of dict
        By the name of each parameter: a list of values of any kind, a SciPy distribution, or a
        distribution of Optuna. From a list of dicts each candidate first picks one.
    n_iter : int, default=64
        Most candidates; fewer if there are no more combinations.
    cv : int, splitter or iterable, default=5
        Folds, as everywhere in scikit-learn.
    scoring : str, callable, list, tuple, dict or None, default=None
        Scores, as everywhere in scikit-learn; None is the estimator's own.
    factor : float or None, default=3
        Of so many candidates one goes on to the next rung; None trains all to their end.
    min_epochs : int or "auto", default="auto"
        Epochs of the first rung; "auto" is ``max_iter / factor**2``, where the estimator has a
        number there, else 10.
    sampler : {"random", "tpe"} or optuna.samplers.BaseSampler, default="random"
        How candidates are chosen. "random" draws all at once; the others learn from one batch
        for the next.
    storage : str, path or None, default=None
        A file such as "search.db", or the URL of a database, where every rung is kept. The
        same call goes on from there, also after it was killed, and several processes that
        make it share the work. None keeps nothing.
    refit : bool, str or callable, default=True
        Whether, and by which score, to fit the best candidate on all rows, as in scikit-learn.
    ensemble_size : int, default=0
        Most votes of an ensemble of candidates, chosen by their out-of-fold predictions; 0
        makes none.
    time_limit : float or None, default=None
        Most seconds for the search; shards that run are finished. Fits on all rows follow.
    n_jobs : int or None, default=None
        Shards that run at a time in processes of their own, by joblib's backend of the moment.
        None is one in this process, which trains on all cores, a member on each; with small
        networks as many processes as cores are faster, since they prepare and score, too.
    random_state : int, RandomState instance or None, default=None
        Seed of the candidates; also of an estimator whose own ``random_state`` is None.
    verbose : int, default=0
        1 prints a line every few seconds, 2 one for each shard.
    error_score : "raise" or float, default=nan
        Score of a fit that fails or diverges; its candidate ranks last, whatever the number.
    return_train_score : bool, default=False
        Whether to score the training rows too.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        As in scikit-learn, a row for each candidate, with the scores of its last rung. A
        candidate that reached a later rung ranks before one that did not. Also "n_epochs",
        "rung", "batch" and "status": "finished", "stopped" (lost, or out of time), "diverged",
        "failed" or "not run".
    best_estimator_, best_score_, best_params_, best_index_ : estimator, float, dict, int
        As in scikit-learn.
    history_ : DataFrame
        A row for each candidate, split and rung.
    oof_predictions_ : ndarray of shape (n_samples, n_outputs) or None
        What the best candidate predicts of each row when it is held out: probabilities, or
        targets. None if it did not come to its end, or knows no probabilities.
    ensemble_ : StackedEnsembleClassifier or StackedEnsembleRegressor
        The ensemble, fitted on all rows. Only with ``ensemble_size``.
    ensemble_score_ : float
        Score of its out-of-fold predictions, of all rows together. They have chosen it, too,
        so that it flatters a little.
    n_splits_ : int
        Number of folds.
    interrupted_ : bool
        Whether Ctrl-C or the time limit ended the search.

    Raises
    ------
    ParameterError
        If a parameter is not allowed.
    FileError
        If the storage cannot be used.

    Notes
    -----
    A shard is up to 32 candidates on one fold, whatever ``n_jobs`` is, so that the result
    depends on nothing but the seed. Time grows linearly with candidates, folds, rows and
    epochs; halving with three rungs and a factor of 3 saves about two thirds of the epochs.

    References
    ----------
    .. [1] K. Jamieson and A. Talwalkar, Non-stochastic best arm identification and
       hyperparameter optimization, AISTATS 2016, https://arxiv.org/abs/1502.07943
    .. [2] R. Caruana, A. Niculescu-Mizil, G. Crew, A. Ksikes, Ensemble selection from libraries
       of models, ICML 2004, https://doi.org/10.1145/1015330.1015432

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lamina import MLPClassifier, StackedSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {"hidden_layer_sizes": [(8,), (16, 8)], "learning_rate_init": [0.01, 0.03]}
    >>> model = MLPClassifier(max_iter=200, tol=0.01, random_state=0)
    >>> search = StackedSearchCV(model, space, cv=3, random_state=0).fit(X, y)
    >>> len(search.cv_results_["params"]), search.best_score_ > 0.9
    (4, True)
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        param_distributions: Any,
        *,
        n_iter: int = 64,
        cv: Any = 5,
        scoring: Any = None,
        factor: float | None = 3,
        min_epochs: int | Literal["auto"] = "auto",
        sampler: Any = "random",
        storage: Path | None = None,
        refit: Any = True,
        ensemble_size: int = 0,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.factor = factor
        self.min_epochs = min_epochs
        self.sampler = sampler
        self.storage = storage
        self.ensemble_size = ensemble_size
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search, and fit the best candidate on all rows.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
            Inputs, in whatever form the estimator takes.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        **params : dict
            ``groups`` for the splitter, and ``sample_weight`` for the network; in a pipeline
            its name has the step's before it, as in ``mlp__sample_weight``.

        Returns
        -------
        self : StackedSearchCV
            The search with its results.
        """
        return self._fit(X, y, params)

    def set_listener(self, listener: Callable[[SearchReport], None] | None) -> Self:
        """Let a function hear where the search stands, after each shard.

        Parameters
        ----------
        listener : callable or None
            Is called with a `SearchReport`. A KeyboardInterrupt that it raises ends the search
            as Ctrl-C does. None lets nobody hear; `verbose` prints again.

        Returns
        -------
        self : StackedSearchCV
            The search; ``clone`` and pickle leave its listener out.
        """
        self._listen = listener
        return self
