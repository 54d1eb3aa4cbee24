"""gather and the scatters with dimension numbers: slices of an array at many computed places.

The places become positions in the flattened indexed axes; axes that are taken whole stay as they are behind them.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import as_ragged_as
from cotangent._core import Array, Primitive
from cotangent._ops.binding import constant, literal
from cotangent._ops.extents import (
    bound_of,
    capacities,
    capacity,
    drop_axes,
    join_axes,
    slice_axis,
    stretched,
    without_padding,
)
from cotangent._ops.repeated import repeated
from cotangent._ops.sizes import as_dtype, axis_size, insert_axes, is_dimension, normalize_axis
from cotangent._ops.taking import fill_outside
from cotangent.errors import DTypeError, ShapeError

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "gather",
    "index_take",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
]

_INT64 = np.dtype("int64")


class GatherDimensionNumbers(NamedTuple):
    """Which axes of the operand, of the indices and of the result belong together, in `gather`.

    ``offset_dims`` are the axes of the result that are axes of a slice; ``collapsed_slice_dims`` the axes of the
    operand that slices, whose size there is 1, are taken without; ``start_index_map`` names the axis of the operand
    that each number of an index is for; the last two pair axes of the operand and of the indices that are walked
    along together.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which axes of the operand, of the indices and of the updates belong together, in the scatters.

    ``update_window_dims`` are the axes of the updates that are axes of a slice; ``inserted_window_dims`` the axes
    of the operand that updates, whose size there would be 1, lack; ``scatter_dims_to_operand_dims`` names the axis
    of the operand that each number of an index is for; the last two pair axes of the operand and of the indices
    that are walked along together.
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


class GatherScatterMode(enum.Enum):
    """What becomes of slices that lie outside: moved inside, read as a fill value or not written, or promised away.

    ``CLIP`` moves a slice as far as it takes; ``FILL_OR_DROP`` reads a fill value in `gather` and writes nothing in
    a scatter; ``PROMISE_IN_BOUNDS`` is treated as ``CLIP``.
    """

    CLIP = 0
    FILL_OR_DROP = 1
    PROMISE_IN_BOUNDS = 2

    @staticmethod
    def from_any(mode: Any) -> GatherScatterMode:
        """The mode of a mode, of its name, or of None, which is ``FILL_OR_DROP``.

        Parameters
        ----------
        mode : GatherScatterMode, str or None
            A name is "clip", "fill", "drop" or "promise_in_bounds".

        Returns
        -------
        GatherScatterMode
            The mode.

        Raises
        ------
        ValueError
            There is no such name.

        Examples
        --------
        >>> ct.lax.GatherScatterMode.from_any("clip").name
        'CLIP'
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        names = {
            None: GatherScatterMode.FILL_OR_DROP,
            "clip": GatherScatterMode.CLIP,
            "fill": GatherScatterMode.FILL_OR_DROP,
            "drop": GatherScatterMode.FILL_OR_DROP,
            "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
        }
        if mode not in names:
            raise ValueError(f'mode must be "clip", "fill", "drop" or "promise_in_bounds"; got {mode!r}')
        return names[mode]


@dataclass
class _Places:
    """The elements that slices name: [batch..., window...] positions in the operand's indexed axes as one."""

    positions: Array
    permutation: list[int]  # of the operand: indexed axes, then those taken whole
    indexed: int  # how many axes are indexed
    order: list[int]  # of the result's axes, from [batch..., window..., whole...]


def _index_columns(name: str, indices: Any, count: int) -> tuple[list[Array], tuple[int, ...]]:
    array = _core.array(indices)
    if _core.dtype_kind(array.dtype) not in ("signed", "unsigned"):
        raise DTypeError(f"lax.{name}: indices must be integers; got {array.dtype}")
    if array.ndim == 0 or capacity(array, -1) != count:
        raise ShapeError(f"lax.{name}: the last axis of the indices must hold {count} numbers; got shape {array.shape}")
    batch = capacities(array)[:-1]
    wide = _core.convert(array, _INT64)
    columns = []
    for k in range(count):
        columns.append(drop_axes(slice_axis(wide, -1, k, k + 1), [array.ndim - 1]))
    return columns, batch


