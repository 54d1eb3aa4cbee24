"""Comparisons, logic and tests of elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, Primitive, entrance
from cotangent._ops.binding import constant, inexact, is_inexact, is_integer, kind, literal, no_out, ordered
from cotangent._ops.sizes import type_of

__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
    "equal",
    "greater",
    "greater_equal",
    "isclose",
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
    """``x == y``."""
    return _compare(primitives.eq, x, y)


@entrance("binary", primitives.ne)
def not_equal(x: Any, y: Any, /) -> Array:
    """``x != y``."""
    return _compare(primitives.ne, x, y)


@entrance("binary_ordered", primitives.lt)
def less(x: Any, y: Any, /) -> Array:
    """``x < y``; complex numbers are ordered by their real, then their imaginary part."""
    return _compare(primitives.lt, x, y)


@entrance("binary_ordered", primitives.le)
def less_equal(x: Any, y: Any, /) -> Array:
    """``x <= y``."""
    return _compare(primitives.le, x, y)


@entrance("binary_ordered", primitives.gt)
def greater(x: Any, y: Any, /) -> Array:
    """``x > y``."""
    return _compare(primitives.gt, x, y)


@entrance("binary_ordered", primitives.ge)
def greater_equal(x: Any, y: Any, /) -> Array:
    """``x >= y``."""
    return _compare(primitives.ge, x, y)


def truth(x: Any) -> Array:
    """Whether elements are nonzero, as bools."""
    array = _core.array(x)
    return array if kind(array) == "bool" else primitives.ne(array, literal(array, 0))


def _logic(primitive: Primitive, x: Any, y: Any) -> Array:
    return primitive(*_core.promote([truth(x), truth(y)]))


def logical_and(x: Any, y: Any, /) -> Array:
    """Whether both are nonzero."""
    return _logic(primitives.and_, x, y)


def logical_or(x: Any, y: Any, /) -> Array:
    """Whether either is nonzero."""
    return _logic(primitives.or_, x, y)


def logical_xor(x: Any, y: Any, /) -> Array:
    """Whether exactly one is nonzero."""
    return _logic(primitives.xor, x, y)


def logical_not(x: Any, /) -> Array:
    """Whether elements are zero."""
    return primitives.not_(truth(x))


def isnan(x: Any, /) -> Array:
    """Whether elements are NaN."""
    array = _core.array(x)
    return primitives.ne(array, array)


def isfinite(x: Any, /) -> Array:
    """Whether elements are neither infinite nor NaN."""
    array = _core.array(x)
    if not is_inexact(array):
        return primitives.eq(array, array)
    return primitives.is_finite(array)


def isinf(x: Any, /) -> Array:
    """Whether elements are infinite."""
    array = inexact(x)
    if kind(array) == "complex":
        return primitives.or_(isinf(primitives.real(array)), isinf(primitives.imag(array)))
    return primitives.eq(primitives.abs(array), literal(array, math.inf))


def isposinf(x: Any, /, out: None = None) -> Array:
    """Whether elements are positive infinity."""
    no_out(out, "isposinf")
    array = inexact(x)
    return primitives.eq(array, literal(array, math.inf))


def isneginf(x: Any, /, out: None = None) -> Array:
    """Whether elements are negative infinity."""
    no_out(out, "isneginf")
    array = inexact(x)
    return primitives.eq(array, literal(array, -math.inf))


def isreal(x: Any) -> Array:
    """Whether imaginary parts are zero."""
    return logical_not(iscomplex(x))


def iscomplex(x: Any) -> Array:
    """Whether imaginary parts are nonzero."""
    array = _core.array(x)
    if kind(array) != "complex":
        return constant(array, False, bool)
    return truth(primitives.imag(array))


def isrealobj(x: Any) -> bool:
    """Whether the dtype is real."""
    return not iscomplexobj(x)


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex; False of what has none, such as None."""
    return x is not None and _core.dtype_kind(type_of(x)[1]) == "complex"


def isscalar(element: Any) -> bool:
    """Whether an object is a number or an array without axes."""
    return _core.is_python_scalar(element) or (
        getattr(element, "ndim", None) == 0 and not isinstance(element, np.dtype)
    )


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Array:
    """Whether ``|a - b| <= atol + rtol * |b|``, element by element; equal infinities are close."""
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
    """Whether all elements are close (see `isclose`), a bool scalar."""
    close = isclose(a, b, rtol, atol, equal_nan)
    return primitives.reduce_min(close, axes=list(range(close.ndim)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Array:
    """Whether shapes and all elements are equal, a bool scalar."""
    a, b = _core.array(a1), _core.array(a2)
    if a._bound_shape != b._bound_shape:
        return _core.full((), False, bool)
    a, b = _core.promote([a, b])
    same = primitives.eq(a, b)
    if equal_nan:
        same = primitives.or_(same, primitives.and_(primitives.ne(a, a), primitives.ne(b, b)))
    return primitives.reduce_min(same, axes=list(range(same.ndim)))


def array_equiv(a1: Any, a2: Any) -> Array:
    """Whether the arrays are equal after broadcasting, a bool scalar."""
    a, b = _core.array(a1), _core.array(a2)
    try:
        same = equal(a, b)
    except TypeError:
        return _core.full((), False, bool)
    return primitives.reduce_min(same, axes=list(range(same.ndim)))


check_arguments(globals())
