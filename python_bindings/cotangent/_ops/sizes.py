"""Axes and sizes, which may be ragged.

Inside ``ct.mask`` an axis of a traced array may be ragged: its size is a value, not a number. `_bound_shape` gives the static
bounds, which attributes of primitives take; `axis_size` and `element_count` give sizes to calculate with.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.dimensions import Dim, as_dimension, is_scalar_integer, narrowed, not_negative
from cotangent._base.keys import KeyDType
from cotangent._core import Array
from cotangent.errors import ConcretizationError, ShapeError

Size = int | Array
_INT32 = np.dtype("int32")


def index_dtype(size: int) -> np.dtype[Any]:
    """What positions along an axis of this size are computed in, and counts of its elements: int32, or int64 where that is too narrow."""
    return _INT32 if size < 2**31 else np.dtype("int64")


def position_dtype(size: int) -> Any:
    """The dtype of results that are such positions: the default one of integers, if that is not too narrow."""
    default = _core.default_int_dtype()
    return index_dtype(size) if default == _INT32 else default


def _integer_of(value: Any) -> str:
    """What to write for a value that should be an integer."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return "write an int, such as 1"
    return f"write {int(number)}, or int(x)" if math.isfinite(number) else "write an int, such as 1"


def normalize_axis(axis: Any, rank: int, name: str) -> int:
    """An axis counted from the front.

    Raises:
        AxisError: there is no such axis: NumPy's, a ValueError and an IndexError. TypeError: it is not an integer.
    """
    try:
        number = operator.index(axis)
    except TypeError:
        raise TypeError(f"{name}: an axis must be an integer; got {axis!r}\n  {_integer_of(axis)}") from None
    if not -rank <= number < rank:
        raise np.exceptions.AxisError(
            f"{name}: axis {number} is out of bounds for an array with {rank} axes\n"
            f"  {f'its axes are {-rank} to {rank - 1}' if rank else 'give it one first: x.reshape(1)'}"
            "\n  see docs/errors.md#axis-out-of-range"
        )
    return number % rank if number < 0 else number


def type_of(x: Any) -> tuple[tuple[Any, ...], Any, bool]:
    """Shape, dtype and weak type of an array, of what becomes one, or of what only says so, as a `ShapeDtypeStruct` does.

    A dtype counts as a scalar of it.
    """
    if not isinstance(x, Array):
        if isinstance(x, (type, np.dtype, KeyDType)):
            # np.dtype("float64") == float, which only as a class is a number of no particular width.
            return (), _core.canonical_dtype(x), isinstance(x, type) and x in (int, float, complex)
        shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
        if isinstance(shape, tuple) and isinstance(dtype, (np.dtype, KeyDType)) and not hasattr(x, "__array__"):
            return shape, _core.canonical_dtype(dtype), bool(getattr(x, "weak_type", False))
        x = _core.array(x)
    return x.shape, x.dtype, x.weak_type


def several(x: Any) -> TypeGuard[Sequence[Any]]:
    """Whether an argument that may be one integer or several is several: any sequence (a range, say) or an array with one axis."""
    if isinstance(x, (tuple, list)):
        return True
    if isinstance(x, (np.ndarray, Array)):
        return x.ndim == 1
    # By what it can do: other libraries' shapes are not registered as sequences.
    kind = type(x)
    is_sequence = hasattr(kind, "__len__") and hasattr(kind, "__getitem__") and not hasattr(kind, "__index__")
    return is_sequence and not isinstance(x, (str, bytes, Mapping))


MOST_AXES = 64  # kMostAxes of runtime/aval.cc


def arrays_of(given: Any, name: str) -> list[Any]:
    """What a function takes several of: arrays in a sequence.

    Raises:
        TypeError: it is one thing.
    """
    try:
        return list(given)
    except TypeError as error:
        if isinstance(error, ConcretizationError):  # the number of rows is not known
            raise
        raise TypeError(f"{name} takes a sequence of arrays; got {_described(given)}\n  write {name}([x, y])") from None


def _described(x: Any) -> str:
    return f"an array of shape {x.shape}" if isinstance(x, (Array, np.ndarray)) else type(x).__name__


def check_rank(rank: int, name: str) -> int:
    """The number of axes that a result is to have, before lists of that length are made."""
    if rank > MOST_AXES:
        raise ValueError(
            f"{name}: an array has at most {MOST_AXES} axes; got {rank}\n"
            "  make one of several axes first: x.reshape(-1, ...)"
        )
    return rank


