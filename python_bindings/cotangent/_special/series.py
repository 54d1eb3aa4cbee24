"""Hypergeometric functions, Bessel functions of whole order and spherical harmonics."""

from __future__ import annotations

import functools
import math
from typing import Any

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.elementary import sin_of_pi
from cotangent._ops.per_element import by_precision, elementwise
from cotangent._special.exponential_integrals import series
from cotangent._special.gammas import gamma, gammaln
from cotangent._special.support import floats
from cotangent._transforms.control_flow import fori_loop, while_loop
from cotangent.custom_derivatives import custom_jvp
from cotangent.errors import DTypeError

__all__ = ["bessel_jn", "hyp1f1", "hyp2f1", "sph_harm_y"]

_MOST_TERMS = 2000
_NEAR_ZERO, _LARGEST = 0.01, 1e5  # of Bessel functions


def _sign_of_gamma(x: Array) -> Array:
    sign: Array = ops.where((x > 0) | (ops.floor(x / 2) * 2 == ops.floor(x)), 1.0, -1.0)
    return sign


def _stops(a: Array) -> Array:
    """Whether the rising factorials of ``a`` become 0, so that a series is a polynomial."""
    stops: Array = (a <= 0) & (a == ops.floor(a))
    return stops


def _crossings(p: Array, q: Array) -> Array:
    """From which term on the factors p + n and q + n stay away from 0: before, one small term does not end a series."""
    last: Array = ops.clip(2 - ops.minimum(p, q), 0, 1000)
    return last


def _unless_zero(numerator: Array, denominator: Array) -> Array:
    """The quotient, and 0 where the numerator is."""
    result: Array = ops.where(numerator == 0, 0.0, numerator / denominator)
    return result


def _hyp1f1_slope(a: Array, b: Array, x: Array, result: Array) -> Array:
    return a / b * _hyp1f1(a + 1, b + 1, x)


@elementwise(None, None, _hyp1f1_slope)
def _hyp1f1(a: Array, b: Array, x: Array) -> Array:
    # Kummer's transformation (DLMF 13.2.39) makes the terms of negative arguments positive.
    # Polynomials that end before a pole in b are summed as they are.
    pole = _stops(b)
    short = pole & _stops(a) & (a >= b)
    negative = (x < 0) & ~short
    first, z = ops.where(negative, b - a, a), ops.where(negative, -x, x)
    finite = _stops(first)
    large = (z > by_precision(x, 60.0, 120.0)) & ~finite
    near = ops.where(large, 1.0, z)
    one = ops.ones_like(x)
    total = series(
        one, lambda n: _unless_zero((first + (n - 1)) * near, (b + (n - 1)) * n), _MOST_TERMS, _crossings(first, b)
    )
    total = total * ops.exp(ops.where(negative, -near, 0.0))
    # DLMF 13.7.2, cut off where its terms grow.
    far = ops.where(large, z, 200.0)

    def falling(p: Array, q: Array, sign: float) -> Array:
        def ratio(n: Array) -> Array:
            r: Array = sign * (p + (n - 1)) * (q + (n - 1)) / (n * far)
            kept: Array = ops.where(ops.abs(r) < 1, r, 0.0)
            return kept

        return series(one, ratio)

    shift, growth = ops.where(negative, -far, 0.0), ops.where(negative, 0.0, far)
    sign = _sign_of_gamma(b)
    power = ops.exp(gammaln(b) - gammaln(first) + growth + (first - b) * ops.log(far))
    tail = sign * _sign_of_gamma(first) * power * falling(b - first, 1 - first, 1.0)
    # The part without an exponential counts where the other has a factor near 0: of whole numbers below, and close to those.
    power = ops.exp(gammaln(b) - gammaln(b - first) + shift - first * ops.log(far))
    turned = sin_of_pi(first + 0.5)
    tail = tail + sign * _sign_of_gamma(b - first) * turned * power * falling(first, first - b + 1, -1.0)
    value = ops.where(x == 0, 1.0, ops.where(large, tail, total))
    result: Array = ops.where(ops.isnan(x), x, ops.where(pole & ~short, ops.inf, value))
    return result


