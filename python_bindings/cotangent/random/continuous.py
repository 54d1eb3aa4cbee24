"""Numbers that are one uniform number transformed: exponential, Gumbel, Laplace, logistic, Cauchy."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.device import Placement
from cotangent._base.keys import Key
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.binding import literal
from cotangent._ops.choice import where
from cotangent._ops.floating_parts import ldexp
from cotangent._ops.sizes import (
    symbolic_shape,
)
from cotangent.lax.bits import clz
from cotangent.random.basic import _finfo, bits, float_dtype, uniform
from cotangent.random.orders import look_at_orders

__all__ = ["cauchy", "exponential", "gumbel", "laplace", "logistic"]


def gumbel(
    key: Key,
    shape: Any = (),
    dtype: Any = None,
    mode: Literal["highest", "high", "low"] | None = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Numbers of the standard Gumbel distribution, whose distribution function is ``exp(-exp(-x))``.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    shape : int or sequence of int
        The shape of the result, by default ().
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    mode : str, optional
        How far the tails reach: "low" (the default) draws as many bits as the dtype has, "high" twice as many,
        "highest", of float32, also uses all of them near either end.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    DTypeError
        The dtype is not floating.

    References
    ----------
    Emil Julius Gumbel, "Statistical theory of extreme values and some practical applications", 1954.

    Examples
    --------
    >>> ct.random.gumbel(ct.random.key(0), (3,)).round(3)
    Array([ 2.923,  3.833, -0.097], dtype=float32)
    """
    dtype = float_dtype(dtype, "gumbel")
    check_word("gumbel", "mode", mode, ("highest", "high", "low", None))
    if mode == "highest" and dtype == np.float32:
        return _far_gumbel(key, symbolic_shape(shape, "gumbel"))
    if mode in ("high", "highest"):
        fine = uniform(key, (2, *symbolic_shape(shape, "gumbel")), dtype)
        low = fine[0] + 2.0 ** -int(_finfo(dtype).nmant) * fine[1] + float(_finfo(dtype).tiny)
        x = primitives.select(fine[0] >= 0.5, fine[0], low)
        return primitives.neg(primitives.log(primitives.neg(primitives.log1p(primitives.neg(x)))))
    draws = uniform(key, shape, dtype, float(_finfo(dtype).tiny), 1.0)
    return primitives.neg(primitives.log(primitives.neg(primitives.log(draws))))


def _far_gumbel(key: Any, shape: Any) -> Array:
    """By 64 bits, as a fraction u below 1/2, else as 1 - u, which is small then: either has all digits of a float32."""
    words = bits(key, (2, *shape), "uint32")
    wide = (_core.convert(words[0], "uint64") << 32) | _core.convert(words[1], "uint64")
    below = words[0] < 2**31
    small = where(below, wide, ~wide + 1)
    zeros = clz(small)
    leading = _core.convert((small << zeros) >> 40, "float32")
    x = ldexp(leading, -24 - _core.convert(zeros, "int32"))
    below_log = primitives.log1p(primitives.neg(x))
    return -primitives.log(primitives.neg(primitives.select(below, below_log, primitives.log(x))))


def exponential(key: Key, shape: Any = (), dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Numbers of the exponential distribution of mean 1, whose density is ``exp(-x)`` for x >= 0.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    shape : int or sequence of int
        The shape of the result, by default ().
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    DTypeError
        The dtype is not floating.

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    1, 1994, chapter 19.

    Examples
    --------
    >>> ct.random.exponential(ct.random.key(0), (3,)).round(3)
    Array([2.95 , 3.843, 0.404], dtype=float32)
    """
    draws = uniform(key, shape, float_dtype(dtype, "exponential"))
    return primitives.neg(primitives.log1p(primitives.neg(draws)))


def laplace(key: Key, shape: Any = (), dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Numbers of the Laplace distribution of mean 0 and scale 1, whose density is ``exp(-|x|) / 2``.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    shape : int or sequence of int
        The shape of the result, by default ().
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    DTypeError
        The dtype is not floating.

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    2, 1995, chapter 24.

    Examples
    --------
    >>> ct.random.laplace(ct.random.key(0), (3,)).round(3)
    Array([-2.257, -3.15 ,  0.409], dtype=float32)
    """
    dtype = float_dtype(dtype, "laplace")
    draws = uniform(key, shape, dtype, -1.0 + float(_finfo(dtype).epsneg), 1.0)
    return primitives.sign(draws) * primitives.log1p(primitives.neg(primitives.abs(draws)))


def logistic(key: Key, shape: Any = (), dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Numbers of the logistic distribution of mean 0 and scale 1, whose distribution function is ``1 / (1 + exp(-x))``.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    shape : int or sequence of int
        The shape of the result, by default ().
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    DTypeError
        The dtype is not floating.

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    2, 1995, chapter 23.

    Examples
    --------
    >>> ct.random.logistic(ct.random.key(0), (3,)).round(3)
    Array([ 2.896,  3.822, -0.698], dtype=float32)
    """
    dtype = float_dtype(dtype, "logistic")
    draws = uniform(key, shape, dtype, float(_finfo(dtype).tiny), 1.0)
    return primitives.log(draws) - primitives.log1p(primitives.neg(draws))


def cauchy(key: Key, shape: Any = (), dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Numbers of the standard Cauchy distribution, whose density is ``1 / (pi * (1 + x**2))``.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    shape : int or sequence of int
        The shape of the result, by default ().
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    DTypeError
        The dtype is not floating.

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    1, 1994, chapter 16.

    Examples
    --------
    >>> ct.random.cauchy(ct.random.key(0), (3,)).round(3)
    Array([ 6.027, 14.838, -0.582], dtype=float32)
    """
    dtype = float_dtype(dtype, "cauchy")
    draws = uniform(key, shape, dtype, float(_finfo(dtype).eps), 1.0)
    angle = literal(draws, math.pi) * (draws - literal(draws, 0.5))
    return primitives.sin(angle) / primitives.cos(angle)


look_at_orders(globals())
check_arguments(globals())
