"""Where elements are: the positions of those that are true, and numbers of positions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._base.device import put_beside
from cotangent._base.words import not_among
from cotangent._core import Array
from cotangent._ops.arithmetic import maximum
from cotangent._ops.binding import choose, convert, is_integer, kind, literal
from cotangent._ops.comparisons import truth
from cotangent._ops.joining import stack
from cotangent._ops.rounding import clip
from cotangent._ops.shapes import ravel
from cotangent._ops.sizes import (
    Size,
    as_dtype,
    bound_size,
    count_from,
    insert_axes,
    several,
    static_shape,
)
from cotangent.errors import ConcretizationError, DataDependentShapeError

__all__ = ["argwhere", "flatnonzero", "nonzero", "unravel_index"]

_INT32 = np.dtype("int32")


def known(x: Any, name: str, hint: str = "pass size=, how many results there are") -> Any:
    """The elements as a NumPy array, for a result whose shape depends on them.

    Raises:
        ConcretizationError: they are not known when the program is captured.
    """
    try:
        return _core.peek_numpy(x)  # its elements decide about positions; none of them is part of a result
    except ConcretizationError as error:
        raise DataDependentShapeError(
            f"{name}: the shape of the result depends on values that are not known when the program is captured\n"
            f"  {hint}"
            "\n  see docs/errors.md#shape-that-depends-on-values"
        ) from error


def is_unknown(x: Any) -> bool:
    """Whether the values of an array are not known when the program is captured."""
    if not _core.is_traced(x):
        return False
    try:
        _core.peek_numpy(x)
    except ConcretizationError:
        return True
    return False


def is_sized(x: Any) -> bool:
    """Whether a result whose shape depends on these values has a size that is a value: inside of masks, where they are not known."""
    return _core.in_mask() and is_unknown(x)


def _integers(values: Any, *beside: Any) -> Array:
    return put_beside(_core.array(np.asarray(values).astype(_core.default_int_dtype())), beside)  # type: ignore[no-any-return]


def true_positions(mask: Array, size: int) -> tuple[Array, Array]:
    """The first ``size`` positions where a one-axis bool array is true, and how many there are in all."""
    one = _core.convert(mask, _INT32)
    # Every position is written where the next true one belongs, and stays there if it is that: no branch to mispredict.
    place = primitives.cumsum(one, axis=0, reverse=False) - one
    position = primitives.iota(shape=list(mask._bound_shape), dtype=_INT32, axis=0)
    found = primitives.scatter(_core.full((size,), 0, _INT32), place, position, axis=0, batch_dims=0)
    total = primitives.reduce_sum(one, axes=[0])
    written = primitives.iota(shape=[size], dtype=_INT32, axis=0) < total
    return choose(written, found, 0), total


def exact_mask(mask: Array) -> Array:
    """Bools that are false on padding, of exact size."""
    ragged = _core.ragged_axes(mask)
    return primitives.fill_padding(mask, axes=ragged, value=0.0) if ragged else mask


def sized_positions(mask: Array) -> list[Array]:
    """The index along each axis of each element that is true, in row-major order: how many there are is a value."""
    exact = exact_mask(mask)
    shape = exact._bound_shape
    count = bound_size(exact)
    flat = exact if exact.ndim == 1 else primitives.reshape(exact, shape=[count])
    found, total = true_positions(flat, count)
    return [set_length(index, total, 0) for index in _unravel(found, shape)]


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]:
    """The indices of the elements that are not zero.

    Parameters
    ----------
    a : array
        Numbers or bools; not a scalar.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : int or sequence of int, optional
        The index, or one for each axis, where there are fewer than ``size``; by default 0.

    Returns
    -------
    tuple of array of int
        The indices along each axis.

    Raises
    ------
    ValueError
        ``a`` is a scalar, which has no axis.

    Examples
    --------
    >>> ct.numpy.nonzero(np.array([0, 3, 0, 4]))
    (Array([1, 3], dtype=int32),)

    >>> ct.jit(lambda x: ct.numpy.nonzero(x, size=3, fill_value=-1)[0])(np.array([0, 3, 0, 4]))
    Array([ 1,  3, -1], dtype=int32)
    """
    if np.ndim(a) == 0:
        raise ValueError("nonzero: a scalar has no indices\n  use atleast_1d(a) first")
    if size is None and is_sized(a):
        return tuple(_core.convert(index, _core.default_int_dtype()) for index in sized_positions(truth(a)))
    if size is None:
        return tuple(_integers(index, a) for index in np.nonzero(known(a, "nonzero")))
    mask = exact_mask(truth(a))
    count, length = count_from(size, "nonzero: size")
    shape = mask._bound_shape
    flat = mask if mask.ndim == 1 else primitives.reshape(mask, shape=[bound_size(mask)])
    found, total = true_positions(flat, count)
    inside = primitives.iota(shape=[count], dtype=_INT32, axis=0) < total
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * len(shape)
    if len(fills) != len(shape):
        raise ValueError(
            f"nonzero: {len(fills)} fill values for an array with {len(shape)} axes\n"
            f"  give one fill value for all axes, or a tuple of {len(shape)}"
        )
    results = []
    for index, fill in zip(_unravel(found, shape), fills, strict=True):
        wide = _core.convert(index, _core.default_int_dtype())
        other = _core.broadcast_to(_core.convert(_core.array(0 if fill is None else fill), wide.dtype), (count,))
        chosen = primitives.select(inside, wide, other)
        results.append(chosen if length is None else set_length(chosen, length, 0))
    return tuple(results)


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The indices of the elements that are not zero, one row for each.

    Parameters
    ----------
    a : array
        Numbers or bools.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : int or sequence of int, optional
        The index, or one for each axis, where there are fewer than ``size``; by default 0.

    Returns
    -------
    array of int, shape (number, a.ndim)
        The indices.

    Examples
    --------
    >>> ct.numpy.argwhere(np.array([[0, 3], [4, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int32)
    """
    array = _core.array(a)
    columns = nonzero(array if array.ndim else insert_axes(array, [0]), size=size, fill_value=fill_value)
    rows = stack(columns, axis=1)
    return rows if array.ndim else rows[:, :0]


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The positions in the flattened array of the elements that are not zero.

    Parameters
    ----------
    a : array
        Numbers or bools.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : int, optional
        The position where there are fewer than ``size``; by default 0.

    Returns
    -------
    array of int, shape (number,)
        The positions.

    Examples
    --------
    >>> ct.numpy.flatnonzero(np.array([[0, 3], [4, 0]]))
    Array([1, 2], dtype=int32)
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def _unravel(flat: Array, shape: Sequence[Size]) -> list[Array]:
    """The indices along each axis of positions in the flattened array, which are not negative."""
    indices: list[Array] = []
    for size in reversed(shape[1:]):
        divisor = (
            literal(flat, max(size, 1))
            if isinstance(size, int)
            else _core.broadcast_to(as_dtype(maximum(size, 1), flat.dtype), flat._bound_shape)
        )
        indices.append(primitives.rem(flat, divisor))
        flat = primitives.div(flat, divisor)
    return [flat, *reversed(indices)] if shape else []


