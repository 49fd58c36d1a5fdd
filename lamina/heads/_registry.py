"""Heads by name, and their way into and out of saved configurations."""

from __future__ import annotations

from typing import Any

from lamina._checks import check_choice, shown
from lamina._errors import FileError, ParameterError

from ._bernoulli import Bernoulli
from ._categorical import Categorical
from ._custom import Custom
from ._head import Head
from ._normal import Normal
from ._poisson import Poisson

HEADS: dict[str, type[Head]] = {
    head.name: head for head in (Normal, Bernoulli, Categorical, Poisson, Custom)
}
"""Every head by its name."""

_READY: dict[str, type[Normal | Bernoulli | Categorical | Poisson]] = {
    "normal": Normal,
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "poisson": Poisson,
}


def get_head(spec: str | Head) -> Head:
    """Return a head from its name with default parameters, or the head itself.

    Parameters
    ----------
    spec : str or Head
        A name of :data:`HEADS`, or a head.

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
    if name not in _READY:
        raise FileError(f"head must be one of {sorted(_READY)}. Got {shown(name)}.")
    parameters = {key: value for key, value in config.items() if key != "name"}
    try:
        return _READY[name](**parameters)
    except TypeError as error:
        raise FileError(
            f"head {name!r} must have only parameters that this version knows. "
            f"Got {sorted(parameters)}."
        ) from error
