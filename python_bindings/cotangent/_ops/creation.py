"""Arrays from values, and arrays filled with one number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import FLOAT0, ShapeDtypeStruct, float0_zeros, give_lengths
from cotangent._base.carriers import carrier_of
from cotangent._base.device import Placement
from cotangent._base.words import not_among
from cotangent._core import Array, entrance
from cotangent._ops.binding import apart, convert, full_of
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
        raise not_among(name, "order", order, ("K", "C", "F", "A"))


def _holds_arrays(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_holds_arrays(item) for item in value)
    return isinstance(value, Array) or _core.has_array_method(value)


def _of_dtype(values: Any, dtype: Any) -> Any:
    try:
        return np.asarray(values, dtype=dtype)
    except OverflowError as error:  # "Python integer 300 out of bounds for uint8"
        raise OverflowError(
            f"{error}\n  name a dtype that holds it, or wrap it first, as value % 256\n  see docs/errors.md#number-that-does-not-fit"
        ) from None


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
    """An array of numbers, nested lists, NumPy arrays, or anything with ``__array__``.

    Python numbers become int32, float32 or complex64 (64 bits wide with ``enable_x64``); NumPy arrays keep their
    dtype, 64 bits wide, too. A single Python number gives an array of weak type, whose dtype yields to others.

    Parameters
    ----------
    object : array, number or nested sequence
        The values.
    dtype : dtype, optional
        Of the result. None: that of the values.
    copy : bool or None, default True
        Whether the result may be deleted or donated without ``object``.
    order : str or None, default "K"
        Checked only; there is one order of memory.
    ndmin : int, default 0
        The least number of axes; new ones come first.
    device, out_sharding : Device, str or sharding, optional
        Where the result is made. None: on the default device; arrays stay where they are.

    Returns
    -------
    array
        The values.

    Raises
    ------
    ValueError
        A nested list whose parts have different lengths; an unknown order; NaN or infinity as an integer.
    TypeError
        An object that holds no numbers.

    Examples
    --------
    >>> ct.numpy.array([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int32)

    >>> ct.numpy.array([1, 2], dtype=float, ndmin=2)
    Array([[1., 2.]], dtype=float32)
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
                raise ValueError(
                    f"array: {object} does not fit {dtype}\n  use a floating dtype, or ct.numpy.iinfo({dtype.name!r}).max for the largest integer"
                )
            result = _core.full((), object, dtype)
        elif isinstance(object, (tuple, list)) and not _holds_arrays(object):
            result = convert(_core.array(_of_dtype(object, dtype) if object else object), dtype)
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
    """An object as an array; an array of the dtype is returned as it is.

    Parameters
    ----------
    a : array, number or nested sequence
        The values.
    dtype : dtype, optional
        Of the result. None: that of the values.
    order : str or None, default None
        Checked only; there is one order of memory.
    copy : bool or None, default None
        True: the result is an array of its own. False: an error, unless ``a`` can be returned as it is.
    device, out_sharding : Device, str or sharding, optional
        Where the result is made. None: on the default device; arrays stay where they are.

    Returns
    -------
    array
        The values.

    Raises
    ------
    ValueError
        ``copy`` is False, and a copy is needed.

    Examples
    --------
    >>> ct.numpy.asarray([1.0, 2.0])
    Array([1., 2.], dtype=float32)

    >>> x = ct.numpy.ones(2)
    >>> ct.numpy.asarray(x) is x
    True
    """
    if dtype is None and copy is None and device is None and not isinstance(a, (tuple, list, range)):
        return _core.array(a)
    if copy is False and not (isinstance(a, Array) and (dtype is None or a.dtype == _core.canonical_dtype(dtype))):
        raise ValueError("asarray: this needs a copy\n  leave copy out, to copy where it is necessary")
    return array(a, dtype, copy, order)


def copy(a: Any, order: str | None = None) -> Array:
    """An array of the same elements, which stays when the other is deleted or donated.

    Until then they share memory: arrays are immutable.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    order : str or None, default None
        Checked only; there is one order of memory.

    Returns
    -------
    array
        Of the dtype and the shape of ``a``.

    Examples
    --------
    >>> ct.numpy.copy([1, 2])
    Array([1, 2], dtype=int32)
    """
    _check_order(order, "copy")
    return apart(_core.array(a), a)


def astype(x: Any, /, dtype: Any, *, copy: bool = True, device: Placement = None) -> Array:
    """The elements converted to another dtype.

    Floating numbers become integers by rounding toward zero; complex ones become real by their real part.

    Parameters
    ----------
    x : array
        Numbers of any dtype.
    dtype : dtype
        Of the result.
    copy : bool, default True
        Whether the result is an array of its own where ``x`` has the dtype; else that is returned. The memory is shared in either case.
    device : Device, str or sharding, optional
        Where the result is made. None: where ``x`` is.

    Returns
    -------
    array
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.astype(ct.numpy.array([1.7, -1.7]), int)
    Array([ 1, -1], dtype=int32)
    """
    result = convert(_core.array(x), dtype)
    return apart(result, x) if copy else result


def _filled(name: str, shape: Any, value: complex, dtype: Any, weak: bool = False) -> Array:
    sizes, lengths = static_shape(shape, name)
    return give_lengths(full_of(sizes, value, dtype, weak), lengths)


def zeros(
    shape: Any,
    dtype: Any = None,
    order: str | None = "C",
    *,
    device: Placement = None,
    out_sharding: Placement = None,
) -> Array:
    """An array of zeros.

    Inside of ``ct.mask`` a size may be that of a ragged axis, or be computed from it.

    Parameters
    ----------
    shape : int or sequence of int
        The sizes of the axes.
    dtype : dtype, optional
        Of the result. None: the default floating dtype.
    order : str or None, default "C"
        Checked only; there is one order of memory.
    device, out_sharding : Device, str or sharding, optional
        Where the result is made. None: on the default device.

    Returns
    -------
    array
        Zeros.

    Examples
    --------
    >>> ct.numpy.zeros((2, 1))
    Array([[0.],
           [0.]], dtype=float32)
    """
    _check_order(order, "zeros")
    if dtype == FLOAT0:
        return float0_zeros(static_shape(shape, "zeros")[0])  # type: ignore[no-any-return]
    return _filled("zeros", shape, 0, _core.default_float_dtype() if dtype is None else dtype)


def ones(
    shape: Any,
    dtype: Any = None,
    order: str | None = "C",
    *,
    device: Placement = None,
    out_sharding: Placement = None,
) -> Array:
    """An array of ones.

    Inside of ``ct.mask`` a size may be that of a ragged axis, or be computed from it.

    Parameters
    ----------
    shape : int or sequence of int
        The sizes of the axes.
    dtype : dtype, optional
        Of the result. None: the default floating dtype.
    order : str or None, default "C"
        Checked only; there is one order of memory.
    device, out_sharding : Device, str or sharding, optional
        Where the result is made. None: on the default device.

    Returns
    -------
    array
        Ones.

    Examples
    --------
    >>> ct.numpy.ones(3, int)
    Array([1, 1, 1], dtype=int32)
    """
    _check_order(order, "ones")
    return _filled("ones", shape, 1, _core.default_float_dtype() if dtype is None else dtype)


def empty(
    shape: Any,
    dtype: Any = None,
    order: str | None = "C",
    *,
    device: Placement = None,
    out_sharding: Placement = None,
) -> Array:
    """An array of zeros: arrays always have values.

    Parameters
    ----------
    shape : int or sequence of int
        The sizes of the axes.
    dtype : dtype, optional
        Of the result. None: the default floating dtype.
    order : str or None, default "C"
        Checked only; there is one order of memory.
    device, out_sharding : Device, str or sharding, optional
        Where the result is made. None: on the default device.

    Returns
    -------
    array
        Zeros.

    Examples
    --------
    >>> ct.numpy.empty(2).shape
    (2,)
    """
    _check_order(order, "empty")
    return _filled("empty", shape, 0, _core.default_float_dtype() if dtype is None else dtype)


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str | None = "C",
    *,
    device: Placement = None,
    out_sharding: Placement = None,
) -> Array:
    """An array of copies of a number, or of an array that is broadcast.

    Parameters
    ----------
    shape : int or sequence of int
        The sizes of the axes.
    fill_value : array
        The number, or an array that can be broadcast to the shape.
    dtype : dtype, optional
        Of the result. None: that of the value.
    order : str or None, default "C"
        Checked only; there is one order of memory.
    device, out_sharding : Device, str or sharding, optional
        Where the result is made. None: on the default device.

    Returns
    -------
    array
        Of the shape and the dtype.

    Raises
    ------
    ShapeError
        The value cannot be broadcast.

    Examples
    --------
    >>> ct.numpy.full((2, 2), [1.5, 2.5])
    Array([[1.5, 2.5],
           [1.5, 2.5]], dtype=float32)
    """
    _check_order(order, "full")
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


