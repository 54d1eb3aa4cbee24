"""Bessel functions of the first and second kind, of whole order: J and Y, which oscillate."""

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
from cotangent._ops.per_element import elementwise, pick
from cotangent._special import tables
from cotangent._special.series import bessel_jn
from cotangent._special.support import fitted, floats
from cotangent._transforms.control_flow import fori_loop

__all__ = ["j0", "j1", "jn", "jv", "y0", "y1", "yn"]

_NEAR = 8.0  # up to it a polynomial, beyond a wave with a slowly changing amplitude and phase


def _wave(x: Array, order: int) -> tuple[Array, Array]:
    """J and Y of ``x >= 8``."""
    inverse = _NEAR / x
    square = inverse * inverse
    p = fitted(square, tables, f"JY{order}_P")
    q = fitted(square, tables, f"JY{order}_Q") * inverse
    finite = primitives.is_finite(x)
    angle = pick(finite, x, 0.0)
    sine, cosine = primitives.sin(angle), primitives.cos(angle)
    # Of x - (2 order + 1) pi / 4, but for the factor sqrt(1 / 2), which is in the amplitude.
    along, across = (cosine + sine, sine - cosine) if order == 0 else (sine - cosine, -(sine + cosine))
    amplitude = pick(finite, 1.0 / primitives.sqrt(math.pi * x), 0.0)
    return amplitude * (p * along - q * across), amplitude * (p * across + q * along)


def _first_kind(x: Array, order: int) -> Array:
    magnitude = primitives.abs(x)
    near = magnitude < _NEAR
    close = pick(near, x, 0.0)
    value = fitted(close * close, tables, f"J{order}_NEAR")
    far = _wave(pick(near, _NEAR, magnitude), order)[0]
    if order == 1:
        value, far = value * close, pick(x < 0.0, -far, far)
    return pick(primitives.ne(x, x), x, pick(near, value, far))


def _second_kind(x: Array, order: int) -> Array:
    near = x < _NEAR
    close = pick(primitives.and_(near, x > 0.0), x, 1.0)
    square = close * close
    along = fitted(square, tables, f"J{order}_NEAR")
    value = fitted(square, tables, f"Y{order}_NEAR") + 2.0 / math.pi * primitives.log(close) * along
    if order == 1:
        value = value * close - 2.0 / math.pi / close
    value = pick(near, value, _wave(pick(near, _NEAR, x), order)[1])
    return pick(x > 0.0, value, pick(x == 0.0, _core.full((), -math.inf, x.dtype), math.nan))


def _j0_slope(x: Array, result: Array) -> Array:
    return -_j1(x)


@elementwise(_j0_slope)
def _j0(x: Array) -> Array:
    return _first_kind(x, 0)


def _over(x: Array, value: Array) -> Array:
    zero = x == 0.0
    return pick(zero, 0.5, value / pick(zero, 1.0, x))


def _second_over_square(x: Array) -> Array:
    """``J_2(x) / x**2``: near 0 by its power series, as 2 J_1(x) / x - J_0(x) would cancel there."""
    near = primitives.abs(x) < 1.0
    close = pick(near, x, 0.0)
    square = close * close
    total = _core.full((), 1.0, x.dtype)
    for k in reversed(range(1, 10)):
        total = 1.0 - total * square / (4.0 * k * (k + 2))
    far = pick(near, 1.0, x)
    return pick(near, total / 8.0, (2.0 * _j1.program(far) / far - _j0.program(far)) / (far * far))


@elementwise(
    lambda x, result, slope: x * _second_over_square(x) - result,
    lambda x, result, slope: _core.full((), 0.0, x.dtype),
)
def _j1_slope(x: Array, result: Array) -> Array:
    return _j0(x) - _over(x, result)


@elementwise(lambda x, result: _j1_slope(x, result))
def _j1(x: Array) -> Array:
    return _first_kind(x, 1)


def _y0_slope(x: Array, result: Array) -> Array:
    return -_y1(x)


@elementwise(_y0_slope)
def _y0(x: Array) -> Array:
    return _second_kind(x, 0)


@elementwise(lambda x, result: _y0(x) - result / x)
def _y1(x: Array) -> Array:
    return _second_kind(x, 1)


def j0(x: Any) -> Array:
    """The Bessel function of the first kind and order 0.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``. Errors are a few units in the last place of the amplitude ``sqrt(2 / (pi x))``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.2.

    Examples
    --------
    >>> ct.scipy.special.j0(ct.numpy.array([0.0, 1.0])).round(4)
    Array([1.    , 0.7652], dtype=float32)
    """
    return _j0(*floats("j0", x))


def j1(x: Any) -> Array:
    """The Bessel function of the first kind and order 1.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``. Errors are a few units in the last place of the amplitude ``sqrt(2 / (pi x))``, and of the
        result where x is small.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.2.

    Examples
    --------
    >>> ct.scipy.special.j1(ct.numpy.array([0.0, 1.0])).round(4)
    Array([0.    , 0.4401], dtype=float32)
    """
    return _j1(*floats("j1", x))


