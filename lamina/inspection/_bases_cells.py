"""Classification by majority vote in the cells of a grid, with "no answer" in empty ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_integer
from lamina._errors import DataError
from lamina._typing import Array, FloatArray, IntArray

from ._arrays import class_numbers
from ._axes import axes_or_new
from ._bases_counts import MOST_BINS, cell_numbers, grid_ends
from ._geometry_rows import matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class CellVoteResult:
    """The label of each occupied cell of a grid.

    Attributes
    ----------
    n_bins : int
        Bins along each axis.
    n_cells : int
        Cells of the grid, exactly.
    cells : ndarray of int of shape (n_occupied, n_features)
        Place of each occupied cell.
    labels : ndarray of shape (n_occupied,)
        Its majority; of equally many, the smallest label.
    n_votes : ndarray of int of shape (n_occupied,)
        Training points in it.
    low, high : ndarray of shape (n_features,)
        Ends of the grid.
    """

    n_bins: int
    n_cells: int
    cells: IntArray
    labels: Array
    n_votes: IntArray
    low: FloatArray
    high: FloatArray

    def answers(self, X: Any) -> Array:
        """Return whether each row falls into an occupied cell, a Boolean array (N,)."""
        return self._places(X) >= 0

    def predict(self, X: Any) -> Array:
        """Return the label of each row's cell as objects (N,), None for "no answer"."""
        places = self._places(X)
        found = np.full(len(places), None, dtype=object)
        known = places >= 0
        found[known] = self.labels[places[known]]
        return found

    def _places(self, X: Any) -> IntArray:
        """Return the row in ``cells`` (N,) of each row's cell, -1 for an empty one."""
        rows = matrix(X)
        if rows.shape[1] != self.cells.shape[1]:
            raise DataError(f"X must have {self.cells.shape[1]} columns. Got {rows.shape[1]}.")
        index = {tuple(cell): i for i, cell in enumerate(self.cells.tolist())}
        asked = cell_numbers(rows, self.low, self.high, self.n_bins).tolist()
        return np.array([index.get(tuple(cell), -1) for cell in asked], dtype=np.int64)

    def summary(self) -> str:
        """Return how much of the grid has an answer."""
        return (
            f"{len(self.cells):,} of {self.n_cells:,} cells have an answer, from "
            f"{int(self.n_votes.sum()):,} points; in all others there is no answer."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the labels of the cells over the first two features."""
        from ._bases_pictures import draw_cells

        return draw_cells(self, axes_or_new(ax))


def cell_vote(
    X: Any, y: Any, n_bins: int = 5, bounds: tuple[float, float] | None = None
) -> CellVoteResult:
    r"""Cut every axis into k bins and let the points of each cell vote on its label.

    .. math:: \hat y(x) = \operatorname{majority} \{ y_n : \text{cell}(x_n) = \text{cell}(x) \}

    Where no point fell there is no answer. With :math:`k^D` cells nearly all are empty in many
    dimensions, see `cells_occupied`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs.
    y : array-like of shape (n_samples,)
        Labels.
    n_bins : int, default=5
        Bins k along each axis.
    bounds : (float, float), default=None
        Ends of the grid on every axis; points beyond count in the outermost bins. None takes the
        smallest and largest value of each column.

    Returns
    -------
    CellVoteResult

    Raises
    ------
    DataError
        If ``X`` is no matrix of finite numbers, or ``y`` has no label for each row.

    Examples
    --------
    >>> from lamina.inspection import cell_vote
    >>> model = cell_vote([[0.1], [0.2], [0.9]], ["a", "a", "b"], 4, (0.0, 1.0))
    >>> model.predict([[0.0], [0.5], [1.0]]).tolist()
    ['a', None, 'b']
    """
    rows = matrix(X)
    k = check_integer("n_bins", n_bins, 1, MOST_BINS)
    labels = np.asarray(y)
    if labels.shape != (len(rows),):
        raise DataError(
            f"y must have shape ({len(rows)},), a label for each row. Got shape {labels.shape}."
        )
    try:
        n_classes = len(np.unique(labels))
    except TypeError:
        raise DataError("y must hold labels of one type. Got a mixture of types.") from None
    codes, classes = class_numbers(labels, len(rows), n_classes, None)
    low, high = grid_ends(rows, bounds)
    cells, where = np.unique(cell_numbers(rows, low, high, k), axis=0, return_inverse=True)
    votes = np.zeros((len(cells), n_classes), dtype=np.int64)
    np.add.at(votes, (where.ravel(), codes), 1)
    return CellVoteResult(
        n_bins=k,
        n_cells=k ** rows.shape[1],
        cells=cells,
        labels=classes[votes.argmax(axis=1)],
        n_votes=votes.sum(axis=1),
        low=low,
        high=high,
    )
