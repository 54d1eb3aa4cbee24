"""Uniform and normal numbers, and what is one of them transformed; keys split and folded."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.device import Placement
from cotangent._base.keys import Key
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.binding import convert, is_integer, kind, literal, real_dtype
from cotangent._ops.dtypes import finfo
from cotangent._ops.extents import capacities, stretched
from cotangent._ops.keys import _like, _words_of
from cotangent._ops.sizes import (
    common_shape,
    flat_positions,
    static_shape,
    symbolic_shape,
)
from cotangent._special import erfinv
from cotangent._transforms.staging import jit
from cotangent.errors import DTypeError, ShapeError
from cotangent.random import sequences
from cotangent.random.orders import look_at_orders

__all__ = ["bernoulli", "bits", "fold_in", "normal", "rademacher", "split", "truncated_normal", "uniform"]

_UINT32 = np.dtype("uint32")


def _word(key: Array, index: int, shape: Sequence[int]) -> Array:
    word = primitives.reshape(primitives.slice(key, start=[index], limit=[index + 1], stride=[1]), shape=[])
    return primitives.broadcast(word, shape=list(shape), axes=[]) if shape else word


def _hash(key: Array, sizes: Sequence[int], lengths: dict[int, Array]) -> list[Array]:
    """Two words for each position of a shape: the hash of its row-major index."""
    total = math.prod(sizes)
    low = _core.full(sizes, 0, _UINT32)
    high = low
    if lengths:
        low = flat_positions(sizes, lengths, _UINT32)
    elif total <= 2**32:
        flat = primitives.iota(shape=[total], dtype=_UINT32, axis=0) if sizes else None
        low = primitives.reshape(flat, shape=list(sizes)) if flat is not None else low
    else:
        wide = primitives.iota(shape=[total], dtype=np.dtype("uint64"), axis=0)
        low = primitives.reshape(
            _core.convert(primitives.and_(wide, literal(wide, 0xFFFFFFFF)), _UINT32), shape=list(sizes)
        )
        high = primitives.reshape(
            _core.convert(primitives.shift_right_logical(wide, literal(wide, 32)), _UINT32), shape=list(sizes)
        )
    words = primitives.threefry2x32(_word(key, 0, sizes), _word(key, 1, sizes), high, low)
    return [give_lengths(word, lengths) for word in words]


def split(key: Key, num: int | Sequence[int] = 2) -> Array:
    """Makes several new keys of one, whose numbers are independent of each other.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`.
    num : int or sequence of int
        How many, or the shape of the array of keys; by default 2.

    Returns
    -------
    array of keys
        Of shape (num,) of keys, or (num, 2) of their words: of the kind of ``key``.

    References
    ----------
    John K. Salmon, Mark A. Moraes, Ron O. Dror and David E. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
    2011.

    Examples
    --------
    >>> ct.random.split(ct.random.key(0), 3).shape, ct.random.split(ct.random.PRNGKey(0), 3).shape
    ((3,), (3, 2))
    """
    sizes, lengths = static_shape(num, "split")
    words = _words_of(key, "split")
    if sequences.chosen() and not lengths:
        return _like(key, *sequences.sequential_pairs(words, sizes))
    return _like(key, *_hash(words, sizes, lengths))


def fold_in(key: Key, data: Any) -> Array:
    """A new key from a key and an integer.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`.
    data : int
        A scalar, may be traced; its lowest 32 bits count.

    Returns
    -------
    key
        Of the kind of ``key``.

    Raises
    ------
    TypeError
        ``data`` is not an integer, or several.

    References
    ----------
    John K. Salmon, Mark A. Moraes, Ron O. Dror and David E. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
    2011.

    Examples
    --------
    >>> ct.random.fold_in(ct.random.PRNGKey(0), 1).tolist() != ct.random.fold_in(ct.random.PRNGKey(0), 2).tolist()
    True
    """
    words = _words_of(key, "fold_in")
    if isinstance(data, int):
        number = _core.full((), int(data) & 0xFFFFFFFF, _UINT32)
    else:
        array = _core.array(data)
        if array.ndim != 0 or not is_integer(array):
            raise TypeError(
                f"fold_in: data must be an integer scalar; got {array.dtype} of shape {array.shape}\n"
                + (
                    "  map over several: ct.vmap(lambda i: ct.random.fold_in(key, i))(data)"
                    if array.ndim
                    else "  pass an integer, as the number of a step is"
                )
            )
        number = _core.convert(array, _UINT32)
    zero = _core.full((), 0, _UINT32)
    return _like(key, *primitives.threefry2x32(_word(words, 0, ()), _word(words, 1, ()), zero, number))


def _bits(key: Array, width: int, sizes: Sequence[int], lengths: dict[int, Array]) -> Array:
    if sequences.chosen() and not lengths:
        return sequences.sequential_bits(key, width, sizes)
    high, low = _hash(key, sizes, lengths)
    if width == 64:
        uint64 = np.dtype("uint64")
        high, low = _core.convert(high, uint64), _core.convert(low, uint64)
        return primitives.or_(primitives.shift_left(high, literal(high, 32)), low)
    mixed = primitives.xor(high, low)
    if width == 32:
        return mixed
    return _core.convert(primitives.and_(mixed, literal(mixed, 2**width - 1)), np.dtype(f"uint{width}"))


def bits(key: Key, shape: Any = (), dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Random bits as unsigned integers.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`.
    shape : int or sequence of int
        The shape of the result, by default ().
    dtype : dtype, optional
        Unsigned integers, by default as wide as the default integers.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array of unsigned int
        Of the given shape.

    Raises
    ------
    DTypeError
        The dtype is not an unsigned integer.

    References
    ----------
    John K. Salmon, Mark A. Moraes, Ron O. Dror and David E. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
    2011.

    Examples
    --------
    >>> ct.random.bits(ct.random.key(0), (2,), "uint8").dtype
    dtype('uint8')
    """
    dtype = _core.canonical_dtype(np.dtype(f"u{_core.default_int_dtype().name}") if dtype is None else dtype)
    if _core.dtype_kind(dtype) != "unsigned":
        raise DTypeError(
            f"bits: the dtype must be an unsigned integer; got {dtype}\n  pass dtype='uint32', or use ct.random.randint"
        )
    return _bits(_words_of(key), 8 * dtype.itemsize, *static_shape(shape, "bits"))


