"""What a fitted multitask network answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.utils.validation import _num_samples, check_is_fitted

from lamina._checks import check_choice
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, FloatArray
from lamina.nn import Network
from lamina.represent import MultitaskHead

from ._encoder_parts import cut
from ._input_scaling import standardised
from ._inputs import check_new_data
from ._mlp import BaseMLP
from ._multitask_adding import Added
from ._multitask_answers import as_given, decoded, in_units, task_score
from ._multitask_targets import Task, read_columns
from ._prediction import raw_outputs
from ._weights import check_weights


class MultitaskAnswers(BaseMLP):
    """The part of a multitask network that predicts and scores."""

    input_mean_: FloatArray
    input_scale_: FloatArray
    _tasks: list[Task]
    _added: dict[str, Added]
    _given: Literal["frame", "dict", "array"]

    @property
    def task_names_(self) -> list[str]:
        """Names of the tasks, those added later at the end."""
        check_is_fitted(self)
        return [task.name for task in self._all_tasks()]

    def _all_tasks(self) -> list[Task]:
        return [*self._tasks, *(added.task for added in self._added.values())]

    @property
    def tasks_(self) -> pd.DataFrame:
        """A row for each task."""
        check_is_fitted(self)
        tasks = self._all_tasks()
        return pd.DataFrame(
            {
                "kind": [task.kind for task in tasks],
                "n_classes": [0 if t.classes is None else len(t.classes) for t in tasks],
                "n_observed": [task.n_observed for task in tasks],
                "weight": [task.weight for task in tasks],
                "added": [task.name in self._added for task in tasks],
            },
            index=pd.Index([task.name for task in tasks], name="task"),
        )

    def predict(self, X: Any) -> Any:
        """Return the answers of all tasks.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        DataFrame, dict or ndarray of shape (n_samples,) or (n_samples, n_tasks)
            Labels and numbers by task, in what ``y`` came in.
        """
        means = self._means(X)
        answers = {t.name: decoded(t, means[t.name]) for t in self._all_tasks()}
        index = X.index if isinstance(X, pd.DataFrame) else None
        return as_given(answers, self._given, index)

    def predict_proba(self, X: Any, task: str | None = None) -> FloatArray:
        """Return the probability of each class of a task.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        task : str, optional
            Its name; not needed where there is one task of classes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes(task)``.
        """
        return self._means(X)[self._task(task).name]

    def classes(self, task: str | None = None) -> Array:
        """Return the labels of a task, in the order of `predict_proba`.

        Parameters
        ----------
        task : str, optional
            Its name; not needed where there is one task of classes.

        Returns
        -------
        ndarray of shape (n_classes,)
            The labels.
        """
        check_is_fitted(self)
        labels = self._task(task).classes
        assert labels is not None
        return labels

    def _task(self, name: str | None) -> Task:
        """Return a task of classes by its name."""
        found = {task.name: task for task in self._all_tasks() if task.classes is not None}
        if name is None and len(found) == 1:
            return next(iter(found.values()))
        if not found:
            raise ParameterError("task must be one with classes. Got a network without any.")
        if name not in found and name in self.task_names_:
            raise ParameterError(f"task must be one with classes. Got {name!r}, a regression.")
        return found[check_choice("task", name, found)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean over the tasks of accuracy or R², over observed targets.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : DataFrame, dict, Series or array of shape (n_samples,) or (n_samples, n_tasks)
            Targets, with holes; a task without any target is left out. Columns of an array are
            the tasks in their order.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0.

        Returns
        -------
        float
            The mean.
        """
        return float(np.mean(list(self.task_scores(X, y, sample_weight).values())))

    def task_scores(self, X: Any, y: Any, sample_weight: Any = None) -> dict[str, float]:
        """Return accuracy (of classes) or R² (of numbers) of each task.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : DataFrame, dict, Series or array of shape (n_samples,) or (n_samples, n_tasks)
            Targets, with holes; a task without any target is left out. Columns of an array are
            the tasks in their order.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0.

        Returns
        -------
        dict
            Scores by name.
        """
        means = self._means(X)
        # the columns of an array are the tasks in their order, as `predict` returns them
        columns = self._columns_of(X, y, self.task_names_)
        weight = check_weights(sample_weight, np.empty((_num_samples(X), 1)))
        tasks = {task.name: task for task in self._all_tasks()}
        for name in columns:
            check_choice("task", name, tasks)
        scores = {
            name: task_score(tasks[name], column, decoded(tasks[name], means[name]), weight)
            for name, column in columns.items()
        }
        found = {name: score for name, score in scores.items() if score is not None}
        if not found:
            raise DataError("y must have a target in some row. Got none.")
        return found

    def _columns_of(self, X: Any, y: Any, names: Sequence[str] | None = None) -> dict[str, Array]:
        """Return the targets by task."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        return read_columns(y, _num_samples(X), names)

    def _trunk_of(self, network: Network) -> Network:
        """Return the shared layers of a network."""
        return cut(network, len(network.activations) - 1)[0]

    def _means(self, X: Any) -> dict[str, FloatArray]:
        """Return probabilities (N, K) or numbers (N,) of each task, a mean over the members."""
        check_is_fitted(self)
        inputs = standardised(check_new_data(self, X), self.input_mean_, self.input_scale_)
        head = MultitaskHead(tuple(task.head for task in self._tasks))
        found: dict[str, list[FloatArray]] = {task.name: [] for task in self._all_tasks()}
        for i, network in enumerate(self.networks_):
            raws = head.slices(raw_outputs(network, inputs))
            for task, raw in zip(self._tasks, raws, strict=True):
                found[task.name].append(in_units(task, raw))
            if not self._added:
                continue
            features = raw_outputs(self._trunk_of(network), inputs)
            for name, added in self._added.items():
                raw = added.networks[i].predict_raw(features)
                found[name].append(in_units(added.task, raw))
        return {name: np.mean(parts, axis=0) for name, parts in found.items()}
