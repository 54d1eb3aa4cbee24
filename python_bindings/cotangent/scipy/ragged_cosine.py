"""Cosine transforms of a length that is a value; the methods are those of `cotangent.scipy.fft`, with places in place of slices."""

from __future__ import annotations

import math

import numpy as np

from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._core import Array
from cotangent._ops.binding import choose, literal
from cotangent._ops.extents import capacity, stretched, without_padding
from cotangent._ops.sizes import as_dtype, ragged_length
from cotangent.numpy.ragged_fft import fitted, places, ragged_transform, turns

__all__ = ["ragged_cosine"]

_INT32 = np.dtype("int32")


def _at(x: Array, source: Array) -> Array:
    """Elements of the last axis."""
    held = primitives.max(primitives.min(source, literal(source, capacity(x, -1) - 1)), literal(source, 0))
    return primitives.gather(x, held, axis=x.ndim - 1, batch_dims=0)


def _transformed(x: Array, kind: str, length: Array, bound: int, factor: Array | None = None) -> Array:
    return without_padding(ragged_transform(x, kind, length, bound, x.ndim - 1, factor), [x.ndim - 1])


def _turned(x: Array, numerator: Array, denominator: Array) -> Array:
    return x * stretched(turns(numerator, denominator, x), x)


def _type1(x: Array, n: Array) -> Array:
    bound = max(2 * (capacity(x, -1) - 1), 1)
    last = primitives.max(n - literal(n, 1), literal(n, 0))
    here = places(bound)
    even = _at(x, choose(here <= last, here, last + last - here))
    return fitted(primitives.real(_transformed(even, "FFT", last + last, bound)), x.ndim - 1, n, capacity(x, -1))


def _type2(x: Array, n: Array) -> Array:
    bound = capacity(x, -1)
    here = places(bound)
    half = primitives.div(n + literal(n, 1), literal(n, 2))
    double = here + here
    ordered = _at(x, choose(here < half, double, n + n - literal(here, 1) - double))
    turned = _turned(_transformed(ordered, "FFT", n, bound), primitives.neg(here), n + n)
    real = primitives.real(turned)
    return real + real


def _type3(x: Array, n: Array) -> Array:
    bound = capacity(x, -1)
    here = places(bound)
    back = choose(stretched(here > literal(here, 0), x), _at(x, n - here), 0)
    spectrum = _turned(primitives.complex(x, primitives.neg(back)), here, n + n)
    ordered = primitives.real(_transformed(spectrum, "IFFT", n, bound))
    two = literal(here, 2)
    half = primitives.div(here, two)
    odd = primitives.eq(primitives.rem(here, two), literal(here, 1))
    return _at(ordered, choose(odd, n - literal(here, 1) - half, half))


def _type4(x: Array, n: Array) -> Array:
    bound = capacity(x, -1)
    here = places(bound)
    wide = fitted(_turned(x, primitives.neg(here), n + n), x.ndim - 1, n, 2 * bound)
    spectrum = fitted(_transformed(wide, "FFT", n + n, 2 * bound), x.ndim - 1, n, bound)
    real = primitives.real(_turned(spectrum, primitives.neg(here + here + literal(here, 1)), n + n + n + n))
    return real + real


_TRANSFORMS = {1: _type1, 2: _type2, 3: _type3, 4: _type4}


def ragged_cosine(x: Array, number: int, norm: str | None, inverse: bool) -> Array:
    """The cosine transform of type ``number`` of the last axis, which is ragged; with ``inverse``, that which is the inverse but for a factor."""
    length = ragged_length(x, x.ndim - 1)
    n = primitives.max(length, literal(length, 1))
    x = without_padding(x, [x.ndim - 1])
    one = literal(n, 1)
    count = as_dtype(n + n - (one + one if number == 1 else literal(n, 0)), x.dtype)
    count = primitives.max(count, literal(count, 1))
    here = places(capacity(x, -1))
    ends = here == literal(here, 0)
    root = math.sqrt(0.5)

    def scaled(y: Array, at_ends: float) -> Array:
        factors = choose(ends, literal(here, at_ends, x.dtype), literal(here, 1.0, x.dtype))
        return y * stretched(factors, y)

    if norm == "ortho":
        if number == 1:
            ends = ends | (here == n - one)
            result = scaled(_type1(scaled(x, 1 / root), n), root)
        elif number == 2:
            result = scaled(_type2(x, n), root)
        elif number == 3:
            result = _type3(scaled(x, 1 / root), n)
        else:
            result = _type4(x, n)
        result = result / primitives.sqrt(count)
    else:
        result = _TRANSFORMS[number](x, n)
        result = result / count if (norm == "forward") != inverse else result
    return set_length(result, length, x.ndim - 1)


check_arguments(globals())