def hyp1f1(a: Any, b: Any, x: Any) -> Array:
    """Kummer's confluent hypergeometric function of real numbers.

    Infinite at poles in b, unless a is a whole number from b to 0: then it is the polynomial that ends before the
    pole.

    For parameters up to 6 and x from -100 to 80 the relative error is 2 units in the last place in the median and
    above 64 in one case of 100: near the function's zeros, and where ``b - a`` or ``a`` is close to a whole number
    below 0.

    Parameters
    ----------
    a, b : array
        The parameters; real.
    x : array
        Real.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 13.2.

    Examples
    --------
    >>> ct.scipy.special.hyp1f1(1.0, 2.0, ct.numpy.array([0.0, 1.0])).round(4)
    Array([1.    , 1.7183], dtype=float32)
    """
    return _hyp1f1(*floats("hyp1f1", a, b, x))


def _hyp2f1_slope(a: Array, b: Array, c: Array, x: Array, result: Array) -> Array:
    return a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x)


@elementwise(None, None, None, _hyp2f1_slope)
def _hyp2f1(a: Array, b: Array, c: Array, x: Array) -> Array:
    # Polynomials that end before a pole in c are summed as they are.
    pole = _stops(c)
    short = pole & ((_stops(a) & (a >= c)) | (_stops(b) & (b >= c)))
    negative, one = (x < 0) & ~short, ops.ones_like(x)
    # Pfaff's transformation (DLMF 15.8.1) brings negative arguments into [0, 1). Of its two forms that with the smaller factor,
    # which leaves the sum less to cancel.
    swapped = negative & (ops.abs(a) > ops.abs(b))
    a, b = ops.where(swapped, b, a), ops.where(swapped, a, b)
    z = ops.where(negative, x / (x - 1), x)
    b = ops.where(negative, c - b, b)
    factor = ops.where(negative, ops.exp(-a * ops.log1p(ops.where(negative, -x, 0.0))), 1.0)
    polynomial = _stops(a) | _stops(b)
    finite = (z < 1) | polynomial
    near = ops.where(finite, z, 0.5)
    # Euler's transformation (DLMF 15.8.1) where it makes the terms fall faster.
    excess = c - a - b
    turn = (excess < 0) & (near > 0.98) & ~polynomial & ~short
    p, q = ops.where(turn, c - a, a), ops.where(turn, c - b, b)
    scale = ops.where(turn, ops.exp(excess * ops.log1p(-ops.where(turn, near, 0.0))), 1.0)
    # The shift of n first: p may be far smaller than 1.
    total = scale * series(
        one,
        lambda n: _unless_zero((p + (n - 1)) * (q + (n - 1)) * near, (c + (n - 1)) * n),
        20000,
        _crossings(p, ops.minimum(q, c)),
    )
    # Gauss's sum at 1 (DLMF 15.4.20).
    at_one = gamma(c) * gamma(ops.where(excess > 0, excess, 1.0)) / (gamma(c - a) * gamma(c - b))
    at_one = ops.where(excess > 0, at_one, ops.inf)
    value = ops.where(finite, total, ops.where(z == 1, at_one, ops.where(z > 1, ops.inf, ops.nan)))
    filled = ops.where(x == 0, 1.0, ops.where(pole & ~short, ops.inf, factor * value))
    result: Array = ops.where(ops.isnan(x), x, filled)
    return result


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Array:
    """Gauss's hypergeometric function of real numbers, for x up to 1; infinite beyond.

    Infinite at poles in c too, unless a or b is a whole number from c to 0: then it is the polynomial that ends
    before the pole.

    For parameters up to 6 and x above -5 the relative error is 1 unit in the last place in the median and above 64
    in one case of 200: near the function's zeros, and close to 1 where parameters differ in sign. For x within 1e-3
    of 1 the series takes thousands of terms.

    Parameters
    ----------
    a, b, c : array
        The parameters; real.
    x : array
        Real, up to 1.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, sections 15.2 and 15.8.

    Examples
    --------
    >>> ct.scipy.special.hyp2f1(1.0, 1.0, 2.0, ct.numpy.array([0.5, -1.0])).round(4)
    Array([1.3863, 0.6931], dtype=float32)
    """
    return _hyp2f1(*floats("hyp2f1", a, b, c, x))


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Array:
    """Bessel functions of the first kind of the orders 0 to v, by Miller's backward recurrence.

    Absolute errors are a few units in the last place of the amplitude ``sqrt(2 / (pi z))``; of small z, where
    higher orders are small, relative errors are.

    Parameters
    ----------
    z : array
        Real; of magnitudes beyond 1e5 the result is NaN.
    v : int
        The highest order.
    n_iter : int
        The order at which the recurrence starts, above ``v``; where the largest argument needs more, it starts
        further up by itself.

    Returns
    -------
    array, shape (v + 1, *z.shape)
        The orders along the first axis.

    Raises
    ------
    ValueError
        ``v`` is negative, or ``n_iter`` not above it.

    References
    ----------
    NIST Digital Library of Mathematical Functions, sections 10.2 and 3.6.

    Examples
    --------
    >>> ct.scipy.special.bessel_jn(ct.numpy.array([1.0, 2.0]), v=1).round(4)
    Array([[0.7652, 0.2239],
           [0.4401, 0.5767]], dtype=float32)
    """
    (z,) = floats("bessel_jn", z)
    if v < 0 or n_iter <= v:
        raise ValueError(
            f"bessel_jn: orders run from 0 to v={v}, and the recurrence must start above: n_iter={n_iter}\n"
            f"  give more steps than the order: n_iter={v + 50}"
        )
    # From further above, all orders up to v come out with the same digits.
    result: Array = _bessel_jn(z, v, min(n_iter, v + math.ceil(11 * v ** (1 / 3)) + 64))
    return result


