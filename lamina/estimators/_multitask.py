"""One network for several tasks: shared layers, and outputs of its own for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import _fit_context
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import _num_samples, check_is_fitted

from lamina._checks import shown
from lamina._errors import DataError, ParameterError
from lamina._typing import Array, DtypeName
from lamina.heads import Head
from lamina.nn import Activation
from lamina.represent import MultitaskHead

from ._begun import Preparation
from ._input_scaling import centre_and_scale, standardised
from ._inputs import check_new_data, check_training_data
from ._multitask_adding import new_outputs
from ._multitask_base import MultitaskAnswers
from ._multitask_state import from_state, to_state
from ._multitask_targets import (
    Kind,
    by_task,
    check_kind,
    kind_of_task,
    learn_task,
    rarest_cells,
    read_columns,
    refuse_unseen_tasks,
    targets_of,
    weight_of_task,
)
from ._parameters import MULTITASK_CONSTRAINTS
from ._problem import Problem
from ._weights import check_weights


class MultitaskNetwork(MultitaskAnswers):
    r"""Learn several tasks at once, of which a row need not have all targets.

    The hidden layers are shared; each task t has outputs of its own. What is minimised is

    .. math:: \sum_t \frac{w_t}{N_t} \sum_{n \in O_t} E_t(a_t(x_n), y_{nt})
              + \frac{\alpha}{2 N} \lVert W \rVert^2

    over the :math:`N_t` rows :math:`O_t` in which the target of task t was observed: a task with
    few targets counts as much as one with many, and no row is dropped because another task has
    nothing to say of it. So tasks with few rows profit from features that others have learned.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(64,)
        Units of the shared layers.
    activation : str, Activation or sequence of them, default="relu"
        Activation of the shared layers.
    kinds : {"classification", "regression"}, dict or None, default=None
        What the tasks ask for: one for all, or by name. Where nothing is said, text, truth
        values, two different numbers and codes that count up from 0 or 1 are classes.
    task_weights : dict or None, default=None
        How much the mean error of a task counts, by name; 1 where nothing is said. Numbers are
        standardised, so that their errors are comparable.
    solver : {"adam", "adamw", "lbfgs", "muon", "rmsprop", "sgd"}, default="adam"
        How the weights move.
    alpha : float, default=0.0001
        Strength of the L2 penalty.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto" is ``min(200, n_samples)``.
    learning_rate_init : float, default=0.001
        Size of the steps.
    max_iter : int, default=200
        Most epochs, or most iterations of "lbfgs".
    tol : float, default=1e-4
        Smallest improvement that counts for `n_iter_no_change`.
    n_iter_no_change : int or inf, default=10
        Training stops when the loss has not improved for more epochs in a row.
    dropout : float, default=0.0
        Share of hidden units that are switched off in each step, in [0, 1).
    early_stopping : bool, default=False
        Whether to hold out rows, stop when their loss no longer improves, and keep the weights
        of the best epoch.
    validation_fraction : float, default=0.1
        Share of the rows that is held out. Only used when early_stopping=True.
    n_members : int, default=1
        Networks that are trained together; predictions are their mean.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, the order of rows and dropout.
    verbose : bool or int, default=False
        Whether to print the loss of each epoch.
    device : str, default="auto"
        Where training runs: "auto" is a CUDA device where there is one, else the CPU.
    dtype : {"float32", "float64"} or None, default=None
        Precision of the network; None is float32 for float32 ``X`` and float64 otherwise.

    Attributes
    ----------
    task_names_ : list of str
        Names of the tasks, those added later at the end.
    tasks_ : DataFrame
        A row for each task: kind, number of classes, observed targets, weight, whether added.
    networks_ : list of Network
        The networks, one for each member; outputs of the first tasks side by side. Their inputs
        are ``(X - input_mean_) / input_scale_``.
    input_mean_, input_scale_ : ndarray of shape (n_features_in_,)
        Mean and standard deviation of the features.
    history_ : DataFrame
        A row for each member and epoch.
    loss_, n_iter_ : float, int
        Last loss in nats, and epochs.
    n_features_in_ : int
        Features of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` had names that are all texts.

    Raises
    ------
    DataError
        If a task has no target at all, or one class.

    See Also
    --------
    TransferClassifier : A new task alone, from a network that has learned another.

    References
    ----------
    .. [1] R. Caruana, Multitask learning, Machine Learning 28, 1997,
       https://doi.org/10.1023/A:1007379606734

    Examples
    --------
    Two tasks about wines, with holes:

    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from lamina import MultitaskNetwork
    >>> X, cultivar = load_wine(return_X_y=True)
    >>> y = {"cultivar": cultivar.astype(object), "alcohol": X[:, 0].copy()}
    >>> y["cultivar"][::3], y["alcohol"][1::2] = None, np.nan
    >>> model = MultitaskNetwork(
    ...     (16,), solver="lbfgs", alpha=1.0, tol=1e-2, random_state=0
    ... ).fit(X[:, 1:], y)
    >>> bool(np.mean(model.predict(X[:, 1:])["cultivar"] == cultivar) > 0.9)
    True
    >>> model.predict_proba(X[:2, 1:], "cultivar").shape
    (2, 3)

    A third task, learned on the frozen layers; the others answer as before:

    >>> model.add_task("strong", X[:, 1:], X[:, 0] > 13).task_names_
    ['cultivar', 'alcohol', 'strong']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = MULTITASK_CONSTRAINTS

    # What the other perceptrons let a user choose.
    loss = "multitask"
    learning_rate = "constant"
    weight_decay = 0.0
    clip_norm = None
    shuffle = nesterovs_momentum = True
    warm_start = False
    power_t, momentum, beta_1, beta_2, epsilon, max_fun = 0.5, 0.9, 0.9, 0.999, 1e-8, 15000

    def __init__(
        self,
        hidden_layer_sizes: Any = (64,),
        activation: str | Activation | list[Any] | tuple[Any, ...] = "relu",
        *,
        kinds: Kind | Mapping[str, Kind] | None = None,
        task_weights: Mapping[str, float] | None = None,
        solver: str = "adam",
        alpha: float = 0.0001,
        batch_size: int | Literal["auto"] = "auto",
        learning_rate_init: float = 0.001,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_iter_no_change: float = 10,
        dropout: float = 0.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_members: int = 1,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
        device: str = "auto",
        dtype: DtypeName | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.kinds = kinds
        self.task_weights = task_weights
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate_init = learning_rate_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.dropout = dropout
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_members = n_members
        self.random_state = random_state
        self.verbose = verbose
        self.device = device
        self.dtype = dtype

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all tasks.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : DataFrame, dict, Series or array of shape (n_samples,) or (n_samples, n_tasks)
            A column for each task; None or NaN where a row has no target. Columns of an array
            are called "task0" and so on.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0.

        Returns
        -------
        self : MultitaskNetwork
            The fitted network.
        """
        return self._fit(X, y, sample_weight, incremental=False)

    def _problem(
        self, X: Any, y: Any, sample_weight: Any, *, fresh: bool, incremental: bool, classes: Any
    ) -> Problem:
        columns = self._columns_of(X, y)
        n_rows = len(next(iter(columns.values())))
        weight = check_weights(sample_weight, np.empty((n_rows, 1)))
        kinds = by_task("kinds", self.kinds, columns)
        weights = by_task("task_weights", self.task_weights, columns)
        tasks = [
            learn_task(
                name, column, kind_of_task(kinds, name), weight_of_task(weights, name), weight
            )
            for name, column in columns.items()
        ]
        targets, seen = targets_of(tasks, columns, weight)
        # last, since it sets the features of a network that may be fitted already
        X, _ = check_training_data(
            self, X, np.zeros(n_rows), dtype=self.dtype, reset=fresh, numeric_target=False
        )
        if not seen.all():
            weight = np.where(seen, 1.0 if weight is None else weight, 0.0)
        used = slice(None) if weight is None else weight > 0
        mean, scale = centre_and_scale(X[used], None if weight is None else weight[used])
        head = MultitaskHead(tuple(task.head for task in tasks))
        given = "frame" if isinstance(y, pd.DataFrame) else "array"
        return Problem(
            X=standardised(X, mean, scale),
            y=targets,
            head=head,
            n_raw=head.n_raw(len(tasks)),
            out_activation="multitask",
            weight=weight,
            numbers=rarest_cells(tasks, targets) if self.early_stopping else None,
            attributes={
                "_tasks": tasks,
                "_added": {},
                "_given": "dict" if isinstance(y, Mapping) else given,
                "input_mean_": mean,
                "input_scale_": scale,
            },
            by_likelihood=True,
        )

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, *, incremental: bool, classes: Any = None
    ) -> Preparation:
        fit = super()._prepare(X, y, sample_weight, incremental=incremental, classes=classes)
        tasks = fit.problem.attributes["_tasks"]
        for member in fit.plan.members:
            if member.rows is not None:
                refuse_unseen_tasks(tasks, fit.problem.y[member.rows])
        return fit

    def _head_of_fit(self) -> Head:
        return MultitaskHead(tuple(task.head for task in getattr(self, "_tasks", ())))

    def add_task(
        self, name: str, X: Any, y: Any, *, kind: Kind | None = None, alpha: float = 3.0
    ) -> Self:
        """Learn one more task on the shared layers, which stay as they are.

        What the other tasks answer does not change by a bit.

        Parameters
        ----------
        name : str
            Name of the new task.
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : array of shape (n_samples,)
            Targets; None or NaN where there is none.
        kind : {"classification", "regression"}, optional
            What the task asks for; inferred if not given.
        alpha : float, default=3.0
            Strength of the L2 penalty of the new outputs on standardised features.

        Returns
        -------
        self : MultitaskNetwork
            With one task more.
        """
        check_is_fitted(self)
        if not isinstance(name, str):
            raise ParameterError(f"name must be a text. Got {shown(name)}.")
        if name in self.task_names_:
            raise ParameterError(
                f"name must be a new one. Got {name!r}, and the tasks are {self.task_names_}."
            )
        if len(self.networks_[0].sizes) < 3:
            raise ParameterError(
                "hidden_layer_sizes must have a shared layer for a task to be added. Got none."
            )
        kind = None if kind is None else check_kind("kind", kind)
        column = self._new_column(name, X, y)
        inputs = standardised(check_new_data(self, X), self.input_mean_, self.input_scale_)
        task = learn_task(name, column, kind, 1.0, None)
        trunks = [self._trunk_of(network) for network in self.networks_]
        self._added = self._added | {name: new_outputs(task, column, inputs, trunks, alpha)}
        return self

    def _new_column(self, name: str, X: Any, y: Any) -> Array:
        """Return the targets of a task to add."""
        columns = read_columns(y, _num_samples(X), [name])
        if len(columns) > 1:
            raise DataError(f"y must be one column, that of task {name!r}. Got {list(columns)}.")
        return next(iter(columns.values()))

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what describes the fitted network as JSON, and its arrays."""
        config, arrays = super()._to_state()
        return to_state(self, config, arrays)

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the network that `_to_state` described."""
        return from_state(super()._from_state(config, arrays), config, arrays)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: y is needed, several columns are fine."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.classifier_tags = ClassifierTags()  # what has predict_proba is asked for them
        return tags
