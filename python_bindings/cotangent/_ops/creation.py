"""Arrays from values, ranges and patterns, and what dtypes hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import FLOAT0, ShapeDtypeStruct, float0_zeros, give_lengths
from cotangent._base.device import check_device, check_placement
from cotangent._core import Array, Primitive, entrance
from cotangent._ops.binding import apart, convert, literal
from cotangent._ops.sizes import (
    axis_size,
    bound_size,
    insert_axes,
    is_dimension,
    normalize_axis,
    ragged_length,
    static_count,
    static_shape,
)

__all__ = [
    "arange",
    "array",
    "asarray",
    "astype",
    "copy",
    "diag",
    "diag_indices",
    "diagflat",
    "diagonal",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "geomspace",
    "identity",
    "indices",
    "linspace",
    "logspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tri",
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
    "vander",
    "zeros",
    "zeros_like",
]


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
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array of numbers, nested lists, NumPy arrays or anything with ``__array__``.

    Python numbers become int32, float32 or complex64 (64 bits wide with ``enable_x64``); NumPy arrays keep their dtype.

    Raises:
        ValueError: a nested list whose parts have different lengths. TypeError: an object that holds no numbers.

    >>> import cotangent as ct
    >>> ct.numpy.array([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    check_placement(out_sharding, "array")
    del order
    source = object
    if isinstance(object, range):
        object = list(object)  # noqa: A001
    listed = isinstance(object, (tuple, list))
    if dtype is None and ndmin == 0 and device is None and not listed:
        result = _core.array(object)
        return apart(result, source) if copy else result
    check_device(device, "array")
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
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """``a`` as an array; an array of the dtype is returned as it is."""
    check_placement(out_sharding, "asarray")
    if dtype is None and copy is None and device is None and not isinstance(a, (tuple, list, range)):
        return _core.array(a)
    if copy is False and not (isinstance(a, Array) and (dtype is None or a.dtype == _core.canonical_dtype(dtype))):
        raise ValueError("asarray: this needs a copy\n  leave copy as None, to copy where it is necessary")
    return array(a, dtype, copy, order, device=device)


def copy(a: Any, order: str | None = None) -> Array:
    """An array of the same elements, which stays when the other is deleted or donated; until then they share memory."""
    del order
    return apart(_core.array(a), a)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Array:
    """The elements as another dtype. Complex to real drops the imaginary part.

    An array that has the dtype is returned as it is unless ``copy`` is true.
    """
    check_device(device, "astype")
    result = convert(_core.array(x), dtype)
    return apart(result, x) if copy else result


def _filled(name: str, shape: Any, value: complex, dtype: Any, device: Any, weak: bool = False) -> Array:
    check_device(device, name)
    sizes, lengths = static_shape(shape, name)
    return give_lengths(_core.full(sizes, value, dtype, weak), lengths)


def zeros(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """Zeros of a shape, by default floating.

    >>> import cotangent as ct
    >>> ct.numpy.zeros((2, 1)).tolist()
    [[0.0], [0.0]]
    """
    check_placement(out_sharding, "zeros")
    if dtype == FLOAT0:
        return float0_zeros(static_shape(shape, "zeros")[0])  # type: ignore[no-any-return]
    return _filled("zeros", shape, 0, _core.default_float_dtype() if dtype is None else dtype, device)


def ones(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """Ones of a shape, by default floating."""
    check_placement(out_sharding, "ones")
    return _filled("ones", shape, 1, _core.default_float_dtype() if dtype is None else dtype, device)


def empty(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """Zeros of a shape: arrays always have values."""
    check_placement(out_sharding, "empty")
    return _filled("empty", shape, 0, _core.default_float_dtype() if dtype is None else dtype, device)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """Copies of a number, or of an array that is broadcast."""
    check_placement(out_sharding, "full")
    if _core.is_python_scalar(fill_value):
        kind, weak = _core.scalar_type(fill_value)
        return _filled("full", shape, fill_value, kind if dtype is None else dtype, device, weak and dtype is None)
    check_device(device, "full")
    sizes, lengths = static_shape(shape, "full")
    value = _core.array(fill_value)
    value = _core.broadcast_to(value if dtype is None else convert(value, dtype), sizes)
    return give_lengths(apart(value, fill_value), lengths)


def _like(name: str, a: Any, value: Any, dtype: Any, shape: Any, device: Any) -> Array:
    check_device(device, name)
    if isinstance(a, ShapeDtypeStruct):
        return full(a.shape if shape is None else shape, value, a.dtype if dtype is None else dtype)
    x = _core.array(a)
    weak = x.weak_type and dtype is None
    dtype = x.dtype if dtype is None else dtype

    def filled(shape: Any) -> Array:
        if _core.is_python_scalar(value):
            return _filled(name, shape, value, dtype, None, weak)
        return full(shape, value, dtype)

    if shape is not None:
        return filled(shape)
    lengths = {axis: ragged_length(x, axis) for axis in _core.ragged_axes(x)}
    return give_lengths(filled(x._bound_shape), lengths)


def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """Zeros of the shape and dtype of ``a``, which may be a `ShapeDtypeStruct`."""
    check_placement(out_sharding, "zeros_like")
    if (getattr(a, "dtype", None) if dtype is None else dtype) == FLOAT0:
        return zeros(np.shape(a) if shape is None else shape, FLOAT0, device=device)
    return _like("zeros_like", a, 0, dtype, shape, device)


def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """Ones of the shape and dtype of ``a``."""
    check_placement(out_sharding, "ones_like")
    return _like("ones_like", a, 1, dtype, shape, device)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Array:
    """Zeros of the shape and dtype of ``prototype``: arrays always have values."""
    return _like("empty_like", prototype, 0, dtype, shape, device)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """Copies of a number, of the shape and dtype of ``a``."""
    check_placement(out_sharding, "full_like")
    return _like("full_like", a, fill_value, dtype, shape, device)


# ---- Ranges ----------------------------------------------------------------------------------------------------------


def _iota(size: int, dtype: Any) -> Array:
    return primitives.iota(shape=[size], dtype=_core.canonical_dtype(dtype), axis=0)


def _number(value: Any, name: str) -> Any:
    """A bound of a range as a Python number."""
    if _core.is_python_scalar(value):
        return value
    if np.ndim(value) != 0 and not (isinstance(value, Array) and value.ndim == 0):
        raise TypeError(f"{name}: bounds must be scalars; got shape {np.shape(value)}")
    return _core.to_numpy(value).item()


def arange(
    start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """``start, start + step, …`` up to but without ``stop``; one argument is ``stop``. The bounds must be known.

    Inside ``ct.mask``, ``arange(x.shape[0])`` has the length of the ragged axis.

    Raises:
        ValueError: step is 0.

    >>> import cotangent as ct
    >>> ct.numpy.arange(3).tolist()
    [0, 1, 2]
    """
    check_placement(out_sharding, "arange")
    check_device(device, "arange")
    if stop is None and step is None and is_dimension(start):
        sizes, lengths = static_shape((start,), "arange")
        return give_lengths(_iota(sizes[0], _core.default_int_dtype() if dtype is None else dtype), lengths)
    parts = [part for part in (start, stop, step) if part is not None]
    if dtype is None:
        dtype, _ = _core.promote_types([(lambda a: (a.dtype, a.weak_type))(_core.array(part)) for part in parts])
    dtype = _core.canonical_dtype(dtype)
    if stop is None:
        start, stop = 0, start
    if builtins_any(_core.dtype_kind(_core.array(part).dtype) == "complex" for part in parts):
        raise ValueError("arange takes real start, stop and step")
    begin, end, stride = (
        _number(start, "arange"),
        _number(stop, "arange"),
        1 if step is None else _number(step, "arange"),
    )
    if stride == 0:
        raise ValueError("arange: step must not be 0")
    size = max(0, math.ceil((end - begin) / stride))
    wide = np.dtype("float32") if dtype.itemsize == 2 and _core.dtype_kind(dtype) == "float" else dtype
    whole = isinstance(begin, int) and isinstance(stride, int)
    if not whole and _core.dtype_kind(dtype) not in ("float", "complex"):
        return convert(_core.array(np.arange(begin, end, stride)), dtype)
    result = _iota(size, wide)
    if stride != 1:
        result = result * literal(result, stride)
    if begin != 0:
        result = result + literal(result, begin)
    return _core.convert(result, dtype)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, with or without the end; arrays give a new axis.

    Raises:
        ValueError: ``num`` is negative.
    """
    check_device(device, "linspace")
    num = static_count(num, "linspace: num")
    if dtype is not None and _core.dtype_kind(dtype) in ("float", "complex"):
        start, stop = asarray(start, dtype), asarray(stop, dtype)
    start, stop = _core.promote([start, stop], inexact=True)
    out_dtype = start.dtype if dtype is None else _core.canonical_dtype(dtype)
    start, stop = convert(start, start.dtype), convert(stop, stop.dtype)
    divisions = num - 1 if endpoint else num
    shape = [num, *start._bound_shape]
    if divisions > 0:
        fraction = _iota(num, start.dtype) / literal(_iota(num, start.dtype), divisions)
        fraction = primitives.broadcast(fraction, shape=shape, axes=[0])
        first, last = _core.broadcast_to(start, shape), _core.broadcast_to(stop, shape)
        result = first * (literal(fraction, 1) - fraction) + last * fraction
        if endpoint:
            position = primitives.iota(shape=shape, dtype=np.dtype("int32"), axis=0)
            result = primitives.select(primitives.eq(position, literal(position, num - 1)), last, result)
        gap = (stop - start) / divisions
    else:
        result = _core.broadcast_to(start, shape)
        gap = _core.full((), math.nan, start.dtype)
    if _core.dtype_kind(out_dtype) in ("signed", "unsigned"):
        result = primitives.floor(result)
    result = _core.convert(result, out_dtype)
    result = _first_axis_to(result, axis, "linspace")
    return (result, gap) if retstep else result


