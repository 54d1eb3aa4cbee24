"""Logistic functions, entropies, and the transforms of Box and Cox."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.per_element import by_precision, elementwise, polynomial
from cotangent._special import tables
from cotangent._special.logistic import sigmoid
from cotangent._special.support import fitted, floats, where_needed

_LOGIT_MIDDLE = 0.82  # up to there tables.LOGIT serves


def expit(x: Any) -> Array:
    """The logistic function ``1 / (1 + exp(-x))``, without overflow.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.scipy.special.expit(ct.numpy.array([0.0, 2.0])).round(4)
    Array([0.5   , 0.8808], dtype=float32)
    """
    return sigmoid(*floats("expit", x))


@elementwise(lambda x, result: 1 / (x * (1 - x)))
def _logit(x: Array) -> Array:
    # 2 artanh(2 x - 1): near 1/2 a logarithm would be of a rounded quotient that is close to 1.
    turned = 2 * x - 1
    middle = cnp.abs(turned) <= _LOGIT_MIDDLE
    close = cnp.where(middle, turned, 0.0)
    square = close * close
    near = 2 * close + close * (square * fitted(square, tables, "LOGIT"))
    result: Array = where_needed(~middle, lambda: cnp.log(x / (1 - x)), near)
    return result


def logit(x: Any) -> Array:
    """The inverse of `expit`: ``log(x / (1 - x))``, which keeps its digits near 1/2.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.scipy.special.logit(ct.numpy.array([0.5, 0.9])).round(4)
    Array([0.    , 2.1972], dtype=float32)
    """
    return _logit(*floats("logit", x))


@elementwise(lambda x, y, result: cnp.log(y), lambda x, y, result: x / y)
def _xlogy(x: Array, y: Array) -> Array:
    zero = (x == 0) & ~cnp.isnan(y)
    result: Array = cnp.where(zero, 0.0, x * cnp.log(y))
    return result


def xlogy(x: Any, y: Any) -> Array:
    """The product ``x * log(y)``, and 0 where x is 0.

    Parameters
    ----------
    x, y : array
        Real or complex numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the common shape; NaN where ``y`` is.

    Examples
    --------
    >>> ct.scipy.special.xlogy(ct.numpy.array([0.0, 2.0]), ct.numpy.array([0.0, 3.0])).round(4)
    Array([0.    , 2.1972], dtype=float32)
    """
    return _xlogy(*_core.promote([x, y], inexact=True))


@elementwise(lambda x, y, result: cnp.log1p(y), lambda x, y, result: x / (1 + y))
def _xlog1py(x: Array, y: Array) -> Array:
    zero = (x == 0) & ~cnp.isnan(y)
    result: Array = cnp.where(zero, 0.0, x * cnp.log1p(y))
    return result


def xlog1py(x: Any, y: Any) -> Array:
    """The product ``x * log(1 + y)``, and 0 where x is 0.

    Parameters
    ----------
    x, y : array
        Real or complex numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the common shape; NaN where ``y`` is.

    Examples
    --------
    >>> ct.scipy.special.xlog1py(ct.numpy.array([0.0, 2.0]), ct.numpy.array([-1.0, 3.0])).round(4)
    Array([0.    , 2.7726], dtype=float32)
    """
    return _xlog1py(*_core.promote([x, y], inexact=True))


@elementwise(lambda x, result: cnp.where(x < 0, 0.0, -cnp.log(x) - 1))
def _entr(x: Array) -> Array:
    result: Array = cnp.where(x < 0, -cnp.inf, -_xlogy(x, x))
    return result


def entr(x: Any) -> Array:
    """The entropy ``-x * log(x)`` of each element: 0 at 0, minus infinity below.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.scipy.special.entr(ct.numpy.array([0.0, 0.5, -1.0])).round(4)
    Array([-0.    ,  0.3466,    -inf], dtype=float32)
    """
    return _entr(*floats("entr", x))


@elementwise(lambda p, q, result: 1 / p, lambda p, q, result: -1 / q)
def _log_of_ratio(p: Array, q: Array) -> Array:
    """``log(p / q)`` of positive numbers."""
    more, less = cnp.maximum(p, q), cnp.minimum(p, q)
    # Of close numbers the difference is exact, and the logarithm of the rounded quotient is not.
    excess_of_ratio = (more - less) / less
    # A quotient may be infinite where its logarithm is not.
    huge = excess_of_ratio == cnp.inf
    root = where_needed(huge, lambda: cnp.sqrt(more) / cnp.sqrt(less), excess_of_ratio)
    logarithm = cnp.log1p(root)
    logarithm = cnp.where(huge, 2 * logarithm, logarithm)
    result: Array = cnp.where(p < q, -logarithm, logarithm)
    return result


def _rel_entr_slope(p: Array, q: Array, result: Array) -> Array:
    both = (p > 0) & (q > 0)
    logarithm = _log_of_ratio(cnp.where(both, p, 1.0), cnp.where(both, q, 1.0))
    # Where one of them is not positive, as the logarithm of a quotient would go.
    end = cnp.where(p == 0, cnp.where(q == 0, 0.0, -cnp.inf), cnp.where((p > 0) & (q == 0), cnp.inf, cnp.nan))
    end = cnp.where(cnp.isnan(q), cnp.nan, end)
    slope: Array = cnp.where(both, logarithm + 1, end)
    return slope


def _rel_entr_slope_of_second(p: Array, q: Array, result: Array) -> Array:
    none = (p == 0) & (q == 0)
    slope: Array = -p / cnp.where(none, 1.0, q)
    return slope


# Nothing is left of what has no probability at all: there the derivatives are 0.
@elementwise(_rel_entr_slope, _rel_entr_slope_of_second)
def _rel_entr(p: Array, q: Array) -> Array:
    both = (p > 0) & (q > 0)
    result: Array = cnp.where(both, p * _log_of_ratio(p, q), cnp.where((p == 0) & (q >= 0), 0.0, cnp.inf))
    return cnp.where(cnp.isnan(p) | cnp.isnan(q), cnp.nan, result)  # type: ignore[no-any-return]


def rel_entr(p: Any, q: Any) -> Array:
    """The relative entropy ``p * log(p / q)`` of each element.

    It is 0 where p is 0 and q is not negative, and infinite where a number is negative or only q is 0.

    Parameters
    ----------
    p, q : array
        Real numbers.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    Solomon Kullback and Richard A. Leibler, "On information and sufficiency", 1951.

    Examples
    --------
    >>> ct.scipy.special.rel_entr(ct.numpy.array([0.5, 0.0]), ct.numpy.array([0.25, 0.5])).round(4)
    Array([0.3466, 0.    ], dtype=float32)
    """
    return _rel_entr(*floats("rel_entr", p, q))


@elementwise()
def _kl_div(p: Array, q: Array) -> Array:
    result: Array = _rel_entr(p, q) - p + q
    return result


def kl_div(p: Any, q: Any) -> Array:
    """The divergence ``p * log(p / q) - p + q`` of each element, with the conventions of `rel_entr`.

    Parameters
    ----------
    p, q : array
        Real numbers.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    Solomon Kullback and Richard A. Leibler, "On information and sufficiency", 1951.

    Examples
    --------
    >>> ct.scipy.special.kl_div(ct.numpy.array([0.5, 0.0]), ct.numpy.array([0.25, 0.5])).round(4)
    Array([0.0966, 0.5   ], dtype=float32)
    """
    return _kl_div(*floats("kl_div", p, q))


def _power_of_one_plus(x: Array, power: Array) -> Array:
    """``(1 + x)**power``, with what rounding takes from ``1 + x``."""
    base = 1 + x
    rest = cnp.where(cnp.abs(x) > 1, 1 - (base - x), x - (base - 1))
    relative = cnp.where((base > 0) & (base < cnp.inf), rest / base, 0.0)
    raised = base**power
    corrected: Array = cnp.where((raised == 0) | (raised == cnp.inf), raised, raised * cnp.exp(power * relative))
    return corrected


def _boxcox_of(x: Array, power: Array, logarithm: Array, raise_to: Callable[[Array, Array], Array]) -> Array:
    """Of the logarithm and the powers of a function of ``x``."""
    scaled = power * logarithm
    # An exponential has the rounding error of its large argument, a power has not; near 1 only the former does not cancel.
    near = logarithm * cnp.where(scaled == 0, 1.0, cnp.expm1(scaled) / cnp.where(scaled == 0, 1.0, scaled))
    # The power may overflow where the quotient does not.
    large = scaled > by_precision(x, 40.0, 350.0)
    raised = raise_to(x, cnp.where(large, power / 2, power))
    divisor = cnp.where(power == 0, 1.0, power)
    far = cnp.where(large, raised / divisor * raised, (raised - 1) / divisor)
    result: Array = cnp.where(power == 0, logarithm, cnp.where(cnp.abs(scaled) > 1, far, near))
    return result


def _boxcox_slope(logarithm: Array, raised: Array, power: Array, result: Array) -> Array:
    """The derivative in the power: ``logarithm**2`` times that of ``expm1(t) / t``."""
    scaled = power * logarithm
    near = polynomial(
        cnp.where(cnp.isnan(scaled), 0.0, scaled), tuple((k + 1) / math.factorial(k + 2) for k in range(18, -1, -1))
    )
    far = (cnp.where(raised == 0, 0.0, raised * logarithm) - result) / cnp.where(power == 0, 1.0, power)
    far = cnp.where(raised == cnp.inf, cnp.inf, far)
    slope: Array = cnp.where(cnp.abs(scaled) > 1, far, logarithm * logarithm * near)
    return slope


@elementwise(
    lambda x, power, result: x ** (power - 1),
    lambda x, power, result: _boxcox_slope(cnp.log(x), x**power, power, result),
)
def _boxcox(x: Array, power: Array) -> Array:
    return _boxcox_of(x, power, cnp.log(x), lambda x, power: x**power)


@elementwise(
    lambda x, power, result: _power_of_one_plus(x, power - 1),
    lambda x, power, result: _boxcox_slope(cnp.log1p(x), _power_of_one_plus(x, power), power, result),
)
def _boxcox1p(x: Array, power: Array) -> Array:
    return _boxcox_of(x, power, cnp.log1p(x), _power_of_one_plus)


def boxcox(x: Any, lmbda: Any) -> Array:
    """The transform of Box and Cox: ``(x**lmbda - 1) / lmbda``, and ``log(x)`` where lmbda is 0.

    Parameters
    ----------
    x : array
        Positive numbers.
    lmbda : array
        The power; real.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    George E. P. Box and David R. Cox, "An analysis of transformations", 1964.

    Examples
    --------
    >>> ct.scipy.special.boxcox(ct.numpy.array([1.0, 4.0]), 0.5)
    Array([0., 2.], dtype=float32)
    """
    return _boxcox(*floats("boxcox", x, lmbda))


def boxcox1p(x: Any, lmbda: Any) -> Array:
    """The transform of Box and Cox of ``1 + x``, which keeps its digits for small x.

    Parameters
    ----------
    x : array
        Numbers above -1.
    lmbda : array
        The power; real.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    George E. P. Box and David R. Cox, "An analysis of transformations", 1964.

    Examples
    --------
    >>> ct.scipy.special.boxcox1p(ct.numpy.array([0.0, 3.0]), 0.5)
    Array([0., 2.], dtype=float32)
    """
    return _boxcox1p(*floats("boxcox1p", x, lmbda))


check_arguments(globals())
