"""Why a model says what it says, and whether it may be believed.

An inspection takes arrays, a network or a predictive distribution, never an estimator, and
returns a frozen result with named numbers, ``summary()`` and ``plot()``.
"""

from ._approximation_barron import BarronResult, barron_network, barron_rate
from ._approximation_grid import relu_grid_interpolant
from ._approximation_interpolant import (
    InterpolantErrorsResult,
    InterpolantResult,
    interpolant_errors,
    relu_interpolant,
)
from ._approximation_polynomial import PolynomialExceptionResult, polynomial_exception
from ._approximation_ridges import RidgesResult, ridges
from ._balls import GaussianRadius, log_ball_volume, log_sphere_area, shell_fraction
from ._bases import CellBasis, KernelBasis, PolynomialBasis, SplineBasis
from ._bases_cells import CellVoteResult, cell_vote
from ._bases_conditioning import ConditioningResult, kernel_conditioning
from ._bases_counts import (
    CellCountResult,
    PolynomialCountResult,
    cells_occupied,
    monomial_exponents,
    polynomial_count,
)
from ._bases_fit import BasisFitResult, fit_basis
from ._bounds import RegionBoundResult, count_arrangement, region_bound
from ._calibration import CalibrationResult, calibration
from ._canonical import CanonicalResult, canonical
from ._collapse import AffineRun, BottleneckResult, CollapseResult, bottleneck, collapse
from ._coverage import CoverageResult, coverage
from ._dimension import DimensionResult, levina_bickel, two_nn
from ._geometry import GeometryResult, geometry
from ._geometry_components import ComponentsResult, principal_components
from ._geometry_curve import CurveResult, curve_geometry
from ._geometry_distances import DistancesResult, distance_concentration
from ._geometry_surrogates import gaussian_surrogate, shuffled_surrogate
from ._gradients import GradientLayer, GradientsResult, gradients
from ._line import LineRegionsResult, regions_on_line
from ._lipschitz import LipschitzResult, lipschitz
from ._match import MatchResult, match
from ._match_compare import CompareResult, compare
from ._memory import MemoryResult, memory
from ._pit import PitResult, pit
from ._plane import RegionCountResult, count_regions, regions_in_plane
from ._plane_result import PlaneRegionsResult
from ._rank import LayerRank, RankResult, rank
from ._region_sawtooth import sawtooth_network
from ._reliability import Reliability
from ._scores import ScoresResult, scores
from ._segment import SegmentResult, merge, segment
from ._symmetry import change_basis, flip_signs, permute, rescale
from ._symmetry_count import (
    EnumerationResult,
    LayerSymmetry,
    SymmetryCountResult,
    enumerate_symmetries,
    n_symmetries,
)
from ._symmetry_function import SameFunctionResult, same_function
from ._symmetry_twin import TwinResult, twin
from ._temperature import TemperatureResult, temperature
from ._units import UnitLayer, UnitsResult, units
from ._units_history import UnitHistory

__all__ = [
    "AffineRun",
    "BarronResult",
    "BasisFitResult",
    "BottleneckResult",
    "CalibrationResult",
    "CanonicalResult",
    "CellBasis",
    "CellCountResult",
    "CellVoteResult",
    "CollapseResult",
    "CompareResult",
    "ComponentsResult",
    "ConditioningResult",
    "CoverageResult",
    "CurveResult",
    "DimensionResult",
    "DistancesResult",
    "EnumerationResult",
    "GaussianRadius",
    "GeometryResult",
    "GradientLayer",
    "GradientsResult",
    "InterpolantErrorsResult",
    "InterpolantResult",
    "KernelBasis",
    "LayerRank",
    "LayerSymmetry",
    "LineRegionsResult",
    "LipschitzResult",
    "MatchResult",
    "MemoryResult",
    "PitResult",
    "PlaneRegionsResult",
    "PolynomialBasis",
    "PolynomialCountResult",
    "PolynomialExceptionResult",
    "RankResult",
    "RegionBoundResult",
    "RegionCountResult",
    "Reliability",
    "RidgesResult",
    "SameFunctionResult",
    "ScoresResult",
    "SegmentResult",
    "SplineBasis",
    "SymmetryCountResult",
    "TemperatureResult",
    "TwinResult",
    "UnitHistory",
    "UnitLayer",
    "UnitsResult",
    "barron_network",
    "barron_rate",
    "bottleneck",
    "calibration",
    "canonical",
    "cell_vote",
    "cells_occupied",
    "change_basis",
    "collapse",
    "compare",
    "count_arrangement",
    "count_regions",
    "coverage",
    "curve_geometry",
    "distance_concentration",
    "enumerate_symmetries",
    "fit_basis",
    "flip_signs",
    "gaussian_surrogate",
    "geometry",
    "gradients",
    "interpolant_errors",
    "kernel_conditioning",
    "levina_bickel",
    "lipschitz",
    "log_ball_volume",
    "log_sphere_area",
    "match",
    "memory",
    "merge",
    "monomial_exponents",
    "n_symmetries",
    "permute",
    "pit",
    "polynomial_count",
    "polynomial_exception",
    "principal_components",
    "rank",
    "region_bound",
    "regions_in_plane",
    "regions_on_line",
    "relu_grid_interpolant",
    "relu_interpolant",
    "rescale",
    "ridges",
    "same_function",
    "sawtooth_network",
    "scores",
    "segment",
    "shell_fraction",
    "shuffled_surrogate",
    "temperature",
    "twin",
    "two_nn",
    "units",
]
