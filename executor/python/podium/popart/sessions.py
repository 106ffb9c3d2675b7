"""Sessions with PopART's calls, over those of Podium.

The model's outputs are the anchors (and the loss); weights are kept on the host as PopART keeps them: weightsToHost
and weightsFromHost move them, readWeights, writeWeights, modelToHost and resetHostWeights work on those of the host.
"""

import os
import tempfile
from typing import Any, Dict, List, Optional, Sequence, Union

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from .. import sessions as podium_sessions
from .._native import Error
from ..model import load
from .builder import read_model
from .devices import DeviceInfo
from .enums import AnchorReturnTypeId, CommGroupType, DeviceType, SyncPattern, VariableRetrievalMode
from .losses import Loss, append, listed
from .ops import element_of
from .optimizers import Optimizer, text_of
from .options import CommGroup, SessionOptions
from .patterns import Patterns
from .proto import give, with_shapes, write
from .tensors import DataFlow, InputShapeInfo, PyWeightsIO, TensorInfo, VariableSettings, fill


class OutOfMemoryException(Error):
    """The model does not fit the device; getSummaryReport() says how far."""

    def __init__(self, message: str, report: str) -> None:
        super().__init__(message)
        self._report = report

    def getSummaryReport(self) -> str:
        """The memory of each IPU."""
        return self._report


def _count(port: Any) -> int:
    return int(np.prod(port.shape, dtype=np.int64))


