"""Docstrings tell the truth: the parameters of the signature, shapes, an example that runs."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator

import pytest
from numpydoc.docscrape import NumpyDocString

import lamina

ROOMS = [
    f"lamina.{module.name}"
    for module in pkgutil.iter_modules(lamina.__path__)
    if module.ispkg and not module.name.startswith("_")
]

NO_EXAMPLE_NEEDED = {
    "lamina.cli.main": "a shell calls it",
    "lamina.datasets.load_mnist": "it reads files that are not in the package",
    "lamina.datasets.read_idx": "it reads files that are not in the package",
}
"""Public things without an example of their own, and why."""

HOLDS_ARRAYS = re.compile(
    r"^(?!list|dict|tuple|sequence).*\b(ndarray|Tensor|array|sparse)\b", re.IGNORECASE
)
SAYS_SHAPE = re.compile(r"\bshapes?\b|broadcast|scalar|\((\.\.\.|\w+),", re.IGNORECASE)


def public_things() -> dict[str, type | Callable]:
    """Return the classes and functions of every room, by full public name."""
    things = {}
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                things[f"{room}.{name}"] = thing
    return things


def public_methods(cls: type) -> Iterator[tuple[str, Callable]]:
    """Yield the public methods that a class documents itself."""
    for name, value in vars(cls).items():
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if inspect.isfunction(function) and function.__doc__ and not name.startswith("_"):
            yield name, function


THINGS = public_things()
CALLABLES = dict(THINGS)
for _name, _thing in THINGS.items():
    if inspect.isclass(_thing):
        CALLABLES.update((f"{_name}.{method}", f) for method, f in public_methods(_thing))

each_thing = pytest.mark.parametrize("name", sorted(THINGS))
each_callable = pytest.mark.parametrize("name", sorted(CALLABLES))


def parsed(thing: type | Callable) -> NumpyDocString:
    """Return the sections of a docstring."""
    return NumpyDocString(inspect.getdoc(thing) or "")


def names_in(doc: NumpyDocString, section: str) -> list[str]:
    """Return the names that a section lists; ``a, b : int`` counts as two."""
    return [
        name.strip().lstrip("*")
        for entry in doc[section]
        for name in entry.name.split(",")
        if name
    ]


def parameters(thing: type | Callable) -> list[str]:
    """Return the names of a signature's parameters."""
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


def has_own_signature(thing: type | Callable) -> bool:
    """Return whether the parameters are ours: not those of an exception or a protocol."""
    if not inspect.isclass(thing):
        return True
    foreign = issubclass(thing, BaseException) or getattr(thing, "_is_protocol", False)
    return not (foreign or inspect.isabstract(thing) or is_base(thing))


def is_base(cls: type) -> bool:
    """Return whether a public class is there for other public ones to descend from."""
    family = {t for t in THINGS.values() if inspect.isclass(t) and issubclass(t, cls)}
    return len(family) > 2


@each_callable
def test_a_docstring_lists_the_parameters_of_the_signature(name):
    thing = CALLABLES[name]
    if not has_own_signature(thing):
        pytest.skip("its parameters are Python's")
    doc = parsed(thing)
    told = names_in(doc, "Parameters")
    if inspect.isclass(thing) and not told:
        # The fields of a result are told as attributes, since a user reads and never sets them.
        assert set(parameters(thing)) <= set(names_in(doc, "Attributes"))
        return
    if name not in THINGS and not told:
        pytest.skip("a method that one line tells")
    assert told == parameters(thing)


@each_callable
def test_a_docstring_starts_with_one_short_sentence(name):
    summary = parsed(CALLABLES[name])["Summary"]
    assert len(summary) == 1
    assert len(summary[0]) <= 92
    assert summary[0].rstrip().endswith(".")


@each_callable
def test_arrays_have_a_shape(name):
    doc = parsed(CALLABLES[name])
    untold = [
        entry.name
        for section in ("Parameters", "Attributes", "Returns")
        for entry in doc[section]
        if HOLDS_ARRAYS.search(entry.type)
        and not SAYS_SHAPE.search(" ".join([entry.type, *entry.desc]))
    ]
    assert not untold


def is_record(thing: type | Callable) -> bool:
    """Return whether a class is what a function returns: told by its attributes alone."""
    return dataclasses.is_dataclass(thing) and not names_in(parsed(thing), "Parameters")


@each_thing
def test_a_docstring_has_an_example(name):
    thing = THINGS[name]
    if is_record(thing) or not has_own_signature(thing):
        pytest.skip("nobody calls it by itself")
    if name in NO_EXAMPLE_NEEDED:
        pytest.skip(NO_EXAMPLE_NEEDED[name])
    assert ">>>" in "\n".join(parsed(thing)["Examples"])


def test_the_exceptions_are_few_and_real():
    assert set(NO_EXAMPLE_NEEDED) <= set(THINGS)
    assert len(NO_EXAMPLE_NEEDED) <= len(THINGS) / 10
    for name in NO_EXAMPLE_NEEDED:
        assert ">>>" not in "\n".join(parsed(THINGS[name])["Examples"])


@each_callable
def test_references_have_a_link(name):
    references = "\n".join(parsed(CALLABLES[name])["References"])
    for reference in re.split(r"^\.\. \[", references, flags=re.MULTILINE)[1:]:
        assert "https://" in reference
