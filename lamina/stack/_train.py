"""Train many networks as one stack."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import torch

from lamina._checks import check_choice, check_integer, shown
from lamina._errors import DataError, DivergedWarning, ParameterError
from lamina._typing import DTYPES, DtypeName, Path
from lamina.heads import Head

from ._checkpoint import Checkpoint
from ._data import Rows, as_rows, target_array
from ._extension import instruction_set, native
from ._fit import Training
from ._graph import check_columns
from ._member import Member
from ._result import EpochReport, MemberState, StackResult
from ._task import Task, make_task
from ._threads import threads_for, without_onednn

BACKENDS = ("auto", "cpu", "torch")


def train(
    members: Sequence[Member],
    X: Any,
    y: Any,
    *,
    backend: Literal["auto", "cpu", "torch"] = "auto",
    device: str | torch.device = "auto",
    dtype: DtypeName = "float32",
    checkpoint: Path | Checkpoint | None = None,
    callbacks: Sequence[Callable[[EpochReport], bool | None]] = (),
    states: Sequence[MemberState | None] | None = None,
    pause_at: int | None = None,
) -> StackResult:
    r"""Train many networks as one program; each gets the result that it would get alone.

    Members that share depth, batch size, head and optimiser run as batched matrix products,
    whatever else differs between them. Every member minimises its own objective (see
    `Member`) with its own random stream, so that

    .. math:: \theta_k(\text{together}) = \theta_k(\text{alone}) \quad\text{to rounding.}

    Parameters
    ----------
    members : sequence of Member
        What to train.
    X : array, Tensor or SciPy sparse matrix of shape (n_samples, n_features)
        Inputs, shared by all members. A table with names must have those of a graph, in order.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        Targets, as each member's head wants them: class numbers for `Categorical`.
    backend : {"auto", "cpu", "torch"}, default="auto"
        Which engine runs the steps: "cpu" is machine code, one member on a core; "torch" runs
        on any device, many members as one program. "auto" takes "cpu" for what it can train
        on the CPU. What "cpu" cannot train goes to "torch", and the result says so.
    device : str or torch.device, default="auto"
        "auto" is a CUDA device where there is one, else the CPU.
    dtype : {"float32", "float64"}, default="float32"
        Precision of data and parameters; L-BFGS always computes in float64.
    checkpoint : path, Checkpoint or None, default=None
        File to which everything is saved as training goes. If it exists, training goes on
        from it, and the result equals that of an uninterrupted run bit for bit.
    callbacks : sequence of callables
        Called with an `EpochReport` after each epoch of a group; True stops all training.
    states : sequence of MemberState or None, optional
        States of an earlier result, to go on with its moments and counters: a new training
        begins there, except that a member which ``pause_at`` had stopped goes on as if it had
        not been.
    pause_at : int or None, default=None
        Epochs, those of a training that goes on included, after which members that have not
        come to their end are stopped. L-BFGS does not pause.

    Returns
    -------
    StackResult
        Networks, history, status and states, in the order of ``members``.

    Raises
    ------
    ParameterError
        If a parameter or member is not allowed.
    DataError
        If X or y cannot be used.
    FileError
        If the checkpoint is damaged or belongs to other members or data.

    Warns
    -----
    DivergedWarning
        If a member's loss or weights became infinite or NaN; the others are not affected.

    Notes
    -----
    Ctrl-C ends training at the last whole epoch and returns what is there, with
    ``interrupted=True``. Time grows linearly with rows and members, and per member with the
    number of parameters once layers are wider than about 64; below that a step costs some
    microseconds per operation, which the members of a group share.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.stack import Member, train
    >>> x = np.linspace(-1, 1, 64)[:, None]
    >>> members = [Member((8,), "tanh", learning_rate=rate, seed=1) for rate in (0.01, 0.1)]
    >>> result = train(members, x, np.sin(3 * x))
    >>> [net.n_parameters for net in result.networks], result.status
    ([25, 25], ['epochs', 'epochs'])
    """
    _check_backend(backend)
    check_choice("dtype", dtype, DTYPES)
    if pause_at is not None:
        check_integer("pause_at", pause_at, 1)
    members = _members(members)
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        raise ParameterError(f"callbacks must be a list of callables. Got {shown(callbacks)}.")
    check_columns(members, X)
    where = _device(device)
    rows = as_rows(X, getattr(torch, dtype), where)
    tasks = _tasks(members, rows, y)
    training = Training(tasks, rows, X, y, dtype, backend, callbacks, checkpoint, states, pause_at)
    n_threads = torch.get_num_threads()
    with torch.no_grad(), without_onednn(), threads_for(training.torch_groups):
        result = training.run(n_threads)
    lost = [i for i, status in enumerate(result.status) if status == "diverged"]
    if lost:
        warnings.warn(
            f"{len(lost)} of {len(tasks)} members diverged and were stopped: {_listed(lost)}. "
            "Lower their learning rate, set clip_norm, or rescale X and y.",
            DivergedWarning,
            stacklevel=2,
        )
    return result


def _check_backend(backend: str) -> None:
    check_choice("backend", backend, BACKENDS)
    if native() is not None:
        instruction_set()  # another one may be asked for, and not be there
    elif backend == "cpu":
        raise ParameterError(
            "backend must be 'auto' or 'torch' where the compiled part of lamina is missing. "
            "Got 'cpu'. The command lamina doctor says why it is missing and how to get it."
        )


def _members(members: Any) -> list[Member]:
    if isinstance(members, Member) or not isinstance(members, Iterable):
        raise ParameterError(f"members must be a list of Member. Got {shown(members)}.")
    found = list(members)
    if not found:
        raise ParameterError("members must hold at least one Member. Got none.")
    for i, member in enumerate(found):
        if not isinstance(member, Member):
            raise ParameterError(f"members[{i}] must be a Member. Got {shown(member)}.")
    return found


def _device(device: str | torch.device) -> torch.device:
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.zeros(0, device=found)
    except (RuntimeError, AssertionError) as error:
        raise ParameterError(
            f"device must be 'auto' or a device that torch can use here. Got {shown(device)}."
        ) from error
    return found


def _tasks(members: Sequence[Member], rows: Rows, y: Any) -> list[Task]:
    target = target_array(y)
    if target.shape[:1] != (rows.n_samples,):
        raise DataError(
            f"y must have one entry for each of the {rows.n_samples} rows of X. "
            f"Got shape {target.shape}."
        )
    heads: list[Head] = [member.head for member in members]  # type: ignore[misc]
    outputs = {}
    for head in dict.fromkeys(heads):
        head.targets(target)  # what cannot be used is told before it is counted
        n = head.n_targets(target)
        outputs[head] = head.n_raw(n), head.shared_raw(n)
    return [
        make_task(i, member, rows.n_samples, rows.n_features, *outputs[head])
        for i, (member, head) in enumerate(zip(members, heads, strict=True))
    ]


def _listed(numbers: Sequence[int]) -> str:
    text = ", ".join(str(i) for i in numbers[:10])
    return text if len(numbers) <= 10 else f"{text} and {len(numbers) - 10} more"
