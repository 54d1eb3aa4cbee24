"""Bits of integers and floats: logic, shifts, counts, neighbours, and reading the same bytes as another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import convert, kind, literal, own
from cotangent._ops.bits import bitwise_count
from cotangent._ops.dtypes import finfo
from cotangent._ops.extents import capacity, drop_axes, slice_axis
from cotangent._ops.sizes import insert_axes
from cotangent._transforms.custom_rules import custom_jvp
from cotangent.errors import DTypeError, ShapeError
from cotangent.lax._operands import BITS, FLOATS, INTEGERS, as_array, as_weak_as, binary, check_kind, operands, unary

__all__ = [
    "bitcast_convert_type",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "clz",
    "convert_element_type",
    "mulhi",
    "nextafter",
    "population_count",
    "reduce_precision",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
]


def bitwise_not(x: Any) -> Array:
    """All bits flipped; of bools, not."""
    return unary(primitives.not_, x, BITS, "bitwise_not")


def bitwise_and(x: Any, y: Any) -> Array:
    """Bits set in both."""
    return binary(primitives.and_, x, y, BITS, "bitwise_and")


def bitwise_or(x: Any, y: Any) -> Array:
    """Bits set in either."""
    return binary(primitives.or_, x, y, BITS, "bitwise_or")


def bitwise_xor(x: Any, y: Any) -> Array:
    """Bits set in one of both."""
    return binary(primitives.xor, x, y, BITS, "bitwise_xor")


def shift_left(x: Any, y: Any) -> Array:
    """Bits moved up; 0 when moved by the width or more."""
    return binary(primitives.shift_left, x, y, INTEGERS)


def shift_right_arithmetic(x: Any, y: Any) -> Array:
    """Bits moved down, the sign filled in."""
    return binary(primitives.shift_right_arithmetic, x, y, INTEGERS)


def shift_right_logical(x: Any, y: Any) -> Array:
    """Bits moved down, zeros filled in."""
    return binary(primitives.shift_right_logical, x, y, INTEGERS)


def _unsigned(dtype: Any) -> Any:
    return np.dtype(f"uint{8 * dtype.itemsize}")


def _as_bits(x: Array) -> Array:
    return primitives.bitcast(x, dtype=_unsigned(x.dtype))


def population_count(x: Any) -> Array:
    """How many bits are set, in the dtype of ``x``.

    >>> import cotangent as ct
    >>> ct.lax.population_count(ct.numpy.array([0, 7, -1])).tolist()
    [0, 3, 32]
    """
    array = as_array("population_count", x)
    check_kind("population_count", array, INTEGERS)
    return as_weak_as(_core.convert(bitwise_count(_as_bits(array)), array.dtype), [array])


def clz(x: Any) -> Array:
    """How many leading zeros there are, in the dtype of ``x``."""
    array = as_array("clz", x)
    check_kind("clz", array, INTEGERS)
    bits, shift = _as_bits(array), 1
    # Every bit below the highest one is set; what is left are the leading zeros.
    while shift < 8 * array.dtype.itemsize:
        bits = primitives.or_(bits, primitives.shift_right_logical(bits, literal(bits, shift)))
        shift *= 2
    return as_weak_as(population_count(primitives.bitcast(primitives.not_(bits), dtype=array.dtype)), [array])


def mulhi(x: Any, y: Any, /) -> Array:
    """The upper half of the product of twice the width."""
    x, y = operands("mulhi", (x, y), INTEGERS)
    width = 8 * x.dtype.itemsize
    if width < 64:
        wide = np.dtype(f"{'u' if kind(x) == 'unsigned' else ''}int{2 * width}")
        product = primitives.mul(_core.convert(x, wide), _core.convert(y, wide))
        upper = _core.convert(primitives.shift_right_arithmetic(product, literal(product, width)), x.dtype)
        return as_weak_as(upper, [x, y])
    half = literal(x, 32)
    low_mask = literal(x, 0xFFFFFFFF)
    shift = primitives.shift_right_logical if kind(x) == "unsigned" else primitives.shift_right_arithmetic
    (a, b), (c, d) = ((shift(z, half), primitives.and_(z, low_mask)) for z in (x, y))
    middle = a * d + primitives.shift_right_logical(b * d, half)
    carry = c * b + primitives.and_(middle, low_mask)
    return a * c + shift(middle, half) + shift(carry, half)


def nextafter(x1: Any, x2: Any) -> Array:
    """The next number after ``x1`` toward ``x2``."""
    pair = operands("nextafter", (x1, x2), FLOATS)
    return as_weak_as(ops.nextafter(*pair), pair)


@own
def convert_element_type(operand: Any, new_dtype: Any) -> Array:
    """``operand`` with another dtype, which is not weak.

    Raises:
        ValueError: there is no dtype.
    """
    if new_dtype is None:
        raise ValueError("lax.convert_element_type needs a dtype; got None")
    array, dtype = as_array("convert_element_type", operand), _core.canonical_dtype(new_dtype)
    if _core.dtype_kind(array.dtype) == "complex" and _core.dtype_kind(dtype) not in ("complex", "bool"):
        array = primitives.real(array)
    return array if array.dtype == dtype and not array.weak_type else primitives.convert(array, dtype=dtype)


@own
def bitcast_convert_type(operand: Any, new_dtype: Any) -> Array:
    """The same bytes as another dtype; a narrower one adds an axis at the end, a wider one takes it.

    Raises:
        ShapeError: the last axis does not hold the bytes of one element.

    >>> import cotangent as ct
    >>> ct.lax.bitcast_convert_type(ct.numpy.array([1.0]), "uint16").tolist()
    [[0, 16256]]
    """
    array, dtype = as_array("bitcast_convert_type", operand), _core.canonical_dtype(new_dtype)
    if array.dtype == dtype:
        return convert(array, dtype)
    for side in (array.dtype, dtype):
        if _core.dtype_kind(side) in ("bool", "complex"):
            raise DTypeError(
                f"lax.bitcast_convert_type: bool and complex numbers keep their dtype; got {array.dtype} to {dtype}"
            )
    old, new = array.dtype.itemsize, dtype.itemsize
    if old == new:
        return primitives.bitcast(array, dtype=dtype)
    if old > new:
        bits = _as_bits(array)
        parts = [
            insert_axes(
                _core.convert(primitives.shift_right_logical(bits, literal(bits, 8 * new * i)), f"uint{8 * new}"),
                [bits.ndim],
            )
            for i in range(old // new)
        ]
        return primitives.bitcast(primitives.concatenate(*parts, axis=bits.ndim), dtype=dtype)
    count = new // old
    if array.ndim == 0 or capacity(array, -1) != count:
        raise ShapeError(
            f"lax.bitcast_convert_type: the last axis must hold the {count} parts of one {dtype}; got shape {array.shape}"
        )
    bits = _core.convert(_as_bits(array), _unsigned(dtype))
    total: Array | None = None
    for i in range(count):
        part = drop_axes(slice_axis(bits, -1, i, i + 1), [bits.ndim - 1])
        part = primitives.shift_left(part, literal(part, 8 * old * i))
        total = part if total is None else primitives.or_(total, part)
    assert total is not None
    return primitives.bitcast(total, dtype=dtype)


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Array:
    """Floats rounded to what a format with fewer bits can represent; the dtype stays.

    Numbers beyond its range become infinite, those below its smallest normal one zero. The derivative is that of the
    identity.

    Args:
        operand: floats.
        exponent_bits: of the format, at least 1.
        mantissa_bits: of the format, without the leading one.

    >>> import cotangent as ct
    >>> ct.lax.reduce_precision(ct.numpy.array([3.14159, 1e6]), 5, 10).tolist()
    [3.140625, inf]
    """
    x = as_array("reduce_precision", operand)
    check_kind("reduce_precision", x, FLOATS)
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError(
            f"lax.reduce_precision needs at least 1 exponent bit and 0 mantissa bits; got {exponent_bits}, {mantissa_bits}"
        )

    def value(x: Array) -> Array:
        return _rounded(x, exponent_bits, mantissa_bits)

    rounded = custom_jvp(value)
    rounded.defjvp(lambda primals, tangents: (rounded(*primals), tangents[0]))
    return as_weak_as(_core.array(rounded(x)), [x])


def _rounded(x: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    info = finfo(x.dtype)
    mantissa, exponent, width = int(info.nmant), int(info.nexp), 8 * x.dtype.itemsize
    bits = _as_bits(x)
    dropped = mantissa - mantissa_bits
    if dropped > 0:
        odd = primitives.and_(primitives.shift_right_logical(bits, literal(bits, dropped)), literal(bits, 1))
        bits = bits + odd + literal(bits, 2 ** (dropped - 1) - 1)
        bits = primitives.and_(bits, literal(bits, 2**width - 2**dropped))
    sign = primitives.and_(bits, literal(bits, 2 ** (width - 1)))
    infinity = 2 ** (width - 1) - 2**mantissa
    if exponent_bits < exponent:
        middle, half = 2 ** (exponent - 1) - 1, 2 ** (exponent_bits - 1) - 1
        scale = primitives.and_(bits, literal(bits, infinity))
        too_large = primitives.gt(scale, literal(bits, (middle + half) * 2**mantissa))
        too_small = primitives.le(scale, literal(bits, (middle - half) * 2**mantissa))
        bits = primitives.select(too_large, primitives.or_(sign, literal(bits, infinity)), bits)
        bits = primitives.select(too_small, sign, bits)
    result = primitives.bitcast(bits, dtype=x.dtype)
    return primitives.select(primitives.ne(x, x), x, result)


check_arguments(globals())
