"""``jax._src.dtypes``."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent.dtypes import extended
from cotangent.jax.mirror.dtypes import TypePromotionError
from cotangent.jax.narrowing import canonical

__all__ = [
    "DType",
    "ExtendedDType",
    "TypePromotionError",
    "canonical",
    "extended",
    "to_complex_dtype",
    "to_inexact_dtype",
]

DType = np.dtype
ExtendedDType = extended


def to_inexact_dtype(dtype: Any) -> Any:
    """The floating or complex dtype that functions of a dtype have."""
    return canonical(_core.inexact_dtype(dtype))


def to_complex_dtype(dtype: Any) -> Any:
    """The complex dtype of the same precision."""
    inexact = to_inexact_dtype(dtype)
    return inexact if inexact.kind == "c" else np.dtype("complex128" if inexact == np.float64 else "complex64")
