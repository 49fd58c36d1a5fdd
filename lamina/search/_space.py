"""The space of a search: what each parameter may be, as the user wrote it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from lamina._checks import shown
from lamina._errors import ParameterError
from lamina._optional import optional_import

from ._dimension import Categories, Dimension, Draws, Interval, as_dimension, label


class Space:
    """What each parameter of a search may be.

    Parameters
    ----------
    param_distributions : dict or list of dict
        By the name of each parameter: a list of values (any objects), a SciPy distribution, or
        an Optuna distribution. From a list of dicts, each candidate first picks one.

    Raises
    ------
    ParameterError
        If something else is given; the message names the parameter.

    Examples
    --------
    >>> space = Space({"alpha": [0.1, 1.0], "hidden_layer_sizes": [(64,), (64, 64), (128,)]})
    >>> space.names, space.n_combinations
    (('alpha', 'hidden_layer_sizes'), 6)
    """

    def __init__(self, param_distributions: Any) -> None:
        given = param_distributions
        parts = [given] if isinstance(given, Mapping) else given
        if not isinstance(parts, (list, tuple)) or not parts:
            raise ParameterError(
                "param_distributions must be a dict, or a list of dicts, of parameter names and "
                f"what they may be. Got {shown(given)}."
            )
        self.parts: tuple[dict[str, Dimension], ...] = tuple(map(_checked, parts))

    @property
    def names(self) -> tuple[str, ...]:
        """Every parameter, in the order of its first mention."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part))

    @property
    def n_combinations(self) -> int | None:
        """How many different candidates there are, or None where a distribution takes part."""
        sizes = [_size(part) for part in self.parts]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def combination(self, place: int) -> dict[str, Any]:
        """Return one of the combinations of lists, in the order of scikit-learn's ParameterGrid.

        The last name of the alphabet varies fastest.
        """
        for part in self.parts:
            size = _size(part)
            assert size is not None
            if place < size:
                return _combination(part, place)
            place -= size
        raise IndexError(place)

    def sources(self) -> list[dict[str, Any]]:
        """Return what scikit-learn's samplers take: lists, and objects with ``rvs``."""
        return [
            {name: list(d.values) if isinstance(d, Categories) else d for name, d in part.items()}
            for part in self.parts
        ]

    def optuna_distributions(self) -> dict[str, Any]:
        """Return an Optuna distribution by name, for the tables that Optuna shows.

        Values that Optuna cannot hold appear as their ``repr``. A parameter that is a number
        here and a text there, or whose law knows no quantiles, has none. A draw may lie outside
        the bounds of an unbounded law.
        """
        optuna = optional_import("optuna", extra="search", purpose="A mirror of the search")
        found = {}
        for name in self.names:
            mentions = [part[name] for part in self.parts if name in part]
            distribution = _merged(optuna, mentions)
            if distribution is not None:
                found[name] = distribution
        return found


def _checked(part: Any) -> dict[str, Dimension]:
    """Return the dimensions of one dict."""
    if not isinstance(part, Mapping):
        raise ParameterError(f"param_distributions must hold dicts. Got {shown(part)}.")
    if not part:
        raise ParameterError(
            "param_distributions must name at least one parameter. Got an empty dict. "
            "For one candidate alone use sklearn.model_selection.cross_validate."
        )
    for name in part:
        if not isinstance(name, str) or not name:
            raise ParameterError(
                f"param_distributions must have names of parameters as keys. Got {shown(name)}."
            )
    return {name: as_dimension(name, value) for name, value in part.items()}


def _size(part: dict[str, Dimension]) -> int | None:
    """Return how many combinations a dict of lists has, or None."""
    lists = [dimension for dimension in part.values() if isinstance(dimension, Categories)]
    return math.prod(len(d.values) for d in lists) if len(lists) == len(part) else None


def _combination(part: dict[str, Dimension], place: int) -> dict[str, Any]:
    """Return one of the combinations of a dict of lists."""
    found = {}
    for name, dimension in sorted(part.items(), reverse=True):
        assert isinstance(dimension, Categories)
        place, offset = divmod(place, len(dimension.values))
        found[name] = dimension.values[offset]
    return found


def interval_of(dimension: Dimension) -> Interval | None:
    """Return the law of a parameter in Optuna's terms, or None where it is something else."""
    if isinstance(dimension, Draws):
        return dimension.interval
    return dimension if isinstance(dimension, Interval) else None


def _bounds(dimension: Dimension) -> Interval | None:
    """Return the bounds to show a parameter in, or None for categories and unknown laws."""
    return dimension.hull if isinstance(dimension, Draws) else interval_of(dimension)


def as_optuna(optuna: Any, interval: Interval) -> Any:
    """Return the Optuna distribution of an interval."""
    if interval.integer:
        step = int(interval.step or 1)
        return optuna.distributions.IntDistribution(
            int(interval.low), int(interval.high), log=interval.log, step=step
        )
    return optuna.distributions.FloatDistribution(
        interval.low, interval.high, log=interval.log, step=interval.step
    )


def _merged(optuna: Any, mentions: list[Dimension]) -> Any:
    """Return one distribution that holds all mentions of a parameter, or None."""
    lists = [mention for mention in mentions if isinstance(mention, Categories)]
    if len(lists) == len(mentions):
        labels = [label(value) for mention in lists for value in mention.values]
        unique = {(type(item), item): item for item in labels}
        return optuna.distributions.CategoricalDistribution(list(unique.values()))
    intervals = [_bounds(mention) for mention in mentions]
    known = [interval for interval in intervals if interval is not None]
    if len(known) < len(mentions):
        return None
    kinds = {(interval.integer, interval.log) for interval in known}
    if len(kinds) > 1:
        return None
    if len(known) == 1:
        return as_optuna(optuna, known[0])
    low, high = min(k.low for k in known), max(k.high for k in known)
    return as_optuna(optuna, Interval(low, high, *kinds.pop()))
