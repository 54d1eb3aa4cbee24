"""Arithmetic of each element: sums, products, powers, extrema."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, Primitive
from cotangent._ops.arithmetic import integer_power
from cotangent._ops.binding import kind, literal, own
from cotangent._ops.sizes import static_int
from cotangent.lax._operands import (
    ANY,
    INEXACTS,
    INTEGERS,
    NUMBERS,
    REALS,
    as_array,
    binary,
    check_kind,
    operands,
    unary,
)

__all__ = [
    "abs",
    "add",
    "div",
    "integer_pow",
    "max",
    "min",
    "mul",
    "neg",
    "pow",
    "reciprocal",
    "rem",
    "sign",
    "square",
    "sub",
]


# ---- Arithmetic ------------------------------------------------------------------------------------------------------


def neg(x: Any) -> Array:
    """The negated elements.

    Unsigned integers wrap: ``-x`` is ``2**n - x``.

    Parameters
    ----------
    x : array
        Integers, floats or complex numbers.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.neg(ct.numpy.array([1.5, -2.0]))
    Array([-1.5,  2. ], dtype=float32)
    """
    return unary(primitives.neg, x, NUMBERS)


def sign(x: Any) -> Array:
    """The sign of each element: -1, 0 or 1.

    NaN stays NaN. Of a complex number z it is ``z / |z|``, and 0 of 0. The derivative is 0 for real numbers.

    Parameters
    ----------
    x : array
        Integers, floats or complex numbers.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.sign(ct.numpy.array([-3.0, 0.0, 2.0]))
    Array([-1.,  0.,  1.], dtype=float32)
    """
    return unary(primitives.sign, x, NUMBERS)


def abs(x: Any) -> Array:  # noqa: A001
    """The magnitude of each element.

    The derivative at 0 is 0. The lowest signed integer has no positive counterpart and is its own result.

    Parameters
    ----------
    x : array
        Signed integers, floats or complex numbers.

    Returns
    -------
    array
        Of the shape of ``x``; real where ``x`` is complex, else of its dtype.

    Examples
    --------
    >>> ct.lax.abs(ct.numpy.array([-2.0, 3.0]))
    Array([2., 3.], dtype=float32)
    >>> ct.lax.abs(ct.numpy.array([3.0 + 4.0j]))
    Array([5.], dtype=float32)
    """
    return unary(primitives.abs, x, ("signed", *INEXACTS))


def add(x: Any, y: Any) -> Array:
    """The sum of two arrays, element by element.

    Parameters
    ----------
    x, y : array
        Numbers, of one dtype; their shapes are equal, or one is a scalar, or axes of size 1 are stretched. Python
        numbers take the dtype of the other operand.

    Returns
    -------
    array
        Of the common shape.

    Raises
    ------
    DTypeError
        The dtypes differ, or are bool.
    ShapeError
        The shapes do not fit.

    Examples
    --------
    >>> ct.lax.add(ct.numpy.array([1.0, 2.0]), 0.5)
    Array([1.5, 2.5], dtype=float32)
    """
    return binary(primitives.add, x, y, NUMBERS)


def sub(x: Any, y: Any) -> Array:
    """The difference of two arrays, element by element.

    Parameters
    ----------
    x, y : array
        Numbers, of one dtype; their shapes are equal, or one is a scalar, or axes of size 1 are stretched. Python
        numbers take the dtype of the other operand.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.sub(ct.numpy.array([1.0, 2.0]), 0.5)
    Array([0.5, 1.5], dtype=float32)
    """
    return binary(primitives.sub, x, y, NUMBERS)


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Array:
    """The product of two arrays, element by element.

    Parameters
    ----------
    x, y : array
        Numbers of one dtype, unless ``out_dtype`` is given; shapes as of `add`.
    out_dtype : dtype, optional
        What both operands are converted to first, which then may have several dtypes.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.mul(ct.numpy.array([1.0, 2.0]), 3.0)
    Array([3., 6.], dtype=float32)
    >>> ct.lax.mul(ct.numpy.array([100], "int8"), ct.numpy.array([3], "int16"), out_dtype="int32")
    Array([300], dtype=int32)
    """
    if out_dtype is not None:
        x, y = _core.convert(x, out_dtype), _core.convert(y, out_dtype)
    x, y = operands("mul", (x, y), NUMBERS)
    return primitives.mul(x, y)


def div(x: Any, y: Any) -> Array:
    """The quotient of two arrays, element by element.

    Integers are divided with truncation toward zero, where NumPy's ``//`` rounds down.

    Parameters
    ----------
    x, y : array
        Numbers, of one dtype; their shapes are equal, or one is a scalar, or axes of size 1 are stretched. Python
        numbers take the dtype of the other operand.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.div(ct.numpy.array([7, -7]), 2)
    Array([ 3, -3], dtype=int32)
    >>> ct.lax.div(ct.numpy.array([1.0, 3.0]), 2.0)
    Array([0.5, 1.5], dtype=float32)
    """
    return binary(primitives.div, x, y, NUMBERS)


def rem(x: Any, y: Any) -> Array:
    """The remainder of a division that truncates toward zero.

    It has the sign of ``x``, as C's ``fmod``; `cotangent.numpy.remainder` has that of ``y``.

    Parameters
    ----------
    x, y : array
        Real numbers, of one dtype; their shapes are equal, or one is a scalar, or axes of size 1 are stretched.
        Python numbers take the dtype of the other operand.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.rem(ct.numpy.array([7, -7]), 3)
    Array([ 1, -1], dtype=int32)
    """
    return binary(primitives.rem, x, y, REALS)


def max(x: Any, y: Any) -> Array:  # noqa: A001
    """The larger of two elements; NaN if either is NaN.

    Complex numbers are compared by their real parts, then by their imaginary parts. Where both are equal each
    operand has half of the derivative.

    Parameters
    ----------
    x, y : array
        Bools or numbers, of one dtype; their shapes are equal, or one is a scalar, or axes of size 1 are stretched.
        Python numbers take the dtype of the other operand.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.max(ct.numpy.array([1.0, 4.0]), ct.numpy.array([3.0, 2.0]))
    Array([3., 4.], dtype=float32)
    """
    return _extremum(primitives.max, primitives.gt, x, y)


def min(x: Any, y: Any) -> Array:  # noqa: A001
    """The smaller of two elements; NaN if either is NaN.

    Complex numbers are compared by their real parts, then by their imaginary parts. Where both are equal each
    operand has half of the derivative.

    Parameters
    ----------
    x, y : array
        Bools or numbers, of one dtype; their shapes are equal, or one is a scalar, or axes of size 1 are stretched.
        Python numbers take the dtype of the other operand.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.min(ct.numpy.array([1.0, 4.0]), ct.numpy.array([3.0, 2.0]))
    Array([1., 2.], dtype=float32)
    """
    return _extremum(primitives.min, primitives.lt, x, y)


def _extremum(primitive: Primitive, before: Primitive, x: Any, y: Any) -> Array:
    x, y = operands(primitive.name, (x, y), ANY)
    if kind(x) != "complex":
        return primitive(x, y)
    (a, b), (c, d) = ((primitives.real(z), primitives.imag(z)) for z in (x, y))
    tie = primitives.and_(primitives.eq(a, c), before(b, d))
    return primitives.select(primitives.or_(before(a, c), tie), x, y)


def square(x: Any) -> Array:
    """The square of each element.

    Parameters
    ----------
    x : array
        Integers, floats or complex numbers.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.square(ct.numpy.array([1.5, -2.0]))
    Array([2.25, 4.  ], dtype=float32)
    """
    array = as_array("square", x)
    check_kind("square", array, NUMBERS)
    return primitives.mul(array, array)


def reciprocal(x: Any) -> Array:
    """The inverse ``1 / x`` of each element.

    Parameters
    ----------
    x : array
        Floats or complex numbers.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.reciprocal(ct.numpy.array([2.0, -4.0]))
    Array([ 0.5 , -0.25], dtype=float32)
    """
    array = as_array("reciprocal", x)
    check_kind("reciprocal", array, INEXACTS)
    return primitives.div(literal(array, 1.0), array)


@own
def pow(x: Any, y: Any) -> Array:  # noqa: A001
    """The power ``x ** y``.

    Exponents that are Python ints are multiplied out, and other integers are converted to the dtype of the base.

    Parameters
    ----------
    x : array
        The base: floats or complex numbers.
    y : array or int
        The exponent: of the dtype of ``x``, or integers.

    Returns
    -------
    array
        Of the common shape and the dtype of ``x``.

    Examples
    --------
    >>> ct.lax.pow(ct.numpy.array([2.0, 9.0]), 0.5).round(4)
    Array([1.4142, 3.    ], dtype=float32)
    >>> ct.lax.pow(ct.numpy.array([2.0, -3.0]), 3)
    Array([  8., -27.], dtype=float32)
    """
    base, exponent = as_array("pow", x), as_array("pow", y)
    check_kind("pow", base, INEXACTS)
    if kind(exponent) in INTEGERS:
        if isinstance(y, int):
            return integer_pow(base, y)
        return binary(primitives.pow, base, _core.convert(exponent, base.dtype), INEXACTS)
    return binary(primitives.pow, x, y, INEXACTS)


@own
def integer_pow(x: Any, y: int) -> Array:
    """The power ``x ** y`` for one integer exponent, made of multiplications.

    Parameters
    ----------
    x : array
        Integers, floats or complex numbers.
    y : int
        The exponent, known when the program is captured; negative ones are of floats and complex numbers only.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Raises
    ------
    TypeError
        Integers are raised to a negative power.

    Examples
    --------
    >>> ct.lax.integer_pow(ct.numpy.array([2.0, -3.0]), 3)
    Array([  8., -27.], dtype=float32)
    """
    array, exponent = as_array("integer_pow", x), static_int(y, "the exponent of integer_pow")
    check_kind("integer_pow", array, NUMBERS)
    if exponent < 0 and kind(array) in INTEGERS:
        raise TypeError(
            f"lax.integer_pow: integers cannot be raised to the negative power {exponent}\n"
            "  convert them to floats first: x.astype('float32')"
        )
    return integer_power(array, exponent)


check_arguments(globals())
