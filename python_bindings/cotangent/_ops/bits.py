"""Bits of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._base.words import not_among
from cotangent._core import Array
from cotangent._ops.binding import (
    is_inexact,
    kind,
    literal,
    promoted,
)
from cotangent._ops.extents import without_padding
from cotangent._ops.floating_parts import _fraction, _neighbor
from cotangent._ops.reshaping import flattened
from cotangent._ops.sizes import move_last, ragged_length
from cotangent.errors import DTypeError

__all__ = [
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_right_shift",
    "invert",
    "left_shift",
    "packbits",
    "right_shift",
    "unpackbits",
]


def bitwise_and(x: Any, y: Any, /) -> Array:
    """The bits that are set in both integers, element by element; of bools, whether both are true.

    Parameters
    ----------
    x, y : array
        Integers or bools; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.bitwise_and([12, 10], 6)
    Array([4, 2], dtype=int32)
    """
    return promoted(primitives.and_, x, y)


def bitwise_or(x: Any, y: Any, /) -> Array:
    """The bits that are set in either integer, element by element; of bools, whether either is true.

    Parameters
    ----------
    x, y : array
        Integers or bools; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.bitwise_or([12, 10], 6)
    Array([14, 14], dtype=int32)
    """
    return promoted(primitives.or_, x, y)


def bitwise_xor(x: Any, y: Any, /) -> Array:
    """The bits that are set in exactly one integer, element by element; of bools, whether exactly one is true.

    Parameters
    ----------
    x, y : array
        Integers or bools; promoted to a common dtype and broadcast.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.bitwise_xor([12, 10], 6)
    Array([10, 12], dtype=int32)
    """
    return promoted(primitives.xor, x, y)


def bitwise_not(x: Any, /) -> Array:
    """All bits of each integer flipped; of bools, the opposite.

    Parameters
    ----------
    x : array
        Integers or bools.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Examples
    --------
    >>> ct.numpy.bitwise_not([0, 5])
    Array([-1, -6], dtype=int32)
    """
    return primitives.not_(x)


bitwise_invert = invert = bitwise_not


def _integers(x: Any, y: Any) -> list[Array]:
    """The operands of a shift in a common dtype, that of ints for bools."""
    arrays = _core.promote([x, y])
    if kind(arrays[0]) == "bool":
        arrays = [_core.convert(array, _core.default_int_dtype()) for array in arrays]
    return list(arrays)


def left_shift(x: Any, y: Any, /) -> Array:
    """The bits of integers moved up, element by element: multiplication by powers of 2, modulo their range.

    Parameters
    ----------
    x : array
        Integers; promoted with ``y`` to a common dtype and broadcast. Bools are ints.
    y : array
        By how many bits. By as many as the dtype has, or more, the result is 0.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.left_shift([1, 3], [4, 1])
    Array([16,  6], dtype=int32)
    """
    return primitives.shift_left(*_integers(x, y))


bitwise_left_shift = left_shift


def right_shift(x: Any, y: Any, /) -> Array:
    """The bits of integers moved down, element by element, the sign kept: division by powers of 2, rounded down.

    Parameters
    ----------
    x : array
        Integers; promoted with ``y`` to a common dtype and broadcast. Bools are ints.
    y : array
        By how many bits.

    Returns
    -------
    array
        Of the common dtype and the broadcast shape.

    Examples
    --------
    >>> ct.numpy.right_shift([16, -7], [4, 1])
    Array([ 1, -4], dtype=int32)
    """
    x, y = _integers(x, y)
    shift = primitives.shift_right_logical if kind(x) == "unsigned" else primitives.shift_right_arithmetic
    return shift(x, y)


bitwise_right_shift = right_shift


def bitwise_count(x: Any, /) -> Array:
    """How many bits are set in the magnitude of each integer.

    Parameters
    ----------
    x : array
        Integers or bools.

    Returns
    -------
    array of uint8
        Of the shape of ``x``.

    Raises
    ------
    DTypeError
        The numbers are not integers.

    Examples
    --------
    >>> ct.numpy.bitwise_count([0, 7, -8])
    Array([0, 3, 1], dtype=uint8)
    """
    array = _core.array(x)
    if kind(array) not in ("bool", "signed", "unsigned"):
        raise DTypeError(f"bitwise_count takes integers; got {array.dtype}\n  convert it first: x.astype('int32')")
    if kind(array) == "signed":
        array = primitives.abs(array)
    elif kind(array) == "bool":
        return _core.convert(array, "uint8")
    return _core.convert(primitives.population_count(array), "uint8")


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Array:
    """Truth values packed as bits, eight in a byte; the last byte is filled up with zeros.

    Parameters
    ----------
    a : array
        Integers or bools, of which those that are not zero are true.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    bitorder : str, default "big"
        Which bit the first of eight values is: ``"big"``, the highest; ``"little"``, the lowest.

    Returns
    -------
    array of uint8
        An eighth as long along the axis.

    Raises
    ------
    DTypeError
        The numbers are not integers.

    Examples
    --------
    >>> ct.numpy.packbits([1, 0, 0, 0, 0, 1, 0, 1])
    Array([133], dtype=uint8)
    """
    array = _core.array(a)
    if is_inexact(array):
        raise DTypeError(f"packbits takes integers or bools; got {array.dtype}\n  make bools of it: x != 0")
    array, position = flattened(array, axis, "packbits")
    moved = move_last(primitives.ne(array, literal(array, 0)), position)
    last = moved.ndim - 1
    length = ragged_length(moved, last) if last in _core.ragged_axes(moved) else None
    moved = without_padding(moved, [last])
    size = moved._bound_shape[-1]
    high = [0] * (moved.ndim - 1) + [-size % 8]
    bits = primitives.pad(
        _core.convert(moved, "uint8"),
        _core.full((), 0, "uint8"),
        low=[0] * moved.ndim,
        high=high,
        interior=[0] * moved.ndim,
    )
    bits = primitives.reshape(bits, shape=[*bits._bound_shape[:-1], -(-size // 8), 8])
    weights = primitives.shift_left(_core.full((8,), 1, "uint8"), _bit_positions(bitorder, "packbits"))
    weights = primitives.broadcast(weights, shape=list(bits._bound_shape), axes=[bits.ndim - 1])
    packed = primitives.reduce_sum(bits * weights, axes=[bits.ndim - 1])
    if length is not None:
        eight = _core.full((), 8, "int32")
        packed = set_length(packed, primitives.div(length + literal(length, 7), eight), packed.ndim - 1)
    return move_last(packed, position, back=True)


def unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Array:
    """The bits of bytes as elements 0 and 1; the inverse of `packbits`.

    Parameters
    ----------
    a : array of uint8
        The bytes.
    axis : int or None, default None
        The axis, negative counting from the end. None: that of the flattened array.
    count : int, optional
        How many bits there are, cut off or filled up with zeros; negative: how many are left out at the end.
    bitorder : str, default "big"
        Which bit comes first: ``"big"``, the highest; ``"little"``, the lowest.

    Returns
    -------
    array of uint8
        Eight times as long along the axis, or as ``count`` says.

    Raises
    ------
    DTypeError
        The dtype is not uint8.
    ValueError
        ``count`` leaves out more bits than there are.

    Examples
    --------
    >>> ct.numpy.unpackbits(np.array([133], np.uint8))
    Array([1, 0, 0, 0, 0, 1, 0, 1], dtype=uint8)
    """
    array = _core.array(a)
    if array.dtype != np.dtype("uint8"):
        raise DTypeError(f"unpackbits takes uint8; got {array.dtype}\n  convert it first: x.astype('uint8')")
    array, position = flattened(array, axis, "unpackbits")
    moved = move_last(array, position)
    shape = [*moved._bound_shape, 8]
    shifts = primitives.broadcast(_bit_positions(bitorder, "unpackbits"), shape=shape, axes=[moved.ndim])
    wide = primitives.broadcast(moved, shape=shape, axes=list(range(moved.ndim)))
    bits = primitives.shift_right_logical(wide, shifts) & literal(wide, 1)
    bits = primitives.reshape(bits, shape=[*shape[:-2], 8 * shape[-2]])
    if count is not None:
        last = bits.ndim - 1
        length = ragged_length(bits, last) if last in _core.ragged_axes(bits) else None
        bits = without_padding(bits, [last])
        size = bits._bound_shape[-1]
        if size + count < 0 and length is None:
            raise ValueError(
                f"unpackbits: a count of {count} leaves out more bits than there are: {size}\n"
                f"  leave out {size} at most: count={-size} or above"
            )
        limit = max(size + count, 0) if count < 0 else count
        none = [0] * (bits.ndim - 1)
        bits = primitives.pad(
            bits, _core.full((), 0, "uint8"), low=[*none, 0], high=[*none, limit - size], interior=[*none, 0]
        )
        if length is not None and count < 0:
            left = length + _core.full((), count, "int32")
            bits = set_length(bits, primitives.max(left, _core.full((), 0, "int32")), last)
    return move_last(bits, position, back=True)


def _bit_positions(bitorder: str, name: str) -> Array:
    if bitorder not in ("big", "little"):
        raise not_among(name, "bitorder", bitorder, ("big", "little"))
    positions = primitives.iota(shape=[8], dtype=np.dtype("uint8"), axis=0)
    return positions if bitorder == "little" else primitives.reverse(positions, axes=[0])


# The whole part has derivative 0. The sign that a zero gets and the choice at infinities are no part of the derivative.
_fraction.defjvp(lambda primals, tangents: (_fraction(*primals), tangents[0]))


# Bits have no derivative; the neighbor of x is x and a gap that is constant between powers of 2.
_neighbor.defjvp(lambda primals, tangents: (_neighbor(*primals), tangents[0]))


check_arguments(globals())
