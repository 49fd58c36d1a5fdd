"""Features learned by restoring corrupted rows."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval

from lamina._checks import check_sizes
from lamina._typing import DtypeName
from lamina.nn import Activation, Network
from lamina.represent import DenoisingTraining, InstanceBatches

from ._encoder_base import CONSTRAINTS, BaseEncoder
from ._encoder_fixed import Settled, unsettled
from ._encoder_inputs import check_rows
from ._encoder_looks import some_rows, warn_if_collapsed
from ._encoder_parts import cut, joined
from ._encoder_undo import undone_on_failure
from ._encoder_views import corrupted_views


class DenoisingEncoder(BaseEncoder):
    r"""Learn features from which a corrupted row can be restored.

    Use it on tables with few labels: of the ways to learn without labels it is the safest there.
    Cells of a row are replaced by values of other rows; the network is to give the row as it was
    and to say which cells were changed, which takes the relations between columns.

    .. math:: E = \frac1{BD}\sum_{ij}\Big[(\hat x_{ij} - x_{ij})^2
              - w\big(m_{ij}\ln p_{ij} + (1 - m_{ij})\ln(1 - p_{ij})\big)\Big]

    with the reconstruction :math:`\hat x` and the probability p that a cell was changed (m = 1).

    Parameters
    ----------
    strength : float, default=0.3
        Share of the cells that get another row's value, in (0, 1].
    hidden_layer_sizes : int or sequence of int, default=(256, 256)
        Units of the encoder's layers; the last makes the features.
    decoder_sizes : sequence of int, default=()
        Units of layers between the features and the outputs; ``()`` reads them off linearly.
    mask_weight : float, default=1.0
        w; 0 leaves the question out which cells were changed.
    activation : str or Activation, default="relu"
        Of all layers but the last.
    standardize : bool, default=True
        Whether columns are brought to mean 0 and deviation 1.
    batch_size : int, default=128
        Rows of a step, at least 2; all rows where there are fewer.
    max_steps : int, default=1000
        Steps of a fit.
    learning_rate_init : float, default=0.001
        Step size of Adam.
    weight_decay : float, default=0.0
        Decoupled decay of the weights (AdamW).
    random_state : int, RandomState or None, default=None
        Seed of weights, batches and corruption.
    verbose : bool or int, default=False
        Whether to print some lines of progress.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the network and of the features.

    Attributes
    ----------
    network_ : Network
        The encoder, on standardised inputs.
    decoder_ : Network
        From features to reconstruction and log-odds of the mask, side by side.
    networks_ : list of Network
        ``[network_]``.
    input_mean_, input_scale_ : ndarray of shape (n_features_in_,)
        What rows are standardised with.
    loss_curve_ : list of float
        Loss of each step.
    loss_ : float
        Mean over the last tenth of the steps.
    n_steps_ : int
        Steps taken.
    history_ : DataFrame
        ``loss_curve_`` as a table.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Their names, where X has them.

    Raises
    ------
    DataError
        If X has one row or values that are not finite.
    DivergedError
        If the loss, weights or features become infinite or NaN. After this and any other error
        the encoder is as it was before the call.
    ParameterError
        If `partial_fit` finds parameters that the fitted networks do not go with.

    Warns
    -----
    ConvergenceWarning
        If all rows are mapped to about one point.

    See Also
    --------
    ContrastiveEncoder : Learn from pairs.

    References
    ----------
    .. [1] P. Vincent et al., Extracting and composing robust features with denoising
       autoencoders, ICML 2008, https://doi.org/10.1145/1390156.1390294
    .. [2] J. Yoon et al., VIME: extending the success of self- and semi-supervised learning to
       tabular domain, NeurIPS 2020, https://proceedings.neurips.cc/paper/2020/hash/7d97667a3e056acab9aaf653807b4a03-Abstract.html

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, _ = load_wine(return_X_y=True)
    >>> encoder = DenoisingEncoder(hidden_layer_sizes=(32,), max_steps=100, random_state=0)
    >>> encoder.fit(X).transform(X).shape
    (178, 32)
    """

    decoder_: Network

    _heads: ClassVar[tuple[str, ...]] = ("decoder_",)
    _power: ClassVar[int] = 2
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "strength": [Interval(Real, 0, 1, closed="right")],
        "decoder_sizes": ["array-like"],
        "mask_weight": [Interval(Real, 0, None, closed="left")],
        "standardize": ["boolean"],
    }

    def __init__(
        self,
        strength: float = 0.3,
        *,
        hidden_layer_sizes: Any = (256, 256),
        decoder_sizes: Any = (),
        mask_weight: float = 1.0,
        activation: str | Activation = "relu",
        standardize: bool = True,
        batch_size: int = 128,
        max_steps: int = 1000,
        learning_rate_init: float = 0.001,
        weight_decay: float = 0.0,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
        dtype: DtypeName = "float32",
    ) -> None:
        self.strength = strength
        self.hidden_layer_sizes = hidden_layer_sizes
        self.decoder_sizes = decoder_sizes
        self.mask_weight = mask_weight
        self.activation = activation
        self.standardize = standardize
        self.batch_size = batch_size
        self.max_steps = max_steps
        self.learning_rate_init = learning_rate_init
        self.weight_decay = weight_decay
        self.random_state = random_state
        self.verbose = verbose
        self.dtype = dtype

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers, at least 2.
        y : None
            Not looked at.

        Returns
        -------
        self : DenoisingEncoder
        """
        with undone_on_failure(self):
            return self._learn(X, fresh=True)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Go once over more rows; the first call fixes how inputs are standardised.

        The layers, the activation, ``dtype``, the seed and whether ``mask_weight`` is 0 stay as
        well; a change of any other parameter acts from here on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers, at least 2.
        y : None
            Not looked at.

        Returns
        -------
        self : DenoisingEncoder
        """
        with undone_on_failure(self):
            return self._learn(X, fresh=not self.__sklearn_is_fitted__(), once=True)

    def _learn(self, X: Any, *, fresh: bool, once: bool = False) -> Self:
        self._validate_params()
        self._hidden()
        if not fresh:
            self._check_settled()
        rows = check_rows(self, X, reset=fresh, least=2)
        if fresh:
            self._begin()
            self._measure(rows)
        data = self._scaled(rows)
        views = corrupted_views(data, float(self.strength))
        sampler = InstanceBatches(len(data), int(self.batch_size), self._seed)
        training = DenoisingTraining(
            self._first_network() if fresh else self._whole()[0],
            sampler,
            views,
            mask_weight=float(self.mask_weight),
            optimizer="adamw",
            weight_decay=self.weight_decay,
            seed=self._seed,
            first_step=self.n_steps_,
        )
        seen = some_rows(data, self._seed)
        self._run(training, sampler.n_per_epoch, {"X": X, "y": None}, [seen], once=once)
        features = self.network_.predict_raw(seen).astype(np.float64)
        warn_if_collapsed(features - features.mean(0) if _vary(features) else features)
        return self

    def _first_network(self) -> Network:
        """Draw the weights of encoder and decoder."""
        n_inputs = len(self.input_mean_)
        decoder = check_sizes("decoder_sizes", self.decoder_sizes)
        n_outputs = n_inputs * (2 if self.mask_weight else 1)
        sizes = (n_inputs, *self._hidden(), *decoder, n_outputs)
        return self._drawn(sizes, self._seed)

    def _whole(self) -> list[Network]:
        return [joined(self.network_, self.decoder_)]

    def _settled(self) -> Settled:
        *decoder, n_outputs = self.decoder_.sizes[1:]
        if bool(self.mask_weight) != (n_outputs > len(self.input_mean_)):
            rule = "0" if self.mask_weight else "above 0"
            raise unsettled("mask_weight", rule, self.mask_weight)
        return {
            "hidden_layer_sizes": (self.network_.sizes[1:], self._hidden()),
            "decoder_sizes": (tuple(decoder), check_sizes("decoder_sizes", self.decoder_sizes)),
        }

    def _fitted_by(self, networks: list[Network]) -> dict[str, Any]:
        trunk, head = cut(networks[0], len(self._hidden()))
        return {"network_": trunk, "decoder_": head}


def _vary(features: Any) -> bool:
    """Return whether rows differ at all, so that what they share may be taken off."""
    return bool(np.ptp(features, axis=0).max() > 1e-6 * max(1e-30, np.abs(features).max()))
