"""The distributions of ``ct.random`` over integers; the draws are those of ``jax.random``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.device import Placement
from cotangent._base.keys import Key
from cotangent._core import Array
from cotangent._ops.binding import literal
from cotangent._ops.extents import capacity, without_padding
from cotangent._ops.keys import _words_of
from cotangent._ops.sizes import axis_size, symbolic_shape
from cotangent._transforms.control_flow import scan, while_loop
from cotangent.errors import DTypeError
from cotangent.random import basic
from cotangent.random.gammas import _parameters
from cotangent.random.orders import look_at_orders

__all__ = [
    "binomial",
    "geometric",
    "multinomial",
    "poisson",
]


def geometric(key: Key, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """How many trials there are until the first success, that one included.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    p : array
        The probability of success in a trial, in (0, 1].
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Of integers, by default the default integer dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array of int
        From 1 on.

    Raises
    ------
    DTypeError
        The dtype is none of integers.

    References
    ----------
    Norman L. Johnson, Adrienne W. Kemp and Samuel Kotz, "Univariate Discrete Distributions", 3rd edition, 2005,
    chapter 5.

    Examples
    --------
    >>> ct.random.geometric(ct.random.key(0), 0.25, (4,))
    Array([1, 1, 4, 3], dtype=int32)
    """
    dtype = _core.default_int_dtype() if dtype is None else _core.canonical_dtype(dtype)
    if _core.dtype_kind(dtype) not in ("signed", "unsigned"):
        raise DTypeError(
            f"geometric: the dtype must be an integer; got {dtype}\n  leave it out, and convert the result"
        )
    probability = _core.promote([p], inexact=True)[0]
    sizes, _, _ = _parameters("geometric", shape, probability.dtype, probability)
    u = basic.uniform(key, sizes, probability.dtype)
    u = cnp.where(u == 0, 1, u)
    return _core.convert(primitives.floor(primitives.log(u) / primitives.log1p(-probability)) + 1, dtype)


def poisson(key: Key, lam: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Numbers of the Poisson distribution: how many independent events occur of which ``lam`` are expected.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    lam : array
        The mean, from 0 on.
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Of integers, by default the default integer dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array of int
        From 0 on.

    Raises
    ------
    DTypeError
        The dtype is none of integers.

    References
    ----------
    - Wolfgang Hörmann, "The transformed rejection method for generating Poisson random variables", 1993.
    - Donald E. Knuth, "The Art of Computer Programming", volume 2, 3rd edition, 1997, section 3.4.1, for means
      below 10.

    Examples
    --------
    >>> ct.random.poisson(ct.random.key(0), 3.0, (4,))
    Array([0, 0, 4, 4], dtype=int32)
    """
    dtype = _core.default_int_dtype() if dtype is None else _core.canonical_dtype(dtype)
    if _core.dtype_kind(dtype) not in ("signed", "unsigned"):
        raise DTypeError(f"poisson: the dtype must be an integer; got {dtype}\n  leave it out, and convert the result")
    sizes, _, (mean,) = _parameters("poisson", shape, "float32", lam)
    mean = cnp.broadcast_to(primitives.stop_gradient(mean), sizes)
    few = primitives.or_(primitives.ne(mean, mean), mean < 10)
    result = cnp.where(
        few,
        _poisson_by_product(key, cnp.where(few, mean, 0.0), sizes, dtype),
        _poisson_by_rejection(key, cnp.where(few, 1e5, mean), sizes, dtype),
    )
    return cnp.where(mean == 0, cnp.zeros_like(result), result)  # type: ignore[no-any-return]


def _until(proceed: Any, body: Any, state: Any) -> Any:

    return while_loop(lambda s: cnp.any(proceed(s)), body, state)


def _poisson_by_product(key: Any, mean: Array, sizes: Sequence[int], dtype: Any) -> Array:
    """Knuth's method: factors until their product is below ``exp(-mean)``."""

    def body(state: Any) -> Any:
        count, words, total = state
        keys = basic.split(words)
        count = cnp.where(total > -mean, count + 1, count)
        return count, keys[0], total + primitives.log(basic.uniform(keys[1], sizes, "float32"))

    start = cnp.full(sizes, 0, dtype), _words_of(key), cnp.full(sizes, 0.0, "float32")
    return _until(lambda state: state[2] > -mean, body, start)[0] - 1  # type: ignore[no-any-return]


def _deviance(x: Array, mean: Array) -> Array:
    """``x log(x / mean) + mean - x`` for positive numbers, of which the large parts would cancel.

    Logarithms of probabilities are made of this (Loader, "Fast and accurate computation of binomial probabilities", 2000): single
    precision would not have the digits of ``mean`` and ``x log(x)`` by themselves.
    """
    off = (x - mean) / mean
    near = primitives.abs(off) < 0.125
    close = primitives.select(near, off, primitives.sub(off, off))
    # (1 + d) log(1 + d) - d
    series = _core.full((), 0.0, x.dtype)
    for k in reversed(range(2, 14)):
        series = series * close + (-1.0) ** k / (k * (k - 1.0))
    return primitives.select(near, mean * (close * close * series), x * primitives.log(x / mean) + (mean - x))


