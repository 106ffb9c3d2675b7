"""Keyword arguments as flags of the command line, so that both are read, checked and refused in one place."""

import json
import os
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from .device import Device

DeviceLike = Union[str, "os.PathLike[str]", Device]
OptionsLike = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def flags(keywords: Mapping[str, Any]) -> List[str]:
    """``batches_per_step=8`` is ``--batches-per-step=8``. True is the flag alone, False and None are no flag, a
    sequence is joined by commas, a dict is ``--anchor=NAME=VALUE``, repeated."""
    words: List[str] = []
    for keyword, value in keywords.items():
        flag = "--" + keyword.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping):
            words.extend(f"{flag}={name}={item}" for name, item in value.items())
        elif isinstance(value, Sequence) and not isinstance(value, str):
            words.append(f"{flag}={','.join(str(item) for item in value)}")
        else:
            words.append(f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    return words


def request(
    device: Optional[DeviceLike], options: Optional[OptionsLike], keywords: Mapping[str, Any]
) -> Tuple[List[str], str, str]:
    """Flags, the document of options as JSON, the device as JSON."""
    words = flags(keywords)
    document = ""
    if isinstance(options, Mapping):
        document = json.dumps(options)
    elif options is not None:
        words.append(f"--options={os.fspath(options)}")
    if isinstance(device, Device):
        return words, document, device.to_json()
    if device is not None:
        words.append(f"--device={os.fspath(device)}")
    return words, document, ""


