"""The multilayer perceptron as a regressor."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils.metaestimators import available_if

from lamina._typing import DtypeName
from lamina.heads import Head
from lamina.nn import Activation

from ._parameters import REGRESSOR_CONSTRAINTS
from ._regression import Regression


class MLPRegressor(Regression):
    r"""A feedforward network that predicts one number or several, and how they are spread.

    A drop-in for scikit-learn's class of this name: every parameter there has its name, place
    and default here, and means the same. The network minimises

    .. math:: \frac{1}{\sum_n w_n} \sum_n w_n E(a(x_n), y_n)
              + \frac{\alpha}{2 \sum_n w_n} \lVert W \rVert^2

    where E is half the squared error, half the Poisson deviance, or what the head says. A head
    with a scale of its own is trained on the standardised target z = (y - m)/s, and everything
    that comes out is in units of y again: the losses are those of the density of y,

    .. math:: -\ln p(y \mid x) = -\ln p(z \mid x) + \sum_t \ln s_t

    Parameters
    ----------
    loss : str or Head, default="squared_error"
        What the raw outputs a mean. "squared_error": the prediction itself. "poisson": the
        logarithm of the expected count; needs targets of at least 0. "normal": a normal
        distribution with one learnt scale for each target. "heteroscedastic": one whose scale
        depends on the inputs. "mixture": three normal components. A head says all else, for
        example ``Normal("per_row", beta=0.5)`` or ``Quantiles()``.
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
        R² on the held-out rows. For a loss that describes more than the mean, minus the loss
        there: the mean log density.
    n_iter_, t_ : int
        Epochs of the last call, and samples seen in all.
    n_layers_, n_outputs_ : int
        Layers counted with the inputs, and raw outputs.
    out_activation_ : str
        "identity", or "exp" for counts.
    n_features_in_ : int
        Features of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` had names that are all texts.
    noise_scale_ : ndarray of shape (n_targets,)
        Root mean squared residual over the rows of the last call, in units of y: the standard
        deviation that `predict_dist` gives least squares. Only with least squares.
    min_scale_ : ndarray of shape (n_targets,)
        The floor of the scales in units of y: the head's ``min_scale``, 0.001 unless said
        otherwise, times the standard deviation of the fitted targets. Only with a learnt scale.

    See Also
    --------
    MLPClassifier : The same for labels.
    MixtureDensityRegressor : Mixtures of normals, with training that suits them.

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
    - With several targets the reported loss is a mean over them, as in scikit-learn, while the
      gradient is that of the sum. "lbfgs" compares losses along the gradient, so it minimises
      the sum itself, in ``history_`` too; scikit-learn mixes the two there.

    With ``warm_start`` and ``partial_fit`` the target is standardised as in the first call. A
    constant target has s = 1. `Quantiles` have no density: their loss is the pinball loss of
    the standardised target.

    References
    ----------
    .. [1] C. M. Bishop and H. Bishop, Deep Learning: Foundations and Concepts, chapter 6, 2024,
       https://www.bishopbook.com

    Examples
    --------
    >>> import numpy as np
    >>> from lamina import MLPRegressor
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> y = np.sin(3 * X[:, 0])
    >>> model = MLPRegressor(hidden_layer_sizes=20, activation="tanh", solver="lbfgs",
    ...                      random_state=0).fit(X, y)
    >>> model.predict([[0.5]]).round(1).tolist(), round(model.score(X, y), 3)
    ([1.0], 1.0)

    With a spread that depends on the inputs:

    >>> rng = np.random.default_rng(0)
    >>> y = X[:, 0] + (0.1 + 0.2 * (X[:, 0] > 0)) * rng.normal(size=100)
    >>> model = MLPRegressor("heteroscedastic", 20, "tanh", solver="lbfgs", alpha=1.0, tol=1e-3,
    ...                      random_state=0).fit(X, y)
    >>> model.predict([[-0.8], [0.8]], return_std=True)[1].round(1).tolist()
    [0.1, 0.3]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = REGRESSOR_CONSTRAINTS

    def __init__(
        self,
        loss: str | Head = "squared_error",
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

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the network to data and targets.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0. A row of weight 0 is as good as absent.

        Returns
        -------
        self : MLPRegressor
            The fitted regressor.
        """
        return self._fit(X, y, sample_weight, incremental=False)

    @available_if(lambda self: self._check_solver())  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train for one epoch over the given data, from where the last call ended.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            Weights of at least 0.

        Returns
        -------
        self : MLPRegressor
            The regressor after one more epoch.
        """
        return self._fit(X, y, sample_weight, incremental=True)