def _check_numbers(
    name: str, numbers: GatherDimensionNumbers, sizes: Sequence[int], shape: Sequence[int], batch: Sequence[int]
) -> None:
    """That dimension numbers name axes that there are, once each, and what is left out of the slices has size 1."""
    of_slices = {
        "axes left out of the slices": numbers.collapsed_slice_dims,
        "batching axes": numbers.operand_batching_dims,
        "indexed axes": numbers.start_index_map,
    }
    for what, axes in of_slices.items():
        if len(set(axes)) != len(axes) or any(not 0 <= axis < len(shape) for axis in axes):
            raise ShapeError(f"lax.{name}: {what} {tuple(axes)} must be distinct axes of shape {tuple(shape)}")
    batching = numbers.operand_batching_dims
    for what, axes in of_slices.items():
        if what != "batching axes" and set(axes) & set(batching):
            raise ShapeError(f"lax.{name}: {what} {tuple(axes)} and batching axes {tuple(batching)} must be disjoint")
    for axis in (*numbers.collapsed_slice_dims, *batching):
        if sizes[axis] > 1:
            raise ShapeError(
                f"lax.{name}: axis {axis} is left out of the slices, so their size there must be 1; got {sizes[axis]}"
            )
    places = numbers.start_indices_batching_dims
    if len(set(places)) != len(places) or any(not 0 <= place < len(batch) for place in places):
        raise ShapeError(
            f"lax.{name}: batching axes {tuple(places)} of the indices must be distinct axes of {tuple(batch)}"
        )
    if [shape[axis] for axis in batching] != [batch[place] for place in places]:
        raise ShapeError(
            f"lax.{name}: batching axes {tuple(batching)} of shape {tuple(shape)} and {tuple(places)} of the indices' {tuple(batch)} "
            "must have the same sizes"
        )


def _places(
    name: str,
    x: Array,
    indices: Any,
    numbers: GatherDimensionNumbers,
    sizes: Sequence[int],
    mode: GatherScatterMode,
) -> _Places:
    columns, batch = _index_columns(name, indices, len(numbers.start_index_map))
    shape = capacities(x)
    rank = len(shape)
    sizes = [bound_of(size) if is_dimension(size) else size for size in sizes]  # of a whole ragged axis
    if len(sizes) != rank or any(not 0 <= size <= n for size, n in zip(sizes, shape, strict=True)):
        raise ShapeError(f"lax.{name}: slices of sizes {tuple(sizes)} do not fit an array of shape {shape}")
    _check_numbers(name, numbers, sizes, shape, batch)
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    windows = [axis for axis in range(rank) if axis not in dropped]
    if len(numbers.offset_dims) != len(windows):
        raise ShapeError(
            f"lax.{name}: {len(windows)} axes of the slices need as many places; got {numbers.offset_dims}"
        )
    whole = [axis for axis in windows if sizes[axis] == shape[axis] and axis not in numbers.start_index_map]
    indexed = [axis for axis in range(rank) if axis not in whole]
    window = [axis for axis in windows if axis not in whole]
    full = [*batch, *[sizes[axis] for axis in window]]
    place = {axis: len(batch) + i for i, axis in enumerate(window)}

    linear = _core.full(full, 0, _INT64)
    outside = None
    for axis in indexed:
        coordinate = _core.full(full, 0, _INT64)
        if axis in numbers.operand_batching_dims:
            at = numbers.start_indices_batching_dims[list(numbers.operand_batching_dims).index(axis)]
            coordinate = primitives.iota(shape=full, dtype=_INT64, axis=at)
        if axis in numbers.start_index_map:
            start = columns[list(numbers.start_index_map).index(axis)]
            room = _core.broadcast_to(as_dtype(axis_size(x, axis), _INT64), batch) - _core.full(
                batch, sizes[axis], _INT64
            )
            inside = primitives.max(primitives.min(start, room), _core.full(batch, 0, _INT64))
            if mode is GatherScatterMode.FILL_OR_DROP:
                wrong = primitives.ne(inside, start)
                outside = wrong if outside is None else primitives.or_(outside, wrong)
            coordinate = primitives.broadcast(inside, shape=full, axes=list(range(len(batch))))
        if axis in place and sizes[axis] > 1:
            coordinate = primitives.add(coordinate, primitives.iota(shape=full, dtype=_INT64, axis=place[axis]))
        stride = math.prod(shape[other] for other in indexed if other > axis)
        linear = primitives.add(linear, primitives.mul(coordinate, _core.full(full, stride, _INT64)))
    if outside is not None:
        outside = primitives.broadcast(outside, shape=full, axes=list(range(len(batch))))
        linear = primitives.select(outside, _core.full(full, -1, _INT64), linear)

    # Where the axes [batch..., window..., whole...] stand in the result.
    total = len(batch) + len(windows)
    offsets = dict(zip(windows, numbers.offset_dims, strict=True))
    batch_at = [axis for axis in range(total) if axis not in numbers.offset_dims]
    stands = [*batch_at, *[offsets[axis] for axis in window], *[offsets[axis] for axis in whole]]
    if sorted(stands) != list(range(total)):
        raise ShapeError(f"lax.{name}: {numbers.offset_dims} are not axes of a result with {total} axes")
    order = [stands.index(axis) for axis in range(total)]
    return _Places(linear, [*indexed, *whole], len(indexed), order)


