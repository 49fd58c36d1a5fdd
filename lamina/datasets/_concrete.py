"""The packaged table of concrete strengths."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame


def load_concrete() -> DataFrame:
    """Load the compressive strength of 1,030 concrete mixtures.

    Returns
    -------
    DataFrame of shape (1030, 9)
        In kilograms per cubic metre of mixture: ``cement``, ``slag`` (blast furnace slag),
        ``fly_ash``, ``water``, ``superplasticizer``, ``coarse_aggregate``, ``fine_aggregate``.
        In days: ``age``. In megapascals: ``strength``, the usual target.

    Notes
    -----
    I-C. Yeh, UCI Machine Learning Repository, licensed under CC BY 4.0. Column names were
    shortened; the values are unchanged. 25 rows repeat an earlier one.

    References
    ----------
    .. [1] I-C. Yeh, Modeling of strength of high-performance concrete using artificial neural
       networks, Cement and Concrete Research 1998,
       https://doi.org/10.1016/S0008-8846(98)00165-3
    .. [2] https://archive.ics.uci.edu/dataset/165

    Examples
    --------
    >>> table = load_concrete()
    >>> table.shape, round(float(table["strength"].mean()), 2)
    ((1030, 9), 35.82)
    """
    import pandas as pd

    path = files("lamina.datasets") / "data" / "concrete.csv"
    with path.open("rb") as file:
        return pd.read_csv(file)
