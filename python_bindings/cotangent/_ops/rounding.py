"""Numbers made to fit: rounded, limited to an interval, finite."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.calls import warn_of_unused
from cotangent._core import Array, Primitive
from cotangent._ops.arithmetic import maximum, minimum
from cotangent._ops.binding import apart, choose, constant, inexact, is_inexact, kind, literal, no_out, own, real_only
from cotangent._ops.broadcasting import broadcast_arrays
from cotangent._ops.complex_parts import imag, real
from cotangent._ops.division import floor_divide, remainder
from cotangent._ops.dtypes import finfo
from cotangent.errors import DTypeError

__all__ = ["around", "ceil", "clip", "fix", "floor", "nan_to_num", "rint", "round", "trunc"]


def _rounding(primitive: Primitive, x: Any) -> Array:
    array = _core.array(x)
    return primitive(array) if is_inexact(array) else array


@own
def floor(x: Any, /) -> Array:
    """The largest whole number that is not above each element; integers stay as they are.

    The derivative is 0.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.floor([1.7, -1.2])
    Array([ 1., -2.], dtype=float32)
    """
    return _rounding(primitives.floor, x)


@own
def ceil(x: Any, /) -> Array:
    """The smallest whole number that is not below each element; integers stay as they are.

    The derivative is 0.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.ceil([1.2, -1.7])
    Array([ 2., -1.], dtype=float32)
    """
    return _rounding(primitives.ceil, x)


@own
def trunc(x: Any) -> Array:
    """The whole number next to each element in the direction of zero; integers stay as they are.

    The derivative is 0.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.trunc([1.7, -1.7])
    Array([ 1., -1.], dtype=float32)
    """
    array = _core.array(x)
    if not is_inexact(array):
        return array
    array = real_only(array, "trunc")
    return primitives.select(primitives.lt(array, literal(array, 0.0)), primitives.ceil(array), primitives.floor(array))


@own
def fix(x: Any) -> Array:
    """The whole number next to each element in the direction of zero: `trunc`.

    The derivative is 0.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.fix([1.7, -1.7])
    Array([ 1., -1.], dtype=float32)
    """
    return trunc(x)


def rint(x: Any, /) -> Array:
    """The nearest whole number, halves to the even one, in a floating dtype for integers, too.

    The derivative is 0.

    Parameters
    ----------
    x : array
        Real or complex. Integers and bools are converted to the default floating dtype.

    Returns
    -------
    array
        Floating or complex, of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.rint([0.5, 1.5, 2.6])
    Array([0., 2., 3.], dtype=float32)
    """
    return round(inexact(x))


def _round_integer(x: Array, unit: int) -> Array:
    """To multiples of a unit, halves to the even one."""
    limits = np.iinfo(x.dtype)
    if unit > limits.max:
        return constant(x, 0)
    rest = remainder(x, unit)
    down = x - rest
    quotient, half = floor_divide(x, unit), unit // 2
    odd = primitives.ne(remainder(quotient, 2), literal(x, 0))
    up = (rest > half) | ((rest == half) & odd)
    return primitives.select(up, down + literal(x, unit), down)


@own
def round(a: Any, decimals: int = 0, out: None = None) -> Array:  # noqa: A001
    """The nearest number with so many decimals, halves to the even one; integers stay as they are.

    The parts of complex numbers are rounded for themselves. The derivative is 0.

    Parameters
    ----------
    a : array
        Numbers of any dtype.
    decimals : int, default 0
        How many digits after the point are kept; negative: how many before it become zero.
    out : None
        Must be None: write ``out[...] = `` what is returned.

    Returns
    -------
    array
        Of the dtype and the shape of ``a``.

    Examples
    --------
    >>> ct.numpy.round([1.25, 2.375], 1)
    Array([1.2, 2.4], dtype=float32)

    >>> ct.numpy.round([1250, 1350], -2)
    Array([1200, 1400], dtype=int32)
    """
    no_out(out, "round")
    array = _core.array(a)
    if not is_inexact(array):
        return array if decimals >= 0 else _round_integer(array, 10**-decimals)
    if kind(array) == "complex":
        return primitives.complex(round(real(array), decimals), round(imag(array), decimals))
    if decimals == 0:
        return primitives.round(array)
    wide = _core.convert(array, "float32") if array.dtype.itemsize == 2 else array
    places = decimals if decimals > 0 else -decimals
    if places > (38 if wide.dtype.itemsize == 4 else 308):
        return array if decimals > 0 else array * literal(array, 0.0)
    factor = literal(wide, 10.0**places)
    if decimals < 0:
        return _core.convert(primitives.round(wide / factor) * factor, array.dtype)
    scaled = wide * factor
    # What is too large to scale has no decimals.
    finite = primitives.select(primitives.is_finite(scaled), primitives.round(scaled) / factor, wide)
    return _core.convert(finite, array.dtype)


around = round


@own
def clip(
    arr: Any = None,
    /,
    min: Any = None,  # noqa: A002
    max: Any = None,  # noqa: A002
    *,
    a: Any = None,
    a_min: Any = None,
    a_max: Any = None,
) -> Array:
    """The elements limited to an interval.

    Where a bound is an array, too, all are promoted and broadcast; where ``min`` is above ``max``, the result is
    ``max``. A Python int beyond the range of an integer dtype is no limit. The derivative is 1 inside, 0 outside and
    1/2 on a bound.

    Parameters
    ----------
    arr : array
        Real numbers.
    min, max : array or None, default None
        The bounds; None is none.
    a, a_min, a_max : array
        NumPy's names of the same arguments.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Raises
    ------
    DTypeError
        Numbers or bounds are complex.

    Examples
    --------
    >>> ct.numpy.clip([-1.0, 0.5, 2.0], 0.0, 1.0)
    Array([0. , 0.5, 1. ], dtype=float32)

    >>> ct.vmap(ct.grad(lambda x: ct.numpy.clip(x, 0.0, 1.0)))(np.float32([-1, 0, 0.5]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    arr = a if arr is None else arr
    min, max = a_min if min is None else min, a_max if max is None else max  # noqa: A001
    if arr is None:
        raise TypeError("clip: an array is required\n  give it first: clip(x, 0, 1)")
    result = _core.array(arr)
    bounds = [item for item in (min, max) if item is not None and type(item) is not int]
    if builtins.any(kind(_core.array(item)) == "complex" for item in (result, *bounds)):
        raise DTypeError(
            f"clip takes real arrays; got {result.dtype}\n  clip the parts: clip(x.real, 0, 1) + 1j * clip(x.imag, 0, 1)"
        )
    if min is not None:
        result = maximum(_within(min, result), result)
    if max is not None:
        result = minimum(_within(max, result), result)
    return result


def _within(bound: Any, x: Array) -> Any:
    """A bound of integers, a Python int beyond their dtype as the end of it: it would wrap to a number inside."""
    if kind(x) not in ("signed", "unsigned") or type(bound) is not int:
        return bound
    limits = np.iinfo(x.dtype)
    return builtins.min(builtins.max(bound, int(limits.min)), int(limits.max))


@own
def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """NaN and infinities replaced by numbers; parts of complex numbers for themselves.

    Parameters
    ----------
    x : array
        Numbers of any dtype; integers have none of these.
    copy : bool, default True
        Whether the result is an array of its own, where it has the same elements. With False, too, ``x`` is not written
        into, as NumPy does: write ``x[...] = nan_to_num(x)`` for that.
    nan : number or array, default 0.0
        What replaces NaN.
    posinf, neginf : number or array, optional
        What replaces infinities. None: the largest and the lowest number of the dtype.

    Returns
    -------
    array
        Of the dtype, which is not weak, and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.nan_to_num([1.0, ct.numpy.nan, ct.numpy.inf], posinf=9.0)
    Array([1., 0., 9.], dtype=float32)
    """
    array = _core.array(x)
    if not copy and isinstance(x, Array):
        warn_of_unused(
            "nan_to_num(x, copy=False) returns an array, and x stays as it is\n  write x[...] = nan_to_num(x)"
        )
    if not is_inexact(array):
        return apart(array, x) if copy else array
    if array.weak_type:
        array = primitives.convert(array, dtype=array.dtype)
    if kind(array) == "complex":
        parts = [nan_to_num(part, nan=nan, posinf=posinf, neginf=neginf) for part in (real(array), imag(array))]
        return primitives.complex(*parts)
    limits = finfo(array.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    # What is replaced is asked of the array as it was: a replacement may be infinite.
    undefined, above, below = (
        primitives.ne(array, array),
        primitives.eq(array, literal(array, math.inf)),
        primitives.eq(array, literal(array, -math.inf)),
    )
    for condition, value in ((undefined, nan), (above, high), (below, low)):
        array = _replaced(condition, value, array)
    return array


def _replaced(condition: Array, value: Any, array: Array) -> Array:
    """The value where the condition holds: a number, or an array that is broadcast."""
    if isinstance(value, (int, float)):
        return choose(condition, value, array)
    values, condition, array = broadcast_arrays(
        primitives.convert(_core.array(value), dtype=array.dtype), condition, array
    )
    return primitives.select(condition, values, array)


check_arguments(globals())
