"""A user's own distribution as a head: shapes, sentences, rows that are not finite."""

import math
import re

import pytest
import torch
from torch import distributions as td
from torch.nn import functional as F

from lamina._errors import DataError, ParameterError
from lamina.heads import FromDistribution, Normal


def positive(raw):
    return F.softplus(raw) + 1e-3


def unit(raw):
    return td.Normal(raw[..., 0], 1.0)


def gamma(raw):
    return td.Gamma(positive(raw[..., 0]), positive(raw[..., 1]))


def test_a_single_target_needs_no_event_axis():
    raw, y = torch.randn(3, 5, 1), torch.randn(5, 1)
    head = FromDistribution(unit, 1)
    got, expected = head.error_and_gradient(raw, y), Normal().error_and_gradient(raw, y)
    torch.testing.assert_close(got[0], expected[0])
    torch.testing.assert_close(got[1], expected[1])
    assert torch.equal(head.mean(raw), raw)
    torch.testing.assert_close(head.score(raw, y), -got[0].double().mean(-1))


def test_a_row_that_is_not_finite_does_not_stop_the_others():
    raw = torch.tensor([[0.0, 1.0], [torch.nan, 1.0], [torch.inf, 0.0]])
    error, gradient = FromDistribution(gamma, 2).error_and_gradient(raw, torch.ones(3, 1))
    assert error.isnan().tolist() == [False, True, True]
    assert gradient[0].isfinite().all()


SENTENCES = [
    (lambda raw: td.Normal(raw, 1.0), ParameterError,
     "make must return distributions of batch shape (2,), one for each row. Got (2, 1) from "
     "'mine'. Wrap it into torch.distributions.Independent if its last axis is one of targets."),
    (lambda raw: raw, ParameterError,
     "make must return a torch.distributions.Distribution. Got Tensor from 'mine'."),
    (lambda raw: td.Independent(td.Normal(raw.expand(-1, 3), 1.0), 1), ParameterError,
     "make must return distributions of event shape (1,), the columns of y. Got (3,) from "
     "'mine'."),
    (lambda raw: td.Normal(raw[..., 0], 0.0 * raw[..., 0]), ParameterError,
     "make must return a distribution for all finite raw outputs. 'mine' says: "),
    (lambda raw: td.Gamma(raw[..., 0].exp(), 1.0), DataError,
     "y must be in the support of Gamma, which 'mine' returns: "),
]  # fmt: skip


@pytest.mark.parametrize(("make", "kind", "sentence"), SENTENCES)
def test_what_make_does_wrong_is_said_in_one_sentence(make, kind, sentence):
    head = FromDistribution(make, 1, name="mine")
    with pytest.raises(kind, match=f"^{re.escape(sentence)}"):
        head.error(torch.ones(2, 1), -torch.ones(2, 1))


def test_a_distribution_without_a_mean_says_so():
    def make(raw):
        base = td.Normal(raw[..., 0], 1.0)
        return td.TransformedDistribution(base, [td.ExpTransform()])

    head = FromDistribution(make, 1, name="mine")
    assert math.isfinite(head.error(torch.ones(1, 1), torch.ones(1, 1)).item())
    with pytest.raises(ParameterError, match=r"^head must be one with a mean\. Got Transformed"):
        head.mean(torch.ones(1, 1))
