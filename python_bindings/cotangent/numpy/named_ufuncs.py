"""The functions of elements that are objects: `add`, `maximum`, … with the array functions that do the same as folding with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array, Primitive
from cotangent._ops import arithmetic as elementwise
from cotangent._ops import bits, comparisons, exponentials, reductions, running
from cotangent._ops.binding import convert
from cotangent._ops.choice import where as _where
from cotangent._ops.extents import capacity, drop_axes
from cotangent._ops.sizes import keep_axes, move_last
from cotangent.numpy.ufuncs import Function, _accumulated, ufunc

__all__ = [
    "add",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "subtract",
]


def _sum(x: Array, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Array:
    return reductions.sum(x, axis, dtype, None, keepdims, initial, where)


def _product(x: Array, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Array:
    return reductions.prod(x, axis, dtype, None, keepdims, initial, where)


def _extreme(function: Function) -> Function:
    def reduce(x: Array, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Array:
        x = x if dtype is None else convert(x, dtype)
        return function(x, axis, None, keepdims, initial, where)  # type: ignore[no-any-return]

    return reduce


def _running_extreme(primitive: Primitive) -> Function:
    function = elementwise.maximum if primitive is primitives.cummax else elementwise.minimum

    def accumulate(x: Array, axis: int, dtype: Any) -> Array:
        x = x if dtype is None else convert(x, dtype)
        if _core.dtype_kind(x.dtype) == "complex":  # ordered by a composition
            return _accumulated(function, x, axis)
        return convert(primitive(x, axis=axis, reverse=False), x.dtype)

    return accumulate


def _quantifier(function: Function, combine: Function) -> Function:
    def reduce(x: Array, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Array:
        result = function(x, axis, None, keepdims, where=where)
        result = result if initial is None else combine(result, initial)
        return result if dtype is None else convert(result, dtype)

    return reduce


def _difference(x: Array, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Array:
    """The first element less the others."""
    if len(axis) != 1 or (where is not None and initial is None):
        raise ValueError(
            "subtract.reduce takes one axis, and where beside initial: there is no identity\n"
            "  name one axis, and give what it begins with: initial=0"
        )
    x = x if dtype is None else convert(x, dtype)
    if initial is not None:
        return convert(initial - reductions.sum(x, axis, x.dtype, None, keepdims, where=where), x.dtype)
    last = move_last(x, axis[0])
    if capacity(last, -1) == 0:
        raise ValueError(
            "subtract.reduce of zero elements has no value, as there is no identity\n"
            "  give what it begins with: initial=0"
        )
    result = convert(last[..., 0] - reductions.sum(last[..., 1:], -1, last.dtype), x.dtype)
    return keep_axes(result, x, axis) if keepdims else result


def _log_sum(base: float) -> Function:
    """The logarithm of the sum of powers."""

    def reduce(x: Array, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Array:
        x = _core.promote([x], inexact=True)[0] if dtype is None else convert(x, dtype)
        scale = np.log(base)
        peak = reductions.max(x, axis, None, True, initial=-np.inf, where=where)
        peak = _where(comparisons.isfinite(peak), peak, 0.0)
        total = reductions.sum(exponentials.exp((x - peak) * scale), axis, None, None, True, None, where)
        result = exponentials.log(total) / scale + peak
        result = result if keepdims else drop_axes(result, axis)
        if initial is not None:
            result = (exponentials.logaddexp if base == np.e else exponentials.logaddexp2)(result, initial)
        return convert(result, x.dtype)

    return reduce


def _tree(function: Function, identity: Any, at: str | None = None) -> ufunc[Array]:
    return ufunc(function, 2, 1, identity=identity, associative=True, at=at)


def _odd(x: Array, axis: Any, out: None, keepdims: bool, *, where: Any) -> Array:
    """Whether an odd number of elements is nonzero."""
    del out
    count = reductions.sum(comparisons.truth(x), axis, "int32", None, keepdims, None, where)
    return comparisons.truth(bits.bitwise_and(count, 1))


def _logic(function: Function, quantifier: Function, identity: bool) -> ufunc[Array]:
    return ufunc(function, 2, 1, identity=identity, associative=True, reduce=_quantifier(quantifier, function))


add = ufunc[Array](elementwise.add, 2, 1, identity=0, reduce=_sum, accumulate=running.cumsum, at="add")
multiply = ufunc[Array](
    elementwise.multiply, 2, 1, identity=1, reduce=_product, accumulate=running.cumprod, at="multiply"
)
subtract = ufunc[Array](elementwise.subtract, 2, 1, reduce=_difference, at="subtract")
negative = ufunc[Array](elementwise.negative, 1, 1)
maximum = ufunc[Array](
    elementwise.maximum, 2, 1, reduce=_extreme(reductions.max), accumulate=_running_extreme(primitives.cummax), at="max"
)
minimum = ufunc[Array](
    elementwise.minimum, 2, 1, reduce=_extreme(reductions.min), accumulate=_running_extreme(primitives.cummin), at="min"
)
bitwise_and = _tree(bits.bitwise_and, -1)
bitwise_or = _tree(bits.bitwise_or, 0)
bitwise_xor = _tree(bits.bitwise_xor, 0)
logical_and = _logic(comparisons.logical_and, reductions.all, True)
logical_or = _logic(comparisons.logical_or, reductions.any, False)
logical_xor = _logic(comparisons.logical_xor, _odd, False)
logaddexp = ufunc[Array](exponentials.logaddexp, 2, 1, identity=-np.inf, reduce=_log_sum(np.e))
logaddexp2 = ufunc[Array](exponentials.logaddexp2, 2, 1, identity=-np.inf, reduce=_log_sum(2.0))


check_arguments(globals())