def _power_series(x: Array, v: int) -> list[Array]:
    """The orders from v down to 0 for ``|x| < 0.01`` (DLMF 10.2.2)."""
    half = 0.5 * x
    square = half * half
    power, orders = ops.ones_like(x), []
    for n in range(v + 1):
        total = ops.ones_like(x)
        for k in (4, 3, 2, 1):
            total = 1 - square * total / (k * (n + k))
        orders.append(power * total)
        power = power * half / (n + 1)
    return orders[::-1]


@functools.partial(custom_jvp, nondiff_argnums=(1, 2))
def _bessel_jn(z: Array, v: int, n_iter: int) -> Array:
    size = ops.abs(z)
    x = ops.where((size >= _NEAR_ZERO) & (size <= _LARGEST), z, 1.0)

    def down(n: Any, weight: Any, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        # here is proportional to the function of order n. Rescaled before the growth overflows.
        above, here, total = state
        total = total + here * weight
        above, here = here, (2 * n / x) * here - above
        # Of the dtype of x: as a float32, what Python numbers alone would give, the factor of float64 is 0.
        factor = _core.full((), by_precision(x, 1e-20, 1e-200), x.dtype)
        scale = ops.where(ops.abs(here) > 1 / factor, factor, 1.0)
        return above * scale, here * scale, total * scale, scale

    # Above the order n_iter only as far as the largest argument needs: there the functions fall below rounding.
    largest = ops.max(ops.abs(x), initial=0.0)
    start = ops.ceil(largest + 11 * ops.cbrt(largest)) + 8
    first = (ops.zeros_like(x), ops.full_like(x, by_precision(x, 1e-30, 1e-280)), ops.zeros_like(x))
    state = while_loop(
        lambda s: s[0] > n_iter,
        lambda s: (s[0] - 1, *down(s[0], ops.where(ops.floor(s[0] / 2) * 2 == s[0], 2.0, 0.0), s[1:])[:3]),
        (ops.maximum(start, n_iter), *first),
    )[1:]
    orders: list[Array] = []
    for n in range(n_iter, -1, -1):
        here = state[1]
        *state, scale = down(n, 1.0 if n == 0 else 2.0 if n % 2 == 0 else 0.0, state)
        if n <= v:
            orders = [value * scale for value in [*orders, here]]
    total = state[2]
    small = ops.abs(z) < _NEAR_ZERO
    near = _power_series(ops.where(small, z, 0.0), v)
    values = [ops.where(small, n, value / total) for n, value in zip(near, orders, strict=True)]
    result: Array = ops.where(ops.abs(z) <= _LARGEST, ops.stack(values[::-1]), ops.nan)
    return result


@_bessel_jn.defjvp
def _bessel_jn_jvp(v: int, n_iter: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    # DLMF 10.6.1. Derivatives of the recurrence itself overflow.
    orders = _bessel_jn(primals[0], v + 1, n_iter + 1)
    slopes = ops.concatenate([-orders[1:2], (orders[:-2] - orders[2:]) / 2])
    return orders[:-1], slopes * tangents[0]


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, diff_n: Any = None, n_max: int | None = None) -> Array:
    """The spherical harmonics, with the Condon-Shortley phase.

    Parameters
    ----------
    n : array of int
        The degree, from 0 on.
    m : array of int
        The order, ``|m| <= n``.
    theta : array
        The polar angle, from 0 to pi.
    phi : array
        The azimuth, from 0 to 2 pi.
    diff_n : None
        Derivatives are not supported here; use `cotangent.grad`.
    n_max : int, optional
        The highest degree in ``n``; needed under ``jit``.

    Returns
    -------
    array
        Complex, of the common shape.

    Raises
    ------
    NotImplementedError
        ``diff_n`` is given.
    DTypeError
        ``n`` or ``m`` are no integers.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 14.30.

    Examples
    --------
    >>> ct.scipy.special.sph_harm_y(ct.numpy.array([1]), ct.numpy.array([0]), 0.0, 0.0).round(4)
    Array([0.4886+0.j], dtype=complex64)
    """
    if diff_n is not None:
        raise NotImplementedError(
            "sph_harm_y: diff_n is not supported\n  leave it out, and differentiate by an angle with ct.jvp or ct.grad"
        )
    n, m = ops.asarray(n), ops.asarray(m)
    for name, value in [("n", n), ("m", m)]:
        if not ops.issubdtype(value.dtype, ops.integer):
            raise DTypeError(
                f"sph_harm_y: {name} must be integers; got {value.dtype}\n  convert it first: .astype('int32')"
            )
    highest = int(ops.max(n)) if n_max is None else n_max
    theta, phi = floats("sph_harm_y", theta, phi)
    n, m, theta, phi = ops.broadcast_arrays(n, m, theta, phi)
    order = ops.abs(m)
    x, y = ops.cos(theta), ops.sin(theta)
    y = ops.where(y < 0, -y, y)  # the square root of 1 - x**2, differentiable at 0
    # Normalised so that no factorial overflows: from (order, order) up to (n, order).
    diagonal = ops.full_like(x, math.sqrt(1 / (4 * math.pi)))

    def down(k: Array, value: Array) -> Array:
        k = k.astype(x.dtype)
        lower: Array = ops.where(k <= order, -value * y * ops.sqrt((2 * k + 1) / (2 * k)), value)
        return lower

    diagonal = fori_loop(1, highest + 1, down, diagonal)

    def up(k: Array, state: Any) -> Any:
        before, value = state
        degree, mm = k.astype(x.dtype), order.astype(x.dtype)
        active = (k > order) & (k <= n)
        square = ops.where(active, degree * degree - mm * mm, 1.0)
        previous = ops.where(active, (degree - 1) ** 2 - mm * mm, 0.0)
        first = ops.sqrt((4 * degree * degree - 1) / square)
        second = ops.sqrt(ops.maximum(previous, 0.0) / ops.maximum(4 * (degree - 1) ** 2 - 1, 1.0))
        new = first * (x * value - second * before)
        return ops.where(active, value, before), ops.where(active, new, value)

    _, value = fori_loop(1, highest + 1, up, (ops.zeros_like(x), diagonal))
    angle = order * phi
    positive = value * (ops.cos(angle) + 1j * ops.sin(angle))
    parity = ops.where(order % 2 == 0, 1.0, -1.0)
    result = ops.where(m < 0, parity * ops.conj(positive), positive)
    inside: Array = ops.where(order <= n, result, 0.0)
    return inside


check_arguments(globals())
