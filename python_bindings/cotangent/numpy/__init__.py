"""The array functions, named, called and computed as ``jax.numpy``'s.

Each module is one idea and lists its public names in its ``__all__``; this package is all of them. Functions take arrays,
NumPy arrays, numbers and nested lists. Nearly every one is a composition of primitives, so all transforms apply.
"""

import typing as _typing

from cotangent._base.facades import loaded_at_first_use as _loaded_at_first_use
from cotangent._core import Array as _Array
from cotangent._ops.arithmetic import *
from cotangent._ops.bits import *
from cotangent._ops.broadcasting import *
from cotangent._ops.choice import *
from cotangent._ops.comparisons import *
from cotangent._ops.complex_parts import *
from cotangent._ops.constants import *
from cotangent._ops.creation import *
from cotangent._ops.diagonals import *
from cotangent._ops.division import *
from cotangent._ops.divisors import *
from cotangent._ops.dtypes import *
from cotangent._ops.einsum import *
from cotangent._ops.equality import *
from cotangent._ops.exponentials import *
from cotangent._ops.extreme_positions import *
from cotangent._ops.floating_parts import *
from cotangent._ops.functions import *
from cotangent._ops.index_grids import *
from cotangent._ops.joining import *
from cotangent._ops.means import *
from cotangent._ops.nan_reductions import *
from cotangent._ops.outer_products import *
from cotangent._ops.positions import *
from cotangent._ops.products import *
from cotangent._ops.ranges import *
from cotangent._ops.reductions import *
from cotangent._ops.repetition import *
from cotangent._ops.replacing import *
from cotangent._ops.rounding import *
from cotangent._ops.running import *
from cotangent._ops.selection import *
from cotangent._ops.shapes import *
from cotangent._ops.sorting import *
from cotangent._ops.taking import *
from cotangent._ops.turning import *
from cotangent.numpy.array_api import *
from cotangent.numpy.exchange import *
from cotangent.numpy.functional import *
from cotangent.numpy.named_ufuncs import *
from cotangent.numpy.ufuncs import *

ndarray = _Array

if _typing.TYPE_CHECKING:
    from cotangent.numpy import fft as fft
    from cotangent.numpy import linalg as linalg
    from cotangent.numpy.calculus import *
    from cotangent.numpy.convolutions import *
    from cotangent.numpy.covariances import *
    from cotangent.numpy.grids import *
    from cotangent.numpy.histograms import *
    from cotangent.numpy.padding import *
    from cotangent.numpy.polynomials import *
    from cotangent.numpy.quantiles import *
    from cotangent.numpy.sets import *
    from cotangent.numpy.windows import *
else:
    __getattr__, __dir__ = _loaded_at_first_use(
        globals(),
        (
            "calculus",
            "padding",
            "histograms",
            "sets",
            "quantiles",
            "covariances",
            "grids",
            "convolutions",
            "polynomials",
            "windows",
        ),
        ("fft", "linalg"),
    )
