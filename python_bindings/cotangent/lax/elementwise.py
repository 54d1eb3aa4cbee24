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
    """Where `round` takes halves to."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


# ---- Arithmetic ------------------------------------------------------------------------------------------------------


def neg(x: Any) -> Array:
    """``-x``; unsigned integers wrap."""
    return unary(primitives.neg, x, NUMBERS)


def sign(x: Any) -> Array:
    """-1, 0 or 1; NaN of NaN; of complex z, ``z / |z|``."""
    return unary(primitives.sign, x, NUMBERS)


def abs(x: Any) -> Array:  # noqa: A001
    """The magnitude; of complex numbers, real."""
    return unary(primitives.abs, x, ("signed", *INEXACTS))


def add(x: Any, y: Any) -> Array:
    """``x + y``.

    >>> import cotangent as ct
    >>> ct.lax.add(ct.numpy.array([1.0, 2.0]), 0.5).tolist()
    [1.5, 2.5]
    """
    return binary(primitives.add, x, y, NUMBERS)


def sub(x: Any, y: Any) -> Array:
    """``x - y``."""
    return binary(primitives.sub, x, y, NUMBERS)


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Array:
    """``x * y``, in ``out_dtype`` when it is given: the operands may then have several dtypes."""
    if out_dtype is not None:
        x, y = _core.convert(x, out_dtype), _core.convert(y, out_dtype)
    x, y = operands("mul", (x, y), NUMBERS)
    return primitives.mul(x, y)


def div(x: Any, y: Any) -> Array:
    """``x / y``; of integers, truncated toward zero."""
    return binary(primitives.div, x, y, NUMBERS)


def rem(x: Any, y: Any) -> Array:
    """The remainder of `div`, with the sign of ``x``."""
    return binary(primitives.rem, x, y, REALS)


def max(x: Any, y: Any) -> Array:  # noqa: A001
    """The larger of two, NaN if either is; complex numbers by real part, then imaginary part."""
    return _extremum(primitives.max, primitives.gt, x, y)


def min(x: Any, y: Any) -> Array:  # noqa: A001
    """The smaller of two, NaN if either is; complex numbers by real part, then imaginary part."""
    return _extremum(primitives.min, primitives.lt, x, y)


def _extremum(primitive: Primitive, before: Primitive, x: Any, y: Any) -> Array:
    x, y = operands(primitive.name, (x, y), ANY)
    if kind(x) != "complex":
        return primitive(x, y)
    (a, b), (c, d) = ((primitives.real(z), primitives.imag(z)) for z in (x, y))
    tie = primitives.and_(primitives.eq(a, c), before(b, d))
    return primitives.select(primitives.or_(before(a, c), tie), x, y)


def square(x: Any) -> Array:
    """``x * x``."""
    array = as_array("square", x)
    check_kind("square", array, NUMBERS)
    return primitives.mul(array, array)


def reciprocal(x: Any) -> Array:
    """``1 / x``."""
    array = as_array("reciprocal", x)
    check_kind("reciprocal", array, INEXACTS)
    return primitives.div(literal(array, 1.0), array)


@own
def pow(x: Any, y: Any) -> Array:  # noqa: A001
    """``x ** y``; the base is floating or complex, the exponent of its dtype or an integer."""
    base, exponent = as_array("pow", x), as_array("pow", y)
    check_kind("pow", base, INEXACTS)
    if kind(exponent) in INTEGERS:
        if isinstance(y, int):
            return integer_pow(base, y)
        return binary(primitives.pow, base, _core.convert(exponent, base.dtype), INEXACTS)
    return binary(primitives.pow, x, y, INEXACTS)


@own
def integer_pow(x: Any, y: int) -> Array:
    """``x ** y`` by multiplications.

    Raises:
        TypeError: an integer to a negative power.
    """
    array, exponent = as_array("integer_pow", x), static_int(y, "the exponent of integer_pow")
    check_kind("integer_pow", array, NUMBERS)
    if exponent < 0 and kind(array) in INTEGERS:
        raise TypeError(f"lax.integer_pow: integers cannot be raised to the negative power {exponent}")
    return integer_power(array, exponent)


# ---- Comparisons -----------------------------------------------------------------------------------------------------


def eq(x: Any, y: Any) -> Array:
    """Whether ``x == y``."""
    return binary(primitives.eq, x, y, ANY)


def ne(x: Any, y: Any) -> Array:
    """Whether ``x != y``."""
    return binary(primitives.ne, x, y, ANY)


def lt(x: Any, y: Any) -> Array:
    """Whether ``x < y``."""
    return binary(primitives.lt, x, y, ORDERED)


def le(x: Any, y: Any) -> Array:
    """Whether ``x <= y``."""
    return binary(primitives.le, x, y, ORDERED)


def gt(x: Any, y: Any) -> Array:
    """Whether ``x > y``."""
    return binary(primitives.gt, x, y, ORDERED)


def ge(x: Any, y: Any) -> Array:
    """Whether ``x >= y``."""
    return binary(primitives.ge, x, y, ORDERED)


def is_finite(x: Any) -> Array:
    """Whether the elements are neither infinite nor NaN."""
    return unary(primitives.is_finite, x, FLOATS)


# ---- Choices ---------------------------------------------------------------------------------------------------------


def select(pred: Any, on_true: Any, on_false: Any) -> Array:
    """Elements of ``on_true`` where ``pred`` holds, else of ``on_false``.

    Raises:
        ShapeError: the cases have unequal shapes, or ``pred`` has neither theirs nor ().
    """
    return _choose_case("select", pred, (on_false, on_true))


def select_n(which: Any, *cases: Any) -> Array:
    """From case ``which`` each element.

    Args:
        which: bool for one or two cases (False the first), or int32 indices, limited to the cases there are; a scalar or
            of the cases' shape.
        cases: arrays of one shape and dtype.

    >>> import cotangent as ct
    >>> a = ct.numpy.arange(3)
    >>> ct.lax.select_n(ct.numpy.array([0, 2, 1]), a, a + 10, a + 20).tolist()
    [0, 21, 12]
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
    """``x`` limited to [min, max]; the ends are scalars or have its shape.

    At an end, ``x`` and the end have half of the derivative each, as by `numpy.clip`.
    """
    low, array, high = one_dtype("clamp", (min, x, max))
    check_kind("clamp", array, ORDERED)
    for end in (low, high):
        if end.ndim and not alike(end, array):
            raise ShapeError(f"lax.clamp: the ends must be scalars or have shape {array.shape}; got {end.shape}")
    return primitives.min(primitives.max(array, stretched(low, array)), stretched(high, array))


