"""The gamma function of complex numbers and its logarithm."""

from __future__ import annotations

import math

from cotangent import numpy as cnp
from cotangent._core import Array
from cotangent._special import tables

__all__ = ["complex_gamma", "complex_loggamma"]

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_FAR = 7.0  # the distance from which on Stirling's series has all digits
_TERMS = 8


def _is_pole(z: Array) -> Array:
    real = cnp.real(z)
    return (cnp.imag(z) == 0) & (real <= 0) & (real == cnp.floor(real))


def complex_loggamma(z: Array) -> Array:
    """The principal branch of the logarithm: continuous except at the negative real axis; NaN at the poles."""
    pole = _is_pole(z)
    z = cnp.where(pole, 1.0, z)
    real, imag = cnp.real(z), cnp.imag(z)
    # By the reflection formula from the left (DLMF 5.5.3), on the branch of Hare (1997).
    left = (real < 0.5) & (cnp.abs(imag) <= _FAR)
    w = cnp.where(left, 1 - z, z)
    # By recurrence to where Stirling's series holds (DLMF 5.5.1, 5.11.1): the principal logarithms add up to the principal branch.
    close = (cnp.real(w) <= _FAR) & (cnp.abs(cnp.imag(w)) <= _FAR)
    climbed = cnp.zeros_like(w)
    for k in range(int(_FAR)):
        climbed = climbed + cnp.log(cnp.where(close, w + k, 1.0))
    far = cnp.where(close, w + int(_FAR), w)
    inverse = 1 / far
    square = inverse * inverse
    series = cnp.zeros_like(far)
    for n in reversed(range(1, _TERMS + 1)):
        # B_2n / (2n (2n - 1)), of coefficients B_2n / (2n)!
        series = series * square + tables.BERNOULLI[n - 1] * math.factorial(2 * n - 2)
    value = (far - 0.5) * cnp.log(far) - far + _HALF_LOG_TWO_PI + series * inverse - climbed
    inside = cnp.where(left, z, 0.5)
    turns = cnp.floor(0.5 * cnp.real(inside) + 0.25) * cnp.copysign(2 * math.pi, cnp.imag(inside))
    reflected = math.log(math.pi) + 1j * turns - cnp.log(_sin_of_pi(inside)) - value
    result: Array = cnp.where(pole, complex(math.nan, math.nan), cnp.where(left, reflected, value))
    return result


def _sin_of_pi(z: Array) -> Array:
    """``sin(pi z)``, with the sign of the zero in its parts."""
    real, imag = cnp.real(z), math.pi * cnp.imag(z)
    turns = cnp.round(real)
    angle = math.pi * (real - turns)
    sign = cnp.where(turns % 2 == 0, 1.0, -1.0)
    from cotangent.lax import complex as combine

    return combine(sign * cnp.sin(angle) * cnp.cosh(imag), sign * cnp.cos(angle) * cnp.sinh(imag))


def complex_gamma(z: Array) -> Array:
    """The gamma function; NaN at its poles."""
    return cnp.exp(complex_loggamma(z))
