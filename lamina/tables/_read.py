"""Read a table from a CSV or Parquet file, or say in one sentence why that is not possible."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import os
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path as FilePath

import pandas as pd

from lamina._checks import shown
from lamina._errors import FileError
from lamina._optional import optional_import
from lamina._typing import Path

_PARQUET = (".parquet", ".pq")
_TAB_SEPARATED = (".tsv", ".tab", ".tsv.gz", ".tab.gz")
_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


def read_table(path: Path) -> pd.DataFrame:
    r"""Read a CSV, TSV or Parquet file into a DataFrame.

    Text files must be UTF-8 and begin with a line of column names; they may be compressed
    (``.gz``). The separator is a tab for ``.tsv`` files, otherwise the comma, or the semicolon
    or tab if the header has one of these and no comma.

    Parameters
    ----------
    path : str or path-like
        File to read. Names that end in ``.parquet`` or ``.pq`` are read as Parquet, which needs
        the extra ``lamina[parquet]``; all others as text.

    Returns
    -------
    pandas.DataFrame
        At least one row and one column; column names are distinct.

    Raises
    ------
    FileError
        If the file is missing, a folder, empty, damaged, not UTF-8, without a header, or has
        repeated column names or lines of different length. The message names the line.
    MissingDependencyError
        If a Parquet file is read and pyarrow is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "small.csv")
    ...     _ = file.write_text("height,kind\n1.5,a\n2.5,b\n")
    ...     read_table(file).shape
    (2, 2)
    """
    file = FilePath(path)
    _check_is_file(file)
    is_parquet = file.name.lower().endswith(_PARQUET)
    frame = _read_parquet(file) if is_parquet else _read_text(file)
    if not len(frame) or not len(frame.columns):
        raise FileError(f"{file} must hold at least one row and one column. Got none.")
    return frame


def _check_is_file(file: FilePath) -> None:
    if file.is_dir():
        raise FileError(f"{file} must be a CSV or Parquet file. Got a folder.")
    if not file.exists():
        names = os.listdir(file.parent) if file.parent.is_dir() else []
        near = difflib.get_close_matches(file.name, names, n=1)
        cure = f" Did you mean {str(file.parent / near[0])!r}?" if near else ""
        raise FileError(f"{file} must be a file that exists. Got no such file.{cure}")


def _read_parquet(file: FilePath) -> pd.DataFrame:
    pyarrow = optional_import("pyarrow", extra="parquet", purpose="Reading a Parquet file")
    parquet = optional_import("pyarrow.parquet", extra="parquet", purpose="Reading a Parquet file")
    try:
        names = parquet.read_schema(file).names
        _check_names(file, names)
        return pd.read_parquet(file, engine="pyarrow")
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, FileError):
            raise
        reason = " ".join(str(error).split())
        raise FileError(f"{file} must be a readable Parquet file. Got: {reason}") from error


def _read_text(file: FilePath) -> pd.DataFrame:
    text = _decoded(file, _bytes(file))
    separator = _separator(file, text)
    _check_lines(file, text, separator)
    return pd.read_csv(io.StringIO(text), sep=separator, low_memory=False)


def _bytes(file: FilePath) -> bytes:
    try:
        content = file.read_bytes()
        if file.suffix.lower() == ".gz":
            content = gzip.decompress(content)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError(f"{file} must be a whole gzip file. Got: {error}") from error
    except OSError as error:
        raise FileError(f"{file} must be readable. Got: {error.strerror}.") from error
    if content.startswith(b"PK\x03\x04"):
        raise FileError(
            f"{file} must be a CSV or Parquet file. Got a zip archive or an Excel workbook. "
            "Save the sheet as CSV."
        )
    return content


def _decoded(file: FilePath, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileError(
            f"{file} must be text in UTF-8. Got byte 0x{content[error.start]:02x} at position "
            f"{error.start}, in line {line}. Convert it, for example with: "
            f"iconv -f latin1 -t utf-8"
        ) from error
    if not text.strip():
        raise FileError(f"{file} must begin with a line of column names. Got an empty file.")
    return text


def _separator(file: FilePath, text: str) -> str:
    if file.name.lower().endswith(_TAB_SEPARATED):
        return "\t"
    header = text.lstrip().split("\n", maxsplit=1)[0]
    if "," in header:
        return ","
    return next((mark for mark in ("\t", ";") if mark in header), ",")


def _check_lines(file: FilePath, text: str, separator: str) -> None:
    """Check the header and that every line has as many fields as the header."""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    header: list[str] = []
    try:
        for fields in lines:
            if not fields:
                continue
            if not header:
                header = fields
                _check_header(file, header)
            elif len(fields) != len(header):
                raise FileError(
                    f"{file} must have {len(header)} fields in every line, as the header has. "
                    f"Got {len(fields)} in line {lines.line_num}."
                )
    except csv.Error as error:
        raise FileError(
            f"{file} must be a CSV file. Got in line {lines.line_num}: {error}."
        ) from error


def _check_header(file: FilePath, header: Sequence[str]) -> None:
    if all(_NUMBER.fullmatch(field) for field in header):
        raise FileError(
            f"{file} must begin with a line of column names. Got numbers: "
            f"{shown(', '.join(header))}. Add a first line with a name for each column."
        )
    _check_names(file, header)


def _check_names(file: FilePath, names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1 and name.strip()]
    if repeated:
        raise FileError(
            f"{file} must have a different name for each column. Got {repeated[0]!r} "
            f"{Counter(names)[repeated[0]]} times."
        )
