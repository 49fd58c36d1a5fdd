"""A saved model: a folder of ``model.json`` and ``weights.safetensors``, nothing executable.

``model.json`` holds, in this order, ``format`` (always ``"lamina-model"``), ``schema`` (the
version of this layout), ``lamina`` (the version that wrote it), ``config`` (what the model is,
see `lamina._json` for NaN and infinity), ``arrays`` (name, dtype and shape of each array),
``weights`` (size and SHA-256 of the other file) and ``sha256`` (of all that stands before it).
The folder is written as `lamina._folders` says: a crash leaves the old model or the new one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from . import __version__, _json
from ._checks import shown
from ._errors import FileError, ParameterError
from ._folders import new_folder, try_folder
from ._json import Json
from ._typing import Array
from ._typing import Path as PathLike

FORMAT = "lamina-model"
SCHEMA = 1
CONFIG_FILE = "model.json"
WEIGHTS_FILE = "weights.safetensors"

_RULE = "path must be a folder that lamina.save wrote."
_ENTRIES = ("format", "schema", "lamina", "config", "arrays", "weights")
_DTYPES = frozenset({"bool", "float16", "float32", "float64"}) | frozenset(
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
)


def write_model(path: PathLike, config: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a model folder, or leave what stands there as it is.

    Parameters
    ----------
    path : str or path-like
        The folder. Missing parents are made. A model folder in its place is replaced.
    config : dict
        Numbers, texts, bools, None, lists and dicts of them.
    arrays : dict of ndarray
        Arrays of numbers or bools.

    Raises
    ------
    FileError
        If the folder cannot be written or something other than a model is in its place.
    ParameterError
        If ``config`` or ``arrays`` hold what the files cannot.
    """
    from safetensors.numpy import save

    tensors = {_check_name(name): _plain_array(name, array) for name, array in arrays.items()}
    weights = save(tensors)
    document = _document(_json.encode(dict(config)), tensors, weights)
    target = _check_target(path)
    try:
        with new_folder(target) as folder:
            _write_file(folder / WEIGHTS_FILE, weights)
            _write_file(folder / CONFIG_FILE, (_json.dump(document, indent=1) + "\n").encode())
    except OSError as error:
        raise _not_writable(target, error) from error


def read_model(path: PathLike) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the config and the arrays of a model folder.

    Raises
    ------
    FileError
        If the folder is missing, foreign, damaged or of a newer version.
    """
    folder = _check_folder(path)
    document = _read_document(folder / CONFIG_FILE)
    arrays = _read_arrays(folder / WEIGHTS_FILE, document)
    try:
        config = _json.decode(document["config"])
    except ValueError as error:
        raise _damaged(folder / CONFIG_FILE, str(error)) from error
    return config, arrays


def check_writable(path: PathLike) -> None:
    """Raise FileError if `write_model` could not write there; what exists stays as it is."""
    target = _check_target(path)
    try:
        try_folder(target)
    except OSError as error:
        raise _not_writable(target, error) from error


# Writing


def _document(config: Json, tensors: dict[str, Array], weights: bytes) -> dict[str, Json]:
    """Return the content of ``model.json``."""
    document: dict[str, Json] = {
        "format": FORMAT,
        "schema": SCHEMA,
        "lamina": __version__,
        "config": config,
        "arrays": {name: _described(array) for name, array in tensors.items()},
        "weights": {"n_bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()},
    }
    return document | {"sha256": _digest(document)}


def _digest(document: Mapping[str, Json]) -> str:
    """Return the SHA-256 of all entries but the digest itself, in their order."""
    rest = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(_json.dump(rest).encode()).hexdigest()


def _described(array: Array) -> Json:
    """Return dtype and shape of an array."""
    return [array.dtype.name, list(array.shape)]


def _check_name(name: object) -> str:
    """Return the name of an array; safetensors keeps one name for itself."""
    if isinstance(name, str) and name and name != "__metadata__":
        return name
    raise ParameterError(f"The name of an array must be a text. Got {shown(name)}.")


def _plain_array(name: str, array: Array) -> Array:
    """Return the array in C order and native bytes, which safetensors takes for granted."""
    plain = np.asarray(array, order="C")
    if plain.dtype.name not in _DTYPES:
        raise ParameterError(
            f"arrays[{name!r}] must hold numbers or bools. Got dtype {plain.dtype}."
        )
    return plain.astype(plain.dtype.newbyteorder("="), copy=False)


def _check_target(path: PathLike) -> Path:
    """Return the resolved folder to write, if nothing but a model is in its place."""
    target = _as_path(path).resolve()
    try:
        is_file = target.exists() and not target.is_dir()
        inside = sorted(entry.name for entry in target.iterdir()) if target.is_dir() else []
    except OSError as error:
        raise _not_writable(target, error) from error
    others = [name for name in inside if name not in (CONFIG_FILE, WEIGHTS_FILE)]
    if is_file:
        problem = "which is a file"
    elif others:
        problem = f"which also holds {others[0]!r}"
    elif inside and not _is_model(target):
        problem = "which holds something else"
    else:
        return target
    raise FileError(
        "path must be a new folder or one that lamina.save wrote. "
        f"Got {str(path)!r}, {problem}. Give another name."
    )


def _is_model(folder: Path) -> bool:
    """Tell whether the folder was written by lamina, in whatever state it is now."""
    try:
        head = (folder / CONFIG_FILE).read_bytes()[:200]
    except OSError:
        return False
    return f'"format": "{FORMAT}"'.encode() in head


def _write_file(path: Path, content: bytes) -> None:
    """Write a file and wait until it is on the disk."""
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _not_writable(target: Path, error: OSError) -> FileError:
    """Return the error for a place that cannot be written."""
    reason = error.strerror or str(error)
    return FileError(
        f"path must be a folder that can be written. Got {str(target)!r}: {reason}. "
        "Give another place."
    )


# Reading


def _as_path(path: PathLike) -> Path:
    """Return a path; numbers and None are no paths."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        text = ""
    if text and "\0" not in text:
        return Path(text)
    raise ParameterError(f"path must be the name of a folder. Got {shown(path)}.")


