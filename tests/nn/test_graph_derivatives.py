"""Derivatives of derivatives of a graph: those of a layered network, and of finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.nn import GraphNetwork, Network

from ._graph_loop import graphs

SMOOTH = ("identity", "tanh", "sigmoid", "softplus", "gelu", "silu", "prelu")


def penalised(network):
    """Return the gradient of an error with a penalty of the slope in it."""
    x = torch.tensor([[0.3, -0.7], [1.0, 0.5]], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(network(x).sum(), x, create_graph=True)
    (network(x).square().mean() + 10 * slope.square().sum()).backward()
    return network


@pytest.mark.parametrize("sizes", [(2, 3, 1), (2, 40, 30, 2)])
@pytest.mark.parametrize("activation", ["tanh", "relu", "prelu"])
def test_a_penalty_of_the_slope_is_that_of_the_layers(sizes, activation):
    network = Network(sizes, activation, random_state=0)
    graph = penalised(GraphNetwork.from_network(network))
    penalised(network)
    gradients = graph.with_parameters(*(p.grad for p in graph.parameters())).to_network()
    for one, other in zip(gradients.parameters(), network.parameters(), strict=True):
        np.testing.assert_allclose(one.detach(), other.grad, rtol=1e-10, atol=1e-12)


def test_hessians_are_those_of_the_layers():
    network = Network((2, 3, 1), "tanh", random_state=0)
    graph = GraphNetwork.from_network(network)
    point = torch.ones(2, dtype=torch.float64)
    one, other = (
        torch.autograd.functional.hessian(lambda x, form=form: form(x).sum(), point)
        for form in (graph, network)
    )
    assert other.abs().max() > 0.01
    torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_a_network_that_is_applied_to_its_own_output():
    network = Network((2, 4, 2), "tanh", random_state=0)
    graph = GraphNetwork.from_network(network)
    seconds = []
    for form in (graph, network):
        x = torch.tensor([[0.3, -0.7]], dtype=torch.float64, requires_grad=True)
        first = torch.autograd.grad(form(form(x)).sum(), [x, *form.parameters()],
                                    create_graph=True, allow_unused=True)  # fmt: skip
        loss = sum(g.square().sum() for g in first if g is not None and g.numel())
        seconds.append((loss, torch.autograd.grad(loss, x)[0]))
    for one, other in zip(*seconds, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-12)


@given(graph=graphs(), seed=st.integers(0, 100))
@settings(max_examples=10)
def test_second_derivatives_are_finite_differences_of_first_ones(graph, seed):
    kinds = {u: SMOOTH[i % len(SMOOTH)] for i, u in enumerate(graph["parents"])}
    fields = {name: graph[name] for name in ("outputs", "weights", "biases", "inputs")}
    network = GraphNetwork(graph["parents"], activation=kinds, **fields)
    names = ("edge_weights", "unit_biases", "unit_slopes")

    def run(x, *parameters):
        return torch.func.functional_call(network, dict(zip(names, parameters, strict=True)), x)

    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.normal(size=(2, len(graph["inputs"])))).requires_grad_()
    given_tensors = [p.detach().clone().requires_grad_() for p in network.parameters()]
    assert torch.autograd.gradgradcheck(run, (x, *given_tensors), fast_mode=True)


def test_only_what_is_asked_for_gets_a_derivative():
    graph = GraphNetwork({"h": ["a", "b"], "y": ["h", "a"]}, random_state=0)
    graph.edge_weights.requires_grad_(False)
    x = torch.ones(3, 2, dtype=torch.float64)
    (first,) = torch.autograd.grad(graph(x).sum(), graph.unit_biases, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), graph.unit_biases)
    a = float(graph.weights["h"].sum())
    slope = 3 * graph.weights["y"][0] * (1 - np.tanh(a) ** 2)
    torch.testing.assert_close(first, torch.tensor([slope, 3.0], dtype=torch.float64))
    wanted = torch.tensor([-2 * np.tanh(a) * slope, 0.0], dtype=torch.float64)
    torch.testing.assert_close(second, wanted)


@pytest.mark.parametrize("outputs", [["y"], ["y", "h"]])
def test_the_result_can_be_written_to(outputs):
    weights = {"h": [1.0, 0.5], "y": [2.0]}
    graph = GraphNetwork({"h": ["a", "b"], "y": ["h"]}, outputs=outputs, weights=weights)
    x = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torch.float64)
    torch.nn.Sequential(graph, torch.nn.ReLU(inplace=True))(x).sum().backward()
    in_place = graph.edge_weights.grad.clone()
    graph.zero_grad()
    torch.relu(graph(x)).sum().backward()
    assert in_place.abs().max() > 0
    torch.testing.assert_close(graph.edge_weights.grad, in_place)
