"""gather and the scatters with dimension numbers: slices of an array at many computed places.

The places become positions in the flattened indexed axes; axes that are taken whole stay as they are behind them.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.binding import literal
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
from cotangent._ops.sizes import as_dtype, axis_size, insert_axes, is_dimension, normalize_axis
from cotangent._ops.taking import fill_outside
from cotangent.errors import DTypeError, ShapeError
from cotangent.lax._operands import listed, numbered

__all__ = ["GatherDimensionNumbers", "GatherScatterMode", "ScatterDimensionNumbers", "gather", "index_take"]

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
        if mode is None:
            return GatherScatterMode.FILL_OR_DROP
        names = {
            "clip": GatherScatterMode.CLIP,
            "fill": GatherScatterMode.FILL_OR_DROP,
            "drop": GatherScatterMode.FILL_OR_DROP,
            "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
        }
        check_word("gather and scatter", "mode", mode, tuple(names))
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
        raise DTypeError(
            f"lax.{name}: indices must be integers; got {array.dtype}\n  convert them: indices.astype('int32')"
        )
    if array.ndim == 0 or capacity(array, -1) != count:
        raise ShapeError(
            f"lax.{name}: the last axis of the indices must hold {count} numbers; got shape {array.shape}\n"
            + (
                "  pass indices[..., None]"
                if count == 1
                else "  put the numbers of an index side by side: ct.numpy.stack([i, j], axis=-1)"
            )
        )
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
            raise ShapeError(
                f"lax.{name}: {what} {tuple(axes)} must be distinct axes of shape {tuple(shape)}\n"
                f"  name each of them once: {numbered(len(shape))}"
            )
    batching = numbers.operand_batching_dims
    for what, axes in of_slices.items():
        if what != "batching axes" and set(axes) & set(batching):
            raise ShapeError(
                f"lax.{name}: {what} {tuple(axes)} and batching axes {tuple(batching)} must be disjoint\n"
                "  leave the batching axes out of them: an index has no numbers for those, and slices leave them out anyway"
            )
    for axis in (*numbers.collapsed_slice_dims, *batching):
        if sizes[axis] > 1:
            raise ShapeError(
                f"lax.{name}: axis {axis} is left out of the slices, so their size there must be 1; got {sizes[axis]}\n"
                "  pass 1 there, or take the axis out of collapsed_slice_dims and give it a place in offset_dims"
            )
    places = numbers.start_indices_batching_dims
    if len(set(places)) != len(places) or any(not 0 <= place < len(batch) for place in places):
        raise ShapeError(
            f"lax.{name}: batching axes {tuple(places)} of the indices must be distinct axes of {tuple(batch)}\n"
            "  name axes of the indices but the last, each once, in start_indices_batching_dims"
        )
    if [shape[axis] for axis in batching] != [batch[place] for place in places]:
        raise ShapeError(
            f"lax.{name}: batching axes {tuple(batching)} of shape {tuple(shape)} and {tuple(places)} of the indices' {tuple(batch)} "
            "must have the same sizes\n  give the indices an axis of the same size for each batching axis of the array"
        )


def _places(
    name: str,
    x: Array,
    indices: Any,
    numbers: GatherDimensionNumbers,
    sizes: Sequence[int],
    mode: GatherScatterMode,
) -> _Places:
    if not isinstance(numbers, GatherDimensionNumbers):
        raise TypeError(
            f"lax.{name}: dimension_numbers must be GatherDimensionNumbers; got {numbers!r}\n"
            "  make them with ct.lax.GatherDimensionNumbers, or index the array: x[indices], x.at[indices].set(...)"
        )
    columns, batch = _index_columns(name, indices, len(numbers.start_index_map))
    shape = capacities(x)
    rank = len(shape)
    sizes = [
        bound_of(size) if is_dimension(size) else size for size in listed(name, "slice_sizes", sizes)
    ]  # of a whole ragged axis
    if len(sizes) != rank or any(not 0 <= size <= n for size, n in zip(sizes, shape, strict=True)):
        raise ShapeError(
            f"lax.{name}: slices of sizes {tuple(sizes)} do not fit an array of shape {shape}\n"
            "  pass one size for each axis, at most that of the axis"
        )
    _check_numbers(name, numbers, sizes, shape, batch)
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    windows = [axis for axis in range(rank) if axis not in dropped]
    if len(numbers.offset_dims) != len(windows):
        raise ShapeError(
            f"lax.{name}: {len(windows)} axes of the slices need as many places; got {numbers.offset_dims}\n"
            f"  name {len(windows)} axes of the result, or leave more axes out of the slices"
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
        raise ShapeError(
            f"lax.{name}: {numbers.offset_dims} are not axes of a result with {total} axes\n"
            f"  name {len(windows)} of its axes, which are {numbered(total)}"
        )
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
    places = [normalize_axis(axis, x.ndim, "lax.index_take") for axis in listed("index_take", "axes", axes)]
    columns = []
    indices = listed("index_take", "idxs", idxs)
    if len(indices) != len(places):
        raise ValueError(
            f"lax.index_take: there are {len(indices)} arrays of indices for {len(places)} axes\n  pass one array for each axis"
        )
    for index, axis in zip(indices, places, strict=True):
        column = _core.array(index)
        if column.ndim != 1:
            raise ShapeError(
                f"lax.index_take: indices must have one axis; got shape {column.shape}\n"
                "  pass indices.ravel(), and reshape the result"
            )
        column = _core.convert(column, np.int64)
        size = stretched(as_dtype(axis_size(x, axis), column.dtype), column)
        remainder = primitives.rem(column, size)
        negative = primitives.lt(remainder, literal(column, 0))
        columns.append(insert_axes(primitives.select(negative, remainder + size, remainder), [1]))
    joined = primitives.concatenate(*columns, axis=1)
    sizes = [1 if axis in places else size for axis, size in enumerate(capacities(x))]
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, x.ndim - len(places) + 1)),
        collapsed_slice_dims=tuple(sorted(places)),
        start_index_map=tuple(places),
    )
    return gather(x, joined, numbers, tuple(sizes))


check_arguments(globals())
