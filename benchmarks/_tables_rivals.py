"""What the table estimators are compared with, each in a setting that is fair to it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

NEEDS_PYTABKIT = ("RealMLP", "TabM")


@dataclass(frozen=True)
class Problem:
    """A table cut in two."""

    name: str
    task: str
    X: pd.DataFrame
    y: pd.Series
    X_test: pd.DataFrame
    y_test: pd.Series

    @property
    def classifies(self) -> bool:
        """Whether the target is a class."""
        return self.task == "classification"

    @property
    def texts(self) -> list[str]:
        """Columns that hold no numbers."""
        return [c for c in self.X if not pd.api.types.is_numeric_dtype(self.X[c])]


class Predictions:
    """A fitted model under one interface: labels and probabilities, or numbers."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, data: Problem) -> None:
        """Fit, without word of a network that has not converged."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model.fit(data.X, data.y)

    def predict(self, data: Problem) -> tuple[np.ndarray, np.ndarray | None]:
        """Return predictions of the test rows, and probabilities if there are classes."""
        proba = self.model.predict_proba(data.X_test) if data.classifies else None
        return np.asarray(self.model.predict(data.X_test)).ravel(), proba


def boosting(data: Problem, seed: int) -> tuple[Any, Problem]:
    """Return scikit-learn's gradient boosting with its defaults, told what are categories."""
    kind = HistGradientBoostingClassifier if data.classifies else HistGradientBoostingRegressor
    return kind(categorical_features="from_dtype", random_state=seed), with_categories(data)


def mlp(data: Problem, seed: int, **settings: Any) -> tuple[Any, Problem]:
    """Return scikit-learn's network: numbers and target scaled, texts one-hot."""
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), data.texts),
        remainder=make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
        sparse_threshold=0.0,
    )
    if data.classifies:
        return make_pipeline(encoder, MLPClassifier(random_state=seed, **settings)), data
    network = make_pipeline(encoder, MLPRegressor(random_state=seed, **settings))
    return TransformedTargetRegressor(network, transformer=StandardScaler()), data


def stopped_mlp(data: Problem, seed: int) -> tuple[Any, Problem]:
    """Return the same with early stopping, and as many epochs as it then wants."""
    return mlp(data, seed, early_stopping=True, max_iter=1000)


def realmlp(data: Problem, seed: int) -> tuple[Any, Problem]:
    """Return pytabkit's RealMLP-TD; of classes in the setting its guide advises for log loss."""
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

    settings = {"device": "cpu", "random_state": seed, "n_threads": torch.get_num_threads()}
    if data.classifies:
        model = RealMLP_TD_Classifier(val_metric_name="cross_entropy", use_ls=False, **settings)
    else:
        model = RealMLP_TD_Regressor(**settings)
    return model, filled(with_categories(data))


def tabm(data: Problem, seed: int) -> tuple[Any, Problem]:
    """Return pytabkit's TabM with its defaults; of classes it is stopped by its log loss."""
    from pytabkit import TabM_D_Classifier, TabM_D_Regressor

    settings = {"device": "cpu", "random_state": seed, "n_threads": torch.get_num_threads()}
    if data.classifies:
        model = TabM_D_Classifier(val_metric_name="cross_entropy", **settings)
    else:
        model = TabM_D_Regressor(**settings)
    return model, filled(with_categories(data))


RIVALS: dict[str, Callable[[Problem, int], tuple[Any, Problem]]] = {
    "boosting": boosting,
    "MLP": mlp,
    "MLP-stopped": stopped_mlp,
    "RealMLP": realmlp,
    "TabM": tabm,
}
"""How to make each, by name: the model, and the table as it wants it."""


def is_missing(rival: str) -> bool:
    """Return whether the package of a rival is not installed."""
    return rival in NEEDS_PYTABKIT and find_spec("pytabkit") is None


def with_categories(data: Problem) -> Problem:
    """Return the table with texts as categories."""
    levels = {
        column: pd.CategoricalDtype(
            pd.concat([data.X[column], data.X_test[column]]).dropna().unique()
        )
        for column in data.texts
    }
    return replace(data, X=data.X.astype(levels), X_test=data.X_test.astype(levels))


def filled(data: Problem) -> Problem:
    """Return the table without missing numbers: pytabkit takes none."""
    centers = data.X.median(numeric_only=True)
    return replace(data, X=data.X.fillna(centers), X_test=data.X_test.fillna(centers))
