"""Polynomials whose number of coefficients is a value: coefficients by their places and powers."""

from __future__ import annotations

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths, set_length
from cotangent._core import Array
from cotangent._ops.binding import choose, literal
from cotangent._ops.extents import capacity, stretched, without_padding
from cotangent._ops.joining import concatenate
from cotangent._ops.sizes import as_dtype, axis_size, insert_axes, ragged_length
from cotangent._transforms.control_flow import scan

__all__ = [
    "ragged_companion",
    "ragged_derivative",
    "ragged_division",
    "ragged_integral",
    "ragged_pair",
    "ragged_product",
]


def _places(count: int) -> Array:
    return primitives.iota(shape=[count], dtype=_core.canonical_dtype("int32"), axis=0)


def _length(x: Array) -> Array:
    return as_dtype(axis_size(x, 0), "int32")


def _taken(x: Array, places: Array) -> Array:
    held = primitives.max(primitives.min(places, literal(places, max(capacity(x, 0) - 1, 0))), literal(places, 0))
    return primitives.gather(x, held, axis=0, batch_dims=0)


def ragged_pair(x: Array, y: Array) -> tuple[Array, Array]:
    """Polynomials of one dtype made as long as the longer one, zeros in front."""
    length = primitives.max(_length(x), _length(y))
    places = _places(max(capacity(x, 0), capacity(y, 0)))

    def aligned(p: Array) -> Array:
        source = places - (length - _length(p))
        taken = _taken(without_padding(p, [0]), source)
        inside = insert_axes(source >= literal(source, 0), list(range(1, p.ndim)))
        return set_length(choose(stretched(inside, taken), taken, 0), length, 0)

    return aligned(x), aligned(y)


def ragged_derivative(x: Array) -> Array:
    """The derivative of a polynomial."""
    length = ragged_length(x, 0)
    values = without_padding(x)
    count = capacity(x, 0) - 1
    kept = primitives.slice(values, start=[0], limit=[count], stride=[1])
    powers = _core.convert(length - literal(length, 1) - _places(count), x.dtype)
    return set_length(kept * powers, primitives.max(length - literal(length, 1), literal(length, 0)), 0)


def ragged_integral(x: Array, constants: Array) -> Array:
    """As many integrals of a polynomial as there are constants, the first of them first."""
    length, count = ragged_length(x, 0), capacity(constants, 0)
    powers = _core.convert(length - literal(length, 1) - _places(capacity(x, 0)), "float64")
    divisors = literal(powers, 1.0)
    for step in range(1, count + 1):
        divisors = divisors * choose(powers < literal(powers, 0), literal(powers, 1), powers + literal(powers, step))
    factorials, factorial = [], 1.0
    for step in range(count):
        factorial *= max(step, 1)
        factorials.append(factorial)
    integral = set_length(without_padding(x) / _core.convert(divisors, x.dtype), length, 0)
    if not count:
        return integral
    below = _core.convert(_core.array(factorials[::-1]), constants.dtype)
    return concatenate([integral, constants / below])


def ragged_division(x: Array, y: Array) -> tuple[Array, Array]:
    """Quotient and remainder; the remainder has as many coefficients as ``x``."""
    length = _length(x)
    steps = length - _length(y) + literal(length, 1)
    count = capacity(x, 0)
    x, y = without_padding(x), without_padding(y)
    zero = _core.full((), 0, x.dtype)
    first = primitives.pad(x, zero, low=[0], high=[capacity(y, 0)], interior=[0])
    divisor = primitives.pad(y, zero, low=[0], high=[count], interior=[0])
    leading = primitives.slice(y, start=[0], limit=[1], stride=[1])

    def step(rest: Array, place: Array) -> tuple[Array, tuple[Array, Array]]:
        head = primitives.slice(rest, start=[0], limit=[1], stride=[1])
        active = insert_axes(place < steps, [0])
        factor = choose(active, head / choose(active, leading, 1), 0)
        rest = rest - stretched(factor, divisor) * divisor
        head = primitives.slice(rest, start=[0], limit=[1], stride=[1])
        moved = primitives.slice(rest, start=[1], limit=[capacity(rest, 0)], stride=[1])
        return primitives.concatenate(moved, literal(head, 0), axis=0), (factor, head)

    _, (factors, left) = scan(step, first, _places(count))
    quotient, rest = (primitives.reshape(part, shape=[count]) for part in (factors, left))
    return give_lengths(quotient, {0: primitives.max(steps, literal(steps, 1))}), give_lengths(rest, {0: length})


def ragged_product(zeros: Array) -> Array:
    """The polynomial with given zeros."""
    length, count = ragged_length(zeros, 0), capacity(zeros, 0)
    start = primitives.pad(
        _core.full((1,), 1, zeros.dtype), _core.full((), 0, zeros.dtype), low=[0], high=[count], interior=[0]
    )
    powers = _places(count + 1)

    def step(result: Array, item: tuple[Array, Array]) -> tuple[Array, None]:
        zero, degree = item
        taken = primitives.slice(result * stretched(zero, result), start=[0], limit=[count], stride=[1])
        shifted = primitives.pad(taken, _core.full((), 0, result.dtype), low=[1], high=[0], interior=[0])
        longer = choose(powers > stretched(degree, powers), 0, result - shifted)  # 0 times infinity is not 0
        return choose(stretched(degree <= length, result), longer, result), None

    degrees = _places(count) + literal(_places(count), 1)
    found = scan(step, start, (without_padding(zeros), degrees))[0]
    return give_lengths(found, {0: length + literal(length, 1)})


def ragged_companion(x: Array) -> Array:
    """The matrix whose eigenvalues are the zeros of a polynomial."""
    length = ragged_length(x, 0)
    degree = primitives.max(length - literal(length, 1), literal(length, 0))
    bound = capacity(x, 0) - 1
    values = without_padding(x, value=1.0)
    first = primitives.slice(values, start=[1], limit=[bound + 1], stride=[1])
    first = primitives.neg(first) / stretched(primitives.slice(values, start=[0], limit=[1], stride=[1]), first)
    row = primitives.iota(shape=[bound, bound], dtype=length.dtype, axis=0)
    column = primitives.iota(shape=[bound, bound], dtype=length.dtype, axis=1)
    below = _core.convert(primitives.eq(row, column + literal(column, 1)), x.dtype)
    matrix = choose(row == literal(row, 0), stretched(first, below), below)
    return give_lengths(matrix, {0: degree, 1: degree})


check_arguments(globals())
