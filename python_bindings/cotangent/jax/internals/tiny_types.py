"""Types of elements of less than a byte: names that programs list and compare. No array here has them."""

# ruff: noqa: N805 (a class of classes)

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent._base.small_floats import has_small_floats, small_float
from cotangent._ops.dtypes import ScalarType
from cotangent.errors import DTypeError

__all__ = ["TINY", "is_tiny", "tiny_dtype", "tiny_type"]

TINY = ("float4_e2m1fn", "int2", "int4", "uint2", "uint4")


class _Tiny(ScalarType):
    """A name for a dtype of ml_dtypes."""

    @property
    def dtype(cls) -> Any:
        return tiny_dtype(cls._spec)

    def __call__(cls, x: Any = 0) -> Any:
        raise DTypeError(
            f"arrays of dtype {cls._spec} are not supported: elements have a byte at least\n  use int8, or uint8"
        )

    def __eq__(cls, other: object) -> bool:
        return cls is other or (has_small_floats() and other in (cls.dtype, cls.dtype.type))

    def __hash__(cls) -> int:
        return hash(cls.dtype.type) if has_small_floats() else hash(cls._spec)

    def __instancecheck__(cls, instance: Any) -> bool:
        return has_small_floats() and isinstance(instance, cls.dtype.type)


def tiny_type(name: str) -> Any:
    """What ``jax.numpy`` has under a name."""
    return _Tiny(name, (), {"_spec": name, "__module__": "jax.numpy", "__slots__": ()})


def tiny_dtype(name: str) -> Any:
    """NumPy's dtype of it."""
    return np.dtype(small_float(name))


def is_tiny(dtype: Any) -> bool:
    """Whether a dtype is one of them."""
    if isinstance(dtype, str):
        return dtype in TINY
    if isinstance(dtype, type) and type(dtype) is not _Tiny and not issubclass(dtype, np.generic):
        return False
    return getattr(dtype, "name", getattr(dtype, "__name__", "")) in TINY