def _flattened(x: Array, places: _Places) -> Array:
    x = without_padding(x, places.permutation[: places.indexed])
    if places.permutation != list(range(x.ndim)):
        x = primitives.transpose(x, permutation=places.permutation)
    return join_axes(x, 0, places.indexed)


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Array:
    """Slices of one size at many computed places.

    It is what indexing with arrays becomes; ``x[indices]`` and `cotangent.numpy.take` are the friendlier
    interfaces.

    Parameters
    ----------
    operand : array
        What slices are taken of.
    start_indices : array of int, shape (..., k)
        Where each slice begins, in the k axes of ``start_index_map``.
    dimension_numbers : GatherDimensionNumbers
        Which axes belong together.
    slice_sizes : sequence of int
        The size of a slice along each axis of ``operand``.
    unique_indices, indices_are_sorted : bool
        Promises, which are not needed.
    mode : str, GatherScatterMode or None
        For slices that reach outside: "clip" (the default), "fill" or "promise_in_bounds".
    fill_value : scalar, optional
        What slices outside read as with "fill"; by default NaN, the lowest signed or the highest unsigned number.

    Returns
    -------
    array
        The axes (...) of the indices, with the axes of the slices at ``offset_dims``.

    Raises
    ------
    ShapeError
        Sizes or dimension numbers do not fit.

    Examples
    --------
    >>> numbers = ct.lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(), start_index_map=(0,))
    >>> ct.lax.gather(ct.numpy.arange(5), ct.numpy.array([[0], [3]]), numbers, (2,))
    Array([[0, 1],
           [3, 4]], dtype=int32)
    """
    del unique_indices, indices_are_sorted
    x = _core.array(operand)
    how = GatherScatterMode.from_any("clip" if mode is None else mode)
    places = _places("gather", x, start_indices, dimension_numbers, slice_sizes, how)
    result = primitives.gather(_flattened(x, places), places.positions, axis=0, batch_dims=0)
    if how is GatherScatterMode.FILL_OR_DROP:
        result = fill_outside(result, places.positions, 0, fill_value)
    return result if places.order == sorted(places.order) else primitives.transpose(result, permutation=places.order)


def _window_sizes(x: Array, updates: Array, numbers: ScatterDimensionNumbers) -> list[int]:
    """The sizes of the slices that updates hold, an axis of the operand."""
    shape = capacities(updates)
    if any(not 0 <= axis < len(shape) for axis in numbers.update_window_dims):
        raise ShapeError(
            f"lax.scatter: window axes {tuple(numbers.update_window_dims)} must be axes of the updates' {tuple(shape)}"
        )
    sizes = iter(shape[axis] for axis in numbers.update_window_dims)
    dropped = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    return [1 if axis in dropped else next(sizes, -1) for axis in range(x.ndim)]


