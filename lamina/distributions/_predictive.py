"""What every predictive distribution can tell, whatever its family."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from lamina._typing import FloatArray, IntArray

from ._arguments import inner_level, row_index
from ._log_sum import exponential

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class Modes(NamedTuple):
    """All local maxima of the density of each row, the highest first.

    Attributes
    ----------
    locations : ndarray of shape (N, K) or (N, K, T)
        Where they are, in units of y; K is the largest number of modes of a row, and rows with
        fewer are filled up with NaN.
    heights : ndarray of shape (N, K)
        The density there.

    Examples
    --------
    >>> from lamina.distributions import NormalMixture
    >>> dist = NormalMixture([[-1.0, 1.0]], [[0.5, 1.0]])
    >>> dist.modes().locations.round(3)
    array([[-0.964,  0.994]])
    """

    locations: FloatArray
    heights: FloatArray


class Predictive(ABC):
    r"""The distribution of the target in each of N rows, in units of y.

    Numbers are float64 arrays with a row for each row of X. With one target a value a row has
    shape (N,); with T targets it has shape (N, T). Everything is a function of a row's own
    parameters: the order of the rows, or which rows stand beside it, changes nothing. Slicing
    picks rows.

    Attributes
    ----------
    rows : ndarray of shape (N,)
        Number of each row, which its random stream belongs to; slices keep it.
    n_targets : int
        T, the number of targets.
    is_discrete : bool
        Whether the target takes whole numbers only; `pdf` is then the probability.

    Examples
    --------
    >>> from lamina.distributions import NormalMixture
    >>> dist = NormalMixture(loc=[[-1.0, 1.0], [0.0, 4.0]], scale=[[0.5, 0.5], [1.0, 2.0]])
    >>> dist.mean()
    array([0., 2.])
    >>> dist[1:].quantile([0.1, 0.9]).round(3)
    array([[-0.869,  5.683]])
    """

    rows: IntArray
    n_targets: int
    is_discrete: bool = False
    _per_row: ClassVar[tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Self:
        return self._take(row_index(index, len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_rows={len(self)}, n_targets={self.n_targets})"

    def _take(self, places: IntArray | slice) -> Self:
        """Return the same distribution of some rows, without checks."""
        taken = copy.copy(self)
        for name in ("rows", *self._per_row):
            # One layout in memory, so that sums are added up in one order.
            setattr(taken, name, np.ascontiguousarray(getattr(self, name)[places]))
        return taken

    @abstractmethod
    def mean(self) -> FloatArray:
        """Return the expected value, (N,) or (N, T)."""

    def variance(self) -> FloatArray:
        """Return the variance of each target, (N,) or (N, T); of a mixture the total one."""
        with np.errstate(over="ignore"):
            return self.std() ** 2

    @abstractmethod
    def std(self) -> FloatArray:
        """Return the standard deviation, (N,) or (N, T)."""

    @abstractmethod
    def covariance(self) -> FloatArray:
        """Return the covariance matrix of the targets, (N, T, T)."""

    def median(self) -> FloatArray:
        """Return the median of each target, (N,) or (N, T)."""
        return self.quantile(0.5)

    @abstractmethod
    def quantile(self, q: Any) -> FloatArray:
        r"""Return the value below which the target falls with probability q.

        The equation :math:`F(y) = q` is solved until :math:`|F(y) - q| \le 10^{-10}`, or, where
        one step of float64 in y changes F by more than that, to the float64 beside it.

        Parameters
        ----------
        q : float or array-like of shape (m,)
            Probabilities from 0 to 1.

        Returns
        -------
        ndarray of shape (N,) or (N, T), with several q (N, m) or (N, m, T)
            Quantiles of each target by itself.

        Raises
        ------
        ParameterError
            If a probability is outside [0, 1].
        """

    def interval(self, level: float = 0.9) -> FloatArray:
        """Return the central interval: as much probability is left below as above.

        Parameters
        ----------
        level : float, default=0.9
            Probability inside, above 0 and below 1.

        Returns
        -------
        ndarray of shape (N, 2) or (N, 2, T)
            Lower and upper end.
        """
        outside = (1 - inner_level(level)) / 2
        return self.quantile([outside, 1 - outside])

    @abstractmethod
    def cdf(self, y: Any) -> FloatArray:
        """Return the probability of at most y.

        Parameters
        ----------
        y : float or array-like of shape (N,), (N, m) or (1, m); several targets: (N, T)
            One value a row, or m values a row.

        Returns
        -------
        ndarray of shape (N,) or (N, m), for several targets (N, T)
            Of several targets that of each by itself.
        """

    def pdf(self, y: Any) -> FloatArray:
        """Return the density, or the probability if the target is discrete.

        Parameters
        ----------
        y : float or array-like of shape (N,), (N, m) or (1, m); several targets: (N, T)
            One value a row, or m values a row.

        Returns
        -------
        ndarray of shape (N,) or (N, m)
            Of several targets the joint density, per unit of each.
        """
        return exponential(self.log_prob(y))

    @abstractmethod
    def log_prob(self, y: Any) -> FloatArray:
        """Return the log density (or log probability) in nats, all constants included.

        Parameters
        ----------
        y : float or array-like of shape (N,), (N, m) or (1, m); several targets: (N, T)
            One value a row, or m values a row.

        Returns
        -------
        ndarray of shape (N,) or (N, m)
            Of several targets the joint one.
        """

    @abstractmethod
    def log_marginal(self, y: Any) -> FloatArray:
        """Return the log density of each target by itself, (N,) or (N, T)."""

    @abstractmethod
    def marginal(self, target: int) -> Predictive:
        """Return the distribution of one target, whatever the others are.

        Parameters
        ----------
        target : int
            Number of the target, from 0.
        """

    @abstractmethod
    def condition(self, given: dict[int, Any]) -> Predictive:
        """Return the distribution of the other targets, some being known.

        Parameters
        ----------
        given : dict of int to float or array-like of shape (N,)
            Values of the known targets, by their number.

        Returns
        -------
        Predictive
            Of the targets left, in their order.
        """

    @abstractmethod
    def sample(self, n: int = 1, random_state: Any = None) -> FloatArray:
        """Draw n values a row, each row from its own random stream.

        Row i depends on the seed, the number of the row and its own parameters alone. More
        draws begin with the fewer.

        Parameters
        ----------
        n : int, default=1
            Draws a row.
        random_state : int, Generator, RandomState or None, default=None
            The seed, or where to draw it from. None draws it anew.

        Returns
        -------
        ndarray of shape (N, n) or (N, n, T)
            The draws.
        """

    @abstractmethod
    def modes(self) -> Modes:
        """Return all local maxima of the density with their heights, the highest first."""

    def mode(self) -> FloatArray:
        """Return where the density is highest, (N,) or (N, T).

        This is the highest local maximum of the whole density, and not the mean of its
        heaviest component.
        """
        return self.modes().locations[:, 0]

    @abstractmethod
    def highest_density(self, level: float = 0.9) -> list[FloatArray]:
        """Return the smallest region that holds the target with a probability.

        Parameters
        ----------
        level : float, default=0.9
            Probability inside, above 0 and below 1.

        Returns
        -------
        list of ndarray
            For each row its pieces, shape (pieces, 2), from left to right. The pieces of a
            discrete target are runs of whole numbers, both ends included.
        """

    @abstractmethod
    def crps(self, y: Any) -> FloatArray:
        r"""Return the continuous ranked probability score; 0 is best, in units of y.

        .. math:: \int (F(x) - [x \ge y])^2\,dx
                  = \mathrm E|Y - y| - \tfrac12 \mathrm E|Y - Y'|

        Parameters
        ----------
        y : float or array-like of shape (N,), (N, m) or (1, m); several targets: (N, T)
            What was observed.

        Returns
        -------
        ndarray of shape (N,) or (N, m), for several targets (N, T)
            Of several targets that of each by itself.
        """

    @abstractmethod
    def energy_score(self, y: Any) -> FloatArray:
        r"""Return the energy score of the targets together; 0 is best.

        .. math:: \mathrm E\lVert Y - y\rVert - \tfrac12 \mathrm E\lVert Y - Y'\rVert

        With one target it is the CRPS.

        Parameters
        ----------
        y : array-like of shape (N,) or (N, T)
            What was observed.

        Returns
        -------
        ndarray of shape (N,)
            The scores.
        """

    @abstractmethod
    def entropy(self) -> FloatArray:
        """Return the entropy (for a density: the differential one) in nats, (N,)."""

    @abstractmethod
    def affine(self, loc: Any = 0.0, scale: Any = 1.0) -> Predictive:
        """Return the distribution of loc + scale·y.

        Densities are divided by the scale, so that log densities fall by ln(scale).

        Parameters
        ----------
        loc : float or array-like of shape (T,), default=0.0
            Shift.
        scale : float or array-like of shape (T,), default=1.0
            Factor, above 0.
        """

    def to_dataframe(
        self, quantiles: Any = (0.05, 0.5, 0.95), names: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Return a table with mean, standard deviation and quantiles of each target.

        Parameters
        ----------
        quantiles : float or array-like of shape (m,), default=(0.05, 0.5, 0.95)
            Which quantiles.
        names : sequence of str, default=None
            Names of the targets, which the columns begin with. None names several targets y0,
            y1, …, and leaves the name of a single one out.

        Returns
        -------
        pandas.DataFrame
            Columns ``mean``, ``std``, ``q0.05``, …; the index has the numbers of the rows.
        """
        from ._table import to_dataframe

        return to_dataframe(self, quantiles, names)

    def plot(self, i: int = 0, *, level: float = 0.9, ax: Axes | None = None) -> Axes:
        """Draw the density of one row, with its mean, modes and highest-density region.

        Of two continuous targets contours of the joint density are drawn.

        Parameters
        ----------
        i : int, default=0
            Which row, counted in this distribution.
        level : float, default=0.9
            Probability inside the region.
        ax : Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        Axes
            The axes drawn into.
        """
        from ._pictures import plot_row

        return plot_row(self, i, level, ax)

    def plot_density(self, grid: Any = None, *, x: Any = None, ax: Axes | None = None) -> Axes:
        """Draw the density of all rows as a heat map: rows across, y upwards.

        Parameters
        ----------
        grid : array-like of shape (m,), default=None
            Values of y. None takes 400 between the outermost 0.1 % quantiles.
        x : array-like of shape (N,), default=None
            Where each row stands. None takes the numbers of the rows.
        ax : Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        Axes
            The axes drawn into.
        """
        from ._pictures import plot_density

        return plot_density(self, grid, x, ax)