def normalize_axes(axis: Any, rank: int, name: str) -> list[int]:
    """Sorted axes counted from the front; all for None."""
    if axis is None:
        return list(range(rank))
    items = axis if several(axis) else (axis,)
    axes = sorted(normalize_axis(item, rank, name) for item in items)
    if len(set(axes)) != len(axes):
        raise ValueError(
            f"{name}: axis {axis} names an axis twice\n  name each axis once: {tuple(dict.fromkeys(axes))}"
        )
    return axes


def move_last(x: Array, axis: int, back: bool = False) -> Array:
    """``axis`` moved behind all others, or the last axis moved ``back`` to that position."""
    last = x.ndim - 1
    if axis == last:
        return x
    order = [i for i in range(last + 1) if i != (last if back else axis)]
    order.insert(axis if back else last, last if back else axis)
    return primitives.transpose(x, permutation=order)


def bound_size(x: Array) -> int:
    """The number of elements in memory; `Array.size` is a value where an axis is ragged."""
    return math.prod(x._bound_shape)


def refuse_ragged(name: str, x: Array, axes: Sequence[int], why: str) -> None:
    """An error where one of the axes is ragged.

    Raises:
        NotImplementedError: one is.
    """
    for axis in _core.ragged_axes(x):
        if axis in axes:
            raise NotImplementedError(
                f"{name}: axis {axis} is ragged, and {why}\n  leave the mask for it, or compute on the bound with ct.numpy.where"
            )


def refuse_ragged_shape(name: str, shape: Any, why: str) -> None:
    """An error where a size of a shape is that of a ragged axis.

    Raises:
        NotImplementedError: one is.
    """
    for axis in static_shape(shape, name)[1]:
        raise NotImplementedError(
            f"{name}: axis {axis} of the shape is ragged, and {why}\n  leave the mask for it, or give an exact size"
        )


def ragged_length(x: Array, axis: int) -> Array:
    """The length of a ragged axis, an int32 scalar."""
    length = _core.length_of(x, axis)
    assert length is not None, f"axis {axis} is not ragged"
    return length


def axis_size(x: Array, axis: int) -> Size:
    """The size of an axis: an int, or an int32 scalar when the axis is ragged."""
    length = _core.length_of(x, axis)
    return x._bound_shape[axis] if length is None else length


def symbolic_size(x: Array, axis: int) -> Any:
    """The size of an axis, to calculate with in sizes: an int, or symbolic."""
    length, bound = _core.length_of(x, axis), x._bound_shape[axis]
    return bound if length is None else Dim(bound, length, axis)


def symbolic_sizes(x: Array) -> list[Any]:
    """The sizes of all axes, to calculate with in sizes."""
    return [symbolic_size(x, axis) for axis in range(x.ndim)]


def element_count(x: Array, axes: Sequence[int]) -> Size:
    """How many elements each cell of a reduction over ``axes`` folds."""
    ragged = [axis for axis in _core.ragged_axes(x) if axis in axes]
    static = math.prod(x._bound_shape[axis] for axis in axes if axis not in ragged)
    count: Size = static
    for axis in ragged:
        count = axis_size(x, axis) * count
    return count


def as_dtype(count: Size, dtype: Any) -> Array:
    """A size as a scalar array of ``dtype``."""
    return _core.convert(count, dtype) if isinstance(count, Array) else _core.full((), count, dtype)


def keep_axes(reduced: Array, original: Array, axes: Sequence[int]) -> Array:
    """Puts axes of size 1 where a reduction removed ``axes``."""
    return insert_axes(reduced, axes) if axes else reduced


def insert_axes(x: Array, positions: Sequence[int]) -> Array:
    """New axes of size 1 at the given positions of the result."""
    rank = x.ndim + len(positions)
    sizes = iter(x._bound_shape)
    shape = [1 if axis in positions else next(sizes) for axis in range(rank)]
    kept = [axis for axis in range(rank) if axis not in positions]
    return primitives.broadcast(x, shape=shape, axes=kept)


def static_int(value: Any, what: str) -> int:
    """An int that must be known when the program is captured.

    Raises:
        TypeError: it is not an integer.
    """
    try:
        return operator.index(value)
    except TypeError as error:
        if isinstance(value, Dim):
            raise value.undecided(what) from None
        if isinstance(value, Array) and _core.is_traced(value):
            raise
        raise TypeError(f"{what} must be an integer; got {value!r}\n  {_integer_of(value)}") from error


