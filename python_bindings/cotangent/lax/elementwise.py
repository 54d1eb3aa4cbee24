"""Arithmetic, comparisons, choices, exponentials and circular functions of each element."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, Primitive
from cotangent._ops import elementary as _elementary
from cotangent._ops.arithmetic import integer_power
from cotangent._ops.binding import apart, choose, kind, literal, own
from cotangent._ops.extents import alike, stretched
from cotangent._ops.sizes import static_int
from cotangent._special.logistic import sigmoid
from cotangent.errors import DTypeError, ShapeError
from cotangent.lax._operands import (
    ANY,
    FLOATS,
    INEXACTS,
    INTEGERS,
    NUMBERS,
    ORDERED,
    REALS,
    as_array,
    binary,
    check_kind,
    one_dtype,
    operands,
    unary,
)
from cotangent.tree_util import tree_map

__all__ = [
    "RoundingMethod",
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clamp",
    "complex",
    "conj",
    "cos",
    "cosh",
    "div",
    "eq",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "ge",
    "gt",
    "imag",
    "integer_pow",
    "is_finite",
    "le",
    "log",
    "log1p",
    "logistic",
    "lt",
    "max",
    "min",
    "mul",
    "ne",
    "neg",
    "optimization_barrier",
    "pow",
    "real",
    "reciprocal",
    "rem",
    "round",
    "rsqrt",
    "select",
    "select_n",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "stop_gradient",
    "sub",
    "tan",
    "tanh",
]


class RoundingMethod(IntEnum):
    """Where `round` takes numbers that lie halfway between two whole ones.

    ``AWAY_FROM_ZERO`` takes 0.5 to 1 and -0.5 to -1; ``TO_NEAREST_EVEN`` takes both to 0, as
    `cotangent.numpy.round` does.
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


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
        raise TypeError(f"lax.integer_pow: integers cannot be raised to the negative power {exponent}")
    return integer_power(array, exponent)


# ---- Comparisons -----------------------------------------------------------------------------------------------------


def eq(x: Any, y: Any) -> Array:
    """Whether elements are equal; NaN equals nothing.

    Parameters
    ----------
    x, y : array
        Bools or numbers, of one dtype and of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array of bool
        Of the common shape.

    Examples
    --------
    >>> ct.lax.eq(ct.numpy.array([1, 2, 3]), 2)
    Array([False,  True, False], dtype=bool)
    """
    return binary(primitives.eq, x, y, ANY)


def ne(x: Any, y: Any) -> Array:
    """Whether elements differ; NaN differs from everything.

    Parameters
    ----------
    x, y : array
        Bools or numbers, of one dtype and of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array of bool
        Of the common shape.

    Examples
    --------
    >>> ct.lax.ne(ct.numpy.array([1, 2, 3]), 2)
    Array([ True, False,  True], dtype=bool)
    """
    return binary(primitives.ne, x, y, ANY)


def lt(x: Any, y: Any) -> Array:
    """Whether elements of ``x`` are less than those of ``y``; False for NaN.

    Parameters
    ----------
    x, y : array
        Bools or real numbers, of one dtype and of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array of bool
        Of the common shape.

    Examples
    --------
    >>> ct.lax.lt(ct.numpy.array([1, 2, 3]), 2)
    Array([ True, False, False], dtype=bool)
    """
    return binary(primitives.lt, x, y, ORDERED)


def le(x: Any, y: Any) -> Array:
    """Whether elements of ``x`` are at most those of ``y``; False for NaN.

    Parameters
    ----------
    x, y : array
        Bools or real numbers, of one dtype and of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array of bool
        Of the common shape.

    Examples
    --------
    >>> ct.lax.le(ct.numpy.array([1, 2, 3]), 2)
    Array([ True,  True, False], dtype=bool)
    """
    return binary(primitives.le, x, y, ORDERED)