class _Session:
    """What both sessions have. `losses` are objects as PopART 1 had them; dataFeed was dataFlow's name there."""

    _native: Any

    def __init__(
        self,
        fnModel: Any,
        dataFlow: Optional[DataFlow],
        deviceInfo: Optional[DeviceInfo],
        inputShapeInfo: Optional[InputShapeInfo],
        patterns: Optional[Patterns],
        userOptions: Optional[SessionOptions],
        name: str,
        losses: Sequence[Loss],
    ) -> None:
        if not isinstance(deviceInfo, DeviceInfo):
            raise Error(f"deviceInfo: {type(deviceInfo).__name__} found, a device of DeviceManager needed")
        if not isinstance(dataFlow, DataFlow):
            raise Error(f"dataFlow: {type(dataFlow).__name__} found, a DataFlow needed")
        self.name = name
        self.dataFlow = dataFlow
        self.options = userOptions or SessionOptions()
        self._device = deviceInfo
        self._model = onnx.ModelProto()
        self._model.CopyFrom(read_model(fnModel))
        shapes = inputShapeInfo or InputShapeInfo()
        self._total = append(self._model, losses, shapes) if losses else ""
        with_shapes(self._model, shapes)
        self._patterns = patterns or Patterns()
        self._seed: Optional[int] = None
        self._has_run = False
        self._host = {tensor.name: numpy_helper.to_array(tensor) for tensor in self._model.graph.initializer}

    def _document(self) -> Dict[str, Any]:
        document = self.options.document()
        document["batchesPerStep"] = self.dataFlow.batchesPerStep()
        document["anchors"] = {name: self.dataFlow.art(name).document() for name in self.dataFlow.anchors()}
        if self._device.type is not DeviceType.Cpu:
            document["numIPUs"] = self._device.numIpus
        if self._device.syncPattern is not SyncPattern.Full:
            document["syncPattern"] = self._device.syncPattern.value
        return document

    def _load(self, model: onnx.ModelProto) -> None:
        self._loaded_model = load(model)
        for port in self._loaded_model.inputs:
            if port.shape is None or None in port.shape:
                raise Error(f"Input tensor '{port.name}' must be specified in InputShapeInfo, as it has shape {port.shape}")

    def _made(self) -> Any:
        raise NotImplementedError

    def setRandomSeed(self, seed: int) -> None:
        """Of ops that draw numbers; before the first run."""
        if self._has_run:
            raise Error("setRandomSeed found behind a run, before the first one needed")
        self._seed = int(seed)
        self._native = self._made()

    def getRandomSeed(self) -> int:
        """As it was set."""
        return self._seed or 0

    @property
    def replicationFactor(self) -> int:
        """Replicas."""
        return int(self.options.replicatedGraphCount) if self.options.enableReplicatedGraphs else 1

    @property
    def accumulationFactor(self) -> int:
        """Micro-batches an update."""
        return int(self.options.accumulationFactor) if self.options.enableGradientAccumulation else 1

    @property
    def notes(self) -> List[str]:
        """Options and patterns without effect, and what else a user should know."""
        return [*self._native.notes, *self._patterns.notes()]

    def prepareDevice(self, loadEngine: bool = True) -> None:
        """OutOfMemoryException where the model does not fit; else everything is prepared already."""
        if not self._native.can_run:
            report = self._native.report()
            raise OutOfMemoryException("the model does not fit the device", str(report))

    def _ports(self) -> Dict[str, Any]:
        return {port.name: port for port in self._native.outputs}

    def initAnchorArrays(self) -> Dict[str, NDArray[Any]]:
        """Arrays for the anchors: [batchesPerStep][accumulation][replicas] and the tensor's shape, 1s left out."""
        ports = self._ports()
        arrays = {}
        for name in self.dataFlow.anchors():
            port = ports[name]
            arrays[name] = np.empty(port.shape, np.dtype(port.dtype))
        return arrays

    def getInfo(self, name: str) -> TensorInfo:
        """The type of an anchor, an input or a weight, of one micro-batch."""
        if name in self._host:
            return TensorInfo(self._host[name])
        for port in self._loaded_model.inputs:
            if port.name == name:
                return TensorInfo(element_of(port.dtype), port.shape)
        if self.dataFlow.isAnchored(name):
            port = self._ports()[name]
            return TensorInfo(element_of(port.dtype), (port.shape or [])[len(self._leading(name)) :])
        raise Error(f"'{name}' is no input, weight or anchor of the session")

    def run(self, stepio: Any, debugName: str = "") -> None:
        """One step."""
        one = {port.name: _count(port) for port in self._loaded_model.inputs}
        feeds = {}
        for port in self._native.inputs:
            elements = _count(port)
            array = np.asarray(stepio.input(port.name, port, elements // max(one[port.name], 1)))
            if array.size != elements:
                raise Error(
                    f"Unexpected number of input elements for Tensor {port.name}. Expected {elements}, but received "
                    f"{array.size}: replication factor = {self.replicationFactor}, accumulation factor = "
                    f"{self.accumulationFactor}, batches per step = {self.dataFlow.batchesPerStep()}, "
                    f"Tensor nelms = {one[port.name]}"
                )
            feeds[port.name] = array.reshape(port.shape)
        self._refuse_unknown(stepio)
        self._has_run = True
        outputs = self._native.run(feeds)
        for name in self.dataFlow.anchors():
            stepio.output(name, outputs[name], int(np.prod(self._leading(name), dtype=np.int64)))

    def _leading(self, name: str) -> List[int]:
        """The dimensions of an anchor's array before those of the tensor: no 1s."""
        art = self.dataFlow.art(name)
        batches = self.dataFlow.batchesPerStep()
        if art.id() is AnchorReturnTypeId.EveryN:
            batches //= art.rp()
        is_single = art.id() in (AnchorReturnTypeId.Final, AnchorReturnTypeId.Sum)
        dims = [self.replicationFactor] if is_single else [batches, self.accumulationFactor, self.replicationFactor]
        return [dim for dim in dims if dim != 1]

    def _refuse_unknown(self, stepio: Any) -> None:
        known = {value.name for value in self._model.graph.input}
        for name in getattr(stepio, "inputs", {}):
            if name not in known:
                raise Error(
                    f"The tensor '{name}' has been provided as one of the inputs to the stepIO, but it is not "
                    "registered as one of the inputs to the model"
                )

    def weightsFromHost(self) -> None:
        """Those of the host are the session's from now on."""
        raise NotImplementedError

    def readWeights(self, weightsIo: PyWeightsIO) -> None:
        """Those of the host, into the arrays."""
        for name, array in weightsIo.weights.items():
            if name not in self._host:
                raise Error(f"'{name}' is no weight of the model")
            fill(array, self._returned(name), name)

    def _returned(self, name: str) -> NDArray[Any]:
        """A weight as its VariableSettings have it: of each group, or of each replica."""
        value: NDArray[Any] = self._host[name]
        kept = ("__variable_settings", "__comm_group_type", "__comm_group_size")
        keys = {f"{key}/{name}" for key in kept}
        told = {entry.key: int(entry.value) for entry in self._model.metadata_props if entry.key in keys}
        if told.get(f"__variable_settings/{name}") != VariableRetrievalMode.AllReplicas:
            return value
        domain = CommGroup(
            CommGroupType(told.get(f"__comm_group_type/{name}", 0)), told.get(f"__comm_group_size/{name}", 0)
        )
        settings, replicas = VariableSettings(domain), self.replicationFactor
        groups = value.reshape(settings.groupCount(replicas), -1)
        each: NDArray[Any] = groups[[settings.groupOf(replica, replicas) for replica in range(replicas)]]
        return each

    def _set_host(self, name: str, value: NDArray[Any], where: str) -> None:
        known = self._host.get(name)
        if known is None:
            raise Error(f"{where}: no tensor '{name}' in the model")
        if value.size != known.size or value.dtype != known.dtype:
            raise Error(
                f"{where}: '{name}' is {value.dtype}{list(value.shape)}, {known.dtype}{list(known.shape)} needed"
            )
        self._host[name] = np.array(value).reshape(known.shape)

    def _refuse_constant(self, method: str) -> None:
        """Only where weights may be others than those that the session was made with."""

    def writeWeights(self, weightsIo: PyWeightsIO) -> None:
        """The arrays are those of the host; weightsFromHost makes them the session's."""
        self._refuse_constant("writeWeights")
        for name, array in weightsIo.weights.items():
            self._set_host(name, np.asarray(array), "writeWeights")

    def resetHostWeights(
        self, modelProtoOrFilename: Any, ignoreWeightsInModelWithoutCorrespondingHostWeight: bool = False
    ) -> None:
        """Those of a model are those of the host; weightsFromHost makes them the session's."""
        self._refuse_constant("resetHostWeights")
        for tensor in read_model(modelProtoOrFilename).graph.initializer:
            if tensor.name not in self._host and ignoreWeightsInModelWithoutCorrespondingHostWeight:
                continue
            self._set_host(tensor.name, numpy_helper.to_array(tensor), "resetHostWeights")

    def getSummaryReport(self, resetProfile: bool = True) -> str:
        """The table of a step on the device."""
        return str(self._native.report())

    def getReport(self, *arguments: Any) -> Any:
        """The report of a step on the device, a dict."""
        return self._native.report()

    def getCycleCount(self, id: str = "") -> int:
        """The cycles of a step on the device."""
        return round(float(self._native.report()["seconds"]) * float(self._device.machine.clock_hertz))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_native":
            raise AttributeError(name)
        raise Error(f"podium.popart.{type(self).__name__} has no '{name}'")


class InferenceSession(_Session):
    """``InferenceSession(fnModel, dataFlow, deviceInfo, inputShapeInfo, patterns, userOptions, name)``."""

    _native: podium_sessions.InferenceSession

    def __init__(
        self,
        fnModel: Any,
        dataFlow: Optional[DataFlow] = None,
        deviceInfo: Optional[DeviceInfo] = None,
        inputShapeInfo: Optional[InputShapeInfo] = None,
        patterns: Optional[Patterns] = None,
        userOptions: Optional[SessionOptions] = None,
        name: str = "inference",
        *,
        dataFeed: Optional[DataFlow] = None,
        losses: Union[Loss, Sequence[Loss], None] = None,
    ) -> None:
        flow = dataFeed if dataFlow is None else dataFlow
        super().__init__(fnModel, flow, deviceInfo, inputShapeInfo, patterns, userOptions, name, listed(losses))
        give(self._model, self.dataFlow.anchors())
        self._load(self._model)
        self._native = self._made()

    def _made(self) -> podium_sessions.InferenceSession:
        return podium_sessions.InferenceSession(
            self._loaded_model, device=self._device.machine, options=self._document(), seed=self._seed
        )

    def weightsFromHost(self) -> None:
        """Those of the host are the session's from now on."""
        if not self.options.constantWeights:
            self._native.set_weights(self._host)

    def weightsToHost(self) -> None:
        """Inference leaves them as they are."""

    def _refuse_constant(self, method: str) -> None:
        if self.options.constantWeights:
            raise Error(f"Cannot call {method} when constantWeights is set, constantWeights = False needed")

    def modelToHost(self, filename: "str | os.PathLike[str]") -> None:
        """Writes the model with the weights of the host."""
        write(self._model, self._host, filename)


class TrainingSession(_Session):
    """``TrainingSession(fnModel, dataFlow, loss, optimizer, deviceInfo, inputShapeInfo, patterns, userOptions,
    name)``; the loss is a tensor of the model, or objects whose sum is trained."""

    _native: podium_sessions.TrainingSession

    def __init__(
        self,
        fnModel: Any,
        dataFlow: Optional[DataFlow] = None,
        loss: Union[str, Loss, Sequence[Loss], None] = None,
        optimizer: Optional[Optimizer] = None,
        deviceInfo: Optional[DeviceInfo] = None,
        inputShapeInfo: Optional[InputShapeInfo] = None,
        patterns: Optional[Patterns] = None,
        userOptions: Optional[SessionOptions] = None,
        name: str = "training",
        *,
        dataFeed: Optional[DataFlow] = None,
        losses: Union[Loss, Sequence[Loss], None] = None,
    ) -> None:
        flow = dataFeed if dataFlow is None else dataFlow
        objects = listed(losses if loss is None or isinstance(loss, str) else loss)
        super().__init__(fnModel, flow, deviceInfo, inputShapeInfo, patterns, userOptions, name, objects)
        self._loss = loss if isinstance(loss, str) else self._total
        if not self._loss:
            raise Error("loss: none found, the name of a tensor of the model or losses such as NllLoss needed")
        if not isinstance(optimizer, Optimizer):
            raise Error(f"optimizer: {type(optimizer).__name__} found, an optimizer such as SGD needed")
        self._optimizer = optimizer
        give(self._model, [*self.dataFlow.anchors(), self._loss])
        self._load(self._model)
        self._native = self._made()
        self.weightsToHost()

    def _made(self) -> podium_sessions.TrainingSession:
        with _optimizer_file(self._optimizer) as file:
            return podium_sessions.TrainingSession(
                self._loaded_model,
                loss_tensor=self._loss,
                optimizer=file.name,
                device=self._device.machine,
                options=self._document(),
                seed=self._seed,
            )

    def weightsFromHost(self) -> None:
        """Those of the host are the session's from now on."""
        weights = self._native.weights()
        self._native.set_weights({name: array for name, array in self._host.items() if name in weights})

    def weightsToHost(self) -> None:
        """Those of the session are those of the host from now on."""
        self._host.update(self._native.weights())

    def modelToHost(self, filename: "str | os.PathLike[str]") -> None:
        """Writes the model with its weights as they are now and the optimizer's state."""
        self.weightsToHost()
        states = self._native.optimizer_state()
        write(self._model, {**self._host, **states}, filename)

    def updateOptimizerFromHost(self, optimizer: Optimizer) -> None:
        """Other values from the next step on."""
        with _optimizer_file(optimizer) as file:
            self._native.set_optimizer(file.name)

    def copyNamedBuffers(self) -> None:
        """Buffers go with weightsFromHost."""
        self.weightsFromHost()


def _optimizer_file(optimizer: Optimizer) -> Any:
    file = tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8")  # noqa: SIM115
    file.write(text_of(optimizer))
    file.flush()
    return file