def float_dtype(dtype: Any, name: str) -> Any:
    dtype = _core.default_float_dtype() if dtype is None else _core.canonical_dtype(dtype)
    if _core.dtype_kind(dtype) != "float":
        raise DTypeError(
            f"{name}: the dtype must be floating; got {dtype}\n"
            "  pass dtype='float32', or leave it out; ct.random.randint draws integers"
        )
    return dtype


def _finfo(dtype: Any) -> Any:
    return finfo(dtype)


def uniform(
    key: Key,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Numbers evenly distributed over [minval, maxval).

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    shape : int or sequence of int
        The shape of the result, by default ().
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    minval, maxval : array
        The lower end, which is drawn, and the upper end, which is not; broadcast to ``shape``.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    DTypeError
        The dtype is not floating, or an end is complex.
    ShapeError
        The ends do not broadcast to ``shape``.
    TypeError
        The shape is not made of integers.

    References
    ----------
    John K. Salmon, Mark A. Moraes, Ron O. Dror and David E. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
    2011.

    Examples
    --------
    >>> ct.random.uniform(ct.random.key(0), (3,)).round(4)
    Array([0.9477, 0.9786, 0.3323], dtype=float32)
    """
    sizes, lengths = static_shape(shape, "uniform")
    dtype = float_dtype(dtype, "uniform")
    ends = [real_parameter("uniform", end, dtype) for end in (minval, maxval)]
    check_broadcast("uniform", sizes, ends, optional=False)
    return _drawn(_uniform, [_words_of(key), *ends], sizes, lengths, dtype)


# From about this many numbers on, a compiled program is faster than one operation after the other, its compilation included.
_MANY = 2**19


def _drawn(
    function: Callable[..., Array], operands: list[Array], sizes: Sequence[int], lengths: dict[int, Array], dtype: Any
) -> Array:
    """``function(*operands, sizes, lengths, dtype)``: outside of a program, many numbers are drawn by one of their own."""
    if lengths or math.prod(sizes) < _MANY or _core.is_capturing():
        return function(*operands, sizes, lengths, dtype)
    return _program(function, tuple(sizes), dtype, sequences.chosen())(*operands)  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=64)
def _program(function: Callable[..., Array], sizes: tuple[int, ...], dtype: Any, sequential: bool) -> Any:
    return jit(lambda *operands: function(*operands, sizes, {}, dtype))


def _uniform(
    words: Array, low: Array, high: Array, sizes: Sequence[int], lengths: dict[int, Array], dtype: Any
) -> Array:
    mantissa = int(_finfo(dtype).nmant)
    width = 8 * dtype.itemsize
    drawn_width = 8 if mantissa < 8 else width
    drawn = _bits(words, drawn_width, sizes, lengths)
    unsigned = np.dtype(f"uint{width}")
    drawn = _core.convert(drawn, unsigned)
    # The mantissa of a number in [1, 2).
    drawn = primitives.shift_right_logical(drawn, literal(drawn, drawn_width - mantissa))
    one = int(np.array(1.0, dtype).view(unsigned))
    floats = primitives.bitcast(primitives.or_(drawn, literal(drawn, one)), dtype=dtype)
    floats = floats - literal(floats, 1.0)
    scaled = floats * (high - low) + low
    return primitives.max(stretched(low, scaled), scaled)


def real_parameter(name: str, value: Any, dtype: Any) -> Array:
    """A parameter of a distribution as an array of a floating dtype, all digits of a number of Python's included.

    Raises:
        DTypeError: it is complex.
    """
    if isinstance(value, (int, float)):
        return _core.full((), value, dtype)
    array = _core.array(value)
    if _core.dtype_kind(array.dtype) == "complex":
        raise DTypeError(f"{name}: parameters must be real; got {array.dtype}\n  take the real part, x.real")
    return convert(array, dtype)


def check_broadcast(name: str, sizes: Sequence[int], parameters: Sequence[Array], *, optional: bool = True) -> None:
    """Raises ShapeError unless the parameters of a distribution broadcast to the sizes of the result.

    ``optional``: without a shape the function takes that of its parameters.
    """
    shapes = [capacities(x) for x in parameters]
    if tuple(_core.broadcast_shapes([tuple(sizes), *shapes])) != tuple(sizes):
        raise ShapeError(
            f"{name}: parameters of shapes {', '.join(map(str, shapes))} do not broadcast to {tuple(sizes)}\n"
            f"  pass a shape that ends as {tuple(_core.broadcast_shapes(shapes))} does{', or leave it out' if optional else ''}"
        )


def _normal(key: Array, shape: Any, dtype: Any) -> Array:
    return _drawn(_normal_of_words, [_words_of(key)], *static_shape(shape, "normal"), dtype)


def _normal_of_words(words: Array, sizes: Sequence[int], lengths: dict[int, Array], dtype: Any) -> Array:
    lowest = float(np.nextafter(np.array(-1.0, dtype), np.array(0.0, dtype)))
    low, high = (_core.full((), end, dtype) for end in (lowest, 1.0))
    draws = erfinv(_uniform(words, low, high, sizes, lengths, dtype))
    return draws * literal(draws, math.sqrt(2.0))


def normal(key: Key, shape: Any = (), dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """Normally distributed numbers of mean 0 and variance 1.

    Of complex numbers each part has variance 1/2. They are made of uniform numbers by the inverse of the error
    function.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    shape : int or sequence of int
        The shape of the result, by default ().
    dtype : dtype, optional
        Floating or complex, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Of the given shape.

    Raises
    ------
    DTypeError
        The dtype is neither floating nor complex.

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    1, 1994, chapter 13.

    Examples
    --------
    >>> ct.random.normal(ct.random.key(0), (3,)).round(3)
    Array([ 1.623,  2.025, -0.434], dtype=float32)
    """
    if dtype is not None:
        dtype = _core.canonical_dtype(dtype)
    if getattr(dtype, "kind", "") != "c":
        return _normal(_words_of(key), shape, float_dtype(dtype, "normal"))
    keys = split(key)
    parts = [_normal(keys[i], shape, real_dtype(dtype)) for i in range(2)]
    return primitives.complex(*(part * literal(part, math.sqrt(0.5)) for part in parts))


def truncated_normal(
    key: Key, lower: Any, upper: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Placement = None
) -> Array:
    """Normally distributed numbers that lie between two ends.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    lower, upper : array
        The ends, in standard deviations from the mean 0; broadcast to ``shape``.
    shape : sequence of int, optional
        The shape of the result, by default the common shape of the ends.
    dtype : dtype, optional
        Floating, by default the default floating dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Floats of the given shape.

    Raises
    ------
    DTypeError
        The dtype is not floating.
    ShapeError
        The ends do not broadcast to ``shape``.

    References
    ----------
    Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition, volume
    1, 1994, chapter 13.

    Examples
    --------
    >>> ct.random.truncated_normal(ct.random.key(0), -1.0, 1.0, (3,)).round(3)
    Array([ 0.862,  0.941, -0.291], dtype=float32)
    """
    dtype = float_dtype(dtype, "truncated_normal")
    low, high = (real_parameter("truncated_normal", end, dtype) for end in (lower, upper))
    if shape is None:
        shape = common_shape([low.shape, high.shape])
    else:
        check_broadcast("truncated_normal", static_shape(shape, "truncated_normal")[0], [low, high])
    root = literal(_core.full((), 0, dtype), math.sqrt(2.0))
    draws = uniform(key, shape, dtype, primitives.erf(low / root), primitives.erf(high / root))
    draws = erfinv(draws) * root
    # Rounding must not reach the ends.
    smallest = primitives.stop_gradient(low)
    largest = primitives.stop_gradient(high)
    step = float(_finfo(dtype).eps)
    inner_low = smallest + primitives.abs(smallest) * step
    inner_high = largest - primitives.abs(largest) * step
    draws = primitives.max(draws, stretched(inner_low, draws))
    return primitives.min(draws, stretched(inner_high, draws))


def bernoulli(
    key: Key, p: Any = 0.5, shape: Any = None, mode: Literal["high", "low"] = "low", *, out_sharding: Placement = None
) -> Array:
    """True with a given probability.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    p : array
        The probabilities: floats, by default 0.5.
    shape : sequence of int, optional
        The shape of the result, by default that of ``p``.
    mode : str
        "low", or "high" for twice as many random bits, which probabilities far from those that few bits can tell
        apart need.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array of bool
        Of the given shape.

    Raises
    ------
    DTypeError
        ``p`` is not floating.
    ShapeError
        ``p`` does not broadcast to ``shape``.

    Examples
    --------
    >>> ct.random.bernoulli(ct.random.key(0), 0.5, (4,))
    Array([False, False,  True,  True], dtype=bool)
    """
    probability = _core.array(p)
    if kind(probability) != "float":
        is_shape = shape is None and (type(p) in (tuple, list) or (type(p) is int and p > 1))
        sizes = tuple(p) if isinstance(p, (tuple, list)) else (p,)
        raise DTypeError(
            f"bernoulli: the probability must be floating; got {p if is_shape else probability.dtype}\n"
            + (
                f"  the shape stands behind it: ct.random.bernoulli(key, 0.5, {sizes})"
                if is_shape
                else "  pass a number such as 0.5, or p.astype('float32')"
            )
        )
    check_word("bernoulli", "mode", mode, ("high", "low"))
    sizes = probability.shape if shape is None else symbolic_shape(shape, "bernoulli")
    check_broadcast("bernoulli", static_shape(sizes, "bernoulli")[0], [probability])
    if mode == "low":
        return uniform(key, sizes, probability.dtype) < probability
    fine = uniform(key, (2, *sizes), probability.dtype)
    return fine[1] * 2.0 ** -int(_finfo(probability.dtype).nmant) < probability - fine[0]


def rademacher(key: Key, shape: Any = (), dtype: Any = None, *, out_sharding: Placement = None) -> Array:
    """The numbers -1 and 1 with equal probability.

    Parameters
    ----------
    key : key
        As of `key` or `PRNGKey`; a key gives the same numbers every time.
    shape : int or sequence of int
        The shape of the result, by default ().
    dtype : dtype, optional
        Of the result, by default the default integer dtype.
    out_sharding : device or sharding, optional
        What the result is made on; by default the default device.

    Returns
    -------
    array
        Of the given shape.

    Examples
    --------
    >>> ct.random.rademacher(ct.random.key(0), (4,))
    Array([-1, -1,  1,  1], dtype=int32)
    """
    dtype = _core.default_int_dtype() if dtype is None else _core.canonical_dtype(dtype)
    flips = _core.convert(bernoulli(key, 0.5, shape), dtype)
    return flips + flips - literal(flips, 1)


look_at_orders(globals())
check_arguments(globals())
