"""The geometry of data in one table: flat and curved dimension, and how near rows are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina._checks import check_flag, check_integer
from lamina._typing import FloatArray

from ._axes import axes_or_new
from ._dimension import DimensionResult, doubts, from_many, from_two, warn_of_doubts
from ._dimension_neighbours import nearest
from ._geometry_components import ComponentsResult, principal_components
from ._geometry_distances import DistancesResult, distance_concentration
from ._geometry_rows import centred, check_shares, distinct, drawn, enough, generator, matrix
from ._geometry_surrogates import gaussian_surrogate, shuffled_surrogate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class GeometryResult:
    """What data look like in their space of features, beside data without their structure.

    Attributes
    ----------
    n_samples, n_features : int
        Rows and columns.
    n_duplicates : int
        Rows that equal an earlier one and were left out.
    n_used : int
        Distinct rows that neighbours were searched among.
    constant_columns : tuple of int
        Columns with one value.
    components : ComponentsResult
        Principal components by share of the variance.
    distances : DistancesResult
        How near the nearest row is.
    two_nn, levina_bickel : DimensionResult or None
        Intrinsic dimension; None of fewer than three distinct rows.
    surrogates : dict of str to tuple
        Components and distances of ``"gaussian"`` and ``"shuffled"`` surrogates, if asked for.
    notes : tuple of str
        Reasons for doubt, each a sentence.
    """

    n_samples: int
    n_features: int
    n_duplicates: int
    n_used: int
    constant_columns: tuple[int, ...]
    components: ComponentsResult
    distances: DistancesResult
    two_nn: DimensionResult | None
    levina_bickel: DimensionResult | None
    surrogates: dict[str, tuple[ComponentsResult, DistancesResult]]
    notes: tuple[str, ...]

    def to_dataframe(self) -> pd.DataFrame:
        """Return a table with a row for the data and one for each surrogate."""
        import pandas as pd

        rows = {"data": (self.components, self.distances), **self.surrogates}
        return pd.DataFrame(
            [
                {
                    "name": name,
                    **{f"components_{share:g}": n for share, n in components.counts.items()},
                    "participation_ratio": components.participation_ratio,
                    "nearest_to_mean": distances.nearest_to_mean,
                    "nearest_to_farthest": distances.nearest_to_farthest,
                }
                for name, (components, distances) in rows.items()
            ]
        )

    def summary(self) -> str:
        """Return a short report: sizes, dimensions, the table, and what to doubt."""
        parts = [f"{self.n_samples} rows of {self.n_features} features"]
        if self.n_duplicates:
            parts.append(f"{self.n_duplicates} duplicates left out")
        if self.constant_columns:
            n = len(self.constant_columns)
            parts.append(f"{n} constant column" + ("s" if n > 1 else ""))
        if self.n_used < self.n_samples - self.n_duplicates:
            parts.append(f"neighbours among {self.n_used} drawn rows")
        lines = [", ".join(parts) + "."]
        for found in (self.two_nn, self.levina_bickel):
            if found is not None:
                lines.append(
                    f"{found.method}: dimension {found.dimension:.2f} ± {found.standard_error:.2f}"
                )
        lines.append(self.to_dataframe().to_string(index=False, float_format="{:.3f}".format))
        return "\n".join([*lines, *self.notes])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of the variance against the components, of data and surrogates."""
        from ._geometry_pictures import draw_components

        rows = {"data": self.components}
        rows.update((name, pair[0]) for name, pair in self.surrogates.items())
        return draw_components(rows, axes_or_new(ax))


def geometry(
    X: Any,
    *,
    shares: float | Iterable[float] = (0.9, 0.95, 0.99),
    n_neighbors: int = 20,
    n_queries: int = 300,
    max_samples: int = 6000,
    surrogates: bool = False,
    random_state: int = 0,
) -> GeometryResult:
    """Measure the geometry of data: components, distances, intrinsic dimension.

    Data of many features often lie near a curved surface of few dimensions. Then the nearest
    row is near, the intrinsic dimension small, and the number of straight components between
    the two. Surrogates show what the same columns, or the same pixels, give without structure.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data with at least two rows that differ.
    shares : float or iterable of float, default=(0.9, 0.95, 0.99)
        Shares of the variance to count components for.
    n_neighbors : int, default=20
        Neighbours for `levina_bickel`; fewer where there are fewer rows.
    n_queries : int, default=300
        Rows whose distances to all others are compared.
    max_samples : int, default=6000
        Distinct rows among which neighbours are searched; more are drawn at random. The time
        grows with the square of this number.
    surrogates : bool, default=False
        Whether to measure a Gaussian and a shuffled surrogate too.
    random_state : int, default=0
        Seed of all draws.

    Returns
    -------
    GeometryResult

    Raises
    ------
    DataError
        If ``X`` is no matrix of finite numbers, or fewer than two rows differ.

    Warns
    -----
    UserWarning
        If the intrinsic dimension reads above 10, where it is a lower bound.

    See Also
    --------
    principal_components, distance_concentration, two_nn, levina_bickel
    gaussian_surrogate, shuffled_surrogate

    Examples
    --------
    >>> from lamina.inspection import geometry
    >>> angle = np.random.default_rng(0).uniform(0, 6, 400)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.ones(400)])
    >>> result = geometry(X)
    >>> result.components.counts[0.99], result.constant_columns
    (3, (3,))
    >>> round(result.levina_bickel.dimension, 1)
    1.0
    """
    given = matrix(X)
    k = check_integer("n_neighbors", n_neighbors, 2)
    seed = check_integer("random_state", random_state, 0)
    limit = check_integer("max_samples", max_samples, 3)
    with_surrogates = check_flag("surrogates", surrogates)
    first = distinct(given)
    enough(len(first), len(given), 2)
    rows = given[first]
    used = rows[drawn(len(rows), limit, generator(seed))]
    wanted = check_shares(shares)

    def measured(data: FloatArray) -> tuple[ComponentsResult, DistancesResult]:
        near = distance_concentration(data, n_queries=n_queries, random_state=seed)
        return principal_components(data, wanted), near

    n_duplicates = len(given) - len(rows)
    two, many = None, None
    if len(used) >= 3:
        two, many = _dimensions(used, k, len(used) + n_duplicates)
    components = principal_components(given, wanted)
    distances = distance_concentration(used, n_queries=n_queries, random_state=seed)
    others: dict[str, tuple[ComponentsResult, DistancesResult]] = {}
    if with_surrogates:
        others["gaussian"] = measured(gaussian_surrogate(used, random_state=seed + 1))
        others["shuffled"] = measured(shuffled_surrogate(used, random_state=seed + 2))
    highest = max((found.dimension for found in (two, many) if found is not None), default=0.0)
    warn_of_doubts(highest, len(used))
    return GeometryResult(
        n_samples=len(given),
        n_features=given.shape[1],
        n_duplicates=n_duplicates,
        n_used=len(used),
        constant_columns=tuple(np.flatnonzero((given == given[0]).all(axis=0)).tolist()),
        components=components,
        distances=distances,
        two_nn=two,
        levina_bickel=many,
        surrogates=others,
        notes=doubts(highest, len(used)),
    )


def _dimensions(
    rows: FloatArray, n_neighbors: int, n_rows: int
) -> tuple[DimensionResult, DimensionResult]:
    """Return both estimates from one search for neighbours."""
    distances = nearest(centred(rows)[0], min(n_neighbors, len(rows) - 1))
    return from_two(distances, n_rows), from_many(distances, n_rows)
