"""A classifier whose lower layers come from another task."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from lamina._errors import ParameterError
from lamina._typing import Array, DtypeName, FloatArray
from lamina.nn import Activation

from ._classifier import MLPClassifier
from ._inputs import plain_labels
from ._labels import learn_labels
from ._mlp import BaseMLP
from ._parameters import CLASSIFIER_CONSTRAINTS, hidden_sizes
from ._table_calibration import divided
from ._transfer import TRANSFER_CONSTRAINTS, BaseTransfer, Strategy
from ._transfer_fit import Outcome
from ._transfer_inputs import Data
from ._transfer_outputs import Outputs, shared_outputs
from ._transfer_temperature import cross_validated_temperature
from ._transfer_top import TopClassifier
from ._trunk import Trunk
from ._weights import ClassWeight


class TransferClassifier(ClassifierMixin, BaseTransfer):  # type: ignore[misc]
    r"""Learn new classes from few labels with the layers of a network that has seen more.

    The copied layers make features h(x); a new layer tells the classes apart by

    .. math:: \min_{W, b} \; -\sum_n w_n \ln \mathrm{softmax}_{y_n}(W h(x_n) + b)
              + \frac{\alpha}{2} \lVert W \rVert^2

    and, unless they are frozen, copied layers follow by small steps.

    Parameters
    ----------
    pretrained : model, encoder or None, default=None
        Where the lower layers come from: a `Network`; a fitted estimator or encoder of lamina,
        a Pipeline that ends in one, or its `Trunk`. An encoder that is not fitted is cloned and
        fitted first, to the rows of ``X`` and ``X_unlabelled``. None begins from random weights,
        on standardised inputs: the comparison that a transfer has to win.
    strategy : {"frozen", "last", "fine_tune"}, default="frozen"
        "frozen": copied layers stay as they are, their features are computed once, and only
        new layers are trained on them. "last": the last `n_layers` copied ones are trained, too.
        "fine_tune": all are, by small steps and few of them.
    n_layers : int, default=1
        How many copied layers "last" trains. Must be 1 with any other strategy.
    hidden_layer_sizes : int or sequence of int, default=()
        Units of new layers upon the copied ones; ``()`` reads the answer off linearly.
    activation : str, Activation or sequence of them, default="relu"
        Activation of the new layers. Not used where `hidden_layer_sizes` has none.
    copy_outputs : bool, default=False
        Whether the output rows of labels that both tasks have begin as copies. The source must
        be a classifier, and there are no new hidden layers.
    calibrate : bool, default=True
        Whether logits are divided by a temperature of at least 1, which makes probabilities of
        new rows honest and changes no prediction of a class. It is found by five more trainings,
        each without a fifth of the labelled rows; fewer where that holds out a thousand rows.
    class_weight : dict, "balanced" or None, default=None
        Factors of the row weights by class; "balanced" gives all classes the same total weight.
    solver : str, default="auto"
        How the weights move: a name that `MLPClassifier` knows. "auto" is "lbfgs" where one new
        layer is all that is trained, without dropout and early stopping, and "adam" else.
    alpha : float or "auto", default="auto"
        Strength of the L2 penalty, as in `MLPClassifier`. "auto" is 3 for one new layer and 0.1
        for several; and 0 where copied layers move, whose few small steps keep them near where
        they began.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto" is ``min(200, n_samples)``. Not used by "lbfgs".
    learning_rate_init : float or "auto", default="auto"
        Size of the steps; "auto" is 0.0002 where copied layers move, else 0.01 for one new layer
        and 0.001 for several.
    max_iter : int or "auto", default="auto"
        Epochs, or most iterations of "lbfgs". "auto" is 100 steps where copied layers move,
        else 300, but at least 10 epochs; and 1000 iterations.
    dropout : float, default=0.0
        Share of hidden units above the frozen ones that are switched off in each step. Must be 0
        where outputs alone are trained.
    early_stopping : bool, default=False
        Whether to hold out rows, stop when their loss has not improved for a tenth of
        `max_iter`, but at least ten epochs, and keep the weights of the best epoch. Few rows
        held out tell little: it is for long training on many labels.
    validation_fraction : float, default=0.1
        Share of the rows that is held out. Only used when early_stopping=True.
    n_members : int, default=1
        Networks for each copied network; they differ in their random draws alone.
    random_state : int, RandomState instance or None, default=None
        Seed of new weights, the order of rows and dropout.
    verbose : bool or int, default=False
        Whether to print the loss of each epoch of the last stage.
    device : str, default="auto"
        Where training runs: "auto" is a CUDA device where there is one, else the CPU.
    dtype : {"float32", "float64"} or None, default=None
        Precision. None trains in that of the source and predicts in float64.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order; columns of probabilities are in this order.
    predictor_ : MLPClassifier
        The whole networks, as an estimator on prepared inputs.
    networks_ : list of Network
        The whole networks: copied layers, then new ones.
    network_ : Network
        The only one of them.
    transfer_ : TransferResult
        What was copied, frozen and made new, and how labels map; ``transfer_.summary()`` tells it.
    temperature_ : float
        What the logits were divided by.
    source_ : Trunk or None
        What was copied from.
    n_iter_ : int
        Epochs, or iterations of "lbfgs", of the last stage.
    history_ : DataFrame
        A row for each member and epoch of the last stage.
    target_name_ : str or None
        Name of ``y``, where it is a Series with a name.
    n_features_in_ : int
        Features of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` had names that are all texts.

    Raises
    ------
    ParameterError
        If nothing can be copied from the source, or `n_layers`, `copy_outputs`, `dropout` or
        `early_stopping` would do nothing.
    DataError
        If X or X_unlabelled has other columns than the source, or than each other.

    See Also
    --------
    TransferRegressor : The same for numbers.
    DenoisingEncoder : A source that needs no labels; of the encoders the safest on tables.

    Notes
    -----
    Training has two stages. First new layers are trained on the features of all copied layers,
    frozen and standardised with the statistics of ``X`` and ``X_unlabelled`` together; a
    hundredth of the mean deviation is added to each deviation. With "frozen" that is all. Else
    the scaling is multiplied into the first new layer, which changes no prediction, and the
    copied layers go on from there with the new ones. So "last" and "fine_tune" begin where
    "frozen" ends, and random outputs never pull at copied weights [2]_.

    Frozen layers have no dropout and keep no running statistics; their weights in ``networks_``
    are those of the source, bit for bit. The source itself is never changed. scikit-learn's
    ``clone`` keeps a fitted source, so that cross-validation and searches use it. Sources that
    are values of a grid come out of it unfitted, unless wrapped in a `Trunk` or in
    `sklearn.frozen.FrozenEstimator`.

    Of a source with several networks each is copied and trained upon, and the predictions are
    their mean. To copy one alone: ``pretrained=model.networks_[0]`` for a model that does not
    scale its inputs.

    Transfer helps where both tasks have the same kind of inputs and share structure; early
    layers are general, late ones belong to their task. Compare with ``pretrained=None``.

    References
    ----------
    .. [1] J. Yosinski et al., How transferable are features in deep neural networks?, NIPS 2014,
       https://arxiv.org/abs/1411.1792
    .. [2] A. Kumar et al., Fine-tuning can distort pretrained features and underperform
       out-of-distribution, ICLR 2022, https://arxiv.org/abs/2202.10054

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from lamina import MLPClassifier, TransferClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> old, new = y < 5, y >= 5
    >>> source = MLPClassifier(64, random_state=0).fit(X[old] / 16, y[old])
    >>> few = np.flatnonzero(new)[:50]
    >>> model = TransferClassifier(source).fit(X[few] / 16, y[few])
    >>> print(model.transfer_.summary())
    frozen, from MLPClassifier
    64 → 64  copied, frozen
    64 → 5   new
    >>> model.score(X[new] / 16, y[new]) > 0.75
    True
    """

    predictor_: MLPClassifier
    temperature_: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TRANSFER_CONSTRAINTS,
        "copy_outputs": ["boolean"],
        "calibrate": ["boolean"],
        "class_weight": CLASSIFIER_CONSTRAINTS["class_weight"],
    }
    _numeric_target: ClassVar[bool] = False
    _predictor_kind: ClassVar[type[MLPClassifier]] = MLPClassifier

    def __init__(
        self,
        pretrained: Any = None,
        strategy: Strategy = "frozen",
        *,
        n_layers: int = 1,
        hidden_layer_sizes: Any = (),
        activation: str | Activation | list[Any] | tuple[Any, ...] = "relu",
        copy_outputs: bool = False,
        calibrate: bool = True,
        class_weight: ClassWeight = None,
        solver: str = "auto",
        alpha: float | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        learning_rate_init: float | Literal["auto"] = "auto",
        max_iter: int | Literal["auto"] = "auto",
        dropout: float = 0.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_members: int = 1,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
        device: str = "auto",
        dtype: DtypeName | None = None,
    ) -> None:
        self.pretrained = pretrained
        self.strategy = strategy
        self.n_layers = n_layers
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.copy_outputs = copy_outputs
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate_init = learning_rate_init
        self.max_iter = max_iter
        self.dropout = dropout
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_members = n_members
        self.random_state = random_state
        self.verbose = verbose
        self.device = device
        self.dtype = dtype

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, X_unlabelled: Any = None) -> Self:
        """Fit to labelled rows, with the help of rows that have no label.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (n_samples, n_features)
            Inputs, as the source takes them.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or a matrix of zeros and ones for a multilabel problem.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0. A row of weight 0 is as good as absent.
        X_unlabelled : array, CSR matrix or table of shape (n_unlabelled, n_features), optional
            More inputs, without labels: features are standardised with them, and an encoder
            that is not fitted learns from them.

        Returns
        -------
        self : TransferClassifier
            The fitted classifier.
        """
        return self._fit(X, y, sample_weight, X_unlabelled)

    @property
    def classes_(self) -> Array:
        """The labels in order."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("classes_ is there once the classifier has been fitted.")
        return self.predictor_.classes_

    def predict(self, X: Any) -> Array:
        """Return the most probable labels.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels of the kind that ``fit`` saw.
        """
        return self._fitted_predictor.predict(self.inputs(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._fitted_predictor.predict_proba(self.inputs(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._fitted_predictor.predict_log_proba(self.inputs(X))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the logits: positive, or largest, where ``predict`` says yes.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One number a row for two classes, the log-odds of ``classes_[1]``.
        """
        return self._fitted_predictor.decision_function(self.inputs(X))

    @property
    def _fitted_predictor(self) -> MLPClassifier:
        check_is_fitted(self)
        return self.predictor_

    def _take(self, outcome: Outcome, trunk: Trunk | None, data: Data) -> None:
        super()._take(outcome, trunk, data)
        calibrated = cross_validated_temperature(self, trunk, data) if self.calibrate else 1.0
        self.temperature_ = calibrated
        if calibrated != 1.0:
            predictor = self.predictor_
            cooler = [divided(network, calibrated) for network in predictor.networks_]
            predictor._set(predictor._weights_of(cooler))

    def _top(self) -> BaseMLP:
        return TopClassifier(class_weight=self.class_weight)

    @property
    def _begins_at_outputs(self) -> bool:
        return self.copy_outputs

    def _check_strategy(self) -> None:
        super()._check_strategy()
        if not self.copy_outputs:
            return
        if self.pretrained is None or hidden_sizes(self):
            raise ParameterError(
                "copy_outputs must be False without a pretrained classifier, and with new hidden "
                "layers, whose outputs read other features. Got True."
            )

    def _first_outputs(self, trunk: Trunk, k: int, y: Any) -> Outputs | None:
        if not self.copy_outputs:
            return None
        return shared_outputs(trunk, k, learn_labels(plain_labels(np.asarray(y))))

    def _label_origins(self, trunk: Trunk | None, predictor: Any) -> dict[Any, str]:
        labels = predictor.classes_.tolist()
        known = trunk.classes.tolist() if self.copy_outputs and trunk is not None else []  # type: ignore[union-attr]
        return {label: "copied" if label in known else "new" for label in labels}

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: multilabel is fine."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
