"""An array with an operation applied to the elements at an index: by windows, lookups and masks."""

from __future__ import annotations

import math
from types import EllipsisType
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import as_ragged_as, set_length
from cotangent._base.dimensions import SAME_NAME
from cotangent._base.messages import placed
from cotangent._core import Array
from cotangent._ops import arithmetic as elementwise
from cotangent._ops.binding import constant, kind, literal
from cotangent._ops.extents import capacities, capacity, drop_axes, shaped_like, split_axis, spread_over, stretched
from cotangent._ops.index_plans import Plan, check_mask, is_mask, resolve, with_mask_axes
from cotangent._ops.indexing import (
    Lookup,
    finds_one,
    found_in,
    gathered,
    get_item,
    look_up,
    result_shape,
    shape_result,
    take_window,
    without_lookup,
)
from cotangent._ops.positions import exact_mask, is_unknown
from cotangent._ops.sized_slices import SizedSlice
from cotangent._ops.sizes import bound_size, insert_axes, ragged_length
from cotangent._ops.taking import fill_outside
from cotangent.errors import ShapeError

_INT32 = np.dtype("int32")
_LEAST_OUTSIDE = 16  # times the elements of a window that is small


class AxesMask:
    """The one mask of an index that takes all else whole, and the first of the array's axes that it stands for."""

    def __init__(self, mask: Array, axis: int) -> None:
        self.mask = mask
        self.axis = axis

    def spread_over(self, x: Array) -> Array:
        """The mask with the shape of the array."""
        axes = [self.axis + i for i in range(self.mask.ndim)]
        return spread_over(self.mask, x, axes)


def _is_whole(item: Any) -> bool:
    if isinstance(item, slice):
        return item.start is None and item.stop is None and item.step is None
    return isinstance(item, EllipsisType)


def _only_mask(index: Any, x: Array) -> AxesMask | None:
    """The mask of ``x[mask]``, ``x[:, mask]``, ``x[..., mask]`` and the like; None for another index."""
    items = index if isinstance(index, tuple) else (index,)
    masks = [i for i, item in enumerate(items) if is_mask(item)]
    if len(masks) != 1 or not isinstance(mask := items[masks[0]], Array | np.ndarray) or np.ndim(mask) == 0:
        return None
    before, after = items[: masks[0]], items[masks[0] + 1 :]
    if not all(_is_whole(item) for item in before + after):
        return None
    if sum(isinstance(item, EllipsisType) for item in items) > 1 or len(items) - 1 + mask.ndim > x.ndim + 1:
        return None
    from_end = any(isinstance(item, EllipsisType) for item in before)
    axis = x.ndim - len(after) - mask.ndim if from_end else len(before)
    check_mask(mask, axis, x)
    return AxesMask(_core.array(mask), axis)


def _combined(operation: str, x: Array, updates: Array) -> Array:
    logical = {"add": primitives.or_, "mul": primitives.and_} if kind(x) == "bool" else {}
    return logical.get(operation, _COMBINES[operation])(x, updates)


def _update_masked(x: Array, index: Any, operation: str, values: Any) -> Array | None:
    """The update as a select, which does not need the mask's values: None if elements along its axes get values of their own."""
    found = _only_mask(index, x)
    if found is None:
        return None
    updates = _core.convert(values, x.dtype)
    # The elements that the mask names stand along one axis, in the place of those of the mask.
    place = updates.ndim - (x.ndim - found.axis - found.mask.ndim) - 1
    given = place >= 0 and (capacity(updates, place) != 1 or place in _core.ragged_axes(updates))
    if given or place > found.axis:
        if not is_unknown(found.mask) or capacity(updates, place) == 0:
            return None
        updates = _by_number(updates, found.mask, place)
    elif place >= 0:
        updates = split_axis(updates, place, [1] * found.mask.ndim)
    updates = stretched(updates, x)
    if operation != "set":
        updates = _combined(operation, x, updates)
    return primitives.select(found.spread_over(x), updates, x)


