"""Order: sorting, the order that would sort, searching in what is sorted.

NaN is the largest of numbers; complex numbers are ordered by their real, then their imaginary part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._base.messages import shapes_of
from cotangent._base.words import check_word, not_among
from cotangent._core import Array
from cotangent._ops.binding import constant, is_inexact, kind, literal
from cotangent._ops.reshaping import flattened
from cotangent._ops.sizes import (
    arrays_of,
    axis_size,
    index_dtype,
    normalize_axis,
    position_dtype,
    ragged_length,
    static_int,
)
from cotangent._transforms.lengths import require
from cotangent.errors import DTypeError

__all__ = ["argpartition", "argsort", "lexsort", "partition", "searchsorted", "sort", "sort_complex"]


def sort_together(operands: list[Array], axis: int, num_keys: int = 1) -> list[Array]:
    """Arrays of one shape, their lines along an axis brought in the ascending order of the first ``num_keys``; stable."""
    return primitives.sort(*operands, axis=axis, num_keys=num_keys)


def positions_along(x: Array, axis: int) -> Array:
    """The position along an axis of every element."""
    result = primitives.iota(shape=list(x._bound_shape), dtype=index_dtype(x._bound_shape[axis]), axis=axis)
    for ragged in _core.ragged_axes(x):
        result = set_length(result, ragged_length(x, ragged), ragged)
    return result


# What NumPy calls its algorithms: what any of them promises holds of the one that there is.
_KINDS = ("quicksort", "heapsort", "mergesort", "stable")


def _check_options(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        check_word(name, "kind", kind, _KINDS)
    if order is not None:
        raise ValueError(
            f"{name}: order is not supported\n  leave it out: it names fields, which elements of these arrays have not"
        )


def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: str | None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """The elements of an array in order along an axis.

    NaN comes last; complex numbers are ordered by their real, then by their imaginary part. The derivative follows
    the elements.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int or None, default -1
        The axis, negative counting from the end. None: that of the flattened array.
    kind : str, optional
        "quicksort", "heapsort", "mergesort" or "stable", without effect: there is one algorithm, which is stable.
    order : None
        Must be None: there are no fields.
    stable : bool, default True
        Without effect: equal elements always keep their order.
    descending : bool, default False
        Whether the largest comes first, and NaN before all.

    Returns
    -------
    array
        Of the dtype and the shape of ``a``; one axis where ``axis`` is None.

    Examples
    --------
    >>> ct.numpy.sort([3.0, 1.0, 2.0])
    Array([1., 2., 3.], dtype=float32)

    >>> ct.grad(lambda x: ct.numpy.sort(x)[0])(np.float32([3, 1, 2]))
    Array([0., 1., 0.], dtype=float32)
    """
    del stable
    _check_options("sort", kind, order)
    x, position = flattened(_core.array(a), axis, "sort")
    result = sort_together([x], position)[0]
    return primitives.reverse(result, axes=[position]) if descending else result


def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: str | None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Array:
    """The positions of the elements of an array in order along an axis; equal ones as they are.

    NaN comes last; complex numbers are ordered by their real, then by their imaginary part.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int or None, default -1
        The axis, negative counting from the end. None: that of the flattened array.
    kind : str, optional
        "quicksort", "heapsort", "mergesort" or "stable", without effect: there is one algorithm, which is stable.
    order : None
        Must be None: there are no fields.
    stable : bool, default True
        Without effect: equal elements always keep their order.
    descending : bool, default False
        Whether the largest comes first; equal elements still keep their order.
    dtype : dtype, optional
        Of the result. None: the default integer dtype.

    Returns
    -------
    array of int
        Of the shape of ``a``; one axis where ``axis`` is None.

    Examples
    --------
    >>> ct.numpy.argsort([3.0, 1.0, 2.0])
    Array([1, 2, 0], dtype=int32)
    """
    del stable
    _check_options("argsort", kind, order)
    x, position = flattened(_core.array(a), axis, "argsort")
    index = positions_along(x, position)
    if descending:
        # Backwards twice, so that equal elements are in their order again.
        x, index = (primitives.reverse(item, axes=[position]) for item in (x, index))
    result = sort_together([x, index], position)[1]
    result = primitives.reverse(result, axes=[position]) if descending else result
    return _core.convert(result, position_dtype(x._bound_shape[position]) if dtype is None else dtype)


def lexsort(keys: Any, axis: int = -1) -> Array:
    """The positions that sort by several keys: by the last one; where it is equal, by the one before it; and so on.

    Parameters
    ----------
    keys : sequence of array
        The keys, of one shape; or an array with one in each row.
    axis : int, default -1
        Along which axis.

    Returns
    -------
    array of int
        Of the shape of a key.

    Raises
    ------
    TypeError
        There are no keys.
    ValueError
        Their shapes differ.

    Examples
    --------
    >>> ct.numpy.lexsort((np.array([2, 1, 0]), np.array([1, 0, 1])))
    Array([1, 2, 0], dtype=int32)
    """
    arrays = [_core.array(key) for key in arrays_of(keys, "lexsort")]
    if not arrays:
        raise TypeError("lexsort needs at least one key\n  give a list of one key or more; the last one comes first")
    _core.check_sizes(arrays)
    shape = arrays[0]._bound_shape
    if any(key._bound_shape != shape for key in arrays):
        raise ValueError(
            f"lexsort: keys must have one shape; got {shapes_of(arrays)}\n"
            "  broadcast them: lexsort(ct.numpy.broadcast_arrays(*keys))"
        )
    if not shape:
        return _core.full((), 0, _core.default_int_dtype())
    position = normalize_axis(axis, len(shape), "lexsort")
    index = positions_along(arrays[0], position)
    result = sort_together([*reversed(arrays), index], position, len(arrays))[-1]
    return _core.convert(result, position_dtype(shape[position]))


def _check_kth(x: Array, kth: Any, axis: int, name: str) -> None:
    size = x._bound_shape[axis]
    number = static_int(kth, f"{name}: kth")
    if not -size <= number < size:
        raise ValueError(
            f"{name}: kth={number} is out of bounds for axis {axis} with size {size}\n"
            f"  give a position from {-size} to {size - 1}"
        )
    length = axis_size(x, axis)
    if isinstance(length, Array):
        needed = -number if number < 0 else number + 1
        what = f"{name}: kth={number} is out of bounds for axis {axis}"
        require([length], lambda n: n >= needed, what)


def partition(a: Any, kth: int, axis: int | None = -1) -> Array:
    """The elements along an axis with one in the place that it has in order: none larger before it, none smaller behind it.

    All elements are in order: the result is that of `sort`.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    kth : int
        The position that is asked for; negative: from the end.
    axis : int or None, default -1
        The axis, negative counting from the end. None: that of the flattened array.

    Returns
    -------
    array
        Of the dtype and the shape of ``a``; one axis where ``axis`` is None.

    Raises
    ------
    ValueError
        There is no such position.

    Examples
    --------
    >>> ct.numpy.partition([3, 1, 2], 1)[1]
    Array(2, dtype=int32)
    """
    x, position = flattened(_core.array(a), axis, "partition")
    _check_kth(x, kth, position, "partition")
    return sort(x, position)


def argpartition(a: Any, kth: int, axis: int | None = -1) -> Array:
    """The positions of the elements in the order of `partition`.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    kth : int
        The position that is asked for; negative: from the end.
    axis : int or None, default -1
        The axis, negative counting from the end. None: that of the flattened array.

    Returns
    -------
    array of int
        Of the shape of ``a``; one axis where ``axis`` is None.

    Raises
    ------
    ValueError
        There is no such position.

    Examples
    --------
    >>> ct.numpy.argpartition([3, 1, 2], 1)[1]
    Array(2, dtype=int32)
    """
    x, position = flattened(_core.array(a), axis, "argpartition")
    _check_kth(x, kth, position, "argpartition")
    return argsort(x, position)


def sort_complex(a: Any) -> Array:
    """The elements of an array in order along the last axis, as complex numbers.

    Parameters
    ----------
    a : array
        Numbers of any dtype, ordered by their real, then by their imaginary part.

    Returns
    -------
    array
        Complex, of the shape of ``a``.

    Examples
    --------
    >>> ct.numpy.sort_complex([2 + 1j, 1.0, 2 - 1j])
    Array([1.+0.j, 2.-1.j, 2.+1.j], dtype=complex64)
    """
    x = sort(a)
    if kind(x) == "complex":
        return x
    wide = x.dtype == np.dtype("float64") or (not is_inexact(x) and x.dtype.itemsize > 2)
    return _core.convert(x, "complex128" if (wide and _core.get_enable_x64()) or x.dtype == np.float64 else "complex64")


# ---- Searching -------------------------------------------------------------------------------------------------------


def _below(x: Array, y: Array) -> Array:
    """Whether elements of x come before those of y in the order of `sort`."""
    if kind(x) == "complex":
        x_real, y_real = primitives.real(x), primitives.real(y)
        equal = ~_below(x_real, y_real) & ~_below(y_real, x_real)
        return _below(x_real, y_real) | (equal & _below(primitives.imag(x), primitives.imag(y)))
    before = primitives.lt(x, y)
    return before | ((x == x) & (y != y)) if is_inexact(x) else before


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan") -> Array:
    """The positions at which values have to be inserted into a sorted array, so that it stays sorted.

    Parameters
    ----------
    a : array, shape (n,)
        Numbers in increasing order, NaN last.
    v : array
        The values.
    side : str, default "left"
        For values that are there: ``"left"``, before them; ``"right"``, behind them.
    sorter : array of int, optional
        The positions that sort ``a``.
    method : str, default "scan"
        Accepted as in JAX, and without effect: the algorithm is a binary search.

    Returns
    -------
    array of int
        From 0 to n, of the shape of ``v``.

    Raises
    ------
    ValueError
        There is no such side or method, or ``a`` does not have one axis.

    Examples
    --------
    >>> ct.numpy.searchsorted([1, 3, 5], [3, 4])
    Array([1, 2], dtype=int32)
    """
    if side not in ("left", "right"):
        raise not_among("searchsorted", "side", side, ("left", "right"))
    if method not in ("scan", "scan_unrolled", "sort", "compare_all"):
        raise not_among("searchsorted", "method", method, ("scan", "scan_unrolled", "sort", "compare_all"))
    x, values = _core.array(a), _core.array(v)
    if x.ndim != 1:
        raise ValueError(
            f"searchsorted: the sorted array must have one axis; got shape {x.shape}\n"
            "  search each row with its own values: ct.vmap(ct.numpy.searchsorted)(a, v)"
        )
    if sorter is not None:
        x = primitives.gather(x, _core.array(sorter), axis=0, batch_dims=0)
    dtype = _core.promote_types([(x.dtype, x.weak_type), (values.dtype, values.weak_type)])[0]
    x, values = _core.convert(x, dtype), _core.convert(values, dtype)
    size = axis_size(x, 0)
    length = x._bound_shape[0]
    low = constant(values, 0, index_dtype(length))
    while length > 0:
        # The answer is in [low, low + length]: one length for all, so that no probe has to be kept inside of the array.
        half = (length + 1) // 2
        middle = low + literal(low, half - 1)
        probe = primitives.gather(x, middle, axis=0, batch_dims=0)
        later = _below(probe, values) if side == "left" else ~_below(values, probe)
        if isinstance(size, Array):
            later = later & (middle < size)
        low = primitives.select(later, low + literal(low, half), low)
        length -= half
    return _core.convert(low, position_dtype(x._bound_shape[0]))


def check_real(x: Array, name: str) -> None:
    """Raises for complex arrays.

    Raises:
        DTypeError: they are.
    """
    if kind(x) == "complex":
        raise DTypeError(
            f"{name} takes real arrays; complex numbers have no order\n  order them by a real number: abs(x), or x.real"
        )


check_arguments(globals())
