"""Integrals of elementary functions: exponential, sine, cosine and Fresnel integrals, Dawson's and Faddeeva's functions, dilogarithm.

Derivatives are the integrands. Formulas are those of the Digital Library of Mathematical Functions (DLMF, dlmf.nist.gov).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.per_element import by_precision, elementwise, polynomial
from cotangent._special import tables
from cotangent._special.exponential_integrals import series
from cotangent._special.support import fitted, floats, where_needed

__all__ = ["dawsn", "fresnel", "sici", "spence", "wofz"]
_DAWSON_FAR = 5.0  # from there on tables.DAWSON_FAR serves
_SPENCE_MIDDLE = 2.4  # up to that logarithm tables.SPENCE serves


# ---- Faddeeva's function and what follows from it --------------------------------------------------------------------


def _weideman(count: int) -> tuple[float, tuple[float, ...]]:
    """The scale and the coefficients, the highest first, of J. A. C. Weideman, "Computation of the complex error function", 1994."""
    points = 4 * count
    scale = math.sqrt(count / math.sqrt(2))
    theta = np.arange(-points + 1, points) * (math.pi / points)
    t = scale * np.tan(theta / 2)
    f = np.concatenate([[0.0], np.exp(-(t**2)) * (scale**2 + t**2)])
    coefficients = np.real(np.fft.fft(np.fft.fftshift(f))) / (2 * points)
    return scale, tuple(float(c) for c in coefficients[1 : count + 1][::-1])


_WEIDEMAN = {8: _weideman(22), 16: _weideman(42)}  # by the size of the complex number
# From which magnitude on how many terms of Laplace's fraction serve.
_LAPLACE = {8: (8.0, 6), 16: (12.0, 12)}


def _quotient(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    """``(a + b i) / (c + d i)``, of numbers whose squares neither overflow nor underflow."""
    inverse = 1 / (c * c + d * d)
    return (a * c + b * d) * inverse, (b * c - a * d) * inverse


@elementwise(lambda z, result: 2j / math.sqrt(math.pi) - 2 * z * result)
def _wofz(z: Array) -> Array:
    # By real and imaginary parts, of which products of complex numbers would compute more than there is.
    lower = ops.imag(z) < 0
    x = ops.where(lower, -ops.real(z), ops.real(z))  # w(-z) = 2 exp(-z**2) - w(z)
    y = ops.abs(ops.imag(z))
    limit, terms = _LAPLACE[z.dtype.itemsize]
    far = ops.abs(x) + y > limit
    scale, coefficients = _WEIDEMAN[z.dtype.itemsize]
    across, up = ops.where(far, 0.0, x), ops.where(far, 1.0, y)
    divisor = (scale + up) * (scale + up) + across * across
    q_real, q_imag = (scale + up) / divisor, across / divisor
    # (scale + i z) / (scale - i z)
    disc_real = ((scale - up) * (scale + up) - across * across) / divisor
    disc_imag = (2 * scale * across) / divisor
    real, imag = _core.full((), coefficients[0], x.dtype), _core.full((), 0.0, x.dtype)
    for coefficient in coefficients[1:]:
        real, imag = real * disc_real - imag * disc_imag + coefficient, real * disc_imag + imag * disc_real
    real, imag = q_real * real - q_imag * imag, q_real * imag + q_imag * real
    real, imag = 1 / math.sqrt(math.pi) + 2 * real, 2 * imag
    real, imag = q_real * real - q_imag * imag, q_real * imag + q_imag * real

    def of_fraction() -> tuple[Array, Array]:
        # DLMF 7.9.1, of all numbers over z, with 1 / z by what does not overflow.
        size = ops.where(far, ops.maximum(ops.abs(x), y), 20.0)
        a, b = ops.where(far, x, 20.0) / size, ops.where(far, y, 0.0) / size
        a, b = _quotient(1 / size, 0 * size, a, b)
        v, w = a * a - b * b, 2 * a * b
        c, d = ops.ones_like(x), ops.zeros_like(x)
        for k in range(terms, 0, -1):
            c, d = _quotient(v, w, c, d)
            c, d = 1 - (0.5 * k) * c, (-0.5 * k) * d
        c, d = _quotient(-b / math.sqrt(math.pi), a / math.sqrt(math.pi), c, d)
        return ops.where(size == ops.inf, 0.0, c), ops.where(size == ops.inf, 0.0, d)

    real, imag = where_needed(far, of_fraction, (real, imag))

    def of_lower() -> tuple[Array, Array]:
        # 2 exp(-z**2) by its parts: where it overflows, products of complex numbers would make NaN of infinity.
        growth = 2 * ops.exp(ops.where(lower, (y - x) * (y + x), 0.0))
        angle = ops.where((x == 0) | (growth == 0), 0.0, 2 * x * y)
        sine, cosine = ops.sin(angle), ops.cos(angle)
        return growth * cosine - real, ops.where(sine == 0, 0.0, -growth * sine) - imag

    real, imag = where_needed(lower, of_lower, (real, imag))
    result: Array = primitives.complex(real, imag)
    return result


def wofz(z: Any) -> Array:
    """Faddeeva's function ``exp(-z**2) erfc(-i z)`` of complex numbers.

    Above the real axis errors are below 32 units in the last place of the magnitude; below it the result grows like
    ``exp(-z**2)``, and its relative error like ``|z|**2``.

    Parameters
    ----------
    z : array
        Complex; real numbers are converted.

    Returns
    -------
    array
        Complex, of the shape of ``z``.

    References
    ----------
    - NIST Digital Library of Mathematical Functions, section 7.2.
    - J. A. C. Weideman, "Computation of the complex error function", 1994.

    Examples
    --------
    >>> ct.scipy.special.wofz(ct.numpy.array([1j])).round(4)
    Array([0.4276+0.j], dtype=complex64)
    """
    (array,) = _core.promote([z], inexact=True)
    if not ops.issubdtype(array.dtype, ops.complexfloating):
        array = array.astype(ops.result_type(array.dtype, ops.complex64))
    return _wofz(array)


def _dawsn_slope(x: Array, result: Array) -> Array:
    # 1 - 2 x times the function: far out without the difference.
    far = ops.abs(x) >= _DAWSON_FAR
    inverse = 1 / ops.where(far, x, _DAWSON_FAR)
    square = inverse * inverse
    slope: Array = ops.where(far, -square * fitted(square, tables, "DAWSON_FAR"), 1 - 2 * x * result)
    return slope


@elementwise(_dawsn_slope)
def _dawsn(x: Array) -> Array:
    magnitude = ops.abs(x)
    near, far = magnitude < 1.5, magnitude >= _DAWSON_FAR
    close = ops.where(near, x, 0.0)
    head = close * fitted(close * close, tables, "DAWSON_NEAR")

    def to_five() -> Array:
        y = ops.where(near | far, 2.0, magnitude)
        result: Array = ops.sign(x) * y * fitted(y, tables, "DAWSON_MIDDLE") / (1 + 2 * y * y)
        return result

    def beyond() -> Array:
        inverse = 1 / ops.where(far, x, _DAWSON_FAR)
        square = inverse * inverse
        result: Array = 0.5 * inverse * (1 + square * fitted(square, tables, "DAWSON_FAR"))
        return result

    result: Array = where_needed(far, beyond, where_needed(~near & ~far, to_five, head))
    return result


def dawsn(x: Any) -> Array:
    """Dawson's integral: ``exp(-x**2)`` times the integral of ``exp(t**2)`` from 0 to x.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 7.2.

    Examples
    --------
    >>> ct.scipy.special.dawsn(ct.numpy.array([0.5, 1.0])).round(4)
    Array([0.4244, 0.5381], dtype=float32)
    """
    return _dawsn(*floats("dawsn", x))


def _half_turns_of_square(x: Array) -> tuple[Array, Array]:
    """The cosine and sine of ``pi x**2 / 2``, for x >= 0, where the square itself would have no digits of the angle left."""
    # With x = 2 m + r: x**2 = 4 m (m + r) + r**2, and only m r modulo 1 counts. Half of the digits of r at a time times m are
    # exact, while m is below 2**12 or 2**26; from 2**13 or 2**27 on r has few digits enough.
    m = ops.round(0.5 * x)
    r = x - 2 * m
    digits = by_precision(x, 2.0**12, 2.0**26)
    high = ops.round(r * digits) / digits
    first, second = m * high, m * (r - high)
    turns = (first - ops.round(first)) + (second - ops.round(second))
    turns = turns - ops.round(turns)
    angle = 2 * math.pi * turns + 0.5 * math.pi * r * r
    return ops.cos(angle), ops.sin(angle)


def _fresnel_pair(x: Array) -> tuple[Array, Array]:
    magnitude = ops.abs(x)
    small = magnitude < 1.6
    close = ops.where(small, magnitude, 1.0)
    quarter = (0.5 * math.pi * close * close) ** 2
    # DLMF 7.6.4 and 7.6.6
    sine = series((math.pi / 6) * close**3, lambda n: -quarter * (4 * n - 1) / ((4 * n + 3) * (2 * n) * (2 * n + 1)))
    cosine = series(close, lambda n: -quarter * (4 * n - 3) / ((4 * n + 1) * (2 * n - 1) * (2 * n)))
    # DLMF 7.5.3 and 7.5.4: from the auxiliary functions f and g, and the angle pi x**2 / 2.
    far = ops.where(small, 2.0, magnitude)
    inverse = 1 / far
    square = inverse * inverse
    f = fitted(square, tables, "FRESNEL_F") * (inverse / math.pi)
    g = fitted(square, tables, "FRESNEL_G") * (inverse * square / math.pi**2)
    cosine_of_angle, sine_of_angle = _half_turns_of_square(far)
    far_sine = 0.5 - (f * cosine_of_angle + g * sine_of_angle)
    far_cosine = 0.5 + (f * sine_of_angle - g * cosine_of_angle)
    sine = ops.where(small, sine, far_sine)
    cosine = ops.where(small, cosine, far_cosine)
    infinite = ops.isinf(x)
    sign = ops.sign(x)
    return sign * ops.where(infinite, 0.5, sine), sign * ops.where(infinite, 0.5, cosine)


@elementwise(lambda x, result: _half_turns_of_square(ops.abs(x))[1])
def _fresnel_sine(x: Array) -> Array:
    return _fresnel_pair(x)[0]


@elementwise(lambda x, result: _half_turns_of_square(ops.abs(x))[0])
def _fresnel_cosine(x: Array) -> Array:
    return _fresnel_pair(x)[1]


def fresnel(x: Any) -> tuple[Array, Array]:
    """The Fresnel integrals of ``sin(pi t**2 / 2)`` and ``cos(pi t**2 / 2)`` from 0 to x.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    (array, array)
        S and C, of the shape of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 7.2.

    Examples
    --------
    >>> s, c = ct.scipy.special.fresnel(ct.numpy.array([1.0]))
    >>> s.round(4), c.round(4)
    (Array([0.4383], dtype=float32), Array([0.7799], dtype=float32))
    """
    (x,) = floats("fresnel", x)
    return _fresnel_sine(x), _fresnel_cosine(x)


# ---- sine and cosine integrals ---------------------------------------------------------------------------------------


def _sici_auxiliary(x: Array) -> tuple[Array, Array]:
    """The auxiliary functions f and g (DLMF 6.2.17 and 6.2.18) for x >= 4."""
    inverse = 1 / x
    t = ops.where(x > 1e30, 1.0, (x - 8) / (x + 8))
    return fitted(t, tables, "SICI_F") * inverse, fitted(t, tables, "SICI_G") * (inverse * inverse)


def _sin_over(x: Array, result: Array) -> Array:
    """``sin(x) / x``; by its series near 0, where derivatives of the quotient would cancel."""
    near = ops.abs(x) < 0.5
    square = ops.where(near, x * x, 0.0)
    series_ = polynomial(
        square, tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(by_precision(x, 5, 9)))[::-1]
    )
    away = ops.where(near, 1.0, x)
    slope: Array = ops.where(near, series_, ops.sin(away) / away)
    return slope


@elementwise(_sin_over)
def _si(x: Array) -> Array:
    magnitude = ops.abs(x)
    near = magnitude < 4
    close = ops.where(near, x, 0.0)

    def beyond() -> Array:
        # DLMF 6.2.19
        far = ops.where(near | (magnitude == ops.inf), 5.0, magnitude)
        f, g = _sici_auxiliary(far)
        sine = 0.5 * math.pi - (f * ops.cos(far) + g * ops.sin(far))
        result: Array = ops.sign(x) * ops.where(magnitude == ops.inf, 0.5 * math.pi, sine)
        return result

    result: Array = where_needed(~near, beyond, close * fitted(close * close, tables, "SI_NEAR"))
    return result


@elementwise(lambda x, result: ops.cos(x) / x)
def _ci(x: Array) -> Array:
    # Of negative numbers the real part; of minus infinity there is none.
    magnitude = ops.abs(x)
    near, first = magnitude < 4, magnitude <= 2
    close = ops.where(first & (x != 0), magnitude, 1.0)
    square = close * close
    value = np.euler_gamma + ops.log(close) + square * fitted(square, tables, "CI_NEAR")

    def around_root() -> Array:
        # Where these would cancel, the distance from the zero times a polynomial.
        root, rest = by_precision(x, tables.CI_ROOT32, tables.CI_ROOT)
        middle = ops.where(near & ~first, magnitude, 3.0)
        result: Array = ((middle - root) - rest) * fitted(middle, tables, "CI")
        return result

    def beyond() -> Array:
        # DLMF 6.2.20
        far = ops.where(near | (magnitude == ops.inf), 5.0, magnitude)
        f, g = _sici_auxiliary(far)
        cosine = f * ops.sin(far) - g * ops.cos(far)
        result: Array = ops.where(x == ops.inf, 0.0, ops.where(x == -ops.inf, ops.nan, cosine))
        return result

    value = where_needed(near & ~first, around_root, value)
    value = where_needed(~near, beyond, value)
    result: Array = ops.where(x == 0, -ops.inf, value)
    return result


def sici(x: Any) -> tuple[Array, Array]:
    """The sine and cosine integrals: of ``sin(t) / t`` from 0 to x, and of ``-cos(t) / t`` from x to infinity.

    Of negative x, Ci is its real part. Near its zeros, that between 3 and 4 excepted, the absolute error of Ci is a
    few units in the last place of 1/x, or of 1/4.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    (array, array)
        Si and Ci, of the shape of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 6.2.

    Examples
    --------
    >>> si, ci = ct.scipy.special.sici(ct.numpy.array([1.0]))
    >>> si.round(4), ci.round(4)
    (Array([0.9461], dtype=float32), Array([0.3374], dtype=float32))
    """
    (x,) = floats("sici", x)
    return _si(x), _ci(x)


# ---- the dilogarithm -------------------------------------------------------------------------------------------------


def _spence_slope(x: Array, result: Array) -> Array:
    one = ops.abs(x - 1) < 1e-4
    away = ops.where(one, 2.0, x)
    t = x - 1
    slope: Array = ops.where(one, -(1 - t * (0.5 - t / 3)), ops.log(away) / (1 - away))
    return slope


@elementwise(_spence_slope)
def _spence(x: Array) -> Array:
    """The dilogarithm of 1 - x (DLMF 25.12)."""

    def of_log(w: Array) -> Array:
        # The dilogarithm of 1 - exp(-w): the sum of B_n w^(n + 1) / (n + 1)!, of whose terms one is even.
        square = w * w
        return w * fitted(square, tables, "SPENCE") - 0.25 * square

    ordinary = x > 0
    logarithm = ops.log(ops.where(ordinary, x, 1.0))
    middle = ops.abs(logarithm) <= _SPENCE_MIDDLE
    value = of_log(ops.where(middle, -logarithm, 0.0))

    def reflected() -> Array:
        # 25.12.6 between y and 1 - y, 25.12.4 between x and 1 / x.
        large = x > 1
        y = ops.where(large, 1 / ops.where(large, x, 1.0), x)
        log_rest = ops.log1p(-y)
        product = ops.where(y == 0, 0.0, ops.abs(logarithm) * log_rest)
        result = math.pi**2 / 6 + product - of_log(-log_rest)
        result = ops.where(large, -0.5 * logarithm * logarithm - result, result)
        at_zero: Array = ops.where(x == 0, math.pi**2 / 6, ops.where(ordinary, result, ops.nan))
        return at_zero

    return where_needed(~(middle & ordinary), reflected, value)


def spence(x: Any) -> Array:
    """Spence's function: the dilogarithm of ``1 - x``; NaN for negative numbers.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 25.12.

    Examples
    --------
    >>> ct.scipy.special.spence(ct.numpy.array([0.0, 2.0])).round(4)
    Array([ 1.6449, -0.8225], dtype=float32)
    """
    return _spence(*floats("spence", x))


check_arguments(globals())
