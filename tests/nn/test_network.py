"""Network: the forward pass, its parts, its memory, its files."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from lamina import _random
from lamina._errors import DataError, FileError, ParameterError
from lamina.nn import ACTIVATIONS, Gaussian, LeakyReLU, Network, Sigmoid, Tanh, initialise

X = np.random.default_rng(11).normal(size=(7, 3))


def by_hand(layers, functions, X):
    """Return pre-activations and activations of every layer, one row and unit at a time."""
    before, after = [], []
    H = X
    for (W, b), function in zip(layers, functions, strict=True):
        A = np.array([[sum(w * h for w, h in zip(u, x, strict=True)) for u in W] for x in H]) + b
        H = function(A)
        before.append(A)
        after.append(H)
    return before, after


@pytest.fixture
def network():
    """Return a network with a different activation in every layer."""
    return Network((3, 5, 4, 2), ["tanh", "relu"], random_state=1, output_activation="sigmoid")


@pytest.fixture
def traced(network):
    """Return what a plain loop gives for that network."""

    def sigmoid(a):
        return 1 / (1 + np.exp(-a))

    return by_hand(network.layers(), [np.tanh, lambda a: np.maximum(a, 0), sigmoid], X)


def test_outputs_equal_a_plain_loop(network, traced):
    np.testing.assert_allclose(network.predict_raw(X), traced[1][-1], rtol=1e-13)


def test_preactivations_and_hidden_equal_a_plain_loop(network, traced):
    before, after = traced
    given_before, given_after = network.preactivations(X), network.hidden(X)
    assert len(given_before) == 3
    assert len(given_after) == 2
    for ours, theirs in zip([*given_before, *given_after], [*before, *after[:2]], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_every_activation_can_be_named(name):
    network = Network((3, 4, 2), name, random_state=0)
    (W1, b1), (W2, b2) = network.layers()
    f = ACTIVATIONS[name]()
    H = f(torch.from_numpy(X @ W1.T + b1)).numpy()
    np.testing.assert_allclose(network.predict_raw(X), H @ W2.T + b2, rtol=1e-13, atol=1e-14)


def test_the_output_is_not_activated_unless_told():
    network = Network((3, 4, 2), "tanh", random_state=0)
    assert np.array_equal(network.predict_raw(X), network.preactivations(X)[-1])
    assert network.activations[-1].name == "identity"


@given(
    widths=st.lists(st.integers(1, 6), min_size=2, max_size=5),
    name=st.sampled_from(["tanh", "gelu", "leaky_relu", "identity"]),
    seed=st.integers(0, 1000),
)
def test_rows_do_not_see_one_another(widths, name, seed):
    network = Network(widths, name, init="torch", random_state=seed)
    X = np.random.default_rng(seed).normal(size=(4, widths[0]))
    rows = np.array([network.predict_raw(row) for row in X])
    np.testing.assert_allclose(network.predict_raw(X), rows, rtol=1e-12, atol=1e-13)


def test_one_input_a_batch_and_further_leading_axes(network):
    wanted = network.predict_raw(X)
    assert network.predict_raw(X[0]).shape == (2,)
    np.testing.assert_allclose(network.predict_raw(X[0]), wanted[0], rtol=1e-13)
    stacked = np.stack([X, 2 * X])[None]
    outputs = network.predict_raw(stacked)
    assert outputs.shape == (1, 2, 7, 2)
    np.testing.assert_allclose(outputs[0, 0], wanted, rtol=1e-13)
    assert [h.shape for h in network.hidden(stacked)] == [(1, 2, 7, 5), (1, 2, 7, 4)]
    assert network.predict_raw(np.empty((0, 3))).shape == (0, 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_kind_that_comes_in_comes_out(dtype):
    network = Network((3, 4, 2), dtype=dtype, random_state=0)
    of_array = network.predict_raw(X)
    assert isinstance(of_array, np.ndarray)
    assert of_array.dtype == dtype
    of_tensor = network.predict_raw(torch.from_numpy(X))
    assert isinstance(of_tensor, torch.Tensor)
    assert not of_tensor.requires_grad
    np.testing.assert_array_equal(of_tensor.numpy(), of_array)
    for method in (network.preactivations, network.hidden):
        assert all(isinstance(values, np.ndarray) for values in method(X))
        assert all(isinstance(values, torch.Tensor) for values in method(torch.from_numpy(X)))


@pytest.mark.parametrize(
    "inputs",
    [
        X.tolist(),
        X.astype(np.float32),
        np.asfortranarray(X),
        X[::-1],
        X.astype(">f8"),
        np.arange(21).reshape(7, 3),
        X > 0,
    ],
    ids=["list", "float32", "fortran", "reversed", "big-endian", "integers", "booleans"],
)
def test_any_array_of_numbers(inputs, network):
    plain = np.array(inputs, dtype=np.float64, order="C")
    np.testing.assert_array_equal(network.predict_raw(inputs), network.predict_raw(plain))


def test_memory_that_must_not_be_written_to(network):
    locked = X.copy()
    locked.flags.writeable = False
    np.testing.assert_array_equal(network.predict_raw(locked), network.predict_raw(X))


def test_inputs_are_left_alone_and_outputs_are_new():
    network = Network((3, 3), random_state=0, output_activation="relu")
    inputs = X.copy()
    outputs = network.predict_raw(inputs)
    again = network.predict_raw(inputs)
    outputs[:] = np.nan
    np.testing.assert_array_equal(inputs, X)
    assert np.isfinite(again).all()
    before = Network((3, 3, 3), "identity", random_state=0)
    preactivations, hidden = before.preactivations(X), before.hidden(X)
    assert not np.shares_memory(preactivations[0], hidden[0])


def test_gradients_flow_through_every_parameter(network):
    inputs = torch.from_numpy(X).requires_grad_()
    network(inputs).square().sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())
    assert inputs.grad.abs().sum() > 0


def test_gradients_equal_those_of_finite_differences(network):
    parameters = dict(network.named_parameters())
    inputs = torch.from_numpy(X[:2])

    def outputs(*values):
        mapping = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(network, mapping, (inputs,))

    assert torch.autograd.gradcheck(outputs, tuple(parameters.values()))


def test_hidden_tensors_can_be_differentiated(network):
    assert all(h.requires_grad for h in network.hidden(torch.from_numpy(X)))


def test_the_seed_fixes_the_draws():
    one, two, other = (Network((3, 4, 2), random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.predict_raw(X), two.predict_raw(X))
    assert not np.array_equal(one.predict_raw(X), other.predict_raw(X))
    assert not np.array_equal(Network((3, 2)).predict_raw(X), Network((3, 2)).predict_raw(X))


def test_an_integer_seed_is_that_of_a_stack_s_member():
    network = Network((3, 4, 2), "tanh", init="torch", random_state=9)
    rng = _random.generator(9, _random.INIT)
    for ours, drawn in zip(
        network.layers(), initialise((3, 4, 2), "torch", "tanh", rng), strict=True
    ):
        np.testing.assert_array_equal(ours[0], drawn[0])
        np.testing.assert_array_equal(ours[1], drawn[1])


def test_sources_of_draws():
    rng = np.random.default_rng(0)
    first, second = Network((3, 2), random_state=rng), Network((3, 2), random_state=rng)
    assert not np.array_equal(first.predict_raw(X), second.predict_raw(X))
    Network((3, 2), random_state=np.random.RandomState(0))


def test_drawing_leaves_the_global_streams_alone():
    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state()
    Network((3, 4, 2)).to_torch()
    assert np.array_equal(np.random.get_state()[1], numpy_state)
    assert torch.equal(torch.get_rng_state(), torch_state)


def test_init_may_be_an_object():
    network = Network((200, 200), init=Gaussian(3.0), random_state=0)
    # 40,000 weights: the standard deviation has a relative standard error of .0035
    assert network.layers()[0][0].std() == pytest.approx(3.0, rel=0.02)


class TestFromArrays:
    layers = initialise((3, 5, 2), "torch", "tanh", np.random.default_rng(2))

    def test_is_the_same_network(self):
        network = Network.from_arrays(self.layers, "tanh")
        assert network.sizes == (3, 5, 2)
        wanted = by_hand(self.layers, [np.tanh, lambda a: a], X)[1][-1]
        np.testing.assert_allclose(network.predict_raw(X), wanted, rtol=1e-13)

    def test_layers_gives_them_back(self):
        for ours, theirs in zip(
            Network.from_arrays(self.layers).layers(), self.layers, strict=True
        ):
            np.testing.assert_array_equal(ours[0], theirs[0])
            np.testing.assert_array_equal(ours[1], theirs[1])

    @pytest.mark.parametrize(
        ("dtypes", "wanted"),
        [
            (("float32", "float32"), torch.float32),
            (("float64", "float64"), torch.float64),
            (("float32", "float64"), torch.float64),
            (("float16", "float32"), torch.float32),
            (("int64", "int64"), torch.float64),
            (("longdouble", "float32"), torch.float64),
        ],
    )
    def test_dtype_is_that_of_the_arrays(self, dtypes, wanted):
        layers = [(W.astype(dtypes[0]), b.astype(dtypes[1])) for W, b in self.layers]
        network = Network.from_arrays(layers)
        assert network.dtype is wanted
        assert {parameter.dtype for parameter in network.parameters()} == {wanted}

    def test_dtype_may_be_chosen(self):
        assert Network.from_arrays(self.layers, dtype="float32").dtype is torch.float32

    def test_lists_and_tensors(self):
        as_lists = [(W.tolist(), b.tolist()) for W, b in self.layers]
        as_tensors = [(torch.from_numpy(W), torch.from_numpy(b)) for W, b in self.layers]
        wanted = Network.from_arrays(self.layers).predict_raw(X)
        for layers in (as_lists, as_tensors):
            np.testing.assert_array_equal(Network.from_arrays(layers).predict_raw(X), wanted)

    def test_the_network_has_its_own_memory(self):
        arrays = [(W.copy(), b.copy()) for W, b in self.layers]
        network = Network.from_arrays(arrays)
        before = network.predict_raw(X)
        arrays[0][0][:] = 0
        np.testing.assert_array_equal(network.predict_raw(X), before)
        network.layers()[0][0][:] = 0
        np.testing.assert_array_equal(network.predict_raw(X), before)

    def test_or_shares_it_on_request(self):
        arrays = [(W.copy(), b.copy()) for W, b in self.layers]
        network = Network.from_arrays(arrays, copy=False)
        arrays[1][0][:] = 0
        np.testing.assert_array_equal(network.predict_raw(X), np.tile(arrays[1][1], (len(X), 1)))

    def test_parameters_are_trainable_whatever_came(self):
        frozen = [(torch.from_numpy(W), torch.from_numpy(b)) for W, b in self.layers]
        assert all(p.requires_grad for p in Network.from_arrays(frozen).parameters())
        attached = [(nn.Parameter(W.clone()), nn.Parameter(b.clone())) for W, b in frozen]
        assert all(p.is_leaf for p in Network.from_arrays(attached).parameters())

    def test_learned_slopes(self):
        slopes = [np.array([0.1, 0.2, 0.3, -1.0, 2.0]), None]
        network = Network.from_arrays(self.layers, "prelu", slopes=slopes)
        wanted = by_hand(
            self.layers, [lambda a: np.where(a > 0, a, slopes[0] * a), lambda a: a], X
        )[1][-1]
        np.testing.assert_allclose(network.predict_raw(X), wanted, rtol=1e-13, atol=1e-15)
        assert network.slopes[1] is None
        assert network.n_parameters == 32 + 5

    def test_slopes_start_at_the_activation_s_init(self):
        network = Network((3, 4, 2), "prelu(0.1)", random_state=0)
        np.testing.assert_array_equal(network.slopes[0].detach().numpy(), np.full(4, 0.1))


class TestCopies:
    @pytest.fixture(params=["float32", "float64"])
    def network(self, request):
        """Return a network with every kind of part."""
        return Network(
            (3, 5, 4, 2),
            ["prelu(0.3)", LeakyReLU(0.1)],
            random_state=1,
            dtype=request.param,
            output_activation=Sigmoid(2.0),
        )

    def assert_same(self, network, other):
        assert other.sizes == network.sizes
        assert other.activations == network.activations
        assert other.dtype is network.dtype
        np.testing.assert_array_equal(other.predict_raw(X), network.predict_raw(X))
        with torch.no_grad():
            other.weights[0].zero_()
        assert network.weights[0].abs().sum() > 0

    def test_pickle(self, network):
        self.assert_same(network, pickle.loads(pickle.dumps(network)))

    def test_deepcopy(self, network):
        self.assert_same(network, copy.deepcopy(network))

    def test_state(self, network):
        config, arrays = network._to_state()
        assert isinstance(config["sizes"], list)
        self.assert_same(network, Network._from_state(config, arrays))

    def test_state_is_plain_json(self, network):
        import json

        config, arrays = network._to_state()
        assert json.loads(json.dumps(config)) == config
        assert all(isinstance(array, np.ndarray) for array in arrays.values())

    def test_state_dict(self, network):
        other = Network(
            network.sizes,
            network.activations[:-1],
            dtype=str(network.dtype).removeprefix("torch."),
            output_activation=network.activations[-1],
        )
        other.load_state_dict(network.state_dict())
        self.assert_same(network, other)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda c, a: c.pop("dtype"), "must have 'dtype' in its description"),
        (lambda c, a: c["sizes"].append(3), "activations must be 3 names"),
        (
            lambda c, a: a.pop("biases.1"),
            r"'biases\.1' must have .*\(2,\)\. Got no such array",
        ),
        (
            lambda c, a: a.update({"weights.0": np.zeros((3, 4))}),
            r"'weights\.0' must have shape \(4, 3\)\. Got shape \(3, 4\)",
        ),
    ],
)
def test_a_damaged_state_is_refused(change, sentence):
    config, arrays = Network((3, 4, 2))._to_state()
    change(config, arrays)
    with pytest.raises(FileError, match=sentence):
        Network._from_state(config, arrays)


def test_an_activation_of_one_s_own_cannot_be_saved():
    class Own(Tanh):
        name = "tanh"

    network = Network((3, 4, 2), Own())
    with pytest.raises(ParameterError, match=r"of lamina\.nn\.ACTIVATIONS to be saved"):
        network._to_state()


def test_conversion_to_another_precision():
    network = Network((3, 4, 2), random_state=0)
    single = copy.deepcopy(network).to(torch.float32)
    assert single.dtype is torch.float32
    np.testing.assert_allclose(single.predict_raw(X), network.predict_raw(X), rtol=1e-5)


def test_a_deep_linear_network_is_one_affine_map():
    network = Network((2, 100, 100, 100, 1), "identity", init="torch", random_state=0)
    W, b = network.collapse()
    points = np.random.default_rng(0).normal(size=(400, 2))
    assert (W.shape, b.shape) == ((1, 2), (1,))
    np.testing.assert_allclose(points @ W.T + b, network.predict_raw(points), atol=1e-14)


def test_a_float32_network_collapses_to_rounding():
    network = Network(
        (2, 100, 100, 100, 1), "identity", init="torch", random_state=0, dtype="float32"
    )
    W, b = network.collapse()
    points = np.random.default_rng(0).normal(size=(400, 2))
    gap = np.abs(points @ W.T + b - network.predict_raw(points)).max()
    assert 0 < gap < 1e-6
    product = np.linalg.multi_dot([W.astype(np.float64) for W, _ in reversed(network.layers())])
    np.testing.assert_allclose(W, product, rtol=1e-12)


@given(widths=st.lists(st.integers(1, 5), min_size=2, max_size=6), seed=st.integers(0, 99))
def test_collapse_equals_a_chain_of_products(widths, seed):
    network = Network(widths, "leaky_relu(1)", init="torch", random_state=seed)
    W, b = network.collapse()
    point = np.random.default_rng(seed).normal(size=widths[0])
    h = point
    for weights, biases in network.layers():
        h = weights @ h + biases
    np.testing.assert_allclose(W @ point + b, h, atol=1e-13)


def test_a_nonlinear_network_does_not_collapse():
    with pytest.raises(ParameterError, match=r"to collapse a network\. Got 'tanh' in layer 2"):
        Network((2, 3, 3, 1), ["identity", "tanh"]).collapse()


def test_repr_is_one_line():
    network = Network((2, 3, 1), "leaky_relu(0.1)", dtype="float32")
    assert repr(network) == (
        "Network(sizes=(2, 3, 1), activations=('leaky_relu(0.1)', 'identity'), dtype='float32')"
    )


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        (X[:, :2], r"X must have shape \(\.\.\., 3\)\. Got shape \(7, 2\)"),
        (X[0, 0], r"X must have shape \(\.\.\., 3\)\. Got a single number"),
        (X.astype(complex), r"X must be an array of real numbers\. Got dtype complex128"),
        (X.astype(object), r"X must be an array of real numbers\. Got dtype object"),
        ([["a", "b", "c"]], r"X must be an array of real numbers\. Got dtype <U1"),
        ([[1, 2, 3], [1]], r"X must be an array of real numbers\. Got setting"),
        (torch.zeros(3, dtype=torch.complex64), r"X must be .* Got dtype torch\.complex64"),
    ],
)
def test_inputs_that_are_none(inputs, sentence, network):
    with pytest.raises(DataError, match=sentence):
        network.predict_raw(inputs)


def test_a_flat_column_for_a_network_of_one_input():
    with pytest.raises(DataError, match=r"Got shape \(5,\)\. Reshape a column of N numbers"):
        Network((1, 2, 1)).predict_raw(np.arange(5.0))


def test_forward_wants_the_network_s_dtype(network):
    with pytest.raises(DataError, match=r"dtype torch\.float64\. Got torch\.float32\. Convert"):
        network(torch.zeros(7, 3))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Network((3,)), r"sizes must be at least two integers"),
        (lambda: Network((3, -1)), r"sizes\[1\] must be an integer of at least 1\. Got -1"),
        (lambda: Network((3, np.inf)), r"sizes\[1\] must be an integer of at least 1\. Got inf"),
        (lambda: Network((3, 4, 1), "rellu"), r"activation must be one of .*Did you mean 'relu'"),
        (lambda: Network((3, 1), "rellu"), r"activation must be one of .*Did you mean 'relu'"),
        (lambda: Network((3, 4, 1), ["relu", "relu"]), r"each of the 1 hidden layers\. Got 2"),
        (lambda: Network((3, 4, 1), 3), r"activation must be a name or an Activation\. Got 3"),
        (lambda: Network((3, 1), output_activation="x"), r"output_activation must be one of"),
        (lambda: Network((3, 1), init="hee"), r"init must be one of .*Did you mean 'he'"),
        (lambda: Network((3, 1), dtype="float16"), r"dtype must be one of 'float32', 'float64'"),
        (lambda: Network((3, 1), random_state="a"), r"random_state must be None.*Got 'a'"),
        (lambda: Network((3, 1), random_state=True), r"random_state must be None.*Got True"),
        (lambda: Network.from_arrays([]), r"layers must be a list of pairs"),
        (lambda: Network.from_arrays(np.zeros(3)), r"layers must be a list of pairs"),
        (lambda: Network.from_arrays([np.zeros(3)]), r"layers\[0\] must be a pair"),
        (
            lambda: Network.from_arrays([(np.zeros(3), np.zeros(3))]),
            r"layers\[0\] weights must have shape \(out, in\)\. Got \(3,\)",
        ),
        (
            lambda: Network.from_arrays([(np.zeros((3, 2)), np.zeros(2))]),
            r"layers\[0\] biases must have shape \(3,\)\. Got \(2,\)",
        ),
        (
            lambda: Network.from_arrays(
                [(np.zeros((3, 2)), np.zeros(3)), (np.zeros((3, 4)), np.zeros(3))]
            ),
            r"layers\[1\] weights must have shape \(out, 3\)\. Got \(3, 4\)\. .*transpose",
        ),
        (
            lambda: Network.from_arrays([(np.zeros((0, 2)), np.zeros(0))]),
            r"layers\[0\] weights must have shape \(out, in\)\. Got \(0, 2\)",
        ),
        (
            lambda: Network.from_arrays([(np.zeros((3, 2)), np.zeros(3))], slopes=[np.zeros(3)]),
            r"slopes\[0\] must be None, since 'identity' has no learned slope",
        ),
        (
            lambda: Network.from_arrays([(np.zeros((3, 2)), np.zeros(3))], slopes=[]),
            r"slopes must have one entry for each of the 1 layers.*Got 0",
        ),
        (
            lambda: Network.from_arrays(
                [(np.zeros((3, 2)), np.zeros(3))], output_activation="prelu", slopes=[np.zeros(2)]
            ),
            r"slopes\[0\] must have shape \(3,\)\. Got \(2,\)",
        ),
    ],
)
def test_messages_of_parameters(call, sentence):
    with pytest.raises(ParameterError, match=sentence):
        call()


def test_weights_must_be_numbers():
    with pytest.raises(DataError, match=r"layers\[0\] weights must be an array of real numbers"):
        Network.from_arrays([([["a"]], [0.0])])
