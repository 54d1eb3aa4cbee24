"""Positions of extremes along an axis: argmax and argmin."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import (
    is_inexact,
    literal,
    no_out,
)
from cotangent._ops.choice import where
from cotangent._ops.reductions import largest
from cotangent._ops.reshaping import flat
from cotangent._ops.sizes import (
    keep_axes,
    normalize_axis,
    position_dtype,
)

__all__ = [
    "argmax",
    "argmin",
]


def extreme_position(name: str, extreme: str, a: Any, axis: int | None, keepdims: bool) -> Array:
    x = _core.array(a)
    original_rank = x.ndim
    if axis is None:
        x = flat(x)
        position = 0
    else:
        position = normalize_axis(axis, x.ndim, name)
    size = x._bound_shape[position]
    if size == 0:
        raise ValueError(
            f"{name} of zero elements{'' if axis is None else f' along axis {axis}'} has no value\n  test x.size first"
        )
    x = primitives.stop_gradient(x) if is_inexact(x) else x
    best = keep_axes(largest(extreme, x, [position]), x, [position])
    hit = primitives.eq(x, _core.broadcast_to(best, x._bound_shape))
    if is_inexact(x):
        hit = primitives.or_(hit, primitives.ne(x, x))
    dtype = position_dtype(size)
    index = primitives.iota(shape=list(x._bound_shape), dtype=dtype, axis=position)
    result = primitives.reduce_min(primitives.select(hit, index, literal(index, size)), axes=[position])
    if (length := _core.length_of(x, position)) is not None:
        # NumPy raises for no elements; how many there are only the data says. -1 is what `nanargmax` gives where there is no number.
        result = where(primitives.eq(length, literal(length, 0)), literal(result, -1), result)
    if keepdims:
        return (
            primitives.reshape(result, shape=[1] * original_rank) if axis is None else keep_axes(result, x, [position])
        )
    return result


def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the first largest element along an axis, or in the flattened array.

    The first NaN counts as the largest. Complex numbers are ordered by their real, then by their imaginary part.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, optional
        Whether the axis stays, with size 1.

    Returns
    -------
    array of int
        Of the default integer dtype; inside of a mask -1 where there are no elements, which only the data says.

    Raises
    ------
    ValueError
        There are no elements.

    Examples
    --------
    >>> ct.numpy.argmax([[1.0, 3.0], [5.0, 2.0]], axis=1)
    Array([1, 0], dtype=int32)
    """
    no_out(out, "argmax")
    return extreme_position("argmax", "max", a, axis, bool(keepdims))


def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the first smallest element along an axis, or in the flattened array.

    The first NaN counts as the smallest. Complex numbers are ordered by their real, then by their imaginary part.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, optional
        Whether the axis stays, with size 1.

    Returns
    -------
    array of int
        Of the default integer dtype; inside of a mask -1 where there are no elements, which only the data says.

    Raises
    ------
    ValueError
        There are no elements.

    Examples
    --------
    >>> ct.numpy.argmin([[1.0, 3.0], [5.0, 2.0]], axis=1)
    Array([0, 1], dtype=int32)
    """
    no_out(out, "argmin")
    return extreme_position("argmin", "min", a, axis, bool(keepdims))


check_arguments(globals())
