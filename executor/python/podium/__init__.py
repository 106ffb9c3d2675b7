"""Podium from Python: load, place, run, train and compare ONNX models.

    import podium

    model = podium.load("bert.onnx")
    model.annotate(auto="pipeline", ipus=4)
    session = podium.InferenceSession(model, device="ipu-pod16", pipeline=True, batches_per_step=8)
    outputs = session.run({"ids": ids})
    print(session.report()["samplesPerSecond"])

Options are those of the command line, with underscores (``podium run --help``), or a dict with PopART's names under
``options=``. What is wrong with what was given raises ``podium.Error``, with the line that the command line prints.
"""

from ._native import Error, InternalError, versions
from .comparison import Comparison, compare, estimate
from .device import Device
from .model import Model, NodeArg, load
from .optimizers import (
    SGD,
    AdaDelta,
    AdaGrad,
    Adam,
    AdaMax,
    AdamW,
    Lamb,
    Lion,
    Optimizer,
    RMSProp,
)
from .report import Report
from .sessions import InferenceSession, TrainingSession

__all__ = [
    "AdaDelta",
    "AdaGrad",
    "AdaMax",
    "Adam",
    "AdamW",
    "Comparison",
    "Device",
    "Error",
    "InferenceSession",
    "InternalError",
    "Lamb",
    "Lion",
    "Model",
    "NodeArg",
    "Optimizer",
    "RMSProp",
    "Report",
    "SGD",
    "TrainingSession",
    "compare",
    "estimate",
    "load",
    "versions",
]
