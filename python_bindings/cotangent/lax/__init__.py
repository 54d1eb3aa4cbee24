"""Structured control flow and the primitives under their names in ``jax.lax``.

``scan``, ``while_loop``, ``fori_loop``, ``cond``, ``switch`` and ``map`` take pytrees and Python functions; the functions are captured
once, as sub-graphs. The other functions neither broadcast nor promote beyond Python numbers.

Each module is one idea and lists its public names in ``__all__``; this file only joins them.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

from cotangent._transforms.control_flow import *
from cotangent.lax.bits import *
from cotangent.lax.convolution import *
from cotangent.lax.creation import *
from cotangent.lax.cumulative import *
from cotangent.lax.elementwise import *
from cotangent.lax.fourier import *
from cotangent.lax.indexing import *
from cotangent.lax.parallel import *
from cotangent.lax.products import *
from cotangent.lax.reductions import *
from cotangent.lax.shapes import *
from cotangent.lax.slicing import *
from cotangent.lax.solvers import *
from cotangent.lax.sorting import *
from cotangent.lax.special import *
from cotangent.lax.windows import *

if _TYPE_CHECKING:
    from cotangent.lax import linalg as linalg


def __getattr__(name: str) -> object:
    # Loaded at first use, to keep the import short.
    if name == "linalg":
        return _importlib.import_module("cotangent.lax.linalg")
    raise AttributeError(f"module 'cotangent.lax' has no attribute {name!r}")