def _as_gather(numbers: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    return GatherDimensionNumbers(
        tuple(numbers.update_window_dims),
        tuple(numbers.inserted_window_dims),
        tuple(numbers.scatter_dims_to_operand_dims),
        tuple(numbers.operand_batching_dims),
        tuple(numbers.scatter_indices_batching_dims),
    )


def _scatter(
    name: str, primitive: Primitive, operand: Any, indices: Any, updates: Any, numbers: Any, unique: bool, mode: Any
) -> Array:
    x, given = _core.array(operand), _core.array(updates)
    batch_axes = [axis for axis in _core.ragged_axes(given) if axis not in numbers.update_window_dims]
    if batch_axes or _core.ragged_axes(_core.array(indices)):
        raise NotImplementedError(f"lax.{name} of ragged updates is not supported\n  use x.at[...]")
    left_out = {*numbers.inserted_window_dims, *getattr(numbers, "operand_batching_dims", ())}
    window_axes = [axis for axis in range(x.ndim) if axis not in left_out]
    for axis, of_x in zip(numbers.update_window_dims, window_axes, strict=False):
        own, length = _core.length_of(given, axis), _core.length_of(x, of_x)
        if own is not None and (length is None or not _core.same_length(own, length)):
            raise NotImplementedError(
                f"lax.{name}: the updates are ragged along axis {axis}, and not as long as axis {of_x} of the array\n"
                "  use x.at[...]"
            )
    if given.dtype != x.dtype:
        if not given.weak_type:
            raise DTypeError(f"lax.{name}: the updates have dtype {given.dtype}, the array {x.dtype}")
        given = _core.convert(given, x.dtype)
    places = _places(
        name, x, indices, _as_gather(numbers), _window_sizes(x, given, numbers), GatherScatterMode.from_any(mode)
    )
    back = [places.order.index(axis) for axis in range(len(places.order))]
    if given.ndim != len(back):
        raise ShapeError(f"lax.{name}: updates need {len(back)} axes; got shape {given.shape}")
    if back != sorted(back):
        given = primitives.transpose(given, permutation=back)
    options: dict[str, Any] = {"unique": True} if unique else {}
    result = primitive(_flattened(x, places), places.positions, given, axis=0, batch_dims=0, **options)
    result = primitives.reshape(result, shape=[capacity(x, axis) for axis in places.permutation])
    if places.permutation != list(range(x.ndim)):
        back = [places.permutation.index(axis) for axis in range(x.ndim)]
        result = primitives.transpose(result, permutation=back)
    return as_ragged_as(result, x)  # type: ignore[no-any-return]


def scatter(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """Writes slices into an array at many computed places.

    Where places repeat, the last update stays. ``x.at[indices].set(values)`` is the friendlier interface.

    Parameters
    ----------
    operand : array
        What is written into; it is not changed.
    scatter_indices : array of int, shape (..., k)
        Where each slice begins, in the k axes of ``scatter_dims_to_operand_dims``.
    updates : array
        The slices, of the dtype of ``operand``.
    dimension_numbers : ScatterDimensionNumbers
        Which axes belong together.
    indices_are_sorted : bool
        A promise, which is not needed.
    unique_indices : bool
        A promise that no element is written twice.
    mode : str, GatherScatterMode or None
        For slices that reach outside: "drop" (the default), "clip" or "promise_in_bounds".

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Raises
    ------
    ShapeError
        Sizes or dimension numbers do not fit.
    DTypeError
        The updates have another dtype.

    Examples
    --------
    >>> numbers = ct.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> ct.lax.scatter(ct.numpy.arange(4), ct.numpy.array([[1], [3]]), ct.numpy.array([10, 30]), numbers)
    Array([ 0, 10,  2, 30], dtype=int32)
    """
    del indices_are_sorted
    return _scatter(
        "scatter", primitives.scatter, operand, scatter_indices, updates, dimension_numbers, unique_indices, mode
    )


_TEXT = """{summary}, at many computed places.

    Where places repeat, all updates count. ``x.at[indices].{method}(values)`` is the friendlier interface.

    Parameters
    ----------
    operand : array
        What the updates are combined with; it is not changed.
    scatter_indices : array of int, shape (..., k)
        Where each slice begins, as in `scatter`.
    updates : array
        The slices, of the dtype of ``operand``.
    dimension_numbers : ScatterDimensionNumbers
        Which axes belong together.
    indices_are_sorted, unique_indices : bool
        Promises, as in `scatter`.
    mode : str, GatherScatterMode or None
        For slices that reach outside, as in `scatter`.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Examples
    --------
    >>> numbers = ct.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, places = ct.numpy.array([4, 4, 4]), ct.numpy.array([[0], [0], [2]])
    >>> ct.lax.{name}(x, places, ct.numpy.array([1, 2, 6]), numbers)
    {result}
    """


def _combining(primitive: Primitive, method: str, summary: str, result: str) -> Callable[..., Array]:
    """``result``: that of the example."""

    def function(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Array:
        del indices_are_sorted
        return _scatter(
            primitive.name, primitive, operand, scatter_indices, updates, dimension_numbers, unique_indices, mode
        )

    function.__name__ = function.__qualname__ = primitive.name
    function.__doc__ = _TEXT.format(name=primitive.name, method=method, summary=summary, result=result)
    return function


scatter_add = _combining(primitives.scatter_add, "add", "Adds slices to an array", "Array([ 7,  4, 10], dtype=int32)")
scatter_mul = _combining(
    primitives.scatter_mul, "multiply", "Multiplies an array by slices", "Array([ 8,  4, 24], dtype=int32)"
)
scatter_min = _combining(
    primitives.scatter_min,
    "min",
    "Takes the smaller of an array's elements and slices",
    "Array([1, 4, 4], dtype=int32)",
)
scatter_max = _combining(
    primitives.scatter_max, "max", "Takes the larger of an array's elements and slices", "Array([4, 4, 6], dtype=int32)"
)


def scatter_sub(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """Subtracts slices from an array at many computed places; where places repeat, all of them.

    Parameters
    ----------
    operand : array
        What is subtracted from; it is not changed.
    scatter_indices : array of int, shape (..., k)
        Where each slice begins, as in `scatter`.
    updates : array
        The slices, of the dtype of ``operand``.
    dimension_numbers : ScatterDimensionNumbers
        Which axes belong together.
    indices_are_sorted, unique_indices : bool
        Promises, as in `scatter`.
    mode : str, GatherScatterMode or None
        For slices that reach outside, as in `scatter`.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Examples
    --------
    >>> numbers = ct.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> ct.lax.scatter_sub(ct.numpy.arange(3), ct.numpy.array([[0], [0]]), ct.numpy.array([1, 2]), numbers)
    Array([-3,  1,  2], dtype=int32)
    """
    del indices_are_sorted
    negated = primitives.neg(_core.array(updates))
    return _scatter(
        "scatter_sub",
        primitives.scatter_add,
        operand,
        scatter_indices,
        negated,
        dimension_numbers,
        unique_indices,
        mode,
    )


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Array], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Array:
    """Applies a function to the elements at computed places, as often as each is named.

    Parameters
    ----------
    operand : array
        Where the elements are; it is not changed.
    scatter_indices : array of int, shape (..., k)
        Where each slice begins, as in `scatter`.
    func : callable
        From elements to elements: it is given arrays and must treat their elements one by one.
    dimension_numbers : ScatterDimensionNumbers
        Which axes belong together.
    update_shape : sequence of int
        The shape that updates of all slices together would have.
    indices_are_sorted, unique_indices : bool
        Promises, as in `scatter`.
    mode : str, GatherScatterMode or None
        For slices that reach outside, as in `scatter`.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Examples
    --------
    >>> numbers = ct.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> places = ct.numpy.array([[1], [1], [2]])
    >>> ct.lax.scatter_apply(ct.numpy.arange(4), places, lambda x: 10 * x, numbers, update_shape=(3,))
    Array([  0, 100,  20,   3], dtype=int32)
    """
    x = _core.array(operand)
    shaped = _core.full(tuple(update_shape), 0, x.dtype)
    sizes = _window_sizes(x, shaped, dimension_numbers)
    hints = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices, "mode": mode}
    ones = _core.full(tuple(update_shape), 1, np.dtype("int32"))
    none = constant(x, 0, np.dtype("int32"))
    counts = scatter_add(none, scatter_indices, ones, dimension_numbers, **hints)

    def slices(x: Array) -> Array:
        return gather(x, scatter_indices, _as_gather(dimension_numbers), sizes, mode="clip")

    chosen = slices(counts)

    def again(step: Any, x: Array) -> Array:
        values = slices(x)
        results = primitives.select(chosen > step, _core.convert(func(values), x.dtype), values)
        return scatter(x, scatter_indices, results, dimension_numbers, **hints)

    return repeated(again, x, counts)


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Array:
    """The slices of an array at positions along some axes, one for each element of the index vectors.

    Parameters
    ----------
    src : array
        What slices are taken of.
    idxs : sequence of array of int, shape (n,)
        One vector of positions for each of ``axes``; positions count modulo the size of their axis.
    axes : sequence of int
        The axes that are indexed.

    Returns
    -------
    array, shape (n, ...)
        The other axes of ``src`` follow.

    Raises
    ------
    ShapeError
        An index has not one axis.

    Examples
    --------
    >>> x = ct.numpy.arange(6).reshape(2, 3)
    >>> ct.lax.index_take(x, (ct.numpy.array([0, 1]), ct.numpy.array([2, -3])), (0, 1))
    Array([2, 3], dtype=int32)
    """
    x = _core.array(src)
    places = [normalize_axis(axis, x.ndim, "lax.index_take") for axis in axes]
    columns = []
    for index, axis in zip(idxs, places, strict=True):
        column = _core.array(index)
        if column.ndim != 1:
            raise ShapeError(f"lax.index_take: indices must have one axis; got shape {column.shape}")
        column = _core.convert(column, np.int64)
        size = stretched(as_dtype(axis_size(x, axis), column.dtype), column)
        remainder = primitives.rem(column, size)
        negative = primitives.lt(remainder, literal(column, 0))
        columns.append(insert_axes(primitives.select(negative, remainder + size, remainder), [1]))
    indices = primitives.concatenate(*columns, axis=1)
    sizes = [1 if axis in places else size for axis, size in enumerate(capacities(x))]
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, x.ndim - len(places) + 1)),
        collapsed_slice_dims=tuple(sorted(places)),
        start_index_map=tuple(places),
    )
    return gather(x, indices, numbers, tuple(sizes))


check_arguments(globals())
