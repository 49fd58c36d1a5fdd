"""Many networks as one program: members, optimisers, schedules, and `train`."""

from ._checkpoint import Checkpoint
from ._extension import EngineInfo, engine_info
from ._member import Member
from ._network_engine import NetworkEngine
from ._optimizers import (
    LBFGS,
    OPTIMIZERS,
    SGD,
    Adam,
    AdamW,
    Muon,
    Optimizer,
    RMSprop,
    get_optimizer,
)
from ._result import EpochReport, MemberState, StackResult, Unfinished
from ._schedules import (
    SCHEDULES,
    Adaptive,
    Constant,
    Cosine,
    InverseScaling,
    OneCycle,
    Schedule,
    get_schedule,
)
from ._train import train

__all__ = [
    "LBFGS",
    "OPTIMIZERS",
    "SCHEDULES",
    "SGD",
    "Adam",
    "AdamW",
    "Adaptive",
    "Checkpoint",
    "Constant",
    "Cosine",
    "EngineInfo",
    "EpochReport",
    "InverseScaling",
    "Member",
    "MemberState",
    "Muon",
    "NetworkEngine",
    "OneCycle",
    "Optimizer",
    "RMSprop",
    "Schedule",
    "StackResult",
    "Unfinished",
    "engine_info",
    "get_optimizer",
    "get_schedule",
    "train",
]