def _poisson_by_rejection(key: Any, mean: Array, sizes: Sequence[int], dtype: Any) -> Array:
    """Hörmann's transformed rejection ("The transformed rejection method for generating Poisson random variables", 1993)."""
    log_mean = primitives.log(mean)
    b = 0.931 + 2.53 * primitives.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse = 1.1239 + 1.1328 / (b - 3.4)
    limit = 0.9277 - 3.6224 / (b - 2)
    zero, half_log = cnp.full(sizes, 0.0, "float32"), 0.5 * math.log(2 * math.pi)

    def body(state: Any) -> Any:
        found, accepted, words = state
        keys = basic.split(words, 3)
        u = basic.uniform(keys[1], sizes, "float32") - 0.5
        v = basic.uniform(keys[2], sizes, "float32")
        shifted = 0.5 - primitives.abs(u)
        k = primitives.floor((2 * a / shifted + b) * u + mean + 0.43)
        s = primitives.log(v * inverse / (a / (shifted * shifted) + b))
        after = primitives.max(k, zero) + 1.0
        density = (
            0.5 * primitives.log(after) - log_mean - _deviance(after, mean) - _stirling_tail(after - 1.0) - half_log
        )
        outright = (shifted >= 0.07) & (v <= limit)
        reject = (k < 0) | ((shifted < 0.013) & (v > shifted))
        accept = outright | (~reject & (s <= density))
        return primitives.select(accept, k, found), accepted | accept, keys[0]

    start = cnp.full(sizes, -1, "float32"), cnp.full(sizes, False, bool), _words_of(key)
    return _core.convert(_until(lambda state: ~state[1], body, start)[0], dtype)


_STIRLING_TAIL = [
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
]  # fmt: skip


def _stirling_tail(k: Array) -> Array:
    """What Stirling's formula for ``log(k!)`` lacks."""
    small = k <= 9
    inverse = 1.0 / (primitives.max(k, literal(k, 0.0)) + 1.0)
    square = inverse * inverse
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 * square) * square) * inverse
    k = cnp.clip(k, 0.0, 9.0)
    table = _core.convert(_core.array(np.array(_STIRLING_TAIL)), k.dtype)
    found = cnp.take(table, _core.convert(primitives.floor(k), "int32"), mode="clip")
    return primitives.select(small, found, series)


