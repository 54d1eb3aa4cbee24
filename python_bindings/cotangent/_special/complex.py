"""The gamma function of complex numbers and its logarithm."""

from __future__ import annotations

import math

from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._special import tables

__all__ = ["complex_gamma", "complex_loggamma"]

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_FAR = 7.0  # the distance from which on Stirling's series has all digits
_TERMS = 8


def _is_pole(z: Array) -> Array:
    real = ops.real(z)
    return (ops.imag(z) == 0) & (real <= 0) & (real == ops.floor(real))


def complex_loggamma(z: Array) -> Array:
    """The principal branch of the logarithm: continuous except at the negative real axis; NaN at the poles."""
    pole = _is_pole(z)
    z = ops.where(pole, 1.0, z)
    real, imag = ops.real(z), ops.imag(z)
    # By the reflection formula from the left (DLMF 5.5.3), on the branch of Hare (1997).
    left = (real < 0.5) & (ops.abs(imag) <= _FAR)
    w = ops.where(left, 1 - z, z)
    # By recurrence to where Stirling's series holds (DLMF 5.5.1, 5.11.1): the principal logarithms add up to the principal branch.
    close = (ops.real(w) <= _FAR) & (ops.abs(ops.imag(w)) <= _FAR)
    climbed = ops.zeros_like(w)
    for k in range(int(_FAR)):
        climbed = climbed + ops.log(ops.where(close, w + k, 1.0))
    far = ops.where(close, w + int(_FAR), w)
    inverse = 1 / far
    square = inverse * inverse
    series = ops.zeros_like(far)
    for n in reversed(range(1, _TERMS + 1)):
        # B_2n / (2n (2n - 1)), of coefficients B_2n / (2n)!
        series = series * square + tables.BERNOULLI[n - 1] * math.factorial(2 * n - 2)
    value = (far - 0.5) * ops.log(far) - far + _HALF_LOG_TWO_PI + series * inverse - climbed
    inside = ops.where(left, z, 0.5)
    turns = ops.floor(0.5 * ops.real(inside) + 0.25) * ops.copysign(2 * math.pi, ops.imag(inside))
    reflected = math.log(math.pi) + 1j * turns - ops.log(_sin_of_pi(inside)) - value
    result: Array = ops.where(pole, complex(math.nan, math.nan), ops.where(left, reflected, value))
    return result


def _sin_of_pi(z: Array) -> Array:
    """``sin(pi z)``, with the sign of the zero in its parts."""
    real, imag = ops.real(z), math.pi * ops.imag(z)
    turns = ops.round(real)
    angle = math.pi * (real - turns)
    sign = ops.where(turns % 2 == 0, 1.0, -1.0)
    return primitives.complex(sign * ops.sin(angle) * ops.cosh(imag), sign * ops.cos(angle) * ops.sinh(imag))


def complex_gamma(z: Array) -> Array:
    """The gamma function; NaN at its poles."""
    return ops.exp(complex_loggamma(z))


check_arguments(globals())
