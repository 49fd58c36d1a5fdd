"""Tables as they come, to and from the numbers that a network learns from."""

from ._encoder import TableEncoder
from ._read import read_table
from ._target import class_target, infer_task, regression_target, split_target, target_name
from ._target_scaler import TargetScaler

__all__ = [
    "TableEncoder",
    "TargetScaler",
    "class_target",
    "infer_task",
    "read_table",
    "regression_target",
    "split_target",
    "target_name",
]
