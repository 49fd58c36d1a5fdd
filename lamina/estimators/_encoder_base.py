"""What the encoders share: the loop over steps, and `transform`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from lamina._checks import check_sizes
from lamina._errors import DivergedError
from lamina._typing import DTYPES, Array, DtypeName, FloatArray
from lamina.nn import Activation, Network
from lamina.represent import Training

from ._encoder_fixed import Settled, check_settled, of_all
from ._encoder_inputs import check_rows, scaled, scaling_of
from ._encoder_looks import check_finite
from ._encoder_rounds import Rounds
from ._encoder_state import from_state, to_state
from ._encoder_warnings import warn_user
from ._parameters import ActivationNames, Names, near_miss

if TYPE_CHECKING:
    import pandas as pd

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
    standardize: bool = True

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
    _names: ClassVar[tuple[str, ...]] = ("feature_names_in_",)
    """Attributes that hold names of columns, where there are any."""
    _power: ClassVar[int] = 1
    """To which power the loss takes the outputs."""
    _seed: int
    _training: Any = None

    @abstractmethod
    def _fitted_by(self, networks: list[Network]) -> dict[str, Any]:
        """Return the fitted attributes that trained networks give."""

    @abstractmethod
    def _whole(self) -> list[Network]:
        """Return the networks as they are trained, with what is cut off afterwards."""

    @abstractmethod
    def _settled(self) -> Settled:
        """Return which layers the networks have, and which the parameters ask for now."""

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
        self.n_steps_, self.loss_curve_, self._training = 0, [], None
        # an old network must not be left behind with a new scale of the inputs
        self.__dict__.pop("network_", None)

    def _measure(self, rows: FloatArray, *, one_for_all: bool = False) -> None:
        """Set what inputs are standardised with."""
        if self.standardize:
            self.input_mean_, self.input_scale_ = scaling_of(rows, one_for_all=one_for_all)
        else:
            self.input_mean_ = np.zeros(rows.shape[1])
            self.input_scale_ = np.ones(rows.shape[1])

    def _check_settled(self) -> None:
        """Refuse to go on with layers, an activation or a precision that the networks lack."""
        check_settled(of_all(self._whole(), self.activation, self.dtype) | self._settled())

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
        per_round: int,
        data: dict[str, Any],
        seen: Sequence[FloatArray],
        *,
        once: bool,
    ) -> None:
        """Take steps, a round at a time, until the end, Ctrl-C or a callback's wish.

        ``seen`` has rows for each network, whose outputs must be finite in the end. ``once`` goes
        once over the rows, on from the last such call, and callbacks do not hear of it.
        """
        if self._training is not None:
            training.resume(self._training)
        n_steps = per_round if once else int(self.max_steps)
        n_rounds = math.ceil(n_steps / per_round)
        told = None if once else data
        heard = Rounds(self, n_rounds, told, lambda: self._fitted_by(training.networks()))
        losses: list[float] = []
        rate = float(self.learning_rate_init)
        interrupted = False
        with training.threads():
            try:
                for k in range(n_rounds):
                    for _ in range(min(per_round, n_steps - k * per_round)):
                        losses.append(training.step(rate))
                        if not math.isfinite(losses[-1]):
                            raise self._diverged(training.n_steps, losses)
                        self._tell(training.n_steps, losses)
                    if heard.end_round(last=k == n_rounds - 1):
                        break
            except KeyboardInterrupt:
                interrupted = True
        networks = training.networks()
        check_finite(networks, seen, training.n_steps, self._power)
        self.n_steps_ = training.n_steps
        self.loss_curve_ = [*self.loss_curve_, *losses]
        tail = self.loss_curve_[-max(1, len(self.loss_curve_) // 10) :]
        self.loss_ = float(np.mean(tail)) if tail else math.nan
        for name, value in self._fitted_by(networks).items():
            setattr(self, name, value)
        self._training = training if once else None
        heard.finish()
        if interrupted:
            warn_user("Training interrupted by user.", UserWarning)

    def _diverged(self, step: int, losses: list[float]) -> DivergedError:
        """Return what to say of a loss that is not finite; the first one is not the steps'."""
        cure = "Lower learning_rate_init."
        if len(losses) == 1:
            cure = "Bring the columns of X to a smaller scale."
            if not self.standardize:
                cure = "Set standardize=True, or bring the columns of X to a smaller scale."
        return DivergedError(
            f"Training must keep a finite loss. Got {losses[-1]} in step {step}. {cure}"
        )

    def _tell(self, step: int, losses: list[float]) -> None:
        """Print some lines of progress."""
        every = max(1, int(self.max_steps) // 10)
        if self.verbose and step % every == 0:
            print(f"Step {step}, loss = {np.mean(losses[-every:]):.8f}")

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
