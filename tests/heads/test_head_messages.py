"""Targets, counts of raw outputs, sentences, warnings and the registry."""

import math
import re
import warnings

import numpy as np
import pytest
import torch

from lamina._errors import DataError, FileError, ParameterError, ProbabilityWarning
from lamina.heads import (
    HEADS,
    Bernoulli,
    Categorical,
    Custom,
    FromDistribution,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
    floor_of_double_softmax,
    get_head,
    head_from_config,
)


def absolute(raw, y):
    return (raw - y).abs().sum(-1)


@pytest.mark.parametrize("head", [Normal(), Bernoulli(), Poisson(), Custom(absolute)])
def test_targets_become_float_columns(head):
    column = head.targets(np.array([0, 1, 1]))
    assert column.dtype == np.float64
    assert column.tolist() == [[0.0], [1.0], [1.0]]
    assert head.targets(np.ones((4, 2), dtype=bool)).shape == (4, 2)
    assert head.n_targets(np.ones(4)) == 1
    assert head.n_targets(np.ones((4, 2))) == 2
    assert head.n_raw(2) == 2


def test_categorical_targets_become_class_numbers():
    head = Categorical()
    assert head.targets(np.array([0.0, 2.0, 1.0])).tolist() == [0, 2, 1]
    assert head.targets(np.array([[2], [0]])).tolist() == [2, 0]
    assert head.targets(np.eye(3)[[2, 0, 1]]).tolist() == [2, 0, 1]
    assert head.targets(np.array([True, False])).dtype == np.int64
    assert head.n_targets(np.array([0, 3, 1])) == 4
    assert head.n_targets(np.eye(3)) == 3
    assert head.n_targets(np.array([[2.0], [0.0]])) == 3
    assert Categorical(5).n_targets(np.array([0, 1])) == 5
    assert head.n_raw(4) == 4


def test_custom_may_need_other_numbers_of_raw_outputs():
    assert Custom(absolute, n_raw=6).n_raw(2) == 6


WRONG_TARGETS = [
    (Normal(), [0.0, math.nan], "y must be finite. Got nan in row 1."),
    (Normal(), [[0.0, 1.0], [1.0, math.inf]], "y must be finite. Got inf in row 1, column 1."),
    (Normal(), ["a"], "y must be numbers. Got an array of type <U1."),
    (Normal(), [[[1.0]]], "y must have shape (N,) or (N, Q). Got (1, 1, 1)."),
    (Normal(), [1j], "y must be numbers. Got an array of type complex128."),
    (Bernoulli(), [0, 1, 2], "y must be 0 or 1. Got 2.0 in row 2."),
    (Poisson(), [1, -1], "y must be non-negative. Got -1.0 in row 1."),
    (Normal("per_row"), [0.0, math.nan], "y must be finite. Got nan in row 1."),
    (MultivariateNormal(), [[math.inf]], "y must be finite. Got inf in row 0."),
    (Mixture(), [math.nan], "y must be finite. Got nan in row 0."),
    (Mixture(component="bernoulli"), [0, 2], "y must be 0 or 1. Got 2.0 in row 1."),
    (Quantiles(), [math.nan], "y must be finite. Got nan in row 0."),
    (NegativeBinomial(), [1, -2], "y must be non-negative. Got -2.0 in row 1."),
    (FromDistribution(absolute, 1), [math.nan], "y must be finite. Got nan in row 0."),
    (Categorical(), [0, 0.5], "y must be whole numbers from 0. Got 0.5 in row 1."),
    (Categorical(), [-1], "y must be whole numbers from 0. Got -1.0 in row 0."),
    (Categorical(3), [0, 3], "y must be whole numbers from 0 to 2. Got 3.0 in row 1."),
    (Categorical(), [[0, 1], [1, 1]], "y must be one-hot rows. Got [1.0, 1.0] in row 1."),
]


@pytest.mark.parametrize(("head", "y", "sentence"), WRONG_TARGETS)
def test_wrong_targets_name_the_row(head, y, sentence):
    with pytest.raises(DataError, match=f"^{re.escape(sentence)}$"):
        head.targets(np.array(y))


SAVED = [
    *("bernoulli", "categorical", "mixture", "multivariate_normal", "negative_binomial"),
    *("normal", "poisson", "quantiles"),
]
READY = sorted([*SAVED, "heteroscedastic"])

