"""What units do on data, against plain loops over rows and units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from lamina import MixtureDensityRegressor, MLPRegressor, TableRegressor
from lamina._errors import DataError, ParameterError
from lamina.heads import Normal
from lamina.inspection import UnitHistory, memory, units
from lamina.inspection._units_pairs import earlier_twins
from lamina.inspection._units_slopes import largest_slope, largest_slopes
from lamina.nn import ACTIVATIONS, Network, get_activation
from lamina.stack import Member, train

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))


def by_loops(network, X):
    """Pre-activations, activations and central differences, unit by unit, without the room."""
    h = X
    for (W, b), activation in zip(network.layers(), network.activations, strict=True):
        a = (
            np.array([[sum(w * x for w, x in zip(row, r, strict=True)) for row in W] for r in h])
            + b
        )
        t = torch.tensor(a)
        h = activation(t).numpy()
        up, down = activation(t + 1e-6).numpy(), activation(t - 1e-6).numpy()
        yield a, h, (up - down) / 2e-6


@pytest.mark.parametrize("name", ["relu", "tanh", "sigmoid", "gelu", "hard_tanh", "elu", "abs"])
def test_the_numbers_of_each_unit_are_those_of_plain_loops(name):
    network = Network((3, 6, 5, 2), name, init="torch", random_state=1)
    result = units(network, 4 * X)
    assert result.n_samples == 40
    for layer, (a, h, slope) in zip(result.layers, by_loops(network, 4 * X), strict=True):
        np.testing.assert_allclose(layer.lowest, a.min(0), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(layer.highest, a.max(0), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(layer.mean, h.mean(0), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(layer.std, h.std(0), rtol=1e-9, atol=1e-12)
        largest = {"sigmoid": 0.25, "gelu": 1.1289}.get(name, 1.0)
        largest = 1.0 if layer is result.layers[-1] else largest
        expected = (np.abs(slope) <= 0.05 * largest).mean(0)
        np.testing.assert_allclose(layer.saturated_share, expected, atol=1e-12)


def test_rows_in_many_blocks_give_the_same_numbers(monkeypatch):
    network = Network((3, 6, 1), "tanh", random_state=0)
    whole = units(network, X)
    monkeypatch.setattr("lamina.inspection._units_blocks._ENTRIES", 6 * 7)
    parts = units(network, X)
    for name in ("lowest", "highest", "mean", "std", "saturated_share"):
        for one, other in zip(whole.layers, parts.layers, strict=True):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)


def forced(activation="relu", bias=-10.0):
    """A network whose unit 0 of layer 1 has a bias of -10 on small data."""
    (W, b), *rest = Network((3, 6, 1), activation, random_state=0).layers()
    b[0] = bias
    return Network.from_arrays([(W, b), *rest], activation)


def test_a_unit_forced_below_zero_is_dead_and_its_highest_preactivation_told():
    network = forced()
    result = units(network, X)
    assert result.dead == [(1, 0)]
    assert result.layers[0].highest[0] == pytest.approx(
        (X @ network.layers()[0][0][0]).max() - 10, rel=1e-12
    )
    assert result.layers[0].constant[0]
    assert result.layers[0].saturated_share[0] == 1.0


def test_a_leaky_unit_below_zero_is_not_dead_but_never_on():
    layer = units(forced("leaky_relu"), X).layers[0]
    assert layer.highest[0] < 0
    assert not layer.dead.any()
    assert not layer.always_on[0]


def test_a_unit_above_zero_on_every_row_is_always_on():
    layer = units(forced(bias=10.0), X).layers[0]
    assert layer.always_on.tolist() == [bool(low > 0) for low in layer.lowest]
    assert layer.always_on[0]


def test_hard_tanh_is_on_between_its_kinks_and_dead_beyond_one():
    network = Network.from_arrays(
        [([[1.0], [0.1], [1.0], [1.0]], [0.0, 0.0, 5.0, -5.0]), (np.ones((1, 4)), [0.0])],
        "hard_tanh",
    )
    layer = units(network, np.linspace(-2, 2, 9)[:, None]).layers[0]
    assert layer.always_on.tolist() == [False, True, False, False]
    assert layer.dead.tolist() == [False, False, True, True]
    assert layer.constant.tolist() == [False, False, True, True]


def test_a_step_unit_is_dead_only_where_it_never_changes():
    network = Network.from_arrays([([[1.0], [1.0]], [0.0, 9.0]), ([[1.0, 1.0]], [0.0])], "step")
    layer = units(network, np.linspace(-2, 2, 9)[:, None]).layers[0]
    assert layer.dead.tolist() == layer.constant.tolist() == [False, True]


def test_twins_and_opposites_name_the_first_earlier_unit():
    w = np.array([[1.0, 2.0], [0.5, -1.0], [1.0, 2.0], [-1.0, -2.0], [2.0, 4.0], [0.0, 0.0]])
    b = np.array([0.3, 0.1, 0.3, -0.3, 0.6, 0.0])
    net = [(w, b), (np.ones((1, 6)), np.zeros(1))]
    tanh = units(Network.from_arrays(net, "tanh"), X[:, :2]).layers[0]
    assert tanh.twin.tolist() == [-1, -1, 0, -1, -1, -1]
    assert tanh.opposite.tolist() == [-1, -1, -1, 0, -1, -1]
    relu = units(Network.from_arrays(net, "relu"), X[:, :2]).layers[0]
    assert relu.twin.tolist() == [-1, -1, 0, -1, 0, -1]
    assert relu.opposite.tolist() == [-1, -1, -1, 0, 3, -1]
    assert relu.constant.tolist() == [False, False, False, False, False, True]


def test_units_that_differ_in_their_biases_or_slopes_are_no_twins():
    net = [(np.zeros((3, 2)), [1.0, 2.0, -1.0]), (np.ones((1, 3)), [0.0])]
    layer = units(Network.from_arrays(net, "tanh"), X[:, :2]).layers[0]
    assert layer.twin.tolist() == [-1, -1, -1]
    net = [(np.ones((3, 2)), np.ones(3)), (np.ones((1, 3)), [0.0])]
    network = Network.from_arrays(net, "prelu", slopes=[np.array([0.1, 0.2, 0.1]), None])
    assert units(network, X[:, :2]).layers[0].twin.tolist() == [-1, -1, 0]


def test_pairs_found_in_blocks_are_those_of_all_pairs(monkeypatch):
    rows = RNG.integers(-1, 2, size=(60, 3)).astype(float)
    monkeypatch.setattr("lamina.inspection._units_pairs._ENTRIES", 60 * 7)
    twin, opposite = earlier_twins(rows, 1e-9, scaled=False, also_equal=None)
    for i, row in enumerate(rows):
        same = [j for j in range(i) if (rows[j] == row).all() and row.any()]
        negated = [j for j in range(i) if (rows[j] == -row).all() and row.any()]
        assert twin[i] == (same[0] if same else -1)
        assert opposite[i] == (negated[0] if negated else -1)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_twins_are_seen_at_any_scale(size):
    twin, _ = earlier_twins(
        size * np.array([[1.0, 2], [1, 2]]), 1e-9, scaled=False, also_equal=None
    )
    assert twin.tolist() == [-1, 0]


def test_movement_is_the_distance_of_weights_and_bias():
    start, end = (Network((3, 6, 1), random_state=seed) for seed in (0, 1))
    moved = units(end, X, initial=start).layers[0].moved
    for j in range(6):
        (W0, b0), (W1, b1) = start.layers()[0], end.layers()[0]
        assert moved[j] == pytest.approx(
            np.sqrt(((W1[j] - W0[j]) ** 2).sum() + (b1[j] - b0[j]) ** 2)
        )
    assert units(end, X).layers[0].moved is None


def test_anybody_s_torch_module_in_float32_is_read():
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 2))
    result = units(module, X.astype(np.float32))
    assert [layer.n_units for layer in result.layers] == [4, 2]
    assert all(p.requires_grad and p.dtype is torch.float32 for p in module.parameters())


def test_summary_and_table_tell_every_layer():
    result = units(forced(), X, initial=forced(bias=0.0))
    assert "6 hidden units on 40 rows" in result.summary()
    assert "moved by 0 to 10 a unit" in result.summary()
    table = result.table
    assert len(table) == 7
    assert table.loc[0, ["layer", "unit", "dead"]].tolist() == [1, 0, True]


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (X[:1], "at least 2 rows"),
        (np.ones((5, 3)), "rows that differ"),
        (X[:, :2], r"\(n_samples, 3\)"),
        (X[0], r"shape \(3,\)"),
        (np.full((4, 3), np.nan), "finite"),
        (X[:0], "at least 2 rows. Got 0"),
        (np.array([[1e308] * 3, [0.0] * 3]), "finite pre-activations"),
    ],
)
def test_data_that_tell_nothing_are_refused(X, sentence):
    network = Network.from_arrays([(np.full((2, 3), 9.0), np.zeros(2)), (np.ones((1, 2)), [0.0])])
    with pytest.raises(DataError, match=sentence):
        units(network, X)


def test_an_estimator_and_another_architecture_are_refused_by_name():
    with pytest.raises(ParameterError, match="net must be a Network"):
        units([1, 2], X)
    with pytest.raises(ParameterError, match=r"initial must have the sizes \(3, 4, 1\)"):
        units(Network((3, 4, 1)), X, initial=Network((3, 5, 1)))


def test_read_only_and_strided_data_are_taken():
    wide = RNG.standard_normal((40, 6))
    view = wide[:, ::2]
    view.setflags(write=False)
    network = Network((3, 4, 1), random_state=0)
    assert units(network, view).table.equals(units(network, view.copy()).table)


@pytest.mark.parametrize(
    "name", [*sorted(ACTIVATIONS), "leaky_relu(-3)", "elu(2)", "sigmoid(5)", "silu(2)"]
)
def test_the_largest_slope_is_that_of_a_fine_grid(name):
    activation = get_activation(name)
    grid = torch.linspace(-12, 12, 240_001, dtype=torch.float64)
    slope = torch.tensor([-2.0, 0.3], dtype=torch.float64) if activation.learned else None
    if name == "step":
        assert largest_slope(activation) == np.inf
        return
    for i in range(2):
        derivative = activation.derivative(grid, None if slope is None else slope[i])
        found = largest_slopes(activation, slope, 2)[i]
        assert derivative.abs().max().item() <= found * (1 + 1e-14)
        assert derivative.abs().max().item() == pytest.approx(found, rel=1e-5)


def test_a_history_has_a_row_for_each_look_and_layer():
    y = X[:, 0]
    starts = [forced(), Network((3, 6, 1), "tanh", random_state=3)]
    watch = UnitHistory(X, y, Normal(), every=2)
    watch.observe(starts)
    members = [
        Member((6,), net.activations[0].name, Normal(), init=net, max_epochs=4) for net in starts
    ]
    result = train(members, X, y, dtype="float64", callbacks=[watch])
    table = watch.history
    assert sorted(zip(table["member"], table["epoch"], strict=True)) == [
        (member, epoch) for member in (0, 1) for epoch in (0, 2, 4)
    ]
    last = table[(table["member"] == 0) & (table["epoch"] == 4)].iloc[0]
    expected = units(result.networks[0], X, initial=starts[0]).layers[0]
    assert last["moved"] == pytest.approx(expected.moved.mean())
    assert last["moved"] > 0
    assert all(dead == ([(1, 0)] if member == 0 else []) for member, _, dead in watch.dead)
    assert (table["gradient_norm"] > 0).all()


def test_a_history_without_a_head_has_no_gradients():
    watch = UnitHistory(X)
    watch.observe([forced()], epoch=3)
    assert "gradient_norm" not in watch.history
    assert np.isnan(watch.history["moved"]).all()
    with pytest.raises(ParameterError, match="together"):
        UnitHistory(X, X[:, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_memory_is_that_of_the_tensors_themselves(dtype):
    network = Network((3, 5, 4, 2), ["gelu", "tanh"], dtype=dtype)
    rows = torch.zeros(7, 3, dtype=network.dtype)
    before, hidden = network.preactivations(rows), network.hidden(rows)
    found = memory(network, 7)
    tensors = [*before, *hidden, network(rows)]
    assert found.activations == sum(t.numel() * t.element_size() for t in tensors)
    assert found.least == (2 * 5 + 4 + 2) * 7 * rows.element_size()
    assert found.parameters == sum(p.numel() * p.element_size() for p in network.parameters())
    assert found.table["activations"].sum() == found.activations
    assert memory(network, 14).activations == 2 * found.activations
    assert "A batch of 7 rows keeps" in found.summary()
    with pytest.raises(ParameterError, match="n_samples"):
        memory(network, 0)


WATCHED = {
    "one": lambda: MLPRegressor(hidden_layer_sizes=(6, 5), max_iter=4, tol=0, random_state=0),
    "ensemble": lambda: MLPRegressor(
        hidden_layer_sizes=(6, 5), max_iter=4, tol=0, n_members=3, random_state=0
    ),
    "lbfgs": lambda: MLPRegressor(
        hidden_layer_sizes=(6, 5), max_iter=4, tol=0, solver="lbfgs", random_state=0
    ),
    "standardised": lambda: MixtureDensityRegressor(
        hidden_layer_sizes=(6, 5), max_iter=4, early_stopping=False, random_state=0
    ),
}


@pytest.mark.parametrize("kind", WATCHED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_history_of_an_estimator_ends_with_what_it_became(kind):
    rows = X * [1.0, 50.0, 0.01] + [0.0, 300.0, 0.0]
    watch = UnitHistory(rows, every=2)
    model = WATCHED[kind]().set_callbacks(watch).fit(rows, X[:, 0])
    table = watch.history
    members = range(len(model.networks_))
    assert sorted(set(zip(table["member"], table["epoch"], strict=True))) == [
        (member, epoch) for member in members for epoch in (2, 4)
    ]
    inputs = rows
    if kind == "standardised":
        inputs = (rows - rows.mean(0)) / rows.std(0)
    for member, network in enumerate(model.networks_):
        last = table[(table["member"] == member) & (table["epoch"] == 4)]
        expected = units(network, inputs).layers[:-1]
        np.testing.assert_allclose(
            last["saturated_share"], [layer.saturated_share.mean() for layer in expected]
        )
        assert last["dead"].tolist() == [layer.dead.sum() for layer in expected]


def test_a_history_takes_a_table_and_starts_anew_with_each_fit():
    table = pd.DataFrame({"kind": ["a", "b", "c", "a"] * 15, "size": np.arange(60.0)})
    watch = UnitHistory(table)
    model = TableRegressor(preset="fast", n_members=1, random_state=0).set_callbacks(watch)
    model.fit(table, table["size"])
    first = watch.history
    assert len(first)
    assert first["n_units"].tolist()[-1] == model.networks_[0].sizes[-2]
    model.fit(table, table["size"])
    pd.testing.assert_frame_equal(watch.history, first)
