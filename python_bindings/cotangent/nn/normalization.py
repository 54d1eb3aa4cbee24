"""Softmax and its kin, standardisation, and one-hot codes."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops import means, reductions
from cotangent._ops.arithmetic import maximum
from cotangent._ops.binding import choose, constant, inexact, kind, literal
from cotangent._ops.comparisons import truth
from cotangent._ops.extents import capacities, drop_axes, index_along, stretched
from cotangent._ops.per_element import Elementwise, pick
from cotangent._ops.sizes import insert_axes, normalize_axes, normalize_axis, static_shape
from cotangent._special.logistic import is_below

__all__ = ["log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax", "standardize"]

Axis = Any


def _largest(x: Array, axes: Axis, chosen: Any) -> Array:
    """The largest element, the axes kept; -inf where there is none."""
    never_empty = chosen is None and 0 not in capacities(x) and not _core.ragged_axes(x)
    return reductions.max(x, axes, keepdims=True, initial=None if never_empty else -math.inf, where=chosen)


def _shifted(x: Array, axis: Axis, chosen: Any) -> Array:
    """``x`` less its largest element, which carries no derivative."""
    return primitives.sub(x, stretched(primitives.stop_gradient(_largest(x, axis, chosen)), x))


def _choice(x: Array, chosen: Any) -> Array | None:
    return None if chosen is None else stretched(truth(chosen), x)


def softmax(x: Any, axis: Axis = -1, where: Any = None) -> Array:
    """Exponentials that sum to 1 along axes.

    The largest element is subtracted first, so that nothing overflows.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.
    axis : int, tuple of int or None
        The axes that sum to 1, by default the last; None for all.
    where : array of bool, optional
        The elements that count; the result is 0 elsewhere, and 0 where none counts.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    Pierre Blanchard, Desmond J. Higham and Nicholas J. Higham, "Accurately computing the log-sum-exp and softmax
    functions", 2021.

    Examples
    --------
    >>> ct.nn.softmax(ct.numpy.array([0.0, 0.0]))
    Array([0.5, 0.5], dtype=float32)
    >>> ct.nn.softmax(ct.numpy.array([0.0, 9.0, 0.0]), where=ct.numpy.array([True, False, True]))
    Array([0.5, 0. , 0.5], dtype=float32)
    """
    array = inexact(x)
    chosen = _choice(array, where)
    shifted = _shifted(array, axis, chosen)
    if chosen is not None:
        shifted = choose(chosen, shifted, -math.inf)
    exponentials = primitives.exp(shifted)
    total = reductions.sum(exponentials, axis, keepdims=True)
    if chosen is not None:
        total = choose(primitives.eq(total, literal(total, 0.0)), 1.0, total)
    return exponentials / total


def log_softmax(x: Any, axis: Axis = -1, where: Any = None) -> Array:
    """The logarithm of `softmax`, without underflow.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.
    axis : int, tuple of int or None
        The axes that sum to 1, by default the last; None for all.
    where : array of bool, optional
        The elements that count; the result is -inf elsewhere.

    Returns
    -------
    array
        Of the shape of ``x``.

    References
    ----------
    Pierre Blanchard, Desmond J. Higham and Nicholas J. Higham, "Accurately computing the log-sum-exp and softmax
    functions", 2021.

    Examples
    --------
    >>> ct.nn.log_softmax(ct.numpy.array([0.0, 0.0])).round(4)
    Array([-0.6931, -0.6931], dtype=float32)
    """
    array = inexact(x)
    chosen = _choice(array, where)
    shifted = _shifted(array, axis, chosen)
    total = reductions.sum(primitives.exp(shifted), axis, keepdims=True, where=chosen)
    result = shifted - primitives.log(total)
    return result if chosen is None else choose(chosen, result, -math.inf)


def logsumexp(
    a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False, where: Any = None
) -> Any:
    """The logarithm of a sum of exponentials, ``log(sum(b * exp(a)))``, without overflow.

    Parameters
    ----------
    a : array
        Numbers; integers are computed in the default floating dtype.
    axis : int, tuple of int or None
        The axes that are summed over; None, the default, for all.
    b : array, optional
        Factors, broadcast against ``a``; elements with factor 0 do not count.
    keepdims : bool
        Whether the axes stay, with size 1.
    return_sign : bool
        Whether to return the logarithm of the magnitude, and the sign. Without it a negative sum gives NaN.
    where : array of bool, optional
        The elements that count.

    Returns
    -------
    array, or (array, array)
        The logarithm, -inf of an empty sum; with ``return_sign`` and the sign.

    References
    ----------
    Pierre Blanchard, Desmond J. Higham and Nicholas J. Higham, "Accurately computing the log-sum-exp and softmax
    functions", 2021.

    Examples
    --------
    >>> ct.nn.logsumexp(ct.numpy.array([1000.0, 1000.0])).round(4)
    Array(1000.6932, dtype=float32)
    >>> [x.tolist() for x in ct.nn.logsumexp(ct.numpy.zeros(3), b=ct.numpy.array([1.0, 1.0, -3.0]), return_sign=True)]
    [0.0, -1.0]
    """
    if b is None:
        array, weights = inexact(a), None
    else:
        array, weights = _core.promote([a, b], inexact=True)
        array = choose(primitives.eq(weights, literal(weights, 0.0)), -math.inf, array)
    axes = tuple(normalize_axes(axis, array.ndim, "logsumexp"))
    chosen = _choice(array, where)
    largest = _largest(primitives.real(array) if kind(array) == "complex" else array, axes, chosen)
    # Minus infinity stays what it is when nothing is subtracted.
    if kind(array) == "complex":
        is_subtracted = primitives.is_finite(largest)
    else:
        is_subtracted = primitives.ne(largest, literal(largest, -math.inf))
    largest = primitives.stop_gradient(choose(is_subtracted, largest, 0.0))
    if kind(array) == "complex":
        exponentials = primitives.exp(array - largest)
    else:
        exponentials = primitives.exp(_less(array, stretched(largest, array)))
    if weights is not None:
        exponentials = weights * exponentials
    total = reductions.sum(exponentials, axes, keepdims=True, where=chosen)
    if return_sign or (weights is not None and kind(array) != "complex"):
        magnitude = primitives.abs(total)
        if not return_sign:
            magnitude = choose(is_below(total, 0.0), math.nan, magnitude)
    else:
        magnitude = total
    results = [primitives.log(magnitude) + largest, *([primitives.sign(total)] if return_sign else [])]
    if not keepdims:
        results = [drop_axes(result, axes) for result in results]
    return tuple(results) if return_sign else results[0]


def logmeanexp(x: Any, axis: Axis = None, where: Any = None, keepdims: bool = False) -> Array:
    """The logarithm of a mean of exponentials, ``log(mean(exp(x)))``, without overflow.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.
    axis : int, tuple of int or None
        The axes that the mean is taken over; None, the default, for all.
    where : array of bool, optional
        The elements that count.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    array
        Without these axes.

    Examples
    --------
    >>> ct.nn.logmeanexp(ct.numpy.array([1000.0, 1000.0])).round(4)
    Array(1000., dtype=float32)
    """
    array = inexact(x)
    total = logsumexp(array, axis, keepdims=keepdims, where=where)
    chosen = constant(array, True, bool) if where is None else _choice(array, where)
    counts = reductions.sum(_core.convert(chosen, total.dtype), axis, keepdims=keepdims)
    return total - primitives.log(counts)  # type: ignore[no-any-return]


def standardize(
    x: Any,
    axis: Axis = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """Subtracts the mean and divides by the standard deviation, along axes.

    Parameters
    ----------
    x : array
        Numbers; integers are computed in the default floating dtype.
    axis : int, tuple of int or None
        The axes that mean and variance are taken over, by default the last.
    mean, variance : array, optional
        Where they are known beforehand; broadcast against ``x``.
    epsilon : float
        What is added to the variance, to keep the divisor from 0.
    where : array of bool, optional
        The elements that count for mean and variance.
    algorithm : str
        "fast" (the default): the variance is the mean of squares less the square of the mean, at least 0; "stable":
        the mean of squared differences.

    Returns
    -------
    array
        Of the shape of ``x``.

    Raises
    ------
    ValueError
        The algorithm is unknown.

    References
    ----------
    Tony F. Chan, Gene H. Golub and Randall J. LeVeque, "Algorithms for computing the sample variance: analysis and
    recommendations", 1983.

    Examples
    --------
    >>> ct.nn.standardize(ct.numpy.array([1.0, 3.0]), epsilon=0.0)
    Array([-1.,  1.], dtype=float32)
    """
    check_word("standardize", "algorithm", algorithm, ("fast", "stable"))
    array = inexact(x)
    if mean is None:
        mean = means.mean(array, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "stable":
            variance = means.mean((array - mean) * (array - mean), axis, keepdims=True, where=where)
        else:
            squares = means.mean(array * array, axis, keepdims=True, where=where)
            variance = maximum(squares - mean * mean, 0)
    scale = primitives.sqrt(_core.array(variance + epsilon))
    return primitives.div(*_core.promote([array - mean, scale]))


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Array:
    """For each integer a vector with 1 at its position, and 0 elsewhere.

    Positions outside of the vector give zeros.

    Parameters
    ----------
    x : array
        Integers; floats are compared with the positions.
    num_classes : int
        The size of the vectors; inside ``mask`` also a size.
    dtype : dtype, optional
        By default the default floating dtype.
    axis : int
        Where the new axis is in the result, by default the last.

    Returns
    -------
    array
        With one axis more than ``x``.

    Examples
    --------
    >>> ct.nn.one_hot(ct.numpy.array([0, 2, -1]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.],
           [0., 0., 0.]], dtype=float32)
    """
    array = _core.array(x)
    (count,), lengths = static_shape(num_classes, "one_hot")
    position = normalize_axis(axis, array.ndim + 1, "one_hot")
    column = insert_axes(array, [position])
    wide = stretched(column, column, {position: count})
    classes = index_along(wide, position, _core.default_int_dtype() if kind(array) == "bool" else array.dtype)
    hit = primitives.eq(*_core.promote([wide, classes]))
    result = _core.convert(hit, _core.default_float_dtype() if dtype is None else dtype)
    return give_lengths(result, {position: lengths[0]} if lengths else {})


# x - y, and 0 of equal infinities, where the derivative is that of a difference still.
_less = Elementwise(
    lambda x, y: pick(primitives.eq(x, y), 0.0, x - y),
    (lambda x, y, result: literal(x, 1.0), lambda x, y, result: literal(x, -1.0)),
    "less",
)


check_arguments(globals())
