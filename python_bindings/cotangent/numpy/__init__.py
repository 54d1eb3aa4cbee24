"""The array functions, named, called and computed as ``jax.numpy``'s.

Each module is one idea and lists its public names in its ``__all__``; this package is all of them. Functions take arrays,
NumPy arrays, numbers and nested lists. Nearly every one is a composition of primitives, so all transforms apply.
"""

from types import ModuleType as _ModuleType

from cotangent._core import Array
from cotangent.numpy.array_api import *
from cotangent.numpy.bits import *
from cotangent.numpy.calculus import *
from cotangent.numpy.comparisons import *
from cotangent.numpy.constants import *
from cotangent.numpy.creation import *
from cotangent.numpy.dtypes import *
from cotangent.numpy.elementwise import *
from cotangent.numpy.exchange import *
from cotangent.numpy.functional import *
from cotangent.numpy.functions import *
from cotangent.numpy.grids import *
from cotangent.numpy.indexing import *
from cotangent.numpy.polynomials import *
from cotangent.numpy.products import *
from cotangent.numpy.reductions import *
from cotangent.numpy.selection import *
from cotangent.numpy.sets import *
from cotangent.numpy.shapes import *
from cotangent.numpy.sorting import *
from cotangent.numpy.statistics import *
from cotangent.numpy.ufuncs import *
from cotangent.numpy.windows import *

ndarray = Array
# Derived: each name is in one module's list.
__all__ = [
    name
    for name, value in globals().items()
    if name[0] != "_" and name != "Array" and not isinstance(value, _ModuleType)
]


def __getattr__(name: str) -> object:
    # Loaded at first use, to keep the import short.
    if name in ("fft", "linalg"):
        import importlib

        return importlib.import_module(f"cotangent.numpy.{name}")
    raise AttributeError(f"module 'cotangent.numpy' has no attribute {name!r}")