WRONG_CALLS = [
    (lambda: Normal("share"), ParameterError, "scale must be one of 'per_row', 'shared', 'unit'. "
     "Got 'share'. Did you mean 'shared'?"),
    (lambda: Normal("shared", beta=0.5), ParameterError,
     "beta must be 0 unless scale is 'per_row'. Got 0.5 with scale='shared'."),
    (lambda: Normal("per_row", beta=2), ParameterError,
     "beta must be a finite number in [0, 1]. Got 2."),
    (lambda: Normal("per_row", min_scale=-1.0), ParameterError,
     "min_scale must be a finite number in [0, inf]. Got -1.0."),
    (lambda: MultivariateNormal("share"), ParameterError,
     "covariance must be one of 'per_row', 'shared'. Got 'share'. Did you mean 'shared'?"),
    (lambda: MultivariateNormal().mean(torch.ones(2, 4)), ParameterError,
     "raw must have T + T(T+1)/2 columns, so 2, 5, 9, 14, … Got 4."),
    (lambda: Mixture(0), ParameterError, "n_components must be an integer of at least 1. Got 0."),
    (lambda: Mixture(2, "diagonal"), ParameterError,
     "covariance_type must be one of 'diag', 'full', 'spherical'. Got 'diagonal'. Did you mean "
     "'diag'?"),
    (lambda: Mixture(2, component="poisson"), ParameterError,
     "component must be one of 'bernoulli', 'normal'. Got 'poisson'."),
    (lambda: Mixture(2, "full", component="bernoulli"), ParameterError,
     "covariance_type must be left as it is with component='bernoulli', whose bits are "
     "independent. Got 'full'."),
    (lambda: Mixture(2).mean(torch.ones(3, 5)), ParameterError,
     "raw must have (1 + T + number of scales) × 2 columns, the raw outputs of "
     "Mixture(n_components=2, covariance_type='spherical', component='normal', "
     "min_scale=0.001). Got 5."),
    (lambda: Mixture(2).error(torch.ones(3, 6), torch.ones(3, 2)), DataError,
     "raw must have shape (..., B, Q) with Q raw outputs for a row of y, whose shape is "
     "(..., B, T), here Q = 8. Got (3, 6) and (3, 2)."),
    (lambda: Mixture(2).error(torch.ones(3, 6), torch.ones(3)), DataError,
     "raw must have shape (..., B, Q) with Q raw outputs for a row of y, whose shape is "
     "(..., B, T). Got (3, 6) and (3,)."),
    (lambda: NegativeBinomial(shared=1), ParameterError,
     "shared must be True or False. Got 1."),
    (lambda: Quantiles(0.5), ParameterError, "levels must be a sequence of numbers. Got 0.5."),
    (lambda: Quantiles([]), ParameterError,
     "levels must be one or more numbers in increasing order. Got ()."),
    (lambda: Quantiles([0.5, 0.5]), ParameterError,
     "levels must be one or more numbers in increasing order. Got (0.5, 0.5)."),
    (lambda: Quantiles([0.5, 1.0]), ParameterError,
     "levels[1] must be a finite number in (0, 1). Got 1.0."),
    (lambda: Bernoulli(label_noise=0.5), ParameterError,
     "label_noise must be a finite number in [0, 0.5). Got 0.5."),
    (lambda: Bernoulli(label_noise="learnt"), ParameterError,
     "label_noise must be 'learn' or a number in [0, 0.5). Got 'learnt'."),
    (lambda: Categorical(4, label_noise=0.75), ParameterError,
     "label_noise must be a finite number in [0, 0.75). Got 0.75."),
    (lambda: Categorical(label_noise=0.6).n_raw(2), ParameterError,
     "label_noise must be a finite number in [0, 0.5). Got 0.6."),
    (lambda: Categorical(label_noise=0.6).error(torch.ones(2, 2), torch.tensor([0, 1])),
     ParameterError, "label_noise must be a finite number in [0, 0.5). Got 0.6."),
    (lambda: FromDistribution(3, 1), ParameterError,
     "make must be a function of raw. Got 3."),
    (lambda: FromDistribution(absolute, 0), ParameterError,
     "n_raw must be an integer of at least 1. Got 0."),
    (lambda: FromDistribution(absolute, 1, name="mine")._to_config(), ParameterError,
     "head must be one of lamina's to be saved. Got 'mine', a Python function, and a saved model "
     "holds no code."),
    (lambda: Categorical(1), ParameterError,
     "n_classes must be an integer of at least 2. Got 1."),
    (lambda: Categorical(label_smoothing=1.0), ParameterError,
     "label_smoothing must be a finite number in [0, 1). Got 1.0."),
    (lambda: Categorical(3).n_raw(4), ParameterError,
     "n_classes must be the number of classes in y, 4. Got 3."),
    (lambda: Custom(3), ParameterError, "loss must be a function of raw and y. Got 3."),
    (lambda: Custom(absolute, n_raw=0), ParameterError,
     "n_raw must be an integer of at least 1. Got 0."),
    (lambda: Custom(absolute).distribution(torch.ones(2, 1)), ParameterError,
     "head must be one with a distribution. Got the loss 'custom'. Use a subclass of Head that "
     "defines one, or ask for mean only."),
    (lambda: Custom(absolute)._to_config(), ParameterError,
     "head must be one of lamina's to be saved. Got the loss 'custom', a Python function, and a "
     "saved model holds no code."),
    (lambda: Custom(lambda raw, y: raw - y).error(torch.ones(2, 1), torch.ones(2, 1)),
     ParameterError, "loss must return one error for each row, shape (2,). Got shape (2, 1) from "
     "'custom'. Sum over the last axis only."),
    (lambda: Custom(absolute).error(torch.ones(2, 1), torch.ones(3, 1)), DataError,
     "raw and y must have shapes (..., B, Q) and (..., B, T) with as many rows. Got (2, 1) and "
     "(3, 1)."),
    (lambda: Normal().error(torch.ones(3, 1), torch.ones(3)), DataError,
     "raw and y must both have shape (..., B, Q). Got (3, 1) and (3,). Reshape a single target "
     "to (B, 1)."),
    (lambda: Categorical().error(torch.ones(3, 2), torch.ones(4).long()), DataError,
     "raw must have shape (..., B, K) and y (..., B) with class numbers or (..., B, K) with "
     "one-hot rows. Got (3, 2) and (4,)."),
    (lambda: Categorical().error(torch.ones(2, 2), torch.tensor([0, 2])), DataError,
     "y must be class numbers from 0 to 1, one for each raw output. Got values from 0 to 2."),
    (lambda: get_head("poison"), ParameterError,
     f"head must be one of {', '.join(map(repr, READY))}. Got 'poison'. Did you mean "
     "'poisson'?"),
    (lambda: get_head(3), ParameterError,
     f"head must be a Head or one of {READY}. Got 3."),
    (lambda: head_from_config({"name": "os.system"}), FileError,
     f"head must be one of {SAVED}. Got 'os.system'."),
    (lambda: head_from_config({"name": "poisson", "x": 1}), FileError,
     "head 'poisson' must have only parameters that this version knows. Got ['x']."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "sentence"), WRONG_CALLS)
