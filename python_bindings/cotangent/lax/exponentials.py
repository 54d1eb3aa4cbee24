"""Exponentials, logarithms, roots, circular and hyperbolic functions of each element."""

from __future__ import annotations

from typing import Any

from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops import elementary as _elementary
from cotangent._ops.binding import kind, literal
from cotangent._special.logistic import sigmoid
from cotangent.lax._operands import (
    FLOATS,
    INEXACTS,
    as_array,
    check_kind,
    operands,
    unary,
)

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "logistic",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]


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


check_arguments(globals())