def _by_number(updates: Array, mask: Array, axis: int) -> Array:
    """Where the mask is true, the update of that number: the first for the first true element, and so on."""
    exact = exact_mask(mask)
    flat = primitives.reshape(exact, shape=[bound_size(exact)])
    number = primitives.cumsum(_core.convert(flat, "int32"), axis=0, reverse=False)
    last = literal(number, capacity(updates, axis))
    place = primitives.max(primitives.min(number, last) - literal(number, 1), literal(number, 0))
    return primitives.gather(updates, shaped_like(place, exact), axis=axis, batch_dims=0)


def _get_filled(x: Array, index: Any, fill_value: Any) -> Array:
    plan = resolve(index, x)
    if plan is None:
        index, x = with_mask_axes(index, x)
        return _get_filled(x, index, fill_value)
    if not plan.looked_up:
        return get_item(x, index)
    window = take_window(x, plan) if plan.has_window else x
    found = look_up(window, plan, "drop")
    result = found_in(window, found)
    result = fill_outside(result, found.indices, found.axis, fill_value)
    return shape_result(result, *result_shape(plan, x.ndim, found))


def _check_lengths(x: Array, index: Any, values: Array) -> None:
    """ShapeError where values are ragged, or what the index names is, and they are not as long as each other."""
    named = get_item(x, index)
    for axis in _core.ragged_axes(values):
        place = axis + named.ndim - values.ndim
        length = _core.length_of(named, place) if place >= 0 else None
        own = _core.length_of(values, axis)
        if length is None or own is None or not (own is length or _core.same_length(own, length)):
            raise ShapeError(
                placed(
                    f"x.at[...]: axis {axis} of the values is ragged, and not known to be as long as what is indexed",
                    f"make the values of the elements that are indexed, or cut both to one size; {SAME_NAME}",
                )
            )
    _core.check_sizes([named, values])


def update_item(x: Array, index: Any, operation: str, values: Any, mode: str, unique: bool) -> Array:
    """``x`` with ``operation`` (set, add, mul, div, pow, max, min) applied to the elements at ``index``."""
    if _core.in_mask() and np.ndim(values):
        _check_lengths(x, index, _core.array(values))
    if operation in ("div", "pow"):
        # The product of what each element is to be divided by, or raised to, put among ones.
        given = _core.array(values)
        common = _core.promote_types([(x.dtype, x.weak_type), (given.dtype, given.weak_type)])[0]
        dtype = x.dtype if operation == "div" else common
        factors = update_item(constant(x, 1, dtype), index, "mul", values, mode, unique)
        return elementwise.divide(x, factors) if operation == "div" else elementwise.power(x, factors)
    updated = _update_masked(x, index, operation, values)
    if updated is not None:
        return updated
    plan = resolve(index, x)
    if plan is None:
        index, wide = with_mask_axes(index, x)
        updated = update_item(wide, index, operation, values, mode, unique)
        return shaped_like(updated, x)
    if plan.has_window and finds_one(plan, x):
        return _update_found(x, index, plan, operation, values, mode)
    window = take_window(x, plan) if plan.has_window else x
    found = look_up(window, plan, mode) if plan.looked_up else None
    if found is None and operation not in ("set", "add"):
        current = get_item(x, index)
        values = _COMBINES[operation](*_core.promote([current, _core.convert(values, x.dtype)]))
        operation = "set"
    updates = _core.convert(values, x.dtype)
    # The shape of the indexed elements, and of the window or lookup they come from.
    if found is not None:
        flat = gathered(window, found)
        shape = [*capacities(flat)[: found.axis], *capacities(found.indices), *capacities(flat)[found.axis + 1 :]]
    else:
        shape = list(capacities(window))
    dropped, inserted = result_shape(plan, x.ndim, found)
    kept = [size for axis, size in enumerate(shape) if axis not in dropped]
    for position in inserted:
        kept.insert(position, 1)
    updates = drop_axes(_core.broadcast_to(updates, kept), inserted) if inserted else _core.broadcast_to(updates, kept)
    updates = insert_axes(updates, dropped) if dropped else updates
    if found is not None:
        updates = _scatter(window, found, updates, operation, unique)
        operation = "set"
    if not plan.has_window:
        return as_ragged_as(updates, x) if operation == "set" else _combined(operation, x, updates)
    return _put_window(x, plan, updates, operation)