def test_wrong_calls_get_one_sentence(call, kind, sentence):
    with pytest.raises(kind, match=f"^{re.escape(sentence)}$"):
        call()


def test_a_scale_for_each_row_has_a_name_of_its_own():
    assert get_head("heteroscedastic") == Normal("per_row")


@pytest.mark.parametrize("name", SAVED)
def test_names_give_heads_with_default_parameters(name):
    head = get_head(name)
    assert type(head) is HEADS[name]
    assert get_head(head) is head
    assert hash(head) == hash(get_head(name))


@pytest.mark.parametrize(
    "head", [Normal(), Bernoulli(), Categorical(4, label_smoothing=0.1), Poisson()], ids=repr
)
def test_configurations_return(head):
    assert head_from_config(head._to_config()) == head


def test_softmax_given_as_logits_warns_with_the_numbers():
    logits = torch.tensor([[10.0, 0.0, 0.0]])
    y = torch.tensor([0])
    head = Categorical()
    assert f"{head.error(logits, y).item():.0e}" == "9e-05"
    with pytest.warns(ProbabilityWarning, match=r"9e-05.*0\.5515.*0\.5514"):
        wrong = head.error(logits.softmax(-1), y)
    assert wrong.item() == pytest.approx(0.5515, abs=5e-5)
    assert wrong.item() > floor_of_double_softmax(3)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_the_floor_is_attained_by_one_hot_probabilities(n_classes):
    raw = torch.eye(n_classes, dtype=torch.float64)
    error = Categorical()._error(raw, torch.arange(n_classes))
    assert error.tolist() == pytest.approx([floor_of_double_softmax(n_classes)] * n_classes)


def test_sigmoid_given_as_logits_warns():
    y = torch.tensor([[0.0], [1.0]]).repeat(20, 1)
    logits = torch.where(y > 0, 4.0, -4.0)
    Bernoulli().error(logits, y)
    with pytest.warns(ProbabilityWarning, match=r"5e-05.*0\.3133"):
        Bernoulli().error(logits.sigmoid(), y)


def test_the_warning_points_at_the_caller():
    with pytest.warns(ProbabilityWarning) as record:
        Categorical().error(torch.full((4, 2), 0.5), torch.zeros(4).long())
    assert record[0].filename == __file__


def test_true_logits_do_not_warn():
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # calibrated logits that all lie in [0, 1]
        raw = torch.from_numpy(rng.uniform(0, 1, (400, 1)))
        y = (torch.from_numpy(rng.uniform(size=(400, 1))) < raw.sigmoid()).double()
        Bernoulli().error(raw, y)
        Bernoulli().error(torch.zeros(50, 1), torch.ones(50, 1))
        Categorical().error(torch.zeros(50, 3), torch.zeros(50).long())
        Categorical().error(torch.from_numpy(rng.uniform(0, 1, (5, 3))), torch.zeros(5).long())
        Categorical().error(torch.zeros(0, 3), torch.zeros(0).long())
