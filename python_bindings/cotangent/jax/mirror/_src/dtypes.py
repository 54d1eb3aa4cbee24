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
    "default_complex_dtype",
    "default_float_dtype",
    "default_int_dtype",
    "default_uint_dtype",
    "extended",
    "to_complex_dtype",
    "to_inexact_dtype",
    "to_numeric_dtype",
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


def default_int_dtype() -> Any:
    """That of Python's ints."""
    return _core.default_int_dtype()


def default_uint_dtype() -> Any:
    """That of ints without a sign."""
    return canonical(np.dtype("uint64"))


def default_float_dtype() -> Any:
    """That of Python's floats."""
    return _core.default_float_dtype()


def default_complex_dtype() -> Any:
    """That of Python's complex numbers."""
    return _core.default_complex_dtype()


def to_numeric_dtype(dtype: Any) -> Any:
    """The dtype itself, and that of ints for bools."""
    found = canonical(np.dtype(dtype))
    return default_int_dtype() if found == np.bool_ else found