def binomial(key: Key, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Array:
    """How many of ``n`` independent trials succeed.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    n : array
        The number of trials; fractions are cut off.
    p : array
        The probability of success in a trial, in [0, 1].
    shape : sequence of int, optional
        The shape of the result, which parameters are broadcast to; by default their common shape.
    dtype : dtype, optional
        Floating, by default the default floating dtype.

    Returns
    -------
    array
        Floats that are whole numbers; NaN where ``n`` or ``p`` is negative or NaN.

    Raises
    ------
    DTypeError
        The dtype is not floating.

    References
    ----------
    Wolfgang Hörmann, "The generation of binomial random variates", 1993.

    Examples
    --------
    >>> ct.random.binomial(ct.random.key(0), 10, 0.5, (4,))
    Array([6., 7., 5., 6.], dtype=float32)
    """
    dtype = basic.float_dtype(dtype, "binomial")
    prob = primitives.stop_gradient(_core.promote([p], inexact=True)[0])
    sizes, _, (count, prob) = _parameters("binomial", shape, prob.dtype, primitives.stop_gradient(_core.array(n)), prob)
    count, prob = cnp.broadcast_to(count, sizes), cnp.broadcast_to(prob, sizes)
    low = prob < 0.5
    q = primitives.select(low, prob, 1.0 - prob)
    bad_count = cnp.isnan(count) | (count < 0.0)
    infinite = cnp.isinf(count)
    unknown, negative = cnp.isnan(q), q < 0.0
    q = cnp.where(unknown | negative, 0.01, q)
    few = bad_count | (count * q <= 10.0)
    count = primitives.floor(count)
    samples = primitives.select(
        few,
        _binomial_by_waiting(key, cnp.where(few, count, 0.0), q, sizes, dtype),
        _binomial_by_rejection(key, cnp.where(few, 1e4, count), cnp.where(few, 0.5, q), sizes, dtype),
    )
    invalid = negative | unknown | bad_count
    samples = cnp.where(invalid, math.nan, samples)
    samples = cnp.where(infinite & ~invalid, math.inf, samples)
    keep = low | bad_count | unknown | infinite
    return primitives.select(keep, samples, _core.convert(count, dtype) - samples)


def _binomial_by_waiting(key: Any, count: Array, prob: Array, sizes: Sequence[int], dtype: Any) -> Array:
    """Waiting times added up until they exceed the number of trials."""
    scale = primitives.log1p(-prob)

    def body(state: Any) -> Any:
        found, total, words = state
        keys = basic.split(words)
        found = primitives.select(total <= count, found + 1, found)
        waited = primitives.ceil(primitives.log(basic.uniform(keys[0], sizes, prob.dtype)) / scale)
        return found, total + waited, keys[1]

    zeros = cnp.full(sizes, 0.0, prob.dtype)
    return _core.convert(_until(lambda state: state[1] <= count, body, (zeros, zeros, _words_of(key)))[0] - 1, dtype)


def _binomial_by_rejection(key: Any, count: Array, prob: Array, sizes: Sequence[int], dtype: Any) -> Array:
    """Hörmann's transformed rejection ("The generation of binomial random variates", 1993)."""

    def log(x: Array) -> Array:
        return primitives.log(x)

    spread = primitives.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    limit = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    m = primitives.floor((count + 1) * prob)
    zero = cnp.full(sizes, 0.0, prob.dtype)

    def probability(k: Array) -> Array:
        """Its logarithm, less what does not depend on k."""
        hits, misses = k + 1.0, count - k + 1.0
        apart = _deviance(hits, (count + 2.0) * prob) + _deviance(misses, (count + 2.0) * (1.0 - prob))
        return (0.5 * log(hits) + 0.5 * log(misses)) - apart - _stirling_tail(k) - _stirling_tail(count - k)

    at_mode = probability(m)

    def body(state: Any) -> Any:
        found, accepted, words = state
        keys = basic.split(words, 3)
        u = basic.uniform(keys[1], sizes, prob.dtype) - 0.5
        v = basic.uniform(keys[2], sizes, prob.dtype)
        shifted = 0.5 - primitives.abs(u)
        outright = (shifted >= 0.07) & (v <= limit)
        k = primitives.floor((2 * a / shifted + b) * u + c)
        reject = (k < 0) | (k > count)
        v = log(v * alpha / (a / (shifted * shifted) + b))
        inside = primitives.min(primitives.max(k, zero), count)
        bound = probability(inside) - at_mode
        accept = outright | (~reject & (v <= bound))
        return primitives.select(accept, k, found), accepted | accept, keys[0]

    start = cnp.full(sizes, -1.0, prob.dtype), cnp.full(sizes, False, bool), _words_of(key)
    return _core.convert(_until(lambda state: ~state[1], body, start)[0], dtype)


def multinomial(key: Key, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: Any = 1) -> Array:
    """How often each of several outcomes occurs in ``n`` independent trials.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    n : array, shape (...)
        The number of trials.
    p : array, shape (..., k)
        The probabilities of the k outcomes, along the last axis.
    shape : sequence of int, optional
        Of the result, which ``p`` is broadcast to; by default that of ``p``.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    unroll : int
        Accepted for JAX's signature: compiled loops do not get faster by repeating steps in the body.

    Returns
    -------
    array, shape (..., k)
        Floats that are whole numbers and sum to ``n``.

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Discrete Multivariate Distributions", 1997, chapter 35.

    Examples
    --------
    >>> ct.random.multinomial(ct.random.key(0), 10.0, ct.numpy.array([0.5, 0.25, 0.25])).sum()
    Array(10., dtype=float32)
    """
    dtype = basic.float_dtype(dtype, "multinomial")
    probabilities = _core.promote([p], inexact=True)[0]
    sizes = probabilities.shape if shape is None else symbolic_shape(shape, "multinomial")
    trials = cnp.broadcast_to(basic.real_parameter("multinomial", n, probabilities.dtype), sizes[:-1])
    moved = cnp.moveaxis(cnp.broadcast_to(probabilities, sizes), -1, 0)
    outcomes = axis_size(moved, 0)
    # An outcome behind the last has probability 0; a key of its own, which no other outcome's draw depends on.
    moved = without_padding(moved, [0])
    remaining = primitives.cumsum(moved, axis=0, reverse=True)
    ratios = moved / cnp.where(remaining == 0, 1, remaining)

    def step(rest: Array, given: Any) -> Any:
        ratio, words = given
        count = binomial(words, rest, cnp.clip(ratio, 0, 1), dtype=rest.dtype)
        return rest - count, count

    keys = basic.split(key, capacity(ratios, 0))
    _, counts = scan(step, trials, (ratios, keys))
    if isinstance(outcomes, Array):
        counts = give_lengths(counts, {0: outcomes})
    return _core.convert(cnp.moveaxis(counts, 0, -1), dtype)


look_at_orders(globals())
check_arguments(globals())
