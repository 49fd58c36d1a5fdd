"""What training a stack gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lamina._typing import Array, FloatArray
from lamina.nn import Network

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Unfinished:
    """What a member that paused must remember to go on as if it had not.

    Attributes
    ----------
    best : float
        Best monitored value so far; a score has its sign changed, so that smaller is better.
    best_epoch, idle, n_epochs : int
        Epoch of the best value, epochs in a row without enough improvement, and all epochs.
    best_parameters : list of ndarray or None
        Parameters of the best epoch, where they are kept.
    """

    best: float
    best_epoch: int
    idle: int
    n_epochs: int
    best_parameters: list[FloatArray] | None = None


@dataclass(frozen=True, eq=False)
class MemberState:
    """Where a member's training stands; ``train(states=…)`` goes on from there.

    Attributes
    ----------
    parameters : list of ndarray
        Weights of each layer, then biases, then learned slopes, as they are after the last
        epoch (not those of the best one).
    moments : list of list of ndarray
        The optimiser's buffers, each in the order of ``parameters``.
    epoch, step, seen : int
        Epochs, steps and samples so far.
    lr_scale : float
        What the adaptive schedule has made of the learning rate.
    unfinished : Unfinished or None
        Of a member that ``pause_at`` stopped: then its training goes on where it stood. None:
        then a new training begins from its weights and moments.
    graph : str or None
        A hash of the graph that the member is; None where it is made of layers.
    """

    parameters: list[FloatArray]
    moments: list[list[FloatArray]]
    epoch: int
    step: int
    seen: int
    lr_scale: float
    unfinished: Unfinished | None = None
    graph: str | None = None


@dataclass(frozen=True, eq=False)
class EpochReport:
    """What a callback learns after an epoch of a group.

    Attributes
    ----------
    members : tuple of int
        Members that ran, by their place in the user's list.
    group, n_groups : int
        Number of the group, from 0, and number of groups; groups train one after another. The
        members of the "cpu" backend are one group.
    epoch : int
        Epochs of this training that the group has finished, from 1.
    max_epochs : int
        Most epochs of this training in the group.
    train_loss, valid_loss, valid_score, learning_rate : ndarray of shape (k,)
        The members' figures; NaN where there is no held-out row.
    networks : callable
        Returns the members' networks as they are now, as a list.
    """

    members: tuple[int, ...]
    group: int
    n_groups: int
    epoch: int
    max_epochs: int
    train_loss: FloatArray
    valid_loss: FloatArray
    valid_score: FloatArray
    learning_rate: FloatArray
    networks: Callable[[], list[Network]]


@dataclass(frozen=True, eq=False)
class StackResult:
    """What training a stack gives back; lists and arrays are in the order of the members.

    Attributes
    ----------
    networks : list of Network, or GraphNetwork where a member began as one
        The trained networks: of the best epoch where that was kept, else of the last.
    status : list of str
        "converged" (patience ran out, or L-BFGS found the minimum), "epochs" (all epochs
        done), "stopped" (by a callback, by ``pause_at`` or by Ctrl-C) or "diverged" (loss or
        weights were no longer finite; the network is the one before).
    best_epoch, n_epochs : list of int
        Epoch of the best monitored value, and epochs run.
    states : list of MemberState
        For going on with ``train(states=…)``.
    messages : list of str
        The last word of L-BFGS; empty for other optimisers.
    backend : list of str
        Which backend trained each member.
    interrupted : bool
        Whether Ctrl-C ended the training.
    columns : dict of str to ndarray
        The columns of ``history``.
    """

    networks: list[Network]
    status: list[str]
    best_epoch: list[int]
    n_epochs: list[int]
    states: list[MemberState]
    messages: list[str]
    backend: list[str]
    interrupted: bool
    columns: dict[str, Array] = field(repr=False)

    @property
    def history(self) -> pd.DataFrame:
        """A table with a row for each member and epoch.

        Columns: member, epoch (from 1), train_loss (the objective, mean over the epoch's
        batches while they are trained, penalty included), valid_loss (nats per row),
        valid_score (the head's metric), learning_rate (of the epoch's last step) and seconds
        (this member's share).
        """
        import pandas as pd

        return pd.DataFrame(self.columns)
