"""A regressor whose lower layers come from another task."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from lamina._typing import DtypeName, FloatArray
from lamina.distributions import Predictive
from lamina.heads import Head, Poisson
from lamina.nn import Activation

from ._inputs import refuse_text_target
from ._losses import is_squared_error
from ._mlp import BaseMLP
from ._parameters import REGRESSOR_CONSTRAINTS
from ._regressor import MLPRegressor
from ._transfer import TRANSFER_CONSTRAINTS, BaseTransfer, Strategy
from ._transfer_outputs import Outputs
from ._transfer_top import TopRegressor
from ._transfer_unit import TargetUnit
from ._trunk import Trunk


class TransferRegressor(RegressorMixin, BaseTransfer):  # type: ignore[misc]
    r"""Predict numbers from few labels with the layers of a network that has seen more.

    The copied layers make features h(x); a new layer reads the parameters of the target's
    distribution off them by

    .. math:: \min_{W, b} \; -\sum_n w_n \ln p(y_n \mid W h(x_n) + b)
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
    loss : str or Head, default="squared_error"
        What is said of the target, as in `MLPRegressor`: "squared_error", "normal",
        "heteroscedastic", "mixture", "poisson", or a head. All that can learn the standardised
        target, also "squared_error". A spread that is learned with few labels soon
        believes too much in itself.
    solver : str, default="auto"
        How the weights move: a name that `MLPRegressor` knows. "auto" is "lbfgs" where one new
        layer is all that is trained, without dropout and early stopping, and "adam" else.
    alpha : float or "auto", default="auto"
        Strength of the L2 penalty, as in `MLPRegressor`. "auto" is 3 for one new layer and 0.1 for
        several; and 0 where copied layers move, whose few small steps keep them near where
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
    predictor_ : MLPRegressor
        The whole networks, as an estimator on prepared inputs.
    networks_ : list of Network
        The whole networks: copied layers, then new ones.
    network_ : Network
        The only one of them.
    transfer_ : TransferResult
        What was copied, frozen and made new; ``transfer_.summary()`` tells it.
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
        If nothing can be copied from the source, or `n_layers`, `dropout` or
        `early_stopping` would do nothing.
    DataError
        If X or X_unlabelled has other columns than the source, or than each other.

    See Also
    --------
    TransferClassifier : The same for labels.
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
    >>> from sklearn.datasets import load_diabetes
    >>> from lamina import DenoisingEncoder, TransferRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> encoder = DenoisingEncoder(hidden_layer_sizes=32, max_steps=200, random_state=0)
    >>> model = TransferRegressor(encoder).fit(X[:60], y[:60], X_unlabelled=X[60:])
    >>> model.score(X[60:], y[60:]) > 0.3
    True
    >>> model.transfer_.origins, model.transfer_.n_unlabelled
    (('copied, frozen', 'new'), 382)
    """

    predictor_: MLPRegressor

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TRANSFER_CONSTRAINTS,
        "loss": REGRESSOR_CONSTRAINTS["loss"],
    }
    _numeric_target: ClassVar[bool] = True
    _predictor_kind: ClassVar[type[MLPRegressor]] = MLPRegressor

    def __init__(
        self,
        pretrained: Any = None,
        strategy: Strategy = "frozen",
        *,
        n_layers: int = 1,
        hidden_layer_sizes: Any = (),
        activation: str | Activation | list[Any] | tuple[Any, ...] = "relu",
        loss: str | Head = "squared_error",
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
        self.loss = loss
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
        """Fit to rows with a target, with the help of rows that have none.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (n_samples, n_features)
            Inputs, as the source takes them.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0. A row of weight 0 is as good as absent.
        X_unlabelled : array, CSR matrix or table of shape (n_unlabelled, n_features), optional
            More inputs, without targets: features are standardised with them, and an encoder
            that is not fitted learns from them.

        Returns
        -------
        self : TransferRegressor
            The fitted regressor.
        """
        return self._fit(X, y, sample_weight, X_unlabelled)

    def predict(
        self, X: Any, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the predicted targets, in units of y.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Whether to return the standard deviation of the predicted distribution, too.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
            The mean of the distribution, and of the members.
        std : ndarray of the shape of mean
            Standard deviations. Only with ``return_std=True``.
        """
        return self._fitted_predictor.predict(self.inputs(X), return_std)

    def predict_dist(self, X: Any) -> Predictive:
        """Return the distribution of the target in each row, in units of y.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        Predictive
            Moments, quantiles, intervals, modes, densities, samples and scores of each row.
        """
        return self._fitted_predictor.predict_dist(self.inputs(X))

    def predict_quantile(self, X: Any, q: Any) -> FloatArray:
        """Return the value below which the target falls with probability q.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (n_samples, n_features)
            Inputs.
        q : float or array-like of shape (m,)
            Probabilities from 0 to 1.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets), with several q a second axis of m
            Quantiles in units of y.
        """
        return self.predict_dist(X).quantile(q)

    def predict_interval(self, X: Any, level: float = 0.9) -> FloatArray:
        """Return the central interval that holds the target with a probability.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (n_samples, n_features)
            Inputs.
        level : float, default=0.9
            Probability inside, above 0 and below 1.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, 2, n_targets)
            Lower and upper end in units of y.
        """
        return self.predict_dist(X).interval(level)

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean log density of the targets, in nats of y; larger is better.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (n_samples, n_features)
            Inputs.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            What was observed.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0.

        Returns
        -------
        float
            The mean over the rows.
        """
        return self._fitted_predictor.log_likelihood(self.inputs(X), y, sample_weight)

    @property
    def _fitted_predictor(self) -> MLPRegressor:
        check_is_fitted(self)
        return self.predictor_

    def _top(self) -> BaseMLP:
        return TopRegressor(loss=self.loss)

    def _unit_of(self, y: Any, weight: FloatArray | None) -> TargetUnit | None:
        head = MLPRegressor(self.loss)._head_of_fit()
        if not is_squared_error(head):
            return None
        refuse_text_target(np.asarray(y))
        return TargetUnit.of(y, weight)

    def _first_outputs(self, trunk: Trunk, k: int, y: Any) -> Outputs | None:
        return None

    def _label_origins(self, trunk: Trunk | None, predictor: Any) -> dict[Any, str]:
        return {}

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: several targets are fine, counts are not negative."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self.loss == "poisson" or isinstance(self.loss, Poisson)
        return tags
