"""Why a model says what it says, and whether it may be believed.

An inspection takes arrays, a network or a predictive distribution, never an estimator, and
returns a frozen result with named numbers, ``summary()`` and ``plot()``.
"""

from ._balls import GaussianRadius, log_ball_volume, log_sphere_area, shell_fraction
from ._calibration import CalibrationResult, calibration
from ._canonical import CanonicalResult, canonical
from ._coverage import CoverageResult, coverage
from ._dimension import DimensionResult, levina_bickel, two_nn
from ._geometry import GeometryResult, geometry
from ._geometry_components import ComponentsResult, principal_components
from ._geometry_curve import CurveResult, curve_geometry
from ._geometry_distances import DistancesResult, distance_concentration
from ._geometry_surrogates import gaussian_surrogate, shuffled_surrogate
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
    "ComponentsResult",
    "CoverageResult",
    "CurveResult",
    "DimensionResult",
    "DistancesResult",
    "GaussianRadius",
    "GeometryResult",
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
    "curve_geometry",
    "distance_concentration",
    "flip_signs",
    "gaussian_surrogate",
    "geometry",
    "gradients",
    "levina_bickel",
    "log_ball_volume",
    "log_sphere_area",
    "memory",
    "permute",
    "pit",
    "principal_components",
    "regions_on_line",
    "rescale",
    "scores",
    "shell_fraction",
    "shuffled_surrogate",
    "temperature",
    "two_nn",
    "units",
]
