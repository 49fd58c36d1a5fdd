"""Features learned from pairs of rows that belong together."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval

from lamina._checks import check_sizes
from lamina._errors import DataWarning
from lamina._typing import DtypeName, FloatArray, IntArray
from lamina.nn import Activation, Network
from lamina.represent import (
    ClassBatches,
    ContrastiveTraining,
    InstanceBatches,
    row_ids,
)

from ._encoder_base import CONSTRAINTS, BaseEncoder
from ._encoder_fixed import Settled
from ._encoder_inputs import check_rows, class_numbers
from ._encoder_looks import some_rows, warn_if_collapsed
from ._encoder_parts import cut, joined
from ._encoder_undo import undone_on_failure
from ._encoder_views import (
    Views,
    check_views,
    corrupted_views,
    image_views,
    is_image_view,
    own_views,
    view_settings,
)
from ._encoder_warnings import warn_user
from ._parameters import Names


class ContrastiveEncoder(BaseEncoder):
    r"""Learn features from which views of one row, or rows of one class, look alike.

    Use it where rows are many and labels few or none. ``fit(X)`` makes two views of each row of
    a batch and minimises InfoNCE, in which the other rows are the negatives; ``fit(X, y)`` with
    classes takes rows of a class as pairs as well. On tables compare it with
    :class:`DenoisingEncoder`, the safer choice there, and with the raw columns.

    .. math:: E = -\frac{1}{2B}\sum_i \Big[
              \ln\frac{e^{s_{ii}/\tau}}{\sum_j e^{s_{ij}/\tau}} +
              \ln\frac{e^{s_{ii}/\tau}}{\sum_j e^{s_{ji}/\tau}}\Big], \qquad
              s_{ij} = \cos(g(f(x_i)), g(f(x'_j)))

    with the encoder f, whose features `transform` returns, and a projection g, which only
    training uses. What the views leave unchanged is what the features keep.

    Parameters
    ----------
    views : {"corrupt", "shift", "rotate", "crop", "recolour"} or callable, default="corrupt"
        "corrupt" is for tables: one view is the row, the other has cells of other rows in it.
        The others are for rows that are images, of which both views are changed. A function
        ``views(rows, generator)`` gets rows (B, D) in the units of X and a NumPy Generator, and
        returns other views of them in that shape; it is called once for each view.
    hidden_layer_sizes : int or sequence of int, default=(256, 256)
        Units of the encoder's layers; the last makes the features.
    projection_sizes : sequence of int, default=(64,)
        Units of the projection's layers; ``()`` applies the loss to the features.
    activation : str or Activation, default="relu"
        Of all layers but the last.
    temperature : float, default=0.1
        τ: the smaller, the more the nearest negatives count.
    strength : float or None, default=None
        Share of cells that are replaced ("corrupt", 0.6), pixels ("shift", 3), degrees
        ("rotate", 30), share of a side that may be cut off ("crop", 0.3), contrast and
        brightness ("recolour", 0.4). Not used by a function.
    image_shape : tuple of int or None, default=None
        (H, W) or (H, W, C) of images; None means square. Only used by views of images.
    pairs : {"auto", "instance", "class"}, default="auto"
        Whether labels make pairs: "auto" uses them if y is given and holds classes; with
        "instance" y is not looked at; "class" needs it.
    standardize : bool, default=True
        Whether columns are brought to mean 0 and deviation 1, and images to one mean and
        deviation for all pixels.
    batch_size : int, default=128
        Rows of a step, at least 2; all rows where there are fewer.
    max_steps : int, default=1000
        Steps of a fit.
    learning_rate_init : float, default=0.001
        Step size of Adam.
    weight_decay : float, default=0.0
        Decoupled decay of the weights (AdamW).
    random_state : int, RandomState or None, default=None
        Seed of weights, batches and views.
    verbose : bool or int, default=False
        Whether to print some lines of progress.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the network and of the features.

    Attributes
    ----------
    network_ : Network
        The encoder, on standardised inputs.
    projector_ : Network or None
        The projection.
    networks_ : list of Network
        ``[network_]``.
    input_mean_, input_scale_ : ndarray of shape (n_features_in_,)
        What rows are standardised with.
    pairs_ : {"instance", "class"}
        What made the pairs.
    n_copies_ : int
        Rows that are equal to an earlier one; they are not pushed apart, unless both have a
        label and the labels differ.
    collapse_loss_, floor_loss_ : float
        The loss if all rows were one point, and what it cannot fall below.
    loss_curve_ : list of float
        Loss of each step, in nats.
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
        If X has one row or values that are not finite, or y no classes where needed.
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
        If rows are equal to other rows.

    See Also
    --------
    DenoisingEncoder : Learn by restoring corrupted rows.
    CrossModalEncoder : Learn from pairs of two kinds of data.

    Notes
    -----
    Rows without a label (NaN or None in y) take part in ``fit(X, y)`` as classes of their own,
    which equal rows share.
    In a Pipeline y reaches the encoder; give ``pairs="instance"`` to keep it out.

    References
    ----------
    .. [1] T. Chen et al., A simple framework for contrastive learning of visual
       representations, ICML 2020, https://arxiv.org/abs/2002.05709
    .. [2] P. Khosla et al., Supervised contrastive learning, NeurIPS 2020,
       https://arxiv.org/abs/2004.11362
    .. [3] D. Bahri et al., SCARF: self-supervised contrastive learning using random feature
       corruption, ICLR 2022, https://arxiv.org/abs/2106.15147

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> encoder = ContrastiveEncoder(
    ...     hidden_layer_sizes=(32,), max_steps=50, pairs="class", random_state=0
    ... )
    >>> encoder.fit(X, y).transform(X).shape
    (150, 32)
    >>> encoder.loss_ < encoder.collapse_loss_
    True
    """

    pairs_: str
    n_copies_: int
    projector_: Network | None
    collapse_loss_: float
    floor_loss_: float

    _heads: ClassVar[tuple[str, ...]] = ("projector_",)
    _figures: ClassVar[tuple[str, ...]] = (
        *BaseEncoder._figures,
        *("pairs_", "n_copies_", "collapse_loss_", "floor_loss_"),
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "views": [str, callable],
        "projection_sizes": ["array-like"],
        "temperature": [Interval(Real, 0, None, closed="neither")],
        "strength": [Interval(Real, 0, None, closed="left"), None],
        "image_shape": ["array-like", None],
        "pairs": [Names({"auto", "instance", "class"})],
        "standardize": ["boolean"],
    }

    def __init__(
        self,
        views: str | Callable[..., Any] = "corrupt",
        *,
        hidden_layer_sizes: Any = (256, 256),
        projection_sizes: Any = (64,),
        activation: str | Activation = "relu",
        temperature: float = 0.1,
        strength: float | None = None,
        image_shape: Any = None,
        pairs: Literal["auto", "instance", "class"] = "auto",
        standardize: bool = True,
        batch_size: int = 128,
        max_steps: int = 1000,
        learning_rate_init: float = 0.001,
        weight_decay: float = 0.0,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
        dtype: DtypeName = "float32",
    ) -> None:
        self.views = views
        self.hidden_layer_sizes = hidden_layer_sizes
        self.projection_sizes = projection_sizes
        self.activation = activation
        self.temperature = temperature
        self.strength = strength
        self.image_shape = image_shape
        self.pairs = pairs
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
        y : array-like of shape (n_samples,), default=None
            Classes, where they are to make pairs; NaN or None where unknown.

        Returns
        -------
        self : ContrastiveEncoder
        """
        with undone_on_failure(self):
            return self._learn(X, y, fresh=True)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Go once over more rows; the first call fixes how inputs are standardised.

        The layers, the activation, ``dtype`` and the seed stay as well; a change of any other
        parameter acts from here on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers, at least 2.
        y : array-like of shape (n_samples,), default=None
            Classes, as in `fit`.

        Returns
        -------
        self : ContrastiveEncoder
        """
        with undone_on_failure(self):
            return self._learn(X, y, fresh=not self.__sklearn_is_fitted__(), once=True)

    def _learn(self, X: Any, y: Any, *, fresh: bool, once: bool = False) -> Self:
        self._validate_params()
        check_views(self.views)
        if not fresh:
            self._check_settled()
        rows = check_rows(self, X, reset=fresh, least=2)
        labels = self._labels(y, len(rows))
        strength, shape = view_settings(self.views, self.strength, self.image_shape, rows.shape[1])
        if fresh:
            self._begin()
            self._measure(rows, one_for_all=is_image_view(self.views))
        data = self._scaled(rows)
        views = self._views(rows, data, strength, shape)
        sampler = self._sampler(labels, len(rows))
        shared = self._copies(data, labels)
        self.pairs_ = "instance" if labels is None else "class"
        training = ContrastiveTraining(
            self._first_network() if fresh else self._whole()[0],
            sampler,
            views,
            temperature=self.temperature,
            labels=None if labels is None else np.where(labels < len(data), labels, np.nan),
            ids=shared,
            optimizer="adamw",
            weight_decay=self.weight_decay,
            seed=self._seed,
            first_step=self.n_steps_,
        )
        self.collapse_loss_, self.floor_loss_ = training.references()
        seen = some_rows(data, self._seed)
        self._run(training, sampler.n_per_epoch, {"X": X, "y": y}, [seen], once=once)
        warn_if_collapsed(self._whole()[0].predict_raw(seen))
        return self

    def project(self, X: Any) -> FloatArray:
        """Return what the loss looks at: the projection of the features of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_projected)
            Of any length; the loss takes their directions.
        """
        features = self.transform(X)
        projected: FloatArray = (
            features if self.projector_ is None else self.projector_.predict_raw(features)
        )
        return projected

    def _labels(self, y: Any, n_rows: int) -> IntArray | None:
        """Return numbers of the classes that make pairs, or None."""
        if y is None and self.pairs == "class":
            raise ValueError(
                "This ContrastiveEncoder estimator requires y to be passed, but the target y is "
                "None: pairs='class' makes pairs of rows of one class."
            )
        if y is None or self.pairs == "instance":
            return None
        return class_numbers(y, n_rows, needed=self.pairs == "class")

    def _views(
        self, rows: FloatArray, data: FloatArray, strength: float, shape: tuple[int, ...]
    ) -> Views:
        if not isinstance(self.views, str):
            return own_views(rows, self.views, self._scaled)
        if not shape:
            return corrupted_views(data, strength)
        background = float(-self.input_mean_[0] / self.input_scale_[0])  # a pixel of 0
        return image_views(data, self.views, strength, shape, background)

    def _sampler(self, labels: IntArray | None, n: int) -> InstanceBatches | ClassBatches:
        """Return balanced batches of classes, unless rows without a class are among them."""
        seed = self._seed
        if labels is None or labels.max() >= n:
            return InstanceBatches(n, self.batch_size, seed)
        return ClassBatches(labels, min(self.batch_size, n), seed=seed)

    def _copies(self, data: FloatArray, labels: IntArray | None) -> IntArray | None:
        """Count copies of rows; say how many and return what each row is, if that matters."""
        ids = row_ids(data)
        self.n_copies_ = len(ids) - len(np.unique(ids))
        if not self.n_copies_ or (labels is not None and labels.max() < len(labels)):
            return None  # where all labels are known they alone say what is the same
        unless = "" if labels is None else " unless their labels differ"
        warn_user(
            f"{self.n_copies_} of {len(ids)} rows are equal to another row. Equal rows count as "
            f"the same thing and are not pushed apart{unless}.",
            DataWarning,
        )
        return ids

    def _first_network(self) -> Network:
        """Draw the weights of encoder and projection."""
        projection = check_sizes("projection_sizes", self.projection_sizes)
        sizes = (len(self.input_mean_), *self._hidden(), *projection)
        return self._drawn(sizes, self._seed)

    def _whole(self) -> list[Network]:
        return [joined(self.network_, self.projector_)]

    def _settled(self) -> Settled:
        head = self.projector_
        return {
            "hidden_layer_sizes": (self.network_.sizes[1:], self._hidden()),
            "projection_sizes": (
                () if head is None else head.sizes[1:],
                check_sizes("projection_sizes", self.projection_sizes),
            ),
        }

    def _fitted_by(self, networks: list[Network]) -> dict[str, Any]:
        trunk, head = cut(networks[0], len(self._hidden()))
        return {"network_": trunk, "projector_": head}
