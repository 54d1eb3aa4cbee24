"""Arrays with some of their elements replaced."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import as_ragged_as, set_length
from cotangent._base.dimensions import Dim, bound_of, check_equal_sizes, largest
from cotangent._base.words import not_among
from cotangent._core import Array
from cotangent._ops.binding import choose, literal
from cotangent._ops.comparisons import truth
from cotangent._ops.division import remainder
from cotangent._ops.extents import capacities, capacity, index_along
from cotangent._ops.positions import _INT32
from cotangent._ops.rounding import clip
from cotangent._ops.shapes import ravel, reshape
from cotangent._ops.sizes import (
    as_dtype,
    axis_size,
    insert_axes,
    length_of_size,
    normalize_axis,
)

__all__ = ["fill_diagonal", "place", "put", "put_along_axis"]


def _only_copies(inplace: bool, name: str, assigned: str) -> None:
    if inplace:
        raise ValueError(
            f"{name}: inplace=True is not supported\n  keep what it returns: x = {name}(x, ..., inplace=False), or assign: {assigned}"
        )


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
        raise ValueError("fill_diagonal: there are no values to put in\n  give one value or more")
    if flat.size < size:
        rows = -(-size // flat.size)
        flat = ravel(primitives.broadcast(flat, shape=[rows, flat.size], axes=[1]))
    return flat[:size]


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
        Must be given as False: the result is another array.

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
    _only_copies(inplace, "put", "x[i] = v")
    if mode not in (None, "clip", "wrap"):
        raise not_among("put", "mode", mode, (None, "clip", "wrap"))
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
        Must be given as False: the result is another array.
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
    _only_copies(inplace, "put_along_axis", "x[i, ct.numpy.arange(n)] = v")
    x, index = _core.array(arr), _core.array(indices)
    if axis is None:
        flat = put_along_axis(ravel(x), ravel(index), ravel(values), 0, False, mode=mode)
        return reshape(flat, x.shape)
    if x.ndim != index.ndim:
        raise ValueError(
            f"put_along_axis: the array has {x.ndim} axes, the indices {index.ndim}; they must be equal\n"
            "  add axes of one to the indices, or give axis=None for positions in the flat array"
        )
    axis = normalize_axis(axis, x.ndim, "put_along_axis")
    shape = list(index._bound_shape)
    grid: list[Array] = []
    for i, size in enumerate(x._bound_shape):
        if i == axis:
            grid.append(index)
        else:
            if shape[i] not in (1, size):
                raise ValueError(
                    f"put_along_axis: axis {i} has size {size}, but the indices have {shape[i]} there\n"
                    f"  give {size} indices there, or one for all"
                )
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
        Must be given as False: the result is another array.

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
    _only_copies(inplace, "place", "x[mask] = v")
    x, values = _core.array(arr), ravel(vals)
    chosen = truth(mask)
    check_equal_sizes("place", "arr.size", x.size, "mask.size", chosen.size, ValueError)
    if capacity(values, 0) == 0:
        if 0 not in capacities(x):
            raise ValueError("place: there are no values to put in\n  give one value or more")
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
        Must be given as False: the result is another array.

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
    _only_copies(inplace, "fill_diagonal", "i = ct.numpy.arange(n); x[i, i] = value")
    x = _core.array(a)
    sizes = x._bound_shape
    if len(sizes) < 2:
        raise ValueError(f"fill_diagonal needs at least two axes; got shape {sizes}\n  write x[:] = value for one axis")
    if len(sizes) == 2 and _core.ragged_axes(x):
        return _with_diagonal(x, _core.array(val), wrap)
    if len(sizes) == 2:
        step = sizes[1] + 1
        end = x.size if wrap else min(x.size, sizes[1] * sizes[1])
    else:
        if len(set(sizes)) != 1:
            raise ValueError(
                f"fill_diagonal: more than two axes must have one size; got shape {sizes}\n"
                "  map over the leading axes: ct.vmap(lambda m: fill_diagonal(m, value, inplace=False))(x)"
            )
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


check_arguments(globals())
