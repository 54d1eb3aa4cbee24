"""Whether arrays are equal: exactly, or up to a tolerance."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import inexact, is_inexact, is_integer
from cotangent._ops.comparisons import equal, less_equal

__all__ = ["allclose", "array_equal", "array_equiv", "isclose"]


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Array:
    """Whether two numbers are equal up to a tolerance, ``|a - b| <= atol + rtol * |b|``, element by element.

    Equal infinities are close. The tolerance is relative to ``b``.

    Parameters
    ----------
    a, b : array
        Numbers; promoted to a common dtype and broadcast. Integers are compared as floating numbers.
    rtol : array, default 1e-05
        The relative tolerance.
    atol : array, default 1e-08
        The absolute tolerance.
    equal_nan : bool, default False
        Whether NaN is close to NaN.

    Returns
    -------
    array of bool
        Of the broadcast shape.

    Examples
    --------
    >>> ct.numpy.isclose([1.0, 2.0], [1.000001, 2.1])
    Array([ True, False], dtype=bool)
    """
    a, b = _core.promote([a, b])
    if not is_inexact(a):
        if is_integer(a):
            a, b = inexact(a), inexact(b)
        else:
            return primitives.eq(a, b)
    gap = primitives.abs(primitives.sub(a, b))
    magnitude = primitives.abs(b)
    near = less_equal(gap, rtol * magnitude + atol)
    finite = primitives.and_(primitives.is_finite(a), primitives.is_finite(b))
    result = primitives.or_(primitives.and_(near, finite), primitives.eq(a, b))
    if equal_nan:
        result = primitives.or_(result, primitives.and_(primitives.ne(a, a), primitives.ne(b, b)))
    return result


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Array:
    """Whether all elements of two arrays are equal up to a tolerance; see `isclose`.

    Parameters
    ----------
    a, b : array
        Numbers; promoted to a common dtype and broadcast.
    rtol : array, default 1e-05
        The tolerance relative to ``b``.
    atol : array, default 1e-08
        The absolute tolerance.
    equal_nan : bool, default False
        Whether NaN is close to NaN.

    Returns
    -------
    array of bool
        A scalar.

    Examples
    --------
    >>> bool(ct.numpy.allclose([1.0, 2.0], [1.000001, 2.0]))
    True
    """
    close = isclose(a, b, rtol, atol, equal_nan)
    return primitives.reduce_min(close, axes=list(range(close.ndim)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Array:
    """Whether two arrays have the same shape and equal elements.

    Parameters
    ----------
    a1, a2 : array
        Numbers.
    equal_nan : bool, default False
        Whether NaN equals NaN.

    Returns
    -------
    array of bool
        A scalar.

    Examples
    --------
    >>> bool(ct.numpy.array_equal([1, 2], [1, 2])), bool(ct.numpy.array_equal([1, 2], [[1, 2]]))
    (True, False)
    """
    a, b = _core.array(a1), _core.array(a2)
    if a._bound_shape != b._bound_shape:
        return _core.full((), False, bool)
    a, b = _core.promote([a, b])
    same = primitives.eq(a, b)
    if equal_nan:
        same = primitives.or_(same, primitives.and_(primitives.ne(a, a), primitives.ne(b, b)))
    return primitives.reduce_min(same, axes=list(range(same.ndim)))


def array_equiv(a1: Any, a2: Any) -> Array:
    """Whether two arrays are equal after broadcasting; False where shapes do not fit.

    Parameters
    ----------
    a1, a2 : array
        Numbers.

    Returns
    -------
    array of bool
        A scalar.

    Examples
    --------
    >>> bool(ct.numpy.array_equiv([1, 2], [[1, 2], [1, 2]]))
    True
    """
    a, b = _core.array(a1), _core.array(a2)
    try:
        same = equal(a, b)
    except TypeError:
        return _core.full((), False, bool)
    return primitives.reduce_min(same, axes=list(range(same.ndim)))


check_arguments(globals())
