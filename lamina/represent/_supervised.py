"""Contrastive learning where labels say what belongs together."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ._labels import id_numbers
from ._loss import ContrastiveLoss, attach, check_temperature, warn_of_skipped, warn_of_zeros
from ._units import UnitRows, unit_rows, wide

NO_POSITIVE = "no other row of the batch has their label"


def supervised_contrastive(z: Any, labels: Any, temperature: float = 0.1) -> ContrastiveLoss:
    r"""Compute the supervised contrastive loss: rows of one label are each other's positives.

    With :math:`s_{ij}` the cosine of rows i and j and :math:`P_i` the other rows of i's label,

    .. math:: E = -\frac1{|A|} \sum_{i \in A} \frac1{|P_i|} \sum_{p \in P_i} \ln
              \frac{e^{s_{ip}/\tau}}{\sum_{j \ne i} e^{s_{ij}/\tau}},
              \qquad A = \{i : P_i \ne \emptyset\}.

    With the number of the instance as the label, and two views of each, it is NT-Xent. A batch
    of a single label is defined as well: it has positives only, and spreads them evenly.

    Parameters
    ----------
    z : array or Tensor of shape (n, d)
        Embeddings, all views one below the other.
    labels : array of shape (n,)
        Numbers, texts or truth values, none missing.
    temperature : float, default=0.1
        τ, above 0.

    Returns
    -------
    ContrastiveLoss
        With the gradient for z. A label met once has no positive; such anchors are left out of
        the mean and counted, and are still negatives of the others.

    Raises
    ------
    DataError
        If shapes do not fit, a number is not finite, or a label is missing.
    ParameterError
        If the temperature is below 1e-30.

    Warns
    -----
    DataWarning
        If anchors are left out, or rows are zero.

    References
    ----------
    .. [1] P. Khosla et al., Supervised contrastive learning, NeurIPS 2020,
       https://arxiv.org/abs/2004.11362

    Examples
    --------
    >>> z = [[1.0, 0.0], [1.0, 0.1], [-1.0, 0.0], [-1.0, 0.1]]
    >>> good = supervised_contrastive(z, ["cat", "cat", "dog", "dog"])
    >>> bad = supervised_contrastive(z, ["cat", "dog", "cat", "dog"])
    >>> print(f"{float(good):.1e} {float(bad):.1f}")
    4.7e-09 19.9
    """
    scale = 1.0 / check_temperature(temperature)
    embeddings = wide("z", z).detach()
    n = len(embeddings)
    codes = id_numbers(labels, n, "labels").reshape(n, -1).to(embeddings.device)
    positives = positives_of(codes)
    units = unit_rows(embeddings)
    value, gradient = supervised_loss(units, positives, scale)
    n_anchors = int(positives.any(1).sum())
    n_zeros = units.n_zero_rows
    warn_of_zeros(n_zeros)
    warn_of_skipped(n - n_anchors, n, NO_POSITIVE)
    collapse, floor = supervised_references(positives, scale)
    return ContrastiveLoss(
        value=attach(value, (gradient,), (z,)),
        gradients=(gradient,),
        n_anchors=n_anchors,
        n_skipped=n - n_anchors,
        n_zero_rows=n_zeros,
        collapse=collapse,
        floor=floor,
    )


def positives_of(codes: Tensor, same: Tensor | None = None) -> Tensor:
    """Return which other rows (n, n) have the codes (n,) or (n, m) of a row.

    Rows that are the ``same`` (n, n) are positives as well where the code of one is below 0,
    which stands for an unknown class.
    """
    columns = codes.reshape(len(codes), -1)
    positives = (columns[:, None] == columns[None]).all(2)
    if same is not None:
        unknown = (columns < 0).any(1)
        positives |= same & (unknown[:, None] | unknown[None])
    return positives.fill_diagonal_(False)


def supervised_loss(z: UnitRows, positives: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Return value and gradient for rows of unit length."""
    n_positives = positives.sum(1, keepdim=True)
    counts = n_positives > 0
    # of the precision of z: a float divided by a whole number would be float32
    n_anchors = counts.sum().clamp_min(1).to(z.units.dtype)
    # The anchor itself is no candidate. A batch of one row would be left without any.
    logits = (z.units @ z.units.mT * scale).fill_diagonal_(-math.inf if len(z.units) > 1 else 0.0)
    log_p = torch.log_softmax(logits, 1)
    share = positives.to(log_p.dtype) / n_positives.clamp_min(1)
    value = -(log_p.masked_fill(~positives, 0.0) * share).sum() / n_anchors + 0.0
    delta = (log_p.exp() - share).masked_fill(~counts, 0.0) * (scale / n_anchors)
    return value, z.pull_back((delta + delta.mT) @ z.units)


def supervised_references(positives: Tensor, scale: float) -> tuple[float, float]:
    """Return the loss at collapse, ln(n − 1), and a floor: positives at 1, the rest at −1."""
    n = len(positives)
    k = positives.sum(1).double()
    k = k[k > 0]
    if len(k) == 0:
        return 0.0, 0.0
    return math.log(n - 1), torch.log(k + (n - 1 - k) * math.exp(-2.0 * scale)).mean().item()
