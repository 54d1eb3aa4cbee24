"""Arrays from values, and arrays filled with one number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import FLOAT0, ShapeDtypeStruct, float0_zeros, give_lengths
from cotangent._base.device import Placement
from cotangent._core import Array, entrance
from cotangent._ops.binding import apart, convert
from cotangent._ops.extents import check_stretch
from cotangent._ops.sizes import insert_axes, static_shape, symbolic_sizes

__all__ = [
    "array",
    "asarray",
    "astype",
    "copy",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def _check_order(order: Any, name: str) -> None:
    """Raises for what is no order of memory, which arrays here do not have: their elements are as they are in any."""
    if order not in ("K", None, "C", "F", "A"):
        raise ValueError(f"{name}: order must be 'C', 'F', 'A' or 'K'; got {order!r}")


def _holds_arrays(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_holds_arrays(item) for item in value)
    return isinstance(value, Array) or _core.has_array_method(value)


@entrance("from_numpy")
def array(
    object: Any,  # noqa: A002
    dtype: Any = None,
    copy: bool | None = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Placement = None,
    out_sharding: Placement = None,
) -> Array:
    """An array of numbers, nested lists, NumPy arrays or anything with ``__array__``.

    Python numbers become int32, float32 or complex64 (64 bits wide with ``enable_x64``); NumPy arrays keep their dtype.

    Raises:
        ValueError: a nested list whose parts have different lengths. TypeError: an object that holds no numbers.

    >>> import cotangent as ct
    >>> ct.numpy.array([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    _check_order(order, "array")
    source = object
    if isinstance(object, range):
        object = list(object)  # noqa: A001
    listed = isinstance(object, (tuple, list))
    if dtype is None and ndmin == 0 and device is None and not listed:
        result = _core.array(object)
        return apart(result, source) if copy else result
    if dtype is None:
        result = _core.array(object)
        result = convert(result, result.dtype) if listed else result
    else:
        dtype = _core.canonical_dtype(dtype)
        if _core.is_python_scalar(object):
            if (
                _core.dtype_kind(dtype) in ("signed", "unsigned")
                and isinstance(object, float)
                and not math.isfinite(object)
            ):
                raise ValueError(f"{object} does not fit {dtype}")
            result = _core.full((), object, dtype)
        elif isinstance(object, (tuple, list)) and not _holds_arrays(object):
            result = convert(_core.array(np.asarray(object, dtype=dtype) if object else object), dtype)
        else:
            result = convert(_core.array(object), dtype)
    if result.ndim < ndmin:
        result = insert_axes(result, list(range(ndmin - result.ndim)))
    return apart(result, source) if copy else result


@entrance("from_numpy")
def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Placement = None,
    out_sharding: Placement = None,
) -> Array:
    """``a`` as an array; an array of the dtype is returned as it is."""
    if dtype is None and copy is None and device is None and not isinstance(a, (tuple, list, range)):
        return _core.array(a)
    if copy is False and not (isinstance(a, Array) and (dtype is None or a.dtype == _core.canonical_dtype(dtype))):
        raise ValueError("asarray: this needs a copy\n  leave copy as None, to copy where it is necessary")
    return array(a, dtype, copy, order)


def copy(a: Any, order: str | None = None) -> Array:
    """An array of the same elements, which stays when the other is deleted or donated; until then they share memory."""
    _check_order(order, "copy")
    return apart(_core.array(a), a)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Placement = None) -> Array:
    """The elements as another dtype. Complex to real drops the imaginary part.

    An array that has the dtype is returned as it is where ``copy`` is false; else it is another object, of the same memory.
    """
    result = convert(_core.array(x), dtype)
    return apart(result, x) if copy else result


def _filled(name: str, shape: Any, value: complex, dtype: Any, weak: bool = False) -> Array:
    sizes, lengths = static_shape(shape, name)
    return give_lengths(_core.full(sizes, value, dtype, weak), lengths)


def zeros(shape: Any, dtype: Any = None, *, device: Placement = None, out_sharding: Placement = None) -> Array:
    """Zeros of a shape, by default floating.

    >>> import cotangent as ct
    >>> ct.numpy.zeros((2, 1)).tolist()
    [[0.0], [0.0]]
    """
    if dtype == FLOAT0:
        return float0_zeros(static_shape(shape, "zeros")[0])  # type: ignore[no-any-return]
    return _filled("zeros", shape, 0, _core.default_float_dtype() if dtype is None else dtype)


def ones(shape: Any, dtype: Any = None, *, device: Placement = None, out_sharding: Placement = None) -> Array:
    """Ones of a shape, by default floating."""
    return _filled("ones", shape, 1, _core.default_float_dtype() if dtype is None else dtype)


def empty(shape: Any, dtype: Any = None, *, device: Placement = None, out_sharding: Placement = None) -> Array:
    """Zeros of a shape: arrays always have values."""
    return _filled("empty", shape, 0, _core.default_float_dtype() if dtype is None else dtype)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, *, device: Placement = None, out_sharding: Placement = None
) -> Array:
    """Copies of a number, or of an array that is broadcast."""
    if _core.is_python_scalar(fill_value):
        kind, weak = _core.scalar_type(fill_value)
        return _filled("full", shape, fill_value, kind if dtype is None else dtype, weak and dtype is None)
    sizes, lengths = static_shape(shape, "full")
    value = _core.array(fill_value)
    check_stretch("full", value, sizes, lengths, range(len(sizes) - value.ndim, len(sizes)))
    value = _core.broadcast_to(value if dtype is None else convert(value, dtype), sizes)
    ragged = _core.ragged_axes(value)
    lengths = {axis: length for axis, length in lengths.items() if axis not in ragged}
    return give_lengths(apart(value, fill_value), lengths)


def _like(name: str, a: Any, value: Any, dtype: Any, shape: Any) -> Array:
    if isinstance(a, ShapeDtypeStruct):
        return full(a.shape if shape is None else shape, value, a.dtype if dtype is None else dtype)
    x = _core.array(a)
    weak = x.weak_type and dtype is None
    dtype = x.dtype if dtype is None else dtype

    def filled(shape: Any) -> Array:
        if _core.is_python_scalar(value):
            return _filled(name, shape, value, dtype, weak)
        return full(shape, value, dtype)

    result = filled(symbolic_sizes(x) if shape is None else shape)
    place = _core.place_of(x)
    return _core.put_on(result, place) if place else result


def zeros_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Placement = None, out_sharding: Placement = None
) -> Array:
    """Zeros of the shape and dtype of ``a``, which may be a `ShapeDtypeStruct`."""
    if (getattr(a, "dtype", None) if dtype is None else dtype) == FLOAT0:
        return zeros(np.shape(a) if shape is None else shape, FLOAT0)
    return _like("zeros_like", a, 0, dtype, shape)


def ones_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Placement = None, out_sharding: Placement = None
) -> Array:
    """Ones of the shape and dtype of ``a``."""
    return _like("ones_like", a, 1, dtype, shape)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Placement = None) -> Array:
    """Zeros of the shape and dtype of ``prototype``: arrays always have values."""
    return _like("empty_like", prototype, 0, dtype, shape)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Placement = None,
    out_sharding: Placement = None,
) -> Array:
    """Copies of a number, of the shape and dtype of ``a``."""
    return _like("full_like", a, fill_value, dtype, shape)


check_arguments(globals())
