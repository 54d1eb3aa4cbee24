"""``x[index]`` and take: NumPy's indexing as slices and gathers.

An index is resolved in three stages, a `Plan`:

1. the *window*: a slice on every axis, with static bounds (an int that stands alone is a window of size 1);
2. the *lookup*, if there are index arrays or scalars that are values: their axes are brought together, made one, and
read by a gather;
3. the *result shape*: axes of ints removed, axes of None inserted.

Reading runs the stages forward; `index_updates` runs them backward. Inside ``ct.mask`` a window must not cut a ragged
axis in a way that its bounds do not say; ``x[-1]`` and ``x[:-1]`` count from the length.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import set_length
from cotangent._core import Array
from cotangent._ops.arithmetic import remainder
from cotangent._ops.binding import is_host_value, is_inexact, is_integer, kind, literal, no_out
from cotangent._ops.sizes import axis_size, bound_size, insert_axes, is_dimension, normalize_axis, ragged_length
from cotangent.errors import ConcretizationError, NonConcreteBooleanIndexError

__all__ = [
    "choose",
    "take",
    "take_along_axis",
]

_INT32 = np.dtype("int32")


@dataclass
class Plan:
    """How an index is resolved."""

    start: list[int]
    limit: list[int]
    stride: list[int]
    reversed_axes: list[int] = field(default_factory=list)
    lengths: dict[int, Array] = field(default_factory=dict)  # of windows whose length is a value
    looked_up: list[tuple[int, Any]] = field(default_factory=list)  # (axis, index array) of the lookup
    together: bool = True  # whether the looked up axes are adjacent in the index
    dropped: list[int] = field(default_factory=list)  # axes of the array that are ints
    inserted: list[int] = field(default_factory=list)  # number of array axes before each None
    has_window: bool = False


def is_mask(item: Any) -> bool:
    dtype = getattr(item, "dtype", None)
    return (dtype is not None and dtype == bool) or isinstance(item, bool)


def check_mask(mask: Any, axis: int, x: Array) -> None:
    """IndexError unless the mask has the sizes of the axes that it stands for; without elements it selects nothing."""
    shape = mask._bound_shape if isinstance(mask, Array) else mask.shape
    sizes = x._bound_shape[axis : axis + mask.ndim]
    if tuple(shape) != tuple(sizes) and 0 not in shape:
        raise IndexError(f"a bool index of shape {tuple(shape)} does not fit axes of sizes {tuple(sizes)}")


def _is_scalar_mask(item: Any) -> bool:
    return is_mask(item) and np.ndim(item) == 0


def with_mask_axes(index: Any, x: Array) -> tuple[tuple[Any, ...], Array]:
    """The same elements without scalar bools: each is an axis of size 1, of which it takes the one element or none."""
    items = list(index) if isinstance(index, tuple) else [index]
    taken = [0 if item is None or _is_scalar_mask(item) else np.ndim(item) if is_mask(item) else 1 for item in items]
    ellipsis = next((i for i, item in enumerate(items) if isinstance(item, EllipsisType)), len(items))
    axes = [sum(taken[:i]) if i < ellipsis else x.ndim - sum(taken[i:]) for i in range(len(items))]
    masks = [i for i, item in enumerate(items) if _is_scalar_mask(item)]
    for i in masks:
        items[i] = np.zeros(int(bool(items[i])), np.int32)
    return tuple(items), insert_axes(x, [axes[i] + count for count, i in enumerate(masks)])


_MOST_AXES = 64


def _expand(index: Any, x: Array) -> list[Any] | None:
    """The items of an index, one for each axis and None; masks as integer arrays, an ellipsis followed by the slices it means.

    None when there are scalar bools, for which the array needs axes first.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    expanded: list[Any] = []
    for item in items:
        if isinstance(item, (list, tuple)):
            item = (
                _core.array(item)
                if _contains_arrays(item)
                else np.asarray(item if len(item) else np.zeros(0, np.int32))
            )
        if is_mask(item):
            if np.ndim(item) == 0:
                return None
            try:
                mask = np.asarray(_core.to_numpy(item))
            except ConcretizationError as error:
                raise NonConcreteBooleanIndexError(*error.args) from None
            axis = sum(1 for other in expanded if other is not None and other is not Ellipsis)
            if Ellipsis not in [other for other in expanded if isinstance(other, EllipsisType)]:
                check_mask(mask, axis, x)
            expanded += [found.astype(np.int32) for found in np.nonzero(mask)]
            continue
        expanded.append(item)
    used = sum(1 for item in expanded if item is not None and not isinstance(item, EllipsisType))
    if used > x.ndim:
        raise IndexError(f"Too many indices: array is {x.ndim}-dimensional, but {used} were indexed")
    positions = [i for i, item in enumerate(expanded) if isinstance(item, EllipsisType)]
    if len(positions) > 1:
        raise IndexError("an index can have only one ellipsis (...)")
    fill = [slice(None)] * (x.ndim - used)
    if positions:
        return expanded[: positions[0] + 1] + fill + expanded[positions[0] + 1 :]
    return expanded + fill


