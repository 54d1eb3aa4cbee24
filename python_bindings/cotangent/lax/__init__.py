"""Structured control flow and the primitives under their names in ``jax.lax``.

``scan``, ``while_loop``, ``fori_loop``, ``cond``, ``switch`` and ``map`` take pytrees and Python functions; the functions are captured
once, as sub-graphs. The other functions neither broadcast nor promote beyond Python numbers.

Each module is one idea and lists its public names in ``__all__``; this file only joins them.
"""

import typing as _typing

from cotangent._base.facades import loaded_at_first_use as _loaded_at_first_use
from cotangent._transforms.branches import *
from cotangent._transforms.control_flow import *
from cotangent._transforms.mapping import *

if _typing.TYPE_CHECKING:
    from cotangent.lax import linalg as linalg
    from cotangent.lax.arithmetic import *
    from cotangent.lax.bits import *
    from cotangent.lax.comparisons import *
    from cotangent.lax.convolution import *
    from cotangent.lax.convolution_shapes import *
    from cotangent.lax.creation import *
    from cotangent.lax.cumulative import *
    from cotangent.lax.exchanges import *
    from cotangent.lax.exponentials import *
    from cotangent.lax.fourier import *
    from cotangent.lax.indexing import *
    from cotangent.lax.parallel import *
    from cotangent.lax.pieces import *
    from cotangent.lax.products import *
    from cotangent.lax.reductions import *
    from cotangent.lax.rounding import *
    from cotangent.lax.scatters import *
    from cotangent.lax.shapes import *
    from cotangent.lax.slicing import *
    from cotangent.lax.solvers import *
    from cotangent.lax.sorting import *
    from cotangent.lax.special import *
    from cotangent.lax.windows import *
else:
    __getattr__, __dir__ = _loaded_at_first_use(
        globals(),
        (
            "arithmetic",
            "comparisons",
            "exponentials",
            "rounding",
            "shapes",
            "pieces",
            "reductions",
            "slicing",
            "scatters",
            "products",
            "creation",
            "indexing",
            "sorting",
            "bits",
            "cumulative",
            "parallel",
            "exchanges",
            "convolution",
            "convolution_shapes",
            "fourier",
            "solvers",
            "special",
            "windows",
        ),
        ("linalg",),
    )
