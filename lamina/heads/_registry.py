"""Heads by name, and their way into and out of saved configurations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lamina._checks import check_choice, shown
from lamina._errors import FileError, ParameterError

from ._bernoulli import Bernoulli
from ._categorical import Categorical
from ._custom import Custom
from ._from_distribution import FromDistribution
from ._head import Head
from ._mixture import Mixture
from ._multivariate_normal import MultivariateNormal
from ._negative_binomial import NegativeBinomial
from ._normal import Normal
from ._poisson import Poisson
from ._quantiles import Quantiles

HEADS: dict[str, type[Head]] = {
    head.name: head
    for head in (
        *(Normal, MultivariateNormal, Mixture, Quantiles, Poisson, NegativeBinomial),
        *(Bernoulli, Categorical, FromDistribution, Custom),
    )
}
"""Every head by its name."""

_NOT_IN_FILES = (Custom, FromDistribution)

_SAVED: dict[str, Callable[..., Head]] = {
    name: head for name, head in HEADS.items() if head not in _NOT_IN_FILES
}

_READY: dict[str, Callable[[], Head]] = {
    **_SAVED,
    "heteroscedastic": functools.partial(Normal, "per_row"),
}


def get_head(spec: str | Head) -> Head:
    """Return a head from its name with default parameters, or the head itself.

    Parameters
    ----------
    spec : str or Head
        A name of :data:`HEADS`, ``"heteroscedastic"`` for ``Normal("per_row")``, or a head.

    Returns
    -------
    Head
        The head.

    Raises
    ------
    ParameterError
        If the name is unknown; a near miss is suggested.

    Examples
    --------
    >>> get_head("poisson")
    Poisson()
    """
    if isinstance(spec, Head):
        return spec
    if not isinstance(spec, str):
        raise ParameterError(f"head must be a Head or one of {sorted(_READY)}. Got {shown(spec)}.")
    return _READY[check_choice("head", spec, _READY)]()


def head_from_config(config: dict[str, Any]) -> Head:
    """Return the head that a saved configuration describes.

    Parameters
    ----------
    config : dict
        The name of the head and its parameters.

    Returns
    -------
    Head
        An equal head.

    Raises
    ------
    FileError
        If it describes no head that can be loaded.

    Examples
    --------
    >>> head_from_config({"name": "normal", "scale": "unit"})
    Normal(scale='unit')
    """
    name = config.get("name")
    if name not in _SAVED:
        raise FileError(f"head must be one of {sorted(_SAVED)}. Got {shown(name)}.")
    parameters = {key: value for key, value in config.items() if key != "name"}
    try:
        return _SAVED[name](**parameters)
    except TypeError as error:
        raise FileError(
            f"head {name!r} must have only parameters that this version knows. "
            f"Got {sorted(parameters)}."
        ) from error