def _contains_arrays(item: Any, depth: int = 0) -> bool:
    if isinstance(item, (list, tuple)):
        if depth == _MOST_AXES:
            raise IndexError(f"a list in an index has more than {_MOST_AXES} levels, or contains itself")
        return any(_contains_arrays(part, depth + 1) for part in item)
    return isinstance(item, Array)


def _static_index(item: Any) -> int | None:
    """An int known from the program text, or None."""
    if isinstance(item, (int, np.integer)):
        return int(item)
    if isinstance(item, np.ndarray) and item.ndim == 0 and item.dtype.kind in "iu":
        return int(item)
    return None


def resolve(index: Any, x: Array) -> Plan | None:
    items = _expand(index, x)
    if items is None:
        return None
    sizes = x._bound_shape
    ragged = _core.ragged_axes(x)
    plan = Plan([0] * x.ndim, list(sizes), [1] * x.ndim)
    basic = (NoneType, EllipsisType, slice)
    gathers = any(not isinstance(item, basic) and _static_index(item) is None for item in items)
    axis = 0
    places: list[int] = []  # positions in the index of everything that is looked up
    for place, item in enumerate(items):
        if isinstance(item, EllipsisType):
            continue  # it sets what is around it apart, even where it means no axis
        if item is None:
            plan.inserted.append(axis)
            continue
        if isinstance(item, slice):
            _window(plan, x, axis, item, ragged)
        elif (number := _static_index(item)) is not None:
            if not -sizes[axis] <= number < sizes[axis]:
                raise IndexError(f"index {number} out of bounds for axis {axis} with size {sizes[axis]}")
            if gathers or axis in ragged:
                plan.looked_up.append((axis, np.asarray(number, np.int32)))
                places.append(place)
            else:
                number += sizes[axis] if number < 0 else 0
                plan.start[axis], plan.limit[axis] = number, number + 1
                plan.dropped.append(axis)
                plan.has_window = True
        else:
            plan.looked_up.append((axis, _index_array(item, axis)))
            places.append(place)
        axis += 1
    plan.together = not places or places[-1] - places[0] + 1 == len(places)
    return plan


def _index_array(item: Any, axis: int) -> Any:
    if not hasattr(item, "dtype") and not _core.has_array_method(item):
        try:
            return np.asarray(operator.index(item), np.int32)
        except TypeError:
            raise TypeError(
                f"cannot index axis {axis} with {type(item).__name__}\n"
                "  an index is made of ints, slices, None, ... and integer or bool arrays"
            ) from None
    if isinstance(item, (np.ndarray, np.generic)):
        array: Any = np.asarray(item)
        numeric = array.dtype.kind in "iu"
    else:
        array = _core.array(item)
        numeric = is_integer(array)
    if not numeric:
        raise TypeError(
            f"arrays used as indices must be of integers or bools; axis {axis} is indexed with {array.dtype}"
        )
    return array


def _bound(value: Any, axis: int) -> int | None:
    """A bound of a slice as an int."""
    if value is None:
        return None
    try:
        return operator.index(value)
    except TypeError as error:
        if isinstance(value, Array) and _core.is_traced(value):
            raise type(error)(
                f"a slice bound of axis {axis} is a value that is not known when the program is captured\n"
                "  use an index array (start + arange(size)), or make the bound static"
            ) from None
        raise TypeError(f"slice bounds must be integers or None; axis {axis} has {value!r}") from None


