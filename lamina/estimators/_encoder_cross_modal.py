"""Features in which two kinds of data about the same thing meet."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from lamina._checks import check_integer, check_sizes
from lamina._errors import DataError
from lamina._random import spawn_seeds
from lamina._typing import Array, DtypeName, FloatArray, IntArray
from lamina.nn import Activation, Network
from lamina.represent import CrossModalTraining, InstanceBatches, cosine_similarities, row_ids

from ._encoder_base import CONSTRAINTS, N_LOOKED_AT, BaseEncoder
from ._encoder_inputs import (
    check_pairs,
    check_partners,
    check_rows,
    same_things,
    scaled,
    scaling_of,
)


class CrossModalEncoder(BaseEncoder):
    r"""Learn two encoders, of two kinds of data, whose outputs agree for one and the same thing.

    Rows of X and rows of y come in pairs, such as measurements and descriptions, or an image and
    what its caption is encoded to. Afterwards either can be searched with the other.

    .. math:: E = \tfrac12\big[E_{x \to y} + E_{y \to x}\big], \qquad
              E_{x \to y} = -\frac1B\sum_i \ln
              \frac{\sum_{j \in P_i} e^{s_{ij}/\tau}}{\sum_j e^{s_{ij}/\tau}}, \qquad
              s_{ij} = \cos(f(x_i), g(y_j))

    with encoders f and g and a temperature that is learned. :math:`P_i` are the pairs that show
    the same thing as pair i, itself among them.

    Parameters
    ----------
    n_components : int, default=32
        Width of the space in which both meet.
    hidden_layer_sizes : int or sequence of int, default=(256,)
        Units of the hidden layers of the encoder of X; ``()`` makes it linear.
    partner_hidden_layer_sizes : int, sequence of int or None, default=None
        The same for y; None means the same as for X.
    activation : str or Activation, default="relu"
        Of the hidden layers.
    temperature : float, default=0.07
        Where τ begins, at least 0.01.
    learn_temperature : bool, default=True
        Whether τ is learned; it stays between 0.01 and 1.
    batch_size : int, default=128
        Pairs of a step, at least 2; all where there are fewer.
    max_steps : int, default=1000
        Steps of a fit.
    learning_rate_init : float, default=0.001
        Step size of Adam.
    weight_decay : float, default=0.0
        Decoupled decay of the weights (AdamW).
    random_state : int, RandomState or None, default=None
        Seed of weights and batches.
    verbose : bool or int, default=False
        Whether to print some lines of progress.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the networks and of the features.

    Attributes
    ----------
    network_, partner_network_ : Network
        The encoders of X and of y, on standardised inputs.
    networks_ : list of Network
        Both.
    input_mean_, input_scale_ : ndarray of shape (n_features_in_,)
        What rows of X are standardised with.
    partner_mean_, partner_scale_ : ndarray of shape (n_partner_features_,)
        What rows of y are standardised with.
    temperature_ : float
        The learned temperature.
    collapse_loss_, floor_loss_ : float
        The loss if all were one point, and what it cannot fall below at this temperature.
    loss_curve_ : list of float
        Loss of each step, in nats.
    loss_ : float
        Mean over the last tenth of the steps.
    n_steps_ : int
        Steps taken.
    history_ : DataFrame
        ``loss_curve_`` as a table.
    n_features_in_, n_partner_features_ : int
        Columns of X and of y.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Names of the columns of X, where they have any.

    Raises
    ------
    DataError
        If there is one pair, or a value that is not finite.
    DivergedError
        If the loss becomes infinite or NaN.

    Warns
    -----
    ConvergenceWarning
        If all rows are mapped to about one point.
    DataWarning
        If pairs share a side. They count as the same thing.

    See Also
    --------
    ContrastiveEncoder : Learn from pairs of one kind.

    References
    ----------
    .. [1] A. Radford et al., Learning transferable visual models from natural language
       supervision, ICML 2021, https://arxiv.org/abs/2103.00020

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> thing = rng.normal(size=(300, 4))
    >>> X, y = thing @ rng.normal(size=(4, 10)), np.tanh(thing @ rng.normal(size=(4, 6)))
    >>> encoder = CrossModalEncoder(8, max_steps=200, random_state=0).fit(X[:200], y[:200])
    >>> encoder.score(X[200:], y[200:]) > 0.3  # guessing finds one in a hundred
    True
    """

    partner_network_: Network
    partner_mean_: FloatArray
    partner_scale_: FloatArray
    n_partner_features_: int
    temperature_: float
    collapse_loss_: float
    floor_loss_: float

    _heads: ClassVar[tuple[str, ...]] = ("partner_network_",)
    _arrays: ClassVar[tuple[str, ...]] = (
        *BaseEncoder._arrays,
        *("partner_mean_", "partner_scale_"),
    )
    _figures: ClassVar[tuple[str, ...]] = (
        *BaseEncoder._figures,
        *("n_partner_features_", "temperature_", "collapse_loss_", "floor_loss_"),
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "partner_hidden_layer_sizes": [*CONSTRAINTS["hidden_layer_sizes"], None],
        "temperature": [Interval(Real, 0.01, 1, closed="both")],
        "learn_temperature": ["boolean"],
    }

    def __init__(
        self,
        n_components: int = 32,
        *,
        hidden_layer_sizes: Any = (256,),
        partner_hidden_layer_sizes: Any = None,
        activation: str | Activation = "relu",
        temperature: float = 0.07,
        learn_temperature: bool = True,
        batch_size: int = 128,
        max_steps: int = 1000,
        learning_rate_init: float = 0.001,
        weight_decay: float = 0.0,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
        dtype: DtypeName = "float32",
    ) -> None:
        self.n_components = n_components
        self.hidden_layer_sizes = hidden_layer_sizes
        self.partner_hidden_layer_sizes = partner_hidden_layer_sizes
        self.activation = activation
        self.temperature = temperature
        self.learn_temperature = learn_temperature
        self.batch_size = batch_size
        self.max_steps = max_steps
        self.learning_rate_init = learning_rate_init
        self.weight_decay = weight_decay
        self.random_state = random_state
        self.verbose = verbose
        self.dtype = dtype

    @property
    def networks_(self) -> list[Network]:
        """Both encoders: of X, and of y."""
        check_is_fitted(self)
        return [self.network_, self.partner_network_]

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, *, ids: Any = None) -> Self:
        """Learn both encoders.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One side of the pairs, at least 2.
        y : array-like of shape (n_samples, n_partner_features) or (n_samples,)
            The other side, numbers too.
        ids : array-like of shape (n_samples,), default=None
            What each pair shows; pairs of one id are not negatives of each other. By default,
            pairs that share a side, bit for bit, show the same.

        Returns
        -------
        self : CrossModalEncoder
        """
        return self._learn(X, y, ids, fresh=True)

    def partial_fit(self, X: Any, y: Any, *, ids: Any = None) -> Self:
        """Go once over more pairs; the first call fixes how inputs are standardised.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One side of the pairs, at least 2.
        y : array-like of shape (n_samples, n_partner_features) or (n_samples,)
            The other side.
        ids : array-like of shape (n_samples,), default=None
            As in `fit`.

        Returns
        -------
        self : CrossModalEncoder
        """
        return self._learn(X, y, ids, fresh=not self.__sklearn_is_fitted__(), once=True)

    def transform_partner(self, y: Any) -> FloatArray:
        """Return the features of rows of the other side.

        Parameters
        ----------
        y : array-like of shape (n_samples, n_partner_features) or (n_samples,)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            In the space of `transform`.
        """
        check_is_fitted(self)
        features: FloatArray = self.partner_network_.predict_raw(self._partners(y))
        return features

    def similarity(self, X: Any, y: Any) -> FloatArray:
        """Return the cosine of every row of one side and every row of the other.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of the one side.
        y : array-like of shape (m, n_partner_features) or (m,)
            Rows of the other, any number of them.

        Returns
        -------
        ndarray of shape (n, m)
            Between -1 and 1.
        """
        cosines: FloatArray = cosine_similarities(self.transform(X), self.transform_partner(y))
        return cosines

    def retrieve(self, X: Any, y: Any, n_best: int = 1) -> IntArray:
        """Return the rows of y that fit each row of X best.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            What to search for.
        y : array-like of shape (m, n_partner_features) or (m,)
            What to search in.
        n_best : int, default=1
            How many, at most m.

        Returns
        -------
        ndarray of int of shape (n, n_best)
            Row numbers of y, the best first; of equal ones the first comes first.
        """
        cosines = self.similarity(X, y)
        n_best = check_integer("n_best", n_best, 1, cosines.shape[1])
        return np.argsort(-cosines, axis=1, kind="stable")[:, :n_best]

    def score(self, X: Any, y: Any) -> float:
        """Return how often the partner is found first, the mean of both directions.

        Any pair that shares a side with the true one, bit for bit, counts as found.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One side of the pairs.
        y : array-like of shape (n_samples, n_partner_features) or (n_samples,)
            The other side.

        Returns
        -------
        float
            Between 0 and 1; guessing gives about 1 / n_samples.
        """
        cosines = self.similarity(X, y)
        if cosines.shape[0] != cosines.shape[1]:
            raise DataError(
                f"y must have a row for each of {len(cosines)}. Got {cosines.shape[1]}."
            )
        one = row_ids(check_rows(self, X, reset=False))
        other = row_ids(check_partners(y, self.n_partner_features_))
        rights = [
            (one[best] == one) | (other[best] == other)
            for best in (cosines.argmax(1), cosines.argmax(0))
        ]
        return float(np.mean(rights))

    def _learn(self, X: Any, y: Any, ids: Any, *, fresh: bool, once: bool = False) -> Self:
        self._validate_params()
        rows, partners = check_pairs(self, X, y, reset=fresh)
        if fresh:
            self._begin()
            self.input_mean_, self.input_scale_ = scaling_of(rows, one_for_all=False)
            self.partner_mean_, self.partner_scale_ = scaling_of(partners, one_for_all=False)
            self.n_partner_features_ = partners.shape[1]
        data, other = self._scaled(rows), self._partners(partners)
        sampler = InstanceBatches(len(data), int(self.batch_size), self._seed)
        shared = self._things(ids, rows, partners)

        def views(chosen: IntArray, rng: np.random.Generator) -> tuple[Array, Array]:
            return data[chosen], other[chosen]

        if self._training is not None and not fresh:
            training = self._training
            training.feed(sampler, views, ids=shared)
        else:
            training = CrossModalTraining(
                self._first_networks() if fresh else self.networks_,
                sampler,
                views,
                temperature=float(self.temperature if fresh else self.temperature_),
                learn_temperature=bool(self.learn_temperature),
                ids=shared,
                optimizer="adamw",
                weight_decay=self.weight_decay,
                seed=self._seed,
                first_step=self.n_steps_,
                max_batch_size=int(self.batch_size),
            )
        n_steps = sampler.n_per_epoch if once else int(self.max_steps)
        told = None if once else {"X": X, "y": y}
        self._run(training, n_steps, sampler.n_per_epoch, told)
        self.temperature_ = training.temperature
        self.collapse_loss_, self.floor_loss_ = training.references()
        self._training = training if once else None
        self._warn_if_collapsed(self.network_.predict_raw(data[:N_LOOKED_AT]))
        return self

    def _things(self, ids: Any, rows: FloatArray, partners: FloatArray) -> Array | None:
        """Return what each pair shows, or None where all differ."""
        if ids is not None:
            given = np.asarray(ids)
            if given.shape != (len(rows),):
                raise DataError(
                    f"ids must have one entry for each of the {len(rows)} pairs. Got shape "
                    f"{given.shape}."
                )
            return given
        one, other = row_ids(rows), row_ids(partners)
        return self._warn_of_copies(same_things(one, other))

    def _partners(self, y: Any) -> FloatArray:
        partners = check_partners(y, self.n_partner_features_)
        return scaled(partners, self.partner_mean_, self.partner_scale_, self.dtype, "y")

    def _first_networks(self) -> list[Network]:
        """Draw the weights of both encoders."""
        own = check_sizes("hidden_layer_sizes", self.hidden_layer_sizes)
        given = self.partner_hidden_layer_sizes
        partners = own if given is None else check_sizes("partner_hidden_layer_sizes", given)
        ends = [(len(self.input_mean_), own), (len(self.partner_mean_), partners)]
        seeds = spawn_seeds(self._seed, 2)
        return [
            self._drawn((n, *hidden, int(self.n_components)), seed)
            for (n, hidden), seed in zip(ends, seeds, strict=True)
        ]

    def _fitted_by(self, networks: list[Network]) -> dict[str, Any]:
        return {"network_": networks[0], "partner_network_": networks[1]}

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: without the other side there are no pairs."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