def y0(x: Any) -> Array:
    """The Bessel function of the second kind and order 0.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype. Of 0 the result is -inf, below it NaN.

    Returns
    -------
    array
        Of the shape of ``x``. Errors are a few units in the last place of the amplitude ``sqrt(2 / (pi x))``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.2.

    Examples
    --------
    >>> ct.scipy.special.y0(ct.numpy.array([1.0, 2.0])).round(4)
    Array([0.0883, 0.5104], dtype=float32)
    """
    return _y0(*floats("y0", x))


def y1(x: Any) -> Array:
    """The Bessel function of the second kind and order 1.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype. Of 0 the result is -inf, below it NaN.

    Returns
    -------
    array
        Of the shape of ``x``. Errors are a few units in the last place of the amplitude ``sqrt(2 / (pi x))``, and of the
        result where x is small.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.2.

    Examples
    --------
    >>> ct.scipy.special.y1(ct.numpy.array([1.0, 2.0])).round(4)
    Array([-0.7812, -0.107 ], dtype=float32)
    """
    return _y1(*floats("y1", x))


_HIGHEST_ORDER = 10_000


def _by_order(name: str, n: Any, x: Any, function: Callable[[Array, int], Array]) -> Array:
    """The function of each order among ``n``, which are known whole numbers, at the elements that have it."""
    orders = _core.peek_numpy(n, f"the order of {name}") if isinstance(n, Array) else np.asarray(n)
    (x,) = floats(name, x)
    if np.any(orders != np.round(orders)):
        raise NotImplementedError(
            f"{name}: the orders must be whole numbers; got {orders.flat[np.argmax(orders != np.round(orders))]}\n"
            "  modified functions of any order: ct.scipy.special.iv"
        )
    distances = np.abs(orders.astype(np.float64))
    if np.any(distances > _HIGHEST_ORDER):
        raise NotImplementedError(
            f"{name}: the orders must be between -{_HIGHEST_ORDER:,} and {_HIGHEST_ORDER:,}; got {orders.flat[np.argmax(distances)]}\n"
            "  each is reached from the one below"
        )
    if orders.ndim:
        x = ops.broadcast_to(x, np.broadcast_shapes(x.shape, orders.shape))
    result: Array | None = None
    for order in sorted({int(k) for k in orders.flat}):
        value = function(x, abs(order))
        if order < 0 and order % 2:
            value = -value
        result = value if result is None else ops.where(orders == order, value, result)
    assert result is not None
    return result


def _jn_of(x: Array, n: int) -> Array:
    return _j0(x) if n == 0 else _j1(x) if n == 1 else bessel_jn(x, v=n, n_iter=n + 50)[n]


def _yn_of(x: Array, n: int) -> Array:
    if n == 0:
        return _y0(x)
    # Upwards, where it grows. At 0 both are infinite, and so is what follows.
    positive = x > 0.0
    inside = ops.where(positive, x, 1.0)

    def up(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        below, here = state
        above = 2.0 * ops.astype(k, x.dtype) / inside * here - below
        return here, ops.where(ops.isfinite(here), above, here)

    here: Array = fori_loop(1, n, up, (_y0(inside), _y1(inside)))[1]
    return ops.where(positive, here, _y1(x))  # type: ignore[no-any-return]


def jn(n: Any, x: Any) -> Array:
    """The Bessel function of the first kind of a whole order.

    Parameters
    ----------
    n : array of int
        The orders, known while a program is captured.
    x : array
        Real numbers. Of orders beyond 1 and magnitudes beyond 1e5 the result is NaN.

    Returns
    -------
    array
        Of the common shape. Errors are a few units in the last place of the amplitude ``sqrt(2 / (pi x))``.

    Raises
    ------
    NotImplementedError
        An order is no whole number, or above 10,000.

    References
    ----------
    NIST Digital Library of Mathematical Functions, sections 10.2 and 3.6.

    Examples
    --------
    >>> ct.scipy.special.jn(2, ct.numpy.array([1.0, 2.0])).round(4)
    Array([0.1149, 0.3528], dtype=float32)
    """
    return _by_order("jn", n, x, _jn_of)


def jv(v: Any, z: Any) -> Array:
    """The Bessel function of the first kind of a whole order: `jn` under the name of the function of any order.

    Parameters
    ----------
    v : array
        The orders, whole numbers that are known while a program is captured.
    z : array
        Real numbers. Of orders beyond 1 and magnitudes beyond 1e5 the result is NaN.

    Returns
    -------
    array
        Of the common shape.

    Raises
    ------
    NotImplementedError
        An order is no whole number, or above 10,000.

    References
    ----------
    NIST Digital Library of Mathematical Functions, sections 10.2 and 3.6.

    Examples
    --------
    >>> ct.scipy.special.jv(2, ct.numpy.array([1.0, 2.0])).round(4)
    Array([0.1149, 0.3528], dtype=float32)
    """
    return _by_order("jv", v, z, _jn_of)


def yn(n: Any, x: Any) -> Array:
    """The Bessel function of the second kind of a whole order, by its recurrence.

    Parameters
    ----------
    n : array of int
        The orders, known while a program is captured.
    x : array
        Real numbers; integers are computed in the default floating dtype. Of 0 the result is infinite, below it NaN.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.6.

    Examples
    --------
    >>> ct.scipy.special.yn(2, ct.numpy.array([1.0, 2.0])).round(4)
    Array([-1.6507, -0.6174], dtype=float32)
    """
    return _by_order("yn", n, x, _yn_of)


check_arguments(globals())
