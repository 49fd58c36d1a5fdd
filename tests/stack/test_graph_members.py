"""Members that are graphs of units: trained like layers, and with every promise of a stack."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from lamina._errors import DivergedWarning, FileError, ParameterError
from lamina.heads import Bernoulli, Categorical, Normal
from lamina.nn import GraphNetwork, Network
from lamina.stack import Checkpoint, Member, train

N = 60
X = np.random.default_rng(0).normal(size=(N, 3))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
SKIPS = {"h": ["a", "b"], "g": ["h", "c"], "k": ["g", "a", "h"], "y": ["k", "h", "c"]}


def skipping(seed=0, activation="tanh", **options):
    """Return a graph with edges that skip levels."""
    return GraphNetwork(
        SKIPS, inputs=["a", "b", "c"], activation=activation, random_state=seed, **options
    )


def parameters(network):
    """Return all parameters as one array."""
    return np.concatenate([p.detach().reshape(-1).numpy() for p in network.parameters()])


def layered(networks):
    """Return the parameters of layered networks and of graphs in one order."""
    nets = [n.to_network() if isinstance(n, GraphNetwork) else n for n in networks]
    return [parameters(net) for net in nets]


@pytest.mark.parametrize(
    "options",
    [
        {"optimizer": "sgd", "alpha": 0.1},
        {"optimizer": "adam", "weight_decay": 0.02, "schedule": "cosine"},
        {"optimizer": "adamw", "weight_decay": 0.02, "clip_norm": 0.3},
        {"optimizer": "rmsprop", "sample_weight": np.linspace(0.5, 2, N)},
        {"dropout": 0.4, "validation_rows": np.arange(40, 55), "rows": np.arange(40)},
        {"input_noise": 0.3, "validation_rows": np.arange(5)},
        {"optimizer": "lbfgs", "max_epochs": 6},
        {"shuffle": False, "batch_size": 7},
        {"activation": "prelu"},
        {"activation": "gelu", "dropout": 0.2},
        {"head": Normal(scale="shared")},
    ],
    ids=lambda options: "-".join(options),
)
def test_a_graph_of_layers_trains_like_the_layers(options):
    # One hidden layer, whose dropout masks are those of the graph's hidden units.
    options = {"learning_rate": 0.02, "batch_size": 16, "max_epochs": 12, "seed": 3} | options
    activation = options.pop("activation", "tanh")
    n_outputs = 2 if "head" in options else 1
    network = Network((3, 12, n_outputs), activation, random_state=1)
    members = [
        Member((12,), activation, init=network, **options),
        Member(init=GraphNetwork.from_network(network), **options),
    ]
    result = train(members, X, Y, backend="torch", dtype="float64")
    layers, graph = layered(result.networks)
    np.testing.assert_allclose(graph, layers, rtol=1e-9, atol=1e-9)
    history = result.history
    one, other = (history[history["member"] == i].reset_index(drop=True) for i in (0, 1))
    for column in ("train_loss", "valid_loss", "valid_score", "learning_rate"):
        np.testing.assert_allclose(one[column], other[column], rtol=1e-9, atol=1e-9)
    assert result.best_epoch[0] == result.best_epoch[1]


@pytest.mark.parametrize("head", [Bernoulli(), Categorical(3)], ids=["bernoulli", "categorical"])
def test_every_head_trains_a_graph(head):
    labels = (Y > 0).astype(int) if head.name == "bernoulli" else np.digitize(Y, [-0.5, 0.5])
    n_outputs = 1 if head.name == "bernoulli" else 3
    parents = SKIPS | {f"z{i}": ["k", "h"] for i in range(n_outputs - 1)}
    graph = GraphNetwork(parents, inputs=["a", "b", "c"], random_state=0)
    member = Member(init=graph, head=head, learning_rate=0.05, max_epochs=40)
    history = train([member], X, labels).history
    assert history["train_loss"].iloc[-1] < 0.8 * history["train_loss"].iloc[0]


def test_steps_are_those_of_torch_on_the_same_graph():
    graph = skipping()
    member = Member(
        init=graph, optimizer="sgd", learning_rate=0.05, batch_size=N, max_epochs=30, shuffle=False
    )
    (trained,) = train([member], X, Y, dtype="float64").networks
    optimizer = torch.optim.SGD(graph.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    x, y = torch.from_numpy(X), torch.from_numpy(Y)
    for _ in range(30):
        optimizer.zero_grad()
        (0.5 * (graph(x)[:, 0] - y).square().mean()).backward()
        optimizer.step()
    np.testing.assert_allclose(parameters(trained), parameters(graph), rtol=1e-9, atol=1e-9)


def many(**options):
    """Return members of several kinds, graphs among them."""
    shared = {"max_epochs": 9, "batch_size": 16, "learning_rate": 0.02} | options
    return [
        Member(init=skipping(0), seed=1, **shared),
        Member((5,), "tanh", seed=2, **shared),
        Member(init=skipping(1, "gelu"), seed=3, dropout=0.3, **shared),
        Member(init=skipping(2, "prelu"), seed=4, validation_rows=np.arange(10), **shared),
    ]


def test_alone_is_together_bit_for_bit():
    together = train(many(), X, Y).networks
    alone = [train([member], X, Y).networks[0] for member in many()]
    permuted = train(many()[::-1], X, Y).networks[::-1]
    for one, other, third in zip(together, alone, permuted, strict=True):
        assert parameters(one).tobytes() == parameters(other).tobytes()
        assert parameters(one).tobytes() == parameters(third).tobytes()


def test_a_run_that_was_stopped_goes_on_bit_for_bit(tmp_path):
    whole = train(many(), X, Y)
    place = Checkpoint(tmp_path / "run.ckpt", every=0)

    def stop(report):
        return report.epoch == 4

    train(many(), X, Y, checkpoint=place, callbacks=[stop])
    resumed = train(many(), X, Y, checkpoint=place)
    for one, other in zip(whole.networks, resumed.networks, strict=True):
        assert parameters(one).tobytes() == parameters(other).tobytes()
    assert whole.best_epoch == resumed.best_epoch


def test_states_go_on_where_they_ended():
    members = many(max_epochs=8)
    half = [dataclasses.replace(member, max_epochs=4) for member in members]
    first = train(half, X, Y)
    second = train(half, X, Y, states=first.states)
    whole = train([dataclasses.replace(m, keep_best=False) for m in members], X, Y)
    for state, other in zip(second.states, whole.states, strict=True):
        for one, two in zip(state.parameters, other.parameters, strict=True):
            assert one.tobytes() == two.tobytes()


def test_a_checkpoint_of_another_graph_is_refused(tmp_path):
    other = GraphNetwork(
        SKIPS | {"y": ["k", "g", "c"]}, inputs=["a", "b", "c"], random_state=0
    ).with_parameters(*skipping().graph_parameters())
    place = Checkpoint(tmp_path / "run.ckpt", every=0)
    train([Member(init=skipping(), max_epochs=1)], X, Y, checkpoint=place)
    with pytest.raises(FileError, match="belongs to other members"):
        train([Member(init=other, max_epochs=1)], X, Y, checkpoint=place)


def test_the_best_epoch_is_kept():
    seen = {}

    def keep(report):
        seen[report.epoch] = parameters(report.networks()[0])

    rows, held_out = np.arange(20), np.arange(20, N)
    member = Member(
        init=skipping(), rows=rows, validation_rows=held_out, learning_rate=0.2, max_epochs=40
    )
    result = train([member], X, Y, callbacks=[keep])
    best = int(result.history["valid_loss"].to_numpy().argmin()) + 1
    assert result.best_epoch == [best]
    assert best < 40
    np.testing.assert_array_equal(parameters(result.networks[0]), seen[best])
    assert result.networks[0].dtype == torch.float32


def test_a_member_that_diverges_leaves_the_others_alone():
    alone = train([Member(init=skipping(), max_epochs=5)], X, Y).networks[0]
    wild = Member(
        init=skipping(activation="identity"), optimizer="sgd", learning_rate=1e6, max_epochs=5
    )
    with pytest.warns(DivergedWarning):
        result = train([wild, Member(init=skipping(), max_epochs=5)], X, Y)
    assert result.status == ["diverged", "epochs"]
    assert np.isfinite(parameters(result.networks[0])).all()
    assert parameters(result.networks[1]).tobytes() == parameters(alone).tobytes()


def test_units_that_take_no_part_stay_as_they_are():
    parents = SKIPS | {"dead": ["h"]}
    graph = GraphNetwork(parents, inputs=["a", "b", "c"], outputs=["y"], random_state=0)
    (trained,) = train([Member(init=graph, max_epochs=3)], X, Y, dtype="float64").networks
    assert trained.weights["dead"].tolist() == graph.weights["dead"].tolist()
    assert trained.weights["h"].tolist() != graph.weights["h"].tolist()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"hidden_layer_sizes": (5,)}, r"hidden_layer_sizes must be left out .* Got \(5,\)"),
        ({"activation": "tanh"}, r"activation must be left out where init is a GraphNetwork"),
        ({"optimizer": "muon"}, r"optimizer must be another than 'muon'"),
    ],
)
def test_what_a_graph_does_not_have_is_refused(options, sentence):
    with pytest.raises(ParameterError, match=sentence):
        Member(init=skipping(), **options)


def test_a_graph_that_does_not_fit_the_data_is_refused():
    with pytest.raises(ParameterError, match=r"as many inputs as X has columns, 2\. Got 3"):
        train([Member(init=skipping())], X[:, :2], Y)
    with pytest.raises(ParameterError, match=r"as many outputs as the head has raw.*3\. Got 1"):
        train([Member(init=skipping(), head=Categorical(3))], X, np.arange(N) % 3)
    wired = GraphNetwork(SKIPS, inputs=["a", "b", "c"], outputs=["y", "a"], random_state=0)
    with pytest.raises(ParameterError, match=r"must have units as its last 1 outputs.*'a'"):
        train([Member(init=wired, head=Normal(scale="shared"))], X, Y)
