"""Elements by their position or by a condition: taking some out, putting some in.

Where the number of results depends on values, the values must be known, or ``size`` says how many there are: results are
then cut, or filled up with ``fill_value``, to that size, and everything works on traced values too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core, tree_util
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths, set_length
from cotangent._base.words import not_among
from cotangent._core import Array
from cotangent._ops.arithmetic import maximum
from cotangent._ops.binding import apart, choose, is_host_value, is_integer, kind, literal, no_out, own
from cotangent._ops.comparisons import truth
from cotangent._ops.division import remainder
from cotangent._ops.extents import capacity, slice_axis
from cotangent._ops.index_plans import check_mask
from cotangent._ops.positions import _INT32, exact_mask, is_sized, known, nonzero, sized_positions
from cotangent._ops.ragged_selection import delete_ragged, insert_ragged
from cotangent._ops.replacing import _cycled
from cotangent._ops.reshaping import flattened
from cotangent._ops.rounding import clip
from cotangent._ops.shapes import moveaxis, ravel, reshape
from cotangent._ops.sizes import (
    as_dtype,
    axis_size,
    bound_size,
    flat_positions,
    insert_axes,
    normalize_axes,
    normalize_axis,
    ragged_length,
    static_shape,
)
from cotangent._ops.sorting import argsort, sort
from cotangent._ops.taking import take

__all__ = ["compress", "delete", "extract", "insert", "resize", "trim_zeros"]


def compress(
    condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0, out: None = None
) -> Array:
    """The slices of an array along an axis at which a condition holds.

    Parameters
    ----------
    condition : array, shape (n,)
        Bools; may be shorter than the axis.
    a : array
        Numbers of any dtype.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : number, default 0
        Fills the slices that are missing, with ``size``.
    out : None
        Must be None: write ``out[...] = `` what is returned.

    Returns
    -------
    array
        The slices, in order.

    Raises
    ------
    ValueError
        The condition does not have one axis.

    Examples
    --------
    >>> ct.numpy.compress([True, False, True], [10, 20, 30])
    Array([10, 30], dtype=int32)

    >>> ct.jit(lambda x: ct.numpy.compress(x > 1, x, size=3))(np.array([1, 2, 3]))
    Array([2, 3, 0], dtype=int64)
    """
    no_out(out, "compress")
    mask = truth(condition)
    if mask.ndim != 1:
        raise ValueError(
            f"compress: the condition must have one axis; got shape {mask.shape}\n"
            "  make one axis of it, condition.ravel(); or write x[condition]"
        )
    x, axis = flattened(_core.array(a), axis, "compress")
    count = x._bound_shape[axis]
    if mask._bound_shape[0] == count and (_core.ragged_axes(mask) or axis in _core.ragged_axes(x)):
        check_mask(mask, axis, x)
    if mask._bound_shape[0] > count:
        if is_host_value(mask) and _core.to_numpy(mask)[count:].any():
            raise ValueError(
                f"compress: the condition holds beyond the {count} elements of axis {axis}\n"
                f"  cut it: condition[:{count}]"
            )
        mask = mask[:count]
    if size is None and is_sized(mask):
        return primitives.gather(x, sized_positions(mask)[0], axis=axis, batch_dims=0)
    if size is None:
        (positions,) = np.nonzero(known(mask, "compress"))
        return primitives.gather(x, _core.array(positions.astype(_INT32)), axis=axis, batch_dims=0)
    (index,) = nonzero(mask, size=size, fill_value=count)
    return (
        take(x, index, axis, mode="fill", fill_value=fill_value) if count else _empty_filled(x, axis, index, fill_value)
    )


def _empty_filled(x: Array, axis: int, index: Array, fill_value: Any) -> Array:
    shape = list(x._bound_shape)
    shape[axis] = capacity(index, 0)
    filled = _core.full(shape, fill_value, x.dtype)
    return set_length(filled, ragged_length(index, 0), axis) if _core.ragged_axes(index) else filled


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Array:
    """The elements of an array at which a condition holds, along one axis.

    Parameters
    ----------
    condition : array
        Bools, of the shape of ``arr``; flattened.
    arr : array
        Numbers of any dtype; flattened.
    size : int, optional
        How many to return: the shape does not depend on values then. None: as many as there are; under ``jit``, where
        that is a value, in a `Ragged`.
    fill_value : number, default 0
        Fills the elements that are missing, with ``size``.

    Returns
    -------
    array, shape (number,)
        The elements, in order.

    Examples
    --------
    >>> ct.numpy.extract([[True, False], [False, True]], [[1, 2], [3, 4]])
    Array([1, 4], dtype=int32)
    """
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Array:
    """An array without the zeros at its ends.

    Parameters
    ----------
    filt : array
        Numbers of any dtype.
    trim : str, default "fb"
        At which ends: ``"f"`` front, ``"b"`` back, or both.
    axis : int or sequence of int, optional
        Along which axes. None: all.

    Returns
    -------
    array
        The part between the zeros; under ``jit``, where its shape depends on values, a `Ragged`.

    Raises
    ------
    ValueError
        ``trim`` has other letters.

    Examples
    --------
    >>> ct.numpy.trim_zeros([0, 0, 1, 0, 2, 0])
    Array([1, 0, 2], dtype=int32)
    """
    if not set(trim.lower()) <= {"f", "b"}:
        raise not_among("trim_zeros", "trim", trim, ("fb", "f", "b"))
    x = _core.array(filt)
    if x.ndim == 0:
        return apart(x, filt)
    if is_sized(x):
        return _trimmed(x, trim.lower(), normalize_axes(axis, x.ndim, "trim_zeros"))
    where = np.nonzero(known(x, "trim_zeros", "slice with static bounds instead"))
    axes = range(x.ndim) if axis is None else [normalize_axis(i, x.ndim, "trim_zeros") for i in np.atleast_1d(axis)]
    start, limit = [0] * x.ndim, list(x._bound_shape)
    for i in axes:
        if "f" in trim.lower():
            start[i] = int(where[i].min()) if where[i].size else limit[i]
        if "b" in trim.lower():
            limit[i] = int(where[i].max()) + 1 if where[i].size else start[i]
    return x[tuple(slice(low, max(low, high)) for low, high in zip(start, limit, strict=True))]


def _trimmed(x: Array, trim: str, axes: list[int]) -> Array:
    """`trim_zeros` of values that are not known: slices of computed bounds."""
    inside = exact_mask(truth(x))
    window = []
    for axis in range(x.ndim):
        if axis not in axes:
            window.append(slice(None))
            continue
        line = primitives.reduce_max(inside, axes=[i for i in range(x.ndim) if i != axis])
        count = as_dtype(axis_size(x, axis), _INT32)
        position = primitives.iota(shape=list(line._bound_shape), dtype=_INT32, axis=0)
        nowhere = literal(position, capacity(x, axis))
        first = primitives.min(primitives.reduce_min(choose(line, position, nowhere), axes=[0]), count)
        behind = primitives.reduce_max(choose(line, position + 1, literal(position, 0)), axes=[0])
        start = first if "f" in trim else literal(first, 0)
        limit = primitives.max(behind, start) if "b" in trim else count
        window.append(slice(start, limit))
    return x[tuple(window)]


_MOST_SLICES = 8  # more of them cost more than a gather


def _known_places(obj: Any) -> np.ndarray[Any, Any] | None:
    """Positions along an axis, if they are known now: without evaluating what is being captured."""
    if isinstance(obj, Array):
        return None if _core.is_traced(obj) else _core.to_numpy(obj)
    if any(isinstance(leaf, Array) and _core.is_traced(leaf) for leaf in tree_util.tree_leaves(obj)):
        return None
    places = np.asarray(obj)
    return places.astype(_INT32) if isinstance(obj, (list, tuple)) and places.size == 0 else places


def _taken(pieces: list[Array], places: np.ndarray[Any, Any], axis: int) -> Array:
    """The elements at ``places`` of what the pieces are when concatenated: by slices where these are few."""
    starts = np.cumsum([0] + [piece._bound_shape[axis] for piece in pieces])
    piece_of = np.searchsorted(starts, places, side="right") - 1
    cuts = np.flatnonzero((np.diff(places) != 1) | (np.diff(piece_of) != 0)) + 1
    if places.size == 0 or len(cuts) >= _MOST_SLICES:
        joined = pieces[0] if len(pieces) == 1 else primitives.concatenate(*pieces, axis=axis)
        return primitives.gather(joined, _core.array(places), axis=axis, batch_dims=0)
    slices = []
    for run in np.split(places, cuts):
        piece = int(np.searchsorted(starts, run[0], side="right")) - 1
        first = int(run[0] - starts[piece])
        slices.append(slice_axis(pieces[piece], axis, first, first + len(run)))
    return slices[0] if len(slices) == 1 else primitives.concatenate(*slices, axis=axis)


def delete(arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Array:
    """An array without some of the slices along an axis.

    Parameters
    ----------
    arr : array
        Numbers of any dtype.
    obj : int, slice or array
        Which slices: an int, which may be a value; a slice; bools, or integers, which must be known, unless
        ``assume_unique_indices`` says that no two of them name the same slice.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    assume_unique_indices : bool, default False
        Whether all integers name different slices.

    Returns
    -------
    array
        The other slices, in order.

    Raises
    ------
    IndexError
        A slice is not there.

    Examples
    --------
    >>> ct.numpy.delete([10, 20, 30, 40], np.array([0, 2]))
    Array([20, 40], dtype=int32)
    """
    x, axis = flattened(_core.array(arr), axis, "delete")
    if axis in _core.ragged_axes(x):
        return delete_ragged(x, obj, axis)
    count = x._bound_shape[axis]
    wanted = obj if isinstance(obj, slice) else _known_places(obj)
    if wanted is not None:
        return _taken([x], _rest(count, wanted, axis), axis)
    index = _core.array(obj)
    if not is_integer(index) or (index.ndim and not assume_unique_indices):
        wanted = known(index, "delete", "pass assume_unique_indices=True if no two indices are the same")
        return _taken([x], _rest(count, wanted, axis), axis)
    index = _core.convert(reshape(index, (-1,)), _INT32)
    index = choose(index < literal(index, 0), index + literal(index, count), index)
    number = index._bound_shape[0]
    left = max(count - number, 0)
    # Kept element i stands behind as many deleted ones as have, less those deleted before them, a position up to i.
    below = sort(index) - primitives.iota(shape=[number], dtype=_INT32, axis=0)
    position = primitives.iota(shape=[left], dtype=_INT32, axis=0)
    wide = [primitives.broadcast(item, shape=[number, left], axes=[i]) for i, item in enumerate((below, position))]
    behind = primitives.reduce_sum(_core.convert(primitives.le(*wide), _INT32), axes=[0])
    return primitives.gather(x, position + behind, axis=axis, batch_dims=0)


def _rest(count: int, wanted: Any, axis: int) -> Any:
    """The positions of an axis without some."""
    if not isinstance(wanted, slice):
        wanted = np.asarray(wanted)
        if wanted.size and wanted.dtype.kind not in "biu":
            raise TypeError(
                f"delete: positions must be integers or bools; got {wanted.dtype}\n  convert them first: .astype('int32')"
            )
        if wanted.size and wanted.dtype.kind == "b" and wanted.shape != (count,):
            raise IndexError(
                f"delete: a mask of shape {wanted.shape} for {count} elements along axis {axis}\n"
                "  make the mask of the array: delete(x, x > 0)"
            )
        if wanted.size and wanted.dtype.kind != "b" and ((wanted < -count) | (wanted >= count)).any():
            raise IndexError(
                f"delete: a position is outside of [{-count}, {count}), for axis {axis} of size {count}\n"
                "  name elements that are there, or choose with a mask: x[mask]"
            )
    return np.delete(np.arange(count, dtype=_INT32), wanted)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """An array with values inserted before positions along an axis.

    Parameters
    ----------
    arr : array
        Numbers of any dtype.
    obj : int, slice or array
        The positions, counted before anything is inserted: integers, which may be values, or bools.
    values : array
        Broadcast to the inserted slices, and converted to the dtype of ``arr``.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.

    Returns
    -------
    array
        Of the dtype of ``arr``.

    Examples
    --------
    >>> ct.numpy.insert([1, 2, 3], 1, 9)
    Array([1, 9, 2, 3], dtype=int32)

    >>> ct.numpy.insert([[1, 2], [3, 4]], 2, [5, 6], axis=1)
    Array([[1, 2, 5],
           [3, 4, 6]], dtype=int32)
    """
    x, axis = flattened(_core.array(arr), axis, "insert")
    if axis in _core.ragged_axes(x):
        return insert_ragged(x, obj, values, axis)
    count = x._bound_shape[axis]
    added = _core.convert(_core.array(values), x.dtype)
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(count))
    places = _known_places(obj)
    if places is not None and places.dtype == bool:
        (places,) = np.nonzero(places)
    index = _core.array(obj if places is None else places)
    if kind(index) == "bool":
        (index,) = nonzero(index)
    if index.size and not is_integer(index):
        raise TypeError(
            f"insert: positions must be integers; got {index.dtype}\n  convert them first: .astype('int32')"
        )
    if index.ndim > 1:
        raise ValueError(
            f"insert: positions must be an int or have one axis; got shape {index.shape}\n"
            "  make one axis of them: positions.ravel()"
        )
    if added.ndim < x.ndim:
        added = insert_axes(added, list(range(x.ndim - added.ndim)))
    if index.ndim == 0:
        added = moveaxis(added, 0, axis)  # one place takes the first axis of the values
    elif index.size == 1:
        index = reshape(index, ())
    number = added._bound_shape[axis] if index.ndim == 0 else index.size
    shape = list(x._bound_shape)
    shape[axis] = number
    added = _core.broadcast_to(added, shape)
    if places is not None:
        places = np.broadcast_to(places.reshape(index._bound_shape).astype(_INT32), (number,))
        if ((places < -count) | (places > count)).any():
            raise IndexError(
                f"insert: a position is outside of [{-count}, {count}], for axis {axis} of size {count}\n"
                "  use append or concatenate for what comes after the end"
            )
        places = np.where(places < 0, places + count, places)
        source = np.insert(np.arange(count, dtype=_INT32), places, np.arange(count, count + number, dtype=_INT32))
        return _taken([x, added], source, axis)
    joined = primitives.concatenate(x, added, axis=axis)
    where = _core.broadcast_to(_core.convert(index, _INT32), (number,))
    where = clip(choose(where < literal(where, 0), where + literal(where, count), where), 0, count)
    # Sorting what was there (its position counts half more) and what comes in by position gives the order.
    old = primitives.iota(shape=[count], dtype=_INT32, axis=0)
    two = literal(old, 2)
    keys = primitives.concatenate(old * two + literal(old, 1), where * literal(where, 2), axis=0)
    return primitives.gather(joined, _core.convert(argsort(keys), _INT32), axis=axis, batch_dims=0)


@own
def resize(a: Any, new_shape: Any) -> Array:
    """The elements of an array, repeated or cut off to fill another shape; of none, zeros.

    Parameters
    ----------
    a : array
        Numbers of any dtype; flattened.
    new_shape : int or sequence of int
        The shape.

    Returns
    -------
    array
        Of the shape.

    Examples
    --------
    >>> ct.numpy.resize([1, 2, 3], (2, 2))
    Array([[1, 2],
           [3, 1]], dtype=int32)
    """
    x = ravel(a)
    sizes, lengths = static_shape(new_shape, "resize")
    if lengths and bound_size(x):
        return give_lengths(take(x, remainder(flat_positions(sizes, lengths, _INT32), x.size), mode="clip"), lengths)
    total = math.prod(sizes)
    if _core.ragged_axes(x) and bound_size(x):
        position = primitives.iota(shape=[total], dtype=_INT32, axis=0)
        elements = take(x, remainder(position, maximum(x.size, 1)), mode="clip")
        some = _core.broadcast_to(as_dtype(axis_size(x, 0), _INT32) > 0, [total])
        return reshape(choose(some, elements, literal(elements, 0)), sizes)
    if bound_size(x) == 0 or total == 0:
        return _core.full(sizes, 0, x.dtype)
    return reshape(_cycled(x, total), sizes)


check_arguments(globals())
