"""The same elements in row-major order under another shape, whose sizes may be values.

A ragged array has its elements at the positions that its bounds give them. Where the new shape keeps them there, it is a reshape of the
memory; else each element of the result is looked up at the place that its number in row-major order has in the operand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.capture import give_lengths
from cotangent._base.dimensions import Dim, bound_of, largest, narrowed
from cotangent._core import Array
from cotangent._ops.binding import literal
from cotangent._ops.sizes import (
    as_dtype,
    flat_positions,
    length_of_size,
    normalize_axis,
    symbolic_sizes,
)
from cotangent._transforms.lengths import require_equal
from cotangent.errors import ShapeError

Extent = Any  # int | Dim


def reshaped(x: Array, sizes: Sequence[Extent]) -> Array:
    """``x`` under a shape of as many elements, of sizes that are ints or symbolic."""
    bounds = [bound_of(size) for size in sizes]
    lengths = {axis: length_of_size(size) for axis, size in enumerate(sizes) if isinstance(size, Dim)}
    if not _core.ragged_axes(x):
        return give_lengths(primitives.reshape(x, shape=bounds), lengths)
    source = symbolic_sizes(x)
    if math.prod(bounds) == math.prod(x._bound_shape):
        found = _in_place(x, sizes, bounds)
        if found is not None:
            _check_count(source, sizes)
            return found
    # Axes at both ends that stay as they are need no looking up; for a reshape one axis of size 1 is like another, though.
    short = any(x._bound_shape[axis] == 1 for axis in _core.ragged_axes(x))
    first = 0 if short else _agreeing(source, sizes)
    last = 0 if short else _agreeing(source[first:][::-1], list(sizes)[first:][::-1])
    start, stop, target = first, len(source) - last, list(sizes)[first : len(sizes) - last]
    _check_count(source[start:stop], target)
    return give_lengths(_looked_up(x, start, stop, [bound_of(size) for size in target], lengths), lengths)


def flat(x: Array) -> Array:
    """All elements along one axis."""
    return x if x.ndim == 1 else reshaped(x, [math.prod(symbolic_sizes(x))])


def flattened(x: Array, axis: int | None, name: str) -> tuple[Array, int]:
    """The array and an axis counted from the front; for None, the flattened array and its axis."""
    if axis is None:
        return flat(x), 0
    return x, normalize_axis(axis, x.ndim, name)


def missing_size(x: Array, sizes: Sequence[Extent]) -> Extent:
    """The size that -1 stands for, beside the other sizes of a shape.

    Raises:
        ShapeError: there is none, for any length.
    """
    source, others = list(symbolic_sizes(x)), [size for size in sizes if not (isinstance(size, int) and size == -1)]
    for size in [size for size in others if isinstance(size, Dim)]:
        same = next((i for i, item in enumerate(source) if isinstance(item, Dim) and _cancel(item, size)), None)
        if same is not None:
            source.pop(same)
            others.remove(size)
    rest, total = math.prod(others), math.prod(source)
    if isinstance(rest, int) and (rest == 0 or (isinstance(total, int) and total % rest)):
        raise ShapeError(
            f"reshape: {x.size} elements of shape {x.shape} do not fill {tuple(sizes)}\n"
            "  the sizes that are given must divide the number of elements"
        )
    return total // rest


def _same(x: Extent, y: Extent) -> bool:
    if isinstance(x, Dim) and isinstance(y, Dim):
        return x.value is y.value or _core.same_length(x.value, y.value)
    return isinstance(x, int) and isinstance(y, int) and x == y


def _cancel(x: Extent, y: Extent) -> bool:
    """Whether the other sizes must multiply to the same, too: of an axis that never has elements any number will do."""
    return _same(x, y) and bound_of(x) > 0


def _agreeing(x: Sequence[Extent], y: Sequence[Extent]) -> int:
    """How many sizes at the front agree, in their bounds, too."""
    count = 0
    for left, right in zip(x, y, strict=False):
        if not _cancel(left, right) or bound_of(left) != bound_of(right):
            break
        count += 1
    return count


def _in_place(x: Array, sizes: Sequence[Extent], bounds: list[int]) -> Array | None:
    """The memory reshaped, if its ragged axes become those that are asked for."""
    if any(x._bound_shape[axis] == 1 for axis in _core.ragged_axes(x)):
        return None  # one axis of size 1 is like another there, and an equation that fails would stay in the program
    try:
        result = primitives.reshape(x, shape=bounds)
        found = symbolic_sizes(result)
    except NotImplementedError:
        return None  # axes would be split, or merged with what is before them
    return result if all(_same(a, b) for a, b in zip(found, sizes, strict=True)) else None


def _check_count(source: Sequence[Extent], target: Sequence[Extent]) -> None:
    """Numbers of elements must be equal: at once where they are known, else when lengths are."""
    before: Any = math.prod(source)
    after: Any = math.prod(target)
    if _same(before, after):
        return
    if isinstance(before, int) and isinstance(after, int):
        raise ShapeError(
            f"reshape: {before} elements do not fill {tuple(target)}\n"
            "  the sizes of the new shape must multiply to the same number; write -1 for one of them"
        )
    gap = narrowed(before - after)
    if isinstance(gap, Dim) and (gap.least > 0 or gap.bound < 0):
        raise ShapeError(
            f"reshape: {before} elements do not fill {tuple(target)}, whatever the lengths\n"
            "  write -1 for the size that depends on a length"
        )
    require_equal(
        _scalar(before),
        _scalar(after),
        "reshape: the elements of an array and of its new shape",
        "\n  cut the array to a size that fits: x[: n // 2 * 2].reshape(-1, 2)",
    )


def _looked_up(x: Array, start: int, stop: int, bounds: list[int], lengths: dict[int, Array]) -> Array:
    """The axes from ``start`` up to ``stop`` made those of ``bounds``; ``lengths`` are those of the result."""
    shape = x._bound_shape
    inside = shape[start:stop]
    sizes = symbolic_sizes(x)[start:stop]
    ragged = [axis for axis in _core.ragged_axes(x) if start <= axis < stop]
    if ragged:
        x = primitives.fill_padding(x, axes=ragged, value=0.0)
    count = math.prod(inside)
    flat = primitives.reshape(x, shape=[*shape[:start], count, *shape[stop:]])
    if count == 0 or 0 in bounds:
        wide = primitives.slice(
            flat,
            start=[0] * flat.ndim,
            limit=[0 if axis == start else size for axis, size in enumerate(flat._bound_shape)],
            stride=[1] * flat.ndim,
        )
        none = [0] * flat.ndim
        high = [math.prod(bounds) if axis == start else 0 for axis in range(flat.ndim)]
        empty = primitives.pad(wide, _core.full((), 0, x.dtype), low=none, high=high, interior=none)
        return primitives.reshape(empty, shape=[*shape[:start], *bounds, *shape[stop:]])
    dtype = np.dtype("int32" if max(count, math.prod(bounds)) < 2**31 else "int64")
    own = {axis - start: length for axis, length in lengths.items() if start <= axis < start + len(bounds)}
    number = flat_positions(bounds, own, dtype)
    place: Any = literal(number, 0)
    stride = 1
    for axis in reversed(range(len(inside))):
        index = number
        if axis > 0:
            divisor = _core.broadcast_to(as_dtype(_value(largest(sizes[axis], 1)), dtype), bounds)
            index, number = primitives.rem(number, divisor), primitives.div(number, divisor)
        scaled = index if stride == 1 else primitives.mul(index, literal(index, stride))
        place = primitives.add(place, scaled)
        stride *= inside[axis]
    # Behind the last element there are numbers that no element has.
    place = primitives.min(place, literal(place, count - 1))
    return primitives.gather(flat, place, axis=start, batch_dims=0)


def _scalar(size: Extent) -> Array:
    return _core.array(size.value if isinstance(size, Dim) else size)


def _value(size: Extent) -> Any:
    return size.value if isinstance(size, Dim) else size
