"""Windows of signal processing, and the Bessel function that one of them is made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._core import Array
from cotangent._ops.binding import choose, literal, real_only
from cotangent._ops.extents import stretched
from cotangent._ops.sizes import Size, as_dtype, bound_size, is_dimension, length_of_size, static_int
from cotangent._special.bessel import i0 as bessel

__all__ = ["bartlett", "blackman", "hamming", "hanning", "i0", "kaiser"]


def _ramp(M: Any, name: str) -> tuple[Array, Size]:
    """0, 1, … M - 1, floating."""
    dtype = _core.default_float_dtype()
    if is_dimension(M):
        return primitives.iota(shape=[M.bound], dtype=dtype, axis=0), as_dtype(length_of_size(M), dtype)
    if isinstance(M, (float, np.floating)) and M.is_integer():
        M = int(M)
    size = max(static_int(M, f"{name}: M"), 0)
    return primitives.iota(shape=[size], dtype=dtype, axis=0), size


def _of_size(window: Array, M: Any) -> Array:
    """The window of M elements: 1 where M is 1."""
    if not is_dimension(M):
        return literal(window, 1.0) if bound_size(window) == 1 else window
    length = as_dtype(length_of_size(M), np.dtype("int32"))
    alone = primitives.eq(length, literal(length, 1))
    return give_lengths(choose(stretched(alone, window), 1.0, window), {0: length})


def _last(size: Size) -> Any:
    """The place of the last element, or 1 where that is 0 or there is none."""
    return primitives.max(size - 1, literal(size, 1)) if isinstance(size, Array) else max(size - 1, 1)


def _times(window: Array, factor: Any) -> Array:
    return window * (factor if isinstance(factor, Array) else literal(window, factor))


def _cosines(M: Any, name: str, weights: tuple[float, ...]) -> Array:
    """The sum of weights times cosines of 0, 1, 2, … periods."""
    ramp, size = _ramp(M, name)
    result = literal(ramp, weights[0])
    for n, weight in enumerate(weights[1:], 1):
        result = result + primitives.cos(_times(ramp, 2 * math.pi * n / _last(size))) * weight
    return _of_size(result, M)


def bartlett(M: Any) -> Array:
    """The triangular window, which is 0 at both ends.

    Parameters
    ----------
    M : int
        How many numbers.

    Returns
    -------
    array, shape (M,)
        Of the default floating dtype.

    Examples
    --------
    >>> ct.numpy.bartlett(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    ramp, size = _ramp(M, "bartlett")
    half = _last(size) / 2
    return _of_size(literal(ramp, 1.0) - _times(primitives.abs(_times(literal(ramp, 1.0), -half) + ramp), 1 / half), M)


def blackman(M: Any) -> Array:
    """The Blackman window: three cosine terms, and nearly 0 at both ends.

    Parameters
    ----------
    M : int
        How many numbers.

    Returns
    -------
    array, shape (M,)
        Of the default floating dtype.

    Examples
    --------
    >>> ct.numpy.blackman(5).round(2) + 0.0
    Array([0.  , 0.34, 1.  , 0.34, 0.  ], dtype=float32)
    """
    return _cosines(M, "blackman", (0.42, -0.5, 0.08))


def hamming(M: Any) -> Array:
    """The Hamming window: a raised cosine on a step, 0.08 at both ends.

    Parameters
    ----------
    M : int
        How many numbers.

    Returns
    -------
    array, shape (M,)
        Of the default floating dtype.

    Examples
    --------
    >>> ct.numpy.hamming(5).round(2)
    Array([0.08, 0.54, 1.  , 0.54, 0.08], dtype=float32)
    """
    return _cosines(M, "hamming", (0.54, -0.46))


def hanning(M: Any) -> Array:
    """The Hann window: a raised cosine that is 0 at both ends.

    Parameters
    ----------
    M : int
        How many numbers.

    Returns
    -------
    array, shape (M,)
        Of the default floating dtype.

    Examples
    --------
    >>> ct.numpy.hanning(5).round(2)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _cosines(M, "hanning", (0.5, -0.5))


def kaiser(M: Any, beta: Any) -> Array:
    """The Kaiser window: ``i0(beta * sqrt(1 - t**2)) / i0(beta)`` for t from -1 to 1.

    Parameters
    ----------
    M : int
        How many numbers.
    beta : array
        The shape: 0 is a rectangle, 5 like Hamming's, 8.6 like Blackman's.

    Returns
    -------
    array, shape (M,)
        Of the default floating dtype.

    References
    ----------
    J. F. Kaiser: Digital filters, in: System Analysis by Digital Computer, 1966.

    Examples
    --------
    >>> ct.numpy.kaiser(5, 5.0).round(3)
    Array([0.037, 0.553, 1.   , 0.553, 0.037], dtype=float32)
    """
    ramp, size = _ramp(M, "kaiser")
    shape = _core.array(beta)
    half = _last(size) / 2
    t = _times(_times(literal(ramp, 1.0), -half) + ramp, 1 / half)
    rest = (literal(t, 1.0) - t) * (literal(t, 1.0) + t)
    wide, base = _core.promote([shape * primitives.sqrt(primitives.max(rest, literal(rest, 0.0))), shape], inexact=True)
    return _of_size(_core.convert(i0(wide) / i0(base), ramp.dtype), M)


def i0(x: Any) -> Array:
    """The modified Bessel function of the first kind and order 0 of each element.

    Parameters
    ----------
    x : array
        Real. Integers and bools are converted to the default floating dtype.

    Returns
    -------
    array
        Floating, of the shape of ``x``.

    Raises
    ------
    DTypeError
        ``x`` is complex.

    Examples
    --------
    >>> ct.numpy.i0([0.0, 1.0]).round(4)
    Array([1.    , 1.2661], dtype=float32)
    """
    return bessel(real_only(x, "i0"))


check_arguments(globals())
