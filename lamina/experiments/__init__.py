"""Experiments: figures of the source course and of the package, run again and compared.

Each experiment is a small function that returns named values. What is expected of them, and
whether a figure is exact, moves with rounding or with the random stream, stands in
``expected.json``.
"""

from . import (  # noqa: F401  (importing a file registers its experiments)
    _activations,
    _contrastive,
    _data,
    _dead_units,
    _fixed_bases,
    _gradient_sizes,
    _graphs,
    _interpolants,
    _inverse,
    _labels,
    _manifolds,
    _many_dimensions,
    _mixtures,
    _networks,
    _noise,
    _outputs,
    _pieces,
    _pieces_random,
    _predictive,
    _resolution,
    _robot_arm,
    _slopes,
    _spirals,
    _steps,
    _symmetries,
    _tensors,
    _trained,
    _transfer,
    _wired,
)
from ._check import CheckReport, CheckRow, check
from ._registry import (
    ExperimentInfo,
    ExperimentResult,
    NeedsDataError,
    list_experiments,
    run,
)
from ._width_table import WidthTable, width_table

__all__ = [
    "CheckReport",
    "CheckRow",
    "ExperimentInfo",
    "ExperimentResult",
    "NeedsDataError",
    "WidthTable",
    "check",
    "list_experiments",
    "run",
    "width_table",
]
