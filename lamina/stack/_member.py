"""A member: what one network of a stack is and how it trains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias

from lamina._checks import (
    check_choice,
    check_flag,
    check_integer,
    check_real,
    check_sizes,
    shown,
)
from lamina._errors import ParameterError
from lamina._typing import Array
from lamina.heads import Head, Normal, get_head
from lamina.nn import Activation, GraphNetwork, Initialisation, Network, get_activation

from ._optimizers import LBFGS, Muon, Optimizer, get_optimizer
from ._schedules import Schedule, get_schedule

Monitor: TypeAlias = Literal["auto", "train_loss", "valid_loss", "valid_score"]
MONITORS = ("auto", "train_loss", "valid_loss", "valid_score")

UNIT_NORMAL = Normal()

Init: TypeAlias = "str | Initialisation | Network | GraphNetwork | Sequence[tuple[Array, Array]]"


@dataclass(frozen=True, eq=False)
class Member:
    r"""What one network of a stack is and how it trains; anything may differ between members.

    The network minimises, by mini-batches,

    .. math:: \frac{\sum_b w_b\, E(a_b, y_b)}{\sum_b w_b}
              + \frac{\alpha}{2 \sum_b w_b} \lVert W \rVert^2

    where E is the head's negative log-likelihood of the raw outputs a, w are sample weights,
    and W are all weights without biases.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(100,)
        Units of each hidden layer; ``()`` makes a linear model.
    activation : str, Activation or sequence of them, default="relu"
        Activation of the hidden layers, one for all or one for each.
    head : str or Head, default=Normal()
        Output distribution, and with it the error.
    init : str, Initialisation, Network, GraphNetwork or sequence of (W, b), default="glorot"
        Initial weights; arrays are ``W (out, in)`` and ``b (out,)``, layer by layer. With a
        GraphNetwork the member is that graph, and has no ``hidden_layer_sizes`` and
        ``activation``; its hidden units are those that are neither inputs nor outputs.
    seed : int, default=0
        Seed of this member's own random streams.
    rows : array of int of shape (n_rows,) or None, default=None
        Rows of the data that train this member; None means all.
    validation_rows : array of int of shape (n_valid,) or None, default=None
        Held-out rows on which loss and score are measured after each epoch.
    sample_weight : array of shape (n_samples,) or None, default=None
        Weight of each row of the data, zero or more; used in training and validation.
    batch_size : int, default=200
        Rows per step; at most the number of rows is used.
    optimizer : str or Optimizer, default="adam"
        How the weights move.
    learning_rate : float, default=1e-3
        Size of the steps.
    schedule : str, Schedule or None, default=None
        How the learning rate changes; None keeps it.
    weight_decay : float, default=0.0
        λ: adds λW to the gradient, or shrinks weights directly with AdamW and Muon.
    alpha : float, default=0.0
        α of the formula, scikit-learn's penalty: divided by the weight of the batch.
    dropout : float, default=0.0
        Share of hidden units that are switched off in each training step, in [0, 1).
    input_noise : float, default=0.0
        Standard deviation of normal noise that is added to every input in each training step,
        in the units of X; it favours functions that are flat around the rows.
    clip_norm : float or None, default=None
        Largest Euclidean norm of this member's gradient.
    max_epochs : int, default=200
        Passes over the rows.
    patience : int or None, default=None
        Stop when the monitored value has not improved by more than ``tol`` for more than this
        many epochs in a row; None means never.
    tol : float, default=0.0
        Smallest improvement that counts for ``patience``.
    monitor : {"auto", "train_loss", "valid_loss", "valid_score"}, default="auto"
        What decides on stopping and on the best epoch; "auto" is the validation loss where
        there are validation rows, else the training loss.
    keep_best : bool or "auto", default="auto"
        Whether the weights of the best epoch are returned and not those of the last; "auto"
        means where there are validation rows.
    shuffle : bool, default=True
        Whether rows come in a new order in each epoch.

    Raises
    ------
    ParameterError
        If a value is outside what is allowed.

    Examples
    --------
    >>> member = Member(hidden_layer_sizes=(8, 8), activation="tanh", learning_rate=0.01)
    >>> member.activations
    (Tanh(), Tanh())
    """

    hidden_layer_sizes: int | Sequence[int] = (100,)
    activation: str | Activation | Sequence[str | Activation] = "relu"
    head: str | Head = UNIT_NORMAL
    init: Init = "glorot"
    seed: int = 0
    rows: Array | None = None
    validation_rows: Array | None = None
    sample_weight: Array | None = None
    batch_size: int = 200
    optimizer: str | Optimizer = "adam"
    learning_rate: float = 1e-3
    schedule: str | Schedule | None = None
    weight_decay: float = 0.0
    alpha: float = 0.0
    dropout: float = 0.0
    input_noise: float = 0.0
    clip_norm: float | None = None
    max_epochs: int = 200
    patience: float | None = None
    tol: float = 0.0
    monitor: Monitor = "auto"
    keep_best: bool | Literal["auto"] = "auto"
    shuffle: bool = True

    def __post_init__(self) -> None:
        """Check every value once, at the door, and store names as objects."""
        put = object.__setattr__
        if isinstance(self.init, GraphNetwork):
            self._check_graph()
            put(self, "hidden_layer_sizes", ())
            put(self, "activation", ())
        put(self, "hidden_layer_sizes", check_sizes("hidden_layer_sizes", self.hidden_layer_sizes))
        put(self, "activation", _activations(self.activation, len(self.sizes)))
        put(self, "head", get_head(self.head))
        put(self, "optimizer", get_optimizer(self.optimizer))
        put(self, "schedule", get_schedule(self.schedule))
        put(self, "seed", check_integer("seed", self.seed, -(2**63), 2**64 - 1))
        put(self, "batch_size", check_integer("batch_size", self.batch_size, 1))
        put(self, "max_epochs", check_integer("max_epochs", self.max_epochs, 0))
        self._check_numbers()
        check_flag("shuffle", self.shuffle)
        if self.keep_best != "auto":
            check_flag("keep_best, if not 'auto',", self.keep_best)
        check_choice("monitor", self.monitor, MONITORS)
        if self.monitor.startswith("valid") and self.validation_rows is None:
            raise ParameterError(
                f"monitor must be 'train_loss' or 'auto' without validation_rows. "
                f"Got {self.monitor!r}. Give validation_rows, or change monitor."
            )

    def _check_graph(self) -> None:
        """Refuse what a member that is a graph does not have."""
        if check_sizes("hidden_layer_sizes", self.hidden_layer_sizes) not in ((100,), ()):
            raise ParameterError(
                "hidden_layer_sizes must be left out where init is a GraphNetwork. "
                f"Got {shown(self.hidden_layer_sizes)}."
            )
        left_out = isinstance(self.activation, (str, tuple)) and self.activation in ("relu", ())
        if not left_out:
            raise ParameterError(
                "activation must be left out where init is a GraphNetwork, whose units have "
                f"their own. Got {shown(self.activation)}."
            )
        if isinstance(get_optimizer(self.optimizer), Muon):
            raise ParameterError(
                "optimizer must be another than 'muon' where init is a GraphNetwork, which has "
                "no weight matrices. Use 'adam'."
            )

    def _check_numbers(self) -> None:
        check_real("learning_rate", self.learning_rate, 0.0, open_minimum=True)
        for name in ("weight_decay", "alpha", "input_noise"):
            check_real(name, getattr(self, name), 0.0)
        if self.input_noise and isinstance(self.optimizer, LBFGS):
            raise ParameterError(
                "input_noise must be 0 with optimizer='lbfgs', which needs the same error in "
                f"each step. Got {self.input_noise}."
            )
        check_real("dropout", self.dropout, 0.0, 1.0, open_maximum=True)
        if self.clip_norm is not None:
            check_real("clip_norm", self.clip_norm, 0.0, open_minimum=True)
        check_real("tol", self.tol, 0.0)
        if self.patience is not None and not (
            isinstance(self.patience, Real) and self.patience >= 0
        ):
            raise ParameterError(
                f"patience must be None or a number of epochs of at least 0. "
                f"Got {shown(self.patience)}."
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Hidden layer sizes as a tuple."""
        return tuple(self.hidden_layer_sizes)  # type: ignore[arg-type]

    @property
    def activations(self) -> tuple[Activation, ...]:
        """One activation for each hidden layer."""
        return self.activation  # type: ignore[return-value]


def _activations(spec: Any, n_hidden: int) -> tuple[Activation, ...]:
    """Return one activation per hidden layer."""
    if isinstance(spec, (str, Activation)):
        return (get_activation(spec),) * n_hidden
    if not isinstance(spec, Sequence):
        raise ParameterError(
            "activation must be a name, an Activation or one of them for each hidden layer. "
            f"Got {shown(spec)}."
        )
    if len(spec) != n_hidden:
        raise ParameterError(
            f"activation must have one entry for each of the {n_hidden} hidden layers. "
            f"Got {len(spec)} entries."
        )
    return tuple(get_activation(one) for one in spec)
