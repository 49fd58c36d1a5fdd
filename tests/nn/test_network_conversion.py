"""Networks read from torch's modules and written back, with identical outputs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from lamina._errors import ParameterError
from lamina.nn import ACTIVATIONS, ActivationLayer, Network, Sigmoid, SiLU, Step

# Small and large, so that both branches of functions with a threshold are met.
X = torch.from_numpy(
    np.random.default_rng(0).normal(size=(9, 3)) * np.repeat([[3.0], [9.0], [60.0]], 3, axis=0)
)

MODULES = [
    (nn.Identity(), "identity"),
    (nn.Sigmoid(), "sigmoid"),
    (nn.Tanh(), "tanh"),
    (nn.Hardtanh(), "hard_tanh"),
    (nn.ReLU(), "relu"),
    (nn.ReLU(inplace=True), "relu"),
    (nn.LeakyReLU(), "leaky_relu"),
    (nn.LeakyReLU(0.2), "leaky_relu(0.2)"),
    (nn.PReLU(), "prelu"),
    (nn.PReLU(4, init=0.1), "prelu"),
    (nn.Softplus(threshold=40), "softplus"),
    (nn.GELU(), "gelu"),
    (nn.SiLU(), "silu"),
    (nn.ELU(), "elu"),
    (nn.ELU(0.5), "elu(0.5)"),
    (ActivationLayer(Step()), "step"),
]


def sequential(activation):
    """Return a torch network in double precision."""
    return nn.Sequential(nn.Linear(3, 4), activation, nn.Linear(4, 2)).double()


@pytest.mark.parametrize(("module", "spec"), MODULES, ids=lambda x: str(x))
def test_from_torch_reads_every_activation(module, spec):
    theirs = sequential(module)
    ours = Network.from_torch(theirs)
    assert [activation.spec for activation in ours.activations] == [spec, "identity"]
    with torch.no_grad():
        torch.testing.assert_close(ours(X), theirs(X), rtol=0, atol=0)


@pytest.mark.parametrize("name", [*sorted(ACTIVATIONS), "sigmoid(5)", "silu(2)", "prelu(0.1)"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_there_and_back_is_the_same_network(name, dtype):
    network = Network((3, 4, 4, 2), name, random_state=0, dtype=dtype, output_activation=name)
    module = network.to_torch()
    inputs = X.to(network.dtype)
    with torch.no_grad():
        torch.testing.assert_close(module(inputs), network(inputs), rtol=0, atol=0)

    back = Network.from_torch(module)
    assert back.dtype is network.dtype
    assert back.n_parameters == network.n_parameters
    np.testing.assert_array_equal(back.predict_raw(X.numpy()), network.predict_raw(X.numpy()))


def test_softplus_is_the_same_where_torch_s_default_goes_straight():
    network = Network.from_arrays([([[1.0]], [0.0])], output_activation="softplus")
    a = torch.linspace(15.0, 45.0, 200, dtype=torch.float64)[:, None]
    with torch.no_grad():
        torch.testing.assert_close(network.to_torch()(a), network(a), rtol=0, atol=0)
        assert (nn.Softplus()(a) - network(a)).abs().max() > 1e-9


def test_to_torch_uses_torch_s_own_modules():
    module = Network((3, 4, 2), "gelu").to_torch()
    assert [type(part) for part in module] == [nn.Linear, nn.GELU, nn.Linear]
    for activation in (Sigmoid(5.0), SiLU(2.0), Step()):
        part = Network((3, 4, 2), activation).to_torch()[1]
        assert isinstance(part, ActivationLayer)
        assert part.activation == activation


def test_copies_have_their_own_memory():
    theirs = sequential(nn.Tanh())
    ours = Network.from_torch(theirs)
    again = ours.to_torch()
    before = ours.predict_raw(X)
    with torch.no_grad():
        theirs[0].weight.zero_()
        again[0].weight.zero_()
    torch.testing.assert_close(ours.predict_raw(X), before, rtol=0, atol=0)
    assert all(parameter.requires_grad for parameter in again.parameters())


def test_nested_sequentials_dropout_and_missing_biases():
    theirs = nn.Sequential(
        nn.Sequential(nn.Linear(3, 4, bias=False), nn.Dropout(0.3), nn.ReLU()),
        nn.Identity(),
        nn.Sequential(nn.Sequential(nn.Linear(4, 5), nn.Tanh()), nn.Dropout()),
        nn.Linear(5, 2),
        nn.Sigmoid(),
    ).double()
    ours = Network.from_torch(theirs)
    assert ours.sizes == (3, 4, 5, 2)
    assert [activation.name for activation in ours.activations] == ["relu", "tanh", "sigmoid"]
    assert not ours.layers()[0][1].any()
    with torch.no_grad():
        torch.testing.assert_close(ours(X), theirs.eval()(X), rtol=0, atol=0)


def test_two_linear_layers_in_a_row_and_a_lone_one():
    ours = Network.from_torch(nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)))
    assert [activation.name for activation in ours.activations] == ["identity", "identity"]
    assert Network.from_torch(nn.Linear(3, 2)).sizes == (3, 2)


def test_a_network_is_copied():
    network = Network((3, 4, 2), "prelu", random_state=0)
    twin = Network.from_torch(network)
    assert twin is not network
    np.testing.assert_array_equal(twin.predict_raw(X.numpy()), network.predict_raw(X.numpy()))
    assert twin.weights[0] is not network.weights[0]


def test_parameters_of_layers_copied_from_arrays_to_torch():
    rng = np.random.default_rng(3)
    layers = [(rng.normal(size=(4, 3)), rng.normal(size=4)), (rng.normal(size=(2, 4)), np.ones(2))]
    module = Network.from_arrays(layers, "tanh").to_torch()
    by_hand = np.tanh(X.numpy() @ layers[0][0].T + layers[0][1]) @ layers[1][0].T + 1
    np.testing.assert_allclose(module(X).detach().numpy(), by_hand, rtol=1e-13, atol=1e-15)


def trained_norm(n, seed, **options):
    """A batch normalisation whose statistics are not those of its start."""
    norm = nn.BatchNorm1d(n, **options)
    rng = np.random.default_rng(seed)
    norm.running_mean.copy_(torch.from_numpy(rng.normal(size=n)))
    norm.running_var.copy_(torch.from_numpy(rng.uniform(0.1, 4.0, n)))
    if norm.affine:
        with torch.no_grad():
            norm.weight.copy_(torch.from_numpy(rng.normal(size=n)))
            norm.bias.copy_(torch.from_numpy(rng.normal(size=n)))
    return norm


NORMED = {
    "after a Linear": lambda: [nn.Linear(3, 4), trained_norm(4, 0), nn.ReLU(), nn.Linear(4, 2)],
    "after an activation": lambda: [
        nn.Linear(3, 4), nn.Tanh(), trained_norm(4, 1), nn.Linear(4, 2),
    ],
    "first of all": lambda: [trained_norm(3, 2), nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2)],
    "last of all": lambda: [nn.Linear(3, 2), trained_norm(2, 3)],
    "twice": lambda: [
        trained_norm(3, 4), trained_norm(3, 5), nn.Linear(3, 4), trained_norm(4, 6),
        trained_norm(4, 7, affine=False), nn.ELU(), nn.Dropout(), trained_norm(4, 8),
        nn.Linear(4, 2, bias=False),
    ],
}  # fmt: skip


@pytest.mark.parametrize("where", NORMED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_batch_normalisation_in_eval_mode_is_folded(where, dtype):
    theirs = nn.Sequential(*NORMED[where]()).to(dtype).eval()
    ours = Network.from_torch(theirs)
    assert ours.dtype is dtype
    assert len(ours.weights) == sum(isinstance(part, nn.Linear) for part in theirs)
    tolerance = 1e-4 if dtype is torch.float32 else 1e-12
    inputs = X.to(dtype)
    with torch.no_grad():
        torch.testing.assert_close(ours(inputs), theirs(inputs), rtol=tolerance, atol=tolerance)


def test_folding_leaves_the_module_as_it_was():
    theirs = nn.Sequential(*NORMED["twice"]()).eval()
    before = {name: value.clone() for name, value in theirs.state_dict().items()}
    Network.from_torch(theirs)
    assert all(torch.equal(before[name], value) for name, value in theirs.state_dict().items())


class OwnForward(nn.Sequential):
    """A Sequential that computes something else."""

    def forward(self, x):
        """Return twice the output."""
        return 2 * super().forward(x)


class OwnLinear(nn.Linear):
    """A Linear that computes something else."""

    def forward(self, x):
        """Return twice the output."""
        return 2 * super().forward(x)


def evaluated(*modules):
    return nn.Sequential(*modules).eval()


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (
            nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)),
            r"'1' must be in eval mode .*eval\(\)",
        ),
        (
            evaluated(nn.Linear(2, 2), nn.BatchNorm1d(2, track_running_stats=False)),
            r"'1' must have running statistics",
        ),
        (evaluated(nn.Linear(2, 3), nn.BatchNorm1d(2)), r"'1' must take the 3 outputs"),
        (evaluated(nn.BatchNorm1d(3), nn.Linear(2, 3)), r"'0' must have the 2 inputs"),
        (
            evaluated(nn.Linear(2, 2), nn.ReLU(), nn.BatchNorm1d(2)),
            r"'2' must stand beside a Linear .* at the end",
        ),
        (
            evaluated(nn.Linear(2, 2), nn.ReLU(), nn.BatchNorm1d(2), nn.Tanh(), nn.Linear(2, 1)),
            r"'2' must stand beside a Linear .* followed by Tanh",
        ),
        (evaluated(nn.Linear(2, 2), nn.LayerNorm(2)), r"Got LayerNorm"),
        (evaluated(nn.Linear(2, 2), nn.BatchNorm2d(2)), r"Got BatchNorm2d"),
        (evaluated(nn.LazyLinear(2)), r"'0' must have weights\. Got LazyLinear"),
        (OwnForward(nn.Linear(2, 2)), r"Got OwnForward"),
        (evaluated(OwnForward(nn.Linear(2, 2))), r"'0' .*Got OwnForward"),
        (evaluated(OwnLinear(2, 2)), r"'0' .*Got OwnLinear"),
    ],
    ids=str,
)
def test_what_cannot_be_folded_is_refused_by_name(module, sentence):
    with pytest.raises(ParameterError, match=sentence):
        Network.from_torch(module)


class Own(nn.Module):
    """A module that nobody can read the order of."""


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), r"module '1' must be .*BatchNorm1d"),
        (nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Conv1d(1, 1, 1))), r"'1\.0' .*Conv1d"),
        (nn.Sequential(nn.Linear(2, 2), nn.Softmax(1)), r"Got Softmax\. Leave it out: outputs"),
        (nn.Sequential(nn.Flatten(), nn.Linear(2, 2)), r"module '0' must be .*Got Flatten"),
        (Own(), r"module must be Linear, .*Got Own\."),
        (nn.Sequential(nn.ReLU(), nn.Linear(2, 2)), r"'0' must follow a Linear.*before the first"),
        (
            nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Tanh()),
            r"module '2' must follow a Linear layer\. Got Tanh after another activation",
        ),
        (nn.Sequential(), r"at least one Linear layer\. Got Sequential without one"),
        (nn.Sequential(nn.Linear(2, 2), nn.GELU("tanh")), r"Got GELU\(approximate='tanh'\)"),
        (nn.Sequential(nn.Linear(2, 2), nn.Hardtanh(0, 6)), r"Got Hardtanh\(min_val=0"),
        (nn.Sequential(nn.Linear(2, 2), nn.ReLU6()), r"Got ReLU6"),
        (nn.Sequential(nn.Linear(2, 2), nn.Softplus(2)), r"Got Softplus\(beta=2"),
        (nn.Sequential(nn.Linear(2, 2), nn.PReLU(3)), r"must have 1 slope or 2\. Got 3"),
        (
            nn.Sequential(nn.Linear(2, 3), nn.Linear(2, 2)),
            r"module '1' must take the 3 outputs of the layer before it\. .*in_features=2",
        ),
    ],
    ids=str,
)
def test_what_a_network_cannot_be_is_refused_by_name(module, sentence):
    with pytest.raises(ParameterError, match=sentence):
        Network.from_torch(module)