def gt(x: Any, y: Any) -> Array:
    """Whether elements of ``x`` are greater than those of ``y``; False for NaN.

    Parameters
    ----------
    x, y : array
        Bools or real numbers, of one dtype and of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array of bool
        Of the common shape.

    Examples
    --------
    >>> ct.lax.gt(ct.numpy.array([1, 2, 3]), 2)
    Array([False, False,  True], dtype=bool)
    """
    return binary(primitives.gt, x, y, ORDERED)


def ge(x: Any, y: Any) -> Array:
    """Whether elements of ``x`` are at least those of ``y``; False for NaN.

    Parameters
    ----------
    x, y : array
        Bools or real numbers, of one dtype and of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array of bool
        Of the common shape.

    Examples
    --------
    >>> ct.lax.ge(ct.numpy.array([1, 2, 3]), 2)
    Array([False,  True,  True], dtype=bool)
    """
    return binary(primitives.ge, x, y, ORDERED)


def is_finite(x: Any) -> Array:
    """Whether elements are neither infinite nor NaN.

    Parameters
    ----------
    x : array
        Floats.

    Returns
    -------
    array of bool
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.lax.is_finite(ct.numpy.array([1.0, np.inf, np.nan]))
    Array([ True, False, False], dtype=bool)
    """
    return unary(primitives.is_finite, x, FLOATS)


# ---- Choices ---------------------------------------------------------------------------------------------------------


def select(pred: Any, on_true: Any, on_false: Any) -> Array:
    """The elements of ``on_true`` where ``pred`` holds, else those of ``on_false``.

    Nothing is broadcast and no dtype promoted; `cotangent.numpy.where` does both.

    Parameters
    ----------
    pred : array of bool
        A scalar, or of the shape of the cases.
    on_true, on_false : array
        Of one shape and dtype.

    Returns
    -------
    array
        Of the shape and dtype of the cases.

    Raises
    ------
    ShapeError
        The cases have unequal shapes, or ``pred`` has neither theirs nor ().

    Examples
    --------
    >>> ct.lax.select(ct.numpy.array([True, False]), ct.numpy.array([1, 2]), ct.numpy.array([10, 20]))
    Array([ 1, 20], dtype=int32)
    """
    return _choose_case("select", pred, (on_false, on_true))


def select_n(which: Any, *cases: Any) -> Array:
    """Each element from one of several cases, by the number of the case.

    Parameters
    ----------
    which : array
        Bools for one or two cases (False is the first), or integers, limited to the cases that there are; a scalar,
        or of the shape of the cases.
    *cases : array
        Of one shape and dtype.

    Returns
    -------
    array
        Of the shape and dtype of the cases.

    Raises
    ------
    ShapeError
        The cases have unequal shapes, or ``which`` has neither theirs nor ().
    TypeError
        ``which`` is bool and there are more than two cases.

    Examples
    --------
    >>> a = ct.numpy.arange(3)
    >>> ct.lax.select_n(ct.numpy.array([0, 2, 1]), a, a + 10, a + 20)
    Array([ 0, 21, 12], dtype=int32)
    """
    if not cases:
        raise ValueError("lax.select_n needs at least one case")
    return _choose_case("select_n", which, cases)


def _choose_case(name: str, which: Any, cases: Any) -> Array:
    index, arrays = as_array(name, which), one_dtype(name, cases)
    check_kind(name, index, ("bool", *INTEGERS))
    if not alike(*arrays):
        raise ShapeError(f"lax.{name}: the cases must have one shape; got {[x.shape for x in arrays]}")
    if index.ndim and not alike(index, arrays[0]):
        raise ShapeError(
            f"lax.{name}: the selector must be a scalar or have the shape of the cases; got {index.shape} and {arrays[0].shape}"
        )
    index = stretched(index, arrays[0])
    if kind(index) == "bool":
        if len(arrays) > 2:
            raise TypeError(f"lax.{name}: a bool selector chooses between two cases; got {len(arrays)}")
        return arrays[0] if len(arrays) == 1 else primitives.select(index, arrays[1], arrays[0])
    result = arrays[-1]
    for number in reversed(range(len(arrays) - 1)):
        result = primitives.select(primitives.le(index, literal(index, number)), arrays[number], result)
    return result


