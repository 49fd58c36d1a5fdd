"""What came of one candidate on one fold, and how that travels and is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from safetensors.numpy import load, save

from lamina._typing import Array, FloatArray
from lamina.stack import MemberState, Unfinished

Place: TypeAlias = tuple[int, int]
"""A candidate and a fold, by their numbers."""

End: TypeAlias = Literal["paused", "finished", "diverged", "failed"]

LOST: tuple[End, ...] = ("diverged", "failed")
"""Ends of a fit that has no score of its own."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """One candidate on one fold, after a rung.

    Attributes
    ----------
    candidate, fold : int
        Their numbers.
    end : str
        "paused" if it could go on; "failed" with an exception, whose text is ``error``.
    n_epochs, max_epochs : int
        Epochs so far, and the most that it may have; of an ensemble, of its longest member.
    scores : dict of str to float
        What the scorers say of the held-out rows.
    fit_seconds, score_seconds : float
        Of this rung.
    held_out : ndarray or None
        Predictions (n, K) of the held-out rows, if the fit has come to its end.
    """

    candidate: int
    fold: int
    end: End
    n_epochs: int
    max_epochs: int
    scores: dict[str, float]
    fit_seconds: float
    score_seconds: float
    error: str | None = None
    held_out: FloatArray | None = field(default=None, repr=False)

    @property
    def place(self) -> Place:
        """Candidate and fold."""
        return self.candidate, self.fold


def pack_outcomes(outcomes: Sequence[Outcome]) -> bytes:
    """Return outcomes as safetensors: scores as JSON, predictions as arrays."""
    records = [asdict(replace(outcome, held_out=None)) for outcome in outcomes]
    arrays = {
        str(i): np.ascontiguousarray(outcome.held_out)
        for i, outcome in enumerate(outcomes)
        if outcome.held_out is not None
    }
    return save(arrays or _NOTHING, {"outcomes": json.dumps(records)})


def unpack_outcomes(data: bytes) -> list[Outcome]:
    """Return what was packed."""
    arrays = load(data)
    return [
        Outcome(**{**record, "held_out": arrays.get(str(i))})
        for i, record in enumerate(json.loads(_metadata(data)["outcomes"]))
    ]


def pack_states(states: Mapping[Place, Sequence[MemberState]]) -> bytes:
    """Return the states of the members of some fits as safetensors."""
    arrays: dict[str, Array] = {}
    records = []
    for (candidate, fold), members in states.items():
        for i, state in enumerate(members):
            record, own = _taken_apart(state)
            records.append({"candidate": candidate, "fold": fold, **record})
            arrays |= {f"{candidate}.{fold}.{i}.{name}": array for name, array in own.items()}
    return save(arrays or _NOTHING, {"states": json.dumps(records)})


def unpack_states(data: bytes) -> dict[Place, list[MemberState]]:
    """Return what was packed."""
    arrays = load(data)
    states: dict[Place, list[MemberState]] = {}
    for record in json.loads(_metadata(data)["states"]):
        place = record.pop("candidate"), record.pop("fold")
        members = states.setdefault(place, [])
        members.append(_put_together(record, arrays, f"{place[0]}.{place[1]}.{len(members)}."))
    return states


_NOTHING = {"nothing": np.zeros(0)}
_COUNTERS = ("epoch", "step", "seen", "lr_scale")
_PROGRESS = ("best", "best_epoch", "idle", "n_epochs")


def _taken_apart(state: MemberState) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return numbers and arrays of a state."""
    record: dict[str, Any] = {name: getattr(state, name) for name in _COUNTERS}
    record |= {"n_arrays": len(state.parameters), "n_moments": len(state.moments)}
    lists = {f"m{i}": moment for i, moment in enumerate(state.moments)} | {"p": state.parameters}
    if state.unfinished is not None:
        record["unfinished"] = {name: getattr(state.unfinished, name) for name in _PROGRESS}
        if state.unfinished.best_parameters is not None:
            lists["b"] = state.unfinished.best_parameters
    arrays = {
        f"{name}{i}": np.ascontiguousarray(array)
        for name, parts in ((f"{key}.", value) for key, value in lists.items())
        for i, array in enumerate(parts)
    }
    return record, arrays


def _put_together(record: dict[str, Any], arrays: Mapping[str, Array], start: str) -> MemberState:
    """Return the state that was taken apart."""

    def parts(name: str) -> list[Any]:
        return [arrays[f"{start}{name}.{i}"] for i in range(record["n_arrays"])]

    unfinished = None
    if "unfinished" in record:
        best = parts("b") if f"{start}b.0" in arrays else None
        unfinished = Unfinished(**record["unfinished"], best_parameters=best)
    return MemberState(
        parameters=parts("p"),
        moments=[parts(f"m{i}") for i in range(record["n_moments"])],
        **{name: record[name] for name in _COUNTERS},
        unfinished=unfinished,
    )


def _metadata(data: bytes) -> dict[str, str]:
    """Return the metadata of safetensors in memory: a length, then JSON with ``__metadata__``."""
    length = int.from_bytes(data[:8], "little")
    metadata: dict[str, str] = json.loads(data[8 : 8 + length])["__metadata__"]
    return metadata
