"""An encoder for each side of pairs, and how one side is searched with the other."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import _get_feature_names, check_is_fitted

from lamina._checks import check_integer
from lamina._errors import DataError
from lamina._typing import Array, FloatArray, IntArray
from lamina.nn import Network
from lamina.represent import cosine_similarities, row_ids

from ._encoder_base import BaseEncoder
from ._encoder_inputs import check_rows, scaled, scaling_of
from ._encoder_pairs import check_partners
from ._trunk_rows import check_names


class TwoSidedEncoder(BaseEncoder):
    """Two networks with outputs in one space, of X and of y."""

    partner_network_: Network
    partner_mean_: FloatArray
    partner_scale_: FloatArray
    n_partner_features_: int
    partner_feature_names_in_: Array

    _heads: ClassVar[tuple[str, ...]] = ("partner_network_",)
    _arrays: ClassVar[tuple[str, ...]] = (
        *BaseEncoder._arrays,
        *("partner_mean_", "partner_scale_"),
    )
    _figures: ClassVar[tuple[str, ...]] = (*BaseEncoder._figures, "n_partner_features_")
    _names: ClassVar[tuple[str, ...]] = ("feature_names_in_", "partner_feature_names_in_")

    @property
    def networks_(self) -> list[Network]:
        """Both encoders: of X, and of y."""
        check_is_fitted(self)
        return [self.network_, self.partner_network_]

    def transform_partner(self, y: Any) -> FloatArray:
        """Return the features of rows of the other side.

        Parameters
        ----------
        y : array-like of shape (n_samples, n_partner_features) or (n_samples,)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            In the space of `transform`.
        """
        check_is_fitted(self)
        features: FloatArray = self.partner_network_.predict_raw(self._partners(y))
        return features

    def similarity(self, X: Any, y: Any) -> FloatArray:
        """Return the cosine of every row of one side and every row of the other.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of the one side.
        y : array-like of shape (m, n_partner_features) or (m,)
            Rows of the other, any number of them.

        Returns
        -------
        ndarray of shape (n, m)
            Between -1 and 1.
        """
        cosines: FloatArray = cosine_similarities(self.transform(X), self.transform_partner(y))
        return cosines

    def retrieve(self, X: Any, y: Any, n_best: int = 1) -> IntArray:
        """Return the rows of y that fit each row of X best.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            What to search for.
        y : array-like of shape (m, n_partner_features) or (m,)
            What to search in.
        n_best : int, default=1
            How many, at most m.

        Returns
        -------
        ndarray of int of shape (n, n_best)
            Row numbers of y, the best first; of equal ones the first comes first.
        """
        cosines = self.similarity(X, y)
        n_best = check_integer("n_best", n_best, 1, cosines.shape[1])
        return np.argsort(-cosines, axis=1, kind="stable")[:, :n_best]

    def score(self, X: Any, y: Any) -> float:
        """Return how often the partner is found first, the mean of both directions.

        Any pair that shares a side with the true one, bit for bit, counts as found.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One side of the pairs.
        y : array-like of shape (n_samples, n_partner_features) or (n_samples,)
            The other side.

        Returns
        -------
        float
            Between 0 and 1; guessing gives about 1 / n_samples.
        """
        cosines = self.similarity(X, y)
        if cosines.shape[0] != cosines.shape[1]:
            raise DataError(
                f"y must have a row for each of {len(cosines)}. Got {cosines.shape[1]}."
            )
        one = row_ids(check_rows(self, X, reset=False))
        other = row_ids(check_partners(y, self.n_partner_features_))
        rights = [
            (one[best] == one) | (other[best] == other)
            for best in (cosines.argmax(1), cosines.argmax(0))
        ]
        return float(np.mean(rights))

    def _measure_partners(self, partners: FloatArray, names: Array | None) -> None:
        """Set what the other side is standardised with, and the names of its columns."""
        self.partner_mean_, self.partner_scale_ = scaling_of(partners, one_for_all=False)
        self.n_partner_features_ = partners.shape[1]
        self.__dict__.pop("partner_feature_names_in_", None)
        if names is not None:
            self.partner_feature_names_in_ = names

    def _partners(self, y: Any) -> FloatArray:
        partners = check_partners(y, self.n_partner_features_)
        known = vars(self).get("partner_feature_names_in_")
        check_names("y", _get_feature_names(y), known, "of the fit")
        return scaled(partners, self.partner_mean_, self.partner_scale_, self.dtype, "y")

    def _whole(self) -> list[Network]:
        return self.networks_
