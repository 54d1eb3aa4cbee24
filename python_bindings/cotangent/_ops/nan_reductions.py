"""The folds along axes that leave NaN out."""

from __future__ import annotations

import math
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
from cotangent._ops.extreme_positions import argmax, argmin
from cotangent._ops.means import _deviation_dtypes, _narrowed, mean, var
from cotangent._ops.reductions import Axis, _chosen, _lowest, any, max, min, prod, sum
from cotangent._ops.running import cumprod, cumsum

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def _without_nan(a: Any, replacement: complex) -> tuple[Array, Array]:
    """The array with NaN replaced, and where it was not NaN."""
    x = _core.array(a)
    valid = primitives.eq(x, x)
    return (primitives.select(valid, x, literal(x, replacement)) if is_inexact(x) else x), valid


def nansum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """The sum of the elements along axes that are not NaN; of none, 0.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    dtype : dtype, optional
        Of the result, and of the summation. None: as for `sum`.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    initial : number, optional
        A number that takes part, too.
    where : array of bool, optional
        Which elements take part; broadcast with ``a``.

    Returns
    -------
    array
        Without the reduced axes.

    Examples
    --------
    >>> ct.numpy.nansum([[1.0, ct.numpy.nan], [3.0, 4.0]], axis=1)
    Array([1., 7.], dtype=float32)
    """
    return sum(_without_nan(a, 0)[0], axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """The product of the elements along axes that are not NaN; of none, 1.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    dtype : dtype, optional
        Of the result, and of the multiplication. None: as for `prod`.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    initial : number, optional
        A number that takes part, too.
    where : array of bool, optional
        Which elements take part; broadcast with ``a``.

    Returns
    -------
    array
        Without the reduced axes.

    Examples
    --------
    >>> ct.numpy.nanprod([[2.0, ct.numpy.nan], [3.0, 4.0]], axis=1)
    Array([ 2., 12.], dtype=float32)
    """
    return prod(_without_nan(a, 1)[0], axis, dtype, out, keepdims, initial, where)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Array:
    """The running sums along an axis, NaN counting as 0.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    dtype : dtype, optional
        Of the result. None: as for `cumsum`.
    out : None
        Must be None: write ``out[...] = `` what is returned.

    Returns
    -------
    array
        Of the shape of ``a``; one axis where ``axis`` is None.

    Examples
    --------
    >>> ct.numpy.nancumsum([1.0, ct.numpy.nan, 2.0])
    Array([1., 1., 3.], dtype=float32)
    """
    return cumsum(_without_nan(a, 0)[0], axis, dtype, out)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Array:
    """The running products along an axis, NaN counting as 1.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    dtype : dtype, optional
        Of the result. None: as for `cumprod`.
    out : None
        Must be None: write ``out[...] = `` what is returned.

    Returns
    -------
    array
        Of the shape of ``a``; one axis where ``axis`` is None.

    Examples
    --------
    >>> ct.numpy.nancumprod([3.0, ct.numpy.nan, 2.0])
    Array([3., 3., 6.], dtype=float32)
    """
    return cumprod(_without_nan(a, 1)[0], axis, dtype, out)


def _nan_extreme(name: str, function: Any, a: Any, axis: Axis, keepdims: bool, initial: Any, where: Any) -> Array:
    x = _core.array(a)
    if not is_inexact(x):
        return function(x, axis, None, keepdims, initial, where)  # type: ignore[no-any-return]
    filled, valid = _without_nan(x, _lowest(x, name))
    result: Array = function(filled, axis, None, keepdims, initial, where)
    if initial is not None:
        return result
    present = any(valid, axis, keepdims=keepdims)
    return primitives.select(present, result, literal(result, math.nan))


def nanmax(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Array:
    """The largest element along axes that is not NaN; NaN if all are.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    initial : number, optional
        A number that takes part, too; needed where there may be no elements, or with ``where``.
    where : array of bool, optional
        Which elements take part; broadcast with ``a``.

    Returns
    -------
    array
        Without the reduced axes.

    Examples
    --------
    >>> ct.numpy.nanmax([[1.0, ct.numpy.nan], [3.0, 4.0]], axis=1)
    Array([1., 4.], dtype=float32)
    """
    no_out(out, "nanmax")
    return _nan_extreme("max", max, a, axis, keepdims, initial, where)


def nanmin(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Array:
    """The smallest element along axes that is not NaN; NaN if all are.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    keepdims : bool, default False
        Whether reduced axes stay, with size 1.
    initial : number, optional
        A number that takes part, too; needed where there may be no elements, or with ``where``.
    where : array of bool, optional
        Which elements take part; broadcast with ``a``.

    Returns
    -------
    array
        Without the reduced axes.

    Examples
    --------
    >>> ct.numpy.nanmin([[1.0, ct.numpy.nan], [3.0, 4.0]], axis=1)
    Array([1., 3.], dtype=float32)
    """
    no_out(out, "nanmin")
    return _nan_extreme("min", min, a, axis, keepdims, initial, where)


def _valid(a: Any, where: Any) -> Any:
    valid = _without_nan(a, 0)[1]
    return valid if where is None else primitives.and_(*_core.promote([valid, _chosen(where)]))


def nanmean(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, where: Any = None
) -> Array:
    """The mean of the elements along axes that are not NaN; of none, NaN.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    dtype : dtype, optional
        Of the result. None: as for `mean`.
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
    >>> ct.numpy.nanmean([[1.0, ct.numpy.nan], [3.0, 4.0]], axis=1)
    Array([1. , 3.5], dtype=float32)
    """
    return mean(a, axis, dtype, out, keepdims, where=_valid(a, where))


def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Array:
    """The variance of the elements along axes that are not NaN; see `var`.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    dtype : dtype, optional
        Of the result. None: as for `var`.
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

    Examples
    --------
    >>> ct.numpy.nanvar([1.0, ct.numpy.nan, 3.0])
    Array(1., dtype=float32)
    """
    valid = _valid(a, where)
    return var(_without_nan(a, 0)[0], axis, dtype, out, ddof, keepdims, where=valid, mean=mean, correction=correction)


def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Array:
    """The standard deviation of the elements along axes that are not NaN: the root of `nanvar`.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    axis : int, sequence of int or None, default None
        The axes that are reduced and removed; negative ones count from the end. None: all.
    dtype : dtype, optional
        Of the result. None: as for `std`.
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

    Examples
    --------
    >>> ct.numpy.nanstd([1.0, ct.numpy.nan, 5.0])
    Array(2., dtype=float32)
    """
    wide, narrow = _deviation_dtypes(a, dtype)
    return _narrowed(primitives.sqrt(nanvar(a, axis, wide, out, ddof, keepdims, where, mean, correction)), narrow)


def _nan_position(name: str, function: Any, a: Any, axis: int | None, keepdims: bool) -> Array:
    x = _core.array(a)
    if not is_inexact(x):
        return function(x, axis, None, keepdims)  # type: ignore[no-any-return]
    filled, valid = _without_nan(x, _lowest(x, name))
    result: Array = function(filled, axis, None, keepdims)
    present = any(valid, axis, keepdims=keepdims)
    return primitives.select(present, result, literal(result, -1))


def nanargmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the first largest element that is not NaN, along an axis or in the flattened array.

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
        Of the default integer dtype; -1 where all are NaN, for which NumPy raises.

    Examples
    --------
    >>> ct.numpy.nanargmax([1.0, ct.numpy.nan, 3.0])
    Array(2, dtype=int32)
    """
    no_out(out, "nanargmax")
    return _nan_position("max", argmax, a, axis, bool(keepdims))


def nanargmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the first smallest element that is not NaN, along an axis or in the flattened array.

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
        Of the default integer dtype; -1 where all are NaN, for which NumPy raises.

    Examples
    --------
    >>> ct.numpy.nanargmin([ct.numpy.nan, 5.0, 3.0])
    Array(2, dtype=int32)
    """
    no_out(out, "nanargmin")
    return _nan_position("min", argmin, a, axis, bool(keepdims))


check_arguments(globals())
