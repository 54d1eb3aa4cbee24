"""Elementary functions that are programs of primitives, of floating and complex arrays.

The inverse functions of complex numbers follow Hull, Fairgrieve and Tang ("Implementing the complex arcsine and
arccosine functions using exception handling", 1997), in complex128 throughout; signs of zeros choose the side of a branch
cut.
"""

from __future__ import annotations

import math

from cotangent import _core
from cotangent._base import primitives
from cotangent._core import Array
from cotangent._ops.binding import kind
from cotangent._ops.per_element import by_precision, elementwise, pick, polynomial

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cosh", "exp2", "rsqrt", "sinh", "tan"]

_LOG2 = math.log(2.0)
_FAR = 1e9  # the square of its inverse does not count beside 1
_ONE_SIDED = 80.0  # 1 does not count beside the exponential of its half, nor the inverse beside that of all of it


def _sqrt(x: Array) -> Array:
    return primitives.sqrt(x)


def with_sign(magnitude: Array, sign_of: Array) -> Array:
    """A magnitude with the sign of another number, of zeros too."""
    bits = primitives.bitcast(sign_of, dtype=_core.canonical_dtype(f"int{8 * sign_of.dtype.itemsize}"))
    return pick(bits < 0, -magnitude, magnitude)


def _hypot(x: Array, y: Array) -> Array:
    """Of magnitudes, without overflow."""
    large, small = primitives.max(x, y), primitives.min(x, y)
    zero = primitives.or_(large == 0.0, primitives.not_(primitives.is_finite(large)))
    ratio = small / pick(zero, 1.0, large)
    return pick(zero, large, large * _sqrt(1.0 + ratio * ratio))


def _parts(z: Array) -> tuple[Array, Array]:
    """Real and imaginary part in float64."""
    wide = _core.convert(z, "complex128")
    return primitives.real(wide), primitives.imag(wide)


def _complex(re: Array, im: Array, like: Array) -> Array:
    return _core.convert(primitives.complex(re, im), like.dtype)


def _times_i(z: Array) -> Array:
    return primitives.complex(-primitives.imag(z), primitives.real(z))


def _over_i(z: Array) -> Array:
    return primitives.complex(primitives.imag(z), -primitives.real(z))


