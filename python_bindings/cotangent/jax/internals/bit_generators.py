"""The generators of bits that XLA names, Threefry and Philox, with the bits and the next states that JAX has on a CPU."""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import cotangent.lax as clax
import cotangent.numpy as cnp
from cotangent import _core
from cotangent._core import Array
from cotangent.custom_batching import custom_vmap
from cotangent.jax.narrowing import narrow

__all__ = ["RandomAlgorithm", "rng_bit_generator"]

_Words = list[Array]  # uint32, of equal shapes


class RandomAlgorithm(enum.IntEnum):
    """Which generator."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


def _word(number: int) -> Array:
    return cnp.array(np.uint32(number))


def _rotated(x: Array, by: int) -> Array:
    return (x << _word(by)) | (x >> _word(32 - by))


def _threefry(key: _Words, counter: _Words) -> _Words:
    """Two words of each two."""
    keys = [*key, key[0] ^ key[1] ^ _word(0x1BD11BDA)]
    x, y = counter[0] + keys[0], counter[1] + keys[1]
    for step in range(5):
        for by in ((13, 15, 26, 6), (17, 29, 16, 24))[step % 2]:
            x = x + y
            y = _rotated(y, by) ^ x
        x, y = x + keys[(step + 1) % 3], y + keys[(step + 2) % 3] + _word(step + 1)
    return [x, y]


def _philox(key: _Words, counter: _Words) -> _Words:
    """Four words of each four."""
    (a, b), (c0, c1, c2, c3) = key, counter
    for _ in range(10):
        first, second = _word(0xD2511F53), _word(0xCD9E8D57)
        c0, c1, c2, c3 = clax.mulhi(second, c2) ^ c1 ^ a, second * c2, clax.mulhi(first, c0) ^ c3 ^ b, first * c0
        a, b = a + _word(0x9E3779B9), b + _word(0xBB67AE85)
    return [c0, c1, c2, c3]


def _advanced(words: _Words, by: Array) -> _Words:
    """A number, the lowest word first, and what is added to it."""
    result, carry = [], by
    for word in words:
        total = word + carry
        result.append(total)
        carry = (total < carry).astype("uint32")
    return result


def _halved(shape: Sequence[int]) -> tuple[list[int], int]:
    """The shape of pairs, and the axis along which they lie: the first of even size, else the first of the largest."""
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    axis = even[0] if even else shape.index(max(shape))
    return [*shape[:axis], -(-shape[axis] // 2), *shape[axis + 1 :]], axis


def _drawn(state: _Words, shape: tuple[int, ...], algorithm: int, wide: bool) -> tuple[_Words, Any]:
    """The next state's words, and the elements' words: one, or with ``wide`` the lower and the upper one."""
    key, counter = state[:2], state[2:]
    if algorithm == RandomAlgorithm.RNG_THREE_FRY:
        pairs, axis = (list(shape), 0) if wide else _halved(shape or (1,))
        count = math.prod(pairs)
        words = _threefry(key, _advanced(counter, cnp.arange(count, dtype="uint32").reshape(pairs)))
        if not wide:
            joined = cnp.stack(words, axis + 1).reshape([*pairs[:axis], 2 * pairs[axis], *pairs[axis + 1 :]])
            words = [clax.slice_in_dim(joined, 0, (shape or (1,))[axis], axis=axis).reshape(shape)]
    else:
        size = math.prod(shape)
        count = -(-size // (2 if wide else 4))
        words = _philox(key, _advanced([*counter, *key], cnp.arange(count, dtype="uint32")))
        flat = cnp.stack(words, -1).reshape([-1, 2 if wide else 1])[:size]
        words = [flat[:, place].reshape(shape) for place in range(flat.shape[1])]
    return [*key, *_advanced(counter, _word(count))], words


def rng_bit_generator(
    key: Any,
    shape: Sequence[int],
    dtype: Any = np.uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Array, Array]:
    """Random bits, and the state after them.

    Under ``vmap`` over states, as in JAX, all bits come from the first state, and it alone moves on.

    Args:
        key: the state, four words of uint32 [4] or two of uint64 [2]: a key, then a counter.
        shape: of the bits.
        dtype: of the bits, unsigned: those of 8 and 16 bits are the lower bits of those of 32.
        algorithm: of `RandomAlgorithm`; the default is Philox.
        out_sharding: ignored, as there is one device.

    Raises:
        TypeError: the dtype of the bits, or the shape or dtype of the state, is another.
    """
    del out_sharding
    kept = np.dtype(narrow(dtype))
    sizes = tuple(operator.index(size) for size in shape)
    if kept not in (np.uint8, np.uint16, np.uint32, np.uint64):
        raise TypeError(
            f"rng_bit_generator: unsupported dtype {kept}\n"
            "  pass dtype=jnp.uint32, or another unsigned one of 8 to 64 bits"
        )
    state = _core.array(narrow(key))
    if (state.shape, str(state.dtype)) not in (((4,), "uint32"), ((2,), "uint64")):
        raise TypeError(
            f"rng_bit_generator: the key must be uint32[4] or uint64[2]; got {state.dtype}{list(state.shape)}\n"
            "  make one of two words with jnp.array([k0, k1, 0, 0], jnp.uint32)"
        )
    which = RandomAlgorithm(int(algorithm))

    def draw(state: Array, sizes: tuple[int, ...]) -> tuple[Array, Array]:
        flat = clax.bitcast_convert_type(state, np.uint32).reshape(4)
        following, words = _drawn([flat[place] for place in range(4)], sizes, which, kept == np.uint64)
        stacked = cnp.stack(following)
        bits = words[0] if kept != np.uint64 else clax.bitcast_convert_type(cnp.stack(words, -1), kept)
        if state.dtype != np.uint32:
            stacked = clax.bitcast_convert_type(stacked.reshape(2, 2), state.dtype)
        return stacked, bits.astype(kept)

    return _batched(draw, sizes)(state)  # type: ignore[no-any-return]


def _batched(draw: Any, sizes: tuple[int, ...]) -> Any:
    @custom_vmap
    def generate(state: Array) -> tuple[Array, Array]:
        return draw(state, sizes)  # type: ignore[no-any-return]

    @generate.def_vmap
    def rule(axis_size: int, in_batched: list[bool], states: Array) -> Any:
        del in_batched
        following, bits = _batched(draw, (axis_size, *sizes))(states[0])
        return (states.at[0].set(following), bits), (True, True)

    return generate
