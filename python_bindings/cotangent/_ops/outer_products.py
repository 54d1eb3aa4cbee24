"""Products of each element with each: outer and kron."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._core import Array
from cotangent._ops.binding import literal, no_out
from cotangent._ops.extents import without_padding
from cotangent._ops.products import one_pair
from cotangent._ops.reshaping import flat, reshaped
from cotangent._ops.sizes import (
    as_dtype,
    axis_size,
    insert_axes,
    symbolic_sizes,
)

__all__ = ["kron", "outer"]


def outer(a: Any, b: Any, out: None = None) -> Array:
    """The products of all pairs of elements of two arrays.

    Parameters
    ----------
    a, b : array
        Numbers; flattened, and promoted to a common dtype.
    out : None
        Must be None: write ``out[...] = `` what is returned.

    Returns
    -------
    array, shape (a.size, b.size)
        The products.

    Examples
    --------
    >>> ct.numpy.outer([1, 2], [3, 4])
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    no_out(out, "outer")
    x, y = one_pair(a, b, None)
    x, y = flat(x), flat(y)
    return insert_axes(x, [1]) * insert_axes(y, [0])


def kron(a: Any, b: Any) -> Array:
    """The Kronecker product: every element of the first array times all of the second.

    Parameters
    ----------
    a, b : array
        Numbers; promoted to a common dtype. The one of fewer axes gets new ones in front.

    Returns
    -------
    array
        The size of each axis is the product of those of the operands.

    Examples
    --------
    >>> ct.numpy.kron([1, 10], [1, 2, 3])
    Array([ 1,  2,  3, 10, 20, 30], dtype=int32)
    """
    x, y = one_pair(a, b, None)
    rank = max(x.ndim, y.ndim)
    x = insert_axes(x, list(range(rank - x.ndim))) if x.ndim < rank else x
    y = insert_axes(y, list(range(rank - y.ndim))) if y.ndim < rank else y
    if _core.ragged_axes(y):
        return _ragged_kron(x, y)
    sizes = [m * n for m, n in zip(symbolic_sizes(x), symbolic_sizes(y), strict=True)]
    x = insert_axes(x, [2 * i + 1 for i in range(rank)]) if rank else x
    y = insert_axes(y, [2 * i for i in range(rank)]) if rank else y
    return reshaped(x * y, sizes)


def _ragged_kron(x: Array, y: Array) -> Array:
    """`kron` of arrays of one rank, of which the second is ragged: each element is found by its place."""
    lengths = {}
    for axis, (many, each) in enumerate(zip(x._bound_shape, y._bound_shape, strict=True)):
        outer, inner = (as_dtype(axis_size(item, axis), "int32") for item in (x, y))
        if axis in (*_core.ragged_axes(x), *_core.ragged_axes(y)):
            lengths[axis] = outer * inner
        place = primitives.iota(shape=[many * each], dtype=inner.dtype, axis=0)
        size = _core.broadcast_to(primitives.max(inner, literal(inner, 1)), place._bound_shape)
        block = primitives.min(primitives.div(place, size), literal(place, max(many - 1, 0)))
        x = primitives.gather(without_padding(x, [axis]), block, axis=axis, batch_dims=0)
        y = primitives.gather(without_padding(y, [axis]), primitives.rem(place, size), axis=axis, batch_dims=0)
    return give_lengths(x * y, lengths)


check_arguments(globals())
