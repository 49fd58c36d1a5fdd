"""Objectives of representation learning, samplers of pairs, and reports of what was learned."""

from ._contrastive_training import ContrastiveTraining
from ._corruption import corrupt
from ._cross_modal_training import CrossModalTraining
from ._denoising_training import DenoisingTraining
from ._image_views import check_image_shape, crop, recolour, rotate, shift
from ._in_batch import cross_modal, in_batch_info_nce
from ._info_nce import info_nce
from ._loss import ContrastiveLoss
from ._multitask_head import MultitaskHead
from ._probe import linear_probe, nearest_neighbours_accuracy
from ._reconstruction import AlignmentLoss, DenoisingLoss, alignment, denoising
from ._reference import collapse_value, floor_value
from ._report import RepresentationResult, report
from ._samplers import ClassBatches, InstanceBatches, row_ids
from ._supervised import supervised_contrastive
from ._training import Training
from ._units import cosine_similarities, normalise

__all__ = [
    "AlignmentLoss",
    "ClassBatches",
    "ContrastiveLoss",
    "ContrastiveTraining",
    "CrossModalTraining",
    "DenoisingLoss",
    "DenoisingTraining",
    "InstanceBatches",
    "MultitaskHead",
    "RepresentationResult",
    "Training",
    "alignment",
    "check_image_shape",
    "collapse_value",
    "corrupt",
    "cosine_similarities",
    "crop",
    "cross_modal",
    "denoising",
    "floor_value",
    "in_batch_info_nce",
    "info_nce",
    "linear_probe",
    "nearest_neighbours_accuracy",
    "normalise",
    "recolour",
    "report",
    "rotate",
    "row_ids",
    "shift",
    "supervised_contrastive",
]
