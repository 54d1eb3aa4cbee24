"""``jax._src.numpy.util``: operands with one dtype."""

from __future__ import annotations

from typing import Any

import cotangent.numpy as cnp
from cotangent.jax.mirror._src.dtypes import to_complex_dtype, to_inexact_dtype
from cotangent.jax.mirror.numpy import result_type

__all__ = ["promote_args", "promote_args_inexact", "promote_dtypes", "promote_dtypes_complex", "promote_dtypes_inexact"]


def _with_dtype(args: tuple[Any, ...], dtype: Any) -> list[Any]:
    return [cnp.asarray(arg).astype(dtype) for arg in args]


def promote_dtypes(*args: Any) -> list[Any]:
    """The arrays with the dtype that they have in common."""
    return _with_dtype(args, result_type(*args))


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """The same, with a floating dtype for integers."""
    return _with_dtype(args, to_inexact_dtype(result_type(*args)))


def promote_dtypes_complex(*args: Any) -> list[Any]:
    """The same, with a complex dtype."""
    return _with_dtype(args, to_complex_dtype(result_type(*args)))


def promote_args(name: str, *args: Any) -> list[Any]:
    """The operands of a function with the dtype that they have in common."""
    return promote_dtypes(*args)


def promote_args_inexact(name: str, *args: Any) -> list[Any]:
    """The same, with a floating dtype for integers."""
    return promote_dtypes_inexact(*args)
