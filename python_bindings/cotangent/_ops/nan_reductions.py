"""The folds along axes that leave NaN out."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import (
    is_inexact,
    kind,
    literal,
    no_out,
)
from cotangent._ops.extreme_positions import argmax, argmin
from cotangent._ops.reductions import (
    Axis,
    _chosen,
    _deviation_dtypes,
    _lowest,
    _narrowed,
    any,
    max,
    mean,
    min,
    prod,
    sum,
    var,
)
from cotangent._ops.running import cumprod, cumsum

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def _without_nan(a: Any, replacement: complex) -> tuple[Array, Array]:
    """The array with NaN replaced, and where it was not NaN."""
    x = _core.array(a)
    valid = primitives.eq(x, x)
    return (primitives.select(valid, x, literal(x, replacement)) if is_inexact(x) else x), valid


def nansum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """The sum of elements that are not NaN."""
    return sum(_without_nan(a, 0)[0], axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Array:
    """The product of elements that are not NaN."""
    return prod(_without_nan(a, 1)[0], axis, dtype, out, keepdims, initial, where)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Array:
    """Running sums, NaN counting as 0."""
    return cumsum(_without_nan(a, 0)[0], axis, dtype, out)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Array:
    """Running products, NaN counting as 1."""
    return cumprod(_without_nan(a, 1)[0], axis, dtype, out)


def _nan_extreme(name: str, function: Any, a: Any, axis: Axis, keepdims: bool, initial: Any, where: Any) -> Array:
    x = _core.array(a)
    if kind(x) != "float":
        return function(x, axis, None, keepdims, initial, where)  # type: ignore[no-any-return]
    filled, valid = _without_nan(x, _lowest(x, name))
    result: Array = function(filled, axis, None, keepdims, initial, where)
    if initial is not None:
        return result
    present = any(valid, axis, keepdims=keepdims)
    return primitives.select(present, result, literal(result, math.nan))


def nanmax(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Array:
    """The largest element that is not NaN; NaN if all are."""
    no_out(out, "nanmax")
    return _nan_extreme("max", max, a, axis, keepdims, initial, where)


def nanmin(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Array:
    """The smallest element that is not NaN; NaN if all are."""
    no_out(out, "nanmin")
    return _nan_extreme("min", min, a, axis, keepdims, initial, where)


def _valid(a: Any, where: Any) -> Any:
    valid = _without_nan(a, 0)[1]
    return valid if where is None else primitives.and_(*_core.promote([valid, _chosen(where)]))


def nanmean(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, where: Any = None
) -> Array:
    """The mean of elements that are not NaN."""
    return mean(a, axis, dtype, out, keepdims, where=_valid(a, where))


def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Array:
    """The variance of elements that are not NaN."""
    return var(_without_nan(a, 0)[0], axis, dtype, out, ddof, keepdims, where=_valid(a, where), mean=mean)


def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Array:
    """The standard deviation of elements that are not NaN."""
    wide, narrow = _deviation_dtypes(a, dtype)
    return _narrowed(primitives.sqrt(nanvar(a, axis, wide, out, ddof, keepdims, where, mean)), narrow)


def _nan_position(name: str, function: Any, a: Any, axis: int | None, keepdims: bool) -> Array:
    x = _core.array(a)
    if kind(x) != "float":
        return function(x, axis, None, keepdims)  # type: ignore[no-any-return]
    filled, valid = _without_nan(x, _lowest(x, name))
    result: Array = function(filled, axis, None, keepdims)
    present = any(valid, axis, keepdims=keepdims)
    return primitives.select(present, result, literal(result, -1))


def nanargmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the first largest element that is not NaN; -1 if all are."""
    no_out(out, "nanargmax")
    return _nan_position("max", argmax, a, axis, bool(keepdims))


def nanargmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the first smallest element that is not NaN; -1 if all are."""
    no_out(out, "nanargmin")
    return _nan_position("min", argmin, a, axis, bool(keepdims))


check_arguments(globals())