def stop_gradient(x: Any) -> Any:
    """``x`` with zero derivative; leaf by leaf on a pytree."""
    return tree_map(lambda leaf: primitives.stop_gradient(leaf), x)


def optimization_barrier(operand: Any, /) -> Any:
    """``operand``, a pytree of arrays. The compiler here moves nothing that this could hold back."""
    return tree_map(lambda leaf: apart(_core.array(leaf), leaf), operand)


# ---- Exponentials and logarithms -------------------------------------------------------------------------------------


def exp(x: Any, *, accuracy: Any = None) -> Array:
    """``e ** x``."""
    return unary(primitives.exp, x, INEXACTS)


def exp2(x: Any, *, accuracy: Any = None) -> Array:
    """``2 ** x``."""
    return _function("exp2", x)


def expm1(x: Any, *, accuracy: Any = None) -> Array:
    """``exp(x) - 1``, accurate near 0."""
    return unary(primitives.expm1, x, INEXACTS)


def log(x: Any, *, accuracy: Any = None) -> Array:
    """The natural logarithm."""
    return unary(primitives.log, x, INEXACTS)


def log1p(x: Any, *, accuracy: Any = None) -> Array:
    """``log(1 + x)``, accurate near 0."""
    return unary(primitives.log1p, x, INEXACTS)


def sqrt(x: Any, *, accuracy: Any = None) -> Array:
    """The square root."""
    return unary(primitives.sqrt, x, INEXACTS)


def rsqrt(x: Any, *, accuracy: Any = None) -> Array:
    """``1 / sqrt(x)``."""
    return _function("rsqrt", x)


