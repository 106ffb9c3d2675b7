"""Models: read, looked at, annotated, written."""

import contextlib
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._native import Error, _podium
from .arguments import DeviceLike, request

Rule = Mapping[str, Any]


class NodeArg(NamedTuple):
    """An input or output, as onnxruntime describes it: a dimension that only data decide is None."""

    name: str
    type: str
    shape: Optional[List[Optional[int]]]
    dtype: Optional[str]


def node_args(ports: Sequence["_podium.Port"]) -> List[NodeArg]:
    """Of ports of the C++ module."""
    args = []
    for port in ports:
        is_tensor = port.kind == "tensor"
        args.append(
            NodeArg(
                port.name,
                f"tensor({port.element})" if is_tensor else port.type,
                port.shape if is_tensor else None,
                port.dtype if is_tensor and port.element != "undefined" else None,
            )
        )
    return args


class Model:
    """A model as it was read, with the annotations that are added. Made by ``podium.load``."""

    def __init__(self, native: "_podium.Model") -> None:
        self._native = native
        self._scopes: List[Dict[str, Any]] = []

    @property
    def name(self) -> str:
        """The path that it was read from."""
        return self._native.name

    @property
    def inputs(self) -> List[NodeArg]:
        """What a micro-batch takes."""
        return node_args(self._native.inputs)

    @property
    def outputs(self) -> List[NodeArg]:
        """What it gives."""
        return node_args(self._native.outputs)

    def info(self) -> Dict[str, Any]:
        """Ops, parameters, work, memory: the JSON of ``podium info --report``."""
        info: Dict[str, Any] = json.loads(self._native.info())
        return info

    def annotate(
        self,
        rules: Union[str, Rule, Mapping[str, Rule], Sequence[Rule], None] = None,
        *patterns: str,
        auto: Optional[str] = None,
        ipus: Optional[int] = None,
        phases: Optional[int] = None,
        device: Optional[DeviceLike] = None,
        **settings: Any,
    ) -> "Model":
        """Says where nodes run: by patterns with the settings of the scope and the keywords (``ipu``, ``stage``,
        ``phase``, ``recompute``, ``tiles``, ``location``, ``priority``), by a dict from pattern to settings, by rules
        as ``podium annotate --from`` has them, or by cost.

            model.annotate("encoder/*", ipu=1, stage=1)
            model.annotate({"encoder/*": {"ipu": 0}, "type:Softmax": {"recompute": True}})
            model.annotate(auto="pipeline", ipus=4)
        """
        if auto is not None:
            words, _, json_device = request(device, None, {"auto": auto, "ipus": ipus, "phases": phases, "list": True})
            self._native.annotate_automatically(words, json_device)
        elif ipus is not None or phases is not None or device is not None:
            raise Error("ipus, phases and device are for auto='shard', 'pipeline' or 'phases'")
        found = _rules(rules, patterns, self._scoped(settings))
        if not found and auto is None:
            raise Error("nothing to annotate: a pattern, rules or auto= needed")
        if found:
            self._native.annotate(json.dumps(found))
        return self

    @contextlib.contextmanager
    def on(self, *patterns: str, **settings: Any) -> Iterator["Model"]:
        """While it lasts, ``annotate`` adds its settings; the patterns, if any, get them at once.

            with model.on(ipu=1, stage=1):
                model.annotate("encoder/1/*")
                with model.on(recompute=True):
                    model.annotate("encoder/2/*")
        """
        self._scopes.append(settings)
        try:
            if patterns:
                self.annotate(*patterns)
            yield self
        finally:
            self._scopes.pop()

    def clear_annotations(self) -> "Model":
        """Removes all annotations of placement."""
        self._native.clear_annotations()
        return self

    def placement(self) -> List[Dict[str, Any]]:
        """One record an op, in the order in which they run: node, type, ipu, stage, phase, tiles, recompute, and
        whether the place is inherited."""
        records: List[Dict[str, Any]] = json.loads(self._native.placement())
        return records

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model as it was read, with its annotations."""
        self._native.save(path)

    def _scoped(self, settings: Mapping[str, Any]) -> Dict[str, Any]:
        scoped: Dict[str, Any] = {}
        for scope in self._scopes:
            scoped.update(scope)
        scoped.update(settings)
        return scoped

    def __repr__(self) -> str:
        return f"podium.Model({self.name!r})"


def _rules(
    rules: Union[str, Rule, Mapping[str, Rule], Sequence[Rule], None],
    patterns: Tuple[str, ...],
    settings: Mapping[str, Any],
) -> List[Dict[str, Any]]:
    if rules is None:
        return []
    if isinstance(rules, str):
        return [{"match": pattern, **settings} for pattern in (rules, *patterns)]
    if isinstance(rules, Mapping):
        listed = [rules] if "match" in rules else [{"match": key, **dict(value)} for key, value in rules.items()]
    else:
        listed = list(rules)
    return [{**settings, **rule} for rule in listed]


def load(
    source: Any,
    *,
    dims: Optional[Mapping[str, int]] = None,
    feeds: Optional[Mapping[str, Any]] = None,
) -> Model:
    """Reads a model: a path, the bytes of one, or an ``onnx.ModelProto``.

    `dims` bind symbolic dimensions by name. With `feeds`, arrays by input, the model takes their shapes, even where it
    declares others.
    """
    if isinstance(source, Model):
        if dims or feeds:
            raise Error("the model has been read already: dims and feeds are for podium.load")
        return source
    known = dict(dims or {})
    fed = dict(feeds or {})
    if hasattr(source, "SerializeToString"):
        source = source.SerializeToString()
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Model(_podium.load_bytes(bytes(source), known, fed))
    if isinstance(source, (str, os.PathLike)):
        return Model(_podium.load_file(os.fspath(source), known, fed))
    raise Error(f"{type(source).__name__} found, a path, bytes or an onnx.ModelProto needed")