def _first_axis_to(x: Array, axis: int, name: str) -> Array:
    position = normalize_axis(axis, x.ndim, name)
    if position == 0:
        return x
    order = list(range(1, x.ndim))
    order.insert(position, 0)
    return primitives.transpose(x, permutation=order)


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Array:
    """``base ** linspace(start, stop)``."""
    exponents = linspace(start, stop, static_count(num, "logspace: num"), endpoint, axis=axis)
    result = primitives.pow(*_core.promote([base, exponents], inexact=True))
    return result if dtype is None else convert(result, dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Array:
    """``num`` numbers from ``start`` to ``stop`` with equal ratios; both positive, both negative, or complex."""
    num = static_count(num, "geomspace: num")
    start, stop = _core.promote([start, stop], inexact=True)
    narrow = _core.dtype_kind(start.dtype) == "float" and start.dtype.itemsize == 2
    out_dtype = start.dtype if dtype is None else _core.canonical_dtype(dtype)
    if narrow:
        start, stop = _core.convert(start, "float32"), _core.convert(stop, "float32")
    sign = primitives.sign(start)
    exponents = linspace(primitives.log(start / sign), primitives.log(stop / sign), num, endpoint)
    sized = [num, *start._bound_shape]
    result = primitives.exp(exponents) * sign
    # The ends are exact.
    position = primitives.iota(shape=sized, dtype=np.dtype("int32"), axis=0)
    for place, value in ((0, start), (num - 1, stop)):
        if place == 0 or (endpoint and num > 1):
            result = primitives.select(position == place, _core.broadcast_to(value, sized), result)
    return _first_axis_to(convert(result, out_dtype), axis, "geomspace")


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Array]:
    """Coordinate arrays of a grid from the coordinates along each axis.

    Args:
        indexing: ``"xy"``: the first two axes of the results are exchanged; ``"ij"``: they are not.
        sparse: axes of size 1 instead of repeated values.
    """
    del copy
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij'; got {indexing!r}")
    arrays = [_core.array(x) for x in xi]
    if builtins_any(x.ndim > 1 for x in arrays):
        raise ValueError("meshgrid: coordinates must have one axis")
    arrays = [insert_axes(x, [0]) if x.ndim == 0 else x for x in arrays]
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[0], order[1] = 1, 0
    sizes = [x._bound_shape[0] for x in arrays]
    shape = [0] * len(arrays)
    for i, axis in enumerate(order):
        shape[axis] = sizes[i]
    results = []
    for i, x in enumerate(arrays):
        target = [1] * len(arrays) if sparse else list(shape)
        target[order[i]] = sizes[i]
        results.append(primitives.broadcast(x, shape=target, axes=[order[i]]))
    if not sparse:
        lengths = {order[i]: ragged_length(x, 0) for i, x in enumerate(arrays) if _core.ragged_axes(x)}
        results = [give_lengths(result, lengths) for result in results]
    return results


