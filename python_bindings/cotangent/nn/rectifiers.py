"""Rectifiers: functions that are 0 or bounded below 0, and grow like their argument above."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import choose, inexact, kind, literal, ordered
from cotangent._ops.choice import where
from cotangent._ops.exponentials import logaddexp
from cotangent._ops.per_element import by_precision, elementwise, pick
from cotangent._special.logistic import is_below, small_exponential
from cotangent._special.support import floats

__all__ = [
    "celu",
    "elu",
    "leaky_relu",
    "relu",
    "relu6",
    "selu",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
]


# ---- Activations -----------------------------------------------------------------------------------------------------


def relu(x: Any) -> Array:
    """The rectifier ``max(x, 0)``, with derivative 0 at 0.

    Parameters
    ----------
    x : array
        Numbers.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.nn.relu(ct.numpy.array([-1.0, 2.0]))
    Array([0., 2.], dtype=float32)
    """
    array = _core.array(x)
    return choose(ordered(primitives.le, array, literal(array, 0)), 0, array)


def relu6(x: Any) -> Array:
    """The rectifier limited to 6: ``min(max(x, 0), 6)``.

    The derivative is 0 at 0 and at 6.

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
    Alex Krizhevsky, "Convolutional deep belief networks on CIFAR-10", 2010.

    Examples
    --------
    >>> ct.nn.relu6(ct.numpy.array([-1.0, 2.0, 8.0]))
    Array([0., 2., 6.], dtype=float32)
    """
    array = inexact(x)
    return choose(
        ordered(primitives.ge, array, literal(array, 6.0)),
        6.0,
        choose(ordered(primitives.le, array, literal(array, 0.0)), 0.0, array),
    )


def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Array:
    """The numbers themselves from 0 on, and a small multiple of them below.

    Parameters
    ----------
    x : array
        Real numbers; integers are computed in the default floating dtype.
    negative_slope : float
        The factor below 0.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    Andrew L. Maas, Awni Y. Hannun and Andrew Y. Ng, "Rectifier nonlinearities improve neural network acoustic
    models", 2013.

    Examples
    --------
    >>> ct.nn.leaky_relu(ct.numpy.array([-2.0, 3.0]), 0.25)
    Array([-0.5,  3. ], dtype=float32)
    """
    array = inexact(x)
    return where(ordered(primitives.ge, array, literal(array, 0.0)), array, negative_slope * array)  # type: ignore[no-any-return]


def softplus(x: Any) -> Array:
    """The smooth rectifier ``log(1 + exp(x))``, without overflow.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    Examples
    --------
    >>> ct.nn.softplus(ct.numpy.array([0.0, 100.0])).round(4)
    Array([  0.6931, 100.    ], dtype=float32)
    """
    array = inexact(x)
    if kind(array) == "complex":
        return logaddexp(array, literal(array, 0.0))
    return choose(is_below(array, 0.0), 0.0, array) + primitives.log1p(small_exponential(array))


def sparse_plus(x: Any) -> Array:
    """A rectifier with a parabola: ``x`` from 1 on, 0 up to -1, and ``(x + 1)**2 / 4`` between.

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
    >>> ct.nn.sparse_plus(ct.numpy.array([-2.0, 0.0, 2.0]))
    Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    array = inexact(x)
    shifted = array + 1.0
    inside = choose(ordered(primitives.ge, array, literal(array, 1.0)), array, shifted * shifted / 4.0)
    return choose(ordered(primitives.le, array, literal(array, -1.0)), 0.0, inside)


