"""Matplotlib pictures: they take arrays and axes, return axes, and open no window."""

from ._activation_curves import plot_activations
from ._decisions import plot_classes, plot_decision, plot_decision_panels
from ._figure import figure_numbers, save_figure
from ._history import plot_history
from ._predictions import plot_predictions, plot_residuals
from ._regression import plot_regression
from ._style import PALETTE, panels, style

__all__ = [
    "PALETTE",
    "figure_numbers",
    "panels",
    "plot_activations",
    "plot_classes",
    "plot_decision",
    "plot_decision_panels",
    "plot_history",
    "plot_predictions",
    "plot_regression",
    "plot_residuals",
    "save_figure",
    "style",
]
