"""Whatever a newcomer hands to an inspection: an answer, or one sentence, and nothing changed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import prune

from lamina import MLPRegressor
from lamina import inspection as look
from lamina._errors import DataError, ParameterError
from lamina.heads import Normal
from lamina.nn import Network

RNG = np.random.default_rng(0)
X = RNG.integers(-8, 9, (30, 2)) / 4  # exact in float16
Y = X[:, 0]
NET = Network((2, 5, 4, 1), random_state=0)
WINDOW = ((-2, 2), (-2, 2))

OF_NETWORK = {
    "units": lambda net: look.units(net, X),
    "gradients": lambda net: look.gradients(net, X, Y, Normal()),
    "lipschitz": lambda net: look.lipschitz(net, X),
    "rank": lambda net: look.rank(net, X),
    "memory": lambda net: look.memory(net, 10),
    "collapse": look.collapse,
    "line": lambda net: look.regions_on_line(net, [0, 0], [1, 1]),
    "plane": lambda net: look.regions_in_plane(net, WINDOW),
    "count": lambda net: look.count_regions(net, WINDOW),
    "canonical": look.canonical,
    "same_function": lambda net: look.same_function(net, net),
    "match": lambda net: look.match(net, net),
    "compare": lambda net: look.compare(net, net, X),
    "segment": lambda net: look.segment(net, net, X, Y, Normal()),
    "n_symmetries": look.n_symmetries,
    "twin": look.twin,
}

OF_DATA = {
    "units": lambda x: look.units(NET, x),
    "gradients": lambda x: look.gradients(NET, x, np.ones(len(x)), Normal()),
    "lipschitz": lambda x: look.lipschitz(NET, x),
    "rank": lambda x: look.rank(NET, x),
    "compare": lambda x: look.compare(NET, Network((2, 5, 4, 1), random_state=1), x),
    "same_function": lambda x: look.same_function(NET, NET, x),
    "line": lambda x: look.regions_on_line(NET, x[0], x[1]),
    "geometry": look.geometry,
    "two_nn": look.two_nn,
    "levina_bickel": lambda x: look.levina_bickel(x, 5),
    "components": look.principal_components,
    "distances": look.distance_concentration,
    "curve": look.curve_geometry,
    "conditioning": look.kernel_conditioning,
    "votes": lambda x: look.cell_vote(x, np.arange(len(x)) % 2),
    "cells": look.cells_occupied,
    "basis": lambda x: look.fit_basis(look.PolynomialBasis(2), x, np.arange(len(x))),
}


def module(*extra):
    return nn.Sequential(nn.Linear(2, 5), *extra, nn.ReLU(), nn.Linear(5, 1))


def scaled(factor):
    return Network.from_arrays([(W * factor, b) for W, b in NET.layers()])


DEGENERATE = {
    "no hidden layer": Network((2, 1), random_state=0),
    "width 1": Network((2, 1, 1, 1), random_state=0),
    "all dead": Network.from_arrays([(np.ones((4, 2)), [-99.0] * 4), (np.ones((1, 4)), [0.0])]),
    "zeros": Network.from_arrays([(np.zeros((4, 2)), np.zeros(4)), (np.zeros((1, 4)), [0.0])]),
    "1e30": scaled(1e30),
    "1e-30": scaled(1e-30),
    "no bias": nn.Sequential(nn.Linear(2, 4, bias=False), nn.ReLU(), nn.Linear(4, 1, bias=False)),
    "half": module().half(),
    "bfloat16": module().bfloat16(),
    "no gradients": module().requires_grad_(requires_grad=False),
    "batch norm": module(nn.BatchNorm1d(5), nn.Dropout()).eval(),
    "training mode": module(nn.Dropout(0.9)).train(),
    "linear": nn.Linear(2, 1),
    "straight": Network((2, 4, 1), "identity", random_state=0),
    "steps": Network((2, 4, 1), "step", random_state=0),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("what", OF_NETWORK)
def test_a_degenerate_network_is_told_of_and_drawn(what, name):
    result = OF_NETWORK[what](DEGENERATE[name])
    assert result.summary()
    if hasattr(result, "plot"):
        result.plot().figure.canvas.draw()


def test_a_module_is_left_as_it_was():
    seen = []
    net = module(nn.Dropout()).train()
    net[0].register_forward_hook(lambda *_: seen.append(1))
    before = {name: value.clone() for name, value in net.state_dict().items()}
    for inspect in OF_NETWORK.values():
        inspect(net)
    assert net.training
    assert not seen
    assert all(p.requires_grad and p.grad is None for p in net.parameters())
    for name, value in net.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)


NOT_FINITE = module()
NOT_FINITE[0].weight.data[0, 0] = float("nan")
FITTED = MLPRegressor(hidden_layer_sizes=(3,), solver="lbfgs", max_iter=500).fit(X, Y)


@pytest.mark.parametrize("what", OF_NETWORK)
@pytest.mark.parametrize(
    ("net", "error", "sentence"),
    [
        (None, ParameterError, "Got None"),
        (MLPRegressor(), ParameterError, "Got MLPRegressor"),
        (FITTED, ParameterError, r"Pass model.networks_\[0\]"),
        (NOT_FINITE, DataError, "finite weights. Got nan in layer 1"),
        (module(nn.BatchNorm1d(5)), ParameterError, r"Call module.eval\(\) first"),
        (nn.Sequential(), ParameterError, "at least one Linear layer"),
        (nn.Sequential(nn.Conv2d(1, 1, 3)), ParameterError, "Got Conv2d"),
        (nn.Sequential(nn.Linear(2, 3), nn.Softmax(1)), ParameterError, "Got Softmax"),
        (nn.Linear(2, 1, device="meta"), ParameterError, "on the device 'meta'"),
        (nn.Linear(2, 1, dtype=torch.complex64), ParameterError, "Got complex ones"),
        (module().state_dict(), ParameterError, "Got OrderedDict"),
    ],
)
def test_what_is_no_network_is_refused_in_a_sentence(what, net, error, sentence):
    with pytest.raises(error, match=sentence):
        OF_NETWORK[what](net)


def read_only():
    rows = X.copy()
    rows.flags.writeable = False
    return rows


@pytest.mark.parametrize("what", OF_DATA)
def test_equal_numbers_give_equal_answers_however_they_are_kept(what):
    expected = OF_DATA[what](X).summary()
    wide = np.zeros((60, 4))
    wide[::2, ::2] = X
    before = X.copy()
    for rows in (
        read_only(),
        wide[::2, ::2],
        np.asfortranarray(X),
        X.astype(np.float16),
        X.astype(">f8"),
        X.astype(object),
        X.tolist(),
        torch.tensor(X, requires_grad=True),
        torch.tensor(X, dtype=torch.bfloat16),
        torch.tensor(X).to_sparse(),
    ):
        if what == "line" and isinstance(rows, torch.Tensor) and rows.is_sparse:
            continue  # a row of a sparse matrix is asked for by name, not by place
        assert OF_DATA[what](rows).summary() == expected
    assert (before == X).all()


@pytest.mark.parametrize("what", OF_DATA)
@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.where(np.eye(30, 2) > 0, np.nan, X), "must be finite numbers. Got nan in row 0"),
        (np.where(np.eye(30, 2) > 0, -np.inf, X), "must be finite numbers. Got -inf in row 0"),
        (np.ma.masked_array(X, np.eye(30, 2) > 0), "must be finite numbers. Got nan in row 0"),
        (X * 1j, "must hold real numbers. Got complex ones"),
        (torch.tensor(X * 1j), "must hold real numbers. Got complex ones"),
        (np.array([["a", "b"], ["c", "d"]]), "must hold numbers"),
        (np.array(X, dtype="timedelta64[D]"), "must hold numbers"),
        (
            torch.empty(30, 2, device="meta"),
            "must hold numbers. Got a tensor on the device 'meta'",
        ),
    ],
)
def test_what_is_no_number_is_refused_in_a_sentence(what, rows, sentence):
    if what == "line":  # which takes a row of it
        sentence = sentence.replace("row 0", "row ")
    with pytest.raises(DataError, match=sentence):
        OF_DATA[what](rows)


@pytest.mark.parametrize("what", [name for name in OF_DATA if name != "line"])
@pytest.mark.parametrize("rows", [np.zeros((0, 2)), np.ones(5), np.ones((3, 2, 2))])
def test_other_shapes_are_refused_in_a_sentence(what, rows):
    with pytest.raises(DataError, match=r"must have (shape|at least)"):
        OF_DATA[what](rows)


def answer_or_sentence(inspect, rows):
    """Return the summary, or the sentence in its place."""
    try:
        return inspect(rows).summary()
    except DataError as error:
        return str(error)


@pytest.mark.parametrize("what", OF_DATA)
@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_numbers_at_the_ends_of_float64_are_answered_or_refused(what, factor):
    assert answer_or_sentence(OF_DATA[what], X * factor)


def test_scale_changes_no_share_alignment_or_correlation():
    one, other = Network((2, 5, 1), random_state=0), Network((2, 5, 1), random_state=1)
    plain = look.compare(one, other, X)
    for factor in (1e-200, 1e150):
        W, b = one.layers()[0]
        large = Network.from_arrays([(W * factor, b * factor), (one.layers()[1])])
        found = look.compare(large, large, X)
        np.testing.assert_allclose(found.cka, 1.0)
        assert np.nanmin(found.unit_correlation[0]) == pytest.approx(1.0)
    assert 0 < plain.cka[0, 0] < 1
    held = look.principal_components(X)
    large = look.principal_components(X * 1e300)
    np.testing.assert_allclose(large.cumulative, held.cumulative)
    assert large.counts == held.counts


@pytest.mark.parametrize("shares", [None, "x", [], [2.0], 0, float("nan"), np.array(2.0)])
def test_shares_that_cannot_be_are_refused(shares):
    with pytest.raises(ParameterError, match="shares must"):
        look.principal_components(X, shares)
    with pytest.raises(ParameterError, match="shares must"):
        look.geometry(X, shares=shares)
    one = look.principal_components(X, np.float32(0.5))
    assert one.counts == look.principal_components(X, (s for s in [0.5])).counts


def test_seeds_and_sizes_that_cannot_be_are_refused():
    with pytest.raises(ParameterError, match="random_state must be"):
        look.barron_network(2, 3, random_state="a")
    with pytest.raises(ParameterError, match="radius must be"):
        look.barron_network(2, 3, radius=1e-320)
    with pytest.raises(DataError, match="widths must hold at least one"):
        look.polynomial_exception(np.sin, widths=[])
    with pytest.raises(ParameterError, match="n_bins must be"):
        look.cells_occupied(X, 10**40)
    with pytest.raises(ParameterError, match="log_scale must be"):
        look.twin(NET, log_scale=1e9)
    assert (look.KernelBasis(X, width=1e-320)(X + 1) == 0).any()


def test_a_module_that_stands_there_twice_counts_twice():
    relu, tied = nn.ReLU(), nn.Linear(4, 4)
    for net in (
        nn.Sequential(nn.Linear(2, 4), relu, nn.Linear(4, 4), relu, nn.Linear(4, 1)),
        nn.Sequential(
            nn.Linear(2, 4), relu, tied, relu, nn.Sequential(tied, relu), nn.Linear(4, 1)
        ),
    ):
        net.double()
        found = look.units(net, X)
        assert {layer.activation for layer in found.layers[:-1]} == {"relu"}
        expected = net(torch.tensor(X)).detach().numpy()
        np.testing.assert_allclose(Network.from_torch(net).predict_raw(X), expected, rtol=1e-12)


def test_weights_that_a_hook_computes_are_refused_and_parametrised_ones_read():
    net = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(2, 4)), nn.Tanh())
    expected = net.double()(torch.tensor(X)).detach().numpy()
    np.testing.assert_allclose(Network.from_torch(net).predict_raw(X), expected, rtol=1e-12)
    pruned = module()
    prune.l1_unstructured(pruned[0], "weight", 0.5)
    with pytest.raises(ParameterError, match="module '0' must hold its weights itself"):
        look.units(pruned, X)
    prune.remove(pruned[0], "weight")
    assert look.units(pruned, X).n_hidden == 5
