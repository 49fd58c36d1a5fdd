"""Write a figure to a file, with the numbers that are drawn in it beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lamina._checks import check_choice
from lamina._errors import FileError
from lamina._typing import Array, FloatArray
from lamina._typing import Path as PathLike

from ._style import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_FORMATS = ("pdf", "png", "svg")
Rows: TypeAlias = list[dict[str, Any]]


def save_figure(ax: Axes, path: PathLike, *, numbers: bool = False) -> list[Path]:
    """Write the figure of some axes to a file, on request with its numbers as CSV beside it.

    Parameters
    ----------
    ax : Axes
        Any axes of the figure.
    path : str or path-like
        File that ends in ``.png``, ``.svg`` or ``.pdf``. Missing folders are made.
    numbers : bool, default=False
        Whether to write `figure_numbers` too, to the same name ending in ``.csv``.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    FileError
        If a file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from lamina.plots import plot_predictions, save_figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = save_figure(plot_predictions([1, 2], [1, 2]), f"{folder}/a.png", numbers=True)
    >>> [file.name for file in files]
    ['a.png', 'a.csv']
    """
    file = Path(path)
    check_choice("The ending of path", file.suffix.lower().removeprefix("."), _FORMATS)
    table = figure_numbers(ax) if numbers else None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with style():
            ax.figure.canvas.print_figure(file, metadata=_no_date(file))
        if table is not None:
            table.to_csv(file.with_suffix(".csv"), index=False)
    except OSError as error:
        raise FileError(
            f"path must be a file that can be written. Got {str(file)!r}: {error.strerror}."
        ) from error
    return [file] if table is None else [file, file.with_suffix(".csv")]


def figure_numbers(ax: Axes) -> pd.DataFrame:
    """Return what is drawn in a figure as a table, read back from the drawing itself.

    Parameters
    ----------
    ax : Axes
        Any axes of the figure.

    Returns
    -------
    DataFrame
        A row per point: ``panel`` (0 for the first axes), ``title``, ``kind`` (``"line"``,
        ``"points"``, ``"bar"``, ``"band"``, ``"grid"``, ``"polygon"``, ``"segment"`` or
        ``"text"``), ``label``, ``x``, ``y``, and ``value``: of a grid the number behind the
        colour, of polygons and segments their place, of bars where they start. A bar has its
        length as ``y``, a lying one as ``x``; a band has a row for each edge.

    Examples
    --------
    >>> from lamina.plots import figure_numbers, plot_history
    >>> import pandas as pd
    >>> ax = plot_history(pd.DataFrame({"epoch": [1, 2], "train_loss": [0.5, 0.25]}))
    >>> figure_numbers(ax)[["kind", "label", "x", "y"]].values.tolist()
    [['line', 'training', 1.0, 0.5], ['line', 'training', 2.0, 0.25]]
    """
    import pandas as pd

    columns = ["panel", "title", "kind", "label", "x", "y", "value"]
    rows: Rows = []
    for panel, axes in enumerate(_panels_of(ax)):
        groups = _groups(axes)
        for artist in axes.get_children():
            found = _numbers_of(artist, axes, groups.get(artist))
            rows += [{"panel": panel, "title": axes.get_title(), **row} for row in found]
        for text in axes.texts:
            x, y = getattr(text, "xy", text.get_position())
            row = {"kind": "text", "label": text.get_text(), "x": float(x), "y": float(y)}
            rows.append({"panel": panel, "title": axes.get_title(), **row})
    return pd.DataFrame(rows, columns=columns)


def _panels_of(ax: Axes) -> list[Axes]:
    """Return the visible axes of the figure without its colour bars."""
    return [
        axes for axes in ax.figure.axes if axes.get_visible() and axes.get_label() != "<colorbar>"
    ]


def _groups(axes: Axes) -> dict[Artist, Any]:
    """Return the container of each bar and of each part of points with intervals."""
    from matplotlib.container import BarContainer, ErrorbarContainer

    groups: dict[Artist, Any] = {}
    for container in axes.containers:
        if isinstance(container, BarContainer):
            groups |= dict.fromkeys(container.patches, container)
        if isinstance(container, ErrorbarContainer):
            line, _, intervals = container.lines
            parts = intervals if line is None else (line, *intervals)
            groups |= dict.fromkeys(parts, container)
    return groups


def _numbers_of(artist: Artist, axes: Axes, group: Any) -> Rows:
    """Return the numbers of a line, of points, of a bar, of a grid or of labelled shapes."""
    from matplotlib.collections import LineCollection, PathCollection, PolyCollection, QuadMesh
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    label = _label_of(artist if group is None else group)
    if isinstance(artist, Line2D):
        drawn_as = "points" if artist.get_linestyle() == "None" else "line"
        return _rows(drawn_as, label, _in_data(artist, axes, artist.get_xydata()))
    if isinstance(artist, PathCollection):
        return _rows("points", label, artist.get_offsets())
    if isinstance(artist, QuadMesh):
        return _grid_rows(artist)
    if isinstance(artist, PolyCollection) and label:
        return _path_rows("polygon", label, artist)
    if isinstance(artist, LineCollection) and label:
        return _path_rows("segment", label, artist)
    if isinstance(artist, Rectangle) and group is not None:
        return _bar_rows(artist, axes, group, label)
    if isinstance(artist, Rectangle) and artist is not axes.patch:
        corners = np.array([artist.get_xy(), artist.get_corners()[2]])
        return _rows("band", label, _in_data(artist, axes, corners))
    return []


def _in_data(artist: Artist, axes: Axes, points: Any) -> FloatArray:
    """Return points in the units of the axes, also where a line or band goes from edge to edge."""
    found: FloatArray = np.ma.filled(np.ma.array(points, dtype=np.float64, copy=True), np.nan)
    inside = artist.get_transform().contains_branch_seperately(axes.transData)
    for i, limits in enumerate((axes.get_xlim(), axes.get_ylim())):
        if not inside[i]:
            found[:, i] = np.interp(found[:, i], (0.0, 1.0), limits)
    return found


def _rows(kind: str, label: str, points: Any) -> Rows:
    """Return a row per point."""
    numbers: FloatArray = np.ma.filled(np.ma.asarray(points, dtype=np.float64), np.nan)
    return [{"kind": kind, "label": label, "x": x, "y": y} for x, y in numbers.tolist()]


def _bar_rows(bar: Any, axes: Axes, group: Any, label: str) -> Rows:
    """Return a row with the middle, the length and the start of a bar."""
    from matplotlib.category import StrCategoryFormatter

    lies = group.orientation == "horizontal"
    (x, y), width, height = bar.get_xy(), bar.get_width(), bar.get_height()
    axis, middle = (axes.yaxis, y + height / 2) if lies else (axes.xaxis, x + width / 2)
    names = axis.get_major_formatter()
    if isinstance(names, StrCategoryFormatter):
        label = names(middle)
    at = {"x": width, "y": middle} if lies else {"x": middle, "y": height}
    return [{"kind": "bar", "label": label, **at, "value": float(x if lies else y)}]


def _grid_rows(mesh: Any) -> Rows:
    """Return a row per cell of a grid, at the middle of the cell."""
    corners: FloatArray = np.asarray(mesh.get_coordinates(), dtype=np.float64)
    middles = (corners[:-1, :-1] + corners[1:, 1:]) / 2
    values: Array = np.asarray(mesh.get_array(), dtype=np.float64).reshape(middles.shape[:2])
    cells = np.concatenate([middles, values[:, :, None]], axis=2).reshape(-1, 3)
    label = _label_of(mesh)
    return [
        {"kind": "grid", "label": label, "x": x, "y": y, "value": value}
        for x, y, value in cells.tolist()
    ]


def _path_rows(kind: str, label: str, collection: Any) -> Rows:
    """Return a row per corner of polygons or segments; ``value`` is the number of each."""
    return [
        {"kind": kind, "label": label, "x": x, "y": y, "value": i}
        for i, path in enumerate(collection.get_paths())
        # A closed path ends with its first corner once more.
        for x, y in (path.vertices[:-1] if kind == "polygon" else path.vertices).tolist()
    ]


def _label_of(artist: Any) -> str:
    """Return the label that stands in a legend, or nothing."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def _no_date(file: Path) -> dict[str, None]:
    """Return metadata without a date, so that equal figures are equal files."""
    keys = {".pdf": "CreationDate", ".svg": "Date"}
    key = keys.get(file.suffix.lower())
    return {key: None} if key else {}
