"""Windows of static size at computed places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import convert, literal
from cotangent._ops.extents import capacities, capacity, drop_axes, stretched, without_padding
from cotangent._ops.indexing import check_index, count_like
from cotangent._ops.sizes import as_dtype, axis_size, insert_axes, normalize_axis, ragged_length, several, static_int
from cotangent.errors import DTypeError, ShapeError
from cotangent.lax._operands import listed

__all__ = [
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
]


def _start(name: str, x: Array, axis: int, start: Any, wraps: bool) -> Array:
    """A start as an integer scalar; negative ones count from the end where `wraps`."""
    if isinstance(start, (int, np.integer)) and not isinstance(start, bool) and axis not in _core.ragged_axes(x):
        if start < 0 and not wraps:
            raise ValueError(
                f"lax.{name}: start {start} of axis {axis} is negative, and allow_negative_indices is false\n"
                f"  pass {start + capacity(x, axis)}, which counts from the front, or allow_negative_indices=True"
            )
        return _core.full((), int(start) + capacity(x, axis) if start < 0 else int(start), np.int64)
    index = _core.array(start)
    if _core.dtype_kind(index.dtype) not in ("signed", "unsigned"):
        raise DTypeError(
            f"lax.{name}: starts must be integers; got {index.dtype} for axis {axis}\n"
            "  convert them: start.astype('int32')"
        )
    if index.ndim:
        raise ShapeError(
            f"lax.{name}: starts must be scalars; got shape {index.shape} for axis {axis}\n"
            f"  for several slices map over the starts: ct.vmap(lambda i: ct.lax.{name}(x, (i, …), …))(starts)"
        )
    if _core.dtype_kind(index.dtype) == "unsigned" or not wraps:
        return index
    wide = _core.convert(index, np.int64)
    size = axis_size(x, axis)
    size = _core.convert(size, np.int64) if isinstance(size, Array) else _core.full((), size, np.int64)
    negative = primitives.lt(wide, _core.full((), 0, np.int64))
    return primitives.select(negative, primitives.add(wide, size), wide)


def _starts(name: str, x: Array, start_indices: Any, wraps: bool | Sequence[bool]) -> list[Array]:
    if hasattr(start_indices, "ndim") and start_indices.ndim == 1:
        start_indices = [start_indices[i] for i in range(start_indices.shape[0])]
    starts = listed(name, "starts", start_indices)
    if len(starts) != x.ndim:
        raise ShapeError(
            f"lax.{name}: needs one start for each of {x.ndim} axes; got {len(starts)}\n"
            f"  pass {x.ndim} starts: 0 for an axis that is taken whole"
        )
    each = list(wraps) if several(wraps) else [bool(wraps)] * x.ndim
    if len(each) != x.ndim:
        raise ValueError(
            f"lax.{name}: allow_negative_indices needs one bool for each of {x.ndim} axes; got {len(each)}\n"
            f"  pass one bool for all axes, or {x.ndim}"
        )
    return [_start(name, x, axis, start, each[axis]) for axis, start in enumerate(starts)]


def _report_moved(x: Array, starts: list[Array], sizes: Sequence[Any]) -> None:
    """Tells whoever asked for ``index_checks`` which windows of these sizes are moved inside."""
    if not _core.get_flag("index_checks"):
        return
    for axis, (start, window) in enumerate(zip(starts, sizes, strict=True)):
        size = axis_size(x, axis)
        first = primitives.lt(start, literal(start, 0)) if _core.dtype_kind(start.dtype) == "signed" else None
        last = count_like(start, size) - count_like(start, window)
        wrong = primitives.lt(last, start)
        check_index(x, axis, size, start, wrong if first is None else primitives.or_(first, wrong), counted=True)


def dynamic_slice(
    operand: Any,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """The window of fixed size that begins at computed indices.

    A window that would reach outside is moved inside. Negative starts count from the end, unless
    ``allow_negative_indices`` is false; then they are moved to 0, and a negative Python int is an error.

    Parameters
    ----------
    operand : array
        Of n axes.
    start_indices : sequence of int, or array of int, shape (n,)
        Where the window begins; may be traced.
    slice_sizes : sequence of int
        The n sizes of the window.
    allow_negative_indices : bool or sequence of bool
        One for all axes, or one for each.

    Returns
    -------
    array
        Of the shape ``slice_sizes``.

    Raises
    ------
    ShapeError
        There is not one start for each axis.

    Examples
    --------
    >>> ct.lax.dynamic_slice(ct.numpy.arange(5), (3,), (3,))
    Array([2, 3, 4], dtype=int32)
    """
    x = _core.array(operand)
    starts = _starts("dynamic_slice", x, start_indices, allow_negative_indices)
    sizes = [
        static_int(size, "lax.dynamic_slice: a size") for size in listed("dynamic_slice", "slice_sizes", slice_sizes)
    ]
    _report_moved(x, starts, sizes)
    return primitives.dynamic_slice(x, *starts, sizes=sizes, batch_dims=0)


def dynamic_update_slice(
    operand: Any, update: Any, start_indices: Any, *, allow_negative_indices: bool | Sequence[bool] = True
) -> Array:
    """Replaces the window that begins at computed indices.

    A window that would reach outside is moved inside, as by `dynamic_slice`. The dtype of the result is not weak.

    Parameters
    ----------
    operand : array
        Of n axes; it is not changed.
    update : array
        The new window, of n axes and the dtype of ``operand``.
    start_indices : sequence of int, or array of int, shape (n,)
        Where the window begins; may be traced.
    allow_negative_indices : bool or sequence of bool
        As of `dynamic_slice`.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Raises
    ------
    DTypeError
        The update has another dtype.

    Examples
    --------
    >>> ct.lax.dynamic_update_slice(ct.numpy.arange(5), ct.numpy.array([10, 20]), (1,))
    Array([ 0, 10, 20,  3,  4], dtype=int32)
    """
    x = _core.array(operand)
    starts = _starts("dynamic_update_slice", x, start_indices, allow_negative_indices)
    given = _core.array(update)
    if given.dtype != x.dtype:
        if not given.weak_type:
            raise DTypeError(
                f"lax.dynamic_update_slice: the update has dtype {given.dtype}, the array {x.dtype}\n"
                f"  convert it: update.astype('{x.dtype}')"
            )
        given = _core.convert(given, x.dtype)
    if given.ndim == x.ndim:
        _report_moved(x, starts, [axis_size(given, axis) for axis in range(x.ndim)])
    if any(not _same_size(x, given, axis) for axis in _core.ragged_axes(given)):
        return _ragged_update(convert(x, x.dtype), given, starts)
    return primitives.dynamic_update_slice(convert(x, x.dtype), given, *starts, batch_dims=0)


def _same_size(x: Array, y: Array, axis: int) -> bool:
    """Whether a ragged axis of ``y`` is that of ``x``."""
    size = axis_size(x, axis)
    return isinstance(size, Array) and _core.same_length(size, ragged_length(y, axis))


def _ragged_update(x: Array, update: Array, starts: list[Array]) -> Array:
    """`dynamic_update_slice` with a window whose size is a value: each element asks where in the window it is."""
    if update.ndim != x.ndim:
        raise ShapeError(
            f"lax.dynamic_update_slice: the update has {update.ndim} axes, the array {x.ndim}\n"
            "  insert axes of size 1: update[None]"
        )
    inside = _core.full(capacities(x), True, bool)
    taken = without_padding(update)
    for axis, start in enumerate(starts):
        count, size = (as_dtype(axis_size(y, axis), "int32") for y in (update, x))
        zero = _core.full((), 0, "int32")
        first = primitives.max(primitives.min(_core.convert(start, zero.dtype), size - count), zero)
        places = primitives.iota(shape=[capacity(x, axis)], dtype=zero.dtype, axis=0) - first
        held = primitives.min(places, literal(places, max(capacity(update, axis) - 1, 0)))
        taken = primitives.gather(taken, primitives.max(held, literal(places, 0)), axis=axis, batch_dims=0)
        within = (places >= literal(places, 0)) & (places < count)
        others = [at for at in range(x.ndim) if at != axis]
        inside = inside & stretched(insert_axes(within, others), x)
    return primitives.select(inside, taken, x)


def dynamic_slice_in_dim(
    operand: Any, start_index: Any, slice_size: int, axis: int = 0, *, allow_negative_indices: bool = True
) -> Array:
    """The window of fixed size that begins at a computed index of one axis.

    Parameters
    ----------
    operand : array
        Of any shape with that axis.
    start_index : int
        Where the window begins; may be traced.
    slice_size : int
        The size of the window.
    axis : int
        Which axis, by default 0.
    allow_negative_indices : bool
        Whether negative starts count from the end.

    Returns
    -------
    array
        Of as many axes; the others are whole.

    Examples
    --------
    >>> ct.lax.dynamic_slice_in_dim(ct.numpy.arange(5), 1, 2)
    Array([1, 2], dtype=int32)
    """
    x = _core.array(operand)
    at = normalize_axis(axis, x.ndim, "dynamic_slice_in_dim")
    starts: list[Any] = [0] * x.ndim
    sizes = list(capacities(x))
    starts[at], sizes[at] = start_index, int(slice_size)
    return dynamic_slice(x, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """Replaces the window that begins at a computed index of one axis.

    Parameters
    ----------
    operand : array
        Of any shape with that axis; it is not changed.
    update : array
        The new window, of as many axes and the dtype of ``operand``.
    start_index : int
        Where the window begins; may be traced.
    axis : int
        Which axis.
    allow_negative_indices : bool
        Whether negative starts count from the end.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Examples
    --------
    >>> ct.lax.dynamic_update_slice_in_dim(ct.numpy.arange(5), ct.numpy.array([10, 20]), 3, 0)
    Array([ 0,  1,  2, 10, 20], dtype=int32)
    """
    x = _core.array(operand)
    at = normalize_axis(axis, x.ndim, "dynamic_update_slice_in_dim")
    starts: list[Any] = [0] * x.ndim
    starts[at] = start_index
    return dynamic_update_slice(x, update, starts, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(
    operand: Any, index: Any, axis: int = 0, keepdims: bool = True, *, allow_negative_indices: bool = True
) -> Array:
    """The slice of an axis at a computed index, which is moved into range.

    Parameters
    ----------
    operand : array
        Of any shape with that axis.
    index : int
        The position; may be traced.
    axis : int
        Which axis, by default 0.
    keepdims : bool
        Whether the axis stays, with size 1 (the default).
    allow_negative_indices : bool
        Whether negative positions count from the end.

    Returns
    -------
    array
        The slice.

    Examples
    --------
    >>> ct.lax.dynamic_index_in_dim(ct.numpy.arange(5), 7)
    Array([4], dtype=int32)
    """
    x = _core.array(operand)
    at = normalize_axis(axis, x.ndim, "dynamic_index_in_dim")
    result = dynamic_slice_in_dim(x, index, 1, at, allow_negative_indices=allow_negative_indices)
    if keepdims:
        return result
    return drop_axes(result, [at])


def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """Replaces the slice of an axis at a computed index, which is moved into range.

    Parameters
    ----------
    operand : array
        Of any shape with that axis; it is not changed.
    update : array
        The new slice: with that axis of size 1, or without it.
    index : int
        The position; may be traced.
    axis : int
        Which axis.
    allow_negative_indices : bool
        Whether negative positions count from the end.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Raises
    ------
    ShapeError
        The update has another number of axes.

    Examples
    --------
    >>> ct.lax.dynamic_update_index_in_dim(ct.numpy.arange(4), 9, 2, 0)
    Array([0, 1, 9, 3], dtype=int32)
    """
    x, given = _core.array(operand), _core.array(update)
    at = normalize_axis(axis, x.ndim, "dynamic_update_index_in_dim")
    if given.ndim not in (x.ndim - 1, x.ndim):
        raise ShapeError(
            f"lax.dynamic_update_index_in_dim: the update has {given.ndim} axes; an array with {x.ndim} needs as many, or one fewer\n"
            "  insert or drop axes of the update, with update[None] or ct.lax.squeeze"
        )
    if given.ndim != x.ndim:
        given = insert_axes(given, [at])
    return dynamic_update_slice_in_dim(x, given, index, at, allow_negative_indices=allow_negative_indices)


check_arguments(globals())
