"""PopART's Python interface over Podium: scripts that were written for PopART run after

    import podium.popart as popart

Models are built by ``Builder``, sessions run and train on the CPU and are clocked on the device that ``DeviceManager``
describes. What of PopART is not here raises ``podium.Error`` with its name.
"""

from typing import Any

from .._native import Error, InternalError
from .builder import Builder
from .devices import DeviceInfo, DeviceManager
from .enums import *  # noqa: F403
from .losses import IdentityLoss, L1Loss, Loss, NllLoss
from .optimizers import (
    SGD,
    Adam,
    Adaptive,
    ClipNormSettings,
    ConstSGD,
    Lamb,
    Optimizer,
    OptimizerValue,
)
from .options import (
    AccumulateOuterFragmentSettings,
    AutodiffSettings,
    AutomaticLossScalingSettings,
    BatchSerializationSettings,
    CommGroup,
    ExecutionPhaseSettings,
    ReplicatedCollectivesSettings,
    SessionOptions,
    TensorLocation,
    TensorLocationSettings,
)
from .patterns import Patterns
from .sessions import InferenceSession, OutOfMemoryException, TrainingSession
from .tensors import (
    AnchorReturnType,
    DataFlow,
    InputShapeInfo,
    PyStepIO,
    PyStepIOCallback,
    PyWeightsIO,
    TensorInfo,
    VariableSettings,
)
from .tensors import input_settings as InputSettings
from .transformer import GraphTransformer

popart_exception = Error
popart_runtime_error = Error
popart_internal_exception = InternalError
defaultAiOnnxOpset = 10
defaultAiGraphcoreOpset = 1


class Logger:
    """Of a part of PopART's compiler, which Podium does not have: it takes levels and writes nothing."""

    def setLevel(self, level: str) -> None:
        """TRACE, DEBUG, INFO, WARN, ERR, CRITICAL or OFF."""
        if level not in ("TRACE", "DEBUG", "INFO", "WARN", "ERR", "CRITICAL", "OFF"):
            raise Error(f"level '{level}' found, TRACE, DEBUG, INFO, WARN, ERR, CRITICAL or OFF needed")


def getLogger(name: str = "all") -> Logger:
    """Of a part by its name."""
    return Logger()


def reservedGradientPrefix() -> str:
    """Of the gradient of a tensor."""
    return "Gradient___"


def reservedRestoredPrefix() -> str:
    """Of what a pipeline restores."""
    return "Restored___"


def reservedAcclPrefix() -> str:
    """Of the velocity of SGD that accumulates into it."""
    return "Accl___"


def reservedAccumPrefix() -> str:
    """Of what gradients are accumulated in."""
    return "Accum___"


def reservedAccl1Prefix() -> str:
    """Of an optimizer's first state."""
    return "Accl1___"


def reservedAccl2Prefix() -> str:
    """Of an optimizer's second state."""
    return "Accl2___"


def reservedStepPrefix() -> str:
    """Of an optimizer's count of steps."""
    return "Step___"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"podium.popart has no '{name}'")


__all__ = [
    "SGD",
    "AccumulateOuterFragmentSettings",
    "Adam",
    "Adaptive",
    "AnchorReturnType",
    "AutodiffSettings",
    "AutomaticLossScalingSettings",
    "BatchSerializationSettings",
    "Builder",
    "ClipNormSettings",
    "CommGroup",
    "ConstSGD",
    "DataFlow",
    "DeviceInfo",
    "DeviceManager",
    "Error",
    "ExecutionPhaseSettings",
    "GraphTransformer",
    "IdentityLoss",
    "InferenceSession",
    "InputSettings",
    "InputShapeInfo",
    "InternalError",
    "L1Loss",
    "Lamb",
    "Loss",
    "NllLoss",
    "Optimizer",
    "OptimizerValue",
    "OutOfMemoryException",
    "Patterns",
    "PyStepIO",
    "PyStepIOCallback",
    "PyWeightsIO",
    "ReplicatedCollectivesSettings",
    "SessionOptions",
    "TensorInfo",
    "TensorLocation",
    "TensorLocationSettings",
    "TrainingSession",
    "VariableSettings",
    "popart_exception",
    "popart_internal_exception",
    "popart_runtime_error",
]
