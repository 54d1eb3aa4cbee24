"""Functions under their names in SciPy; the modules are loaded at first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from cotangent import _core
from cotangent._base.names import no_attribute as _no_attribute

if TYPE_CHECKING:
    from cotangent.scipy import cluster as cluster
    from cotangent.scipy import fft as fft
    from cotangent.scipy import integrate as integrate
    from cotangent.scipy import interpolate as interpolate
    from cotangent.scipy import linalg as linalg
    from cotangent.scipy import ndimage as ndimage
    from cotangent.scipy import optimize as optimize
    from cotangent.scipy import signal as signal
    from cotangent.scipy import sparse as sparse
    from cotangent.scipy import special as special
    from cotangent.scipy import stats as stats

_MODULES = (
    "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "special", "stats",
)  # fmt: skip


@_core.leaving
def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f"cotangent.scipy.{name}")
    raise _no_attribute(__name__, name)


def __dir__() -> list[str]:
    return list(_MODULES)