def _check_folder(path: PathLike) -> Path:
    """Return the folder if it holds both files."""
    folder = _as_path(path)
    got = f"{_RULE} Got {str(folder)!r}"
    if not os.path.lexists(folder):
        raise FileError(f"{got}, which does not exist.")
    if not folder.is_dir():
        raise FileError(f"{got}, which is not a folder. Give the folder that holds {CONFIG_FILE}.")
    for name in (CONFIG_FILE, WEIGHTS_FILE):
        if not (folder / name).is_file():
            raise FileError(f"{got}, which has no {name}.")
    return folder


def _read_document(path: Path) -> dict[str, Any]:
    """Return the checked content of ``model.json``."""
    content = _read_bytes(path)
    try:
        document: Any = _json.parse(content.decode("utf-8"))
        _check_origin(path, document)
        intact = _has_layout(document) and document["sha256"] == _digest(document)
    except FileError:
        raise
    except (ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    if not intact:
        raise _damaged(path, "its content does not match its SHA-256")
    return cast("dict[str, Any]", document)


def _check_origin(path: Path, document: Any) -> None:
    """Raise if the document is not of lamina or of a newer lamina."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileError(f"{_RULE} Got {str(path)!r}, which is JSON of something else.")
    schema = document.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise FileError(
            f"{str(path)!r} must be of schema {SCHEMA} or older. Got schema {schema}, written by "
            f"lamina {shown(document.get('lamina'))}. Install a newer lamina."
        )


def _has_layout(document: dict[str, Any]) -> bool:
    """Tell whether the document has the entries of this schema and no others."""
    dicts = all(isinstance(document.get(key), dict) for key in ("config", "arrays", "weights"))
    return (
        dicts
        and list(document) == [*_ENTRIES, "sha256"]
        and set(document["weights"]) == {"n_bytes", "sha256"}
    )


def _read_arrays(path: Path, document: dict[str, Any]) -> dict[str, Array]:
    """Return the arrays, if they are those that the document describes."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    weights = _read_bytes(path)
    expected = document["weights"]
    if len(weights) != expected["n_bytes"]:
        raise _damaged(path, f"it has {len(weights)} bytes and not {expected['n_bytes']}")
    if hashlib.sha256(weights).hexdigest() != expected["sha256"]:
        raise _damaged(path, "its content does not match its SHA-256")
    try:
        arrays: dict[str, Array] = load(weights)
    except SafetensorError as error:
        raise _damaged(path, str(error)) from error
    _check_arrays(path, arrays, document["arrays"])
    return {name: arrays[name] for name in document["arrays"]}


def _check_arrays(path: Path, arrays: dict[str, Array], expected: dict[str, Json]) -> None:
    """Raise if a name, dtype or shape differs from what the document says."""
    if set(arrays) != set(expected):
        names = ", ".join(sorted(set(arrays) ^ set(expected)))
        raise _damaged(path, f"it differs from {CONFIG_FILE} in the arrays {names}")
    for name, array in arrays.items():
        if _described(array) != expected[name]:
            raise _damaged(
                path,
                f"its array {name!r} is {array.dtype.name} of shape {array.shape} and not "
                f"{expected[name]}",
            )


def _read_bytes(path: Path) -> bytes:
    """Return the content of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(
            f"{str(path)!r} must be a file that can be read. Got: {error.strerror}."
        ) from error


def _damaged(path: Path, reason: str) -> FileError:
    """Return the error for a file that is not as it was written."""
    return FileError(
        f"{str(path)!r} must be as lamina.save wrote it. Got a damaged file: {reason}. "
        "Save the model again or take a copy."
    )
