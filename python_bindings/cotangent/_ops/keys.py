"""Random keys: typed ones, whose dtype says that they are keys, and their words as uint32 arrays.

A typed key is one element of dtype ``key<fry>``: 64 bits, the first word in the upper half. Arrays of keys are indexed,
stacked, reshaped, selected, batched and looped over as other arrays are; there is no arithmetic on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.device import put_beside
from cotangent._base.keys import KEY_DTYPE, Key, KeyDType, prng_key
from cotangent._core import Array
from cotangent._ops.binding import is_integer, literal
from cotangent._ops.sizes import insert_axes

__all__ = ["PRNGKey", "clone", "key", "key_data", "key_dtype", "key_impl", "wrap_key_data"]

_UINT32 = np.dtype("uint32")
_UINT64 = np.dtype("uint64")


def _check_generator(impl: Any) -> None:
    """Raises for a generator other than Threefry."""
    if impl is None or impl is prng_key or isinstance(impl, KeyDType) or str(impl) in ("threefry2x32", "fry"):
        return
    if str(impl) in ("rbg", "unsafe_rbg"):
        raise NotImplementedError(
            f"the generator {impl!r} is not supported: its bits depend on the device\n  use the default, 'threefry2x32'"
        )
    raise ValueError(f"there is no random generator {impl!r}\n  use the default, 'threefry2x32'")


def key_dtype(impl_spec: Any = None) -> KeyDType:
    """The dtype of typed keys.

    Parameters
    ----------
    impl_spec : str, optional
        The name of a generator; Threefry, "threefry2x32", is the only one.

    Returns
    -------
    dtype
        The dtype of arrays of keys.

    Raises
    ------
    NotImplementedError
        Another of JAX's generators is asked for.
    ValueError
        There is no such generator.

    Examples
    --------
    >>> ct.random.key_dtype()
    key<fry>
    """
    _check_generator(impl_spec)
    return KEY_DTYPE


def PRNGKey(seed: Any, *, impl: Any = None) -> Array:  # noqa: N802
    """A key as its two words, from an integer seed.

    Where 64 bits are not enabled the lowest 32 bits of a Python int count.

    Parameters
    ----------
    seed : int
        A scalar, may be traced.
    impl : str, optional
        The name of the generator; "threefry2x32" is the only one.

    Returns
    -------
    array of uint32, shape (2,)
        The words.

    Raises
    ------
    TypeError
        The seed is no integer scalar.
    OverflowError
        The seed does not fit 64 bits.

    Examples
    --------
    >>> ct.random.PRNGKey(42)
    Array([ 0, 42], dtype=uint32)
    """
    return _words(seed, impl, "PRNGKey")


def _words(seed: Any, impl: Any, name: str) -> Array:
    """The words of a key; ``name``: what the user has called."""
    _check_generator(impl)
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
        number = int(seed)
        if not -(2**63) <= number < (2**63 if isinstance(seed, int) else 2**64):
            raise OverflowError(f"the seed {number} does not fit int64\n  pass np.uint64({number % 2**64})")
        wide = _core.get_enable_x64() and (isinstance(seed, int) or seed.dtype.itemsize == 8)
        high = (number >> 32) & 0xFFFFFFFF if wide else 0
        return put_beside(_core.array(np.array([high, number & 0xFFFFFFFF], np.uint32)), ())  # type: ignore[no-any-return]
    array = _core.array(seed)
    if array.ndim != 0 or not is_integer(array):
        if array.ndim:
            hint = f"for a key of each of several: ct.vmap(ct.random.{name})(ct.numpy.array(seeds))"
        else:
            hint = f"give an integer: ct.random.{name}(0), or int(seed), which leaves out what is behind the point"
        raise TypeError(
            f"{name}: the seed must be an integer scalar; got {array.dtype} of shape {array.shape}\n  {hint}"
        )
    low = _core.convert(array, _UINT32)
    high_word = _core.full((), 0, _UINT32)
    if array.dtype.itemsize == 8:
        shifted = primitives.shift_right_logical(array, literal(array, 32))
        high_word = _core.convert(shifted, _UINT32)
        low = _core.convert(primitives.and_(array, literal(array, 0xFFFFFFFF)), _UINT32)
    return _pair(high_word, low)


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Array:
    """A typed key, from an integer seed.

    Its numbers are those of `PRNGKey` of the same seed; its dtype says that it is a key. Where 64 bits are not enabled
    the lowest 32 bits of a Python int count, so that ``key(7)`` equals ``key(2**40 + 7)``. A key of 64 random bits is
    ``wrap_key_data(np.frombuffer(os.urandom(8), np.uint32))``.

    Parameters
    ----------
    seed : int
        A scalar, may be traced.
    impl : str, optional
        The name of the generator; "threefry2x32" is the only one.
    dtype : dtype, optional
        The dtype of keys, which also names the generator.

    Returns
    -------
    key, shape ()
        The key.

    Raises
    ------
    TypeError
        The seed is no integer scalar.
    OverflowError
        The seed does not fit 64 bits.

    Examples
    --------
    >>> k = ct.random.key(42)
    >>> k.shape, k.dtype, ct.random.key_data(k).tolist()
    ((), key<fry>, [0, 42])
    >>> bool(k == ct.random.key(2**40 + 42))
    True
    """
    _check_generator(dtype)
    return wrap_key_data(_words(seed, impl, "key"))


def key_data(keys: Any) -> Array:
    """The words of keys.

    Parameters
    ----------
    keys : array of keys
        Typed keys; words are returned as they are.

    Returns
    -------
    array of uint32, shape (..., 2)
        The words along a new last axis.

    Raises
    ------
    TypeError
        It is no key.

    Examples
    --------
    >>> ct.random.key_data(ct.random.key(42))
    Array([ 0, 42], dtype=uint32)
    """
    array = _core.array(keys)
    if array.dtype != KEY_DTYPE:
        return _checked_words(array)
    bits = primitives.bitcast(array, dtype=_UINT64)
    high = primitives.shift_right_logical(bits, literal(bits, 32))
    low = primitives.and_(bits, literal(bits, 0xFFFFFFFF))
    return _pair(_core.convert(high, _UINT32), _core.convert(low, _UINT32))


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Array:
    """Typed keys from their words.

    Parameters
    ----------
    key_bits_array : array of uint32, shape (..., 2)
        The words.
    impl : str, optional
        The name of the generator; "threefry2x32" is the only one.
    dtype : dtype, optional
        The dtype of keys, which also names the generator.

    Returns
    -------
    array of keys, shape (...)
        The keys.

    Raises
    ------
    TypeError
        The last axis is not of size 2, or the dtype is not uint32.

    Examples
    --------
    >>> ct.random.wrap_key_data(ct.random.PRNGKey(42)).dtype
    key<fry>
    """
    _check_generator(impl)
    _check_generator(dtype)
    words = _checked_words(_core.array(key_bits_array))
    last = words.ndim - 1
    start, limit = [0] * last, list(words._bound_shape[:last])
    high, low = (
        _core.convert(
            primitives.reshape(
                primitives.slice(words, start=[*start, i], limit=[*limit, i + 1], stride=[1] * words.ndim),
                shape=limit,
            ),
            _UINT64,
        )
        for i in range(2)
    )
    return primitives.bitcast(primitives.or_(primitives.shift_left(high, literal(high, 32)), low), dtype=KEY_DTYPE)


def key_impl(keys: Any) -> str:
    """The name of the generator of keys.

    Parameters
    ----------
    keys : array of keys
        Typed keys, or their words.

    Returns
    -------
    str
        "threefry2x32", which is the only one.

    Raises
    ------
    TypeError
        It is no key.

    Examples
    --------
    >>> ct.random.key_impl(ct.random.key(0))
    'threefry2x32'
    """
    key_data(keys)
    return "threefry2x32"


def clone(key: Key) -> Array:
    """The same key, said to be used again on purpose.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`.

    Returns
    -------
    key
        The same key.

    Raises
    ------
    TypeError
        It is no key.

    Examples
    --------
    >>> ct.random.clone(ct.random.PRNGKey(42))
    Array([ 0, 42], dtype=uint32)
    """
    key_data(key)
    return _core.array(key)


def _checked_words(array: Array) -> Array:
    if array.dtype != _UINT32 or array.ndim == 0 or array._bound_shape[-1] != 2:
        raise TypeError(
            "expected a random key, an array of keys or a uint32 array of shape (2,); "
            f"got {array.dtype} of shape {array.shape}\n  make one with ct.random.key(seed)"
            "\n  see docs/errors.md#random-key"
        )
    return array


def _words_of(key: Any, name: str = "this function") -> Array:
    """The two words of one key.

    Raises:
        TypeError: it is no key. ValueError: it is an array of several.
    """
    words = key_data(key)
    if words.ndim != 1:
        raise ValueError(
            f"expected one random key; {name} got an array of keys of shape {words.shape[:-1]}\n"
            "  use ct.vmap to call it with each key"
        )
    return words


def _like(key: Any, high: Array, low: Array) -> Array:
    """Keys of two words each, of the kind of ``key``."""
    words = _pair(high, low)
    return wrap_key_data(words) if _core.array(key).dtype == KEY_DTYPE else words


def _pair(first: Array, second: Array) -> Array:
    """Two words of equal shape as a new last axis."""
    rank = first.ndim
    return primitives.concatenate(insert_axes(first, [rank]), insert_axes(second, [rank]), axis=rank)


check_arguments(globals())
