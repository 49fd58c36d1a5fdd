"""Features in which two kinds of data about the same thing meet."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _get_feature_names

from lamina._checks import check_sizes
from lamina._random import spawn_seeds
from lamina._typing import DtypeName
from lamina.nn import Activation, Network
from lamina.represent import CrossModalTraining, InstanceBatches

from ._encoder_base import CONSTRAINTS
from ._encoder_fixed import Settled
from ._encoder_looks import some_rows, warn_if_collapsed
from ._encoder_pairs import check_pairs, things_shown
from ._encoder_two_sided import TwoSidedEncoder
from ._encoder_undo import undone_on_failure


class CrossModalEncoder(TwoSidedEncoder):
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
        Where τ begins, at least 0.01; once changed, where the next `partial_fit` begins.
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
    partner_feature_names_in_ : ndarray of str of shape (n_partner_features_,)
        Names of the columns of y, where they have any.

    Raises
    ------
    DataError
        If there is one pair, or all show one thing, or a value is not finite.
    DivergedError
        If the loss, weights or features become infinite or NaN. After this and any other error
        the encoder is as it was before the call.
    ParameterError
        If `partial_fit` finds parameters that the fitted networks do not go with.

    Warns
    -----
    ConvergenceWarning
        If all rows are mapped to about one point.
    DataWarning
        If pairs share a side, which makes them the same thing, or most pairs show one thing.

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

    temperature_: float
    collapse_loss_: float
    floor_loss_: float
    _asked_temperature: float

    _figures: ClassVar[tuple[str, ...]] = (
        *TwoSidedEncoder._figures,
        *("temperature_", "collapse_loss_", "floor_loss_", "_asked_temperature"),
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
            pairs that share a side, bit for bit, show the same, and so do those that a chain of
            such pairs links.

        Returns
        -------
        self : CrossModalEncoder
        """
        with undone_on_failure(self):
            return self._learn(X, y, ids, fresh=True)

    def partial_fit(self, X: Any, y: Any, *, ids: Any = None) -> Self:
        """Go once over more pairs; the first call fixes how inputs are standardised.

        The layers, the activation, ``dtype`` and the seed stay as well; a change of any other
        parameter acts from here on.

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
        with undone_on_failure(self):
            return self._learn(X, y, ids, fresh=not self.__sklearn_is_fitted__(), once=True)

    def _learn(self, X: Any, y: Any, ids: Any, *, fresh: bool, once: bool = False) -> Self:
        self._validate_params()
        if not fresh:
            self._check_settled()
        rows, partners = check_pairs(self, X, y, reset=fresh)
        if fresh:
            self._begin()
            self._measure(rows)
            self._measure_partners(partners, _get_feature_names(y))
        data, other = self._scaled(rows), self._partners(y)
        sampler = InstanceBatches(len(data), int(self.batch_size), self._seed)
        asked = float(self.temperature)
        kept = not fresh and asked == self._asked_temperature
        self._asked_temperature = asked
        training = CrossModalTraining(
            self._first_networks() if fresh else self.networks_,
            sampler,
            lambda chosen, rng: (data[chosen], other[chosen]),
            temperature=self.temperature_ if kept else asked,
            learn_temperature=bool(self.learn_temperature),
            ids=things_shown(ids, rows, partners),
            optimizer="adamw",
            weight_decay=self.weight_decay,
            seed=self._seed,
            first_step=self.n_steps_,
        )
        seen = [some_rows(side, self._seed) for side in (data, other)]
        self._run(training, sampler.n_per_epoch, {"X": X, "y": y}, seen, once=once)
        self.temperature_ = training.temperature
        self.collapse_loss_, self.floor_loss_ = training.references()
        warn_if_collapsed(self.network_.predict_raw(seen[0]))
        return self

    def _first_networks(self) -> list[Network]:
        """Draw the weights of both encoders."""
        n_inputs = len(self.input_mean_), len(self.partner_mean_)
        return [
            self._drawn((n, *hidden, int(self.n_components)), seed)
            for n, hidden, seed in zip(
                n_inputs, self._layers(), spawn_seeds(self._seed, 2), strict=True
            )
        ]

    def _layers(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the widths of the hidden layers of both encoders."""
        own = check_sizes("hidden_layer_sizes", self.hidden_layer_sizes)
        given = self.partner_hidden_layer_sizes
        return own, own if given is None else check_sizes("partner_hidden_layer_sizes", given)

    def _settled(self) -> Settled:
        own, partners = self._layers()
        (_, *was, width), (_, *partner_was, _) = (net.sizes for net in self.networks_)
        return {
            "hidden_layer_sizes": (tuple(was), own),
            "partner_hidden_layer_sizes": (tuple(partner_was), partners),
            "n_components": (width, int(self.n_components)),
        }

    def _fitted_by(self, networks: list[Network]) -> dict[str, Any]:
        return {"network_": networks[0], "partner_network_": networks[1]}

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: without the other side there are no pairs."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
