"""A fitted transfer as plain data and arrays, and back: what `save` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lamina._typing import Array

from ._state import _below, _pack, _unpack
from ._transfer_report import TransferResult
from ._trunk import Trunk
from ._trunk_inputs import steps_from_state, steps_to_state

if TYPE_CHECKING:
    from ._transfer import BaseTransfer

Arrays = dict[str, Array]
Estimator = TypeVar("Estimator", bound="BaseTransfer")


def to_state(transfer: BaseTransfer) -> tuple[dict[str, Any], Arrays]:
    """Return what JSON can hold, and the arrays.

    Of the source its trunk is kept, so that a loaded transfer can be fitted again from it.
    """
    parameters = transfer.get_params(deep=False)
    parameters.pop("pretrained")
    predictor, own = transfer.predictor_._to_state()
    arrays = {f"predictor.{name}": array for name, array in own.items()}
    steps, own = steps_to_state(transfer._steps)
    arrays |= {f"inputs.{name}": array for name, array in own.items()}
    trunk = None
    if transfer.source_ is not None:
        trunk, own = transfer.source_._to_state()
        arrays |= {f"trunk.{name}": array for name, array in own.items()}
    names = getattr(transfer, "feature_names_in_", None)
    report = vars(transfer.transfer_) | {
        "labels": [[_pack("label", k), v] for k, v in transfer.transfer_.labels.items()]
    }
    return {
        "parameters": {name: _pack(name, value) for name, value in parameters.items()},
        "predictor": predictor,
        "steps": steps,
        "trunk": trunk,
        "report": report,
        "tables": transfer._tables,
        "target_name": transfer.target_name_,
        "temperature": getattr(transfer, "temperature_", None),
        "n_features": int(transfer.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
    }, arrays


def from_state(kind: type[Estimator], config: dict[str, Any], arrays: Arrays) -> Estimator:
    """Return the transfer that `to_state` described; its source is the trunk."""
    parameters = {name: _unpack(value) for name, value in config["parameters"].items()}
    trunk = config["trunk"]
    source = None if trunk is None else Trunk._from_state(trunk, _below(arrays, "trunk."))
    transfer = kind(source, **parameters)
    transfer.predictor_ = transfer._predictor_kind._from_state(
        config["predictor"], _below(arrays, "predictor.")
    )
    transfer._steps = steps_from_state(config["steps"], _below(arrays, "inputs."))
    transfer._tables, transfer.source_ = bool(config["tables"]), source
    transfer.target_name_ = config["target_name"]
    if config["temperature"] is not None:
        transfer.__dict__["temperature_"] = float(config["temperature"])
    transfer.n_features_in_ = int(config["n_features"])
    if config["feature_names"] is not None:
        transfer.feature_names_in_ = np.array(config["feature_names"], dtype=object)
    report = dict(config["report"])
    report["labels"] = {_unpack(label): what for label, what in report["labels"]}
    report |= {name: tuple(report[name]) for name in ("sizes", "origins")}
    transfer.transfer_ = TransferResult(**report)
    return transfer