def _window(plan: Plan, x: Array, axis: int, item: slice, ragged: list[int]) -> None:
    if item.start is None and item.stop is None and item.step is None:
        return
    step = _bound(item.step, axis)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    plan.has_window = True
    size = x._bound_shape[axis]
    if axis in ragged:
        _ragged_window(plan, x, axis, item, 1 if step is None else step)
        return
    start, stop, stride = slice(_bound(item.start, axis), _bound(item.stop, axis), step).indices(size)
    count = len(range(start, stop, stride))
    if stride < 0:
        # The same elements forward, then reversed.
        plan.reversed_axes.append(axis)
        start, stride = start + (count - 1) * stride, -stride
    if count == 0:
        plan.start[axis], plan.limit[axis], plan.stride[axis] = 0, 0, 1
    elif count == 1:
        plan.start[axis], plan.limit[axis], plan.stride[axis] = start, start + 1, 1
    else:
        plan.start[axis], plan.limit[axis], plan.stride[axis] = start, start + (count - 1) * stride + 1, stride


def _ragged_window(plan: Plan, x: Array, axis: int, item: slice, step: int) -> None:
    """A slice of an axis of n elements, n a value up to the bound."""
    size = x._bound_shape[axis]
    length = ragged_length(x, axis)
    start, stop = item.start, item.stop
    if is_dimension(stop) and stop.bound == size:
        stop = None
    if step < 0:
        if start is None and stop is None and step == -1:
            plan.reversed_axes.append(axis)
            return
        raise NotImplementedError(
            f"slicing ragged axis {axis} with step {step} is not supported\n  reverse it with [::-1] first"
        )
    first, last = _bound(start, axis), _bound(stop, axis)
    if first is not None and first < 0:
        if last is not None or step != 1:
            raise NotImplementedError(f"slicing ragged axis {axis} from {first} is supported only up to its end")
        # The last elements: at most -first, at positions from max(n + first, 0).
        count = min(-first, size)
        offset = primitives.max(*_core.promote([length + first, 0]))
        plan.looked_up.append((axis, offset + primitives.iota(shape=[count], dtype=_INT32, axis=0)))
        plan.lengths[-1] = primitives.min(*_core.promote([length, count]))
        return
    begin = min(first or 0, size)
    limit = size
    if last is not None and last >= 0:
        limit = min(last, size)
    plan.start[axis], plan.limit[axis], plan.stride[axis] = begin, max(limit, begin), step
    if first is not None and first > size:
        # Nothing is left. The length says of how many elements in front, as for a larger bound: others are compared with it.
        left = primitives.max(*_core.promote([length - first + (step - 1), 0]))
        plan.lengths[axis] = primitives.div(*_core.promote([left, step])) if step != 1 else left
    if last is not None and last < 0:
        left = primitives.max(*_core.promote([length + last - (first or 0) + (step - 1), 0]))
        plan.limit[axis] = max(size + last, begin)
        plan.lengths[axis] = primitives.div(*_core.promote([left, step])) if step != 1 else left


# ---- Reading ---------------------------------------------------------------------------------------------------------


def take_window(x: Array, plan: Plan) -> Array:
    if plan.start != [0] * x.ndim or tuple(plan.limit) != x._bound_shape or any(s != 1 for s in plan.stride):
        x = primitives.slice(x, start=plan.start, limit=plan.limit, stride=plan.stride)
    if plan.reversed_axes:
        x = primitives.reverse(x, axes=sorted(plan.reversed_axes))
    for axis, length in plan.lengths.items():
        if axis >= 0:
            x = set_length(x, length, axis)
    return x


@dataclass
class Lookup:
    """The lookup of a plan: how axes are permuted, which of them are made one, and the positions on it."""

    permutation: list[int]
    sizes: list[int]  # of the permuted axes
    axis: int
    count: int  # looked up axes
    indices: Array


def _signed(index: Array) -> Array:
    """Indices in a signed dtype of 32 or 64 bits. Unsigned ones that it lacks are outside, as the highest that it has is."""
    signed = np.dtype("int64") if index.dtype.itemsize == 8 else _INT32
    if kind(index) == "unsigned" and index.dtype.itemsize == signed.itemsize:
        index = primitives.min(index, literal(index, int(np.iinfo(signed).max)))
    return _core.convert(index, signed)


