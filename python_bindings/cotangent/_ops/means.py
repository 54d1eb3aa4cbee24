"""Means, variances and standard deviations along axes.

Means over a ragged axis divide by its length, not by its bound.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import as_ragged_as
from cotangent._core import Array, entrance
from cotangent._ops.binding import (
    choose,
    convert,
    inexact,
    kind,
    literal,
    no_out,
    real_dtype,
    working_dtype,
)
from cotangent._ops.reductions import Axis, _chosen, sum
from cotangent._ops.sizes import (
    as_dtype,
    element_count,
    normalize_axes,
    normalize_axis,
    several,
)

__all__ = ["average", "mean", "std", "var"]


def _count(x: Array, axes: list[int], where: Any, dtype: Any, keepdims: bool) -> Array:
    """How many elements take part, as ``dtype``; with ``where``, for each result."""
    if where is None:
        return as_dtype(element_count(x, axes), dtype)
    chosen = _core.broadcast_to(_chosen(where), x._bound_shape)
    chosen = primitives.select(chosen, literal(_core.convert(x, dtype), 1), literal(_core.convert(x, dtype), 0))
    # Padding of x is not counted, also where `where` has one element for all of a ragged axis.
    return sum(as_ragged_as(chosen, x), tuple(axes), keepdims=keepdims)


def _mean_dtype(x: Array, dtype: Any) -> Any:
    if dtype is not None:
        return _core.canonical_dtype(dtype)
    return _core.inexact_dtype(x.dtype)


@entrance("mean", primitives.reduce_sum)
def mean(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Array:
    """The mean of elements along axes; of none, NaN.

    Over a ragged axis, inside of ``ct.mask``, it divides by the length of each row. float16 and bfloat16 are summed
    in float32.

    Parameters
    ----------
    a : array
        Numbers or bools.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    dtype : dtype, optional
        Of the result. None: that of ``a``; of integers and bools the default floating dtype.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    where : array of bool, optional
        Which elements take part; broadcast with ``a``.

    Returns
    -------
    array
        Without the reduced axes.

    Examples
    --------
    >>> ct.numpy.mean([[1, 2], [4, 6]], axis=1)
    Array([1.5, 5. ], dtype=float32)

    >>> rows = ct.ragged([np.float32([1, 2]), np.float32([5])])
    >>> ct.vmap(ct.mask(ct.numpy.mean))(rows)
    Array([1.5, 5. ], dtype=float32)
    """
    no_out(out, "mean")
    x = _core.array(a)
    result_dtype = _mean_dtype(x, dtype)
    x = _core.convert(x, working_dtype(result_dtype))
    axes = normalize_axes(axis, x.ndim, "mean")
    total = sum(x, tuple(axes), keepdims=keepdims, where=where)
    return convert(total / _count(x, axes, where, x.dtype, keepdims), result_dtype)


_mean = mean


def average(a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    """The weighted mean of elements along axes.

    Parameters
    ----------
    a : array
        Numbers.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    weights : array, optional
        Of the shape of ``a``; or those of the axes ``axis``, in that order. None: all are 1.
    returned : bool, default False
        Whether the sum of the weights is returned, too.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.

    Returns
    -------
    array, or tuple of two arrays
        The mean; with ``returned`` also the sum of the weights, of the same shape.

    Raises
    ------
    ValueError
        The weights fit neither the array nor the axes.

    Examples
    --------
    >>> ct.numpy.average([1.0, 2.0, 4.0], weights=[1.0, 1.0, 2.0])
    Array(2.75, dtype=float32)
    """
    x = inexact(a)
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        total = _core.broadcast_to(
            as_dtype(element_count(x, normalize_axes(axis, x.ndim, "average")), result.dtype), result._bound_shape
        )
        return (result, total) if returned else result
    w = _core.array(weights)
    if several(axis) and w.ndim == len(axis) and w._bound_shape != x._bound_shape:
        places = [normalize_axis(item, x.ndim, "average") for item in axis]
        if [x._bound_shape[i] for i in places] != list(w._bound_shape):
            raise ValueError(
                f"average: weights of shape {w.shape} need the sizes of axes {tuple(axis)} of {x.shape}\n"
                f"  give weights of shape {tuple(x._bound_shape[i] for i in places)}, as their axes are named"
            )
        order = [places.index(i) for i in np.sort(places).tolist()]
        w = primitives.transpose(w, permutation=order)
        w = primitives.broadcast(w, shape=list(x._bound_shape), axes=np.sort(places).tolist())
    if w._bound_shape != x._bound_shape:
        if w.ndim != 1 or not isinstance(axis, (int, np.integer)):
            raise ValueError(
                f"average: weights of shape {w.shape} need the shape of the array, {x.shape}, "
                "or one axis and an int axis\n"
                "  give one weight for each element along an axis, and that axis: average(x, axis=0, weights=w)"
            )
        position = normalize_axis(axis, x.ndim, "average")
        if w._bound_shape[0] != x._bound_shape[position]:
            raise ValueError(
                f"average: {w._bound_shape[0]} weights for {x._bound_shape[position]} elements along axis {axis}\n"
                f"  give {x._bound_shape[position]} weights"
            )
        w = primitives.broadcast(w, shape=list(x._bound_shape), axes=[position])
    x, w = _core.promote([x, w], inexact=True)
    dtype = x.dtype
    x, w = (_core.convert(item, working_dtype(dtype)) for item in (x, w))
    total = sum(w, axis, keepdims=keepdims)
    result = convert(sum(x * w, axis, keepdims=keepdims) / total, dtype)
    return (result, convert(total, dtype)) if returned else result


def var(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Array:
    """The variance of elements along axes: the mean of the squared distances from their mean.

    float16 and bfloat16 are summed in float32; of complex numbers the squares are those of absolute values.

    Parameters
    ----------
    a : array
        Numbers.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    dtype : dtype, optional
        Of the result. None: that of ``a``; of integers and bools the default floating dtype.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    ddof : float, default 0
        What is subtracted from the number of elements before dividing by it.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    where : array of bool, optional
        Which elements take part; broadcast with ``a``.
    mean : array, optional
        The mean, with reduced axes of size 1, where it is known already.
    correction : float, optional
        The array API standard's name of ``ddof``.

    Returns
    -------
    array
        Real, without the reduced axes; NaN where the number of elements is not above ``ddof``.

    Raises
    ------
    ValueError
        The dtype is real and the numbers are complex; or both ``ddof`` and ``correction`` are given.

    Examples
    --------
    >>> ct.numpy.var([[1.0, 3.0], [2.0, 6.0]], axis=1)
    Array([1., 4.], dtype=float32)

    >>> ct.numpy.var([1.0, 2.0, 6.0], ddof=1)
    Array(7., dtype=float32)
    """
    no_out(out, "var")
    return _variance("var", a, axis, dtype, ddof, keepdims, where, mean, correction)


def _variance(
    name: str,
    a: Any,
    axis: Axis,
    dtype: Any,
    ddof: float,
    keepdims: bool,
    where: Any,
    mean: Any,
    correction: float | None,
) -> Array:
    if correction is not None and ddof:
        raise ValueError(
            f"{name}: ddof and correction are two names of one argument; got {ddof} and {correction}\n"
            "  give one of them"
        )
    x = _core.array(a)
    if dtype is not None and kind(x) == "complex" and _core.dtype_kind(_core.canonical_dtype(dtype)) != "complex":
        raise ValueError(
            f"{name}: complex numbers need a complex dtype; got {_core.canonical_dtype(dtype)}\n"
            "  leave dtype out, or name a complex one: dtype='complex64'"
        )
    result_dtype = real_dtype(_mean_dtype(x, None)) if dtype is None else _core.canonical_dtype(dtype)
    x = _core.convert(x, working_dtype(_core.inexact_dtype(_mean_dtype(x, dtype))))
    axes = normalize_axes(axis, x.ndim, name)
    center = _mean(x, tuple(axes), keepdims=True, where=where) if mean is None else _core.convert(mean, x.dtype)
    deviation = primitives.sub(x, _core.broadcast_to(center, x._bound_shape))
    if kind(deviation) == "complex":
        re, im = primitives.real(deviation), primitives.imag(deviation)
        squared = re * re + im * im
    else:
        squared = deviation * deviation
    total = sum(squared, tuple(axes), keepdims=keepdims, where=where)
    count = _count(squared, axes, where, squared.dtype, keepdims)
    divisor = count - (ddof if correction is None else correction)
    if _core.is_traced(divisor) and _core.ragged_axes(total):
        # Where there are no results, no NaN is made for them.
        divisor = as_ragged_as(_core.broadcast_to(divisor, total._bound_shape), total)
    divisor = choose(divisor > 0, divisor, math.nan)
    return convert(total / divisor, result_dtype)


def _deviation_dtypes(a: Any, dtype: Any) -> tuple[Any, Any]:
    """The dtype of the variance whose root is taken, where it is not ``dtype``, and that of the root: None as it is.

    The squares of numbers of a narrow dtype are below its least one sooner than they.
    """
    x = _core.array(a)
    result = _mean_dtype(x, dtype)
    wide = working_dtype(_core.inexact_dtype(result))
    return (dtype, None) if kind(x) == "complex" or wide == result else (wide, result)


def _narrowed(x: Array, dtype: Any) -> Array:
    return x if dtype is None else convert(x, dtype)


def std(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Array:
    """The standard deviation of elements along axes: the square root of `var`.

    Where all elements are equal, its derivative is 0.

    Parameters
    ----------
    a : array
        Numbers.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    dtype : dtype, optional
        Of the result. None: that of ``a``; of integers and bools the default floating dtype.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    ddof : float, default 0
        What is subtracted from the number of elements before dividing by it.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    where : array of bool, optional
        Which elements take part; broadcast with ``a``.
    mean : array, optional
        The mean, with reduced axes of size 1, where it is known already.
    correction : float, optional
        The array API standard's name of ``ddof``.

    Returns
    -------
    array
        Real, without the reduced axes; NaN where the number of elements is not above ``ddof``.

    Raises
    ------
    ValueError
        The dtype is real and the numbers are complex; or both ``ddof`` and ``correction`` are given.

    Examples
    --------
    >>> ct.numpy.std([[1.0, 3.0], [2.0, 6.0]], axis=1)
    Array([1., 2.], dtype=float32)

    >>> ct.grad(ct.numpy.std)(np.float32([1, 1]))
    Array([0., 0.], dtype=float32)
    """
    no_out(out, "std")
    wide, narrow = _deviation_dtypes(a, dtype)
    variance = _variance("std", a, axis, wide, ddof, keepdims, where, mean, correction)
    return _narrowed(primitives.sqrt(variance), narrow)


check_arguments(globals())
