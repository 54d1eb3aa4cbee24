"""Elements as bytes, and bytes as elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._core import Array
from cotangent._ops.binding import (
    kind,
    literal,
    own,
    real_dtype,
)
from cotangent._ops.sizes import insert_axes
from cotangent.errors import ShapeError


def _unsigned(size: int) -> Any:
    return np.dtype(f"uint{8 * size}")


def reinterpret(x: Array, dtype: Any) -> Array:
    """The same bytes as elements of another dtype, the lowest byte first; the last axis grows or shrinks.

    Raises:
        ShapeError: the bytes of the last axis are not a whole number of elements.
    """
    dtype = _core.canonical_dtype(dtype)
    if x.dtype == dtype:
        return x
    if kind(x) == "complex":
        parts = primitives.concatenate(
            *[insert_axes(part(x), [x.ndim]) for part in (primitives.real, primitives.imag)], axis=x.ndim
        )
        if x.ndim == 0:
            raise ShapeError(
                "view: an array without axes cannot change the size of its elements\n"
                "  give it an axis first: x.reshape(1)"
            )
        return reinterpret(primitives.reshape(parts, shape=[*x._bound_shape[:-1], 2 * x._bound_shape[-1]]), dtype)
    if _core.dtype_kind(dtype) == "complex":
        part = reinterpret(x, real_dtype(dtype))
        if part.ndim == 0 or part._bound_shape[-1] % 2:
            raise ShapeError(
                f"view: shape {x.shape} of {x.dtype} is not a whole number of {dtype}\n"
                f"  cut or pad the last axis so that its bytes are a multiple of {dtype.itemsize}"
            )
        pairs = primitives.reshape(part, shape=[*part._bound_shape[:-1], part._bound_shape[-1] // 2, 2])
        return primitives.complex(pairs[..., 0], pairs[..., 1])
    if kind(x) == "bool":
        x = _core.convert(x, "uint8")
    if dtype == np.dtype(bool):
        return primitives.ne(reinterpret(x, "uint8"), literal(reinterpret(x, "uint8"), 0))
    old, new = x.dtype.itemsize, dtype.itemsize
    if old == new:
        return primitives.bitcast(x, dtype=dtype)
    if x.ndim == 0:
        raise ShapeError(
            "view: an array without axes cannot change the size of its elements\n  give it an axis first: x.reshape(1)"
        )
    integers = primitives.bitcast(x, dtype=_unsigned(old)) if x.dtype != _unsigned(old) else x
    shape = list(x._bound_shape)
    if new < old:
        pieces = [
            insert_axes(
                _core.convert(primitives.shift_right_logical(integers, literal(integers, 8 * new * i)), _unsigned(new)),
                [x.ndim],
            )
            for i in range(old // new)
        ]
        wide = primitives.concatenate(*pieces, axis=x.ndim)
        result = primitives.reshape(wide, shape=[*shape[:-1], shape[-1] * (old // new)])
    else:
        count = new // old
        if shape[-1] % count:
            raise ShapeError(
                f"view: shape {x.shape} of {x.dtype} is not a whole number of {dtype}\n"
                f"  cut or pad the last axis so that its bytes are a multiple of {dtype.itemsize}"
            )
        groups = primitives.reshape(integers, shape=[*shape[:-1], shape[-1] // count, count])
        result = _core.convert(groups[..., 0], _unsigned(new))
        for i in range(1, count):
            piece = _core.convert(groups[..., i], _unsigned(new))
            result = result | primitives.shift_left(piece, literal(piece, 8 * old * i))
    return result if dtype == _unsigned(new) else primitives.bitcast(result, dtype=dtype)


@own
def byteswap(a: Any, inplace: bool = False) -> Array:
    """The elements with their bytes in reverse order.

    Parameters
    ----------
    inplace : bool, default False
        Must be False: the array stays as it is.

    Returns
    -------
    array
        Of the dtype and the shape of the array.

    Raises
    ------
    ValueError
        ``inplace`` is True.

    Examples
    --------
    >>> ct.numpy.array(np.array([1, 256], np.int16)).byteswap()
    Array([256,   1], dtype=int16)
    """
    if inplace:
        raise ValueError("byteswap: inplace is not supported\n  assign what it returns: x[...] = byteswap(x)")
    x = _core.array(a)
    size = real_dtype(x.dtype).itemsize
    if size == 1:
        return x
    bytes_ = reinterpret(insert_axes(x, [x.ndim]), "uint8")
    shape = list(bytes_._bound_shape)
    groups = primitives.reshape(bytes_, shape=[*shape[:-1], shape[-1] // size, size])
    swapped = primitives.reshape(primitives.reverse(groups, axes=[groups.ndim - 1]), shape=shape)
    return primitives.reshape(reinterpret(swapped, x.dtype), shape=list(x._bound_shape))
