"""The C++ module, loaded so that its threads wait with patience (as the program `podium` has them wait)."""

import os

# OpenMP reads this when it is loaded: some twenty microseconds of spinning, not milliseconds.
_patient = "OMP_WAIT_POLICY" not in os.environ and "GOMP_SPINCOUNT" not in os.environ
if _patient:
    os.environ["GOMP_SPINCOUNT"] = "2000"
try:
    from . import _podium as _podium
finally:
    if _patient:
        del os.environ["GOMP_SPINCOUNT"]

Error = _podium.Error
InternalError = _podium.InternalError
for _error in (Error, InternalError):
    _error.__module__ = "podium"


def versions() -> str:
    """What ``podium --version`` prints."""
    return _podium.versions()
