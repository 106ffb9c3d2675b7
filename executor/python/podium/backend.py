"""ONNX's own backend interface (``onnx.backend.base``).

    import podium.backend
    outputs = podium.backend.prepare(onnx.load("model.onnx")).run([x])
"""

from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .model import Model, load
from .sessions import InferenceSession


class PodiumRep(BackendRep):
    """A model that is ready for inputs of any shape: the first of each shape make a session."""

    def __init__(self, model: onnx.ModelProto, keywords: Dict[str, Any]) -> None:
        self._bytes = model.SerializeToString()
        weights = {tensor.name for tensor in model.graph.initializer}
        self._inputs = [value.name for value in model.graph.input if value.name not in weights]
        self._types = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
        self._keywords = keywords
        self._sessions: Dict[Tuple[Any, ...], InferenceSession] = {}

    def run(self, inputs: Any, **kwargs: Any) -> Tuple[Any, ...]:
        """The outputs of `inputs`, in the order of the model's."""
        given: List[Any] = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        feeds = {name: self._fed(name, array) for name, array in zip(self._inputs, given)}
        session = self._session(feeds)
        outputs = [_as_onnx_has_it(port.type, array) for port, array in zip(session.outputs, session.run(None, feeds))]
        named: Tuple[Any, ...] = namedtupledict("Outputs", [port.name for port in session.outputs])(*outputs)
        return named

    def _fed(self, name: str, array: Any) -> Any:
        is_narrow = self._types[name] == onnx.TensorProto.BFLOAT16
        return _bits_of_bfloat16(array) if is_narrow and array.dtype == np.float32 else array

    def _session(self, feeds: Dict[str, Any]) -> InferenceSession:
        arrays = {
            name: array
            for name, array in feeds.items()
            if isinstance(array, np.ndarray) and self._types[name] != onnx.TensorProto.BFLOAT16
        }
        key = tuple((name, array.dtype.str, array.shape) for name, array in arrays.items())
        if key not in self._sessions:
            model: Model = load(self._bytes, feeds=arrays)
            self._sessions[key] = InferenceSession(model, **self._keywords)
        return self._sessions[key]


class PodiumBackend(Backend):
    """Podium under onnx.backend.base. Keywords of prepare are those of podium.InferenceSession."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> PodiumRep:
        return PodiumRep(model, kwargs)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> Tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Optional[Sequence[Tuple[Any, Tuple[int, ...]]]] = None,
        **kwargs: Any,
    ) -> Tuple[Any, ...]:
        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        names = [name for name in node.input if name]
        values = [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            if hasattr(onnx.helper, "np_dtype_to_tensor_dtype")
            else onnx.helper.make_tensor_value_info(
                name, onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[np.asarray(array).dtype], np.shape(array)
            )
            for name, array in zip(names, inputs)
        ]
        outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", values, outputs)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)])
        return cls.run_model(model, inputs, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"


def _bits_of_bfloat16(array: NDArray[Any]) -> NDArray[Any]:
    """Rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(array).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(array), 0x7FC0, rounded).astype(np.uint16)


def _onnx_widens_bfloat16() -> bool:
    tensor = onnx.TensorProto(data_type=onnx.TensorProto.BFLOAT16, dims=[1], raw_data=b"\x80\x3f")
    return bool(onnx.numpy_helper.to_array(tensor).dtype == np.float32)


def _as_onnx_has_it(declared: str, array: Any) -> Any:
    """onnx.numpy_helper reads bfloat16 as float32 where it has no type of its own for it."""
    if declared != "tensor(bfloat16)" or not _onnx_widens_bfloat16():
        return array
    bits = array if array.dtype == np.uint16 else array.view(np.uint16)
    return (bits.astype(np.uint32) << 16).view(np.float32)


prepare = PodiumBackend.prepare
run_model = PodiumBackend.run_model
run_node = PodiumBackend.run_node
supports_device = PodiumBackend.supports_device
