"""Losses as objects, as scripts of PopART 1 have them: a session appends their ops to the model and trains their sum."""

from typing import Any, List, Mapping, Sequence, Union

import onnx
from onnx import helper

from .._native import Error
from .enums import ReductionType
from .ops import written
from .tensors import InputShapeInfo

_SUM = "finalLoss"


class Loss:
    """What all have: the tensors that the loss reads, the one that it makes, and where it runs."""

    def __init__(self, type: str, inputs: Sequence[str], output: str, attributes: Mapping[str, Any]) -> None:
        self._type = type
        self._inputs = list(inputs)
        self._output = output
        self._attributes = dict(attributes)

    def input(self, index: int) -> str:
        """The name of a tensor that the loss reads."""
        return self._inputs[index]

    def output(self, index: int) -> str:
        """The name of the loss, which can be an anchor."""
        return [self._output][index]

    def virtualGraph(self, ipu: int) -> None:
        """The IPU that computes the loss."""
        self._attributes["__ipu_number"] = int(ipu)

    def pipelineStage(self, stage: int) -> None:
        """The stage that computes the loss."""
        self._attributes["__pipeline_stage"] = int(stage)

    def placement(self) -> Mapping[str, Any]:
        """What virtualGraph and pipelineStage have set, as attributes of a node."""
        return {key: value for key, value in self._attributes.items() if key.startswith("__")}

    def node(self) -> onnx.NodeProto:
        """The op of ai.graphcore that computes the loss."""
        made = helper.make_node(self._type, self._inputs, [self._output], domain="ai.graphcore")
        made.attribute.extend(written(key, value) for key, value in self._attributes.items())
        return made


class NllLoss(Loss):
    """``NllLoss(probabilities, labels, output, ignore_index, reduction)``, with or without the index."""

    def __init__(
        self,
        probabilities: str,
        labels: str,
        output: str,
        *index_and_reduction: Any,
        ignore_index: Any = None,
        reduction: Any = ReductionType.Sum,
    ) -> None:
        for given in index_and_reduction:
            if isinstance(given, int):
                ignore_index = given
            else:
                reduction = given
        attributes = {"reduction": reduction}
        if ignore_index is not None:
            attributes["ignoreIndex"] = int(ignore_index)
        super().__init__("Nll", [probabilities, labels], output, attributes)

    def probsTensorId(self) -> str:
        """The probabilities."""
        return self.input(0)

    def labelTensorId(self) -> str:
        """The labels."""
        return self.input(1)


class L1Loss(Loss):
    """``L1Loss(input, output, lambda, reduction)``."""

    def __init__(self, input: str, output: str, factor: float, reduction: Any = ReductionType.Sum) -> None:
        super().__init__("L1", [input], output, {"lambda": float(factor), "reduction": reduction})

    def getInputId(self) -> str:
        """What the norm is taken of."""
        return self.input(0)

    def getLambda(self) -> float:
        """The factor of the norm."""
        return float(self._attributes["lambda"])


class IdentityLoss(Loss):
    """``IdentityLoss(input, output, reduction)``: a loss that the model has computed."""

    def __init__(self, input: str, output: str, reduction: Any = ReductionType.Sum) -> None:
        super().__init__("IdentityLoss", [input], output, {"reduction": reduction})

    def getInputId(self) -> str:
        """What the model has computed."""
        return self.input(0)


def listed(losses: Union[Loss, Sequence[Loss], None]) -> List[Loss]:
    """One loss or several; none where nothing is given."""
    found = [] if losses is None else [losses] if isinstance(losses, Loss) else list(losses)
    for loss in found:
        if not isinstance(loss, Loss):
            raise Error(f"losses: {type(loss).__name__} found, losses such as NllLoss needed")
    return found


def append(model: onnx.ModelProto, losses: Sequence[Loss], shapes: InputShapeInfo) -> str:
    """Appends the ops of the losses, and of several their sum; gives the name of what is to become small. An input that
    only a loss reads, the labels, is one of the model where `shapes` has it."""
    graph = model.graph
    known = {name for node in graph.node for name in node.output}
    known.update(value.name for value in [*graph.input, *graph.initializer])
    for loss in losses:
        node = loss.node()
        for name in node.input:
            if name in known:
                continue
            if not shapes.has(name):
                raise Error(f"loss '{loss.output(0)}': '{name}' is no tensor of the model")
            info = shapes.get(name)
            graph.input.append(helper.make_tensor_value_info(name, info.element, info.shape()))
            known.add(name)
        graph.node.append(node)
        known.update(node.output)
    if not any(entry.domain == "ai.graphcore" for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid("ai.graphcore", 1))
    if len(losses) == 1:
        return losses[0].output(0)
    total = helper.make_node("Sum", [loss.output(0) for loss in losses], [_SUM])
    total.attribute.extend(written(key, value) for key, value in losses[-1].placement().items())
    graph.node.append(total)
    return _SUM