def _that_holds(count: int, dtype: Any) -> Any:
    """``dtype``, or the integers that hold positions among so many elements, where it does not."""
    for each in (dtype, np.dtype("int32"), np.dtype("int64")):
        if count <= np.iinfo(each).max + 1:
            return each
    raise ValueError(
        f"unravel_index: an array of {count} elements is too large to have positions\n"
        "  the sizes must not multiply to more than 2**63"
    )


def _sizes_to_divide_by(shape: Any) -> list[Size]:
    """The sizes of a shape, which may be values: nothing here has that shape."""
    items = list(shape) if several(shape) or (isinstance(shape, Array) and shape.ndim) else [shape]
    if any(isinstance(item, Array) and _core.is_traced(item) and is_integer(item) for item in items):
        return [item if isinstance(item, Array) else int(item) for item in items]
    bounds, lengths = static_shape(shape, "unravel_index")
    return [lengths.get(axis, size) for axis, size in enumerate(bounds)]


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Array, ...]:
    """The indices along each axis of positions in a flattened array.

    Negative positions count from the end; those outside are moved to the nearest inside.

    Parameters
    ----------
    indices : array of int
        The positions.
    shape : int or sequence of int
        The shape of the array before it was flattened.
    order : str, default "C"
        ``"C"``: the last index varies fastest; ``"F"``: the first.

    Returns
    -------
    tuple of array of int
        The indices along each axis, each of the shape of ``indices``.

    Raises
    ------
    TypeError
        The positions are not integers.
    ValueError
        There is no such order.

    Examples
    --------
    >>> ct.numpy.unravel_index(np.array([1, 5]), (2, 3))
    (Array([0, 1], dtype=int64), Array([1, 2], dtype=int64))
    """
    if order not in ("C", "F"):
        raise not_among("unravel_index", "order", order, ("C", "F"))
    index = _core.array(indices)
    if not is_integer(index):
        raise TypeError(f"unravel_index takes integers; got {index.dtype}\n  convert them first: .astype('int32')")
    sizes = _sizes_to_divide_by(shape)
    count: Size = functools.reduce(operator.mul, sizes, 1)
    given = index.dtype
    if isinstance(count, int):
        largest = max((size for size in sizes if isinstance(size, int)), default=1)
        index = convert(index, _that_holds(max(count, largest), given))
        given = _that_holds(largest, given)
    if kind(index) == "signed":
        index = choose(index < literal(index, 0), index + as_dtype(count, index.dtype), index)
    last = max(count - 1, 0) if isinstance(count, int) else as_dtype(maximum(count - 1, 0), index.dtype)
    inside = clip(index, 0, last)
    places = _unravel(inside, sizes[::-1])[::-1] if order == "F" else _unravel(inside, sizes)
    return tuple(convert(place, given) for place in places)


check_arguments(globals())
