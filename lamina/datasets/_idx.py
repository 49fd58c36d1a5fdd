"""Read arrays from IDX files, the format of MNIST, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import os
import zlib

import numpy as np

from lamina._errors import FileError
from lamina._typing import Array, Path

# third byte of the magic number -> type of the elements, big-endian
_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: Path) -> Array:
    """Return the array in an IDX file.

    The file is a magic number (two zero bytes, type, number of axes), the length of each axis
    as a big-endian 32-bit integer, and the elements. A file that starts like gzip is
    decompressed, whatever its name.

    Parameters
    ----------
    path : str or PathLike
        The file.

    Raises
    ------
    FileError
        If the file is missing, not IDX, damaged, or longer or shorter than its header says.

    References
    ----------
    .. [1] Y. LeCun, C. Cortes and C. Burges, The MNIST database of handwritten digits, 1998,
       https://en.wikipedia.org/wiki/MNIST_database
    """
    data = _content(path)
    kind, n_axes = (data[2], data[3]) if len(data) >= 4 else (0, 0)
    if data[:2] != b"\x00\x00" or kind not in _TYPES or not n_axes:
        raise FileError(
            f"{os.fspath(path)} must be an IDX file, which starts with two zero bytes, a type "
            f"and a number of axes. Got {data[:4]!r}."
        )
    header = 4 + 4 * n_axes
    axes = data[4:header].ljust(header - 4, b"\xff")  # a cut header asks for more than there is
    shape = tuple(int(n) for n in np.frombuffer(axes, dtype=">u4"))
    dtype = np.dtype(_TYPES[kind])
    expected = header + dtype.itemsize * int(np.prod(shape, dtype=object))
    if len(data) != expected:
        raise FileError(
            f"{os.fspath(path)} must be {expected} bytes long, as its header says for shape "
            f"{shape}. Got {len(data)} bytes. Download it again."
        )
    values = np.frombuffer(data, dtype=dtype, offset=header).reshape(shape)
    return values.astype(dtype.newbyteorder("="))


def _content(path: Path) -> bytes:
    """Return the bytes of a file, decompressed if it is gzip."""
    name = os.fspath(path)
    if not os.path.isfile(name):
        what = "a folder" if os.path.isdir(name) else "nothing there"
        raise FileError(f"{name} must be a file. Got {what}.")
    with open(name, "rb") as file:
        data = file.read()
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(
            f"{name} must be a whole gzip file. Got one that is damaged ({error}). "
            "Download it again."
        ) from error
