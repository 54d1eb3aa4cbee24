"""Integrals of elementary functions: exponential, sine, cosine and Fresnel integrals, Dawson's and Faddeeva's functions, dilogarithm.

Derivatives are the integrands. Formulas are those of the Digital Library of Mathematical Functions (DLMF, dlmf.nist.gov).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.per_element import by_precision, elementwise, polynomial
from cotangent._special import tables
from cotangent._special.error import erf, ndtr_of_one
from cotangent._special.gammas import digamma, lgamma
from cotangent._special.support import fitted, floats, where_needed
from cotangent._transforms.control_flow import while_loop

__all__ = ["dawsn", "exp1", "expi", "expn", "fresnel", "ndtr", "owens_t", "sici", "spence", "wofz"]

_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_DAWSON_FAR = 5.0  # from there on tables.DAWSON_FAR serves
_SPENCE_MIDDLE = 2.4  # up to that logarithm tables.SPENCE serves
_MOST_TERMS = 500


def _epsilon(x: Array) -> float:
    return by_precision(x, 2.0**-24, 2.0**-53)  # type: ignore[no-any-return]


def series(
    first: Array, ratio: Callable[[Array], Array], limit: int = _MOST_TERMS, at_least: Array | float = 0.0
) -> Array:
    """``first + first * ratio(1) + first * ratio(1) * ratio(2) + …`` until terms no longer count and fall, after ``at_least``."""
    tolerance = 0.25 * _epsilon(ops.real(first))
    real = ops.real(first).dtype

    def unfinished(state: Any) -> Array:
        n, term, total, grows = state
        more: Array = (
            ((ops.abs(term) > tolerance * ops.abs(total)) | grows | (n <= at_least)) & (term != 0) & (n < limit)
        )
        return more

    def add(state: Any) -> Any:
        n, term, total, _ = state
        factor = ratio(n)
        term = term * factor
        return n + 1, term, total + term, (ops.abs(factor) >= 1) & (term != 0)

    start = (_core.full((), 1.0, real), first, first, _core.full((), False, "bool"))
    result: Array = while_loop(unfinished, add, start)[2]
    return result


# ---- the exponential integrals ---------------------------------------------------------------------------------------


def _expn_slope(n: Array, x: Array, result: Array) -> Array:
    # DLMF 8.19.12 where the order n - 1 is none that _expn takes.
    below = (n < 2) & (n != 1)
    slope: Array = ops.where(below, ((n - 1) * result - ops.exp(-x)) / x, -_expn(ops.maximum(n - 1, 0.0), x))
    return slope


@elementwise(None, _expn_slope)
def _expn(n: Array, x: Array) -> Array:
    """For x >= 0 and a whole number n >= 0, or x > 1 and any n >= 1."""
    zero = n == 0
    near = x <= 0.5  # above, the sum of higher orders cancels
    without_formula = (ops.floor(n) != n) & ((x <= 1) | (n < 1))
    order = ops.maximum(n, 1)
    # DLMF 8.9.2, from its end: errors of later steps are damped by the earlier ones, where a product of convergents adds them up.
    far = ops.where(near, 2.0, x)
    most = ops.floor(by_precision(x, 28.0, 112.0) / far) + by_precision(x, 6.0, 10.0)

    def outward(state: Any) -> Any:
        k, denominator = state
        return k - 1, (order - 1 + far + (2 * k - 1)) - k * (order - 1 + k) / denominator

    fraction = while_loop(lambda state: state[0] > 0, outward, (most, far + order + 2 * most))[1]
    tail = ops.exp(-far) / fraction
    # DLMF 8.19.8: a sum over k, where the term of k = n - 1 has a logarithm instead.
    close = ops.where(near & (x > 0), x, 0.5)

    def add(state: Any) -> Any:
        k, power, total, _ = state
        special = k == order - 1
        term = ops.where(special, 0.0, -power / ops.where(special, 1.0, k - order + 1))
        return k + 1, power * -close / (k + 1), total + term, ops.where(special, 1.0, term)

    tolerance = 0.25 * _epsilon(x)
    one = ops.ones_like(x)
    at_pole = ops.exp((order - 1) * ops.log(close) - _log_factorial(order - 1)) * ops.where(
        ops.floor(order / 2) * 2 == order, -1.0, 1.0
    )
    start = at_pole * (digamma(order) - ops.log(close))
    unfinished = lambda s: ((ops.abs(s[3]) > tolerance * ops.abs(s[2])) | (s[0] <= order)) & (s[0] < _MOST_TERMS)  # noqa: E731
    head = while_loop(unfinished, add, (0 * one, one, start, one))[2]
    result = ops.where(near, head, tail)
    result = ops.where(x == 0, ops.where(order > 1, 1 / ops.maximum(order - 1, 0.5), ops.inf), result)
    result = ops.where(zero, ops.exp(-x) / x, result)
    result = ops.where(x == ops.inf, 0.0, result)
    value: Array = ops.where((x < 0) | (n < 0) | ops.isnan(x) | without_formula, ops.nan, result)
    return value


def _log_factorial(n: Array) -> Array:
    return lgamma(n + 1)


def expn(n: Any, x: Any) -> Array:
    """The exponential integral of order n: the integral of ``exp(-x t) / t**n`` from t = 1 to infinity.

    For whole n >= 0, and for other n >= 1 where x > 1; NaN for others and for negative x.

    Parameters
    ----------
    n : array
        The order; real.
    x : array
        From 0 on; real.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 8.19.

    Examples
    --------
    >>> ct.scipy.special.expn(2, ct.numpy.array([0.5, 2.0])).round(4)
    Array([0.3266, 0.0375], dtype=float32)
    """
    return _expn(*floats("expn", n, x))


@elementwise(lambda x, result: -ops.exp(-x) / x)
def _exp1(x: Array) -> Array:
    near = x <= 1
    # DLMF 6.6.2
    close = ops.where(near & (x > 0), x, 0.5)
    head = series(close, lambda n: -close * n / ((n + 1) * (n + 1))) - (np.euler_gamma + ops.log(close))
    far = ops.where(near, 1.0, x)
    large = far > 1e15  # the quotient of infinities would be NaN
    bounded = ops.where(large, 1e15, far)
    tail = fitted((bounded - 2) / (bounded + 2), tables, "E1_FAR") / far * ops.exp(-far)
    result = ops.where(x == 0, ops.inf, ops.where(near, head, tail))
    value: Array = ops.where(x >= 0, result, ops.nan)
    return value


def exp1(x: Any) -> Array:
    """The exponential integral of order 1; NaN for negative numbers.

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
    NIST Digital Library of Mathematical Functions, sections 6.2 and 6.6.

    Examples
    --------
    >>> ct.scipy.special.exp1(ct.numpy.array([0.5, 1.0])).round(4)
    Array([0.5598, 0.2194], dtype=float32)
    """
    return _exp1(*floats("exp1", x))


@elementwise(lambda x, result: ops.exp(x) / x)
def _expi(x: Array) -> Array:
    negative = x < 0
    below = -_exp1(ops.where(negative, -x, 1.0))
    large = x > by_precision(x, 20.0, 45.0)
    near = ops.where(negative | large | (x == 0), 1.0, x)
    # DLMF 6.6.2; the sum is x + x^2 / (2 2!) + …
    total = series(near, lambda n: near * n / ((n + 1) * (n + 1)))
    head = (np.euler_gamma + ops.log(near)) + total
    # DLMF 6.12.2, cut off where its terms grow.
    far = ops.where(large, x, 50.0)
    tail = ops.exp(far) / far * series(ops.ones_like(x), lambda n: ops.where(n < far, n / far, 0.0))
    result = ops.where(negative, below, ops.where(large, tail, head))
    value: Array = ops.where(x == 0, -ops.inf, ops.where(ops.isinf(x), ops.maximum(x, 0.0), result))
    return value


def expi(x: Any) -> Array:
    """The exponential integral Ei: the principal value of the integral of ``exp(t) / t`` from minus infinity to x.

    Near its zero at 0.3725 the absolute error is a few units in the last place of 1/4.

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
    NIST Digital Library of Mathematical Functions, sections 6.2 and 6.6.

    Examples
    --------
    >>> ct.scipy.special.expi(ct.numpy.array([-1.0, 1.0])).round(4)
    Array([-0.2194,  1.8951], dtype=float32)
    """
    return _expi(*floats("expi", x))


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


# ---- the normal distribution -----------------------------------------------------------------------------------------


def ndtr(x: Any) -> Array:
    """The standard normal distribution function: the probability of a sample up to ``x``.

    It keeps its digits far below 0, where it is small.

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
    NIST Digital Library of Mathematical Functions, section 7.20.

    Examples
    --------
    >>> ct.scipy.special.ndtr(ct.numpy.array([0.0, 1.96])).round(4)
    Array([0.5  , 0.975], dtype=float32)
    """
    return ndtr_of_one(*floats("ndtr", x))


_NODES, _WEIGHTS = (tuple(float(v) for v in values) for values in np.polynomial.legendre.leggauss(24))


def _owens_t_in_h(h: Array, a: Array, result: Array) -> Array:
    slope: Array = -ops.exp(-0.5 * h * h) / (2 * _ROOT_TWO_PI) * erf(a * h * math.sqrt(0.5))
    return slope


def _owens_t_in_a(h: Array, a: Array, result: Array) -> Array:
    square = 1 + a * a
    slope: Array = ops.exp(-0.5 * h * h * square) / (2 * math.pi * square)
    return slope


@elementwise(_owens_t_in_h, _owens_t_in_a)
def _owens_t(h: Array, a: Array) -> Array:
    h, slope = ops.abs(h), ops.abs(a)
    steep = slope > 1
    # T(h, a) = (Phi(h) + Phi(ah)) / 2 - Phi(h) Phi(ah) - T(ah, 1 / a), written with tails (Owen, 1956).
    height = ops.where(steep, slope * h, h)
    width = ops.where(steep, 1 / ops.where(steep, slope, 1.0), slope)
    # Beyond nine standard deviations nothing counts, and the nodes must not be spent there.
    half = 0.5 * ops.minimum(width, 9 / ops.maximum(height, 1.0))
    total = ops.zeros_like(h)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        square = 1 + (half * (1 + node)) ** 2
        total = total + weight * ops.exp(-0.5 * height * height * square) / square
    integral = half * total / (2 * math.pi)
    first, second = ndtr(-h), ndtr(-ops.where(steep, slope * h, 0.0))
    integral = ops.where(steep, 0.5 * (first + second) - first * second - integral, integral)
    integral = ops.where(ops.isinf(slope) & (h == 0), 0.25, integral)
    result: Array = ops.where(a < 0, -integral, integral)
    return result


def owens_t(h: Any, a: Any) -> Array:
    """Owen's T: the probability of X > h and 0 < Y < a X for independent standard normal X and Y.

    Relative errors are below 32 units in the last place for h up to 5; beyond, like those of ``exp(-h**2 / 2)``,
    about ``h**2`` units.

    Parameters
    ----------
    h, a : array
        Real numbers.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    Donald B. Owen, "Tables for computing bivariate normal probabilities", 1956.

    Examples
    --------
    >>> ct.scipy.special.owens_t(ct.numpy.array([0.0, 1.0]), 1.0).round(4)
    Array([0.125 , 0.0667], dtype=float32)
    """
    return _owens_t(*floats("owens_t", h, a))


check_arguments(globals())