def _arc(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """For x, y >= 0: the real parts of arcsine and arccosine, and the magnitude of their imaginary part."""
    far = primitives.max(x, y) > _FAR
    u, v = pick(far, 1.0, x), pick(far, 1.0, y)
    r, s = _hypot(u + 1.0, v), _hypot(primitives.abs(u - 1.0), v)
    a = 0.5 * (r + s)
    b = u / a
    beyond = u > 1.0
    inside = s + (1.0 - u)
    ratio = pick(v > 0.0, v * (v / pick(inside > 0.0, inside, 1.0)), 0.0)
    over = v * (v / (r + (u + 1.0)))
    # a - 1, without cancellation.
    excess = 0.5 * (over + pick(beyond, s + (u - 1.0), ratio))
    near = a <= 1.5
    excess_near = pick(near, excess, 0.0)
    small = primitives.log1p(excess_near + _sqrt(excess_near * (a + 1.0)))
    imaginary = pick(near, small, primitives.log(a + _sqrt(pick(near, 3.0, a * a) - 1.0)))
    # Where the square of v would underflow.
    thin = primitives.and_(v < 1e-120, u < 1.0)
    imaginary = pick(thin, v / _sqrt(pick(thin, (1.0 - u) * (1.0 + u), 1.0)), imaginary)
    # Where b is close to 1 the angle is found from both legs.
    total = a + u
    leg_outside = v * _sqrt(0.5 * (total / (r + (u + 1.0)) + total / pick(beyond, s + (u - 1.0), 1.0)))
    leg = pick(beyond, leg_outside, _sqrt(0.5 * total * (over + pick(beyond, 0.0, inside))))
    steep = b > 0.6417
    other = pick(steep, leg, _sqrt((1.0 - b) * (1.0 + b)))
    base = pick(steep, u, b)
    base, other = pick(far, x, base), pick(far, y, other)
    imaginary = pick(far, primitives.log(_hypot(pick(far, x, 1.0), pick(far, y, 1.0))) + _LOG2, imaginary)
    # As C does where one part is NaN: an infinite part decides the imaginary part, a real part of zero the real ones.
    infinite = primitives.or_(x == math.inf, y == math.inf)
    axis = x == 0.0
    imaginary = pick(infinite, math.inf, imaginary)
    return (
        pick(axis, 0.0, primitives.atan2(base, other)),
        pick(axis, math.pi / 2, primitives.atan2(other, base)),
        imaginary,
    )


def _complex_asin(z: Array) -> Array:
    x, y = _parts(z)
    real, _, imaginary = _arc(primitives.abs(x), primitives.abs(y))
    return _complex(with_sign(real, x), with_sign(imaginary, y), z)


def _complex_acos(z: Array) -> Array:
    x, y = _parts(z)
    _, real, imaginary = _arc(primitives.abs(x), primitives.abs(y))
    return _complex(pick(x < 0.0, math.pi - real, real), -with_sign(imaginary, y), z)


def _complex_acosh(z: Array) -> Array:
    x, y = _parts(z)
    _, real, imaginary = _arc(primitives.abs(x), primitives.abs(y))
    return _complex(imaginary, with_sign(pick(x < 0.0, math.pi - real, real), y), z)


def _complex_atanh(z: Array) -> Array:
    x, y = _parts(z)
    u, v = primitives.abs(x), primitives.abs(y)
    far = primitives.max(u, v) > _FAR
    p, q = pick(far, 0.5, u), pick(far, 0.5, v)
    distance = _hypot(primitives.abs(1.0 - p), q)  # from the pole
    close = distance < 1e-100
    apart = pick(close, 1.0, distance)
    real = 0.25 * primitives.log1p(4.0 * p / (apart * apart))
    real = pick(close, 0.5 * (_LOG2 - primitives.log(distance)), real)
    size = _hypot(pick(far, u, 1.0), pick(far, v, 1.0))
    real = pick(far, pick(primitives.is_finite(size), u, 0.0) / size / size, real)
    imaginary = 0.5 * primitives.atan2(2.0 * q, (1.0 - p) * (1.0 + p) - q * q)
    # As C does where one part is NaN.
    high = v == math.inf
    real = pick(primitives.or_(u == 0.0, primitives.or_(u == math.inf, high)), 0.0, real)
    imaginary = pick(primitives.or_(far, high), 0.5 * math.pi, imaginary)
    imaginary = pick(primitives.ne(v, v), math.nan, imaginary)
    return _complex(with_sign(real, x), with_sign(imaginary, y), z)


def _asin_slope(x: Array, result: Array) -> Array:
    if kind(x) == "complex":
        return 1.0 / (_sqrt(1.0 - x) * _sqrt(1.0 + x))
    return 1.0 / _sqrt((1.0 - x) * (1.0 + x))


@elementwise(_asin_slope)
def asin(x: Array) -> Array:
    """The inverse sine."""
    if kind(x) == "complex":
        return _complex_asin(x)
    return primitives.atan2(x, _sqrt((1.0 - x) * (1.0 + x)))


@elementwise(lambda x, result: -_asin_slope(x, result))
def acos(x: Array) -> Array:
    """The inverse cosine."""
    if kind(x) == "complex":
        return _complex_acos(x)
    return primitives.atan2(_sqrt((1.0 - x) * (1.0 + x)), x)


@elementwise(lambda x, result: 1.0 / (1.0 + x * x))
def atan(x: Array) -> Array:
    """The inverse tangent."""
    if kind(x) == "complex":
        return _over_i(_complex_atanh(_times_i(x)))
    return primitives.atan2(x, _core.full((), 1.0, x.dtype, x.weak_type))


def _asinh_slope(x: Array, result: Array) -> Array:
    if kind(x) == "complex":
        turned = _times_i(x)
        return 1.0 / (_sqrt(1.0 + turned) * _sqrt(1.0 - turned))
    size = primitives.abs(x)
    far = size > _FAR
    near = pick(far, 1.0, size)
    return 1.0 / pick(far, size, _sqrt(1.0 + near * near))


@elementwise(_asinh_slope)
def asinh(x: Array) -> Array:
    """The inverse hyperbolic sine."""
    if kind(x) == "complex":
        return _over_i(_complex_asin(_times_i(x)))
    size = primitives.abs(x)
    far = size > _FAR
    near = pick(far, 1.0, size)
    squared = near * near
    result = primitives.log1p(near + squared / (1.0 + _sqrt(1.0 + squared)))
    result = pick(far, primitives.log(pick(far, size, 1.0)) + _LOG2, result)
    return with_sign(result, x)


def _acosh_slope(x: Array, result: Array) -> Array:
    if kind(x) == "complex":
        return 1.0 / (_sqrt(x - 1.0) * _sqrt(x + 1.0))
    far = x > _FAR
    near = pick(primitives.or_(far, x < 1.0), math.nan, x)
    return 1.0 / pick(far, x, _sqrt((near - 1.0) * (near + 1.0)))


@elementwise(_acosh_slope)
def acosh(x: Array) -> Array:
    """The inverse hyperbolic cosine."""
    if kind(x) == "complex":
        return _complex_acosh(x)
    above = x - 1.0
    far = x > _FAR
    near = primitives.log1p(above + _sqrt(above) * _sqrt(above + 2.0))
    return pick(far, primitives.log(pick(far, x, 1.0)) + _LOG2, near)


@elementwise(lambda x, result: 1.0 / ((1.0 - x) * (1.0 + x)))
def atanh(x: Array) -> Array:
    """The inverse hyperbolic tangent."""
    if kind(x) == "complex":
        return _complex_atanh(x)
    return 0.5 * (primitives.log1p(x) - primitives.log1p(-x))


def _sinh_slope(x: Array, result: Array) -> Array:
    return cosh(x)


@elementwise(_sinh_slope)
def sinh(x: Array) -> Array:
    """The hyperbolic sine."""
    if kind(x) == "complex":
        return _over_i(primitives.sin(_times_i(x)))
    size = primitives.abs(x)
    far = size > _ONE_SIDED
    # Far, of half of it: the exponential of all of it would overflow first.
    grown = primitives.expm1(pick(far, 0.5 * size, size))
    return with_sign(pick(far, (0.5 * grown) * grown, 0.5 * (grown + grown / (grown + 1.0))), x)


def _cosh_slope(x: Array, result: Array) -> Array:
    return sinh(x)


@elementwise(_cosh_slope)
def cosh(x: Array) -> Array:
    """The hyperbolic cosine."""
    if kind(x) == "complex":
        return primitives.cos(_times_i(x))
    size = primitives.abs(x)
    far = size > _ONE_SIDED
    grown = primitives.exp(pick(far, 0.5 * size, size))
    return pick(far, (0.5 * grown) * grown, 0.5 * grown + 0.5 / grown)


@elementwise(lambda x, result: 1.0 + result * result)
def tan(x: Array) -> Array:
    """The tangent."""
    if kind(x) == "complex":
        return _over_i(primitives.tanh(_times_i(x)))
    return primitives.sin(x) / primitives.cos(x)


@elementwise(lambda x, result: -1.5 * (result / x))
def _slope_of_rsqrt(x: Array) -> Array:
    inverse = 1.0 / x
    # Beside -0 the root is that of the result, too; of -inf there is none.
    return -0.5 * (inverse * _sqrt(pick(x == 0.0, math.inf, pick(x < 0.0, math.nan, inverse))))


def _rsqrt_slope(x: Array, result: Array) -> Array:
    return -0.5 * (result / x) if kind(x) == "complex" else _slope_of_rsqrt(x)


@elementwise(_rsqrt_slope)
def rsqrt(x: Array) -> Array:
    """The inverse of the square root."""
    return 1.0 / _sqrt(x)


@elementwise(lambda x, result: _LOG2 * result)
def exp2(x: Array) -> Array:
    """A power of two."""
    if kind(x) == "complex":
        return _exp2_of_complex(x)
    last, bias, digits = by_precision(x, 160.0, 1100.0), by_precision(x, 127, 1023), by_precision(x, 23, 52)
    # NaN passes.
    bounded = pick(x > last, last, pick(x < -last, -last, x))
    # The nearest whole number as a float and as an integer, by adding a number so large that it has no fraction.
    magic = _core.full((), 1.5 * 2.0**digits, x.dtype)
    shifted = bounded + magic
    integer = _core.canonical_dtype(f"int{8 * x.dtype.itemsize}")
    whole = shifted - magic
    power = primitives.bitcast(shifted, dtype=integer) - primitives.bitcast(magic, dtype=integer)
    half = primitives.shift_right_arithmetic(power, _core.full((), 1, integer))

    def times(y: Array, n: Array) -> Array:
        scale = primitives.shift_left(n + bias, _core.full((), digits, integer))
        return y * primitives.bitcast(scale, dtype=x.dtype)

    # By two factors, as one would be infinite or subnormal where the result is not.
    terms = by_precision(x, 8, 14)
    series = tuple(_LOG2**k / math.factorial(k) for k in reversed(range(terms)))
    return times(times(polynomial(bounded - whole, series), half), power - half)


def _exp2_of_complex(x: Array) -> Array:
    re, im = _parts(x)
    # Its square may be infinite where a part of the result is not.
    half, angle = exp2(0.5 * re), _LOG2 * im
    real, imaginary = half * primitives.cos(angle) * half, half * primitives.sin(angle) * half
    # As C has exponentials, with angles that are not finite.
    none, endless = re == -math.inf, primitives.and_(re == math.inf, primitives.not_(primitives.is_finite(im)))
    real = pick(none, 0.0, pick(endless, math.inf, real))
    return _complex(real, pick(none, 0.0, pick(im == 0.0, im, imaginary)), x)


@elementwise(lambda x, result: 1.0 / (3.0 * (result * result)))
def cbrt(x: Array) -> Array:
    """The real cube root."""
    size = primitives.abs(x)
    plain = primitives.and_(primitives.is_finite(size), size > 0.0)
    safe = pick(plain, size, 1.0)
    root = primitives.pow(safe, _core.full((), 1.0 / 3.0, x.dtype, x.weak_type))
    # One step of Newton's for the rounding of 1/3.
    root = root - (root - safe / (root * root)) * (1.0 / 3.0)
    return with_sign(pick(plain, root, size), x)


def is_odd(x: Array) -> Array:
    """Whether a whole number is odd."""
    return primitives.ne(0.5 * x, primitives.floor(0.5 * x))


def sin_of_pi(x: Array) -> Array:
    """``sin(pi * x)``, exactly 0 at integers."""
    turns = primitives.round(x)
    sine = primitives.sin((x - turns) * math.pi)
    return pick(is_odd(turns), -sine, sine)
