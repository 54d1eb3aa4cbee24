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
    """Flips all bits; of bools, the negation.

    Parameters
    ----------
    x : array
        Bools or integers.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.bitwise_not(ct.numpy.array([0, 5, -1]))
    Array([-1, -6,  0], dtype=int32)
    """
    return unary(primitives.not_, x, BITS, "bitwise_not")


def bitwise_and(x: Any, y: Any) -> Array:
    """The bits that are set in both operands.

    Parameters
    ----------
    x, y : array
        Bools or integers of one dtype, of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.bitwise_and(ct.numpy.array([6, 5]), 3)
    Array([2, 1], dtype=int32)
    """
    return binary(primitives.and_, x, y, BITS, "bitwise_and")


def bitwise_or(x: Any, y: Any) -> Array:
    """The bits that are set in either operand.

    Parameters
    ----------
    x, y : array
        Bools or integers of one dtype, of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.bitwise_or(ct.numpy.array([6, 5]), 3)
    Array([7, 7], dtype=int32)
    """
    return binary(primitives.or_, x, y, BITS, "bitwise_or")


def bitwise_xor(x: Any, y: Any) -> Array:
    """The bits that are set in one operand and not in the other.

    Parameters
    ----------
    x, y : array
        Bools or integers of one dtype, of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.bitwise_xor(ct.numpy.array([6, 5]), 3)
    Array([5, 6], dtype=int32)
    """
    return binary(primitives.xor, x, y, BITS, "bitwise_xor")


def shift_left(x: Any, y: Any) -> Array:
    """Moves bits up and fills in zeros; 0 when moved by the width or more.

    Parameters
    ----------
    x : array
        Integers.
    y : array
        By how many bits, of the same dtype, read as unsigned; shapes as of `add`.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.shift_left(ct.numpy.array([1, 3, 1]), ct.numpy.array([4, 1, 32]))
    Array([16,  6,  0], dtype=int32)
    """
    return binary(primitives.shift_left, x, y, INTEGERS)


def shift_right_arithmetic(x: Any, y: Any) -> Array:
    """Moves bits down and fills in the sign, so that negative numbers stay negative.

    Parameters
    ----------
    x : array
        Integers.
    y : array
        By how many bits, of the same dtype, read as unsigned; shapes as of `add`.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.shift_right_arithmetic(ct.numpy.array([-16, 16]), 2)
    Array([-4,  4], dtype=int32)
    """
    return binary(primitives.shift_right_arithmetic, x, y, INTEGERS)


def shift_right_logical(x: Any, y: Any) -> Array:
    """Moves bits down and fills in zeros, also of signed integers.

    Parameters
    ----------
    x : array
        Integers.
    y : array
        By how many bits, of the same dtype, read as unsigned; shapes as of `add`.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.shift_right_logical(ct.numpy.array([-16, 16]), 2)
    Array([1073741820,          4], dtype=int32)
    """
    return binary(primitives.shift_right_logical, x, y, INTEGERS)


def _unsigned(dtype: Any) -> Any:
    return np.dtype(f"uint{8 * dtype.itemsize}")


def _as_bits(x: Array) -> Array:
    return primitives.bitcast(x, dtype=_unsigned(x.dtype))


def population_count(x: Any) -> Array:
    """How many bits are set.

    Parameters
    ----------
    x : array
        Integers.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.population_count(ct.numpy.array([0, 7, -1]))
    Array([ 0,  3, 32], dtype=int32)
    """
    array = as_array("population_count", x)
    check_kind("population_count", array, INTEGERS)
    return as_weak_as(primitives.population_count(array), [array])


def clz(x: Any) -> Array:
    """How many zeros lead the bits.

    Parameters
    ----------
    x : array
        Integers.

    Returns
    -------
    array
        Of the shape and dtype of ``x``.

    Examples
    --------
    >>> ct.lax.clz(ct.numpy.array([0, 1, 255, -1]))
    Array([32, 31, 24,  0], dtype=int32)
    """
    array = as_array("clz", x)
    check_kind("clz", array, INTEGERS)
    return as_weak_as(primitives.leading_zeros(array), [array])


