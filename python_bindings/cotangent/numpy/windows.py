"""Windows of signal processing, and the Bessel function that one of them is made of."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._core import Array
from cotangent._ops.binding import literal, real_only
from cotangent._ops.sizes import static_int
from cotangent._special.bessel import i0 as bessel

__all__ = ["bartlett", "blackman", "hamming", "hanning", "i0", "kaiser"]


def _ramp(M: Any, name: str) -> Array:
    """0, 1, … M - 1, floating."""
    size = static_int(M, f"{name}: M")
    return primitives.iota(shape=[max(size, 0)], dtype=_core.default_float_dtype(), axis=0)


def _cosines(M: Any, name: str, weights: tuple[float, ...]) -> Array:
    """The sum of weights times cosines of 0, 1, 2, … periods."""
    ramp = _ramp(M, name)
    if ramp.size == 1:
        return literal(ramp, 1.0)
    result = literal(ramp, weights[0])
    for n, weight in enumerate(weights[1:], 1):
        result = result + primitives.cos(ramp * literal(ramp, 2 * math.pi * n / (ramp.size - 1 or 1))) * weight
    return result


def bartlett(M: Any) -> Array:
    """The triangle that is 0 at both ends."""
    ramp = _ramp(M, "bartlett")
    if ramp.size == 1:
        return literal(ramp, 1.0)
    half = (ramp.size - 1) / 2 or 1.0
    return literal(ramp, 1.0) - primitives.abs(ramp - literal(ramp, half)) * literal(ramp, 1 / half)


def blackman(M: Any) -> Array:
    """Three cosine terms that are nearly 0 at both ends."""
    return _cosines(M, "blackman", (0.42, -0.5, 0.08))


def hamming(M: Any) -> Array:
    """A raised cosine on a step."""
    return _cosines(M, "hamming", (0.54, -0.46))


def hanning(M: Any) -> Array:
    """A raised cosine that is 0 at both ends."""
    return _cosines(M, "hanning", (0.5, -0.5))


def kaiser(M: Any, beta: Any) -> Array:
    """The ratio of Bessel functions ``i0(beta * sqrt(1 - t**2)) / i0(beta)`` for t from -1 to 1."""
    ramp = _ramp(M, "kaiser")
    shape = _core.array(beta)
    if ramp.size == 1:
        return literal(ramp, 1.0)
    half = (ramp.size - 1) / 2 or 1.0
    t = (ramp - literal(ramp, half)) * literal(ramp, 1 / half)
    rest = (literal(t, 1.0) - t) * (literal(t, 1.0) + t)
    wide, base = _core.promote([shape * primitives.sqrt(primitives.max(rest, literal(rest, 0.0))), shape], inexact=True)
    return _core.convert(i0(wide) / i0(base), ramp.dtype)


def i0(x: Any) -> Array:
    """The modified Bessel function of the first kind and order 0."""
    return bessel(real_only(x, "i0"))