def sparse_sigmoid(x: Any) -> Array:
    """The derivative of `sparse_plus`: ``(x + 1) / 2`` limited to [0, 1].

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
    >>> ct.nn.sparse_sigmoid(ct.numpy.array([-2.0, 0.0, 2.0]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    array = inexact(x)
    # By max and min, so that at a bound the slopes of both sides share.
    return primitives.min(primitives.max(array + 1.0, literal(array, 0.0)), literal(array, 2.0)) * 0.5


def _squareplus_root(x: Array, b: Array) -> Array:
    """``sqrt(x**2 + b)``, also where the square overflows: there it is of numbers that are smaller by a power of 2."""
    limit, power = by_precision(x, (2.0**62, 2.0**70), (2.0**510, 2.0**520))
    size = primitives.abs(x)
    large = size > limit
    down = pick(large, 1.0 / power, _core.full((), 1.0, x.dtype))
    scaled = size * down
    root = primitives.sqrt(scaled * scaled + (b * down) * down)
    return pick(large, root * power, root)


def _squareplus_slope(x: Array, b: Array, result: Array) -> Array:
    # (1 + x / root) / 2, without cancellation.
    root = _squareplus_root(x, b)
    end = primitives.or_(root == 0.0, root == math.inf)
    limits = pick(x > 0.0, 1.0, pick(x < 0.0, 0.0, _core.full((), 0.5, x.dtype)))
    return pick(end, limits, result / pick(end, 1.0, root))


@elementwise(_squareplus_slope, lambda x, b, result: 0.25 / _squareplus_root(x, b))
def _squareplus(x: Array, b: Array) -> Array:
    # The sum is of magnitudes: below 0 it is the other factor of b / 4.
    half = 0.5 * _squareplus_root(x, b) + 0.5 * primitives.abs(x)
    below = x < 0.0
    return pick(below, (0.25 * b) / pick(primitives.and_(below, half != 0.0), half, 1.0), half)


def squareplus(x: Any, b: Any = 4) -> Array:
    """The smooth rectifier ``(x + sqrt(x**2 + b)) / 2``, also where the square overflows or the sum cancels.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.
    b : array
        How smooth: the square of twice the value at 0.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    Jonathan T. Barron, "Squareplus: a softplus-like algebraic rectifier", 2021.

    Examples
    --------
    >>> ct.nn.squareplus(ct.numpy.array([0.0, 1.5]))
    Array([1., 2.], dtype=float32)
    """
    array, added = _core.promote([x, b], inexact=True)
    if kind(array) == "complex":
        return (array + primitives.sqrt(array * array + added)) / 2
    return _squareplus(*floats("squareplus", array, added))


def elu(x: Any, alpha: Any = 1.0) -> Array:
    """The numbers themselves above 0, and ``alpha * (exp(x) - 1)`` below.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.
    alpha : float
        The limit below is ``-alpha``.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    Djork-Arné Clevert, Thomas Unterthiner and Sepp Hochreiter, "Fast and accurate deep network learning by
    exponential linear units (ELUs)", 2015.

    Examples
    --------
    >>> ct.nn.elu(ct.numpy.array([-1.0, 2.0])).round(4)
    Array([-0.6321,  2.    ], dtype=float32)
    """
    array = inexact(x)
    above = ordered(primitives.gt, array, literal(array, 0.0))
    return where(above, array, alpha * primitives.expm1(choose(above, 0.0, array)))  # type: ignore[no-any-return]


def selu(x: Any) -> Array:
    """The self-normalising exponential linear unit: a multiple of `elu` that keeps mean 0 and variance 1.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    Günter Klambauer, Thomas Unterthiner, Andreas Mayr and Sepp Hochreiter, "Self-normalizing neural networks",
    2017.

    Examples
    --------
    >>> ct.nn.selu(ct.numpy.array([-1.0, 2.0])).round(4)
    Array([-1.1113,  2.1014], dtype=float32)
    """
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


def celu(x: Any, alpha: Any = 1.0) -> Array:
    """The numbers themselves above 0, and ``alpha * (exp(x / alpha) - 1)`` below: smooth for every alpha.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.
    alpha : float
        The limit below is ``-alpha``.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    Jonathan T. Barron, "Continuously differentiable exponential linear units", 2017.

    Examples
    --------
    >>> ct.nn.celu(ct.numpy.array([-1.0, 2.0]), 0.5).round(4)
    Array([-0.4323,  2.    ], dtype=float32)
    """
    array = inexact(x)
    above = ordered(primitives.gt, array, literal(array, 0.0))
    return where(above, array, alpha * primitives.expm1(choose(above, 0.0, array) / alpha))  # type: ignore[no-any-return]


check_arguments(globals())
