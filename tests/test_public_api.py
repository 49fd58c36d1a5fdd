"""What the package offers: every public name is listed, documented and reachable."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import lamina

ROOMS = sorted(
    f"lamina.{module.name}"
    for module in pkgutil.iter_modules(lamina.__path__)
    if module.ispkg and not module.name.startswith("_")
)
each_room = pytest.mark.parametrize("room", ROOMS)


def public_names(module: ModuleType) -> set[str]:
    """Return the names of a module that have no underscore and are no module themselves."""
    names = {name for name in vars(module) if not name.startswith("_")} - {"annotations"}
    return {name for name in names if not inspect.ismodule(getattr(module, name))}


def test_there_are_rooms():
    assert {"lamina.nn", "lamina.heads", "lamina.stack", "lamina.estimators"} <= set(ROOMS)


@each_room
def test_a_room_lists_its_public_names(room):
    module = importlib.import_module(room)
    assert sorted(module.__all__) == sorted(public_names(module))
    assert len(set(module.__all__)) == len(module.__all__)


@each_room
def test_a_room_says_what_it_holds(room):
    assert (importlib.import_module(room).__doc__ or "").strip()


@each_room
def test_every_public_class_and_function_is_documented(room):
    module = importlib.import_module(room)
    named = {name: getattr(module, name) for name in module.__all__}
    bare = [
        name
        for name, thing in named.items()
        if (inspect.isclass(thing) or inspect.isroutine(thing)) and not inspect.getdoc(thing)
    ]
    assert not bare


@each_room
def test_a_room_shows_only_its_own_things(room):
    module = importlib.import_module(room)
    things = [getattr(module, name) for name in module.__all__]
    defined = [thing for thing in things if inspect.isclass(thing) or inspect.isfunction(thing)]
    foreign = [thing for thing in defined if not thing.__module__.startswith(f"{room}.")]
    assert not foreign


def test_the_front_lists_what_it_gives():
    assert len(set(lamina.__all__)) == len(lamina.__all__)
    assert set(lamina.__all__) == set(dir(lamina))


@pytest.mark.parametrize("name", lamina.__all__)
def test_the_front_gives_the_rooms_own_object(name):
    thing = getattr(lamina, name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        room = ".".join(thing.__module__.split(".")[:2])
        owner = importlib.import_module(room)
        assert getattr(owner, name) is thing


def test_the_front_knows_no_other_name():
    with pytest.raises(AttributeError, match="MLPClasifier"):
        _ = lamina.MLPClasifier


def test_rooms_are_reached_as_attributes_of_the_front():
    rooms = [room for room in ROOMS if room.removeprefix("lamina.") in lamina.__all__]
    code = "\n".join(["import lamina", *rooms])
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    assert set(ROOMS) - set(rooms) <= {"lamina.cli"}


def test_star_import_gives_every_name():
    names: dict[str, object] = {}
    exec("from lamina import *", names)
    assert set(lamina.__all__) <= set(names)
