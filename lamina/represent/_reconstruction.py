"""Losses without negatives: reconstruct a corrupted row, say what was changed, align pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from lamina._checks import check_real
from lamina._errors import DataError

from ._loss import attach
from ._units import unit_rows, wide


@dataclass(frozen=True)
class DenoisingLoss:
    """The loss of a denoising autoencoder, its two parts and its gradients.

    Attributes
    ----------
    value : Tensor, a scalar
        Squared error plus weighted cross-entropy; differentiable where an input is.
    gradients : tuple of Tensor
        Derivatives on the reconstruction (n, D) and on the logits of the mask (n, D).
    squared_error : float
        Mean over cells. Of standardised columns, 1 is what their means achieve.
    mask_error : float
        Mean cross-entropy over cells, in nats.
    """

    value: Tensor
    gradients: tuple[Tensor, Tensor]
    squared_error: float
    mask_error: float

    def __float__(self) -> float:
        return self.value.item()


def denoising(
    reconstruction: Any, mask_logits: Any, clean: Any, mask: Any, *, mask_weight: float = 1.0
) -> DenoisingLoss:
    r"""Compute how well corrupted rows are restored, and how well it is seen what was changed.

    .. math:: E = \frac1{nD}\sum_{ij} (\hat x_{ij} - x_{ij})^2
              - \frac{w}{nD}\sum_{ij} \big[m_{ij}\ln\sigma(a_{ij})
              + (1 - m_{ij})\ln(1 - \sigma(a_{ij}))\big]

    Parameters
    ----------
    reconstruction : array or Tensor of shape (n, D)
        :math:`\hat x`.
    mask_logits : array or Tensor of shape (n, D)
        a, log-odds that a cell was changed.
    clean : array or Tensor of shape (n, D)
        x, the rows before corruption.
    mask : array or Tensor of bool of shape (n, D)
        m, which cells were changed; 0 and 1 will do.
    mask_weight : float, default=1.0
        w; 0 leaves reconstruction alone.

    Returns
    -------
    DenoisingLoss

    Raises
    ------
    DataError
        If shapes do not fit, a number is not finite or the mask holds other numbers.

    References
    ----------
    .. [1] J. Yoon et al., VIME: extending the success of self- and semi-supervised learning to
       tabular domain, NeurIPS 2020, https://proceedings.neurips.cc/paper/2020/hash/7d97667a3e056acab9aaf653807b4a03-Abstract.html

    Examples
    --------
    >>> loss = denoising([[1.0, 0.0]], [[9.0, -9.0]], [[0.0, 0.0]], [[True, False]])
    >>> print(f"{loss.squared_error:.2f} {loss.mask_error:.1e}")
    0.50 1.2e-04
    """
    weight = check_real("mask_weight", mask_weight, 0.0)
    given = {"reconstruction": reconstruction, "mask_logits": mask_logits, "clean": clean}
    checked = {name: wide(name, values).detach() for name, values in given.items()}
    shape = checked["reconstruction"].shape
    target = wide("mask", mask).detach()
    for name, tensor in {**checked, "mask": target}.items():
        if tensor.shape != shape:
            raise DataError(f"{name} must have shape {tuple(shape)}. Got {tuple(tensor.shape)}.")
    wrong = torch.nonzero((target != 0) & (target != 1))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise DataError(
            f"mask must hold truth values, or 0 and 1. Got {target[i, j].item():g} in row {i}."
        )
    dtype = torch.promote_types(checked["reconstruction"].dtype, checked["mask_logits"].dtype)
    x_hat, logits, x = (tensor.to(dtype) for tensor in checked.values())
    error, cross, to_x, to_logits = denoising_parts(x_hat, logits, x, target.to(dtype), weight)
    value = error + weight * cross
    return DenoisingLoss(
        value=attach(value, (to_x, to_logits), (reconstruction, mask_logits)),
        gradients=(to_x, to_logits),
        squared_error=error.item(),
        mask_error=cross.item(),
    )


def denoising_parts(
    x_hat: Tensor, logits: Tensor, x: Tensor, mask: Tensor, weight: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return squared error, cross-entropy, and the two gradients."""
    gap = x_hat - x
    error = gap.square().mean()
    cross = binary_cross_entropy_with_logits(logits, mask)
    to_logits = (torch.sigmoid(logits) - mask).mul_(weight / mask.numel())
    return error, cross, gap.mul_(2.0 / gap.numel()), to_logits


@dataclass(frozen=True)
class AlignmentLoss:
    """The mean squared distance of pairs, and its gradients.

    Attributes
    ----------
    value : Tensor, a scalar
        Between 0 and 4; differentiable where an input is.
    gradients : tuple of Tensor
        Derivatives on a and b, each of shape (n, d).
    """

    value: Tensor
    gradients: tuple[Tensor, Tensor]

    def __float__(self) -> float:
        return self.value.item()


def alignment(a: Any, b: Any) -> AlignmentLoss:
    r"""Compute how far the two embeddings of a pair lie apart on the unit sphere.

    .. math:: E = \frac1n\sum_i \lVert u_i - v_i\rVert^2
                = \frac1n\sum_i 2\,(1 - \cos(a_i, b_i))

    As a training loss it lacks negatives: an encoder that maps everything to one point has
    E = 0. It is here to show that, and to measure an encoder that was trained with negatives.

    Parameters
    ----------
    a, b : array or Tensor of shape (n, d)
        Embeddings, row i of one belongs to row i of the other.

    Returns
    -------
    AlignmentLoss

    Raises
    ------
    DataError
        If shapes do not fit or a number is not finite.

    References
    ----------
    .. [1] T. Wang, P. Isola, Understanding contrastive representation learning through alignment
       and uniformity on the hypersphere, ICML 2020, https://arxiv.org/abs/2005.10242

    Examples
    --------
    >>> float(alignment([[1.0, 0.0], [0.0, 2.0]], [[3.0, 0.0], [0.0, -1.0]]))
    2.0
    """
    left, right = wide("a", a).detach(), wide("b", b).detach()
    if left.shape != right.shape:
        raise DataError(f"b must have shape {tuple(left.shape)}. Got {tuple(right.shape)}.")
    dtype = torch.promote_types(left.dtype, right.dtype)
    u, v = unit_rows(left.to(dtype)), unit_rows(right.to(dtype))
    gap = u.units - v.units
    towards = gap * (2.0 / len(gap))
    gradients = (u.pull_back(towards), v.pull_back(-towards))
    value = gap.square().sum(1).mean()
    return AlignmentLoss(attach(value, gradients, (a, b)), gradients)
