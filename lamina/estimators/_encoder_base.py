"""What the encoders share: the loop over steps, and `transform`."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from lamina._checks import check_sizes
from lamina._errors import DataWarning, DivergedError
from lamina._typing import DTYPES, Array, DtypeName, FloatArray
from lamina.nn import Activation, Network
from lamina.represent import Training, cosine_similarities

from ._encoder_inputs import check_rows, scaled
from ._encoder_rounds import Rounds
from ._encoder_state import from_state, to_state
from ._parameters import ActivationNames, Names, near_miss

if TYPE_CHECKING:
    import pandas as pd

COLLAPSED_COSINE = 0.99
N_LOOKED_AT = 256

CONSTRAINTS: dict[str, list[Any]] = {
    "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
    "activation": [ActivationNames(), Activation],
    "batch_size": [Interval(Integral, 2, None, closed="left")],
    "max_steps": [Interval(Integral, 1, None, closed="left")],
    "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
    "weight_decay": [Interval(Real, 0, None, closed="left")],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "dtype": [Names(set(DTYPES))],
}
"""What all encoders allow."""


class BaseEncoder(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    CallbackSupportMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    ABC,
):
    """A network that turns rows into features which other models can use."""

    hidden_layer_sizes: Any
    activation: str | Activation
    batch_size: int
    max_steps: int
    learning_rate_init: float
    weight_decay: float
    random_state: int | np.random.RandomState | None
    verbose: bool | int
    dtype: DtypeName

    network_: Network
    input_mean_: FloatArray
    input_scale_: FloatArray
    n_features_in_: int
    n_steps_: int
    loss_: float
    loss_curve_: list[float]

    _heads: ClassVar[tuple[str, ...]] = ()
    """Attributes that hold a network, or None, beside ``network_``."""
    _arrays: ClassVar[tuple[str, ...]] = ("input_mean_", "input_scale_")
    _figures: ClassVar[tuple[str, ...]] = ("n_features_in_", "n_steps_", "loss_")
    """Fitted attributes that are arrays, and those that are numbers or lists of them."""
    _seed: int
    _training: Any = None

    @abstractmethod
    def _fitted_by(self, networks: list[Network]) -> dict[str, Any]:
        """Return the fitted attributes that trained networks give."""

    @property
    def networks_(self) -> list[Network]:
        """The trained networks, of which the first is ``network_``."""
        check_is_fitted(self)
        return [self.network_]

    @property
    def history_(self) -> pd.DataFrame:
        """A row for each step, with columns ``step`` (from 1) and ``loss``."""
        import pandas as pd

        check_is_fitted(self)
        steps = np.arange(1, len(self.loss_curve_) + 1)
        return pd.DataFrame({"step": steps, "loss": np.array(self.loss_curve_)})

    def transform(self, X: Any) -> FloatArray:
        """Return the features of rows; nothing is corrupted, dropped or drawn.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            In the precision of the network.

        Raises
        ------
        DataError
            If X has a value that is not finite, or is out of all proportion to the fit.
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        features: FloatArray = self.network_.predict_raw(self._scaled(rows))
        return features

    def _scaled(self, rows: FloatArray) -> FloatArray:
        return scaled(rows, self.input_mean_, self.input_scale_, self.dtype)

    @property
    def _n_features_out(self) -> int:
        return self.network_.sizes[-1]

    def _begin(self) -> None:
        """Draw the seed of a new training, and forget the last one."""
        draws = check_random_state(self.random_state)
        self._seed = int(draws.randint(np.iinfo(np.int32).max))
        self.n_steps_, self.loss_curve_ = 0, []
        # an old network must not be left behind with a new scale of the inputs
        self.__dict__.pop("network_", None)

    def _hidden(self) -> tuple[int, ...]:
        """Return the widths of the hidden layers, of which there is at least one."""
        sizes = check_sizes("hidden_layer_sizes", self.hidden_layer_sizes)
        if not sizes:
            raise InvalidParameterError(
                "hidden_layer_sizes must have at least one layer, which makes the features. "
                "Got ()."
            )
        return sizes

    def _drawn(self, sizes: Sequence[int], seed: int) -> Network:
        """Return a network with weights drawn from a seed."""
        return Network(sizes, self.activation, init="torch", random_state=seed, dtype=self.dtype)

    def _run(
        self,
        training: Training,
        n_steps: int,
        per_round: int,
        data: dict[str, Any] | None,
    ) -> None:
        """Take steps, a round at a time, until the end, Ctrl-C or a callback's wish."""
        n_rounds = math.ceil(n_steps / per_round)
        heard = Rounds(self, n_rounds, data, lambda: self._fitted_by(training.networks()))
        losses: list[float] = []
        rate = float(self.learning_rate_init)
        interrupted = False
        with training.threads():
            try:
                for k in range(n_rounds):
                    for _ in range(min(per_round, n_steps - k * per_round)):
                        losses.append(training.step(rate))
                        if not math.isfinite(losses[-1]):
                            raise DivergedError(
                                f"Training must keep a finite loss. Got {losses[-1]} in step "
                                f"{training.n_steps}. Lower learning_rate_init."
                            )
                        self._tell(training.n_steps, losses)
                    if heard.end_round(last=k == n_rounds - 1):
                        break
            except KeyboardInterrupt:
                interrupted = True
        self.n_steps_ = training.n_steps
        self.loss_curve_ = [*self.loss_curve_, *losses]
        tail = self.loss_curve_[-max(1, len(self.loss_curve_) // 10) :]
        self.loss_ = float(np.mean(tail)) if tail else math.nan
        for name, value in self._fitted_by(training.networks()).items():
            setattr(self, name, value)
        heard.finish()
        if interrupted:
            warnings.warn("Training interrupted by user.", UserWarning, stacklevel=4)

    def _tell(self, step: int, losses: list[float]) -> None:
        """Print some lines of progress."""
        every = max(1, int(self.max_steps) // 10)
        if self.verbose and step % every == 0:
            print(f"Step {step}, loss = {np.mean(losses[-every:]):.8f}")

    def _warn_if_collapsed(self, outputs: FloatArray) -> None:
        """Say so where all rows of what the loss looks at are about one point."""
        n = len(outputs)
        if n < 2:
            return
        cosines = cosine_similarities(outputs.astype(np.float64))
        mean = float((cosines.sum() - np.trace(cosines)) / (n * (n - 1)))
        if mean > COLLAPSED_COSINE or not outputs.any():
            warnings.warn(
                f"The representation has collapsed: different rows have a mean cosine of "
                f"{mean:.3f}. Take stronger views, a lower temperature, a smaller "
                "learning_rate_init or more rows.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _warn_of_copies(self, ids: Array) -> Array | None:
        """Return ids where rows are met more than once, and say how many."""
        n_copies = len(ids) - len(np.unique(ids))
        if not n_copies:
            return None
        warnings.warn(
            f"{n_copies} of {len(ids)} rows are equal to another row. Equal rows count as the "
            "same thing and are not pushed apart.",
            DataWarning,
            stacklevel=4,
        )
        return ids

    def _validate_params(self) -> None:
        """Check the parameters by scikit-learn's rules; a near miss is suggested."""
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            hint = near_miss(str(error), cast(Any, self))
            raise InvalidParameterError(f"{error}{hint}") from error

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what describes the fitted encoder as JSON, and its arrays."""
        return to_state(self)

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Return the encoder that `_to_state` described."""
        return from_state(cls, config, arrays)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a network."""
        return "network_" in vars(self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the optimiser's memory; after a copy, partial_fit begins with fresh one."""
        state = dict(super().__getstate__())
        state.pop("_training", None)
        return state

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: the features have the precision of the network."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = [self.dtype]
        return tags