def _only_says_what_it_is(a: Any) -> bool:
    """Whether it has a shape and a dtype, and is no array."""
    if isinstance(a, (Array, np.ndarray, np.generic)) or hasattr(a, "__array__") or carrier_of(a) is not None:
        return False
    return isinstance(getattr(a, "shape", None), tuple) and isinstance(getattr(a, "dtype", None), np.dtype)


def _like(name: str, a: Any, value: Any, dtype: Any, shape: Any) -> Array:
    if isinstance(a, ShapeDtypeStruct) or _only_says_what_it_is(a):
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
    a: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    order: str | None = "K",
    device: Placement = None,
    out_sharding: Placement = None,
) -> Array:
    """An array of zeros of the shape and the dtype of another one.

    Parameters
    ----------
    a : array or ShapeDtypeStruct
        The model.
    dtype : dtype, optional
        Instead of that of ``a``.
    shape : int or sequence of int, optional
        Instead of that of ``a``.
    order : str or None, default "K"
        Checked only; there is one order of memory.
    device, out_sharding : Device, str or sharding, optional
        Where the result is made. None: where ``a`` is.

    Returns
    -------
    array
        Zeros.

    Examples
    --------
    >>> ct.numpy.zeros_like([1.5, 2.5])
    Array([0., 0.], dtype=float32)
    """
    _check_order(order, "zeros_like")
    if (getattr(a, "dtype", None) if dtype is None else dtype) == FLOAT0:
        return zeros(np.shape(a) if shape is None else shape, FLOAT0)
    return _like("zeros_like", a, 0, dtype, shape)


