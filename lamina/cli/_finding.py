"""One finding of ``lamina inspect``, and the order in which findings are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["serious", "look", "note", "fact"]
LEVELS: tuple[Level, ...] = ("serious", "look", "note", "fact")
"""Worst first: it is broken; it costs something; it could be better; good to know."""


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes
    ----------
    level : {"serious", "look", "note", "fact"}
        How bad it is.
    what : str
        Name of the finding, the same for all networks.
    number : float
        The number that it rests on.
    text : str
        A sentence with that number.
    advice : str
        What to do, or nothing.
    weight : float
        Order within a level, larger first.
    networks : tuple of int
        The networks that it holds for, counted from 1.
    """

    level: Level
    what: str
    number: float
    text: str
    advice: str = ""
    weight: float = 0.0
    networks: tuple[int, ...] = ()


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings by level and weight; of one that several networks have, the worst."""
    merged: dict[str, Finding] = {}
    for found in sorted(findings, key=_rank):
        known = merged.setdefault(found.what, found)
        networks = tuple(dict.fromkeys(known.networks + found.networks))
        merged[found.what] = replace(known, networks=networks)
    return sorted(merged.values(), key=_rank)


def _rank(found: Finding) -> tuple[int, float]:
    return LEVELS.index(found.level), -found.weight
