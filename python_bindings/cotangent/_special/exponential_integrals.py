"""The exponential integrals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.per_element import by_precision, elementwise
from cotangent._special import tables
from cotangent._special.gammas import digamma, gammaln
from cotangent._special.support import fitted, floats
from cotangent._transforms.control_flow import while_loop

__all__ = ["exp1", "expi", "expn"]
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
    return gammaln(n + 1)


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


check_arguments(globals())
