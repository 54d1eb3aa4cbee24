"""Discrete Fourier transforms of a length that is a value.

Bluestein ("A linear filtering approach to the computation of discrete Fourier transform", 1970): since
2 j k = j² + k² - (k - j)², the transform is a convolution with a chirp, exp(iπ m² / n). The convolution is made by transforms of a fixed length,
which the bound says; n is only in the chirp. Squares are taken modulo 2 n in integers, so that the angles are exact for every length.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._core import Array
from cotangent._ops.binding import choose, literal
from cotangent._ops.complex_parts import conjugate
from cotangent._ops.division import remainder
from cotangent._ops.extents import capacities, capacity, stretched, without_padding
from cotangent._ops.sizes import axis_size, insert_axes, move_last
from cotangent.lax.fourier import transform

__all__ = ["fitted", "places", "ragged_frequencies", "ragged_transform", "turns"]

_INT32, _INT64, _FLOAT64 = (np.dtype(name) for name in ("int32", "int64", "float64"))


def places(count: int) -> Array:
    """0, 1, … as int32."""
    return primitives.iota(shape=[count], dtype=_INT32, axis=0)


def turns(numerator: Array, denominator: Array, like: Array) -> Array:
    """exp(iπ numerator / denominator), for integers, in the complex dtype that belongs to ``like``.

    The quotient is reduced to less than a full turn before it is rounded. A denominator of 0 counts as 1.
    """
    below = primitives.max(denominator, literal(denominator, 1))
    whole = _core.convert(numerator, _INT64)
    divisor = stretched(_core.convert(below, _INT64), whole)
    rest = remainder(whole, divisor + divisor)
    angle = _core.convert(rest, _FLOAT64) / _core.convert(divisor, _FLOAT64)
    angle = angle * literal(angle, math.pi)
    part = np.dtype("float64" if like.dtype in (np.dtype("float64"), np.dtype("complex128")) else "float32")
    cosine, sine = primitives.cos(angle), primitives.sin(angle)
    return primitives.complex(_core.convert(cosine, part), _core.convert(sine, part))


def _fast_length(least: int) -> int:
    """The smallest product of powers of 2, 3 and 5 that is not less."""
    best = 1 << max(least - 1, 0).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            best = min(best, three << max(-(-least // three) - 1, 0).bit_length())
            three *= 3
        five *= 5
    return best


def fitted(x: Array, axis: int, length: Array, bound: int) -> Array:
    """``x`` cut or padded with zeros to ``length`` elements along an axis: an exact one of ``bound``, with zeros behind the length."""
    have = capacity(x, axis)
    size = axis_size(x, axis)
    x = without_padding(x, [axis])
    if have != bound:
        low, high = [0] * x.ndim, [0] * x.ndim
        high[axis] = bound - have  # a negative one cuts
        x = primitives.pad(x, _core.full((), 0, x.dtype), low=low, high=high, interior=low)
    if isinstance(size, Array) and _core.same_length(size, length):
        return x
    inside = primitives.lt(places(bound), _core.broadcast_to(length, [bound]))
    inside = stretched(insert_axes(inside, [i for i in range(x.ndim) if i != axis]), x)
    return choose(inside, x, 0)


def _bluestein(x: Array, length: Array, inverse: bool) -> Array:
    """The transform of the first ``length`` elements of the last axis, without a factor; others are 0, and those of the result anything."""
    bound = capacity(x, x.ndim - 1)
    size = _fast_length(max(2 * bound - 1, 1))
    here = _core.convert(places(bound), _INT64)
    chirp = turns(here * here, length, x)  # of m and of -m
    if inverse:
        chirp = conjugate(chirp)
    down = stretched(conjugate(chirp), x)
    filler = size - (2 * bound - 1)
    parts = [chirp]
    if filler:
        parts.append(_core.full((filler,), 0, chirp.dtype))
    if bound > 1:
        parts.append(primitives.reverse(primitives.slice(chirp, start=[1], limit=[bound], stride=[1]), axes=[0]))
    around = primitives.concatenate(*parts, axis=0) if len(parts) > 1 else chirp
    none, high = [0] * x.ndim, [0] * x.ndim
    high[-1] = size - bound
    wide = primitives.pad(x * down, _core.full((), 0, down.dtype), low=none, high=high, interior=none)
    product = transform(wide, "FFT", [size])
    product = product * stretched(transform(around, "FFT", [size]), product)
    found = transform(product, "IFFT", [size])
    limit = [*capacities(found)[:-1], bound]
    return primitives.slice(found, start=none, limit=limit, stride=[1] * x.ndim) * down


def ragged_transform(x: Array, kind: str, length: Array, bound: int, axis: int, factor: Array | None = None) -> Array:
    """A transform of ``length`` elements along an axis, of ``bound`` at most.

    Args:
        x: real or complex, of a dtype that is transformed; the axis may be exact or ragged, and is cut or padded with zeros.
        kind: FFT, IFFT, RFFT or IRFFT.
        factor: what the sums are multiplied with; None is 1, of inverse transforms too.

    Returns:
        ``length`` elements, of RFFT length // 2 + 1; none for length 0.
    """
    inverse = kind[0] == "I"
    one, two = _core.full((), 1, _INT32), _core.full((), 2, _INT32)
    half = primitives.div(length, two) + one
    if kind == "IRFFT":
        x = move_last(fitted(x, axis, half, bound // 2 + 1), axis)
        x = _whole_spectrum(x, length, bound)
    else:
        x = move_last(fitted(x, axis, length, bound), axis)
    if _core.dtype_kind(x.dtype) != "complex":
        x = _core.convert(x, np.dtype("complex128" if x.dtype.itemsize == 8 else "complex64"))
    result = _bluestein(x, length, inverse)
    if kind == "IRFFT":
        result = primitives.real(result)
    if factor is not None:
        result = result * _core.convert(factor, result.dtype)
    if kind == "RFFT":
        start, limit = [0] * x.ndim, [*capacities(result)[:-1], bound // 2 + 1]
        result = primitives.slice(result, start=start, limit=limit, stride=[1] * x.ndim)
        length = primitives.min(half, length)  # none of nothing
    return set_length(move_last(result, axis, back=True), length, axis)


def _whole_spectrum(x: Array, length: Array, bound: int) -> Array:
    """The ``length`` coefficients of a real signal, from the first half of them. Imaginary parts of its ends are not read."""
    here = places(bound)
    mirrored = primitives.max(_core.broadcast_to(length, [bound]) - here, literal(here, 0))
    first = primitives.le(here, primitives.div(_core.broadcast_to(length, [bound]), literal(here, 2)))
    source = primitives.min(choose(first, here, mirrored), literal(here, max(capacity(x, x.ndim - 1) - 1, 0)))
    taken = primitives.gather(x, source, axis=x.ndim - 1, batch_dims=0)
    alone = primitives.or_(
        primitives.eq(here, literal(here, 0)), primitives.eq(here + here, _core.broadcast_to(length, [bound]))
    )
    parts = primitives.real(taken), primitives.imag(taken)
    sign = choose(alone, literal(here, 0), choose(first, literal(here, 1), literal(here, -1)))
    inside = primitives.lt(here, _core.broadcast_to(length, [bound]))
    sign = choose(inside, sign, 0)
    imaginary = parts[1] * stretched(_core.convert(sign, parts[1].dtype), parts[1])
    real = choose(stretched(inside, parts[0]), parts[0], 0)
    return primitives.complex(real, imaginary)


def ragged_frequencies(length: Array, bound: int, spacing: Any, dtype: Any, half: bool) -> Array:
    """The frequencies of ``length`` coefficients, or of the first half of them."""
    middle = primitives.div(length, _core.full((), 2, _INT32))
    here = places(bound // 2 + 1 if half else bound)
    steps = here if half else remainder(here + middle, primitives.max(length, literal(length, 1))) - middle
    frequencies = _core.convert(steps, dtype) / _core.convert(spacing * length, dtype)
    count = primitives.min(middle + literal(middle, 1), length) if half else length
    return set_length(frequencies, count, 0)


check_arguments(globals())
