"""The two stages of a transfer: new layers on frozen features, then copied ones with them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from lamina._errors import DataWarning, ParameterError
from lamina._typing import FloatArray
from lamina.nn import Network

from ._input_scaling import centre_and_scale, standardised
from ._members import private_random_state
from ._mlp import BaseMLP
from ._parameters import hidden_activations, hidden_sizes
from ._prediction import raw_outputs
from ._transfer_inputs import Data, stacked
from ._transfer_outputs import Outputs
from ._transfer_predictor import predictor_of
from ._transfer_report import TransferResult
from ._transfer_top import GivenLayer, composed, given_layers, unscaled
from ._transfer_training import training
from ._trunk import Trunk
from ._trunk_inputs import Scaling, Step

FLOOR = 0.01
"""What is added to each deviation of a feature, as a share of their mean."""

SAME = 1e-3
"""Share of the deviation of all rows below which labelled ones do not differ to speak of."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a transfer leaves behind."""

    predictor: BaseMLP
    steps: tuple[Step, ...]
    report: TransferResult


class Fitting:
    """Train the members of a transfer, those of each copied network in turn.

    Parameters
    ----------
    transfer : TransferClassifier or TransferRegressor
        Whose parameters count.
    trunk : Trunk or None
        What is copied; None begins from random weights.
    data : Data
        Checked rows.
    """

    def __init__(self, transfer: Any, trunk: Trunk | None, data: Data) -> None:
        self._transfer, self._trunk = transfer, trunk
        self._unit = transfer._unit_of(data.y, data.weight)
        self._data = data if self._unit is None else replace(data, y=self._unit.transform(data.y))
        self._new = hidden_sizes(transfer)
        self._activations = hidden_activations(transfer)
        self._seeds = private_random_state(transfer.random_state)
        # predictions of a row must not depend on its neighbours, which float32 can show
        self._precision = transfer.dtype or "float64"

    def run(self) -> Outcome:
        """Train and compose."""
        if self._trunk is None:
            return self._from_nothing()
        trunk, data = self._trunk, self._data
        n_frozen = self._n_frozen(trunk)
        inputs = trunk.inputs(data.X)
        others = None if data.X_unlabelled is None else trunk.inputs(data.X_unlabelled)
        tops, wholes = [], []
        for k, network in enumerate(trunk.networks):
            dtype = self._transfer.dtype or str(network.dtype).removeprefix("torch.")
            top, layers, likes = self._one(trunk, k, n_frozen, inputs, others, dtype)
            body = trunk.bodies(n_frozen)[k]
            tops.append(top)
            wholes += [
                composed(body, own, like, self._precision)
                for own, like in zip(layers, likes, strict=True)
            ]
        predictor = self._predictor(tops, wholes)
        return Outcome(predictor, trunk.steps, self._report(wholes[0], n_frozen, predictor))

    def _n_frozen(self, trunk: Trunk) -> int:
        """Return how many layers stay as they are."""
        strategy, n_layers = self._transfer.strategy, self._transfer.n_layers
        if strategy == "fine_tune":
            return 0
        if strategy == "frozen":
            return trunk.n_layers
        if n_layers > trunk.n_layers:
            raise ParameterError(
                f"n_layers must be at most {trunk.n_layers}, the layers of the pretrained "
                f"{trunk.source}. Got {n_layers}."
            )
        return trunk.n_layers - int(n_layers)

    def _one(
        self, trunk: Trunk, k: int, n_frozen: int, inputs: Any, others: Any, dtype: str
    ) -> tuple[BaseMLP, list[list[GivenLayer]], list[Network]]:
        """Train upon one network; return the perceptron, its layers by member and activations."""
        last = n_frozen == trunk.n_layers
        features = self._through(trunk, trunk.n_layers, k, inputs)
        more = None if others is None else self._through(trunk, trunk.n_layers, k, others)
        centre, scale = feature_scaling(features, self._data.weight, more)
        outputs = self._transfer._first_outputs(trunk, k, self._data.y)
        if outputs is not None and outputs.complete and not last:
            one: GivenLayer = (outputs.weights, outputs.biases, None)
            layers = [[one]] * self._transfer.n_members
        else:
            first = None if outputs is None else scaled_outputs(outputs, centre, scale)
            top = self._probe(standardised(features, centre, scale), first, dtype, last=last)
            layers = [unscaled(given_layers(net), centre, scale) for net in top.networks_]
            if last:
                return top, layers, top.networks_
        copied = upper(trunk.networks[k], n_frozen, trunk.n_layers)
        starts = [[*given_layers(copied), *own] for own in layers]
        below = self._through(trunk, n_frozen, k, inputs)
        tuned = self._tune(below, copied, starts, dtype)
        return tuned, [given_layers(net) for net in tuned.networks_], tuned.networks_

    def _through(self, trunk: Trunk, n_layers: int, k: int, X: Any) -> Any:
        """Return the features of rows, or the rows themselves where no layer makes any."""
        body = trunk.bodies(n_layers)[k]
        if body is None:
            return X
        return raw_outputs(body.to(getattr(torch, self._precision)), X)

    def _probe(
        self, Z: FloatArray, outputs: GivenLayer | None, dtype: str, *, last: bool
    ) -> BaseMLP:
        """Train new layers on standardised features."""
        top = self._perceptron(Z.shape[0], tunes=False, last=last, dtype=dtype)
        top.set_params(hidden_layer_sizes=self._new, activation=list(self._activations))
        if outputs is not None:
            top.begin_with([[outputs]] * self._transfer.n_members)
        if last:
            return self._fitted(top, Z)
        with warnings.catch_warnings(action="ignore", category=DataWarning):
            return self._fitted(top, Z)

    def _tune(
        self, X: Any, copied: Network, starts: Sequence[Sequence[GivenLayer]], dtype: str
    ) -> BaseMLP:
        """Go on with copied layers and the new ones together."""
        top = self._perceptron(X.shape[0], tunes=True, last=True, dtype=dtype)
        top.set_params(
            hidden_layer_sizes=(*copied.sizes[1:], *self._new),
            activation=[*copied.activations, *self._activations],
        )
        top.begin_with(starts)
        return self._fitted(top, X)

    def _from_nothing(self) -> Outcome:
        """Train a network from random weights on standardised inputs."""
        data = self._data
        X, more = data.X, data.X_unlabelled
        centre, scale = feature_scaling(X, data.weight, more)
        Z = standardised(X, centre, scale)
        top = self._probe(Z, None, self._transfer.dtype or str(X.dtype), last=True)
        wholes = [composed(None, given_layers(net), net, self._precision) for net in top.networks_]
        predictor = self._predictor([top], wholes)
        steps = (Scaling(centre, scale),)
        return Outcome(predictor, steps, self._report(wholes[0], 0, predictor))

    def _predictor(self, tops: Sequence[BaseMLP], wholes: Sequence[Network]) -> BaseMLP:
        """Return one estimator of all whole networks, in units of the target."""
        if self._unit is not None:
            wholes = [self._unit.undone(network) for network in wholes]
        predictor = predictor_of(self._transfer, tops, wholes)
        if self._unit is not None:
            noise: Any = predictor
            noise.noise_scale_ = noise.noise_scale_ * self._unit.scale
        return predictor

    def _perceptron(self, n_rows: int, *, tunes: bool, last: bool, dtype: str) -> BaseMLP:
        """Return an unfitted perceptron for one stage."""
        transfer = self._transfer
        top: BaseMLP = transfer._top()
        top.set_params(
            **training(transfer, n_rows, tunes=tunes, last=last).parameters(),
            batch_size=transfer.batch_size,
            n_members=transfer.n_members,
            random_state=int(self._seeds.randint(np.iinfo(np.int32).max)),
            device=transfer.device,
            dtype=dtype,
            max_fun=150_000,
            tol=1e-6,
        )
        if last:
            top.set_params(
                dropout=transfer.dropout,
                early_stopping=transfer.early_stopping,
                validation_fraction=transfer.validation_fraction,
                verbose=transfer.verbose,
            )
        return top

    def _fitted(self, top: BaseMLP, X: Any) -> BaseMLP:
        fitted: BaseMLP = top.fit(X, self._data.y, self._data.weight)
        return fitted

    def _report(self, whole: Network, n_frozen: int, predictor: BaseMLP) -> TransferResult:
        trunk, transfer = self._trunk, self._transfer
        n_copied = 0 if trunk is None else trunk.n_layers
        n_all = len(whole.activations)
        origins = (
            *["copied, frozen"] * n_frozen,
            *["copied, trained"] * (n_copied - n_frozen),
            *["new"] * (n_all - n_copied),
        )
        return TransferResult(
            None if trunk is None else trunk.source,
            "scratch" if trunk is None else transfer.strategy,
            0 if trunk is None else len(trunk.networks),
            whole.sizes,
            origins,
            transfer._label_origins(trunk, predictor),
            self._data.n_unlabelled,
        )