def _update_found(x: Array, index: Any, plan: Plan, operation: str, values: Any, mode: str) -> Array:
    """``update_item`` of windows in what a single position names, such as a row: the row is updated, and put back.

    The other way around, the windows of all rows would be read and written for the sake of one.
    """
    found = look_up(x, plan, mode)
    rest = without_lookup(plan, index, x)
    return _scatter(x, found, update_item(found_in(x, found), rest, operation, values, mode, True), "set", True)


_SCATTERS = {
    "set": primitives.scatter,
    "add": primitives.scatter_add,
    "mul": primitives.scatter_mul,
    "max": primitives.scatter_max,
    "min": primitives.scatter_min,
}
_COMBINES = {
    "add": primitives.add,
    "mul": primitives.mul,
    "div": primitives.div,
    "pow": primitives.pow,
    "max": primitives.max,
    "min": primitives.min,
}


def _put_sized(x: Array, windows: dict[int, SizedSlice], updates: Array) -> tuple[Array, Array]:
    """The updates along the whole of the axes of sized windows, each looked up where the window has it; and where it has one."""
    covered = as_ragged_as(literal(x, True, bool), x)
    for axis, window in windows.items():
        inside, place = window.places(capacity(x, axis))
        covered = primitives.and_(covered, as_ragged_as(spread_over(inside, x, [axis]), x))
        if capacity(updates, axis) == 0:
            updates = stretched(_core.full((), 0, updates.dtype), updates, {axis: capacity(x, axis)})
        else:
            updates = primitives.gather(updates, place, axis=axis, batch_dims=0)
        if axis in _core.ragged_axes(x):
            updates = set_length(updates, ragged_length(x, axis), axis)
    return updates, covered


def _is_small(updates: Array, x: Array) -> bool:
    """Whether writing the updates is clearly less than a choice for each element of the array."""
    count = math.prod(capacities(updates))
    return 0 < count <= math.prod(capacities(x)) // _LEAST_OUTSIDE and not _core.ragged_axes(x)


def _put_window(x: Array, plan: Plan, updates: Array, operation: str) -> Array:
    """The window put back: padded to the whole array."""
    if plan.sized:
        windows, plan.sized = plan.sized, {}
        updates, covered_by_all = _put_sized(x, windows, updates)
        return primitives.select(covered_by_all, _put_window(x, plan, updates, operation), x)
    if plan.reversed_axes:
        updates = primitives.reverse(updates, axes=sorted(plan.reversed_axes))
    low, high, interior = [], [], []
    for axis, size in enumerate(capacities(x)):
        stride, count = plan.stride[axis], capacity(updates, axis)
        covered = (count - 1) * stride + 1 if count else 0
        low.append(plan.start[axis])
        interior.append(stride - 1 if count > 1 else 0)
        high.append(size - plan.start[axis] - covered)
    if operation == "set" and _is_small(updates, x) and not any(interior):
        starts = [_core.full((), start, _INT32) for start in low]
        return primitives.dynamic_update_slice(x, updates, *starts, batch_dims=0)
    zero = _core.full((), 0, x.dtype)
    padded = primitives.pad(updates, zero, low=low, high=high, interior=interior)
    if operation == "add" and kind(x) != "bool":
        return primitives.add(x, padded)
    inside = literal(updates, True, bool)
    inside = primitives.pad(inside, _core.full((), False, bool), low=low, high=high, interior=interior)
    if operation == "add":
        padded = primitives.or_(x, padded)
    return primitives.select(inside, padded, x)


def _scatter(window: Array, found: Lookup, updates: Array, operation: str, unique: bool) -> Array:
    """The window with updates at the positions of the lookup."""
    flat = gathered(window, found)
    options: dict[str, Any] = {"axis": found.axis, "batch_dims": 0}
    if unique:
        options["unique"] = True
    result = _SCATTERS[operation](flat, found.indices, updates, **options)
    if found.count > 1:
        result = primitives.reshape(result, shape=found.sizes)
    if found.permutation != list(range(window.ndim)):
        result = primitives.transpose(
            result, permutation=[found.permutation.index(axis) for axis in range(window.ndim)]
        )
    return result


check_arguments(globals())
