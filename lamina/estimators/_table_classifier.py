"""Classification of a table as it comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin

from lamina._typing import Array, FloatArray
from lamina.heads import Categorical, Head
from lamina.nn import Activation, Network
from lamina.tables import class_target

from ._table_base import BaseTable, TableTarget
from ._table_calibration import tempered
from ._table_label_noise import first_label_noise
from ._table_recipe import NumericEmbedding, Preset
from ._table_spread import HeldOut
from ._table_state import from_state, pack_classes, to_state, unpack_classes


class TableClassifier(ClassifierMixin, BaseTable):  # type: ignore[misc]
    r"""Predict classes from a table with columns of any kind.

    `TableEncoder` turns the table into a matrix; an ensemble of small networks learns the
    classes by maximum likelihood. Each member holds out other rows, which stop it before it
    learns the others by heart, and the probabilities are the members' mean,

    .. math:: p(c \mid x) = \frac{1}{K} \sum_k \mathrm{softmax}_c(a_k(x))

    Use `MLPClassifier` to choose architecture and training yourself.

    Parameters
    ----------
    preset : {"default", "fast", "best"}, default="default"
        How much effort to spend: up to 8, 2 or 24 networks; above 20,000 rows, half as many.
    label_noise : float or "learn", default=0.0
        Probability, below (K - 1)/K for K classes, that a label of the table is wrong, each
        other class being as likely; "learn" finds it along with the weights. What is predicted
        is about the true class.
    time_limit : float or None, default=None
        Most seconds for fitting, encoding included. One epoch is timed first; if time is short,
        nothing competes, then there are fewer members, and then fewer epochs, whose learning
        rate comes down all the same. The epoch that runs is finished.
    n_members : int or None, default=None
        Number of networks; None leaves it to the preset.
    metric : {"log_loss", "accuracy"} or None, default=None
        What is measured on the held-out rows to choose the best epoch; None is "log_loss".
    numeric_embedding : {"auto", "piecewise_linear", "periodic", "none"}, default="auto"
        What networks see of a number beside its scaled value z. "piecewise_linear": how far it
        has come through each of its quantile bins. "periodic": cosines and sines of multiples
        of z. "auto" lets members with bins, with long waves only and with short ones, too,
        compete on the rows that they hold out; the ensemble is shared out among them.
    hidden_layer_sizes : int or sequence of int or None, default=None
        Units of each hidden layer; None leaves it to the preset.
    activation : str, Activation or None, default=None
        Activation of the hidden layers; None leaves it to the preset.
    learning_rate : float or None, default=None
        Size of the first steps of AdamW; None leaves it to the preset.
    dropout : float or None, default=None
        Share of hidden units that are switched off in each step; None leaves it to the preset,
        with which members differ.
    weight_decay : float or None, default=None
        How much weights shrink, times the learning rate; None leaves it to the preset.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, the held-out rows, the order of rows and dropout.
    device : str, default="auto"
        Where training runs: "auto" is a CUDA device where there is one, else the CPU.
    verbose : bool, default=False
        Whether to print the loss of each epoch.
    categorical_features : sequence of str or int, default=None
        Columns to take for categories whatever they hold, by name or position.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    label_noise_ : float
        The share of wrong labels that was learnt. Only with ``label_noise="learn"``.
    temperature_ : float
        What the members' raw outputs were divided by, so that their probabilities fit rows that
        they had not seen.
    encoder_ : TableEncoder
        What the columns were taken for; see its ``report()``.
    networks_ : list of Network
        The members that were trained. Their inputs are the encoder's columns.
    history_ : DataFrame
        A row for each member and epoch, with losses in nats per row.
    families_ : DataFrame
        A row for each family of members that competed: how many were ``trained`` and ``kept``,
        the ``weight`` that its held-out rows give it, and the members' mean ``held_out_loss``.
    timed_out_ : bool
        Whether ``time_limit`` made the ensemble smaller or ended its training.
    target_name_ : str or None
        Name of ``y`` if it was a Series.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names; only if ``X`` was a DataFrame.

    Notes
    -----
    The default recipe: two hidden layers of 192 and 96 ReLU units, AdamW with a cosine schedule
    from 0.003 down, half of the members with dropout; of three ways to see a number, the best
    for this table or a mixture of them, for which members compete. What each of these buys is
    in docs/tables.md. ``python -m benchmarks.tables`` compares with gradient boosting and other
    networks. From 10,000 rows on fewer members compete, and above 20,000 half as many are kept.
    With fewer than ten rows nothing is held out.

    Nothing but the labels tells a wrong one from a hard case. So ``label_noise="learn"`` begins
    with the share of wrong labels where a quick fit is surest of the rows that it holds out.

    References
    ----------
    .. [1] Yu. Gorishniy, I. Rubachev, A. Babenko, On embeddings for numerical features in tabular
       deep learning, NeurIPS 2022, https://arxiv.org/abs/2203.05556
    .. [2] B. Lakshminarayanan, A. Pritzel, C. Blundell, Simple and scalable predictive uncertainty
       estimation using deep ensembles, NeurIPS 2017, https://arxiv.org/abs/1612.01474

    Examples
    --------
    >>> import pandas as pd
    >>> from lamina import TableClassifier
    >>> table = pd.DataFrame({"kind": list("abcd") * 20, "size": [1.5, 2.0, None, 9.0] * 20})
    >>> y = ["yes", "no", "no", "yes"] * 20
    >>> model = TableClassifier(preset="fast", random_state=0).fit(table, y)
    >>> model.predict(table[:4]).tolist()
    ['yes', 'no', 'no', 'yes']
    """

    classes_: Array
    label_noise_: float
    temperature_: float

    _metrics: ClassVar[tuple[str, ...]] = ("log_loss", "accuracy")
    _target_type = "classes"

    def __init__(
        self,
        preset: Preset = "default",
        *,
        label_noise: float | Literal["learn"] = 0.0,
        time_limit: float | None = None,
        n_members: int | None = None,
        metric: Literal["log_loss", "accuracy"] | None = None,
        numeric_embedding: NumericEmbedding = "auto",
        hidden_layer_sizes: int | Sequence[int] | None = None,
        activation: str | Activation | None = None,
        learning_rate: float | None = None,
        dropout: float | None = None,
        weight_decay: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        verbose: bool = False,
        categorical_features: Sequence[str | int] | None = None,
    ) -> None:
        super().__init__(
            preset,
            time_limit=time_limit,
            n_members=n_members,
            metric=metric,
            numeric_embedding=numeric_embedding,
            hidden_layer_sizes=hidden_layer_sizes,
            activation=activation,
            learning_rate=learning_rate,
            dropout=dropout,
            weight_decay=weight_decay,
            random_state=random_state,
            device=device,
            verbose=verbose,
            categorical_features=categorical_features,
        )
        self.label_noise = label_noise

    def _take_target(self, y: Any, weights: FloatArray | None) -> TableTarget:
        classes, codes = class_target(y)
        head = Categorical(len(classes), label_noise=self.label_noise)
        monitor: Literal["valid_loss", "valid_score"] = (
            "valid_score" if self.metric == "accuracy" else "valid_loss"
        )
        return TableTarget(codes, head, codes, {"classes_": classes}, monitor)

    def _start(
        self, matrix: FloatArray, target: TableTarget, weights: FloatArray | None, seed: int
    ) -> Array | None:
        start = super()._start(matrix, target, weights, seed)
        if start is not None:
            start[-1] = first_label_noise(matrix, target.values, weights, seed, self.device)
        return start

    @property
    def _mean_head(self) -> Head:
        return Categorical(len(self.classes_), label_noise=self.label_noise)

    def _told_by(self, networks: list[Network], head: Head, held_out: HeldOut) -> dict[str, Any]:
        networks, temperature = tempered(networks, head, held_out)
        told: dict[str, Any] = {"networks_": networks, "temperature_": temperature}
        if self.label_noise == "learn":
            n_classes = networks[0].sizes[-1] - 1
            biases = np.array([network.layers()[-1][1][-1] for network in networks])
            told["label_noise_"] = float(expit(biases).mean() * (n_classes - 1) / n_classes)
        return told

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            A table with the columns seen at fitting.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        proba = self._mean(X)
        normalised: FloatArray = proba / proba.sum(axis=1, keepdims=True)
        return normalised

    def predict(self, X: Any) -> Array:
        """Return the most probable class.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            A table with the columns seen at fitting.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        proba = self.predict_proba(X)
        labels: Array = self.classes_[proba.argmax(axis=1)]
        return labels

    def _to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return parameters, encoder and networks."""
        config, arrays = to_state(self)
        config |= {"classes": pack_classes(self.classes_), "temperature": self.temperature_}
        if "label_noise_" in vars(self):
            config["label_noise"] = self.label_noise_
        return config, arrays

    @classmethod
    def _from_state(cls, config: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Restore a classifier."""
        model = from_state(cls, config, arrays)
        model.classes_ = unpack_classes(config["classes"])
        model.temperature_ = float(config["temperature"])
        if "label_noise" in config:
            model.label_noise_ = float(config["label_noise"])
        return model