def scaled_outputs(outputs: Outputs, centre: FloatArray, scale: FloatArray) -> GivenLayer:
    """Return the outputs as they are read off (h - centre)/scale."""
    W = outputs.weights
    return W * scale, outputs.biases + W @ centre, None


def upper(network: Network, first: int, last: int) -> Network:
    """Return the layers from ``first`` to before ``last`` with their activations."""
    layers = given_layers(network)[first:last]
    activations = network.activations[first:last]
    return Network.from_arrays(
        [(W, b) for W, b, _ in layers],
        activations[:-1] or "identity",
        output_activation=activations[-1],
        slopes=[slope for _, _, slope in layers],
    )


def feature_scaling(X: Any, weight: FloatArray | None, more: Any) -> tuple[FloatArray, FloatArray]:
    """Return centre and scale of features, over labelled and unlabelled rows alike.

    A small share of the mean deviation is added to each: a feature that hardly moves in these
    rows may move in others. One that does not move at all gets the mean deviation.
    """
    rows = X
    if more is not None:
        rows = stacked(X, more)
        if weight is not None:
            weight = np.concatenate([weight, np.ones(more.shape[0])])
    if weight is not None:
        rows, weight = rows[weight > 0], weight[weight > 0]
    if sp.issparse(rows):
        centre, scale = centre_and_scale(rows, weight)
    else:
        centre, scale = moments(rows, weight)
        if more is not None:
            _warn_of_another_scale(X, scale)
    moving = scale[scale > 0]
    mean = float(moving.mean()) if len(moving) else 1.0
    return centre, np.where(scale > 0, scale + FLOOR * mean, mean)


def _warn_of_another_scale(X: FloatArray, scale: FloatArray) -> None:
    """Say so where labelled rows hardly differ on the scale of all rows."""
    own = moments(X, None)[1]
    moving = own > 0
    if moving.any() and (own[moving] < SAME * scale[moving]).all():
        warnings.warn(
            "X_unlabelled has much larger values than X, so that the rows of X hardly differ once "
            "both are standardised together. Bring both to the same units.",
            DataWarning,
            stacklevel=7,
        )


def moments(rows: FloatArray, weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return mean and deviation (D,) of columns of any size; 0 for a constant one."""
    largest = np.abs(rows).max(axis=0).astype(np.float64)
    unit = np.where(largest > 0, largest, 1.0)
    small = rows / unit
    centre = np.average(small, axis=0, weights=weight)
    small -= centre
    spread = np.sqrt(np.average(np.square(small), axis=0, weights=weight))
    constant = np.ptp(rows, axis=0) == 0
    return centre * unit, np.where(constant, 0.0, spread * unit)
