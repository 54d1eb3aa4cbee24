"""The standard normal distribution function where it underflows, and what belongs to it."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.per_element import elementwise
from cotangent._ops.sizes import static_count
from cotangent._special import erfcx as _real_erfcx
from cotangent._special import tables
from cotangent._special.error import excess, normal_density, normal_tail, scaled_erfc
from cotangent._special.integrals import wofz
from cotangent._special.support import fitted, floats, where_needed
from cotangent._transforms.forward import jvp

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO = math.sqrt(2.0)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)
_FAR_BELOW = -3.6  # where the ratio of the normal density to the distribution function is close to -x


def erfcx(x: Any) -> Array:
    """The scaled complement ``exp(x**2) erfc(x)``, which does not underflow.

    Parameters
    ----------
    x : array
        Real or complex numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 7.2.

    Examples
    --------
    >>> ct.scipy.special.erfcx(ct.numpy.array([0.0, 100.0])).round(6)
    Array([1.      , 0.005642], dtype=float32)
    """
    (array,) = _core.promote([x], inexact=True)
    return wofz(1j * array) if cnp.iscomplexobj(array) else _real_erfcx(array)


def _mills_far_below(x: Array) -> Array:
    """`_inverse_mills` for x up to `_FAR_BELOW`, and of that for others: nearly -x, by the difference from that."""
    low: Array = cnp.where(x < _FAR_BELOW, x, _FAR_BELOW)
    result: Array = _ROOT_TWO * excess(-_ROOT_HALF * low) - low
    return result


def _slope_of_mills(x: Array, result: Array) -> Array:
    far_below = jvp(_mills_far_below, (x,), (cnp.ones_like(x),))[1]
    slope: Array = cnp.where(x < _FAR_BELOW, far_below, -result * (x + result))
    return slope


@elementwise(_slope_of_mills)
def _inverse_mills(x: Array) -> Array:
    """The normal density over the distribution function."""
    low = x < 0
    scaled = scaled_erfc(_ROOT_HALF * cnp.abs(x))
    density = normal_density(cnp.where(low, 0.0, x))
    # For x < 0 both have lost the factor exp(-x**2 / 2).
    tail = cnp.where(low, 0.5 * scaled, 1 - 0.5 * scaled * (density * _ROOT_TWO_PI))
    result: Array = where_needed(x < _FAR_BELOW, lambda: _mills_far_below(x), density / tail)
    return result


@elementwise(lambda x, result: _inverse_mills(x))
def _log_ndtr(x: Array) -> Array:
    low, high = x < -1, x > 1
    middle = -cnp.exp(fitted(cnp.where(low | high, 0.0, x), tables, "LOG_NDTR"))

    def below() -> Array:
        scaled = scaled_erfc(-_ROOT_HALF * cnp.where(low, x, -1.0))
        logarithm: Array = cnp.log(0.5 * scaled) - 0.5 * x * x
        return logarithm

    def above() -> Array:
        logarithm: Array = cnp.log1p(-normal_tail(cnp.where(high, x, 1.0)))
        return logarithm

    return where_needed(high, above, where_needed(low, below, middle))


def log_ndtr(x: Any, series_order: int = 3) -> Array:
    """The logarithm of the standard normal distribution function, also where that underflows.

    It has the digits of its dtype, more than a series of any ``series_order`` has.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.
    series_order : int
        Accepted for JAX's signature: no series is cut off.

    Returns
    -------
    array
        Of the shape of ``x``.

    Raises
    ------
    ValueError
        The order is negative.

    References
    ----------
    NIST Digital Library of Mathematical Functions, sections 7.9 and 7.20.

    Examples
    --------
    >>> ct.scipy.special.log_ndtr(ct.numpy.array([0.0, -40.0])).round(3)
    Array([-6.93000e-01, -8.04608e+02], dtype=float32)
    """
    static_count(series_order, "log_ndtr: series_order")
    return _log_ndtr(*floats("log_ndtr", x))


check_arguments(globals())
