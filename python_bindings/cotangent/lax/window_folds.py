"""Folds of windows: by primitives where one folds by the function, else one element of the windows after the other.

Start with `extremum` and `along_one`, of one axis; `folded_by_slices` and `folded_by_elements` take any function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cotangent import _core, tree_util
from cotangent._base import primitives
from cotangent._base.capture import function_name
from cotangent._core import Array, Primitive
from cotangent._ops.binding import literal
from cotangent._ops.extents import capacities, capacity, index_along, slice_axis, split_axis, stretched
from cotangent._ops.taking import take_along_axis
from cotangent._transforms.control_flow import scan
from cotangent._transforms.custom_rules import custom_jvp
from cotangent.lax.window_geometry import Fitted, Slide, dilated_size, window_count

_INT32 = np.dtype("int32")


class Fold(NamedTuple):
    """A function of two elements that primitives fold by."""

    combine: Primitive
    reduce: Primitive
    neutral: int | None  # what changes nothing; of extrema the initial value takes its place

    @property
    def is_extremum(self) -> bool:
        """Whether it is the maximum or the minimum."""
        return self.neutral is None


FOLDS = {
    "add": Fold(primitives.add, primitives.reduce_sum, 0),
    "mul": Fold(primitives.mul, primitives.reduce_prod, 1),
    "max": Fold(primitives.max, primitives.reduce_max, None),
    "min": Fold(primitives.min, primitives.reduce_min, None),
}


def fold_of(computation: Callable[..., Any], dtype: Any) -> Fold | None:
    """The fold by a function of two scalars; None when no primitive folds by it."""
    scalar = ((), dtype, False)

    def run(inputs: list[Array]) -> tuple[list[Any], None]:
        return [_core.array(computation(*inputs))], None

    graph, closure, _ = _core.capture(
        run, [scalar, scalar], [], _core.capture_mode() or "jit", function_name(computation)
    )
    equations = graph.equations()
    if closure or len(equations) != 1 or graph.outputs != list(equations[0]["outputs"]):
        return None
    if sorted(equations[0]["operands"]) != [0, 1]:
        return None
    return FOLDS.get(equations[0]["primitive"])


def extremum(fold: Fold, x: Array, axis: int, window: int, stride: int, spacing: int) -> Array:
    """The extremum of windows along one axis; the derivative is that of the first element that attains it.

    Windows are short, so that they are written out: slices fuse with what reads them, and no window is ever stored.
    """
    places = window_count(capacity(x, axis), dilated_size(window, spacing), stride)

    def seen(x: Array, k: int) -> Array:
        start = k * spacing if places else 0
        return slice_axis(x, axis, start, start + (places - 1) * stride + 1 if places else start, stride)

    def value(x: Array) -> Array:
        result = seen(x, 0)
        for k in range(1, window):
            result = fold.combine(result, seen(x, k))
        return result

    chosen = custom_jvp(value)

    def tangent_rule(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        (x,), (t,) = primals, tangents
        result = chosen(x)
        first = literal(result, window, _INT32)
        for k in reversed(range(window)):
            attains = primitives.eq(seen(x, k), result)
            first = primitives.select(attains, literal(result, k, _INT32), first)
        total = None
        for k in range(window):
            is_first = primitives.eq(first, literal(result, k, _INT32))
            kept = primitives.select(is_first, seen(t, k), literal(result, 0, t.dtype))
            total = kept if total is None else primitives.add(total, kept)
        return result, total if total is not None else literal(result, 0, t.dtype)

    chosen.defjvp(tangent_rule)
    return _core.array(chosen(x))


def _doubled(
    combine: Callable[[Any, Any], Any],
    x: list[Array],
    axis: int,
    window: int,
    stride: int,
    spacing: int,
    places: int,
) -> list[Array]:
    """Windows along an axis, made of pieces of 1, 2, 4, … elements: as many steps as the window's size has bits.

    ``combine`` is of two lists of arrays, the earlier elements first.
    """
    result: list[Array] | None = None
    piece, width, begin = x, 1, 0
    while True:
        if window & width:
            start = begin * spacing
            seen = [slice_axis(y, axis, start, start + (places - 1) * stride + 1, stride) for y in piece]
            result = seen if result is None else combine(result, seen)
            begin += width
        if begin == window:
            return result  # type: ignore[return-value]
        size, shift = capacity(piece[0], axis), width * spacing
        piece = combine(
            [slice_axis(y, axis, 0, size - shift) for y in piece], [slice_axis(y, axis, shift, size) for y in piece]
        )
        width *= 2


def along_one(fold: Fold, x: Array, axis: int, window: int, stride: int, spacing: int, places: int) -> Array:
    """A fold of windows along one axis, which are at so many places; no window is stored."""
    if places == 0 or window == 1:
        return slice_axis(x, axis, 0, (places - 1) * stride + 1 if places else 0, stride)

    def value(x: Array) -> Array:
        if spacing > 1 or (stride < window and places > 1):

            def combine(x: list[Array], y: list[Array]) -> list[Array]:
                return [fold.combine(x[0], y[0])]

            return _doubled(combine, [x], axis, window, stride, spacing, places)[0]
        # Windows beside each other.
        if places == 1:
            lines, reduced = slice_axis(x, axis, 0, window), axis
        else:
            covered = slice_axis(x, axis, 0, min(capacity(x, axis), places * stride))
            high, none = [0] * x.ndim, [0] * x.ndim
            high[axis] = places * stride - capacity(covered, axis)
            if high[axis]:
                zero = _core.full((), 0, x.dtype)
                covered = primitives.pad(covered, zero, low=none, high=high, interior=none)
            lines, reduced = split_axis(covered, axis, [places, stride]), axis + 1
            lines = slice_axis(lines, reduced, 0, window)
        result = fold.reduce(lines, axes=[reduced])
        shape = list(capacities(x))
        shape[axis] = places
        return primitives.reshape(result, shape=shape)

    if not fold.is_extremum or _core.dtype_kind(x.dtype) != "float":
        return value(x)
    chosen = custom_jvp(value)

    # The derivative of the first element that attains the extremum.
    def tangent_rule(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        (x,), (t,) = primals, tangents

        def later(x: list[Array], y: list[Array]) -> list[Array]:
            better = (primitives.gt if fold is FOLDS["max"] else primitives.lt)(y[0], x[0])
            first_nan = ~primitives.ne(x[0], x[0]) & primitives.ne(y[0], y[0])
            other = better | first_nan
            return [primitives.select(other, b, a) for a, b in zip(x, y, strict=True)]

        position = index_along(x, axis)
        _, index = _doubled(later, [x, position], axis, window, stride, spacing, places)
        return chosen(x), take_along_axis(t, index, axis, mode="clip")

    chosen.defjvp(tangent_rule)
    return _core.array(chosen(x))


def folded_by_slices(
    computation: Callable[[Any, Any], Any],
    structure: Any,
    fitted: list[Fitted],
    inits: list[Array],
    geometry: list[tuple[int, int, int, int]],
) -> list[Array]:
    """A fold by any function of large windows: one place of the window after the other, each cut out when it is needed."""
    x = fitted[0].array
    shape, spans, steps = list(capacities(x)), list(capacities(x)), [1] * x.ndim
    for (axis, _, stride, _), count in zip(geometry, fitted[0].counts, strict=True):
        shape[axis], spans[axis], steps[axis] = count, max((count - 1) * stride + 1, 0), stride
    places = np.stack([grid.ravel() for grid in np.indices([window for _, window, _, _ in geometry])], 1)
    offsets = np.zeros((len(places), x.ndim), _INT32)
    for k, (axis, _, _, spacing) in enumerate(geometry):
        offsets[:, axis] = places[:, k] * spacing

    def step(carry: Any, offset: Array) -> tuple[Any, None]:
        starts = [primitives.reshape(slice_axis(offset, 0, i, i + 1), shape=[]) for i in range(x.ndim)]
        seen = []
        for fit_x in fitted:
            part = primitives.dynamic_slice(fit_x.array, *starts, sizes=spans, batch_dims=0)
            none = [0] * x.ndim
            seen.append(primitives.slice(part, start=none, limit=spans, stride=steps))
        return computation(carry, structure.unflatten(seen)), None

    begin = structure.unflatten([_core.broadcast_to(init, shape) for init in inits])
    last = scan(step, begin, _core.array(offsets))[0]
    return [_core.array(leaf) for leaf in tree_util.tree_leaves(last)]


def select_leaves(condition: Array, x: Any, y: Any) -> Any:
    """``x`` where the condition holds, leaf by leaf."""
    pairs = zip(tree_util.tree_leaves(x), tree_util.tree_leaves(y), strict=True)
    leaves = [primitives.select(condition, _core.array(a), _core.array(b)) for a, b in pairs]
    return tree_util.tree_structure(y).unflatten(leaves)


def folded_by_elements(
    computation: Callable[[Any, Any], Any],
    fold: Fold | None,
    structure: Any,
    arrays: list[Array],
    inits: list[Array],
    moving: list[int],
    slides: list[Slide],
) -> list[Array]:
    """Of windows that are far larger than the array: each element is combined where a window sees it."""
    if fold is not None:
        result = arrays[0]
        for axis, slide in reversed(list(zip(moving, slides, strict=True))):
            result = _along_elements(fold, result, inits[0], axis, slide.sees())
        return [fold.combine(stretched(inits[0], result), result)]
    sees = [slide.sees() for slide in slides]
    shape = list(capacities(arrays[0]))
    for axis, slide in zip(moving, slides, strict=True):
        shape[axis] = slide.places
    grid = np.indices([slide.size for slide in slides]).reshape(len(slides), -1).T

    def step(carry: Any, place: Array) -> tuple[Any, None]:
        seen = list(arrays)
        condition = _core.broadcast_to(_core.full((), True, "bool"), shape)
        for k, axis in enumerate(moving):
            position = primitives.reshape(slice_axis(place, 0, k, k + 1), shape=[])

            def taken(x: Array, axis: int, position: Array = position) -> Array:
                starts = [position if i == axis else _core.full((), 0, _INT32) for i in range(x.ndim)]
                sizes = [1 if i == axis else size for i, size in enumerate(capacities(x))]
                return primitives.dynamic_slice(x, *starts, sizes=sizes, batch_dims=0)

            seen = [taken(x, axis) for x in seen]
            line = primitives.reshape(taken(sees[k], 1), shape=[shape[axis]])
            condition = condition & primitives.broadcast(line, shape=shape, axes=[axis])
        spread = structure.unflatten([_core.broadcast_to(x, shape) for x in seen])
        return select_leaves(condition, computation(carry, spread), carry), None

    begin = structure.unflatten([_core.broadcast_to(init, shape) for init in inits])
    last = scan(step, begin, _core.array(grid.astype(_INT32)))[0]
    return [_core.array(leaf) for leaf in tree_util.tree_leaves(last)]


def _along_elements(fold: Fold, x: Array, init: Array, axis: int, sees: Array) -> Array:
    """A fold of the elements along an axis that each window sees, [places, size], and of the initial value."""
    count, size = capacities(sees)
    if fold.neutral is not None:
        outside = _core.full((), fold.neutral, x.dtype)
    else:
        # One element more, which all see.
        high, none = [0] * x.ndim, [0] * x.ndim
        high[axis] = 1
        x = primitives.pad(x, init, low=none, high=high, interior=none)
        all_see = _core.full((), True, "bool")
        sees = primitives.pad(sees, all_see, low=[0, 0], high=[0, 1], interior=[0, 0])
        size, outside = size + 1, init
    spread = [*capacities(x)[:axis], count, *capacities(x)[axis:]]
    kept = [i for i in range(x.ndim + 1) if i != axis]
    condition = primitives.broadcast(sees, shape=spread, axes=[axis, axis + 1])

    def value(x: Array, outside: Array) -> Array:
        seen = primitives.broadcast(x, shape=spread, axes=kept)
        seen = primitives.select(condition, seen, _core.broadcast_to(outside, spread))
        return fold.reduce(seen, axes=[axis + 1])

    if not fold.is_extremum or _core.dtype_kind(x.dtype) != "float":
        return value(x, outside)
    chosen = custom_jvp(value)

    # The derivative of the first element that attains the extremum.
    def tangent_rule(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
        (x, outside), (t, _) = primals, tangents
        result = chosen(x, outside)
        seen = primitives.broadcast(x, shape=spread, axes=kept)
        attained = primitives.broadcast(result, shape=spread, axes=[i for i in range(x.ndim + 1) if i != axis + 1])
        nan = primitives.ne(seen, seen) & primitives.ne(attained, attained)
        attains = condition & (primitives.eq(seen, attained) | nan)
        position = primitives.iota(shape=spread, dtype=_INT32, axis=axis + 1)
        position = primitives.select(attains, position, _core.full(spread, size - 1, _INT32))
        index = primitives.reduce_min(position, axes=[axis + 1])
        return result, take_along_axis(t, index, axis, mode="clip")

    chosen.defjvp(tangent_rule)
    return _core.array(chosen(x, outside))


def folded(
    computation: Callable[[Any, Any], Any], structure: Any, seen: list[Array], inits: list[Array], number: int
) -> list[Array]:
    """A fold by any function, one place of the window after the other."""
    shape = list(capacities(seen[0]))
    lines = [primitives.reshape(x, shape=[math.prod(shape[:number]), *shape[number:]]) for x in seen]
    starts = [_core.broadcast_to(init, shape[number:]) for init in inits]

    def step(carry: Any, line: Any) -> tuple[Any, None]:
        return computation(carry, line), None

    last = scan(step, structure.unflatten(starts), structure.unflatten(lines))[0]
    return [_core.array(leaf) for leaf in tree_util.tree_leaves(last)]