builtins_any = any


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """The index of every element of a grid along each axis."""
    dtype = _core.default_int_dtype() if dtype is None else dtype
    sizes, lengths = static_shape(tuple(dimensions), "indices")
    grids = []
    for axis, size in enumerate(sizes):
        target = [1] * len(sizes) if sparse else sizes
        target = [*target[:axis], size, *target[axis + 1 :]]
        grid = primitives.broadcast(_iota(size, dtype), shape=target, axes=[axis])
        grids.append(give_lengths(grid, {at: length for at, length in lengths.items() if at == axis or not sparse}))
    if sparse:
        return tuple(grids)
    if not grids:
        return zeros((0,), dtype)
    return primitives.concatenate(*[insert_axes(grid, [0]) for grid in grids], axis=0)


# ---- Diagonals and triangles -----------------------------------------------------------------------------------------


def _offsets(rows: int, columns: int) -> Array:
    """Column - row of each element of a matrix."""
    int32 = np.dtype("int32")
    return primitives.iota(shape=[rows, columns], dtype=int32, axis=1) - primitives.iota(
        shape=[rows, columns], dtype=int32, axis=0
    )


def _diagonal(k: Any, rows: int, columns: int) -> int:
    """The number of a diagonal, one just outside of the matrix for all that are outside."""
    return max(-rows, min(int(k), columns))


