"""What ``lamina search`` searches over: a network behind a table encoder, and its space."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamina._errors import FileError, ParameterError

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

NETWORK, TABLE = "net", "table"
"""Names of the two steps."""

_SEEN, _FEWEST, _MOST = 500_000, 12, 80
"""Rows times epochs that a table is trained for, and the bounds of the epochs."""


def pipeline_for(
    n_rows: int, *, classes: bool, categorical: Sequence[str], seed: int, device: str
) -> Pipeline:
    """Return the network that is searched over, with settings that suit the number of rows."""
    from sklearn.pipeline import Pipeline

    from lamina import MLPClassifier, MLPRegressor
    from lamina.tables import TableEncoder

    settings: dict[str, Any] = {
        "solver": "adamw",
        "learning_rate": "cosine",
        "max_iter": min(max(_SEEN // n_rows, _FEWEST), _MOST),
        "batch_size": 64 if n_rows < 2000 else 128 if n_rows < 20_000 else 256,
        "clip_norm": 1.0,
        "tol": 0.0,
        "n_iter_no_change": math.inf,
        "random_state": seed,
        "device": device,
    }
    network = MLPClassifier(**settings) if classes else MLPRegressor("normal", **settings)
    encoder = TableEncoder(
        categorical_features=list(categorical) or None,
        target_type="classes" if classes else "continuous",
        random_state=seed,
    )
    return Pipeline([(TABLE, encoder), (NETWORK, network)])


def default_space(metric: str, pipeline: Pipeline) -> dict[str, Any]:
    """Return what each parameter may be, where nothing else is asked for.

    Probabilities are soon too sure of themselves, so that some candidates for classes train for
    a third of the epochs.
    """
    from scipy.stats import loguniform
    from sklearn.base import is_classifier

    space = {
        "hidden_layer_sizes": [
            *((64,), (128,), (256,)),
            *((64, 64), (128, 64), (256, 128), (128, 128, 64)),
        ],
        "activation": ["relu", "gelu", "silu"],
        "learning_rate_init": loguniform(5e-4, 2e-2),
        "weight_decay": loguniform(1e-3, 1.0),
        "dropout": [0.0, 0.1, 0.25, 0.5],
    }
    if is_classifier(pipeline):
        most = pipeline.named_steps[NETWORK].max_iter
        space["max_iter"] = [max(1, most // 3), most]
    if metric == "nll":
        space["loss"] = ["normal", "heteroscedastic", "mixture"]
    embeddings = {f"{TABLE}__numeric_embedding": ["piecewise_linear", "periodic", "none"]}
    return {f"{NETWORK}__{name}": values for name, values in space.items()} | embeddings


def space_of_file(path: Path, pipeline: Pipeline) -> dict[str, Any]:
    """Return the space of a file, with the names of the pipeline's parameters.

    A list holds the values of a parameter, a table with ``low`` and ``high`` the bounds of a
    number, and anything else is the one value. Names are those of the network; with ``table.``
    before them, those of the encoder.
    """
    given = _read(path)
    if not isinstance(given, Mapping) or not given:
        raise FileError(f"--space must hold names of parameters and what they may be. Got {path}.")
    flat = dict(given)
    for name, value in dict(flat.pop(TABLE, None) or {}).items():
        flat[f"{TABLE}.{name}"] = value
    return {_full(name, pipeline): _dimension(name, value) for name, value in flat.items()}


def short(name: str) -> str:
    """Return the name of a parameter as the space's file has it."""
    return name.removeprefix(f"{NETWORK}__").replace("__", ".")


def _read(path: Path) -> Any:
    """Return what a JSON or TOML file holds."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise FileError(
            f"--space must be a file that can be read. Got {path}: {reason}."
        ) from error
    try:
        return json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except ValueError as error:
        kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
        raise FileError(f"--space must be a file of TOML or, ending in .json, of JSON. "
                        f"{path} is no {kind}: {error}.") from error  # fmt: skip


def _full(name: str, pipeline: Pipeline) -> str:
    """Return the name of a parameter in the pipeline, or say which there are."""
    from lamina._checks import suggestion

    step, _, own = name.rpartition(".")
    step = step or NETWORK
    steps = pipeline.named_steps
    known = sorted(steps[step].get_params(deep=False)) if step in steps else []
    if own not in known:
        told = [*sorted(steps[NETWORK].get_params(deep=False))]
        told += [f"{TABLE}.{key}" for key in sorted(steps[TABLE].get_params(deep=False))]
        raise ParameterError(
            f"--space must name parameters of {type(steps[NETWORK]).__name__}, or of the encoder "
            f"as {TABLE}.NAME. Got {name!r}.{suggestion(name, told)}"
        )
    return f"{step}__{own}"


def _dimension(name: str, value: Any) -> Any:
    """Return a list of values or a distribution."""
    if isinstance(value, Mapping):
        return _between(name, value)
    if isinstance(value, list):
        if not value:
            raise ParameterError(f"{name} of --space must hold at least one value. Got [].")
        return [_value(item) for item in value]
    return [value]


def _value(item: Any) -> Any:
    """Return a list as a tuple, as widths of layers are written."""
    return tuple(map(_value, item)) if isinstance(item, list) else item


def _between(name: str, bounds: Mapping[str, Any]) -> Any:
    """Return the distribution between two bounds."""
    from scipy.stats import loguniform, randint, uniform

    from lamina._checks import shown

    low: Any = bounds.get("low")
    high: Any = bounds.get("high")
    log: Any = bounds.get("log", False)
    whole = isinstance(low, int) and isinstance(high, int)
    right = (
        set(bounds) <= {"low", "high", "log"}
        and all(type(bound) in (int, float) and math.isfinite(bound) for bound in (low, high))
        and type(log) is bool
    )
    if not right or not low < high or (log and low <= 0):
        raise ParameterError(
            f"{name} of --space must be a list of values, one value, or numbers low < high, such "
            f"as {{low = 0.001, high = 0.1, log = true}}. With log, low must be above 0. "
            f"Got {shown(dict(bounds))}."
        )
    if log:
        return loguniform(float(low), float(high))
    return randint(low, high + 1) if whole else uniform(float(low), float(high) - float(low))
