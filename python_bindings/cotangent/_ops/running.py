"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, Primitive
from cotangent._ops.binding import (
    convert,
    kind,
    no_out,
    working_dtype,
)
from cotangent._ops.reductions import _accumulator
from cotangent._ops.reshaping import flattened
from cotangent._ops.sizes import (
    normalize_axis,
)

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
]


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Array:
    """Running sums along an axis, or over the flattened array.

    >>> import cotangent as ct
    >>> ct.numpy.cumsum(ct.numpy.array([1, 2, 3])).tolist()
    [1, 3, 6]
    """
    no_out(out, "cumsum")
    x, position = flattened(_core.array(a), axis, "cumsum")
    return _running(primitives.cumsum, x, position, dtype)


def _running(primitive: Primitive, x: Array, axis: int, dtype: Any) -> Array:
    result_dtype = _accumulator(x, dtype, promote_integers=False)
    x = _core.convert(x, working_dtype(result_dtype))
    if kind(x) == "bool":
        x = _core.convert(x, _core.default_int_dtype())
    return convert(primitive(x, axis=axis, reverse=False), result_dtype)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Running sums along an axis, optionally with a leading 0; narrow integers become the default width."""
    return _with_initial(cumsum, x, axis, dtype, include_initial, "cumulative_sum", 0)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Array:
    """Running products along an axis, or over the flattened array."""
    no_out(out, "cumprod")
    x, position = flattened(_core.array(a), axis, "cumprod")
    return _running(primitives.cumprod, x, position, dtype)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Running products along an axis, optionally with a leading 1; narrow integers become the default width."""
    return _with_initial(cumprod, x, axis, dtype, include_initial, "cumulative_prod", 1)


def _with_initial(
    function: Any, x: Any, axis: int | None, dtype: Any, include_initial: bool, name: str, initial: int
) -> Array:
    array = _core.array(x)
    if axis is None:
        if array.ndim != 1:
            raise ValueError(f"{name}: an array with {array.ndim} axes needs an axis")
        axis = 0
    result: Array = function(array, axis, _accumulator(array, dtype))
    if not include_initial:
        return result
    position = normalize_axis(axis, array.ndim, name)
    shape = list(result._bound_shape)
    shape[position] = 1
    return primitives.concatenate(_core.full(shape, initial, result.dtype), result, axis=position)


check_arguments(globals())
