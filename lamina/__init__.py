"""Deep feedforward networks: trained many at once, and open to look inside.

Names are loaded when they are first used, so that ``import lamina`` costs next to nothing.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamina import (
        datasets,
        distributions,
        estimators,
        experiments,
        heads,
        inspection,
        nn,
        plots,
        represent,
        search,
        stack,
        tables,
    )
    from lamina._errors import DataError, DivergedError, FileError, LaminaError, ParameterError
    from lamina.distributions import Predictive
    from lamina.estimators import (
        ContrastiveEncoder,
        CrossModalEncoder,
        DenoisingEncoder,
        MixtureDensityRegressor,
        MLPClassifier,
        MLPRegressor,
        MultitaskNetwork,
        TableClassifier,
        TableRegressor,
        TransferClassifier,
        TransferRegressor,
        load,
        save,
    )
    from lamina.nn import GraphNetwork, Network
    from lamina.search import StackedSearchCV

__version__ = "0.1.0"

_HOMES = {
    "ContrastiveEncoder": "lamina.estimators",
    "CrossModalEncoder": "lamina.estimators",
    "DataError": "lamina._errors",
    "DenoisingEncoder": "lamina.estimators",
    "DivergedError": "lamina._errors",
    "FileError": "lamina._errors",
    "GraphNetwork": "lamina.nn",
    "LaminaError": "lamina._errors",
    "MLPClassifier": "lamina.estimators",
    "MLPRegressor": "lamina.estimators",
    "MultitaskNetwork": "lamina.estimators",
    "MixtureDensityRegressor": "lamina.estimators",
    "Network": "lamina.nn",
    "ParameterError": "lamina._errors",
    "Predictive": "lamina.distributions",
    "StackedSearchCV": "lamina.search",
    "TableClassifier": "lamina.estimators",
    "TableRegressor": "lamina.estimators",
    "TransferClassifier": "lamina.estimators",
    "TransferRegressor": "lamina.estimators",
    "load": "lamina.estimators",
    "save": "lamina.estimators",
}

_ROOMS = (
    *("datasets", "distributions", "estimators", "experiments", "heads", "inspection", "nn"),
    *("plots", "represent", "search", "stack", "tables"),
)

__all__ = [
    "ContrastiveEncoder",
    "CrossModalEncoder",
    "DataError",
    "DenoisingEncoder",
    "DivergedError",
    "FileError",
    "GraphNetwork",
    "LaminaError",
    "MLPClassifier",
    "MLPRegressor",
    "MixtureDensityRegressor",
    "MultitaskNetwork",
    "Network",
    "ParameterError",
    "Predictive",
    "StackedSearchCV",
    "TableClassifier",
    "TableRegressor",
    "TransferClassifier",
    "TransferRegressor",
    "__version__",
    "datasets",
    "distributions",
    "estimators",
    "experiments",
    "heads",
    "inspection",
    "load",
    "nn",
    "plots",
    "represent",
    "save",
    "search",
    "stack",
    "tables",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its room, or a room itself, on first use."""
    if name in _ROOMS:
        return importlib.import_module(f"lamina.{name}")
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(
        f"module 'lamina' has no attribute {name!r}", name=name, obj=sys.modules[__name__]
    )


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