def look_up(x: Array, plan: Plan, mode: str) -> Lookup:
    """``mode``: "clip", or "drop": positions outside become -1."""
    axes = [axis for axis, _ in plan.looked_up]
    arrays = [_core.array(index) for _, index in plan.looked_up]
    shape = _core.broadcast_shapes([index._bound_shape for index in arrays])
    at = axes[0] if plan.together else 0
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    if plan.together:
        permutation = [axis for axis in rest if axis < at] + axes + [axis for axis in rest if axis > at]
    else:
        permutation = axes + rest
    linear: Array | None = None
    outside: Array | None = None
    for axis, index in zip(axes, arrays, strict=True):
        size = axis_size(x, axis)
        wide = _signed(index)
        if kind(index) != "unsigned":
            wide = primitives.select(primitives.lt(wide, literal(wide, 0)), wide + _count_like(wide, size), wide)
        last = _count_like(wide, size) - literal(wide, 1)
        clipped = primitives.max(primitives.min(wide, _core.broadcast_to(last, wide._bound_shape)), literal(wide, 0))
        if _core.get_flag("index_checks"):
            _check_index(x, axis, size, index, primitives.ne(clipped, wide))
        if mode == "drop":
            wrong = primitives.ne(clipped, wide)
            wrong = _core.broadcast_to(wrong, shape)
            outside = wrong if outside is None else primitives.or_(outside, wrong)
        clipped = _core.broadcast_to(_core.convert(clipped, _INT32), shape)
        linear = clipped if linear is None else linear * literal(linear, x._bound_shape[axis]) + clipped
    assert linear is not None
    if outside is not None:
        linear = primitives.select(outside, literal(linear, -1), linear)
    return Lookup(permutation, [x._bound_shape[axis] for axis in permutation], at, len(axes), linear)


# What an index out of bounds is reported to: `checkify` puts its function here before it asks for these checks.
report_outside: Callable[[Array, int, Any, Array, Array], None] | None = None


def _check_index(x: Array, axis: int, size: Any, index: Array, wrong: Array) -> None:
    assert report_outside is not None
    report_outside(x, axis, size, index, wrong)


def _count_like(index: Array, size: Any) -> Array:
    return _core.convert(size, index.dtype) if isinstance(size, Array) else _core.full((), size, index.dtype)


def gathered(x: Array, found: Lookup) -> Array:
    """``x`` with the looked up axes as one."""
    if found.permutation != list(range(x.ndim)):
        x = primitives.transpose(x, permutation=found.permutation)
    if found.count > 1:
        before, after = found.sizes[: found.axis], found.sizes[found.axis + found.count :]
        x = primitives.reshape(
            x, shape=[*before, math.prod(found.sizes[found.axis : found.axis + found.count]), *after]
        )
    return x


def result_shape(shape: list[int], plan: Plan, rank: int, found: Lookup | None) -> tuple[list[int], list[int]]:
    """Which axes to drop, and at which positions of the result to insert new ones."""
    looked = [axis for axis, _ in plan.looked_up]
    index_rank = found.indices.ndim if found is not None else 0
    # The position in the looked up array of each axis of the original.
    position: dict[int, int] = {}
    order = [axis for axis in range(rank) if axis not in looked]
    for i, axis in enumerate(order):
        position[axis] = i if found is None or i < found.axis else i + index_rank
    dropped = [position[axis] for axis in plan.dropped]
    inserted: list[int] = []
    for extra, before in enumerate(plan.inserted):
        # After everything that came before it in the index.
        kept = [axis for axis in order if axis < before and axis not in plan.dropped]
        count = len(kept) + extra
        if found is not None and (not plan.together or any(axis < before for axis in looked)):
            count += index_rank
        inserted.append(count)
    del shape
    return dropped, inserted


def get_item(x: Array, index: Any) -> Array:
    """``x[index]``."""
    if isinstance(index, int) and not isinstance(index, bool) and 0 in _core.ragged_axes(x):
        return _ragged_row(x, index)
    plan = resolve(index, x)
    if plan is None:
        index, x = with_mask_axes(index, x)
        return get_item(x, index)
    window = take_window(x, plan) if plan.has_window else x
    found = None
    result = window
    if plan.looked_up:
        _check_lookup(window, plan)
        found = look_up(window, plan, "clip")
        result = primitives.gather(gathered(window, found), found.indices, axis=found.axis, batch_dims=0)
        if -1 in plan.lengths:
            result = set_length(result, plan.lengths[-1], found.axis)
    return shape_result(result, *result_shape([], plan, x.ndim, found))


def _ragged_row(x: Array, index: int) -> Array:
    """``x[i]`` of a ragged axis, counted from its end when negative."""
    size = x._bound_shape[0]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis 0 with size {size}")
    row = primitives.max(*_core.promote([axis_size(x, 0) + index, 0])) if index < 0 else np.int32(index)
    return primitives.gather(x, row, axis=0, batch_dims=0)


def _check_lookup(x: Array, plan: Plan) -> None:
    for axis, index in plan.looked_up:
        if x._bound_shape[axis] == 0 and math.prod(
            np.shape(index) if isinstance(index, np.ndarray) else index._bound_shape
        ):
            raise IndexError(f"cannot index axis {axis}, which has no elements, with an array")