def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = None, *, device: Any = None) -> Array:
    """A matrix with ones on the k-th diagonal."""
    check_device(device, "eye")
    (rows, columns), lengths = static_shape((N, N if M is None else M), "eye")
    offset = _offsets(rows, columns)
    ones = _core.convert(
        _compared(primitives.eq, offset, k),
        _core.default_float_dtype() if dtype is None else dtype,
    )
    return give_lengths(ones, lengths)


def identity(n: int, dtype: Any = None) -> Array:
    """The identity matrix."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: Any = 0, dtype: Any = None) -> Array:
    """A matrix with ones on and below the k-th diagonal."""
    (rows, columns), lengths = static_shape((N, N if M is None else M), "tri")
    ones = _core.convert(_up_to(_offsets(rows, columns), k), _core.default_float_dtype() if dtype is None else dtype)
    return give_lengths(ones, lengths)


def _compared(primitive: Primitive, offset: Array, k: Any) -> Array:
    """Offsets compared with ``k``, which may be a value, or beyond what offsets can be."""
    if isinstance(k, Array):
        wide = np.dtype("int64")
        return primitive(_core.convert(offset, wide), _core.broadcast_to(_core.convert(k, wide), offset._bound_shape))
    return primitive(offset, literal(offset, _diagonal(k, *offset._bound_shape)))


def _up_to(offset: Array, k: Any) -> Array:
    return _compared(primitives.le, offset, k)


def _triangle(m: Any, k: int, lower: bool, name: str) -> Array:
    x = _core.array(m)
    if x.ndim < 2:
        raise ValueError(f"{name} needs at least two axes; got shape {x.shape}")
    rows, columns = x._bound_shape[-2:]
    offset = _offsets(rows, columns)
    keep = _up_to(offset, k) if lower else primitives.not_(_up_to(offset, k - 1))
    keep = primitives.broadcast(keep, shape=list(x._bound_shape), axes=[x.ndim - 2, x.ndim - 1])
    return primitives.select(keep, x, literal(x, 0))


def tril(m: Any, k: int = 0) -> Array:
    """The matrix with zeros above the k-th diagonal."""
    return _triangle(m, k, True, "tril")


def triu(m: Any, k: int = 0) -> Array:
    """The matrix with zeros below the k-th diagonal."""
    return _triangle(m, k, False, "triu")


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the elements on and below the k-th diagonal."""
    rows, columns = np.tril_indices(n, k, m)
    return _int_array(rows), _int_array(columns)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the elements on and above the k-th diagonal."""
    rows, columns = np.triu_indices(n, k, m)
    return _int_array(rows), _int_array(columns)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The indices of the main diagonal."""
    (size,), lengths = static_shape(n, "diag_indices")
    return (give_lengths(_iota(size, _core.default_int_dtype()), lengths),) * ndim


