"""The expected values of every experiment, read from the room's data file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ._rules import Rule


@dataclass(frozen=True)
class Expectation:
    """What one experiment must show.

    Attributes
    ----------
    id, group, title : str
        Name, letter of its group of requirements, and what it is about.
    source : str
        Source document: D0, D2 or D3; "lamina" for the package's own.
    kind : str
        deterministic, stochastic, mixed, prose, caption or figure.
    values : dict
        Expected values by name.
    rules : dict
        How each of them is compared.
    inequalities : tuple of str
        What must hold between values.
    note : str
        Where the figures come from and how far they move.
    """

    id: str
    group: str
    title: str
    source: str
    kind: str
    values: dict[str, Any]
    rules: dict[str, Rule]
    inequalities: tuple[str, ...]
    note: str


@cache
def expectations() -> dict[str, Expectation]:
    """Return the expectation of every known experiment by its id."""
    text = (files("lamina.experiments") / "expected.json").read_text(encoding="utf-8")
    return {
        id: Expectation(
            id=id,
            group=entry["group"],
            title=entry["title"],
            source=entry["source"],
            kind=entry["kind"],
            values=entry["values"],
            rules=entry["rules"],
            inequalities=tuple(entry["inequalities"]),
            note=entry["note"],
        )
        for id, entry in json.loads(text).items()
    }