def cbrt(x: Any, *, accuracy: Any = None) -> Array:
    """The real cube root."""
    return _function("cbrt", x, FLOATS)


def logistic(x: Any, *, accuracy: Any = None) -> Array:
    """``1 / (1 + exp(-x))``."""
    array = as_array("logistic", x)
    check_kind("logistic", array, INEXACTS)
    return sigmoid(array)


# ---- Circular and hyperbolic functions -------------------------------------------------------------------------------


def _function(name: str, x: Any, kinds: Any = INEXACTS) -> Array:
    array = as_array(name, x)
    check_kind(name, array, kinds)
    return getattr(_elementary, name)(array)  # type: ignore[no-any-return]


def sin(x: Any, *, accuracy: Any = None) -> Array:
    """The sine."""
    return unary(primitives.sin, x, INEXACTS)


def cos(x: Any, *, accuracy: Any = None) -> Array:
    """The cosine."""
    return unary(primitives.cos, x, INEXACTS)


def tan(x: Any, *, accuracy: Any = None) -> Array:
    """The tangent."""
    return _function("tan", x)


def asin(x: Any) -> Array:
    """The inverse sine."""
    return _function("asin", x)


def acos(x: Any) -> Array:
    """The inverse cosine."""
    return _function("acos", x)


def atan(x: Any) -> Array:
    """The inverse tangent."""
    return _function("atan", x)


def atan2(x: Any, y: Any) -> Array:
    """The angle of the point (y, x), in (-pi, pi]; of complex numbers ``-i log((y + i x) / sqrt(x**2 + y**2))``."""
    x, y = operands("atan2", (x, y), INEXACTS)
    if kind(x) != "complex":
        return primitives.atan2(x, y)
    i = literal(x, 1j)
    return -i * primitives.log((y + i * x) / primitives.sqrt(x * x + y * y))


def tanh(x: Any, *, accuracy: Any = None) -> Array:
    """The hyperbolic tangent."""
    return unary(primitives.tanh, x, INEXACTS)


def sinh(x: Any) -> Array:
    """The hyperbolic sine."""
    return _function("sinh", x)


def cosh(x: Any) -> Array:
    """The hyperbolic cosine."""
    return _function("cosh", x)


def asinh(x: Any) -> Array:
    """The inverse hyperbolic sine."""
    return _function("asinh", x)


def acosh(x: Any) -> Array:
    """The inverse hyperbolic cosine."""
    return _function("acosh", x)


def atanh(x: Any) -> Array:
    """The inverse hyperbolic tangent."""
    return _function("atanh", x)


# ---- Rounding, complex parts -----------------------------------------------------------------------------------------


def floor(x: Any) -> Array:
    """Rounded down."""
    return unary(primitives.floor, x, FLOATS)


def ceil(x: Any) -> Array:
    """Rounded up."""
    return unary(primitives.ceil, x, FLOATS)


def round(x: Any, rounding_method: Any = RoundingMethod.AWAY_FROM_ZERO) -> Array:  # noqa: A001
    """Rounded to whole numbers; halves as `RoundingMethod` says.

    >>> import cotangent as ct
    >>> ct.lax.round(ct.numpy.array([-0.5, 1.5, 2.5])).tolist()
    [-1.0, 2.0, 3.0]
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
    """``x + i y`` of float32 or float64 parts."""
    x, y = operands("complex", (x, y), FLOATS)
    if x.dtype.itemsize < 4:
        raise DTypeError(f"lax.complex takes float32 or float64 arrays; got {x.dtype}")
    return primitives.complex(x, y)


def real(x: Any) -> Array:
    """The real part of complex numbers."""
    return unary(primitives.real, x, ("complex",))


def imag(x: Any) -> Array:
    """The imaginary part of complex numbers."""
    return unary(primitives.imag, x, ("complex",))


def conj(x: Any) -> Array:
    """The conjugate; floats become complex."""
    array = as_array("conj", x)
    check_kind("conj", array, INEXACTS)
    if kind(array) == "float":
        return complex(array, literal(array, 0.0))
    return primitives.conj(array)


check_arguments(globals())
