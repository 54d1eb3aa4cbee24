"""Elements by their position or by a condition: which are nonzero, taking some out, putting some in.

Where the number of results depends on values, the values must be known, or ``size`` says how many there are: results are
then cut, or filled up with ``fill_value``, to that size, and everything works on traced values too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core, tree_util
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import as_ragged_as, give_lengths, set_length
from cotangent._base.dimensions import Dim, bound_of, check_equal_sizes, largest
from cotangent._core import Array
from cotangent._ops.arithmetic import clip, maximum, remainder
from cotangent._ops.binding import choose, is_host_value, is_integer, kind, literal, no_out
from cotangent._ops.comparisons import truth
from cotangent._ops.extents import capacities, capacity, index_along, slice_axis
from cotangent._ops.index_plans import check_mask
from cotangent._ops.positions import _INT32, _integers, exact_mask, is_sized, known, nonzero, sized_positions
from cotangent._ops.ragged_selection import delete_ragged, insert_ragged
from cotangent._ops.reshaping import flattened
from cotangent._ops.shapes import moveaxis, ravel, reshape
from cotangent._ops.sizes import (
    as_dtype,
    axis_size,
    bound_size,
    flat_positions,
    insert_axes,
    length_of_size,
    normalize_axes,
    normalize_axis,
    ragged_length,
    refuse_ragged,
    size_from,
    static_shape,
)
from cotangent._ops.sorting import argsort, sort
from cotangent._ops.taking import take

__all__ = [
    "compress",
    "delete",
    "diag_indices_from",
    "extract",
    "fill_diagonal",
    "insert",
    "ix_",
    "mask_indices",
    "place",
    "put",
    "put_along_axis",
    "ravel_multi_index",
    "resize",
    "tril_indices",
    "tril_indices_from",
    "trim_zeros",
    "triu_indices",
    "triu_indices_from",
]


# ---- Positions of elements -------------------------------------------------------------------------------------------


def ravel_multi_index(
    multi_index: Any, dims: Sequence[int], mode: str = "raise", order: str = "C", *, dtype: Any = None
) -> Array:
    """The positions in a flattened array of indices along each axis.

    Parameters
    ----------
    multi_index : sequence of array of int
        The indices along each axis; broadcast.
    dims : sequence of int
        The shape of the array before it is flattened.
    mode : str, default "raise"
        For indices outside: ``"raise"``, where they are known; ``"clip"``: the nearest; ``"wrap"``: modulo the size;
        ``"ignore"``: they are used as they are.
    order : str, default "C"
        ``"C"``: the last index varies fastest; ``"F"``: the first.
    dtype : dtype, optional
        Of the result. None: that of the indices.

    Returns
    -------
    array of int
        The positions.

    Raises
    ------
    ValueError
        An index is outside with mode "raise"; the numbers of indices and sizes differ; there is no such mode or
        order.

    Examples
    --------
    >>> ct.numpy.ravel_multi_index((np.array([0, 1]), np.array([1, 2])), (2, 3))
    Array([1, 5], dtype=int64)
    """
    if len(multi_index) != len(dims):
        raise ValueError(f"ravel_multi_index: {len(multi_index)} indices for {len(dims)} sizes")
    if mode not in ("raise", "clip", "wrap", "ignore"):
        raise ValueError(f"ravel_multi_index: mode must be 'raise', 'clip', 'wrap' or 'ignore'; got {mode!r}")
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: order must be 'C' or 'F'; got {order!r}")
    result: Any = 0
    pairs = list(zip(_core.promote(list(multi_index)), dims, strict=True)) if len(dims) else []
    for index, size in pairs if order == "C" else pairs[::-1]:
        if not is_integer(index):
            raise TypeError(f"ravel_multi_index takes integers; got {index.dtype}")
        if mode == "raise":
            values = known(index, "ravel_multi_index", "pass mode='clip' or mode='wrap'")
            if ((values < 0) | (values >= size)).any():
                raise ValueError(
                    f"invalid entry in coordinates array: an index is outside of [0, {size})\n  pass mode='clip' or mode='wrap'"
                )
        elif mode == "clip":
            index = clip(index, 0, size - 1)
        elif mode == "wrap":
            index = remainder(index, size)
        result = result * size + index
    result = _core.array(result)
    return _core.convert(result, _core.default_int_dtype() if dtype is None else dtype) if dtype or not dims else result


def _triangle(name: str, n: Any, k: Any, m: Any) -> tuple[Array, Array]:
    """The indices of a triangle of an n × m matrix. Where a size or the diagonal is a value, so is their number."""
    sizes = [size_from(n, f"{name}: n"), size_from(n if m is None else m, f"{name}: m")]
    diagonal = size_from(k, f"{name}: k")
    lower = name.startswith("tril")
    if not any(isinstance(size, Dim) for size in (*sizes, diagonal)):
        rows, columns = (np.tril_indices if lower else np.triu_indices)(int(sizes[0]), int(diagonal), int(sizes[1]))
        return _integers(rows), _integers(columns)
    places, lengths = static_shape(sizes, name)
    row, column = (primitives.iota(shape=places, dtype=_INT32, axis=axis) for axis in (0, 1))
    offset = column - row
    edge = _core.broadcast_to(_core.array(diagonal), places)
    inside = offset <= edge if lower else offset >= edge
    return nonzero(give_lengths(inside, lengths))  # type: ignore[return-value]


def _sizes_of_matrix(name: str, arr: Any, k: Any) -> tuple[Any, Any, Any]:
    shape = _core.array(arr).shape
    if len(shape) != 2:
        raise ValueError(f"{name} takes a matrix; got shape {shape}")
    return shape[0], k, shape[1]


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the elements of a matrix on and below one diagonal.

    Parameters
    ----------
    n : int
        The number of rows.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.
    m : int, optional
        The number of columns. None: n.

    Returns
    -------
    tuple of two arrays of int
        The rows and the columns, row by row.

    Examples
    --------
    >>> ct.numpy.tril_indices(2)
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return _triangle("tril_indices", n, k, m)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the elements of a matrix on and above one diagonal.

    Parameters
    ----------
    n : int
        The number of rows.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.
    m : int, optional
        The number of columns. None: n.

    Returns
    -------
    tuple of two arrays of int
        The rows and the columns, row by row.

    Examples
    --------
    >>> ct.numpy.triu_indices(2)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return _triangle("triu_indices", n, k, m)


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """The indices of the elements of a given matrix on and below one diagonal.

    Parameters
    ----------
    arr : array, shape (n, m)
        The matrix, of which only the shape counts.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.

    Returns
    -------
    tuple of two arrays of int
        The rows and the columns, row by row.

    Raises
    ------
    ValueError
        ``arr`` does not have two axes.

    Examples
    --------
    >>> x = ct.numpy.array([[1, 2], [3, 4]])
    >>> x[ct.numpy.tril_indices_from(x)]
    Array([1, 3, 4], dtype=int32)
    """
    return _triangle("tril_indices_from", *_sizes_of_matrix("tril_indices_from", arr, k))


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, Array]:
    """The indices of the elements of a given matrix on and above one diagonal.

    Parameters
    ----------
    arr : array, shape (n, m)
        The matrix, of which only the shape counts.
    k : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.

    Returns
    -------
    tuple of two arrays of int
        The rows and the columns, row by row.

    Raises
    ------
    ValueError
        ``arr`` does not have two axes.

    Examples
    --------
    >>> x = ct.numpy.array([[1, 2], [3, 4]])
    >>> x[ct.numpy.triu_indices_from(x)]
    Array([1, 2, 4], dtype=int32)
    """
    return _triangle("triu_indices_from", *_sizes_of_matrix("triu_indices_from", arr, k))


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """The indices of the main diagonal of a given array, whose axes have one size.

    Parameters
    ----------
    arr : array, shape (n, n, ...)
        The array, of which only the shape counts.

    Returns
    -------
    tuple of array of int, shape (n,)
        The indices along each axis.

    Raises
    ------
    ValueError
        There are fewer than two axes, or their sizes differ.

    Examples
    --------
    >>> x = ct.numpy.array([[1, 2], [3, 4]])
    >>> x[ct.numpy.diag_indices_from(x)]
    Array([1, 4], dtype=int32)
    """
    array = _core.array(arr)
    refuse_ragged("diag_indices_from", array, range(array.ndim), "the number of indices depends on its length")
    shape = array._bound_shape
    if len(shape) < 2 or len(set(shape)) != 1:
        raise ValueError(f"diag_indices_from takes an array of two or more axes of equal size; got shape {shape}")
    return (_integers(np.arange(shape[0]), array),) * len(shape)


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0, *, size: int | None = None) -> tuple[Array, ...]:
    """The indices at which a function that masks matrices, such as `triu`, leaves elements.

    Parameters
    ----------
    n : int
        The size of the matrix.
    mask_func : callable
        Called as ``mask_func(ones((n, n)), k)``.
    k : int, default 0
        Passed on.
    size : int, optional
        How many to return, so that the shape does not depend on values, as under ``jit``. None: as many as there are.

    Returns
    -------
    tuple of two arrays of int
        The rows and the columns where the result is not zero.

    Examples
    --------
    >>> ct.numpy.mask_indices(2, ct.numpy.triu)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return nonzero(mask_func(_core.full((n, n), 1, _core.default_int_dtype()), k), size=size)


