"""What functions of arrays are made of: binding one primitive, kinds and conversions of dtypes, numbers beside arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.messages import called
from cotangent._core import Array, Primitive
from cotangent.errors import DTypeError

P = ParamSpec("P")
T = TypeVar("T")
promoted, kind = _core.promoted, _core.kind


def is_integer(x: Any) -> bool:
    """Whether the elements are integers (bool is not)."""
    return kind(x) in ("signed", "unsigned")


def is_inexact(x: Any) -> bool:
    """Whether the elements are floating or complex."""
    return kind(x) in ("float", "complex")


def inexact(x: Any) -> Array:
    """``x`` as an array of a floating or complex dtype."""
    return x if isinstance(x, Array) and kind(x) in ("float", "complex") else _core.promote([x], inexact=True)[0]


def convert(x: Array, dtype: Any) -> Array:
    """``x`` with a dtype that is not weak."""
    dtype = _core.canonical_dtype(dtype)
    return x if x.dtype == dtype and not x.weak_type else primitives.convert(x, dtype=dtype)


def apart(result: Array, source: Any) -> Array:
    """``result``, or an array of its own where it would be ``source`` or what that holds: one can be deleted or donated without the other.

    The memory is shared as long as both have it. What only stands for an array, such as a tracer of a library's own, holds none.
    """
    if not (result is source or _core.has_array_method(source)) or not issubclass(type(result), Array):
        return result
    return _core.share_array(result)


def separate(result: Array, source: Any) -> Array:
    """``result``, or an array of its own where it would be ``source`` or a view of it. See `apart`."""
    result = apart(result, source)
    _core.unlink_view(result)
    return result


def handing_back(hand: Callable[[Any, Any], Any]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator: each result of a function, or each of a list of them, is ``hand(result, argument)`` for one argument after the other."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def handing(*args: P.args, **kwargs: P.kwargs) -> T:
            result: Any = function(*args, **kwargs)
            for source in (*args, *kwargs.values()):
                result = [hand(item, source) for item in result] if isinstance(result, list) else hand(result, source)
            return cast("T", result)

        return handing

    return decorate


def own(function: Callable[P, T]) -> Callable[P, T]:
    """``function``, whose results are arrays of their own where it would hand back an argument, or a view of one. See `apart`."""
    return handing_back(separate)(function)


def literal(like: Array, value: complex, dtype: Any = None) -> Array:
    """A number as an array of the shape of ``like``, to stand beside it; by default of its type, which is weak if that is."""
    if dtype is None:
        return _core.full(like._bound_shape, value, like.dtype, like.weak_type)
    return _core.full(like._bound_shape, value, dtype)


def both_words(value: Any) -> int:
    """The number of 64 bits whose words are both a number: what a random key is filled with."""
    return (int(value) & 0xFFFFFFFF) * (2**32 + 1)


def full_of(sizes: Sequence[int], value: Any, dtype: Any, weak: bool = False) -> Array:
    """An array of one number; of random keys, with both words of each."""
    if _core.dtype_kind(dtype) != "key":
        return _core.full(sizes, value, dtype, weak)
    return primitives.bitcast(_core.full(sizes, both_words(value), np.dtype("uint64")), dtype=dtype)


def constant(like: Array, value: complex, dtype: Any = None) -> Array:
    """A number as an array of the shape of ``like``, ragged where that is; a result, where `literal` is an operand."""
    result = _core.full(like._bound_shape, value, like.dtype if dtype is None else dtype)
    for axis in _core.ragged_axes(like):
        result = primitives.set_length(result, primitives.dimension_size(like, axis=axis), axis=axis)
    return result


def empty_fold(x: Array, axes: Sequence[int], value: complex) -> Array:
    """A number for each cell of a fold of ``x`` over ``axes``: what folds of no elements are, and what others begin with."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    result = _core.full([x._bound_shape[axis] for axis in kept], value, x.dtype)
    for axis in _core.ragged_axes(x):
        if axis in kept:
            result = primitives.set_length(result, primitives.dimension_size(x, axis=axis), axis=kept.index(axis))
    return result


def unary(primitive: Primitive, x: Any) -> Array:
    """A primitive of one floating or complex operand; integers and bools are converted."""
    return promoted(primitive, x, inexact=True)


def choose(condition: Array, x: Any, y: Any) -> Array:
    """Elements of x or y, of which one may be a number."""
    like = x if isinstance(x, Array) else y
    x = x if isinstance(x, Array) else literal(like, x)
    y = y if isinstance(y, Array) else literal(like, y)
    return primitives.select(condition, x, y)


def ordered(primitive: Primitive, x: Array, y: Array) -> Array:
    """``lt``, ``le``, ``gt`` or ``ge`` of operands of one dtype; complex numbers by their real, then their imaginary part; False with NaN."""
    if kind(x) != "complex":
        return primitive(x, y)
    (a, b), (c, d) = ((primitives.real(z), primitives.imag(z)) for z in (x, y))
    known = primitives.and_(primitives.eq(b, b), primitives.eq(d, d))
    return primitives.select(primitives.eq(a, c), primitive(b, d), primitives.and_(primitive(a, c), known))


def larger(primitive: Primitive, x: Array, y: Array) -> Array:
    """``max`` or ``min`` of operands of one dtype, of complex numbers too; NaN where either is."""
    if kind(x) != "complex":
        return primitive(x, y)
    first = ordered(primitives.gt if primitive is primitives.max else primitives.lt, x, y)
    return primitives.select(primitives.or_(first, primitives.ne(x, x)), x, y)


def real_only(x: Any, name: str) -> Array:
    """``x`` as floating numbers.

    Raises:
        DTypeError: it is complex.
    """
    array = inexact(x)
    if kind(array) == "complex":
        raise DTypeError(
            f"{called(name)} takes real arrays; got {array.dtype}\n  give it the parts, x.real and x.imag, or the absolute value, abs(x)"
        )
    return array


def real_dtype(dtype: Any) -> Any:
    """The dtype of the parts of a complex number; any other dtype is its own."""
    return np.dtype({"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype))


def working_dtype(dtype: Any) -> Any:
    """The dtype that sums are accumulated in: float32 for narrower floating dtypes."""
    return np.dtype("float32") if _core.dtype_kind(dtype) == "float" and dtype.itemsize < 4 else dtype


def is_host_value(x: Any) -> bool:
    """Whether the elements are known now, without evaluating what is being captured."""
    return not isinstance(x, Array) or not _core.is_traced(x)


def no_out(out: Any, name: str) -> None:
    """Raises for the ``out`` argument, which immutable arrays cannot support."""
    if out is not None:
        raise NotImplementedError(
            f"{name}: the out argument is not supported\n  assign what it returns: out[...] = {name}(...)"
        )
