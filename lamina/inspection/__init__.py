"""Why a model says what it says, and whether it may be believed.

An inspection takes arrays, a network or a predictive distribution, never an estimator, and
returns a frozen result with named numbers, ``summary()`` and ``plot()``.
"""

from ._calibration import CalibrationResult, calibration
from ._canonical import CanonicalResult, canonical
from ._coverage import CoverageResult, coverage
from ._gradients import GradientLayer, GradientsResult, gradients
from ._line import LineRegionsResult, regions_on_line
from ._memory import MemoryResult, memory
from ._pit import PitResult, pit
from ._reliability import Reliability
from ._scores import ScoresResult, scores
from ._symmetry import change_basis, flip_signs, permute, rescale
from ._temperature import TemperatureResult, temperature
from ._units import UnitLayer, UnitsResult, units
from ._units_history import UnitHistory

__all__ = [
    "CalibrationResult",
    "CanonicalResult",
    "CoverageResult",
    "GradientLayer",
    "GradientsResult",
    "LineRegionsResult",
    "MemoryResult",
    "PitResult",
    "Reliability",
    "ScoresResult",
    "TemperatureResult",
    "UnitHistory",
    "UnitLayer",
    "UnitsResult",
    "calibration",
    "canonical",
    "change_basis",
    "coverage",
    "flip_signs",
    "gradients",
    "memory",
    "permute",
    "pit",
    "regions_on_line",
    "rescale",
    "scores",
    "temperature",
    "units",
]