def ix_(*args: Any) -> tuple[Array, ...]:
    """Index arrays that select the grid of all combinations of indices.

    Parameters
    ----------
    *args : array, shape (n,)
        The indices along each axis; of bools those where they are true.

    Returns
    -------
    tuple of array
        One for each, with the indices along its own axis and size 1 along the others.

    Raises
    ------
    ValueError
        An argument does not have one axis.

    Examples
    --------
    >>> x = ct.numpy.arange(9).reshape(3, 3)
    >>> x[ct.numpy.ix_([0, 2], [1, 2])]
    Array([[1, 2],
           [7, 8]], dtype=int32)
    """
    results = []
    for i, arg in enumerate(args):
        array = _core.array(arg)
        if array.ndim != 1:
            raise ValueError(f"ix_ takes sequences of one axis; argument {i} has shape {array.shape}")
        if kind(array) == "bool":
            (array,) = nonzero(array)
        elif bound_size(array) == 0:
            array = _core.convert(array, _core.default_int_dtype())
        results.append(insert_axes(array, [axis for axis in range(len(args)) if axis != i]))
    return tuple(results)


# ---- Taking out ------------------------------------------------------------------------------------------------------


def compress(
    condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0, out: None = None
) -> Array:
    """The slices of an array along an axis at which a condition holds.

    Parameters
    ----------
    condition : array, shape (n,)
        Bools; may be shorter than the axis. Must be known, unless ``size`` is given.
    a : array
        Numbers of any dtype.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    size : int, optional
        How many to return, so that the shape does not depend on values, as under ``jit``. None: as many as there are.
    fill_value : number, default 0
        Fills the slices that are missing, with ``size``.
    out : None
        Must be None: arrays are immutable.

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
    """
    no_out(out, "compress")
    mask = truth(condition)
    if mask.ndim != 1:
        raise ValueError(f"compress: the condition must have one axis; got shape {mask.shape}")
    x, axis = flattened(_core.array(a), axis, "compress")
    count = x._bound_shape[axis]
    if mask._bound_shape[0] == count and (_core.ragged_axes(mask) or axis in _core.ragged_axes(x)):
        check_mask(mask, axis, x)
    if mask._bound_shape[0] > count:
        if is_host_value(mask) and _core.to_numpy(mask)[count:].any():
            raise ValueError(f"compress: the condition holds beyond the {count} elements of axis {axis}")
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
        Bools, of the shape of ``arr``; flattened. Must be known, unless ``size`` is given.
    arr : array
        Numbers of any dtype; flattened.
    size : int, optional
        How many to return, so that the shape does not depend on values, as under ``jit``. None: as many as there are.
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
        Numbers, which must be known: the shape of the result depends on them.
    trim : str, default "fb"
        At which ends: ``"f"`` front, ``"b"`` back, or both.
    axis : int or sequence of int, optional
        Along which axes. None: all.

    Returns
    -------
    array
        The part between the zeros.

    Examples
    --------
    >>> ct.numpy.trim_zeros([0, 0, 1, 0, 2, 0])
    Array([1, 0, 2], dtype=int32)
    """
    x = _core.array(filt)
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
    return primitives.slice(
        x,
        start=start,
        limit=[max(low, high) for low, high in zip(start, limit, strict=True)],
        stride=[1] * x.ndim,
    )


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
        return _taken([x], np.delete(np.arange(count, dtype=_INT32), wanted), axis)
    index = _core.array(obj)
    if not is_integer(index) or (index.ndim and not assume_unique_indices):
        wanted = known(index, "delete", "pass assume_unique_indices=True if no two indices are the same")
        return _taken([x], np.delete(np.arange(count, dtype=_INT32), wanted), axis)
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


# ---- Putting in ------------------------------------------------------------------------------------------------------


def _only_copies(inplace: bool, name: str) -> None:
    if inplace:
        raise ValueError(f"{name}: arrays are immutable\n  pass inplace=False, and use the array that is returned")


def _in_turn(flat: Array, numbers: Array) -> Array:
    """The elements that come at these numbers where the flattened values are repeated again and again."""
    turn = remainder(numbers, largest(flat.size, 1))
    return primitives.gather(flat, turn, axis=0, batch_dims=0)


def _cycled(values: Array, size: Any) -> Array:
    """``size`` elements: those of the flattened values, again and again."""
    flat = ravel(values)
    available: Any = flat.size
    if isinstance(size, Dim) or isinstance(available, Dim):
        place = primitives.iota(shape=[bound_of(size)], dtype=_INT32, axis=0)
        if isinstance(size, Dim):
            place = set_length(place, length_of_size(size), 0)
        return _in_turn(flat, place)
    if flat.size == size:
        return flat
    if flat.size == 0:
        raise ValueError("there are no values to put in")
    if flat.size < size:
        rows = -(-size // flat.size)
        flat = ravel(primitives.broadcast(flat, shape=[rows, flat.size], axes=[1]))
    return flat[:size]


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
        raise TypeError(f"insert: positions must be integers; got {index.dtype}")
    if index.ndim > 1:
        raise ValueError(f"insert: positions must be an int or have one axis; got shape {index.shape}")
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
            raise IndexError(f"insert: a position is outside of [{-count}, {count}], for axis {axis} of size {count}")
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


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Array:
    """An array with some of its elements replaced, which positions in the flattened array name.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    ind : array of int
        The positions; negative ones count from the end.
    v : array
        The values, repeated as needed.
    mode : str, optional
        For positions outside: ``"clip"``, which is the default, takes the nearest, ``"wrap"`` counts around.
    inplace : bool, default True
        Must be given as False: arrays are immutable, and the result is another array.

    Returns
    -------
    array
        Of the dtype and the shape of ``a``.

    Raises
    ------
    ValueError
        There is no such mode, or ``inplace`` is True.

    Examples
    --------
    >>> ct.numpy.put([1, 2, 3], [0, 2], [10, 30], inplace=False)
    Array([10,  2, 30], dtype=int32)
    """
    _only_copies(inplace, "put")
    if mode not in (None, "clip", "wrap"):
        raise ValueError(f"put: mode must be None, 'clip' or 'wrap'; got {mode!r}")
    x, index = _core.array(a), ravel(ind)
    if capacity(index, 0) == 0:
        return x
    if mode == "wrap":
        index = remainder(index, x.size)
    else:
        index = clip(choose(index < literal(index, 0), index + x.size, index), 0, x.size - 1)
    values = _core.array(v)
    if 0 in capacities(values):
        return x
    updates = _cycled(values, index.size)
    return reshape(ravel(x).at[index].set(updates, mode="drop"), x.shape)


def put_along_axis(
    arr: Any, indices: Any, values: Any, axis: int | None, inplace: bool = True, *, mode: str | None = None
) -> Array:
    """An array with some of its elements replaced, which indices along an axis name.

    Parameters
    ----------
    arr : array
        Numbers of any dtype.
    indices : array of int
        As many axes as ``arr``: in each line along the axis, the positions in that line.
    values : array
        Broadcast to the shape of ``indices``.
    axis : int or None
        Which axis. None: that of the flattened array.
    inplace : bool, default True
        Must be given as False: arrays are immutable, and the result is another array.
    mode : str, optional
        For positions outside, as of ``x.at[...].set``: by default they are dropped.

    Returns
    -------
    array
        Of the dtype and the shape of ``arr``.

    Raises
    ------
    ValueError
        The numbers of axes differ, or ``inplace`` is True.

    Examples
    --------
    >>> ct.numpy.put_along_axis([[1, 2], [3, 4]], np.array([[1], [0]]), 9, 1, inplace=False)
    Array([[1, 9],
           [9, 4]], dtype=int32)
    """
    _only_copies(inplace, "put_along_axis")
    x, index = _core.array(arr), _core.array(indices)
    if axis is None:
        flat = put_along_axis(ravel(x), ravel(index), ravel(values), 0, False, mode=mode)
        return reshape(flat, x.shape)
    if x.ndim != index.ndim:
        raise ValueError(f"put_along_axis: the array has {x.ndim} axes, the indices {index.ndim}; they must be equal")
    axis = normalize_axis(axis, x.ndim, "put_along_axis")
    shape = list(index._bound_shape)
    grid: list[Array] = []
    for i, size in enumerate(x._bound_shape):
        if i == axis:
            grid.append(index)
        else:
            if shape[i] not in (1, size):
                raise ValueError(f"put_along_axis: axis {i} has size {size}, but the indices have {shape[i]} there")
            position = primitives.iota(shape=[size], dtype=_INT32, axis=0)
            if i in _core.ragged_axes(x):
                position = set_length(position, axis_size(x, i), 0)
            grid.append(insert_axes(position, [j for j in range(x.ndim) if j != i]))
    return x.at[tuple(grid)].set(values, mode=mode)  # type: ignore[no-any-return]


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Array:
    """An array with elements replaced in order where a mask is true.

    Parameters
    ----------
    arr : array
        Numbers of any dtype.
    mask : array
        Bools, as many as elements.
    vals : array
        The values, repeated as needed: the first goes where the mask is true first.
    inplace : bool, default True
        Must be given as False: arrays are immutable, and the result is another array.

    Returns
    -------
    array
        Of the dtype and the shape of ``arr``.

    Raises
    ------
    ValueError
        The mask has another size, there are no values, or ``inplace`` is True.

    Examples
    --------
    >>> ct.numpy.place([1, 2, 3, 4], [False, True, False, True], [20, 40], inplace=False)
    Array([ 1, 20,  3, 40], dtype=int32)
    """
    _only_copies(inplace, "place")
    x, values = _core.array(arr), ravel(vals)
    chosen = truth(mask)
    check_equal_sizes("place", "arr.size", x.size, "mask.size", chosen.size, ValueError)
    if capacity(values, 0) == 0:
        if 0 not in capacities(x):
            raise ValueError("place: there are no values to put in")
        return x
    flat = ravel(chosen)
    rank = primitives.cumsum(_core.convert(flat, _INT32), axis=0, reverse=False)
    picked = _in_turn(_core.convert(values, x.dtype), rank - literal(rank, 1))
    return reshape(primitives.select(flat, picked, ravel(x)), x.shape)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Array:
    """An array with other values on its main diagonal.

    Parameters
    ----------
    a : array, shape (m, n) or (n, n, ...)
        Numbers of any dtype.
    val : array
        The values, repeated as needed.
    wrap : bool, default False
        Whether the diagonal of a matrix with more rows than columns starts again below its end.
    inplace : bool, default True
        Must be given as False: arrays are immutable, and the result is another array.

    Returns
    -------
    array
        Of the dtype and the shape of ``a``.

    Raises
    ------
    ValueError
        There are fewer than two axes, three or more of different sizes, or ``inplace`` is True.

    Examples
    --------
    >>> ct.numpy.fill_diagonal([[1, 2], [3, 4]], 0, inplace=False)
    Array([[0, 2],
           [3, 0]], dtype=int32)
    """
    _only_copies(inplace, "fill_diagonal")
    x = _core.array(a)
    sizes = x._bound_shape
    if len(sizes) < 2:
        raise ValueError(f"fill_diagonal needs at least two axes; got shape {sizes}")
    if len(sizes) == 2 and _core.ragged_axes(x):
        return _with_diagonal(x, _core.array(val), wrap)
    if len(sizes) == 2:
        step = sizes[1] + 1
        end = x.size if wrap else min(x.size, sizes[1] * sizes[1])
    else:
        if len(set(sizes)) != 1:
            raise ValueError(f"fill_diagonal: more than two axes must have one size; got shape {sizes}")
        step, end = sum(sizes[0] ** i for i in range(len(sizes))), x.size
    updates = _cycled(_core.array(val), len(range(0, end, step)))
    return reshape(ravel(x).at[0:end:step].set(updates), sizes)


def _with_diagonal(x: Array, values: Array, wrap: bool) -> Array:
    """`fill_diagonal` of a ragged matrix: every so many elements of the flattened one are on the diagonal."""
    columns = as_dtype(axis_size(x, 1), _INT32)
    row, column = index_along(x, 0), index_along(x, 1)
    number = row * columns + column
    on_diagonal = primitives.eq(remainder(number, columns + 1), literal(number, 0))
    if not wrap:
        on_diagonal = on_diagonal & (row < columns)
    flat = ravel(_core.convert(values, x.dtype))
    updates = _in_turn(flat, number // (columns + 1))
    return choose(as_ragged_as(on_diagonal, x), as_ragged_as(updates, x), x)


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
