"""The mixture density network as a regressor that works at its defaults."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from sklearn.base import _fit_context
from sklearn.utils.validation import check_is_fitted

from lamina._typing import Array, DtypeName, FloatArray
from lamina.heads import Head, Mixture
from lamina.nn import Activation

from ._input_scaling import centre_and_scale, standardised
from ._inputs import check_new_data
from ._members import Layer, sklearns_draw
from ._parameters import MIXTURE_CONSTRAINTS
from ._penalty_choice import choose_alpha
from ._prediction import raw_outputs
from ._problem import Problem
from ._regression import Regression

EPOCHS, FEWEST_EPOCHS, STEPS = 500, 50, 20_000
"""What ``max_iter="auto"`` is: so many epochs, fewer where that would be more than STEPS steps."""

STEEPNESS = 3.0
"""First weights and biases are uniform in ± 3/√D and ± 3: branches may begin at any input."""


class MixtureDensityRegressor(Regression):
    r"""A network that predicts several possible answers, each with its weight and spread.

    For every row it predicts a mixture of C normal distributions, all of whose parameters are
    outputs of the network,

    .. math:: p(y \mid x) = \sum_{c=1}^C \pi_c(x) \, \mathcal N(y \mid \mu_c(x), \Sigma_c(x)),

    and minimises

    .. math:: \frac1N \Bigl( -\sum_n \ln p(y_n \mid x_n) + \frac\alpha2 \lVert W \rVert^2 \Bigr).

    So it can say "either this or that" where a least-squares fit gives the mean of both, which
    may be no answer at all. Inputs and targets are standardised inside, and everything that
    comes out is in units of y.

    Parameters
    ----------
    n_components : int, default=3
        Number of components C.
    covariance_type : {"spherical", "diag", "full"}, default="spherical"
        Scales of a component: one for all (standardised) targets, one for each target, or a
        full covariance matrix.
    hidden_layer_sizes : int or sequence of int, default=(32, 32)
        Units of each hidden layer.
    activation : str, Activation or sequence of them, default="tanh"
        Activation of the hidden layers, one for all or one for each.
    solver : {"adam", "adamw", "sgd", "rmsprop", "muon"}, default="adam"
        How the weights move.
    alpha : float or "auto", default="auto"
        Strength of the penalty of large weights: α is the precision of a normal prior of each
        weight. "auto" trains with 1, 3, 10, 30 and 100 on a part of the rows, all at once, and
        takes what gives the others the largest density. Up to 700 rows this is done for two to
        five parts in turn; with fewer than ten rows α is 30.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto" is ``min(200, n_samples)``.
    learning_rate : {"cosine", "one_cycle", "constant"}, default="cosine"
        Schedule.
    learning_rate_init : float, default=0.01
        Size of the first steps.
    max_iter : int or "auto", default="auto"
        Epochs, all of which are run; "auto" is 500, and from 8,000 rows on 20,000 steps, but at
        least 50 epochs.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, the validation split, the order of rows, noise and dropout.
    verbose : bool or int, default=False
        Whether to print the loss of each epoch.
    early_stopping : bool, default=False
        Whether to hold out rows and keep the weights of the epoch in which their mean log
        density was largest.
    validation_fraction : float, default=0.1
        Share of the rows that is held out. Only used when early_stopping=True.
    dropout : float, default=0.0
        Share of hidden units that are switched off in each step, in [0, 1).
    input_noise : float, default=0.02
        Normal noise that is added to every input in each step, in standard deviations of the
        feature.
    clip_norm : float or None, default=None
        Largest Euclidean norm of the gradient of a step.
    min_scale : float, default=1e-3
        The floor of every scale, in standard deviations of the target: a component cannot
        shrink onto a point. ``min_scale_`` has it in units of y.
    n_members : int, default=1
        Networks that are trained together, as one stack, and differ in their random draws
        alone. What is predicted is the mixture of theirs.
    device : str, default="auto"
        Where training runs: "auto" is a CUDA device where there is one, else the CPU.
    dtype : {"float32", "float64"} or None, default=None
        Precision of the network; None is float32 for float32 ``X`` and float64 otherwise.

    Attributes
    ----------
    networks_ : list of Network
        The fitted networks, one for each member. Their inputs are
        ``(X - input_mean_) / input_scale_``, their outputs those of `Mixture` for the
        standardised target.
    coefs_, intercepts_ : list of ndarray of shape (in, out) and of shape (out,)
        Weights and biases of each layer. Only with one member.
    alpha_ : float
        The α that was used.
    input_mean_, input_scale_ : ndarray of shape (n_features,)
        Mean and standard deviation of the features; a sparse matrix is not centred.
    min_scale_ : ndarray of shape (n_targets,)
        The floor of the scales in units of y.
    history_ : DataFrame
        A row for each member and epoch: loss in nats of y, score, learning rate, seconds.
    loss_, best_loss_ : float
        Last and smallest loss in nats of y; ``best_loss_`` is None with early stopping.
    loss_curve_ : list of float
        Loss of each epoch, a mean over its batches while they are trained.
    validation_scores_, best_validation_score_ : list of float, float, or None
        Mean log density of the held-out rows, in nats of y.
    n_iter_, t_ : int
        Epochs, and samples seen in all.
    n_layers_, n_outputs_ : int
        Layers counted with the inputs, and raw outputs.
    out_activation_ : str
        "identity".
    n_features_in_ : int
        Features of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` had names that are all texts.

    Warns
    -----
    DataWarning
        If more than a tenth of the values of y repeat others.

    See Also
    --------
    MLPRegressor : The same heads and others, with scikit-learn's training.
    lamina.heads.Mixture : The formulas.

    Notes
    -----
    `predict` is the mean of the mixture and ``score`` is R², as everywhere in scikit-learn. With
    several possible answers neither says much: look at ``predict_dist(X).modes()`` and at
    `log_likelihood`.

    With fewer than about a hundred rows for several features, the penalty that is found may be
    so strong that little more than the distribution of y itself is left. One component, or
    several members, then say more.

    A log density is in nats per unit of y and may well be positive. For y in other units, say
    1000 y, it is smaller by ln 1000 for the same fit, which is what comes out here.

    References
    ----------
    .. [1] C. M. Bishop, Mixture density networks, 1994,
       https://publications.aston.ac.uk/id/eprint/373/
    .. [2] C. M. Bishop and H. Bishop, Deep Learning: Foundations and Concepts, section 6.5,
       2024, https://www.bishopbook.com

    Examples
    --------
    >>> import numpy as np
    >>> from lamina import MixtureDensityRegressor
    >>> rng = np.random.default_rng(0)
    >>> y = rng.uniform(-2, 2, 300)
    >>> X = (y**2)[:, None]  # two roots belong to each square
    >>> model = MixtureDensityRegressor(2, alpha=1.0, random_state=0).fit(X, y)
    >>> roots = model.predict_dist([[1.0]]).modes().locations[0]
    >>> np.sort(roots).round(1).tolist()
    [-1.0, 1.0]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = MIXTURE_CONSTRAINTS
    _runs_its_course: ClassVar[bool] = True

    alpha_: float
    input_mean_: FloatArray
    input_scale_: FloatArray

    # What the other perceptrons let a user choose.
    loss = "mixture"
    tol = weight_decay = 0.0
    shuffle = nesterovs_momentum = True
    warm_start = False
    n_iter_no_change = np.inf
    power_t, momentum, beta_1, beta_2, epsilon, max_fun = 0.5, 0.9, 0.9, 0.999, 1e-8, 0

    def __init__(
        self,
        n_components: int = 3,
        covariance_type: Literal["spherical", "diag", "full"] = "spherical",
        *,
        hidden_layer_sizes: Any = (32, 32),
        activation: str | Activation | list[Any] | tuple[Any, ...] = "tanh",
        solver: str = "adam",
        alpha: float | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        learning_rate: str = "cosine",
        learning_rate_init: float = 0.01,
        max_iter: int | Literal["auto"] = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        dropout: float = 0.0,
        input_noise: float = 0.02,
        clip_norm: float | None = None,
        min_scale: float = 1e-3,
        n_members: int = 1,
        device: str = "auto",
        dtype: DtypeName | None = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.dropout = dropout
        self.input_noise = input_noise
        self.clip_norm = clip_norm
        self.min_scale = min_scale
        self.n_members = n_members
        self.device = device
        self.dtype = dtype

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
        self : MixtureDensityRegressor
            The fitted regressor.
        """
        return self._fit(X, y, sample_weight, incremental=False)

    def responsibilities(self, X: Any, y: Any) -> FloatArray:
        r"""Return the probability that each component is the one that a target came from.

        .. math:: \gamma_c = \pi_c \, p_c(y) / \sum_k \pi_k \, p_k(y)

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Inputs.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            What was observed.

        Returns
        -------
        ndarray of shape (n_samples, n_components), with several members n_components · n_members
            Components of the first member first; each row adds up to 1.
        """
        check_is_fitted(self)
        assert self._scaler is not None
        inputs = self._inputs(check_new_data(self, X))
        targets = self._observed(y, inputs.shape[0], len(self.min_scale_))
        z = torch.from_numpy(self._scaler.transform(targets))
        logs = []
        for network in self.networks_:
            raw = torch.from_numpy(raw_outputs(network, inputs)).double()
            share = self._mixture.responsibilities(raw, z).log()
            logs.append(share - self._mixture.error(raw, z)[:, None])
        shares: FloatArray = torch.cat(logs, dim=1).softmax(1).numpy()
        return shares

    @property
    def _mixture(self) -> Mixture:
        return Mixture(self.n_components, self.covariance_type, min_scale=self.min_scale)

    def _head_of_fit(self) -> Head:
        return self._mixture

    def _problem(
        self, X: Any, y: Any, sample_weight: Any, *, fresh: bool, incremental: bool, classes: Any
    ) -> Problem:
        problem = super()._problem(
            X, y, sample_weight, fresh=fresh, incremental=incremental, classes=classes
        )
        alpha = choose_alpha(self, problem) if self.alpha == "auto" else float(self.alpha)
        attributes = problem.attributes | {"alpha_": alpha}
        return dataclasses.replace(problem, alpha=alpha, attributes=attributes)

    def _epochs(self, n_rows: int, batch_size: int) -> int:
        if self.max_iter != "auto":
            return int(self.max_iter)
        return max(FEWEST_EPOCHS, min(EPOCHS, STEPS // -(-n_rows // batch_size)))

    def _first_layers(
        self, sizes: Sequence[int], random_state: np.random.RandomState
    ) -> list[Layer]:
        """Draw steep first features, so that the network can tell branches apart early."""
        layers = sklearns_draw(self, sizes, random_state)
        bounds = (STEEPNESS / np.sqrt(sizes[0]), STEEPNESS)
        first = [
            random_state.uniform(-b, b, a.shape) for a, b in zip(layers[0], bounds, strict=True)
        ]
        return [(first[0], first[1]), *layers[1:]] if len(layers) > 1 else layers

    def _learn_inputs(self, X: Any, weight: FloatArray | None) -> tuple[Any, dict[str, Any]]:
        used = X if weight is None else X[weight > 0]
        mean, scale = centre_and_scale(used, None if weight is None else weight[weight > 0])
        return standardised(X, mean, scale), {"input_mean_": mean, "input_scale_": scale}

    def _inputs(self, X: Any) -> Any:
        return standardised(X, self.input_mean_, self.input_scale_)

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what describes the fitted regressor as JSON, and its arrays."""
        config, arrays = super()._to_state()
        own = {"input_mean_": self.input_mean_, "input_scale_": self.input_scale_}
        return config, arrays | own | {"alpha_": np.array(self.alpha_)}

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the regressor that `_to_state` described."""
        model = super()._from_state(config, arrays)
        model.input_mean_, model.input_scale_ = arrays["input_mean_"], arrays["input_scale_"]
        model.alpha_ = float(arrays["alpha_"])
        return model