def shape_result(x: Array, dropped: list[int], inserted: list[int]) -> Array:
    if dropped:
        x = primitives.reshape(x, shape=[size for axis, size in enumerate(x._bound_shape) if axis not in dropped])
    return insert_axes(x, inserted) if inserted else x


def fill_outside(result: Array, indices: Array, axis: int, fill_value: Any, nearest: Array | None = None) -> Array:
    """``result`` with a value where ``indices``, its axes from ``axis`` on, are -1, or not what is ``nearest`` to them.

    The default is NaN, the lowest signed or the highest unsigned integer, or True.
    """
    if kind(result) == "key":
        return result  # zero words
    if fill_value is None:
        if is_inexact(result):
            fill_value = math.nan
        elif kind(result) == "bool":
            fill_value = True
        else:
            limits = np.iinfo(result.dtype)
            fill_value = limits.max if kind(result) == "unsigned" else limits.min
    # Integers are compared where they are used, where bools of some would be read from memory and made wide.
    shape, axes = list(result._bound_shape), [axis + i for i in range(indices.ndim)]
    asked = primitives.broadcast(indices, shape=shape, axes=axes)
    if nearest is None:
        outside = primitives.lt(asked, literal(asked, 0))
    else:
        outside = primitives.ne(asked, primitives.broadcast(nearest, shape=shape, axes=axes))
    return primitives.select(outside, literal(result, fill_value), result)


# ---- take ------------------------------------------------------------------------------------------------------------


def _indices_in(
    indices: Array, x: Array, axis: int, mode: str | None, from_end: bool = True
) -> tuple[Array, Array | None]:
    """Positions for a gather, and what was asked for, from which they differ outside; None if nothing is."""
    size = axis_size(x, axis)
    if not is_integer(indices):
        raise TypeError(f"indices must be integers; got {indices.dtype}")
    wide = _signed(indices)
    count = _core.broadcast_to(_count_like(wide, size), wide._bound_shape)
    if mode == "wrap":
        return remainder(wide, count), None
    wrapped = (
        primitives.select(primitives.lt(wide, literal(wide, 0)), primitives.add(wide, count), wide)
        if from_end
        else wide
    )
    if mode == "clip":
        clipped = primitives.max(primitives.min(wrapped, primitives.sub(count, literal(count, 1))), literal(wide, 0))
        return clipped, None
    if mode not in (None, "fill", "promise_in_bounds"):
        raise ValueError(f"take: mode must be 'fill', 'clip' or 'wrap'; got {mode!r}")
    if isinstance(size, int) and size > 0 and kind(x) != "key":
        last = literal(wrapped, size - 1)
        return primitives.max(primitives.min(wrapped, last), literal(wrapped, 0)), wrapped
    inside = primitives.and_(primitives.ge(wrapped, literal(wrapped, 0)), primitives.lt(wrapped, count))
    return tuple(primitives.select(inside, wrapped, literal(wrapped, outside)) for outside in (-1, -2))  # type: ignore[return-value]


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Array:
    """The slices of an axis, or elements of the flattened array, at integer positions; negative counts from the end.

    Args:
        mode: for positions outside: None or ``"fill"``: ``fill_value`` (by default NaN, the lowest signed, the highest
            unsigned integer);
            ``"clip"``: the nearest (negative ones are 0); ``"wrap"``: modulo the size.

    >>> import cotangent as ct
    >>> ct.numpy.take(ct.numpy.array([10, 20, 30]), ct.numpy.array([2, 0])).tolist()
    [30, 10]
    """
    if out is not None:
        raise NotImplementedError("take: the out argument is not supported")
    x, index = _core.array(a), _core.array(indices)
    if axis is None:
        x, axis = primitives.reshape(x, shape=[bound_size(x)]), 0
    axis = normalize_axis(axis, x.ndim, "take")
    if x._bound_shape[axis] == 0 and bound_size(index):
        raise IndexError(f"take: axis {axis} has no elements")
    # NumPy's clip is of negative positions too.
    positions, asked = _indices_in(index, x, axis, mode, from_end=mode != "clip")
    if mode is None and asked is not None and _core.get_flag("index_checks"):
        _check_index(x, axis, axis_size(x, axis), index, primitives.ne(positions, asked))
    result = primitives.gather(x, positions, axis=axis, batch_dims=0)
    if asked is None or _all_equal(positions, asked):
        return result
    return fill_outside(result, asked, axis, fill_value, positions)