def clamp(min: Any, x: Any, max: Any) -> Array:  # noqa: A002
    """The elements of ``x`` limited to the range from ``min`` to ``max``.

    At an end ``x`` and the end have half of the derivative each, as by `cotangent.numpy.clip`. Where ``min`` is
    above ``max`` the result is ``max``.

    Parameters
    ----------
    min : array
        The lower end: a scalar, or of the shape of ``x``.
    x : array
        Bools or real numbers.
    max : array
        The upper end: a scalar, or of the shape of ``x``.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.clamp(0.0, ct.numpy.array([-1.0, 0.5, 2.0]), 1.0)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    low, array, high = one_dtype("clamp", (min, x, max))
    check_kind("clamp", array, ORDERED)
    for end in (low, high):
        if end.ndim and not alike(end, array):
            raise ShapeError(f"lax.clamp: the ends must be scalars or have shape {array.shape}; got {end.shape}")
    return primitives.min(primitives.max(array, stretched(low, array)), stretched(high, array))


def stop_gradient(x: Any) -> Any:
    """The value itself, with zero derivative.

    Parameters
    ----------
    x : pytree of arrays
        What is to count as a constant.

    Returns
    -------
    pytree of arrays
        The same values in the same structure.

    Examples
    --------
    >>> float(ct.grad(lambda x: x * ct.lax.stop_gradient(x))(3.0))
    3.0
    """
    return tree_map(lambda leaf: primitives.stop_gradient(leaf), x)


def optimization_barrier(operand: Any, /) -> Any:
    """The value itself; there is nothing here that it would have to hold back.

    JAX's compiler moves no computation past the barrier. The compiler here does not move computations in ways that
    a program could tell, so that this is the identity, derivatives included.

    Parameters
    ----------
    operand : pytree of arrays
        Any values.

    Returns
    -------
    pytree of arrays
        The same values in the same structure.

    Examples
    --------
    >>> ct.lax.optimization_barrier(ct.numpy.array([1.0, 2.0]))
    Array([1., 2.], dtype=float32)
    """
    return tree_map(lambda leaf: apart(_core.array(leaf), leaf), operand)


# ---- Exponentials and logarithms -------------------------------------------------------------------------------------


def exp(x: Any, *, accuracy: Any = None) -> Array:
    """The exponential ``e ** x``.

    Parameters
    ----------
    x : array
        Floats or complex numbers.
    accuracy : optional
        Accepted for JAX's signature: results have the digits of their dtype in any case.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.exp(ct.numpy.array([0.0, 1.0])).round(4)
    Array([1.    , 2.7183], dtype=float32)
    """
    return unary(primitives.exp, x, INEXACTS)


def exp2(x: Any, *, accuracy: Any = None) -> Array:
    """The power ``2 ** x``.

    Parameters
    ----------
    x : array
        Floats or complex numbers.
    accuracy : optional
        Accepted for JAX's signature: results have the digits of their dtype in any case.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.exp2(ct.numpy.array([-1.0, 3.0]))
    Array([0.5, 8. ], dtype=float32)
    """
    return _function("exp2", x)


def expm1(x: Any, *, accuracy: Any = None) -> Array:
    """The difference ``exp(x) - 1``, which keeps its digits near 0.

    Parameters
    ----------
    x : array
        Floats or complex numbers.
    accuracy : optional
        Accepted for JAX's signature: results have the digits of their dtype in any case.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> float(ct.lax.expm1(ct.numpy.float32(2.0**-30))) == 2.0**-30
    True
    """
    return unary(primitives.expm1, x, INEXACTS)


def log(x: Any, *, accuracy: Any = None) -> Array:
    """The natural logarithm.

    It is -inf at 0 and NaN for negative numbers; of complex numbers it is the principal branch.

    Parameters
    ----------
    x : array
        Floats or complex numbers.
    accuracy : optional
        Accepted for JAX's signature: results have the digits of their dtype in any case.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.log(ct.numpy.array([1.0, 10.0])).round(4)
    Array([0.    , 2.3026], dtype=float32)
    """
    return unary(primitives.log, x, INEXACTS)


def log1p(x: Any, *, accuracy: Any = None) -> Array:
    """The logarithm ``log(1 + x)``, which keeps its digits near 0.

    Parameters
    ----------
    x : array
        Floats or complex numbers.
    accuracy : optional
        Accepted for JAX's signature: results have the digits of their dtype in any case.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> float(ct.lax.log1p(ct.numpy.float32(2.0**-30))) == 2.0**-30
    True
    """
    return unary(primitives.log1p, x, INEXACTS)


def sqrt(x: Any, *, accuracy: Any = None) -> Array:
    """The square root; NaN for negative numbers, of complex numbers the principal one.

    Parameters
    ----------
    x : array
        Floats or complex numbers.
    accuracy : optional
        Accepted for JAX's signature: results have the digits of their dtype in any case.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.sqrt(ct.numpy.array([4.0, 2.25]))
    Array([2. , 1.5], dtype=float32)
    """
    return unary(primitives.sqrt, x, INEXACTS)


def rsqrt(x: Any, *, accuracy: Any = None) -> Array:
    """The inverse square root ``1 / sqrt(x)``; infinite at 0.

    Parameters
    ----------
    x : array
        Floats or complex numbers.
    accuracy : optional
        Accepted for JAX's signature: results have the digits of their dtype in any case.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.rsqrt(ct.numpy.array([4.0, 0.25]))
    Array([0.5, 2. ], dtype=float32)
    """
    return _function("rsqrt", x)


def cbrt(x: Any, *, accuracy: Any = None) -> Array:
    """The real cube root, also of negative numbers.

    Parameters
    ----------
    x : array
        Floats.
    accuracy : optional
        Accepted for JAX's signature: results have the digits of their dtype in any case.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.cbrt(ct.numpy.array([8.0, -27.0])).round(4)
    Array([ 2., -3.], dtype=float32)
    """
    return _function("cbrt", x, FLOATS)


def logistic(x: Any, *, accuracy: Any = None) -> Array:
    """The logistic function ``1 / (1 + exp(-x))``, without overflow.

    Parameters
    ----------
    x : array
        Floats or complex numbers.
    accuracy : optional
        Accepted for JAX's signature: results have the digits of their dtype in any case.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.logistic(ct.numpy.array([0.0, 2.0])).round(4)
    Array([0.5   , 0.8808], dtype=float32)
    """
    array = as_array("logistic", x)
    check_kind("logistic", array, INEXACTS)
    return sigmoid(array)


# ---- Circular and hyperbolic functions -------------------------------------------------------------------------------


def _function(name: str, x: Any, kinds: Any = INEXACTS) -> Array:
    array = as_array(name, x)
    check_kind(name, array, kinds)
    return getattr(_elementary, name)(array)  # type: ignore[no-any-return]


def sin(x: Any, *, accuracy: Any = None) -> Array:
    """The sine of angles in radians.

    Parameters
    ----------
    x : array
        Floats or complex numbers.
    accuracy : optional
        Accepted for JAX's signature: results have the digits of their dtype in any case.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.sin(ct.numpy.array([0.0, 1.0])).round(4)
    Array([0.    , 0.8415], dtype=float32)
    """
    return unary(primitives.sin, x, INEXACTS)


def cos(x: Any, *, accuracy: Any = None) -> Array:
    """The cosine of angles in radians.

    Parameters
    ----------
    x : array
        Floats or complex numbers.
    accuracy : optional
        Accepted for JAX's signature: results have the digits of their dtype in any case.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.cos(ct.numpy.array([0.0, 1.0])).round(4)
    Array([1.    , 0.5403], dtype=float32)
    """
    return unary(primitives.cos, x, INEXACTS)


def tan(x: Any, *, accuracy: Any = None) -> Array:
    """The tangent of angles in radians.

    Parameters
    ----------
    x : array
        Floats or complex numbers.
    accuracy : optional
        Accepted for JAX's signature: results have the digits of their dtype in any case.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.tan(ct.numpy.array([0.0, 1.0])).round(4)
    Array([0.    , 1.5574], dtype=float32)
    """
    return _function("tan", x)


def asin(x: Any) -> Array:
    """The inverse sine, in [-pi/2, pi/2]; NaN outside of [-1, 1].

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
    >>> ct.lax.asin(ct.numpy.array([0.5, 1.0])).round(4)
    Array([0.5236, 1.5708], dtype=float32)
    """
    return _function("asin", x)


def acos(x: Any) -> Array:
    """The inverse cosine, in [0, pi]; NaN outside of [-1, 1].

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
    >>> ct.lax.acos(ct.numpy.array([0.5, 1.0])).round(4)
    Array([1.0472, 0.    ], dtype=float32)
    """
    return _function("acos", x)


def atan(x: Any) -> Array:
    """The inverse tangent, in [-pi/2, pi/2].

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
    >>> ct.lax.atan(ct.numpy.array([1.0, -np.inf])).round(4)
    Array([ 0.7854, -1.5708], dtype=float32)
    """
    return _function("atan", x)


def atan2(x: Any, y: Any) -> Array:
    """The angle of the point with abscissa ``y`` and ordinate ``x``, in radians from -pi to pi.

    The names are those of JAX: the first operand is the ordinate. Of complex numbers it is ``-i log((y + i x) /
    sqrt(x**2 + y**2))``.

    Parameters
    ----------
    x : array
        Ordinates: floats or complex numbers.
    y : array
        Abscissas, of the same dtype; shapes as of `add`.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.atan2(ct.numpy.array([1.0, -1.0]), ct.numpy.array([0.0, -1.0])).round(4)
    Array([ 1.5708, -2.3562], dtype=float32)
    """
    x, y = operands("atan2", (x, y), INEXACTS)
    if kind(x) != "complex":
        return primitives.atan2(x, y)
    i = literal(x, 1j)
    return -i * primitives.log((y + i * x) / primitives.sqrt(x * x + y * y))


def tanh(x: Any, *, accuracy: Any = None) -> Array:
    """The hyperbolic tangent.

    Parameters
    ----------
    x : array
        Floats or complex numbers.
    accuracy : optional
        Accepted for JAX's signature: results have the digits of their dtype in any case.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.tanh(ct.numpy.array([0.0, 1.0])).round(4)
    Array([0.    , 0.7616], dtype=float32)
    """
    return unary(primitives.tanh, x, INEXACTS)


def sinh(x: Any) -> Array:
    """The hyperbolic sine.

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
    >>> ct.lax.sinh(ct.numpy.array([0.0, 1.0])).round(4)
    Array([0.    , 1.1752], dtype=float32)
    """
    return _function("sinh", x)


def cosh(x: Any) -> Array:
    """The hyperbolic cosine.

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
    >>> ct.lax.cosh(ct.numpy.array([0.0, 1.0])).round(4)
    Array([1.    , 1.5431], dtype=float32)
    """
    return _function("cosh", x)


def asinh(x: Any) -> Array:
    """The inverse hyperbolic sine.

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
    >>> ct.lax.asinh(ct.numpy.array([0.0, 1.0])).round(4)
    Array([0.    , 0.8814], dtype=float32)
    """
    return _function("asinh", x)


def acosh(x: Any) -> Array:
    """The inverse hyperbolic cosine; NaN below 1.

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
    >>> ct.lax.acosh(ct.numpy.array([1.0, 2.0])).round(4)
    Array([0.   , 1.317], dtype=float32)
    """
    return _function("acosh", x)


def atanh(x: Any) -> Array:
    """The inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond.

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
    >>> ct.lax.atanh(ct.numpy.array([0.5, 1.0])).round(4)
    Array([0.5493,    inf], dtype=float32)
    """
    return _function("atanh", x)


# ---- Rounding, complex parts -----------------------------------------------------------------------------------------


def floor(x: Any) -> Array:
    """The largest whole number that is not above each element.

    Parameters
    ----------
    x : array
        Floats.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.floor(ct.numpy.array([-1.5, 1.5]))
    Array([-2.,  1.], dtype=float32)
    """
    return unary(primitives.floor, x, FLOATS)


def ceil(x: Any) -> Array:
    """The smallest whole number that is not below each element.

    Parameters
    ----------
    x : array
        Floats.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.ceil(ct.numpy.array([-1.5, 1.5]))
    Array([-1.,  2.], dtype=float32)
    """
    return unary(primitives.ceil, x, FLOATS)


def round(x: Any, rounding_method: Any = RoundingMethod.AWAY_FROM_ZERO) -> Array:  # noqa: A001
    """The nearest whole number of each element.

    Parameters
    ----------
    x : array
        Floats.
    rounding_method : RoundingMethod or int
        What becomes of halves: away from zero by default, where `cotangent.numpy.round` takes them to even numbers.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.round(ct.numpy.array([-0.5, 1.5, 2.5]))
    Array([-1.,  2.,  3.], dtype=float32)
    >>> ct.lax.round(ct.numpy.array([-0.5, 1.5, 2.5]), ct.lax.RoundingMethod.TO_NEAREST_EVEN)
    Array([-0.,  2.,  2.], dtype=float32)
    """
    method = RoundingMethod(rounding_method)
    array = as_array("round", x)
    check_kind("round", array, FLOATS)
    if method is RoundingMethod.TO_NEAREST_EVEN:
        return primitives.round(array)
    size = primitives.abs(array)
    whole = primitives.floor(size)
    up = primitives.ge(primitives.sub(size, whole), literal(size, 0.5))
    rounded = primitives.add(whole, choose(up, 1.0, literal(whole, 0.0)))
    return _elementary.with_sign(rounded, array)


def complex(x: Any, y: Any) -> Array:  # noqa: A001
    """The complex numbers ``x + i y``.

    Parameters
    ----------
    x, y : array
        The real and the imaginary parts: float32 or float64, shapes as of `add`.

    Returns
    -------
    array
        complex64 or complex128, of the common shape.

    Raises
    ------
    DTypeError
        The parts are narrower than float32, or of two dtypes.

    Examples
    --------
    >>> ct.lax.complex(ct.numpy.array([1.0, 2.0]), ct.numpy.array([0.5, -1.0]))
    Array([1.+0.5j, 2.-1.j ], dtype=complex64)
    """
    x, y = operands("complex", (x, y), FLOATS)
    if x.dtype.itemsize < 4:
        raise DTypeError(f"lax.complex takes float32 or float64 arrays; got {x.dtype}")
    return primitives.complex(x, y)


def real(x: Any) -> Array:
    """The real parts of complex numbers.

    Parameters
    ----------
    x : array
        Complex numbers; `cotangent.numpy.real` takes real ones, too.

    Returns
    -------
    array
        The parts, in the dtype that belongs to that of ``x``.

    Examples
    --------
    >>> ct.lax.real(ct.numpy.array([1.0 + 2.0j]))
    Array([1.], dtype=float32)
    """
    return unary(primitives.real, x, ("complex",))


def imag(x: Any) -> Array:
    """The imaginary parts of complex numbers.

    Parameters
    ----------
    x : array
        Complex numbers; `cotangent.numpy.imag` takes real ones, too.

    Returns
    -------
    array
        The parts, in the dtype that belongs to that of ``x``.

    Examples
    --------
    >>> ct.lax.imag(ct.numpy.array([1.0 + 2.0j]))
    Array([2.], dtype=float32)
    """
    return unary(primitives.imag, x, ("complex",))


def conj(x: Any) -> Array:
    """The complex conjugates.

    Floats become complex numbers, where `cotangent.numpy.conj` leaves them.

    Parameters
    ----------
    x : array
        Floats or complex numbers.

    Returns
    -------
    array
        Complex, of the shape of ``x``.

    Examples
    --------
    >>> ct.lax.conj(ct.numpy.array([1.0 + 2.0j]))
    Array([1.-2.j], dtype=complex64)
    """
    array = as_array("conj", x)
    check_kind("conj", array, INEXACTS)
    if kind(array) == "float":
        return complex(array, literal(array, 0.0))
    return primitives.conj(array)


check_arguments(globals())
