"""Matplotlib pictures: they take arrays and axes, return axes, and open no window."""

from ._activation_curves import plot_activations
from ._approximation import plot_interpolant, plot_interpolant_errors
from ._calibration import plot_coverage, plot_pit, plot_reliability, plot_sharpness
from ._decisions import plot_classes, plot_decision, plot_decision_panels
from ._figure import figure_numbers, save_figure
from ._geometry import plot_components, plot_curve, plot_radii
from ._graphs import plot_graph
from ._history import plot_history
from ._predictions import plot_predictions, plot_residuals
from ._regions import plot_line_regions, plot_regions
from ._regression import plot_regression
from ._search import plot_search_history, plot_search_rungs
from ._search_parallel import plot_search_parameters
from ._segments import plot_segment
from ._style import PALETTE, panels, style
from ._units import plot_gradients, plot_units

__all__ = [
    "PALETTE",
    "figure_numbers",
    "panels",
    "plot_activations",
    "plot_classes",
    "plot_components",
    "plot_coverage",
    "plot_curve",
    "plot_decision",
    "plot_decision_panels",
    "plot_gradients",
    "plot_graph",
    "plot_history",
    "plot_interpolant",
    "plot_interpolant_errors",
    "plot_line_regions",
    "plot_pit",
    "plot_predictions",
    "plot_radii",
    "plot_regions",
    "plot_regression",
    "plot_reliability",
    "plot_residuals",
    "plot_search_history",
    "plot_search_parameters",
    "plot_search_rungs",
    "plot_segment",
    "plot_sharpness",
    "plot_units",
    "save_figure",
    "style",
]
