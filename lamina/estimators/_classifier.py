"""The multilayer perceptron as a classifier."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import column_or_1d

from lamina._errors import ParameterError
from lamina._typing import DtypeName
from lamina.heads import Head
from lamina.nn import Activation

from ._classification import Noise, classification_head, head_targets
from ._decisions import Decisions
from ._inputs import check_training_data, plain_labels
from ._labels import Labels, is_multilabel, learn_labels, refuse_other_classes, refuse_unknown
from ._parameters import CLASSIFIER_CONSTRAINTS
from ._problem import Problem
from ._weights import ClassWeight, check_weights, with_class_weight


class MLPClassifier(Decisions):
    r"""A feedforward network that predicts class labels.

    A drop-in for scikit-learn's class of this name: every parameter there has its name, place
    and default here, and means the same. The network minimises the log loss

    .. math:: -\frac{1}{\sum_n w_n} \sum_n w_n \ln p(y_n \mid x_n)
              + \frac{\alpha}{2 \sum_n w_n} \lVert W \rVert^2

    with softmax outputs for three and more classes, and one logistic output for two classes or
    for each label of a multilabel problem.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(100,)
        Units of each hidden layer; ``()`` makes a linear model.
    activation : str, Activation or sequence of them, default="relu"
        Activation of the hidden layers, one for all or one for each: "identity", "logistic",
        "tanh" and "relu" as in scikit-learn, and every other name in `lamina.nn.ACTIVATIONS`.
    solver : {"adam", "sgd", "lbfgs", "adamw", "rmsprop", "muon"}, default="adam"
        How the weights move. "lbfgs" uses all rows at once and suits small data.
    alpha : float, default=0.0001
        Strength of the L2 penalty; it is divided by the number of rows, or their weight, of
        the batch.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto" is ``min(200, n_samples)``. Not used by "lbfgs".
    learning_rate : str, default="constant"
        Schedule: "constant", "cosine" or "one_cycle"; with solver="sgd" also "invscaling"
        (divided by the samples seen to the power `power_t`, epoch by epoch) and "adaptive"
        (divided by 5 whenever patience runs out), which the other solvers take as "constant".
    learning_rate_init : float, default=0.001
        Size of the steps. Not used by "lbfgs".
    power_t : float, default=0.5
        Exponent of "invscaling".
    max_iter : int, default=200
        Most epochs, or most iterations of "lbfgs".
    shuffle : bool, default=True
        Whether rows come in a new order in each epoch.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, the validation split, the order of rows and dropout.
    tol : float, default=1e-4
        Smallest improvement that counts for `n_iter_no_change`; for "lbfgs" the largest
        component of the gradient at which it stops.
    verbose : bool or int, default=False
        Whether to print the loss of each epoch.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the weights of the previous call.
    momentum : float, default=0.9
        Share of the last step that is kept. Only used when solver="sgd".
    nesterovs_momentum : bool, default=True
        Whether momentum looks ahead. Only used when solver="sgd".
    early_stopping : bool, default=False
        Whether to hold out rows, stop when their score no longer improves, and keep the
        weights of the best epoch. Not used by "lbfgs".
    validation_fraction : float, default=0.1
        Share of the rows that is held out. Only used when early_stopping=True.
    beta_1, beta_2 : float, default=0.9, 0.999
        Decay rates of the two running means. Only used by "adam", "adamw" and "muon".
    epsilon : float, default=1e-8
        Added to the root of the second mean. Not used by "sgd" and "lbfgs".
    n_iter_no_change : int or inf, default=10
        Training stops when loss or score has not improved by `tol` for more epochs in a row.
    max_fun : int, default=15000
        Most evaluations of the loss. Only used when solver="lbfgs".
    loss : {"log_loss", "bernoulli", "categorical"} or Head, default="log_loss"
        What the raw outputs mean; "log_loss" chooses by the labels. A `Custom` head gets
        one-hot rows where there are three and more classes, and its raw outputs are logits.
    class_weight : dict, "balanced" or None, default=None
        Factors of the row weights by class; "balanced" gives all classes the same total weight.
    label_noise : float or "learn", default=0.0
        Probability ε that a label of the training rows is wrong: flipped, or any other of the K
        classes alike. "learn" learns it along with the weights. Probabilities, labels and
        logits that are predicted are those of the true label.
    dropout : float, default=0.0
        Share of hidden units that are switched off in each step, in [0, 1).
    weight_decay : float, default=0.0
        λ: adds λW to the gradient, or shrinks the weights directly with "adamw" and "muon".
    clip_norm : float or None, default=None
        Largest Euclidean norm of the gradient of a step.
    n_members : int, default=1
        Networks that are trained together, as one stack, and differ in their random draws
        alone. Predictions are their mean.
    device : str, default="auto"
        Where training runs: "auto" is a CUDA device where there is one, else the CPU.
    dtype : {"float32", "float64"} or None, default=None
        Precision of the network; None is float32 for float32 ``X`` and float64 otherwise.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order; for a multilabel problem the numbers of the columns.
    coefs_, intercepts_ : list of ndarray of shape (in, out) and of shape (out,)
        Weights and biases of each layer; changing them changes the predictions. Only with
        one member.
    networks_ : list of Network
        The fitted networks, one for each member.
    history_ : DataFrame
        A row for each member and epoch: losses in the units of ``loss_curve_``, score,
        learning rate, seconds.
    loss_, best_loss_ : float
        Last and smallest loss; ``best_loss_`` is None with early stopping.
    loss_curve_ : list of float
        Loss of each epoch, a mean over its batches while they are trained.
    validation_scores_, best_validation_score_ : list of float, float, or None
        Accuracy on the held-out rows.
    n_iter_, t_ : int
        Epochs of the last call, and samples seen in all.
    n_layers_, n_outputs_ : int
        Layers counted with the inputs, and raw outputs.
    out_activation_ : str
        "softmax" or "logistic".
    label_noise_ : float or ndarray of shape (n_labels,)
        The probability of a wrong label that was given or learnt, of several members the mean;
        for each label of a multilabel problem.
    n_features_in_ : int
        Features of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` had names that are all texts.

    See Also
    --------
    MLPRegressor : The same for numbers.

    Notes
    -----
    What differs from scikit-learn, on purpose:

    - Rows are shuffled by the stack's own random stream. Without shuffling, with one batch,
      and with "lbfgs" the weights are scikit-learn's up to rounding.
    - ``random_state=None`` draws from a stream of its own, never from NumPy's global one.
    - Rows of weight 0 are as good as absent: they fill no batch and are never held out.
      Negative weights are refused.
    - A loss that becomes infinite raises as weights do that are not finite. With early
      stopping the weights of the best epoch are kept, with a warning.
    - With ``warm_start`` patience begins anew in each call, so that a second call does not
      stop after its first epoch.
    - The split for early stopping is stratified for any number of classes, and every class
      keeps a row to train on. Of three and more classes one with a single row is never held
      out; of two it is refused, as in scikit-learn.
    - A single class is accepted: it is predicted with probability 1, in one column.
    - Of two classes the first has probability σ(−a), which stays exact where 1 − σ(a) is 0.

    References
    ----------
    .. [1] C. M. Bishop and H. Bishop, Deep Learning: Foundations and Concepts, chapter 6, 2024,
       https://www.bishopbook.com

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lamina import MLPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MLPClassifier((16,), "tanh", solver="lbfgs", alpha=1.0, tol=1e-2, random_state=0)
    >>> model.fit(X, y).predict_proba(X[[0, 75]]).round(1).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    >>> round(model.score(X, y), 2), model.networks_[0].sizes
    (0.98, (4, 16, 3))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CLASSIFIER_CONSTRAINTS

    def __init__(
        self,
        hidden_layer_sizes: Any = (100,),
        activation: str | Activation | list[Any] | tuple[Any, ...] = "relu",
        *,
        solver: str = "adam",
        alpha: float = 0.0001,
        batch_size: int | Literal["auto"] = "auto",
        learning_rate: str = "constant",
        learning_rate_init: float = 0.001,
        power_t: float = 0.5,
        max_iter: int = 200,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        tol: float = 1e-4,
        verbose: bool | int = False,
        warm_start: bool = False,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: float = 10,
        max_fun: int = 15000,
        loss: str | Head = "log_loss",
        class_weight: ClassWeight = None,
        label_noise: Noise = 0.0,
        dropout: float = 0.0,
        weight_decay: float = 0.0,
        clip_norm: float | None = None,
        n_members: int = 1,
        device: str = "auto",
        dtype: DtypeName | None = None,
    ) -> None:
        super().__init__(
            hidden_layer_sizes=hidden_layer_sizes,
            activation=activation,
            solver=solver,
            alpha=alpha,
            batch_size=batch_size,
            learning_rate=learning_rate,
            learning_rate_init=learning_rate_init,
            power_t=power_t,
            max_iter=max_iter,
            loss=loss,
            shuffle=shuffle,
            random_state=random_state,
            tol=tol,
            verbose=verbose,
            warm_start=warm_start,
            momentum=momentum,
            nesterovs_momentum=nesterovs_momentum,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            n_iter_no_change=n_iter_no_change,
            max_fun=max_fun,
            dropout=dropout,
            weight_decay=weight_decay,
            clip_norm=clip_norm,
            n_members=n_members,
            device=device,
            dtype=dtype,
        )
        self.class_weight = class_weight
        self.label_noise = label_noise

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the network to data and class labels.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or a matrix of zeros and ones for a multilabel problem.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0. A row of weight 0 is as good as absent, though a class that
            only such rows have stays in ``classes_``.

        Returns
        -------
        self : MLPClassifier
            The fitted classifier.
        """
        return self._fit(X, y, sample_weight, incremental=False)

    @available_if(lambda self: self._check_solver())  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Self:
        """Train for one epoch over the given data, from where the last call ended.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Class labels. Not all classes need to occur.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0.
        classes : array of shape (n_classes,), optional
            All classes that any call will see; required in the first call unless ``y`` is
            multilabel.

        Returns
        -------
        self : MLPClassifier
            The classifier after one more epoch.
        """
        if isinstance(self.class_weight, str):
            raise ParameterError(
                "class_weight must be None or a dict for partial_fit, which never sees all rows. "
                f"Got {self.class_weight!r}. Compute the weights beforehand with "
                "sklearn.utils.class_weight.compute_class_weight."
            )
        return self._fit(X, y, sample_weight, incremental=True, classes=classes)

    def _problem(
        self, X: Any, y: Any, sample_weight: Any, *, fresh: bool, incremental: bool, classes: Any
    ) -> Problem:
        if incremental:
            self._first_labels(y, classes)
        X, y = check_training_data(self, X, y, dtype=self.dtype, reset=fresh, numeric_target=False)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        y = y if sp.issparse(y) else plain_labels(y)
        labels = self._known_labels(y, incremental)
        codes = labels.indicators(y) if labels.multilabel else labels.numbers(y)
        weight = with_class_weight(
            check_weights(sample_weight, X), self.class_weight, labels.classes, codes.astype(int)
        )
        chosen = classification_head(self.loss, labels, self.label_noise)
        return Problem(
            X=X,
            y=head_targets(chosen.head, labels, codes),
            head=chosen.head,
            n_raw=chosen.n_raw,
            out_activation=chosen.out_activation,
            weight=weight,
            numbers=None if labels.multilabel else codes.astype(int),
            attributes={"_labels": labels, "classes_": labels.classes},
        )

    def _first_labels(self, y: Any, classes: Any) -> None:
        """Learn the labels of the first partial_fit from ``classes`` or the columns of ``y``."""
        first = getattr(self, "classes_", None) is None
        multilabel = is_multilabel(y) if first else self._labels.multilabel
        if multilabel and classes is None:
            if first:
                self._labels = learn_labels(y)
                self.classes_ = self._labels.classes
            return
        if _check_partial_fit_first_call(self, classes):
            self._labels = Labels(self.classes_, multilabel)

    def _known_labels(self, y: Any, incremental: bool) -> Labels:
        """Return the labels of this call, checked against those of earlier calls."""
        known: Labels | None = getattr(self, "_labels", None)
        if known is None or not (self.warm_start or incremental):
            return learn_labels(y)
        if known.multilabel:
            return known
        if is_multilabel(y):
            raise ValueError("The object was not fitted with multilabel input.")
        if self.warm_start:
            refuse_other_classes(y, known)
        else:
            refuse_unknown(y, known)
        return known

    def _head_of_fit(self) -> Head:
        return classification_head(self.loss, self._labels, self.label_noise).head
