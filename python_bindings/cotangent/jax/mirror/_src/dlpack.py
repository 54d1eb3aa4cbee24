"""``jax._src.dlpack``."""

from __future__ import annotations

import numpy as np

from cotangent._base.small_floats import has_small_floats, small_float

__all__ = ["SUPPORTED_DTYPES", "SUPPORTED_DTYPES_SET"]

# What arrays of other libraries may have that are taken as they are.
_NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
          "complex64", "complex128")  # fmt: skip
SUPPORTED_DTYPES = tuple(map(np.dtype, _NAMES)) + ((np.dtype(small_float("bfloat16")),) if has_small_floats() else ())
SUPPORTED_DTYPES_SET = frozenset(SUPPORTED_DTYPES)
