"""``jax._src.lax.lax``."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import cotangent as ct
from cotangent import _core
from cotangent._base import primitives
from cotangent.jax.mirror.dtypes import canonicalize_dtype
from cotangent.jax.narrowing import narrow

__all__ = ["_const", "_convert_element_type", "_delta", "asarray"]


def _convert_element_type(operand: Any, new_dtype: Any = None, weak_type: bool = False, sharding: Any = None) -> Any:
    """An array with another dtype, that may yield to the dtypes of others."""
    x = _core.array(narrow(operand))
    dtype = x.dtype if new_dtype is None else canonicalize_dtype(new_dtype, allow_extended_dtype=True)
    if x.dtype == dtype and x.weak_type == weak_type:
        return x
    return primitives.convert(x, dtype=np.dtype(dtype), weak=weak_type)


def _const(example: Any, val: Any) -> Any:
    """A number as it stands beside an array or a number of Python's: of its dtype, and weak where it is."""
    if type(example) in (bool, int, float, complex):
        return type(example)(val)
    x = _core.array(narrow(example))
    return _convert_element_type(val, x.dtype, x.weak_type)


def _delta(dtype: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """An array that is 1 where its indices along some axes are equal, and 0 elsewhere."""
    sizes = [shape[axis] for axis in axes]
    positions = [ct.lax.broadcasted_iota("uint32", sizes, i) for i in range(len(sizes))]
    equal = [ct.lax.eq(first, second) for first, second in itertools.pairwise(positions)]
    found = functools.reduce(ct.lax.bitwise_and, equal) if equal else ct.lax.full(sizes, True)
    return ct.lax.broadcast_in_dim(ct.lax.convert_element_type(found, canonicalize_dtype(dtype)), shape, axes)


def asarray(x: Any) -> Any:
    """An array of an array or of numbers."""
    return _core.array(narrow(x))
