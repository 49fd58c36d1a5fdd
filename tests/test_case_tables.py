"""Nothing is missing: every public kind is in its registry, and every name is tested."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

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
    "activations": (ACTIVATIONS, ("nn/test_activations.py",)),
    "heads": (HEADS, ("heads/test_heads.py", "heads/test_head_laws.py")),
}
"""A registry, and the files with a table of CASES that its laws run over."""

TOLD = {
    "initialisations": (INITIALISATIONS, "nn/test_initialisation.py"),
    "optimizers": (OPTIMIZERS, "stack/test_*.py"),
    "schedules": (SCHEDULES, "stack/test_*.py"),
}
"""A registry whose members each have a law of their own, and the files with the tests."""


def kinds(room, base):
    """Return the public concrete classes of a room that descend from ``base``."""
    module = importlib.import_module(room)
    things = [getattr(module, name) for name in module.__all__]
    classes = [t for t in things if inspect.isclass(t) and issubclass(t, base) and t is not base]
    return {cls for cls in classes if not inspect.isabstract(cls)}


def cases(file):
    """Return the objects in the table of a test file: a list, or a dict by the case's name."""
    path = TESTS / file
    spec = importlib.util.spec_from_file_location(f"table_of_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = module.CASES.values() if isinstance(module.CASES, dict) else module.CASES
    return [row[0] if isinstance(row, tuple) else row for row in rows]


def words(files):
    """Return every text and every name that stands in the code of some test files."""
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    texts = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return texts | {n.id for n in nodes if isinstance(n, ast.Name)}


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
    registry, files = TABLES[what]
    assert {case.name for file in files for case in cases(file)} == set(registry)


@pytest.mark.parametrize("what", TOLD)
def test_every_registered_name_stands_in_a_test(what):
    registry, pattern = TOLD[what]
    found = words(TESTS.glob(pattern))
    assert {name for name in registry if name not in found} == set()


def test_every_estimator_is_held_to_scikit_learns_contract():
    files = list((TESTS / "estimators").glob("test_*.py"))
    checks = [file for file in files if "parametrize_with_checks" in words([file])]
    public = {cls.__name__ for cls in kinds("lamina.estimators", BaseEstimator)}
    assert public <= words(checks)


def test_every_estimator_can_be_saved():
    from lamina.estimators._persistence import KINDS

    public = {cls.__name__ for cls in kinds("lamina.estimators", BaseEstimator)}
    assert public <= set(KINDS)
    for name, room in KINDS.items():
        assert name in importlib.import_module(room).__all__
