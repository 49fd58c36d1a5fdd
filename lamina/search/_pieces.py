"""The share that one fit has in the result of a stack."""

from __future__ import annotations

from lamina.stack import StackResult


def part_of(result: StackResult, start: int, stop: int) -> StackResult:
    """Return the result of the members from ``start`` up to ``stop``, counted from zero."""
    members = slice(start, stop)
    own = (result.columns["member"] >= start) & (result.columns["member"] < stop)
    columns = {name: values[own] for name, values in result.columns.items()}
    columns["member"] = columns["member"] - start
    return StackResult(
        networks=result.networks[members],
        status=result.status[members],
        best_epoch=result.best_epoch[members],
        n_epochs=result.n_epochs[members],
        states=result.states[members],
        messages=result.messages[members],
        backend=result.backend[members],
        interrupted=result.interrupted,
        columns=columns,
    )