def mulhi(x: Any, y: Any, /) -> Array:
    """The upper half of the product, which has twice the width of its factors.

    Parameters
    ----------
    x, y : array
        Integers of one dtype, of shapes that are equal, scalar, or of size 1 where they differ.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> ct.lax.mulhi(ct.numpy.array([2**20, -1], "int32"), ct.numpy.array([2**20, 3], "int32"))
    Array([256,  -1], dtype=int32)
    """
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
    """The next number after ``x1`` in the direction of ``x2``.

    Parameters
    ----------
    x1 : array
        Floats.
    x2 : array
        Of the same dtype; shapes as of `add`. Where both are equal the result is ``x2``.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> (ct.lax.nextafter(ct.numpy.array([1.0, 1.0]), ct.numpy.array([2.0, 0.0])) - 1) * 2.0**24
    Array([ 2., -1.], dtype=float32)
    """
    pair = operands("nextafter", (x1, x2), FLOATS)
    return as_weak_as(ops.nextafter(*pair), pair)


@own
def convert_element_type(operand: Any, new_dtype: Any) -> Array:
    """Converts an array to another dtype, which is not weak.

    Floats lose their fraction as integers, complex numbers their imaginary part as real ones.

    Parameters
    ----------
    operand : array
        Bools or numbers.
    new_dtype : dtype
        Python's types stand for the default dtypes.

    Returns
    -------
    array
        Of the same shape.

    Raises
    ------
    ValueError
        ``new_dtype`` is None.

    Examples
    --------
    >>> ct.lax.convert_element_type(ct.numpy.array([1.7, -1.7]), "int32")
    Array([ 1, -1], dtype=int32)
    """
    if new_dtype is None:
        raise ValueError(
            "lax.convert_element_type needs a dtype; got None\n  pass one, as in convert_element_type(x, 'float32')"
        )
    array, dtype = as_array("convert_element_type", operand), _core.canonical_dtype(new_dtype)
    if _core.dtype_kind(array.dtype) == "complex" and _core.dtype_kind(dtype) not in ("complex", "bool"):
        array = primitives.real(array)
    return array if array.dtype == dtype and not array.weak_type else primitives.convert(array, dtype=dtype)


@own
def bitcast_convert_type(operand: Any, new_dtype: Any) -> Array:
    """Reads the same bytes as another dtype.

    A narrower dtype adds an axis at the end, with the lowest bytes first; a wider one takes that axis away.

    Parameters
    ----------
    operand : array
        Integers or floats, and others where the dtype stays.
    new_dtype : dtype
        An integer or floating dtype.

    Returns
    -------
    array
        Of the same bytes.

    Raises
    ------
    ShapeError
        The last axis does not hold the bytes of one element.
    DTypeError
        One of the dtypes is bool or complex, and the other is different.

    Examples
    --------
    >>> ct.lax.bitcast_convert_type(ct.numpy.array([1.0, -2.0]), "uint32")
    Array([1065353216, 3221225472], dtype=uint32)
    >>> ct.lax.bitcast_convert_type(ct.numpy.array([1.0]), "uint16")
    Array([[    0, 16256]], dtype=uint16)
    """
    array, dtype = as_array("bitcast_convert_type", operand), _core.canonical_dtype(new_dtype)
    if array.dtype == dtype:
        return convert(array, dtype)
    for side in (array.dtype, dtype):
        if _core.dtype_kind(side) in ("bool", "complex"):
            raise DTypeError(
                f"lax.bitcast_convert_type: bool and complex numbers keep their dtype; got {array.dtype} to {dtype}\n"
                "  convert bools with x.astype('uint8'), and give x.real and x.imag for themselves"
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
            f"lax.bitcast_convert_type: the last axis must hold the {count} parts of one {dtype}; got shape {array.shape}\n"
            f"  make it of that size: x.reshape(-1, {count})"
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
    """Rounds floats to what a format with fewer bits can represent; the dtype stays.

    Halves are rounded to even numbers. Numbers beyond the format's range become infinite, and those below its
    smallest normal one zero. The derivative is that of the identity.

    Parameters
    ----------
    operand : array
        Floats.
    exponent_bits : int
        Of the format, at least 1.
    mantissa_bits : int
        Of the format, without the leading one.

    Returns
    -------
    array
        Of the shape and dtype of ``operand``.

    Raises
    ------
    ValueError
        A number of bits is too small.

    Examples
    --------
    >>> ct.lax.reduce_precision(ct.numpy.array([3.14159, 1e6]), 5, 10)
    Array([3.140625,      inf], dtype=float32)
    """
    x = as_array("reduce_precision", operand)
    check_kind("reduce_precision", x, FLOATS)
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError(
            f"lax.reduce_precision needs at least 1 exponent bit and 0 mantissa bits; got {exponent_bits}, {mantissa_bits}\n"
            "  pass 5 and 10 for the numbers of float16, 8 and 7 for those of bfloat16"
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
