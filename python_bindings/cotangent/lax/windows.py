"""Reductions of sliding windows: pooling. Start with `reduce_window`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from cotangent import _core, tree_util
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._core import Array
from cotangent._ops.extents import alike, capacities, stretched
from cotangent.errors import ShapeError
from cotangent.lax.window_folds import (
    Fold,
    along_one,
    extremum,
    fold_of,
    folded,
    folded_by_elements,
    folded_by_slices,
    select_leaves,
)
from cotangent.lax.window_geometry import (
    Fitted,
    Slide,
    counts_of,
    dilated_size,
    fit,
    padtype_to_pads,
    per_axis,
    resolve_pads,
    sliding,
)

__all__ = ["padtype_to_pads", "reduce_window", "reduce_window_shape_tuple"]

# More elements of a window are not taken one by one.
_MOST_STEPS = 2**28
# Up to how many elements windows are looked at all at once, which without a compiler is that often the memory of the array.
_MOST_SEEN = 64


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """The elements in each window, combined.

    Args:
        operand: an array, or a pytree of arrays of one shape, which are combined together.
        init_value: a scalar for each: what the combination begins with. Nothing outside of the array is combined.
        computation: ``lax.add``, ``mul``, ``max`` or ``min``, or another associative function of two elements (two
            pytrees of elements).
        window_dimensions: the window's size an axis.
        window_strides: how far the window moves, an axis; 1 by default.
        padding: "SAME", "SAME_LOWER", "VALID" or a pair (low, high) an axis.
        base_dilation: the distance of the array's elements; 1 by default.
        window_dilation: the distance of the window's elements; 1 by default.

    The gradient of a maximum goes to the first of equal elements. Along a ragged axis windows end at the real length.

    >>> import cotangent as ct
    >>> x = ct.numpy.array([1.0, 3.0, 2.0, 5.0])
    >>> ct.lax.reduce_window(x, -ct.numpy.inf, ct.lax.max, (2,), (2,), "VALID").tolist()
    [3.0, 5.0]
    """
    leaves, structure = tree_util.tree_flatten(operand)
    given, init_structure = tree_util.tree_flatten(init_value)
    if structure != init_structure or not leaves:
        raise TypeError(
            f"lax.reduce_window: init_value must have the structure of operand, {structure}; got {init_structure}"
        )
    arrays = [_core.array(leaf) for leaf in leaves]
    rank = arrays[0].ndim
    if not alike(*arrays):
        raise ShapeError(f"lax.reduce_window: operands must have one shape; got {[x.shape for x in arrays]}")
    windows = per_axis("reduce_window", "window_dimensions", window_dimensions, rank)
    strides = per_axis("reduce_window", "window_strides", window_strides, rank)
    base = per_axis("reduce_window", "base_dilation", base_dilation, rank)
    spacing = per_axis("reduce_window", "window_dilation", window_dilation, rank)
    if not isinstance(padding, str) and not hasattr(padding, "name"):
        padding = resolve_pads("reduce_window", [0] * rank, windows, strides, padding)
    moving = [
        axis
        for axis in range(rank)
        if (windows[axis], strides[axis], base[axis]) != (1, 1, 1)
        or (isinstance(padding, list) and padding[axis] != (0, 0))
    ]

    def of_axes(values: Sequence[Any]) -> list[Any]:
        return [values[axis] for axis in moving]

    extents = [dilated_size(windows[axis], spacing[axis]) for axis in moving]
    pads = of_axes(padding) if isinstance(padding, list) else padding
    inits = []
    for x, start in zip(arrays, given, strict=True):
        init = _core.array(start)
        if init.ndim:
            raise ShapeError(f"lax.reduce_window: init_value must be a scalar; got shape {init.shape}")
        inits.append(_core.convert(init, x.dtype))
    fold = fold_of(computation, arrays[0].dtype) if len(arrays) == 1 and operand is leaves[0] else None
    ragged = [axis for x in arrays for axis in range(rank) if _core.length_of(x, axis) is not None]
    if not any(axis in moving for axis in ragged):
        whole = capacities(arrays[0])
        sizes = [dilated_size(whole[axis], base[axis]) for axis in moving]
        pairs = resolve_pads("reduce_window", sizes, extents, of_axes(strides), pads)
        geometry = [
            Slide(whole[axis], base[axis], windows[axis], strides[axis], spacing[axis], pair[0], count)
            for axis, pair, count in zip(moving, pairs, counts_of(sizes, pairs, extents, of_axes(strides)), strict=True)
        ]
        cut = [slide.cut() for slide in geometry]
        if not ragged and any(slide.places == 0 or slide.window <= 0 for slide in cut):
            shape = list(whole)
            for axis, slide in zip(moving, cut, strict=True):
                shape[axis] = slide.places
            return structure.unflatten([_core.broadcast_to(init, shape) for init in inits])
        if not ragged and any(slide.is_sparse() for slide in cut):
            results = folded_by_elements(computation, fold, structure, arrays, inits, moving, cut)
            return structure.unflatten(results)
        if all(slide.window > 0 for slide in cut):
            for axis, slide in zip(moving, cut, strict=True):
                windows[axis] = slide.window
            pads = [(slide.low, slide.high()) for slide in cut]
            extents = [dilated_size(windows[axis], spacing[axis]) for axis in moving]

    def padded(x: Array, outside: Array) -> Fitted:
        fit_x = fit("reduce_window", x, moving, extents, of_axes(strides), of_axes(base), pads, outside)
        low, high, interior = [0] * rank, [0] * rank, [gap - 1 for gap in base]
        for axis, pair in zip(moving, fit_x.pads, strict=True):
            low[axis], high[axis] = pair
        y = fit_x.array
        if any(low) or any(high) or any(interior):
            y = primitives.pad(y, outside, low=low, high=high, interior=interior)
        return fit_x._replace(array=y)

    # Nothing but elements of the array is combined: what stands outside must change nothing.
    fitted = [
        padded(x, init if fold is None or fold.neutral is None else _core.full((), fold.neutral, x.dtype))
        for x, init in zip(arrays, inits, strict=True)
    ]
    lengths = {moving[place]: length for place, length in fitted[0].lengths.items()}
    number = len(moving)

    def seen(fit_x: Fitted) -> Array:
        ones, none = [1] * number, [0] * number
        return sliding(
            fit_x.array, moving, of_axes(windows), fit_x.counts, of_axes(strides), of_axes(spacing), ones, none
        )

    geometry_of = {axis: (windows[axis], strides[axis], spacing[axis]) for axis in moving}
    if fold is not None:
        result = _folded_by(fold, fitted[0], geometry_of, seen)
        return give_lengths(fold.combine(stretched(inits[0], result), result), lengths)

    computation_within, both, starts = computation, structure, inits
    if lengths or any(gap > 1 for gap in base) or any(map(any, fitted[0].pads)):
        # Which elements are the array's own goes along.
        inside = stretched(_core.full((), True, "bool"), arrays[0])
        known = ((axis, _core.length_of(arrays[0], axis)) for axis in range(rank))
        inside = give_lengths(inside, {axis: length for axis, length in known if length is not None})
        fitted = [*fitted, padded(inside, _core.full((), False, "bool"))]
        both, starts = tree_util.tree_structure((structure.unflatten(inits), 0)), [*inits, _core.full((), True, "bool")]

        def computation_within(carry: Any, seen: Any) -> Any:
            return select_leaves(seen[1], computation(carry[0], seen[0]), carry[0]), carry[1]

    places = math.prod(of_axes(windows))
    if places <= _MOST_SEEN or not all(fitted[0].counts):
        results = folded(computation_within, both, [seen(fit_x) for fit_x in fitted], starts, number)
    elif places > _MOST_STEPS:
        raise MemoryError(
            f"lax.reduce_window: windows of {tuple(windows)} have {places} elements, and a computation of its own takes them "
            "one by one\n  use lax.add, lax.mul, lax.max or lax.min, or smaller windows"
        )
    else:
        steps = [(axis, *geometry) for axis, geometry in geometry_of.items()]
        results = folded_by_slices(computation_within, both, fitted, starts, steps)
    return structure.unflatten([give_lengths(result, lengths) for result in results[: len(arrays)]])


def _folded_by(
    fold: Fold, fitted: Fitted, geometry: dict[int, tuple[int, int, int]], seen: Callable[[Fitted], Array]
) -> Array:
    """The folds of windows by a primitive, without their initial value; ``geometry``: axis -> window, stride, spacing."""
    result = fitted.array
    windows = [window for window, _, _ in geometry.values()]
    if fold.is_extremum and _core.dtype_kind(result.dtype) == "float" and max(windows, default=1) <= 32:
        for axis, (window, stride, spacing) in reversed(geometry.items()):
            result = extremum(fold, result, axis, window, stride, spacing)
        return result
    if math.prod(windows) <= _MOST_SEEN or not all(fitted.counts):
        return fold.reduce(seen(fitted), axes=list(range(len(geometry))))
    for (axis, (window, stride, spacing)), places in reversed(list(zip(geometry.items(), fitted.counts, strict=True))):
        result = along_one(fold, result, axis, window, stride, spacing, places)
    return result


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape of the result of `reduce_window`, whose padding is given as pairs here.

    >>> import cotangent as ct
    >>> ct.lax.reduce_window_shape_tuple((5, 7), (2, 3), (1, 2), [(0, 0), (1, 1)])
    (4, 4)
    """
    rank = len(operand_shape)
    base = per_axis("reduce_window_shape_tuple", "base_dilation", base_dilation, rank)
    spacing = per_axis("reduce_window_shape_tuple", "window_dilation", window_dilation, rank)
    strides = per_axis("reduce_window_shape_tuple", "window_strides", window_strides, rank)
    extents = [dilated_size(size, gap) for size, gap in zip(window_dimensions, spacing, strict=True)]
    sizes = [dilated_size(size, gap) for size, gap in zip(operand_shape, base, strict=True)]
    pads = resolve_pads("reduce_window_shape_tuple", sizes, extents, strides, padding)
    return tuple(counts_of(sizes, pads, extents, strides))


check_arguments(globals())
