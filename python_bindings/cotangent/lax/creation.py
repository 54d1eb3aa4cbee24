"""Constants: filled arrays and counts along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.device import Placement
from cotangent._core import Array
from cotangent._ops.binding import convert, full_of
from cotangent._ops.sizes import static_int, static_shape
from cotangent.errors import DTypeError
from cotangent.lax._operands import as_array, numbered

__all__ = ["broadcasted_iota", "dtype", "empty", "full", "full_like", "iota"]


def dtype(x: Any) -> Any:
    """The dtype of an array or number; of a dtype, what it is here.

    Parameters
    ----------
    x : array, number or dtype
        Python's types stand for the default dtypes.

    Returns
    -------
    numpy.dtype
        The dtype.

    Examples
    --------
    >>> ct.lax.dtype(ct.numpy.array([1, 2], "int8"))
    dtype('int8')
    """
    if isinstance(x, (type, str)) or type(x).__module__ == "numpy.dtypes":
        return _core.canonical_dtype(x)
    return x.dtype if hasattr(x, "dtype") else _core.array(x).dtype


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Placement = None) -> Array:
    """An array of one value.

    Parameters
    ----------
    shape : int or sequence of int
        The shape of the result.
    fill_value : scalar
        The value.
    dtype : dtype, optional
        By default that of the value.
    sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Of the given shape.

    Raises
    ------
    TypeError
        The value is not a scalar.

    Examples
    --------
    >>> ct.lax.full((2,), 1.5)
    Array([1.5, 1.5], dtype=float32, weak_type=True)
    """
    sizes, lengths = static_shape(shape, "lax.full")
    value = as_array("full", fill_value)
    if value.ndim:
        raise TypeError(
            f"lax.full: the value must be a scalar; got shape {value.shape}\n  use ct.numpy.full, which broadcasts it"
        )
    if dtype is not None and _core.dtype_kind(dtype) == "key" and _core.is_python_scalar(fill_value):
        value = full_of((), fill_value, dtype)
    elif dtype is not None:
        value = convert(value, dtype)
    return give_lengths(_core.broadcast_to(value, sizes), lengths)


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Placement = None) -> Array:
    """An array of one value with the shape and dtype of another array.

    Parameters
    ----------
    x : array
        Whose shape and dtype are taken.
    fill_value : scalar
        The value.
    dtype : dtype, optional
        Instead of that of ``x``.
    shape : sequence of int, optional
        Instead of that of ``x``.
    sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Of that shape and dtype.

    Examples
    --------
    >>> ct.lax.full_like(ct.numpy.zeros(2), 7)
    Array([7., 7.], dtype=float32)
    """
    array = x if hasattr(x, "shape") and hasattr(x, "dtype") else as_array("full_like", x)
    sizes = array.shape if shape is None else shape
    if dtype is None and getattr(array, "weak_type", False) and _core.is_python_scalar(fill_value):
        bounds, lengths = static_shape(sizes, "lax.full_like")
        return give_lengths(_core.full(bounds, fill_value, array.dtype, True), lengths)
    return full(sizes, fill_value, array.dtype if dtype is None else dtype, sharding=sharding)


def empty(shape: Any, dtype: Any, *, out_sharding: Placement = None) -> Array:
    """An array that is to be overwritten: zeros.

    Parameters
    ----------
    shape : int or sequence of int
        The shape of the result.
    dtype : dtype
        Its dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Zeros.

    Examples
    --------
    >>> ct.lax.empty((2,), "int32")
    Array([0, 0], dtype=int32)
    """
    return full(shape, 0, dtype, sharding=out_sharding)


def iota(dtype: Any, size: Any) -> Array:
    """The numbers ``0, 1, ..., size - 1``.

    Parameters
    ----------
    dtype : dtype
        Of numbers, not bool.
    size : int
        How many.

    Returns
    -------
    array, shape (size,)
        The numbers.

    Raises
    ------
    DTypeError
        The dtype is bool.

    Examples
    --------
    >>> ct.lax.iota("float32", 3)
    Array([0., 1., 2.], dtype=float32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Sequence[Any], dimension: int, *, out_sharding: Placement = None) -> Array:
    """The position along one axis, for every element of a shape.

    Parameters
    ----------
    dtype : dtype
        Of numbers, not bool.
    shape : sequence of int
        The shape of the result.
    dimension : int
        The axis, from 0 on.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Of the given shape.

    Raises
    ------
    DTypeError
        The dtype is bool.
    ValueError
        There is no such axis.

    Examples
    --------
    >>> ct.lax.broadcasted_iota("int32", (2, 3), 1)
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int32)
    """
    target = _core.canonical_dtype(dtype)
    if _core.dtype_kind(target) == "bool":
        raise DTypeError(
            "lax.iota takes a dtype of numbers; got bool\n  make integers, and compare them: lax.iota('int32', n) > 0"
        )
    sizes, lengths = static_shape(shape, "lax.broadcasted_iota")
    axis = static_int(dimension, "the axis of broadcasted_iota")
    if not 0 <= axis < len(sizes):
        raise ValueError(
            f"lax.broadcasted_iota: axis {axis} is out of bounds for an array with {len(sizes)} axes\n"
            + (f"  pass dimension={numbered(len(sizes))}" if sizes else "  give shape an axis")
        )
    return give_lengths(primitives.iota(shape=sizes, dtype=target, axis=axis), lengths)


check_arguments(globals())
