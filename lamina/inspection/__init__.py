"""Why a model says what it says, and whether it may be believed.

An inspection takes arrays, a network or a predictive distribution, never an estimator, and
returns a frozen result with named numbers, ``summary()`` and ``plot()``.
"""

from ._calibration import CalibrationResult, calibration
from ._coverage import CoverageResult, coverage
from ._pit import PitResult, pit
from ._reliability import Reliability
from ._scores import ScoresResult, scores
from ._temperature import TemperatureResult, temperature

__all__ = [
    "CalibrationResult",
    "CoverageResult",
    "PitResult",
    "Reliability",
    "ScoresResult",
    "TemperatureResult",
    "calibration",
    "coverage",
    "pit",
    "scores",
    "temperature",
]
