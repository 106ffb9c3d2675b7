"""The machine that runs are clocked on."""

import json
import os
from typing import Any, Dict, List, Union

from ._native import _podium


class Device:
    """A preset ("ipu-pod16") or a file of ``podium info --device``; its fields are attributes.

    >>> device = podium.Device("ipu-pod16")
    >>> device.clock_hertz = 1.85e9
    >>> device.save("mine.json")
    """

    _fields: Dict[str, Any]

    def __init__(self, name: Union[str, "os.PathLike[str]"] = "ipu-m2000", **changes: Any) -> None:
        fields = json.loads(_podium.read_device(os.fspath(name)))
        object.__setattr__(self, "_fields", fields)
        for field, value in changes.items():
            setattr(self, field, value)

    @staticmethod
    def presets() -> List[str]:
        """The names of the machines that are built in."""
        return _podium.device_names()

    @property
    def fields(self) -> Dict[str, Any]:
        """Every field and its value."""
        return dict(self._fields)

    def to_json(self) -> str:
        """The text of a file that ``--device`` takes."""
        return _podium.check_device(json.dumps(self._fields))

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes such a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json())

    def __getattr__(self, field: str) -> Any:
        try:
            return self._fields[_spelling(field, self._fields)]
        except KeyError:
            raise AttributeError(f"a device has no field '{field}'") from None

    def __setattr__(self, field: str, value: Any) -> None:
        changed = {**self._fields, _spelling(field, self._fields): value}
        object.__setattr__(self, "_fields", json.loads(_podium.check_device(json.dumps(changed))))

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._fields]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self._fields == other._fields

    def __repr__(self) -> str:
        return f"podium.Device({self._fields['name']!r})"


def _spelling(field: str, fields: Dict[str, Any]) -> str:
    """``clock_hertz`` for ``clockHertz``, as the files have it."""
    head, *rest = field.split("_")
    camel = head + "".join(word.capitalize() for word in rest)
    return camel if camel in fields else field
