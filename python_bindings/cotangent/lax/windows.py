"""Reductions of sliding windows: pooling.

``window_slice`` of an array that is broadcast over the places of a window gives what the window sees; reductions fold it, and
the compiler fuses both, so that no window is ever stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._core import Array
from cotangent.custom import custom_jvp
from cotangent.errors import ShapeError

__all__ = ["padtype_to_pads", "reduce_window"]

_INT32 = np.dtype("int32")
# The functions of two elements that a primitive folds.
_FOLDS = {"add": "reduce_sum", "mul": "reduce_prod", "max": "reduce_max", "min": "reduce_min"}


def dilated_size(size: int, dilation: int) -> int:
    """From the first to the last element with ``dilation - 1`` holes between neighbours."""
    return 0 if size == 0 else (size - 1) * dilation + 1


def window_count(size: int, window: int, stride: int) -> int:
    """At how many places a window of that extent fits."""
    return max((size - window) // stride + 1, 0)


def padtype_to_pads(
    in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int], padding: Any
) -> list[tuple[int, int]]:
    """The (low, high) padding an axis that "SAME", "SAME_LOWER" or "VALID" means.

    >>> import cotangent as ct
    >>> ct.lax.padtype_to_pads([10], [3], [2], "SAME")
    [(0, 1)]
    """
    name = str(getattr(padding, "name", padding)).upper()
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    if name not in ("SAME", "SAME_LOWER"):
        raise ValueError(f'padding must be "SAME", "SAME_LOWER", "VALID" or pairs (low, high); got {padding!r}')
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        low = total // 2 if name == "SAME" else total - total // 2
        pads.append((low, total - low))
    return pads


def resolve_pads(
    name: str, sizes: Sequence[int], windows: Sequence[int], strides: Sequence[int], padding: Any
) -> list[tuple[int, int]]:
    """Padding as pairs, whatever form it is given in."""
    if isinstance(padding, str) or hasattr(padding, "name"):
        return padtype_to_pads(sizes, windows, strides, padding)
    pairs = [(int(low), int(high)) for low, high in padding]
    if len(pairs) != len(sizes):
        raise ValueError(f"lax.{name}: padding needs one pair for each of {len(sizes)} axes; got {len(pairs)}")
    return pairs


def per_axis(name: str, what: str, values: Any, rank: int) -> list[int]:
    """One positive int an axis; ones by default."""
    result = [1] * rank if values is None else [int(value) for value in values]
    if len(result) != rank:
        raise ValueError(f"lax.{name}: {what} needs one number for each of {rank} axes; got {tuple(result)}")
    if any(value < 1 for value in result):
        raise ValueError(f"lax.{name}: {what} must be positive; got {tuple(result)}")
    return result


def refuse_ragged(name: str, x: Array, axes: Sequence[int]) -> None:
    """Raises where a window would slide along a ragged axis: how often it fits is not known."""
    ragged = [axis for axis in _core.ragged_axes(x) if axis in axes]
    if ragged:
        raise NotImplementedError(
            f"lax.{name}: windows along ragged axis {ragged[0]} are not supported\n"
            "  leave the mask for it: fill the padding with ct.numpy.where and work on the bound"
        )


def sliding(
    x: Array,
    axes: Sequence[int],
    windows: Sequence[int],
    counts: Sequence[int],
    strides: Sequence[int],
    window_dilation: Sequence[int],
    dilation: Sequence[int],
    low: Sequence[int],
) -> Array:
    """What windows see: an array with an axis for each window in front. Zero outside of ``x``."""
    number = len(axes)
    shape = [*windows, *x._bound_shape]
    spread = _core.bind("broadcast", [x], shape=shape, axes=[number + axis for axis in range(x.ndim)])[0]
    return _core.bind(
        "window_slice",
        [spread],
        axes=[number + axis for axis in axes],
        window_axes=list(range(number)),
        sizes=list(counts),
        step=list(strides),
        window_step=list(window_dilation),
        dilation=list(dilation),
        offset=[-value for value in low],
    )[0]


def _extremum(fold: str, seen: Array, number: int) -> Array:
    """The extremum over the first ``number`` axes; the derivative is that of the first element that attains it."""
    axes = list(range(number))
    rest = list(range(number, seen.ndim))

    def value(x: Array) -> Array:
        return _core.bind(fold, [x], axes=axes)[0]

    chosen = custom_jvp(value)

    def tangent_rule(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        (x,), (t,) = primals, tangents
        shape = list(x._bound_shape)
        result = chosen(x)
        count = math.prod(shape[:number])
        places = _core.bind("iota", [], shape=[count], dtype=_INT32, axis=0)[0]
        places = _core.bind("reshape", [places], shape=shape[:number])[0]
        places = _core.bind("broadcast", [places], shape=shape, axes=axes)[0]
        attains = _core.bind("eq", [x, _core.bind("broadcast", [result], shape=shape, axes=rest)[0]])[0]
        candidates = _core.bind("select", [attains, places, _core.full(shape, count, _INT32)])[0]
        first = _core.bind("reduce_min", [candidates], axes=axes)[0]
        is_first = _core.bind("eq", [places, _core.bind("broadcast", [first], shape=shape, axes=rest)[0]])[0]
        kept = _core.bind("select", [is_first, t, _core.full(shape, 0, t.dtype)])[0]
        return result, _core.bind("reduce_sum", [kept], axes=axes)[0]

    chosen.defjvp(tangent_rule)
    return _core.array(chosen(seen))


def fold_of(computation: Callable[..., Any], dtype: Any) -> str | None:
    """The reduction that folds by a function of two scalars; None when it is another function."""
    scalar = ((), dtype, False)

    def run(inputs: list[Array]) -> tuple[list[Any], None]:
        return [_core.array(computation(*inputs))], None

    graph, closure, _ = _core.capture(run, [scalar, scalar], [], _core.capture_mode() or "jit", "computation")
    equations = graph.equations()
    if closure or len(equations) != 1 or graph.outputs != list(equations[0]["outputs"]):
        return None
    if sorted(equations[0]["operands"]) != [0, 1]:
        return None
    return str(equations[0]["primitive"])


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None,
    padding: Any,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Array:
    """The elements in each window, combined.

    Args:
        operand: an array.
        init_value: a scalar: what the combination begins with, and what stands outside of the array.
        computation: ``lax.add``, ``mul``, ``max`` or ``min``, or another associative function of two elements.
        window_dimensions: the window's size an axis.
        window_strides: how far the window moves, an axis; 1 by default.
        padding: "SAME", "VALID" or a pair (low, high) an axis.
        base_dilation: the distance of the array's elements; 1 by default.
        window_dilation: the distance of the window's elements; 1 by default.

    The gradient of a maximum goes to the first of equal elements.

    >>> import cotangent as ct
    >>> x = ct.numpy.array([1.0, 3.0, 2.0, 5.0])
    >>> ct.lax.reduce_window(x, -ct.numpy.inf, ct.lax.max, (2,), (2,), "VALID").tolist()
    [3.0, 5.0]
    """
    x = _core.array(operand)
    windows = per_axis("reduce_window", "window_dimensions", window_dimensions, x.ndim)
    strides = per_axis("reduce_window", "window_strides", window_strides, x.ndim)
    base = per_axis("reduce_window", "base_dilation", base_dilation, x.ndim)
    spacing = per_axis("reduce_window", "window_dilation", window_dilation, x.ndim)
    extents = [dilated_size(size, gap) for size, gap in zip(windows, spacing, strict=True)]
    sizes = [dilated_size(size, gap) for size, gap in zip(x._bound_shape, base, strict=True)]
    pads = resolve_pads("reduce_window", sizes, extents, strides, padding)
    init = _core.array(init_value)
    if init.ndim:
        raise ShapeError(f"lax.reduce_window: init_value must be a scalar; got shape {init.shape}")
    init = _core.convert(init, x.dtype)
    axes = [
        axis for axis in range(x.ndim) if (windows[axis], strides[axis], base[axis], pads[axis]) != (1, 1, 1, (0, 0))
    ]
    refuse_ragged("reduce_window", x, axes)
    if any(low or high for low, high in pads) or any(gap > 1 for gap in base):
        low, high = [low for low, _ in pads], [high for _, high in pads]
        x = _core.bind("pad", [x, init], low=low, high=high, interior=[gap - 1 for gap in base])[0]
    counts = [window_count(x._bound_shape[axis], extents[axis], strides[axis]) for axis in axes]
    ones = [1] * len(axes)
    seen = sliding(
        x,
        axes,
        [windows[axis] for axis in axes],
        counts,
        [strides[axis] for axis in axes],
        [spacing[axis] for axis in axes],
        ones,
        [0] * len(axes),
    )
    name = fold_of(computation, x.dtype)
    number = len(axes)
    if name in ("max", "min"):
        fold = _FOLDS[name]
        extremal = _core.dtype_kind(x.dtype) == "float"
        result = _extremum(fold, seen, number) if extremal else _core.bind(fold, [seen], axes=list(range(number)))[0]
    elif name in _FOLDS:
        result = _core.bind(_FOLDS[name], [seen], axes=list(range(number)))[0]
    else:
        return _folded(computation, seen, init, number)
    return _core.bind(str(name), [_core.broadcast_to(init, result._bound_shape), result])[0]


def _folded(computation: Callable[[Any, Any], Any], seen: Array, init: Array, number: int) -> Array:
    """A fold by any function, one place of the window after the other."""
    from cotangent.lax.control_flow import scan

    shape = list(seen._bound_shape)
    lines = _core.bind("reshape", [seen], shape=[math.prod(shape[:number]), *shape[number:]])[0]
    start = _core.broadcast_to(init, shape[number:])
    return _core.array(scan(lambda carry, x: (computation(carry, x), None), start, lines)[0])
