"""Modified Bessel functions of the first kind, orders 0 and 1, scaled so that they do not overflow."""

from __future__ import annotations

from typing import Any

from cotangent._core import Array
from cotangent._elementwise import elementwise, pick
from cotangent._special import tables
from cotangent._special.support import fitted, floats
from cotangent.numpy._support import bind1

__all__ = ["i0", "i0e", "i1", "i1e"]


def _scaled(magnitude: Array, near_fit: str, far_fit: str) -> tuple[Array, Array]:
    """The fit for up to 8, and the result beyond."""
    near = magnitude < 8.0
    far = pick(near, 8.0, magnitude)
    inverse = 1.0 / far
    return (
        fitted(pick(near, magnitude, 0.0), tables, near_fit),
        fitted(inverse, tables, far_fit) / bind1("sqrt", far),
    )


def _i0e_slope(x: Array, result: Array) -> Array:
    return _i1e(x) - bind1("sign", x) * result


@elementwise(_i0e_slope)
def _i0e(x: Array) -> Array:
    magnitude = bind1("abs", x)
    near, far = _scaled(magnitude, "I0E_NEAR", "I0E_FAR")
    return pick(magnitude < 8.0, near, far)


def _i1e_slope(x: Array, result: Array) -> Array:
    zero = x == 0.0
    ratio = pick(zero, 0.5, result / pick(zero, 1.0, x))
    return _i0e(x) - bind1("sign", x) * result - ratio


@elementwise(_i1e_slope)
def _i1e(x: Array) -> Array:
    magnitude = bind1("abs", x)
    near, far = _scaled(magnitude, "I1E_NEAR", "I1E_FAR")
    return pick(magnitude < 8.0, near * x, pick(x < 0.0, -far, far))


def _i0_slope(x: Array, result: Array) -> Array:
    return _i1(x)


@elementwise(_i0_slope)
def _i0(x: Array) -> Array:
    return _i0e(x) * bind1("exp", bind1("abs", x))


def _i1_slope(x: Array, result: Array) -> Array:
    zero = x == 0.0
    return _i0(x) - pick(zero, 0.5, result / pick(zero, 1.0, x))


@elementwise(_i1_slope)
def _i1(x: Array) -> Array:
    return _i1e(x) * bind1("exp", bind1("abs", x))


def i0e(x: Any) -> Array:
    """``exp(-|x|)`` times the modified Bessel function of order 0."""
    return _i0e(*floats("i0e", x))


def i1e(x: Any) -> Array:
    """``exp(-|x|)`` times the modified Bessel function of order 1."""
    return _i1e(*floats("i1e", x))


def i0(x: Any) -> Array:
    """The modified Bessel function of the first kind, order 0."""
    return _i0(*floats("i0", x))


def i1(x: Any) -> Array:
    """The modified Bessel function of the first kind, order 1."""
    return _i1(*floats("i1", x))
