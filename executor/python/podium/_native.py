"""The C++ module."""

from . import _podium as _podium

Error = _podium.Error
InternalError = _podium.InternalError
for _error in (Error, InternalError):
    _error.__module__ = "podium"


def versions() -> str:
    """What ``podium --version`` prints."""
    return _podium.versions()
