"""The older layout of random words, JAX's ``jax_threefry_partitionable=False``: the words of a key are one sequence, hashed in two halves.

Each word depends on the length of the sequence, so that words cannot be made where they are needed. It is there for the numbers of programs
that have recorded them; programs that were captured before it was chosen keep the layout that they have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import literal

__all__ = ["choose", "chosen", "sequential_bits", "sequential_pairs"]

_UINT32 = np.dtype("uint32")
_chosen: list[bool] = []


def choose(sequential: bool) -> None:
    """Whether words are made in this layout from now on."""
    _chosen[:] = [True] if sequential else []


def chosen() -> bool:
    """Whether words are made in this layout."""
    return bool(_chosen)


def _part(x: Array, start: int, limit: int) -> Array:
    return primitives.slice(x, start=[start], limit=[limit], stride=[1])


def _sequence(key: Array, count: int) -> Array:
    """The first words of a key, as many as are asked for: the position hashed is the word's own, and one of 0 where their number is odd."""
    half = (count + 1) // 2
    positions = primitives.iota(shape=[2 * half], dtype=_UINT32, axis=0)
    low, high = _part(positions, 0, half), _part(positions, half, 2 * half)
    if count % 2:
        last = primitives.eq(high, literal(high, count))
        high = primitives.select(last, primitives.xor(high, high), high)
    words = [
        primitives.broadcast(primitives.reshape(_part(key, i, i + 1), shape=[]), shape=[half], axes=[]) for i in (0, 1)
    ]
    hashed = primitives.concatenate(*primitives.threefry2x32(*words, low, high), axis=0)
    return _part(hashed, 0, count)


def sequential_pairs(key: Array, sizes: Sequence[int]) -> list[Array]:
    """Two words for each position of a shape."""
    count = math.prod(sizes)
    pairs = primitives.reshape(_sequence(key, 2 * count), shape=[count, 2])
    return [
        primitives.reshape(
            primitives.slice(pairs, start=[0, i], limit=[count, i + 1], stride=[1, 1]), shape=list(sizes)
        )
        for i in (0, 1)
    ]


def sequential_bits(key: Array, width: int, sizes: Sequence[int]) -> Array:
    """Unsigned integers of a width: of 64 bits with words half of the sequence apart, of less than 32 with the parts of words, the lowest first."""
    count = math.prod(sizes)
    words = _sequence(key, -(-width * count // 32))
    if width == 64:
        wide = _core.convert(words, "uint64")
        high, low = _part(wide, 0, count), _part(wide, count, 2 * count)
        words = primitives.or_(primitives.shift_left(high, literal(high, 32)), low)
    elif width < 32:
        number = words.shape[0]
        shifts = [primitives.shift_right_logical(words, literal(words, shift)) for shift in range(0, 32, width)]
        columns = [primitives.reshape(shifted, shape=[number, 1]) for shifted in shifts]
        parts = primitives.reshape(primitives.concatenate(*columns, axis=1), shape=[number * len(columns)])
        kept = primitives.and_(parts, literal(parts, 2**width - 1))
        words = _part(_core.convert(kept, np.dtype(f"uint{width}")), 0, count)
    return primitives.reshape(words, shape=list(sizes))


check_arguments(globals())
