"""Roots, exponentials and logarithms of each element."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, entrance
from cotangent._ops import elementary as _elementary
from cotangent._ops.binding import choose, inexact, kind, literal, ordered, real_only, unary
from cotangent._ops.division import remainder

__all__ = ["cbrt", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt"]


_LOG2 = math.log(2.0)


@entrance("unary", primitives.sqrt)
def sqrt(x: Any, /) -> Array:
    """The square root of each element; NaN of negative reals.

    The derivative at 0 is infinite. Of complex numbers it is the root with a real part that is not negative.

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
    >>> ct.numpy.sqrt([4.0, 2.25])
    Array([2. , 1.5], dtype=float32)

    >>> ct.numpy.sqrt([-4.0 + 0j])
    Array([0.+2.j], dtype=complex64)
    """
    return unary(primitives.sqrt, x)


def cbrt(x: Any, /) -> Array:
    """The real cube root of each element, also of negative ones.

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
    >>> ct.numpy.cbrt([27.0, -8.0])
    Array([ 3., -2.], dtype=float32)
    """
    return _elementary.cbrt(real_only(x, "cbrt"))


@entrance("unary", primitives.exp)
def exp(x: Any, /) -> Array:
    """The exponential function, e to the power of each element.

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
    >>> ct.numpy.exp([0.0, 1.0]).round(4)
    Array([1.    , 2.7183], dtype=float32)
    """
    return unary(primitives.exp, x)


def exp2(x: Any, /) -> Array:
    """Two to the power of each element; exact for whole numbers.

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
    >>> ct.numpy.exp2([3.0, -1.0])
    Array([8. , 0.5], dtype=float32)
    """
    return _elementary.exp2(inexact(x))


@entrance("unary", primitives.expm1)
def expm1(x: Any, /) -> Array:
    """``exp(x) - 1`` of each element, accurate where ``x`` is near 0.

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
    >>> float(ct.numpy.expm1(np.float64(1e-10)) / 1e-10) < 1.0000000002
    True
    """
    return unary(primitives.expm1, x)


@entrance("unary", primitives.log)
def log(x: Any, /) -> Array:
    """The natural logarithm of each element; -inf of 0, NaN of negative reals.

    Of complex numbers it is the principal value: its imaginary part is in (-pi, pi].

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
    >>> ct.numpy.log([1.0, 10.0]).round(4)
    Array([0.    , 2.3026], dtype=float32)
    """
    return unary(primitives.log, x)


@entrance("unary", primitives.log1p)
def log1p(x: Any, /) -> Array:
    """``log(1 + x)`` of each element, accurate where ``x`` is near 0.

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
    >>> ct.numpy.log1p([0.0, 1.0]).round(4)
    Array([0.    , 0.6931], dtype=float32)
    """
    return unary(primitives.log1p, x)


def log2(x: Any, /) -> Array:
    """The logarithm to base 2 of each element; -inf of 0, NaN of negative reals.

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
    >>> ct.numpy.log2([8.0, 0.25])
    Array([ 3., -2.], dtype=float32)
    """
    return _over(unary(primitives.log, x), _LOG2)


def log10(x: Any, /) -> Array:
    """The logarithm to base 10 of each element; -inf of 0, NaN of negative reals.

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
    >>> ct.numpy.log10([1000.0, 0.1]).round(4)
    Array([ 3., -1.], dtype=float32)
    """
    return _over(unary(primitives.log, x), math.log(10.0))


def _times(x: Array, factor: float) -> Array:
    """``x`` times a real number."""
    return x if factor == 1.0 else primitives.mul(x, literal(x, factor))


def _over(x: Array, divisor: float) -> Array:
    """``x`` divided by a real number, a complex one part by part: an infinite part leaves the other one alone."""
    if divisor == 1.0:
        return x
    if kind(x) != "complex":
        return primitives.div(x, literal(x, divisor))
    return primitives.complex(*(_over(part(x), divisor) for part in (primitives.real, primitives.imag)))


def logaddexp(x: Any, y: Any, /) -> Array:
    """The logarithm of a sum of exponentials, ``log(exp(x) + exp(y))``, without overflow.

    Where the result is near 0, its absolute error is a unit in the last place of the larger magnitude of the two.
    Imaginary parts of results are in [-pi, pi].

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
    >>> ct.numpy.logaddexp([1000.0], [1000.0]).round(3)
    Array([1000.693], dtype=float32)
    """
    x, y = _core.promote([x, y], inexact=True)
    return _log_sum(x, y)


def _log_sum(x: Array, y: Array, unit: float = 1.0) -> Array:
    """`logaddexp` of operands of one dtype, of powers of ``e ** unit``; with imaginary parts from -pi to pi over the unit."""
    difference = primitives.sub(x, y)
    undefined = primitives.ne(difference, difference)  # NaN, or equal infinities
    # Written with a choice instead of |x - y|, so that derivatives of every order are right where x == y.
    below = ordered(primitives.lt, difference, literal(difference, 0.0))
    gap = primitives.select(below, difference, primitives.neg(difference))
    ratio = primitives.exp(_times(choose(undefined, 0.0, gap), unit))
    result = primitives.select(below, y, x) + _over(primitives.log1p(ratio), unit)
    if kind(result) != "complex":
        # Of equal infinities each has half of the derivative, as equal numbers have.
        half = literal(x, 0.5)
        return primitives.select(undefined, primitives.add(primitives.mul(x, half), primitives.mul(y, half)), result)
    result = primitives.select(undefined, primitives.add(x, y), result)
    angle, half_turn = primitives.imag(result), math.pi / unit
    angle = remainder(angle + half_turn, 2 * half_turn) - half_turn
    return primitives.complex(primitives.real(result), angle)


def logaddexp2(x: Any, y: Any, /) -> Array:
    """The logarithm to base 2 of a sum of powers of 2, ``log2(2**x + 2**y)``, without overflow.

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
    >>> ct.numpy.logaddexp2([3.0, 500.0], [3.0, 500.0])
    Array([  4., 501.], dtype=float32)
    """
    x, y = _core.promote([x, y], inexact=True)
    return _log_sum(x, y, _LOG2)


check_arguments(globals())
