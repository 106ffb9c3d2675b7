"""Strategies side by side."""

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._native import _podium
from .arguments import DeviceLike, OptionsLike, request
from .model import load
from .optimizers import Optimizer
from .report import Report
from .sessions import InferenceSession, TrainingSession


class Comparison(List[Dict[str, Any]]):
    """Records, best first, that ``pandas.DataFrame`` takes; `full` has the whole report of each."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(_record(entry) for entry in document["strategies"])
        self.full: Sequence[Mapping[str, Any]] = document["strategies"]


_FACTS = {
    "fits": "fits",
    "seconds": "seconds",
    "samples_per_second": "samplesPerSecond",
    "utilisation": "utilisation",
    "processors": "processorsPerReplica",
    "replicas": "replicas",
    "bottleneck": "bottleneck",
    "bytes_sent": "bytesSent",
}


def _record(entry: Mapping[str, Any]) -> Dict[str, Any]:
    run = entry.get("run", {})
    record = {"name": entry["name"], **{name: run.get(field) for name, field in _FACTS.items()}}
    peaks = [processor["memory"]["peak"] for processor in run.get("processors", [])]
    return {
        **record,
        "largest_memory": max(peaks) if peaks else None,
        "difference": entry.get("difference"),
        "refused": entry.get("refused"),
    }


def compare(
    model: Any,
    *,
    strategies: Optional[Sequence[Mapping[str, Any]]] = None,
    device: Optional[DeviceLike] = None,
    options: Optional[OptionsLike] = None,
    dims: Optional[Mapping[str, int]] = None,
    optimizer: Union[Optimizer, str, None] = None,
    target: Optional[str] = None,
    **keywords: Any,
) -> Comparison:
    """Clocks and runs the model under strategies and holds the numbers against those of one processor.

    `strategies` are records with "name", "options" and "annotate", those that make sense on the device if absent.
    ``train=True`` with a loss and an optimizer compares steps of training. Other keywords are flags of
    ``podium compare``.
    """
    loaded = load(model, dims=dims)
    known: Dict[str, Any] = {**keywords, "optimizer": None if optimizer is None else str(optimizer)}
    if target is not None:
        known["target"] = {target: "arrays"}
    words, document, machine = request(device, options, known)
    chosen = "" if strategies is None else json.dumps(list(strategies))
    return Comparison(json.loads(_podium.compare(loaded._native, words, document, machine, chosen)))


def estimate(model: Any, **keywords: Any) -> Report:
    """The report of a step that is only clocked: the model may lack its weights. Keywords are those of a session; with
    a loss, of one that trains."""
    trains = "loss" in keywords or "loss_tensor" in keywords
    make: Any = TrainingSession if trains else InferenceSession
    session: Union[InferenceSession, TrainingSession] = make(model, estimate=True, **keywords)
    return session.report()
