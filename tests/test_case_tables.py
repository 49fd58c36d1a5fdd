"""Nothing is missing: every public kind is in its registry, and every name in its test table."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from pathlib import Path

import pytest

from lamina.heads import HEADS, Head
from lamina.nn import ACTIVATIONS, INITIALISATIONS, Activation, Initialisation
from lamina.stack import OPTIMIZERS, SCHEDULES, Optimizer, Schedule

TESTS = Path(__file__).resolve().parent

REGISTRIES = {
    "activations": (ACTIVATIONS, Activation, "lamina.nn"),
    "heads": (HEADS, Head, "lamina.heads"),
    "optimizers": (OPTIMIZERS, Optimizer, "lamina.stack"),
    "schedules": (SCHEDULES, Schedule, "lamina.stack"),
}
"""Name → class, the class that all of them share, and the room they are public in."""

TABLES = {
    "activations": (ACTIVATIONS, "nn/test_activations.py", "CASES"),
    "initialisations": (INITIALISATIONS, "nn/test_initialisation.py", "CASES"),
    "heads": (HEADS, "heads/test_heads.py", "CASES"),
    "optimizers": (OPTIMIZERS, "stack/test_optimizers.py", "CASES"),
    "schedules": (SCHEDULES, "stack/test_schedules.py", "CASES"),
}
"""A registry, and the file and name of the table that its laws run over."""


def kinds(room, base):
    """Return the public concrete classes of a room that descend from ``base``."""
    module = importlib.import_module(room)
    things = [getattr(module, name) for name in module.__all__]
    classes = [t for t in things if inspect.isclass(t) and issubclass(t, base) and t is not base]
    return {cls for cls in classes if not inspect.isabstract(cls)}


def table(file, name):
    """Return the names that a test table covers."""
    path = TESTS / file
    spec = importlib.util.spec_from_file_location(f"table_of_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name_of(entry) for entry in getattr(module, name)}


def name_of(entry):
    """Return what an entry of a table is about: a name, a thing that has one, or a row."""
    first = entry[0] if isinstance(entry, tuple) else entry
    return first if isinstance(first, str) else first.name


@pytest.mark.parametrize("what", REGISTRIES)
def test_every_public_kind_is_registered_under_its_name(what):
    registry, base, room = REGISTRIES[what]
    assert set(registry.values()) == kinds(room, base)
    assert all(name == kind.name for name, kind in registry.items())


def test_every_initialisation_is_public():
    public = kinds("lamina.nn", Initialisation)
    assert {type(rule) for rule in INITIALISATIONS.values()} <= public


@pytest.mark.parametrize("what", TABLES)
def test_every_registered_name_is_in_its_test_table(what):
    registry, file, name = TABLES[what]
    assert table(file, name) == set(registry)