def static_count(value: Any, what: str) -> int:
    """A `static_int` that is not negative.

    Raises:
        ValueError: it is.
    """
    count = static_int(value, what)
    if count < 0:
        raise ValueError(f"{what} must not be negative; got {count}\n  use max(0, n) where it is computed")
    return count


def count_from(value: Any, what: str) -> tuple[int, Array | None]:
    """How many elements an axis is to have: the number, or the bound and the length of a size that the program computes.

    Raises:
        ValueError: it is negative.
    """
    size = size_from(value, what)
    if isinstance(size, Dim):
        size = not_negative(size)
    return (size.bound, size.value) if isinstance(size, Dim) else (static_count(size, what), None)


def is_dimension(item: Any) -> TypeGuard[Dim]:
    """Whether an object is the symbolic size of a ragged axis."""
    return isinstance(item, Dim)


def size_from(value: Any, what: str) -> int | Dim:
    """An integer that is to be a size or a bound of a slice: an int, or symbolic where the program computes it.

    Raises:
        TypeError: it is neither. DataDependentShapeError: the program computes it, and shapes are known there.
    """
    if isinstance(value, Dim):
        return value
    try:
        return operator.index(value)
    except TypeError as error:
        if is_scalar_integer(value):
            return as_dimension(value, what)
        if isinstance(value, Array) and _core.is_traced(value):
            raise
        raise TypeError(f"{what} must be an integer; got {value!r}\n  {_integer_of(value)}") from error


def length_of_size(size: Dim) -> Array:
    """A symbolic size as the length of an axis, which is not negative."""
    return not_negative(size).value  # type: ignore[no-any-return]


def static_shape(shape: Any, name: str, *, least: int = 0, negative: str = "") -> tuple[list[int], dict[int, Array]]:
    """The static sizes of a shape that the function ``name`` was given, and the lengths of its axes that are sizes of ragged axes.

    A symbolic size (an element of `Array.shape` inside ``ct.mask``) counts with its bound. Sizes are ``least`` or more; ``negative`` is what
    to do where they are not.

    Raises:
        TypeError: a size is neither an integer nor symbolic. ShapeError: one is negative.
    """
    if isinstance(shape, (np.ndarray, Array)) and shape.ndim:
        shape = tuple(shape)
    items = shape if several(shape) else (shape,)
    sizes: list[int] = []
    lengths: dict[int, Array] = {}
    for axis, item in enumerate(items):
        size = narrowed(size_from(item, "a size"))
        if isinstance(size, Dim):
            sizes.append(max(size.bound, 0))
            lengths[axis] = length_of_size(size)
        else:
            sizes.append(size)
    if any(size < least for size in sizes):
        besides = f", except for one {least}" if least else ""
        hint = f"\n  {negative or 'use max(0, n) where a size is computed'}"
        raise ShapeError(
            f"{name}: sizes must not be negative{besides}; got {tuple(sizes)}{hint}\n  see docs/errors.md#negative-size"
        )
    return sizes, lengths


def symbolic_shape(shape: Any, name: str, *, least: int = 0) -> tuple[Any, ...]:
    """The sizes of a shape that the function ``name`` was given, symbolic where they are; errors are those of `static_shape`."""
    sizes, lengths = static_shape(shape, name, least=least)
    if not lengths:
        return tuple(sizes)
    items = tuple(shape if several(shape) else (shape,))
    return tuple(
        narrowed(size_from(item, "a size")) if axis in lengths else sizes[axis] for axis, item in enumerate(items)
    )


def common_shape(shapes: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """What shapes broadcast to, symbolic where one of them is."""
    bounds = [[size.bound if is_dimension(size) else size for size in shape] for shape in shapes]
    common: list[Any] = list(_core.broadcast_shapes(bounds))
    for shape in shapes:
        for axis, size in enumerate(shape, len(common) - len(shape)):
            if is_dimension(size):
                common[axis] = size
    return tuple(common)


def flat_positions(sizes: Sequence[int], lengths: dict[int, Array], dtype: Any) -> Array:
    """The row-major position of each element in the array without padding."""
    position = _core.full(sizes, 0, dtype)
    stride = _core.full((), 1, dtype)
    for axis in reversed(range(len(sizes))):
        position = position + primitives.iota(shape=list(sizes), dtype=dtype, axis=axis) * stride
        stride = stride * as_dtype(lengths.get(axis, sizes[axis]), dtype)
    return position