def _all_equal(x: Array, y: Array) -> bool:
    known = is_host_value(x) and is_host_value(y)
    return known and np.array_equal(_core.to_numpy(x), _core.to_numpy(y))


def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """For each line along an axis, its elements at the positions in the same line of ``indices``.

    Args:
        mode: for positions outside: ``"fill"``, the default, with ``fill_value``; ``"clip"``; ``"wrap"``;
            ``"one_hot"``, where they give zero.
        wrap_negative_indices: negative positions count from the end, which is the default, ``"clip"`` included; else they
            are outside.
    """
    x, index = _core.array(arr), _core.array(indices)
    from_end = wrap_negative_indices is None or bool(wrap_negative_indices)
    if mode == "one_hot":  # what sums over the positions that equal the index give
        mode, fill_value = "fill", False if kind(x) == "bool" else 0
    if axis is None:
        if index.ndim != 1:
            raise ValueError(f"take_along_axis with axis=None needs indices of one axis; got shape {index.shape}")
        x, axis = primitives.reshape(x, shape=[bound_size(x)]), 0
    if x.ndim != index.ndim:
        raise ValueError(f"take_along_axis: the array has {x.ndim} axes, the indices {index.ndim}; they must be equal")
    axis = normalize_axis(axis, x.ndim, "take_along_axis")
    positions, asked = _indices_in(index, x, axis, mode, from_end)
    if mode is None and asked is not None and _core.get_flag("index_checks"):
        _check_index(x, axis, axis_size(x, axis), index, primitives.ne(positions, asked))
    others = [i for i in range(x.ndim) if i != axis]
    common = _core.broadcast_shapes([[x._bound_shape[i] for i in others], [index._bound_shape[i] for i in others]])
    order = [*others, axis]
    x = _core.broadcast_to(_transposed(x, order), [*common, x._bound_shape[axis]])

    def placed(p: Array) -> Array:
        return _core.broadcast_to(_transposed(p, order), [*common, index._bound_shape[axis]])

    positions = placed(positions)
    result = primitives.gather(x, positions, axis=x.ndim - 1, batch_dims=x.ndim - 1)
    if asked is not None and not _all_equal(positions, asked := placed(asked)):
        result = fill_outside(result, asked, 0, fill_value, positions)
    return _transposed(result, [order.index(i) for i in range(x.ndim)])


def _transposed(x: Array, order: list[int]) -> Array:
    return x if order == list(range(x.ndim)) else primitives.transpose(x, permutation=order)


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Array:
    """For each element, that of the array of ``choices`` which its index names.

    Args:
        a: integers; any shape that broadcasts with those of the choices.
        choices: a sequence of n arrays, or an array whose first axis is theirs; broadcast and promoted to one dtype.
        out: must be None.
        mode: ``"raise"``: indices must be from 0 to n - 1, and known when the program is captured; ``"clip"`` and
            ``"wrap"``: others are moved there.

    Raises:
        ValueError: an index is out of range; no such mode.
        ConcretizationError: mode "raise" with indices that only a run of the program knows.

    >>> import cotangent.numpy as cnp
    >>> cnp.choose([1, 0], [[1.0, 2.0], [3.0, 4.0]]).tolist()
    [3.0, 2.0]
    """
    no_out(out, "choose")
    choices = list(choices)
    if mode == "raise":
        if not is_host_value(a):
            raise ConcretizationError(
                "choose: mode 'raise' needs indices that are known when the program is captured\n  use mode='clip' or 'wrap'"
            )
        if bool(np.any((np.asarray(a) < 0) | (np.asarray(a) >= len(choices)))):
            raise ValueError(f"choose: an index is not from 0 to {len(choices) - 1}, with {len(choices)} choices")
        mode = "clip"
    if mode not in ("clip", "wrap"):
        raise ValueError(f"choose: mode must be 'raise', 'clip' or 'wrap'; got {mode!r}")
    stacked = [_core.array(c) for c in choices]
    shape = _core.broadcast_shapes([c._bound_shape for c in stacked] + [_core.array(a)._bound_shape])
    parts = _core.promote([_core.broadcast_to(c, shape) for c in stacked])
    table = primitives.concatenate(*[insert_axes(part, [len(shape)]) for part in parts], axis=len(shape))
    index = insert_axes(_core.broadcast_to(a, shape), [len(shape)])
    picked = take_along_axis(table, index, -1, mode)
    return primitives.reshape(picked, shape=list(shape))


check_arguments(globals())
