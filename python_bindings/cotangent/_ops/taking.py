"""Elements at positions along an axis: take, take_along_axis, choose, and what stands for positions outside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import as_list, check_arguments
from cotangent._base.words import not_among
from cotangent._core import Array
from cotangent._ops.binding import both_words, is_host_value, is_inexact, is_integer, kind, literal, no_out
from cotangent._ops.division import remainder
from cotangent._ops.indexing import check_index, count_like, signed
from cotangent._ops.reshaping import flat
from cotangent._ops.rounding import clip
from cotangent._ops.sizes import axis_size, bound_size, insert_axes, normalize_axis
from cotangent.errors import ConcretizationError

_UINT64 = np.dtype("uint64")

__all__ = [
    "choose",
    "take",
    "take_along_axis",
]


def fill_outside(result: Array, indices: Array, axis: int, fill_value: Any, nearest: Array | None = None) -> Array:
    """``result`` with a value where ``indices``, its axes from ``axis`` on, are -1, or not what is ``nearest`` to them.

    The default is NaN, the lowest signed or the highest unsigned integer, or True; of a random key the words of highest numbers.
    """
    if kind(result) == "key":
        words = primitives.bitcast(result, dtype=_UINT64)
        if isinstance(fill_value, Array) and kind(fill_value) == "key":
            return primitives.bitcast(
                fill_outside(words, indices, axis, primitives.bitcast(fill_value, dtype=_UINT64), nearest),
                dtype=result.dtype,
            )
        filled = fill_outside(words, indices, axis, None if fill_value is None else both_words(fill_value), nearest)
        return primitives.bitcast(filled, dtype=result.dtype)
    if fill_value is None:
        if is_inexact(result):
            fill_value = math.nan
        elif kind(result) == "bool":
            fill_value = True
        else:
            limits = np.iinfo(result.dtype)
            fill_value = limits.max if kind(result) == "unsigned" else limits.min
    # Integers are compared where they are used, where bools of some would be read from memory and made wide.
    shape, axes = list(result._bound_shape), [axis + i for i in range(indices.ndim)]
    asked = primitives.broadcast(indices, shape=shape, axes=axes)
    if nearest is None:
        outside = primitives.lt(asked, literal(asked, 0))
    else:
        outside = primitives.ne(asked, primitives.broadcast(nearest, shape=shape, axes=axes))
    if isinstance(fill_value, Array):
        value = _core.broadcast_to(_core.convert(fill_value, result.dtype), shape)
    else:
        value = literal(result, fill_value)
    return primitives.select(outside, value, result)


def _indices_in(
    indices: Array, x: Array, axis: int, mode: str | None, from_end: bool = True
) -> tuple[Array, Array | None]:
    """Positions for a gather, and what was asked for, from which they differ outside; None if nothing is."""
    size = axis_size(x, axis)
    if not is_integer(indices):
        raise TypeError(f"indices must be integers; got {indices.dtype}\n  convert them first: .astype('int32')")
    wide = signed(indices)
    count = _core.broadcast_to(count_like(wide, size), wide._bound_shape)
    if mode == "wrap":
        return remainder(wide, count), None
    wrapped = (
        primitives.select(primitives.lt(wide, literal(wide, 0)), primitives.add(wide, count), wide)
        if from_end
        else wide
    )
    if mode == "clip":
        clipped = primitives.max(primitives.min(wrapped, primitives.sub(count, literal(count, 1))), literal(wide, 0))
        return clipped, None
    if mode not in (None, "fill", "promise_in_bounds"):
        raise not_among("take", "mode", mode, ("fill", "clip", "wrap", "raise"))
    if isinstance(size, int) and size > 0 and kind(x) != "key":
        last = literal(wrapped, size - 1)
        return primitives.max(primitives.min(wrapped, last), literal(wrapped, 0)), wrapped
    inside = primitives.and_(primitives.ge(wrapped, literal(wrapped, 0)), primitives.lt(wrapped, count))
    return tuple(primitives.select(inside, wrapped, literal(wrapped, outside)) for outside in (-1, -2))  # type: ignore[return-value]


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Array:
    """The slices of an array at positions along an axis, or the elements at positions of the flattened array.

    Positions outside give NaN, as in JAX, where NumPy raises; see ``mode``.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    indices : array of int
        The positions; negative ones count from the end.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    mode : str, optional
        For positions outside: None or ``"fill"``: ``fill_value``; ``"clip"``: the nearest, and the first for negative
        ones; ``"wrap"``: modulo the size; ``"raise"``: an error, where positions are known.
    unique_indices, indices_are_sorted : bool, default False
        Accepted as in JAX, and without effect.
    fill_value : number, optional
        By default NaN, the lowest signed or the highest unsigned integer, or True.

    Returns
    -------
    array
        The axis is replaced by those of ``indices``.

    Raises
    ------
    TypeError
        The positions are not integers.
    IndexError
        The axis has no elements, and there are positions; with mode "raise", one is outside.
    ConcretizationError
        With mode "raise", the positions are not known.

    Examples
    --------
    >>> ct.numpy.take([10, 20, 30], np.array([2, 0]))
    Array([30, 10], dtype=int32)

    >>> ct.numpy.take(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 5]), axis=1)
    Array([[ 2., nan],
           [ 4., nan]], dtype=float64)
    """
    no_out(out, "take")
    x, index = _core.array(a), _core.array(indices)
    if axis is None:
        x, axis = flat(x), 0
    axis = normalize_axis(axis, x.ndim, "take")
    if x._bound_shape[axis] == 0 and bound_size(index):
        raise IndexError(
            f"take: axis {axis} has no elements\n  test its size first, or take with an empty array of indices"
        )
    if mode == "raise":
        _check_inside(index, x, axis)
        mode = None
    # NumPy's clip is of negative positions too.
    positions, asked = _indices_in(index, x, axis, mode, from_end=mode != "clip")
    if mode is None and asked is not None and _core.get_flag("index_checks"):
        check_index(x, axis, axis_size(x, axis), index, primitives.ne(positions, asked))
    result = primitives.gather(x, positions, axis=axis, batch_dims=0)
    if asked is None or _all_equal(positions, asked):
        return result
    return fill_outside(result, asked, axis, fill_value, positions)


def _check_inside(indices: Array, x: Array, axis: int) -> None:
    try:
        values = np.asarray(_core.peek_numpy(indices))
    except ConcretizationError as error:
        raise ConcretizationError(
            "take: mode 'raise' needs positions that are known when the program is captured\n"
            "  pass mode='clip', 'wrap' or 'fill', or check them while it runs: ct.checkify"
        ) from error
    size = x._bound_shape[axis]
    if ((values < -size) | (values >= size)).any():
        raise IndexError(
            f"take: a position is outside of axis {axis}, which has {size} elements\n"
            "  pass mode='clip' for the nearest one, 'wrap' to begin again, or 'fill' for NaN"
        )


def _all_equal(x: Array, y: Array) -> bool:
    known = is_host_value(x) and is_host_value(y)
    return known and np.array_equal(_core.to_numpy(x), _core.to_numpy(y))


def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """The elements of each line of an array along an axis at the positions that the same line of another array has.

    Parameters
    ----------
    arr : array
        Numbers of any dtype.
    indices : array of int
        As many axes as ``arr``; the others are broadcast with its.
    axis : int or None, default -1
        Which axis. None: that of the flattened array; ``indices`` have one axis then.
    mode : str, optional
        For positions outside: ``"fill"``, the default: ``fill_value``; ``"clip"``: the nearest; ``"wrap"``: modulo
        the size; ``"one_hot"``: zero.
    fill_value : number, optional
        By default NaN, the lowest signed or the highest unsigned integer, or True.
    wrap_negative_indices : bool, optional
        Whether negative positions count from the end, which they do by default; else they are outside.

    Returns
    -------
    array
        Of the dtype of ``arr``; along the axis as long as ``indices``.

    Raises
    ------
    ValueError
        The numbers of axes differ.
    TypeError
        The positions are not integers.

    Examples
    --------
    >>> x = np.array([[30, 10, 20], [5, 6, 4]])
    >>> ct.numpy.take_along_axis(x, ct.numpy.argsort(x), axis=1)
    Array([[10, 20, 30],
           [ 4,  5,  6]], dtype=int64)
    """
    x, index = _core.array(arr), _core.array(indices)
    from_end = wrap_negative_indices is None or bool(wrap_negative_indices)
    if mode == "one_hot":  # what sums over the positions that equal the index give
        mode, fill_value = "fill", False if kind(x) == "bool" else 0
    if axis is None:
        if index.ndim != 1:
            raise ValueError(
                f"take_along_axis with axis=None needs indices of one axis; got shape {index.shape}\n"
                "  make one axis of them, indices.ravel(), or name the axis"
            )
        x, axis = flat(x), 0
    if x.ndim != index.ndim:
        raise ValueError(
            f"take_along_axis: the array has {x.ndim} axes, the indices {index.ndim}; they must be equal\n"
            "  add axes of one to the indices, or use take(x, indices, axis) for the same ones everywhere"
        )
    axis = normalize_axis(axis, x.ndim, "take_along_axis")
    positions, asked = _indices_in(index, x, axis, mode, from_end)
    if mode is None and asked is not None and _core.get_flag("index_checks"):
        check_index(x, axis, axis_size(x, axis), index, primitives.ne(positions, asked))
    others = [i for i in range(x.ndim) if i != axis]
    common = _core.broadcast_shapes([[x._bound_shape[i] for i in others], [index._bound_shape[i] for i in others]])
    order = [*others, axis]
    x = _core.broadcast_to(_transposed(x, order), [*common, x._bound_shape[axis]])

    def placed(p: Array) -> Array:
        return _core.broadcast_to(_transposed(p, order), [*common, index._bound_shape[axis]])

    positions = placed(positions)
    result = primitives.gather(x, positions, axis=x.ndim - 1, batch_dims=x.ndim - 1)
    if asked is not None and not _all_equal(positions, asked := placed(asked)):
        result = fill_outside(result, asked, 0, fill_value, positions)
    return _transposed(result, [order.index(i) for i in range(x.ndim)])


def _transposed(x: Array, order: list[int]) -> Array:
    return x if order == list(range(x.ndim)) else primitives.transpose(x, permutation=order)


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Array:
    """The element of one of several arrays at each place, which an array of numbers names.

    Parameters
    ----------
    a : array of int
        Which array; of a shape that broadcasts with those of the choices.
    choices : sequence of array
        n arrays, or an array whose first axis is theirs; broadcast and promoted to a common dtype.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    mode : str, default "raise"
        ``"raise"``: numbers must be from 0 to n - 1, and known when the program is captured; ``"clip"`` and
        ``"wrap"``: others are moved there.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Raises
    ------
    ValueError
        A number is out of range, or there is no such mode.
    ConcretizationError
        Mode "raise" with numbers that only a run of the program knows.

    Examples
    --------
    >>> ct.numpy.choose([1, 0], [[1.0, 2.0], [3.0, 4.0]])
    Array([3., 2.], dtype=float32)
    """
    no_out(out, "choose")
    choices = as_list("choose", "choices", choices, "pass the arrays to choose from: choose(a, [x, y])")
    if mode == "raise":
        if not is_host_value(a):
            raise ConcretizationError(
                "choose: mode 'raise' needs indices that are known when the program is captured\n  use mode='clip' or 'wrap'"
            )
        if bool(np.any((np.asarray(a) < 0) | (np.asarray(a) >= len(choices)))):
            raise ValueError(
                f"invalid entry in choice array: choose has {len(choices)} choices, and an index is not from 0 to {len(choices) - 1}\n"
                "  mode='clip' takes the nearest choice, mode='wrap' counts on from the first"
            )
        mode = "clip"
    if mode not in ("clip", "wrap"):
        raise not_among("choose", "mode", mode, ("raise", "clip", "wrap"))
    stacked = [_core.array(c) for c in choices]
    shape = _core.broadcast_shapes([c._bound_shape for c in stacked] + [_core.array(a)._bound_shape])
    parts = _core.promote([_core.broadcast_to(c, shape) for c in stacked])
    table = primitives.concatenate(*[insert_axes(part, [len(shape)]) for part in parts], axis=len(shape))
    index = signed(_core.broadcast_to(a, shape))
    # A look-up counts negative numbers from the end.
    index = clip(index, 0, len(choices) - 1) if mode == "clip" else remainder(index, len(choices))
    picked = take_along_axis(table, insert_axes(index, [len(shape)]), -1, "clip")
    return primitives.reshape(picked, shape=list(shape))


check_arguments(globals())
