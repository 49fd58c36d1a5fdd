"""Types and option names that several rooms share."""

from __future__ import annotations

import os
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
Path: TypeAlias = str | os.PathLike[str]

DtypeName: TypeAlias = Literal["float32", "float64"]
DTYPES: tuple[DtypeName, ...] = ("float32", "float64")
