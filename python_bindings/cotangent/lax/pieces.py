"""Pieces of arrays: slicing, splitting, joining, repeating, padding."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._base.dimensions import Dim
from cotangent._core import Array
from cotangent._ops.extents import (
    alike,
    bound_of,
    capacities,
    capacity,
    exact_size,
)
from cotangent._ops.sized_slices import resolve_slice, take_slice
from cotangent._ops.sizes import (
    axis_size,
    is_dimension,
    length_of_size,
    normalize_axis,
    size_from,
    static_int,
    symbolic_size,
)
from cotangent._transforms.lengths import require
from cotangent.errors import ShapeError
from cotangent.lax._operands import as_array, first_difference, listed, numbered, one_dtype
from cotangent.lax.shapes import _integers, expand_dims, squeeze

__all__ = ["concatenate", "index_in_dim", "pad", "slice", "slice_in_dim", "split", "stack", "tile", "unstack"]


# ---- Slices ----------------------------------------------------------------------------------------------------------


def slice(  # noqa: A001
    operand: Any, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Array:
    """The elements from start up to limit in steps, along every axis.

    Indices are not counted from the end, and must lie inside; `slice_in_dim` cuts one axis.

    Parameters
    ----------
    operand : array
        Of n axes.
    start_indices : sequence of int
        n starts.
    limit_indices : sequence of int
        n positions behind the last element.
    strides : sequence of int, optional
        n steps, from 1 on; by default 1.

    Returns
    -------
    array
        Of n axes.

    Raises
    ------
    ValueError
        Not ``0 <= start <= limit <= size``, a step below 1, or not n of each.

    Examples
    --------
    >>> ct.lax.slice(ct.numpy.arange(8), (1,), (7,), (2,))
    Array([1, 3, 5], dtype=int32)
    """
    array = as_array("slice", operand)
    start = _integers("slice", start_indices, "the starts")
    limit_indices = listed("slice", "the limits", limit_indices)
    ends = {axis: end for axis, end in enumerate(limit_indices) if is_dimension(end)}
    limit = _integers(
        "slice", [bound_of(end) if axis in ends else end for axis, end in enumerate(limit_indices)], "the limits"
    )
    steps = [1] * len(start) if strides is None else _integers("slice", strides, "the steps")
    if not len(start) == len(limit) == len(steps) == array.ndim:
        raise ValueError(
            f"lax.slice: an array of shape {array.shape} needs {array.ndim} starts, limits and steps\n"
            "  use ct.lax.slice_in_dim(x, start, limit, axis=0) to cut one axis, or pass 0 and the size for those taken whole"
        )
    for axis, size in enumerate(capacities(array)):
        if not 0 <= start[axis] <= limit[axis] <= size or steps[axis] < 1:
            raise ValueError(
                f"lax.slice: axis {axis} of shape {array.shape} cannot be cut from {start[axis]} to {limit[axis]} in "
                f"steps of {steps[axis]}\n  pass 0 <= start <= limit <= {size} and steps of at least 1; x[start:limit:step] takes others, too"
            )
    result = primitives.slice(array, start=start, limit=limit, stride=steps)
    for axis, end in ends.items():
        length = axis_size(array, axis)
        if not (isinstance(length, Array) and _core.same_length(length, _core.array(end))):
            room = _core.array(end) - _core.full((), start[axis], "int32")
            kept = primitives.max(room + (steps[axis] - 1), _core.full((), 0, "int32"))
            result = set_length(result, primitives.div(kept, _core.full((), steps[axis], "int32")), axis)
    return result


def slice_in_dim(
    operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Array:
    """Cuts one axis, as Python's slices do.

    Parameters
    ----------
    operand : array
        Of any shape with that axis.
    start_index : int or None
        The first position; None is the start, and negative numbers count from the end.
    limit_index : int or None
        The position behind the last; None is the end.
    stride : int
        The step, by default 1.
    axis : int
        Which axis, by default 0.

    Returns
    -------
    array
        Of as many axes.

    Raises
    ------
    ValueError
        A position lies outside.

    Examples
    --------
    >>> ct.lax.slice_in_dim(ct.numpy.arange(5), 1, -1)
    Array([1, 2, 3], dtype=int32)
    """
    array = as_array("slice_in_dim", operand)
    axis = normalize_axis(axis, array.ndim, "lax.slice_in_dim")
    if axis in _core.ragged_axes(array):  # whose end is not where the bound is
        return array[(builtins.slice(None),) * axis + (builtins.slice(start_index, limit_index, stride),)]
    size = capacity(array, axis)
    first, last = (
        default if given is None else operator.index(given) + (size if operator.index(given) < 0 else 0)
        for given, default in ((start_index, 0), (limit_index, size))
    )
    start, limit, strides = [0] * array.ndim, list(capacities(array)), [1] * array.ndim
    start[axis], limit[axis], strides[axis] = first, last, stride
    return slice(array, start, limit, strides)


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """One slice of an axis, at a position that is known when the program is captured.

    Parameters
    ----------
    operand : array
        Of any shape with that axis.
    index : int
        The position; negative ones count from the end.
    axis : int
        Which axis, by default 0.
    keepdims : bool
        Whether the axis stays, with size 1 (the default).

    Returns
    -------
    array
        The slice.

    Raises
    ------
    IndexError
        The position is outside.

    Examples
    --------
    >>> ct.lax.index_in_dim(ct.numpy.array([[1, 2], [3, 4]]), -1, keepdims=False)
    Array([3, 4], dtype=int32)
    """
    array = as_array("index_in_dim", operand)
    axis = normalize_axis(axis, array.ndim, "lax.index_in_dim")
    position, size = static_int(index, "the index of index_in_dim"), capacity(array, axis)
    if not -size <= position < size:
        raise IndexError(
            f"lax.index_in_dim: index {position} is out of bounds for axis {axis} with size {size}"
            + (f"\n  pass {-size} … {size - 1}" if size else "")
        )
    if axis in _core.ragged_axes(array):
        found = expand_dims(array[(builtins.slice(None),) * axis + (position,)], (axis,))
    else:
        found = slice_in_dim(array, position % size, position % size + 1, 1, axis)
    return found if keepdims else squeeze(found, (axis,))


def split(operand: Any, sizes: Sequence[int | Dim], axis: int = 0) -> list[Array]:
    """Cuts an axis into consecutive pieces of given sizes.

    Parameters
    ----------
    operand : array
        Of any shape with that axis.
    sizes : sequence of int
        The sizes of the pieces, which add up to that of the axis. Inside ``mask`` they may be sizes of arrays.
    axis : int
        Which axis, by default 0.

    Returns
    -------
    list of array
        The pieces.

    Raises
    ------
    ValueError
        The sizes do not add up to that of the axis, or one is negative.

    Examples
    --------
    >>> [piece.tolist() for piece in ct.lax.split(ct.numpy.arange(5), (2, 3))]
    [[0, 1], [2, 3, 4]]
    """
    array = as_array("split", operand)
    axis = normalize_axis(axis, array.ndim, "lax.split")
    if not hasattr(sizes, "__iter__"):
        raise TypeError(
            f"lax.split: the sizes must be a sequence of integers; got {sizes!r}\n"
            "  use ct.numpy.split(x, n) for n equal pieces"
        )
    counts = [size_from(size, "lax.split: a size") for size in sizes]
    _check_parts(array, axis, counts)
    ends: list[Any] = [sum(counts[:i]) for i in range(len(counts) + 1)]
    total = symbolic_size(array, axis)
    pieces = [resolve_slice(total, builtins.slice(ends[i], ends[i + 1]), 1, axis) for i in range(len(counts))]
    return [take_slice(array, axis, piece) for piece in pieces]


def _check_parts(array: Array, axis: int, counts: Sequence[int | Dim]) -> None:
    """ValueError unless sizes of parts are not negative and add up to an axis: at once, or where lengths are known."""
    total, together = symbolic_size(array, axis), sum(counts)
    shown = ", ".join(size.owner if isinstance(size, Dim) else str(size) for size in counts)
    what = f"sizes ({shown}) do not add up to"
    equal = together == total
    if equal is False or any(isinstance(count, int) and count < 0 for count in counts):
        raise ValueError(
            f"lax.split: {what} {bound_of(total)}, the {'bound' if isinstance(total, Dim) else 'size'} of axis {axis}\n"
            f"  let the last be what is left, x.shape[{axis}] - sum(sizes[:-1])"
        )
    length, whole = (
        _core.full((), size, "int32") if isinstance(size, int) else length_of_size(size) for size in (total, together)
    )
    if equal is not True:
        fault = "whose length is another"
        require([length, whole], lambda n, m: n == m, f"lax.split: {what} axis {axis}", fault)
    for count in counts:
        if isinstance(count, Dim) and count.least < 0:
            text = f"lax.split: the size {count.owner} is negative, for axis {axis}"
            require([length, count.value], lambda n, m: m >= 0, text, "whose length is too small")


def unstack(x: Any, axis: int = 0) -> tuple[Array, ...]:
    """The slices of an axis, without that axis.

    Parameters
    ----------
    x : array
        Of any shape with that axis, which is not ragged.
    axis : int
        Which axis, by default 0.

    Returns
    -------
    tuple of array
        As many as the axis is long.

    Examples
    --------
    >>> [row.tolist() for row in ct.lax.unstack(ct.numpy.array([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    array = as_array("unstack", x)
    axis = normalize_axis(axis, array.ndim, "lax.unstack")
    count = exact_size(array, axis, "lax.unstack", "the number of slices depends on its length")
    return tuple(index_in_dim(array, i, axis, keepdims=False) for i in range(count))


# ---- Joining ---------------------------------------------------------------------------------------------------------


def concatenate(operands: Any, dimension: int) -> Array:
    """Joins arrays along an axis.

    Nothing is promoted; `cotangent.numpy.concatenate` does.

    Parameters
    ----------
    operands : sequence of array, or array
        Arrays of one dtype, whose shapes differ in the joined axis at most; of an array, its slices are joined.
    dimension : int
        The axis, from 0 on.

    Returns
    -------
    array
        Of the dtype of the operands.

    Raises
    ------
    ShapeError
        The shapes differ in other axes.
    ValueError
        There is no array, or no such axis.

    Examples
    --------
    >>> ct.lax.concatenate([ct.numpy.array([1, 2]), ct.numpy.array([3])], 0)
    Array([1, 2, 3], dtype=int32)
    """
    pieces = unstack(operands) if isinstance(operands, Array) else listed("concatenate", "operands", operands)
    if not pieces:
        raise ValueError(
            "lax.concatenate needs at least one array\n"
            "  put ct.numpy.zeros((0, ...)) in front of what may be empty: it has the dtype and the other axes"
        )
    arrays = one_dtype("concatenate", pieces)
    shapes = [capacities(x) for x in arrays]
    axis = static_int(dimension, "the axis of concatenate")
    if not 0 <= axis < arrays[0].ndim:
        raise ValueError(
            f"lax.concatenate: axis {axis} is out of bounds for arrays with {arrays[0].ndim} axes\n"
            f"  {f'pass dimension={numbered(arrays[0].ndim)}' if arrays[0].ndim else 'pass x[None] for each, or use ct.lax.stack'}"
        )
    if len({(len(shape), *shape[:axis], *shape[axis + 1 :]) for shape in shapes}) > 1:
        raise ShapeError(
            f"lax.concatenate: shapes {', '.join(map(str, shapes))} differ in other axes than {axis}{first_difference(shapes, axis)}\n"
            "  cut, pad or reshape them until only that axis differs"
        )
    return primitives.concatenate(*arrays, axis=axis)


def stack(operands: Sequence[Any], axis: int = 0) -> Array:
    """Joins arrays of one shape along a new axis.

    Parameters
    ----------
    operands : sequence of array
        Of one shape and dtype; at least one.
    axis : int
        The position of the new axis in the result, by default 0.

    Returns
    -------
    array
        With one axis more.

    Raises
    ------
    ShapeError
        The shapes are not equal.

    Examples
    --------
    >>> ct.lax.stack([ct.numpy.array([1, 2]), ct.numpy.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    pieces = listed("stack", "operands", operands)
    if not pieces:
        raise ValueError(
            "lax.stack needs at least one array\n"
            "  where there may be none, begin with ct.numpy.zeros((0, ...)) and concatenate"
        )
    arrays = one_dtype("stack", pieces)
    if not alike(*arrays):
        shapes = [x.shape for x in arrays]
        raise ShapeError(
            f"lax.stack: shapes {', '.join(map(str, shapes))} are not equal{first_difference(shapes)}\n"
            "  broadcast them first, with ct.numpy.broadcast_arrays, or keep arrays of several lengths as ct.ragged"
        )
    position = normalize_axis(axis, arrays[0].ndim + 1, "lax.stack")
    return primitives.concatenate(*[expand_dims(x, (position,)) for x in arrays], axis=position)


def tile(operand: Any, reps: Sequence[int]) -> Array:
    """Repeats an array along its axes.

    Parameters
    ----------
    operand : array
        Of n axes.
    reps : sequence of int
        n numbers of repetitions.

    Returns
    -------
    array
        The size of each axis times its number of repetitions.

    Raises
    ------
    ValueError
        There are not as many numbers as axes.

    Examples
    --------
    >>> ct.lax.tile(ct.numpy.array([1, 2]), (2,))
    Array([1, 2, 1, 2], dtype=int32)
    """
    array, counts = as_array("tile", operand), _integers("tile", reps, "the repetitions")
    if len(counts) != array.ndim:
        raise ValueError(
            f"lax.tile: an array of shape {array.shape} needs {array.ndim} repetitions; got {tuple(counts)}\n"
            "  pass 1 for axes that stay, or use ct.numpy.tile, which takes fewer"
        )
    if any(counts[axis] != 1 for axis in _core.ragged_axes(array)):
        return ops.tile(array, counts)
    shape = capacities(array)
    pairs = [number for pair in zip(counts, shape, strict=True) for number in pair]
    wide = primitives.broadcast(array, shape=pairs, axes=list(range(1, 2 * array.ndim, 2)))
    return primitives.reshape(wide, shape=[n * size for n, size in zip(counts, shape, strict=True)])


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """Puts a number around an array and between its elements.

    Parameters
    ----------
    operand : array
        Of n axes.
    padding_value : array
        A scalar of the dtype of ``operand``.
    padding_config : sequence of (int, int, int)
        n triples: how many in front, how many behind, and how many between two elements. The first two may be
        negative, which cuts elements off.

    Returns
    -------
    array
        Of the dtype of ``operand``.

    Raises
    ------
    ValueError
        There are not n triples, or a third number is negative.

    Examples
    --------
    >>> ct.lax.pad(ct.numpy.array([1, 2]), 0, [(1, 0, 1)])
    Array([0, 1, 0, 2], dtype=int32)
    >>> ct.lax.pad(ct.numpy.array([1, 2, 3]), 0, [(-1, 1, 0)])
    Array([2, 3, 0], dtype=int32)
    """
    array, value = one_dtype("pad", (operand, padding_value))
    if value.ndim:
        raise ShapeError(
            f"lax.pad: the padding must be a scalar; got shape {value.shape}\n"
            "  use ct.numpy.concatenate to put an array beside another"
        )
    config = [_integers("pad", triple, "the padding") for triple in listed("pad", "padding_config", padding_config)]
    if len(config) != array.ndim or any(len(triple) != 3 for triple in config):
        raise ValueError(
            f"lax.pad: shape {array.shape} needs {array.ndim} triples (low, high, interior); got {config}\n"
            "  pass (0, 0, 0) for axes that stay"
        )
    if any(interior < 0 for _, _, interior in config):
        raise ValueError(
            f"lax.pad: interior padding must be nonnegative; got {config}\n  pass 0 or more; x[::2] leaves elements out"
        )
    low, high, interior = ([triple[i] for triple in config] for i in range(3))
    return primitives.pad(array, value, low=low, high=high, interior=interior)


check_arguments(globals())