def _int_array(values: Any) -> Array:
    return _core.array(np.asarray(values, dtype=_core.default_int_dtype()))


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of the matrices in two axes, as a new last axis."""
    x = _core.array(a)
    if x.ndim < 2:
        raise ValueError(f"diagonal needs at least two axes; got shape {x.shape}")
    i, j = normalize_axis(axis1, x.ndim, "diagonal"), normalize_axis(axis2, x.ndim, "diagonal")
    if i == j:
        raise ValueError("diagonal: axis1 and axis2 must be different")
    rest = [axis for axis in range(x.ndim) if axis not in (i, j)]
    x = primitives.transpose(x, permutation=[*rest, i, j])
    shape = list(x._bound_shape)
    rows, columns = shape[-2:]
    start_row, start_column = max(0, -offset), max(0, offset)
    size = max(0, min(rows - start_row, columns - start_column))
    if any(axis >= x.ndim - 2 for axis in _core.ragged_axes(x)):
        return _ragged_diagonal(x, offset, start_row, start_column, size)
    flat = primitives.reshape(x, shape=[*shape[:-2], rows * columns])
    position = _iota(size, "int32") * literal(_iota(size, "int32"), columns + 1)
    position = position + literal(position, start_row * columns + start_column)
    return primitives.gather(flat, position, axis=x.ndim - 2, batch_dims=0)


def _ragged_diagonal(x: Array, offset: int, start_row: int, start_column: int, bound: int) -> Array:
    """A diagonal of matrices whose sizes are values, the elements alone in their rows."""
    last = x.ndim - 2
    between = _offsets(*x._bound_shape[-2:])
    chosen = primitives.broadcast(
        primitives.eq(between, literal(between, offset)), shape=list(x._bound_shape), axes=[last, last + 1]
    )
    rows = primitives.reduce_sum(primitives.select(chosen, x, literal(x, 0)), axes=[last + 1])
    if last in _core.ragged_axes(rows):
        rows = primitives.fill_padding(rows, axes=[last], value=0.0)
    start, limit = [0] * last + [start_row], [*rows._bound_shape[:last], start_row + bound]
    found = primitives.slice(rows, start=start, limit=limit, stride=[1] * (last + 1))
    zero = _core.full((), 0, "int32")
    left = [
        primitives.sub(_core.array(axis_size(x, axis)).astype("int32"), _core.full((), start, "int32"))
        for axis, start in ((last, start_row), (last + 1, start_column))
    ]
    return primitives.set_length(found, primitives.max(primitives.min(*left), zero), axis=last)


def diag(v: Any, k: int = 0) -> Array:
    """The k-th diagonal of a matrix, or the matrix with ``v`` on its k-th diagonal.

    Raises:
        ValueError: ``v`` has no axes, or more than two.
    """
    x = _core.array(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError(f"diag needs one or two axes; got shape {x.shape}")
    size = x._bound_shape[0] + abs(k)
    padded = primitives.pad(x, _core.full((), 0, x.dtype), low=[max(k, 0)], high=[max(-k, 0)], interior=[0])
    offset = _offsets(size, size)
    wide = primitives.broadcast(padded, shape=[size, size], axes=[1])
    if _core.ragged_axes(padded):
        wide = primitives.set_length(wide, primitives.dimension_size(padded, axis=0), axis=0)
    return primitives.select(primitives.eq(offset, literal(offset, k)), wide, literal(wide, 0))


def diagflat(v: Any, k: int = 0) -> Array:
    """The matrix with the elements of ``v`` on its k-th diagonal."""
    x = _core.array(v)
    return diag(primitives.reshape(x, shape=[bound_size(x)]), k)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """Powers of the elements as columns, the highest first unless ``increasing``."""
    array = _core.array(x)
    if array.ndim != 1:
        raise ValueError(f"vander needs one axis; got shape {array.shape}")
    (count,), lengths = static_shape(array.shape if N is None else (N,), "vander")
    powers = _iota(count, array.dtype)
    if lengths:
        length = lengths[0]
        if not increasing:
            powers = (
                primitives.broadcast(convert(length, array.dtype), shape=[count], axes=[]) - literal(powers, 1) - powers
            )
        powers = primitives.set_length(powers, length, axis=0)
    elif not increasing:
        powers = literal(powers, count - 1) - powers
    return primitives.pow(*_core.promote([insert_axes(array, [1]), powers]))


check_arguments(globals())
