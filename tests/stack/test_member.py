"""What a member may be: every setting, every sentence, and the weights that it begins with."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest

from lamina._errors import DataError, FileError, ParameterError
from lamina._random import INIT, generator
from lamina.heads import Categorical, Custom, Normal, Poisson
from lamina.nn import INITIALISATIONS, Gaussian, Network, PReLU, ReLU, Sigmoid, Tanh, initialise
from lamina.stack import SGD, Adam, Constant, Cosine, Member, train

N_SAMPLES, N_FEATURES = 20, 3
X = np.random.default_rng(0).standard_normal((N_SAMPLES, N_FEATURES))
Y = X[:, 0]
LAYERS = [(np.full((2, 3), 0.5), np.ones(2)), (np.ones((1, 2)), np.zeros(1))]


def begun(dtype="float64", **settings):
    """Return a network of two hidden units before its first epoch."""
    member = Member(**({"hidden_layer_sizes": (2,), "max_epochs": 0} | settings))
    return train([member], X, Y, dtype=dtype).networks[0]


def test_names_become_objects():
    member = Member(
        [8, 4],
        ["logistic", Tanh()],
        "poisson",
        optimizer="sgd",
        schedule="cosine",
        seed=np.int64(3),
        batch_size=np.int32(16),
    )
    assert member.sizes == (8, 4)
    assert member.activations == (Sigmoid(), Tanh())
    assert member.head == Poisson()
    assert member.optimizer == SGD()
    assert member.schedule == Cosine()
    assert type(member.seed) is type(member.batch_size) is int


def test_defaults():
    member = Member()
    assert member.sizes == (100,)
    assert member.activations == (ReLU(),)
    assert (member.head, member.optimizer, member.schedule) == (Normal(), Adam(), Constant())
    assert Member(5).sizes == (5,)
    assert Member(()).activations == ()


def test_a_member_is_frozen_and_can_be_replaced():
    member = Member((4, 4), "tanh")
    with pytest.raises(dataclasses.FrozenInstanceError):
        member.seed = 3
    other = dataclasses.replace(member, seed=3)
    assert (other.seed, other.activations) == (3, member.activations)
    assert member != dataclasses.replace(member)
    assert len({member, other, member}) == 2


NUMBER, POSITIVE = "must be a finite number in [0, inf]", "must be a finite number in (0, inf]"
ACTIVATIONS = (
    "'abs', 'elu', 'gelu', 'hard_tanh', 'identity', 'leaky_relu', 'logistic', 'prelu', 'relu', "
    "'sigmoid', 'silu', 'softplus', 'step', 'swish', 'tanh'"
)
SEED = "seed must be an integer of at least -9223372036854775808 and at most 18446744073709551615."
WRONG_SETTINGS = [
    (
        {"hidden_layer_sizes": "8"},
        "hidden_layer_sizes must be an integer or a sequence of integers. Got '8'.",
    ),
    (
        {"hidden_layer_sizes": (3, 0)},
        "hidden_layer_sizes[1] must be an integer of at least 1. Got 0.",
    ),
    (
        {"hidden_layer_sizes": (3.5,)},
        "hidden_layer_sizes[0] must be an integer of at least 1. Got 3.5.",
    ),
    (
        {"activation": "rellu"},
        f"activation must be one of {ACTIVATIONS}. Got 'rellu'. Did you mean 'relu'?",
    ),
    (
        {"activation": 3},
        "activation must be a name, an Activation or one of them for each hidden layer. Got 3.",
    ),
    (
        {"activation": ["relu", "tanh"]},
        "activation must have one entry for each of the 1 hidden layers. Got 2 entries.",
    ),
    (
        {"head": "norml"},
        "head must be one of 'bernoulli', 'categorical', 'heteroscedastic', 'mixture', "
        "'multivariate_normal', 'negative_binomial', 'normal', 'poisson', 'quantiles'. "
        "Got 'norml'. Did you mean 'normal'?",
    ),
    (
        {"optimizer": 1},
        "optimizer must be a name or an Optimizer such as Adam(). Got 1.",
    ),
    (
        {"schedule": 1},
        "schedule must be None, a name or a Schedule such as Cosine(). Got 1.",
    ),
    ({"seed": None}, f"{SEED} Got None."),
    ({"seed": 1.0}, f"{SEED} Got 1.0."),
    ({"seed": 2**64}, f"{SEED} Got 18446744073709551616."),
    ({"batch_size": 0}, "batch_size must be an integer of at least 1. Got 0."),
    ({"batch_size": 8.0}, "batch_size must be an integer of at least 1. Got 8.0."),
    ({"max_epochs": -1}, "max_epochs must be an integer of at least 0. Got -1."),
    ({"max_epochs": True}, "max_epochs must be an integer of at least 0. Got True."),
    ({"learning_rate": 0.0}, f"learning_rate {POSITIVE}. Got 0.0."),
    ({"learning_rate": math.inf}, f"learning_rate {POSITIVE}. Got inf."),
    ({"learning_rate": "0.1"}, f"learning_rate {POSITIVE}. Got '0.1'."),
    ({"weight_decay": -1}, f"weight_decay {NUMBER}. Got -1."),
    ({"alpha": math.nan}, f"alpha {NUMBER}. Got nan."),
    ({"dropout": 1.0}, "dropout must be a finite number in [0, 1). Got 1.0."),
    ({"dropout": -0.1}, "dropout must be a finite number in [0, 1). Got -0.1."),
    ({"clip_norm": 0}, f"clip_norm {POSITIVE}. Got 0."),
    ({"tol": -1e-3}, f"tol {NUMBER}. Got -0.001."),
    ({"patience": -1}, "patience must be None or a number of epochs of at least 0. Got -1."),
    ({"patience": "3"}, "patience must be None or a number of epochs of at least 0. Got '3'."),
    (
        {"patience": math.nan},
        "patience must be None or a number of epochs of at least 0. Got nan.",
    ),
    ({"shuffle": "no"}, "shuffle must be True or False. Got 'no'."),
    ({"keep_best": "no"}, "keep_best, if not 'auto', must be True or False. Got 'no'."),
    (
        {"monitor": "loss"},
        "monitor must be one of 'auto', 'train_loss', 'valid_loss', 'valid_score'. Got 'loss'.",
    ),
    (
        {"monitor": "valid_score"},
        "monitor must be 'train_loss' or 'auto' without validation_rows. Got 'valid_score'. "
        "Give validation_rows, or change monitor.",
    ),
]


@pytest.mark.parametrize(("settings", "sentence"), WRONG_SETTINGS)
def test_wrong_settings(settings, sentence):
    with pytest.raises(ParameterError, match=f"^{re.escape(sentence)}$"):
        Member(**settings)


def test_infinite_patience_is_patience():
    assert begun(patience=math.inf).sizes == (3, 2, 1)


NAMES = ", ".join(f"'{name}'" for name in INITIALISATIONS)
SHAPES = "must have weights (out, in) of shapes [(2, 3), (1, 2)] and biases to match"
PAIRS = "must be pairs (W, b) of arrays, one for each layer"
ROWS = "must be a 1-D array of row numbers"
WRONG_WITH_DATA = [
    (
        {"init": "gloro"},
        f"init must be one of {NAMES}, or an Initialisation such as Gaussian(0.1). Got 'gloro'. "
        "Did you mean 'glorot'?",
    ),
    (
        {"init": None},
        f"init must be one of {NAMES}, or an Initialisation such as Gaussian(0.1). Got None.",
    ),
    ({"init": LAYERS[:1]}, f"members[0].init {SHAPES}. Got weights of shapes [(2, 3)]."),
    (
        {"init": [(LAYERS[0][0], np.ones(3)), LAYERS[1]]},
        f"members[0].init {SHAPES}. Got weights of shapes [(2, 3), (1, 2)].",
    ),
    ({"init": [(1, 2, 3)]}, f"members[0].init {PAIRS}. Got [(1, 2, 3)]."),
    ({"init": [("a", "b")]}, f"members[0].init {PAIRS}. Got [('a', 'b')]."),
    (
        {"init": [(LAYERS[0][0] * np.nan, np.ones(2)), LAYERS[1]]},
        "members[0].init must be finite. Got NaN or infinity.",
    ),
    (
        {"init": Network((3, 4, 1))},
        f"members[0].init {SHAPES}. Got weights of shapes [(4, 3), (1, 4)].",
    ),
    (
        {"init": Network((3, 2, 1), "tanh")},
        "members[0].init must be a network with the member's activations (ReLU(), Identity()), "
        "the last one after the output layer. Got (Tanh(), Identity()).",
    ),
    (
        {"init": Network((3, 2, 1), "relu", output_activation="tanh")},
        "members[0].init must be a network with the member's activations (ReLU(), Identity()), "
        "the last one after the output layer. Got (ReLU(), Tanh()).",
    ),
    (
        {"rows": np.ones(20, dtype=bool)},
        "members[0].rows must be an array of row numbers. Got a mask of booleans. "
        "Use numpy.flatnonzero(mask).",
    ),
    ({"rows": [1.0]}, f"members[0].rows {ROWS}. Got [1.0]."),
    ({"rows": [[1]]}, f"members[0].rows {ROWS}. Got [[1]]."),
    ({"rows": 3}, f"members[0].rows {ROWS}. Got 3."),
    ({"validation_rows": "abc"}, f"members[0].validation_rows {ROWS}. Got 'abc'."),
    (
        {"rows": np.zeros(0, dtype=int)},
        "members[0].rows must hold at least one row. Got none.",
    ),
    ({"rows": [0, 20]}, "members[0].rows must be row numbers from 0 to 19. Got 20."),
    (
        {"validation_rows": [-1, 3]},
        "members[0].validation_rows must be row numbers from 0 to 19. Got -1.",
    ),
    (
        {"sample_weight": np.ones((20, 1))},
        "members[0].sample_weight must have one weight for each of the 20 rows of X. "
        "Got an array of shape (20, 1).",
    ),
    (
        {"sample_weight": ["a"] * 20},
        "members[0].sample_weight must hold real numbers. Got dtype <U1.",
    ),
    (
        {"sample_weight": np.where(np.arange(20) == 7, -1.0, 1.0)},
        "members[0].sample_weight must be finite and at least 0. Got -1.0 in row 7.",
    ),
    (
        {"sample_weight": np.where(np.arange(20) == 7, np.nan, 1.0)},
        "members[0].sample_weight must be finite and at least 0. Got nan in row 7.",
    ),
    (
        {"sample_weight": np.zeros(20)},
        "members[0].sample_weight must be above 0 in at least one row. Got all 0.",
    ),
    (
        {"sample_weight": np.arange(20) > 5, "rows": [0, 1]},
        "members[0].sample_weight must be above 0 in at least one row. Got all 0.",
    ),
    (
        {"sample_weight": np.arange(20) > 5, "validation_rows": [0, 1]},
        "members[0].sample_weight must be above 0 in at least one of validation_rows. Got all 0.",
    ),
    (
        {"head": Custom(lambda raw, y: (raw - y).mean()), "max_epochs": 1},
        "loss must return one error for each row, shape (1, 20). Got shape () from 'custom'. "
        "Sum over the last axis only.",
    ),
]


@pytest.mark.parametrize(("settings", "sentence"), WRONG_WITH_DATA)
def test_members_that_do_not_fit_the_data(settings, sentence):
    with pytest.raises((ParameterError, DataError), match=f"^{re.escape(sentence)}$"):
        begun(**settings)


def states(*sizes, **settings):
    return train([Member(sizes, max_epochs=1, **settings)], X, Y).states


WRONG_CALLS = [
    ({"members": []}, "members must hold at least one Member. Got none."),
    ({"members": 3}, "members must be a list of Member. Got 3."),
    ({"members": [Member(), "relu"]}, "members[1] must be a Member. Got 'relu'."),
    (
        {"backend": "gpu"},
        "backend must be one of 'auto', 'cpu', 'torch'. Got 'gpu'. Did you mean 'cpu'?",
    ),
    (
        {"dtype": "float16"},
        "dtype must be one of 'float32', 'float64'. Got 'float16'. Did you mean 'float64'?",
    ),
    (
        {"device": "abacus"},
        "device must be 'auto' or a device that torch can use here. Got 'abacus'.",
    ),
    ({"callbacks": len}, "callbacks must be a list of callables. Got <built-in function len>."),
    ({"callbacks": [3]}, "callbacks must be a list of callables. Got [3]."),
    (
        {"states": []},
        "states must have one entry for each of the 1 members. Got 0.",
    ),
    ({"states": [3]}, "states[0] must be None or a MemberState. Got 3."),
    (
        {"states": states(2, optimizer="sgd")},
        "states[0] must come from a member with the same optimizer. "
        "Got 1 moments where 2 are needed.",
    ),
    (
        {"states": states(4)},
        "states[0] must come from a member with the same layers, which have parameters of shapes "
        "[(2, 3), (1, 2), (2,), (1,)]. Got [(4, 3), (1, 4), (4,), (1,)].",
    ),
    (
        {"states": states(2, activation="prelu")},
        "states[0] must come from a member with the same layers, which have parameters of shapes "
        "[(2, 3), (1, 2), (2,), (1,)]. Got [(2, 3), (1, 2), (2,), (1,), (2,)].",
    ),
    (
        {"checkpoint": "no/such/folder/file"},
        "checkpoint must be in a folder that exists. Got 'no/such/folder/file'.",
    ),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG_CALLS)
def test_wrong_calls(arguments, sentence):
    members = arguments.pop("members", [Member((2,), max_epochs=1)])
    with pytest.raises((ParameterError, FileError), match=f"^{re.escape(sentence)}$"):
        train(members, X, Y, **arguments)


def test_a_single_member_is_no_list():
    with pytest.raises(ParameterError, match=r"^members must be a list of Member\. Got Member\("):
        train(Member(), X, Y)


def test_members_may_come_from_a_generator():
    result = train((Member((2,), seed=i, max_epochs=1) for i in range(3)), X, Y)
    assert result.status == ["epochs"] * 3


@pytest.mark.parametrize("init", [*INITIALISATIONS, Gaussian(0.3, 0.2)])
@pytest.mark.parametrize("seed", [0, 7, -1, 2**64 - 1])
def test_first_weights_are_the_initialisation_of_the_seed(init, seed):
    sizes, activations = (3, 5, 2, 1), (Tanh(), ReLU())
    expected = initialise(sizes, init, activations, generator(seed, INIT))
    net = begun(hidden_layer_sizes=(5, 2), activation=["tanh", "relu"], init=init, seed=seed)
    for (W, b), (V, c) in zip(net.layers(), expected, strict=True):
        np.testing.assert_array_equal(W, V)
        np.testing.assert_array_equal(b, c)


def test_first_weights_do_not_depend_on_wider_neighbours():
    members = [Member((n, 4), seed=5, init="he", max_epochs=0) for n in (30, 29, 31)]
    together = train(members, X, Y).networks
    for member, net in zip(members, together, strict=True):
        (alone,) = train([member], X, Y).networks
        for (W, b), (V, c) in zip(net.layers(), alone.layers(), strict=True):
            np.testing.assert_array_equal(W, V)
            np.testing.assert_array_equal(b, c)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_given_weights_are_where_training_begins(dtype):
    network = Network.from_arrays(LAYERS, "relu")
    lists = [(W.tolist(), b.tolist()) for W, b in LAYERS]
    for init in (LAYERS, tuple(LAYERS), lists, network):
        net = begun(dtype, init=init)
        assert str(net.dtype) == f"torch.{dtype}"
        for (W, b), (V, c) in zip(net.layers(), LAYERS, strict=True):
            np.testing.assert_array_equal(W, V)
            np.testing.assert_array_equal(b, c)
    before = [W.copy() for W, _ in LAYERS]
    train([Member((2,), init=LAYERS, max_epochs=3)], X, Y, dtype=dtype)
    for (W, _), V in zip(LAYERS, before, strict=True):
        np.testing.assert_array_equal(W, V)


def test_learned_slopes_begin_at_their_own_start_or_the_networks():
    assert begun(activation=PReLU(0.7)).slopes[0].tolist() == [0.7, 0.7]
    network = Network.from_arrays(LAYERS, "prelu", slopes=[np.array([0.1, -0.2]), None])
    assert begun(activation="prelu", init=network).slopes[0].tolist() == [0.1, -0.2]


def test_numbers_of_raw_outputs_follow_head_and_target():
    labels = np.arange(N_SAMPLES) % 4
    for head, y, n_raw in [
        (Categorical(), labels, 4),
        (Categorical(6), labels, 6),
        (Categorical(), np.eye(4)[labels], 4),
        (Categorical(), labels * 0, 2),
        (Normal(), np.eye(4)[labels], 4),
        (Custom(lambda raw, y: (raw - y).square().sum(-1), n_raw=3), Y, 3),
    ]:
        member = Member((2,), head=head, max_epochs=1)
        assert train([member], X, y).networks[0].sizes == (3, 2, n_raw)
