"""A fitted multitask network as plain data and arrays, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from lamina._typing import Array
from lamina.nn import Network

from ._multitask_adding import Added
from ._multitask_targets import Task
from ._state import _below

if TYPE_CHECKING:
    from ._multitask import MultitaskNetwork

Arrays = dict[str, Array]
Estimator = TypeVar("Estimator", bound="MultitaskNetwork")


def to_state(
    model: MultitaskNetwork, config: dict[str, Any], arrays: Arrays
) -> tuple[dict[str, Any], Arrays]:
    """Return the state of the perceptron with what the tasks need beside it."""
    arrays = arrays | {"input_mean_": model.input_mean_, "input_scale_": model.input_scale_}
    added = []
    for i, one in enumerate(model._added.values()):
        networks = []
        for k, network in enumerate(one.networks):
            described, own = network._to_state()
            networks.append(described)
            arrays |= {f"added.{i}.{k}.{name}": array for name, array in own.items()}
        added.append({"task": one.task.to_state(), "networks": networks})
    tasks = [task.to_state() for task in model._tasks]
    return config | {"tasks": tasks, "added": added, "given": model._given}, arrays


def from_state(model: Estimator, config: dict[str, Any], arrays: Arrays) -> Estimator:
    """Return the model with its tasks."""
    model.input_mean_, model.input_scale_ = arrays["input_mean_"], arrays["input_scale_"]
    model._tasks = [Task.from_state(state) for state in config["tasks"]]
    model._given = config["given"]
    model._added = {}
    for i, one in enumerate(config["added"]):
        task = Task.from_state(one["task"])
        networks = tuple(
            Network._from_state(described, _below(arrays, f"added.{i}.{k}."))
            for k, described in enumerate(one["networks"])
        )
        model._added[task.name] = Added(task, networks)
    model._head = model._head_of_fit()
    return model
