"""Arithmetic of one element at a time.

Arguments are arrays, NumPy arrays, numbers or nested lists; they are promoted to a common dtype and broadcast. Functions that are not
whole-number operations turn integers into the default floating dtype. Only the primitives are computed natively; the others are
compositions, so they have every derivative and work under every transform.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, entrance
from cotangent._ops.binding import (
    apart,
    choose,
    constant,
    inexact,
    is_inexact,
    kind,
    larger,
    literal,
    ordered,
    own,
    promoted,
    real_only,
)
from cotangent.errors import DTypeError

__all__ = [
    "abs",
    "absolute",
    "divide",
    "fabs",
    "float_power",
    "fmax",
    "fmin",
    "hypot",
    "positive",
    "pow",
    "power",
    "reciprocal",
    "sign",
    "square",
    "true_divide",
]


@entrance("binary", primitives.add)
def add(x: Any, y: Any, /) -> Array:
    """The sum of two arrays, element by element; of bools, whether either is true.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.add([1.0, 2.0], 0.5)
    Array([1.5, 2.5], dtype=float32)
    """
    return promoted(primitives.add, x, y)


@entrance("binary", primitives.sub)
def subtract(x: Any, y: Any, /) -> Array:
    """The difference of two arrays, element by element.

    Unsigned integers wrap around. Bools have no difference: use `logical_xor`.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.subtract([5.0, 3.0], [1.5, 4.0])
    Array([ 3.5, -1. ], dtype=float32)
    """
    return promoted(primitives.sub, x, y)


@entrance("binary", primitives.mul)
def multiply(x: Any, y: Any, /) -> Array:
    """The product of two arrays, element by element; of bools, whether both are true.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.multiply([1.0, 2.0, 3.0], [2.0, 2.0, 0.5])
    Array([2. , 4. , 1.5], dtype=float32)
    """
    return promoted(primitives.mul, x, y)


@entrance("binary_inexact", primitives.div)
def divide(x: Any, y: Any, /) -> Array:
    """The quotient of two arrays, element by element, in a floating dtype for integers, too.

    Division by zero gives infinities, and NaN for ``0 / 0``.

    Parameters
    ----------
    x, y : array
        Real or complex; promoted to a common floating or complex dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.divide([1, 2, 3], 2)
    Array([0.5, 1. , 1.5], dtype=float32)
    """
    return promoted(primitives.div, x, y, inexact=True)


true_divide = divide


@entrance("unary", primitives.neg)
def negative(x: Any, /) -> Array:
    """The number of opposite sign, element by element; of unsigned integers, modulo their range.

    Parameters
    ----------
    x : array
        Numbers; bools have none, use `logical_not`.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.negative([1.0, -2.5])
    Array([-1. ,  2.5], dtype=float32)
    """
    return primitives.neg(x)


@own
def positive(x: Any, /) -> Array:
    """The array itself, ``+x``.

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
    >>> ct.numpy.positive([1.0, -2.0])
    Array([ 1., -2.], dtype=float32)
    """
    return _core.array(x)


def reciprocal(x: Any, /) -> Array:
    """One over each element, in a floating dtype for integers, too: NumPy's is zero for most of those.

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
    >>> ct.numpy.reciprocal([1, 2, 4])
    Array([1.  , 0.5 , 0.25], dtype=float32)
    """
    array = inexact(x)
    return primitives.div(literal(array, 1.0), array)


def square(x: Any, /) -> Array:
    """The square of each element, in its own dtype.

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
    >>> ct.numpy.square([1.5, -3.0])
    Array([2.25, 9.  ], dtype=float32)
    """
    array = _core.array(x)
    return primitives.mul(array, array)


@entrance("unary", primitives.abs)
def absolute(x: Any, /) -> Array:
    """The absolute value of each element; of complex numbers, their length as a real number.

    The least signed integer is its own absolute value, as in NumPy. The derivative at 0 is 0.

    Parameters
    ----------
    x : array
        Numbers of any dtype.

    Returns
    -------
    array
        Of the shape of ``x``; real where that is complex, else of its dtype.

    Examples
    --------
    >>> ct.numpy.absolute([-1.5, 2.0])
    Array([1.5, 2. ], dtype=float32)

    >>> ct.numpy.absolute([3 + 4j])
    Array([5.], dtype=float32)

    >>> float(ct.grad(ct.numpy.absolute)(0.0))
    0.0
    """
    array = _core.array(x)
    return apart(array, x) if kind(array) in ("bool", "unsigned") else primitives.abs(array)


abs = absolute  # noqa: A001


def fabs(x: Any, /) -> Array:
    """The absolute value of real numbers, in a floating dtype for integers, too.

    Parameters
    ----------
    x : array
        Real. Integers and bools are converted to the default floating dtype.

    Returns
    -------
    array
        Floating, of the shape of ``x``.

    Raises
    ------
    DTypeError
        ``x`` is complex.

    Examples
    --------
    >>> ct.numpy.fabs([-1, 2])
    Array([1., 2.], dtype=float32)
    """
    return primitives.abs(real_only(x, "fabs"))


def sign(x: Any, /) -> Array:
    """The sign of each element: -1, 0 or 1; of a complex number z other than 0, ``z / |z|``.

    The sign of NaN is NaN, that of -0.0 is 0.0.

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
    >>> ct.numpy.sign([-2.5, 0.0, 7.0])
    Array([-1.,  0.,  1.], dtype=float32)

    >>> ct.numpy.sign([3 + 4j])
    Array([0.6+0.8j], dtype=complex64)
    """
    signs = primitives.sign(x)
    return choose(primitives.eq(signs, literal(signs, 0.0)), 0.0, signs) if kind(signs) == "float" else signs


@entrance("binary_ordered", primitives.max)
def maximum(x: Any, y: Any, /) -> Array:
    """The larger of two numbers, element by element; NaN where either is.

    Complex numbers are ordered by their real, then by their imaginary part. Where both are equal, each has half of
    the derivative. See `fmax` for the one that prefers numbers to NaN.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.maximum([1.0, 5.0], [3.0, 2.0])
    Array([3., 5.], dtype=float32)

    >>> float(ct.grad(ct.numpy.maximum)(1.0, 1.0))
    0.5
    """
    return larger(primitives.max, *_core.promote([x, y]))


@entrance("binary_ordered", primitives.min)
def minimum(x: Any, y: Any, /) -> Array:
    """The smaller of two numbers, element by element; NaN where either is.

    Complex numbers are ordered by their real, then by their imaginary part. Where both are equal, each has half of
    the derivative. See `fmin` for the one that prefers numbers to NaN.

    Parameters
    ----------
    x, y : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.minimum([1.0, 5.0], [3.0, 2.0])
    Array([1., 2.], dtype=float32)
    """
    return larger(primitives.min, *_core.promote([x, y]))


def fmax(x1: Any, x2: Any) -> Array:
    """The larger of two numbers, element by element; where one is NaN, the other.

    Parameters
    ----------
    x1, x2 : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.fmax([1.0, ct.numpy.nan], [3.0, 2.0])
    Array([3., 2.], dtype=float32)
    """
    x, y = _core.promote([x1, x2])
    if kind(x) not in ("float", "complex"):
        return primitives.max(x, y)
    return choose(primitives.or_(primitives.ne(y, y), ordered(primitives.gt, x, y)), x, y)


def fmin(x1: Any, x2: Any) -> Array:
    """The smaller of two numbers, element by element; where one is NaN, the other.

    Parameters
    ----------
    x1, x2 : array
        Numbers; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.fmin([1.0, ct.numpy.nan], [3.0, 2.0])
    Array([1., 2.], dtype=float32)
    """
    x, y = _core.promote([x1, x2])
    if kind(x) not in ("float", "complex"):
        return primitives.min(x, y)
    return choose(primitives.or_(primitives.ne(y, y), ordered(primitives.lt, x, y)), x, y)


def integer_power(x: Array, exponent: int) -> Array:
    """By repeated squaring."""
    if exponent == 0:
        return constant(x, 1)
    if exponent < 0:
        return primitives.div(literal(x, 1), integer_power(x, -exponent))
    result: Array | None = None
    square_of = x
    while exponent:
        if exponent & 1:
            result = square_of if result is None else primitives.mul(result, square_of)
        exponent >>= 1
        if exponent:
            square_of = primitives.mul(square_of, square_of)
    assert result is not None
    return result


# Of narrower types the reciprocal of a rounded square root would be off by more than the power is.
_EXACT_ROOTS = (np.dtype(np.float32), np.dtype(np.float64))


def power(x: Any, y: Any, /) -> Array:
    """The first array raised to the second, element by element.

    A Python int as exponent is expanded into multiplications, so that it has derivatives everywhere; the Python floats 0.5,
    1.5, and these negated, are made of the square root, for float32 and float64, whole ones up to 3 are multiplications. Negative numbers
    to a fractional power are NaN. Bools are raised as integers. Integers raised to negative integers of an array, which may be known when
    the program runs only, lose the fraction: 1 and -1 stay what they are, other numbers become 0, as in JAX. NumPy raises.

    Parameters
    ----------
    x, y : array
        Base and exponent: numbers, promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Raises
    ------
    TypeError
        Integers are raised to a negative Python int.

    Examples
    --------
    >>> ct.numpy.power([1.0, 2.0, 3.0], 2)
    Array([1., 4., 9.], dtype=float32)

    >>> ct.numpy.power([4.0, 9.0], [0.5, -1.0]).round(4)
    Array([2.    , 0.1111], dtype=float32)

    >>> ct.numpy.power([2, 1, -1], [-1, -1, -1]), ct.numpy.power([2.0, 1.0, -1.0], [-1, -1, -1])
    (Array([ 0,  1, -1], dtype=int32), Array([ 0.5,  1. , -1. ], dtype=float32))
    """
    if isinstance(y, int) and not isinstance(y, bool):
        array = _core.array(x)
        if y < 0 and not is_inexact(array):
            raise TypeError(
                f"power: integers cannot be raised to the negative power {y}\n"
                "  convert the base to a floating dtype first"
            )
        if kind(array) == "bool":
            array = _core.promote([array, y])[0]
        if -1024 <= y <= 1024:
            return apart(integer_power(array, y), x)
    exponent = y
    x, y = _core.promote([x, y])
    if type(exponent) is float and x.dtype in _EXACT_ROOTS:
        if exponent in (-1.0, 2.0, 3.0):
            return integer_power(x, int(exponent))
        if exponent in (-1.5, -0.5, 0.5, 1.5):
            root, one = primitives.sqrt(x), literal(x, 1)
            if exponent in (-1.5, 1.5):
                return primitives.mul(x, root) if exponent > 0 else primitives.div(primitives.div(one, x), root)
            return root if exponent > 0 else primitives.div(one, root)
    if kind(x) == "bool":
        dtype = _core.default_int_dtype()
        x, y = _core.convert(x, dtype), _core.convert(y, dtype)
    return primitives.pow(x, y)


pow = power  # noqa: A001


def float_power(x: Any, y: Any, /) -> Array:
    """The first array raised to the second, in a floating dtype for integers, too.

    NumPy computes it in float64; here it has the common floating dtype.

    Parameters
    ----------
    x, y : array
        Base and exponent: real or complex, promoted to a common floating or complex dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.float_power([2, 4], -1)
    Array([0.5 , 0.25], dtype=float32)
    """
    return promoted(primitives.pow, x, y, inexact=True)


def hypot(x: Any, y: Any, /) -> Array:
    """The length of the hypotenuse, ``sqrt(x**2 + y**2)``, without overflow.

    It is infinite where either leg is, whatever the other one. The derivatives at (0, 0) are 0.

    Parameters
    ----------
    x, y : array
        Real; promoted to a common floating dtype and broadcast.

    Returns
    -------
    array
        Floating, of the broadcast shape.

    Raises
    ------
    DTypeError
        A number is complex.

    Examples
    --------
    >>> ct.numpy.hypot([3.0, 5.0], [4.0, 12.0])
    Array([ 5., 13.], dtype=float32)

    >>> float(ct.grad(ct.numpy.hypot)(0.0, 0.0))
    0.0
    """
    x, y = _core.promote([x, y], inexact=True)
    if kind(x) == "complex":
        raise DTypeError(
            f"hypot takes real arrays; got {x.dtype}\n  hypot(abs(x), abs(y)) takes the absolute values first"
        )
    x, y = primitives.abs(x), primitives.abs(y)
    large = primitives.stop_gradient(primitives.max(x, y))
    infinite = primitives.or_(primitives.eq(x, literal(x, math.inf)), primitives.eq(y, literal(y, math.inf)))
    # The result does not depend on the scale, so its derivatives of all orders are those of the formula.
    scale = choose(primitives.or_(infinite, primitives.eq(large, literal(large, 0.0))), 1.0, large)
    u, v = primitives.div(x, scale), primitives.div(y, scale)
    return choose(
        infinite, math.inf, scale * primitives.sqrt(primitives.add(primitives.mul(u, u), primitives.mul(v, v)))
    )


check_arguments(globals())