def ones_like(
    a: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    order: str | None = "K",
    device: Placement = None,
    out_sharding: Placement = None,
) -> Array:
    """An array of ones of the shape and the dtype of another one.

    Parameters
    ----------
    a : array or ShapeDtypeStruct
        The model.
    dtype : dtype, optional
        Instead of that of ``a``.
    shape : int or sequence of int, optional
        Instead of that of ``a``.
    order : str or None, default "K"
        Checked only; there is one order of memory.
    device, out_sharding : Device, str or sharding, optional
        Where the result is made. None: where ``a`` is.

    Returns
    -------
    array
        Ones.

    Examples
    --------
    >>> ct.numpy.ones_like([[1, 2]], dtype=float)
    Array([[1., 1.]], dtype=float32)
    """
    _check_order(order, "ones_like")
    return _like("ones_like", a, 1, dtype, shape)


def empty_like(
    prototype: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    order: str | None = "K",
    device: Placement = None,
) -> Array:
    """An array of zeros of the shape and the dtype of another one: arrays always have values.

    Parameters
    ----------
    prototype : array or ShapeDtypeStruct
        The model.
    dtype : dtype, optional
        Instead of that of ``prototype``.
    shape : int or sequence of int, optional
        Instead of that of ``prototype``.
    order : str or None, default "K"
        Checked only; there is one order of memory.
    device : Device, str or sharding, optional
        Where the result is made. None: where ``prototype`` is.

    Returns
    -------
    array
        Zeros.

    Examples
    --------
    >>> ct.numpy.empty_like([1, 2]).dtype
    dtype('int32')
    """
    _check_order(order, "empty_like")
    return _like("empty_like", prototype, 0, dtype, shape)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    order: str | None = "K",
    device: Placement = None,
    out_sharding: Placement = None,
) -> Array:
    """An array of copies of a number, of the shape and the dtype of another one.

    Parameters
    ----------
    a : array or ShapeDtypeStruct
        The model.
    fill_value : array
        The number, or an array that can be broadcast to the shape; converted to the dtype.
    dtype : dtype, optional
        Instead of that of ``a``.
    shape : int or sequence of int, optional
        Instead of that of ``a``.
    order : str or None, default "K"
        Checked only; there is one order of memory.
    device, out_sharding : Device, str or sharding, optional
        Where the result is made. None: where ``a`` is.

    Returns
    -------
    array
        Of the shape and the dtype.

    Examples
    --------
    >>> ct.numpy.full_like([1.0, 2.0], 7)
    Array([7., 7.], dtype=float32)
    """
    _check_order(order, "full_like")
    return _like("full_like", a, fill_value, dtype, shape)


check_arguments(globals())
