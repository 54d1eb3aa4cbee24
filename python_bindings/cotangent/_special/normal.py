"""The normal distribution: its distribution function, and Owen's T."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _ops as ops
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.per_element import elementwise
from cotangent._special.error import erf, ndtr_of_one
from cotangent._special.support import floats

__all__ = ["ndtr", "owens_t"]

_ROOT_TWO_PI = math.sqrt(2 * math.pi)


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
