"""Comparisons, logic and tests of elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, Primitive, entrance
from cotangent._ops.binding import constant, inexact, is_inexact, kind, literal, no_out, ordered
from cotangent._ops.sizes import type_of

__all__ = [
    "equal",
    "greater",
    "greater_equal",
    "iscomplex",
    "iscomplexobj",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "isrealobj",
    "isscalar",
    "less",
    "less_equal",
    "logical_not",
    "not_equal",
]


def _compare(primitive: Primitive, x: Any, y: Any) -> Array:
    operands = _core.promote([x, y])
    if primitive in (primitives.eq, primitives.ne):
        return primitive(*operands)
    return ordered(primitive, *operands)


@entrance("binary", primitives.eq)
def equal(x: Any, y: Any, /) -> Array:
    """Whether two numbers are equal, element by element; NaN equals nothing.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array of bool
        Of the broadcast shape.

    Examples
    --------
    >>> ct.numpy.equal([1, 2, 3], [1, 0, 3])
    Array([ True, False,  True], dtype=bool)
    """
    return _compare(primitives.eq, x, y)


@entrance("binary", primitives.ne)
def not_equal(x: Any, y: Any, /) -> Array:
    """Whether two numbers differ, element by element; NaN differs from everything.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array of bool
        Of the broadcast shape.

    Examples
    --------
    >>> ct.numpy.not_equal([1, 2, 3], [1, 0, 3])
    Array([False,  True, False], dtype=bool)
    """
    return _compare(primitives.ne, x, y)


@entrance("binary_ordered", primitives.lt)
def less(x: Any, y: Any, /) -> Array:
    """Whether the first of two numbers is smaller, element by element; with NaN, False.

    Complex numbers are ordered by their real, then by their imaginary part.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array of bool
        Of the broadcast shape.

    Examples
    --------
    >>> ct.numpy.less([1.0, 2.0], [2.0, 2.0])
    Array([ True, False], dtype=bool)
    """
    return _compare(primitives.lt, x, y)


@entrance("binary_ordered", primitives.le)
def less_equal(x: Any, y: Any, /) -> Array:
    """Whether the first of two numbers is smaller or equal, element by element; with NaN, False.

    Complex numbers are ordered by their real, then by their imaginary part.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array of bool
        Of the broadcast shape.

    Examples
    --------
    >>> ct.numpy.less_equal([1.0, 2.0, 3.0], 2.0)
    Array([ True,  True, False], dtype=bool)
    """
    return _compare(primitives.le, x, y)


@entrance("binary_ordered", primitives.gt)
def greater(x: Any, y: Any, /) -> Array:
    """Whether the first of two numbers is larger, element by element; with NaN, False.

    Complex numbers are ordered by their real, then by their imaginary part.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array of bool
        Of the broadcast shape.

    Examples
    --------
    >>> ct.numpy.greater([1.0, 3.0], [2.0, 2.0])
    Array([False,  True], dtype=bool)
    """
    return _compare(primitives.gt, x, y)


@entrance("binary_ordered", primitives.ge)
def greater_equal(x: Any, y: Any, /) -> Array:
    """Whether the first of two numbers is larger or equal, element by element; with NaN, False.

    Complex numbers are ordered by their real, then by their imaginary part.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array of bool
        Of the broadcast shape.

    Examples
    --------
    >>> ct.numpy.greater_equal([1.0, 2.0, 3.0], 2.0)
    Array([False,  True,  True], dtype=bool)
    """
    return _compare(primitives.ge, x, y)


def truth(x: Any) -> Array:
    """Whether elements are nonzero, as bools."""
    array = _core.array(x)
    return array if kind(array) == "bool" else primitives.ne(array, literal(array, 0))


def _logic(primitive: Primitive, x: Any, y: Any) -> Array:
    return primitive(*_core.promote([truth(x), truth(y)]))


def logical_and(x: Any, y: Any, /) -> Array:
    """Whether both numbers are nonzero, element by element.

    Parameters
    ----------
    x, y : array
        Numbers, of which those that are not zero are true (NaN is); broadcast.

    Returns
    -------
    array of bool
        Of the broadcast shape.

    Examples
    --------
    >>> ct.numpy.logical_and([1, 0, 2], [3, 4, 0])
    Array([ True, False, False], dtype=bool)
    """
    return _logic(primitives.and_, x, y)


def logical_or(x: Any, y: Any, /) -> Array:
    """Whether either of two numbers is nonzero, element by element.

    Parameters
    ----------
    x, y : array
        Numbers, of which those that are not zero are true (NaN is); broadcast.

    Returns
    -------
    array of bool
        Of the broadcast shape.

    Examples
    --------
    >>> ct.numpy.logical_or([1, 0, 0], [3, 4, 0])
    Array([ True,  True, False], dtype=bool)
    """
    return _logic(primitives.or_, x, y)


def logical_xor(x: Any, y: Any, /) -> Array:
    """Whether exactly one of two numbers is nonzero, element by element.

    Parameters
    ----------
    x, y : array
        Numbers, of which those that are not zero are true (NaN is); broadcast.

    Returns
    -------
    array of bool
        Of the broadcast shape.

    Examples
    --------
    >>> ct.numpy.logical_xor([1, 0, 0], [3, 4, 0])
    Array([False,  True, False], dtype=bool)
    """
    return _logic(primitives.xor, x, y)


def logical_not(x: Any, /) -> Array:
    """Whether each element is zero.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.logical_not([0, 2, -1])
    Array([ True, False, False], dtype=bool)
    """
    return primitives.not_(truth(x))


def isnan(x: Any, /) -> Array:
    """Whether each element is NaN; a complex number is where either part is.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.isnan([1.0, ct.numpy.nan, ct.numpy.inf])
    Array([False,  True, False], dtype=bool)
    """
    array = _core.array(x)
    return primitives.ne(array, array)


def isfinite(x: Any, /) -> Array:
    """Whether each element is neither infinite nor NaN.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.isfinite([1.0, ct.numpy.nan, ct.numpy.inf])
    Array([ True, False, False], dtype=bool)
    """
    array = _core.array(x)
    if not is_inexact(array):
        return primitives.eq(array, array)
    return primitives.is_finite(array)


def isinf(x: Any, /) -> Array:
    """Whether each element is positive or negative infinity; a complex number is where either part is.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.isinf([1.0, ct.numpy.nan, -ct.numpy.inf])
    Array([False, False,  True], dtype=bool)
    """
    array = inexact(x)
    if kind(array) == "complex":
        return primitives.or_(isinf(primitives.real(array)), isinf(primitives.imag(array)))
    return primitives.eq(primitives.abs(array), literal(array, math.inf))


def isposinf(x: Any, /, out: None = None) -> Array:
    """Whether each element is positive infinity.

    Parameters
    ----------
    x : array
        Real numbers.
    out : None
        Must be None: write ``out[...] = `` what is returned.

    Returns
    -------
    array of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.isposinf([1.0, ct.numpy.inf, -ct.numpy.inf])
    Array([False,  True, False], dtype=bool)
    """
    no_out(out, "isposinf")
    array = inexact(x)
    return primitives.eq(array, literal(array, math.inf))


def isneginf(x: Any, /, out: None = None) -> Array:
    """Whether each element is negative infinity.

    Parameters
    ----------
    x : array
        Real numbers.
    out : None
        Must be None: write ``out[...] = `` what is returned.

    Returns
    -------
    array of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.isneginf([1.0, ct.numpy.inf, -ct.numpy.inf])
    Array([False, False,  True], dtype=bool)
    """
    no_out(out, "isneginf")
    array = inexact(x)
    return primitives.eq(array, literal(array, -math.inf))


def isreal(x: Any) -> Array:
    """Whether the imaginary part of each element is zero.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.isreal([1 + 0j, 2j])
    Array([ True, False], dtype=bool)
    """
    return logical_not(iscomplex(x))


def iscomplex(x: Any) -> Array:
    """Whether the imaginary part of each element is not zero.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.iscomplex([1 + 0j, 2j])
    Array([False,  True], dtype=bool)
    """
    array = _core.array(x)
    if kind(array) != "complex":
        return constant(array, False, bool)
    return truth(primitives.imag(array))


def isrealobj(x: Any) -> bool:
    """Whether the dtype of an object is real, whatever its values.

    Parameters
    ----------
    x : array, number or dtype
        What is asked about.

    Returns
    -------
    bool

    Examples
    --------
    >>> ct.numpy.isrealobj(np.float32(1)), ct.numpy.isrealobj([1j])
    (True, False)
    """
    return not iscomplexobj(x)


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype of an object is complex, whatever its values.

    Parameters
    ----------
    x : array, number or dtype
        What is asked about; None has no dtype.

    Returns
    -------
    bool

    Examples
    --------
    >>> ct.numpy.iscomplexobj([1 + 0j]), ct.numpy.iscomplexobj(1.0)
    (True, False)
    """
    return x is not None and _core.dtype_kind(type_of(x)[1]) == "complex"


def isscalar(element: Any) -> bool:
    """Whether an object is a number, or an array without axes (which to NumPy is none).

    Parameters
    ----------
    element : object
        What is asked about.

    Returns
    -------
    bool

    Examples
    --------
    >>> ct.numpy.isscalar(3.0), ct.numpy.isscalar([3.0])
    (True, False)
    """
    return _core.is_python_scalar(element) or (
        getattr(element, "ndim", None) == 0 and not isinstance(element, np.dtype)
    )


check_arguments(globals())
