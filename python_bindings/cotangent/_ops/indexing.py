"""``x[index]``: the plan of an index run forward, as slices and gathers."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import EllipsisType
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.dimensions import Dim
from cotangent._core import Array
from cotangent._ops.binding import kind, literal
from cotangent._ops.extents import drop_axes, join_axes
from cotangent._ops.index_plans import Plan, items_with_axes, resolve, static_index, with_mask_axes
from cotangent._ops.sized_slices import take_slice
from cotangent._ops.sizes import axis_size, insert_axes
from cotangent._transforms.lengths import require, require_position

_INT32 = np.dtype("int32")


def take_window(x: Array, plan: Plan) -> Array:
    """The slices of a plan."""
    if plan.start != [0] * x.ndim or tuple(plan.limit) != x._bound_shape or any(s != 1 for s in plan.stride):
        x = primitives.slice(x, start=plan.start, limit=plan.limit, stride=plan.stride)
    if plan.reversed_axes:
        x = primitives.reverse(x, axes=sorted(plan.reversed_axes))
    for axis, window in plan.sized.items():
        x = take_slice(x, axis, window)
    return x


class Lookup:
    """The lookup of a plan: how axes are permuted, which of them are made one, and the positions on it."""

    def __init__(self, permutation: list[int], sizes: list[int], axis: int, count: int, indices: Array) -> None:
        self.permutation = permutation
        self.sizes = sizes  # of the permuted axes
        self.axis = axis
        self.count = count  # looked up axes
        self.indices = indices


def signed(index: Array) -> Array:
    """Indices in a signed dtype of 32 or 64 bits. Unsigned ones that it lacks are outside, as the highest that it has is."""
    signed = np.dtype("int64") if index.dtype.itemsize == 8 else _INT32
    if kind(index) == "unsigned" and index.dtype.itemsize == signed.itemsize:
        index = primitives.min(index, literal(index, int(np.iinfo(signed).max)))
    return _core.convert(index, signed)


def look_up(x: Array, plan: Plan, mode: str) -> Lookup:
    """``mode``: "clip", or "drop": positions outside become -1."""
    axes = [axis for axis, _ in plan.looked_up]
    found = _known_positions(x, plan, axes, mode)
    if found is not None:
        return found
    arrays = [_core.array(index) for _, index in plan.looked_up]
    _core.check_sizes(arrays)
    shape = _core.broadcast_shapes([index._bound_shape for index in arrays])
    linear: Array | None = None
    outside: Array | None = None
    for axis, index in zip(axes, arrays, strict=True):
        size = axis_size(x, axis)
        wide = signed(index)
        if kind(index) != "unsigned":
            wide = primitives.select(primitives.lt(wide, literal(wide, 0)), wide + count_like(wide, size), wide)
        last = count_like(wide, size) - literal(wide, 1)
        clipped = primitives.max(primitives.min(wide, _core.broadcast_to(last, wide._bound_shape)), literal(wide, 0))
        if _core.get_flag("index_checks"):
            beyond = primitives.ne(clipped, wide)
            if isinstance(size, Array):  # of no elements there is none to clip to
                beyond = primitives.or_(beyond, _core.broadcast_to(size < 1, beyond._bound_shape))
            check_index(x, axis, size, index, beyond)
        if mode == "drop":
            wrong = primitives.ne(clipped, wide)
            wrong = _core.broadcast_to(wrong, shape)
            outside = wrong if outside is None else primitives.or_(outside, wrong)
        clipped = _core.broadcast_to(_core.convert(clipped, _INT32), shape)
        linear = clipped if linear is None else linear * literal(linear, x._bound_shape[axis]) + clipped
    assert linear is not None
    if outside is not None:
        linear = primitives.select(outside, literal(linear, -1), linear)
    return _lookup_at(x, plan, axes, linear)


def _lookup_at(x: Array, plan: Plan, axes: list[int], positions: Array) -> Lookup:
    at = axes[0] if plan.together else 0
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    if plan.together:
        permutation = [axis for axis in rest if axis < at] + axes + [axis for axis in rest if axis > at]
    else:
        permutation = axes + rest
    return Lookup(permutation, [x._bound_shape[axis] for axis in permutation], at, len(axes), positions)


def _known_positions(x: Array, plan: Plan, axes: list[int], mode: str) -> Lookup | None:
    """The lookup at indices that are all NumPy's, computed here and now: a program that reads there again and again has nothing to do but read."""
    known = [index for _, index in plan.looked_up if isinstance(index, np.ndarray)]
    if (
        len(known) < len(axes)
        or any(not x._bound_shape[axis] or axis in _core.ragged_axes(x) for axis in axes)
        or _core.get_flag("index_checks")
    ):
        return None
    shape = _core.broadcast_shapes([index.shape for index in known])
    positions: Any = np.zeros(shape, np.int64)
    outside: Any = np.zeros(shape, bool)
    for axis, index in zip(axes, known, strict=True):
        size = x._bound_shape[axis]
        if index.dtype == np.uint64:
            index = np.minimum(index, np.uint64(np.iinfo(np.int64).max))
        place = index.astype(np.int64)
        place += np.where(place < 0, size, 0)
        clipped = np.clip(place, 0, size - 1)
        outside = outside | (clipped != place)
        positions = positions * size + clipped
    if mode == "drop":
        positions = np.where(outside, -1, positions)
    return _lookup_at(x, plan, axes, _core.array(positions.astype(np.int32)))


# What an index out of bounds is reported to: `checkify` puts its function here before it asks for these checks.
report_outside: Callable[[Array, int, Any, Array, Array, bool], None] | None = None


def check_index(x: Array, axis: int, size: Any, index: Array, wrong: Array, counted: bool = False) -> None:
    """Tells whoever asked for ``index_checks`` which indices into an axis are ``wrong``.

    ``counted``: negative indices have been counted from the front already.
    """
    assert report_outside is not None
    report_outside(x, axis, size, index, wrong, counted)


def count_like(index: Array, size: Any) -> Array:
    """A size as a scalar of the dtype of indices."""
    return _core.convert(size, index.dtype) if isinstance(size, Array) else _core.full((), size, index.dtype)


def gathered(x: Array, found: Lookup) -> Array:
    """``x`` with the looked up axes as one."""
    if found.permutation != list(range(x.ndim)):
        x = primitives.transpose(x, permutation=found.permutation)
    if found.count > 1:
        ragged = [axis for axis in _core.ragged_axes(x) if found.axis <= axis < found.axis + found.count]
        if ragged:
            x = primitives.fill_padding(x, axes=ragged, value=0.0)
        x = join_axes(x, found.axis, found.axis + found.count)
    return x


def found_in(x: Array, found: Lookup) -> Array:
    """What a lookup finds in ``x``."""
    return primitives.gather(gathered(x, found), found.indices, axis=found.axis, batch_dims=0)


def finds_one(plan: Plan, x: Array) -> bool:
    """Whether the lookup is of one position, in an array of which all sizes are known."""
    return bool(plan.looked_up) and not _core.ragged_axes(x) and all(not np.ndim(at) for _, at in plan.looked_up)


def without_lookup(plan: Plan, index: Any, x: Array) -> tuple[Any, ...]:
    """The index of what a lookup of one position finds: the items that are about other axes."""
    looked_up = {axis for axis, _ in plan.looked_up}
    items = zip(*items_with_axes(index, x), strict=True)
    return tuple(
        item for item, axis in items if axis not in looked_up or item is None or isinstance(item, EllipsisType)
    )


def result_shape(plan: Plan, rank: int, found: Lookup | None) -> tuple[list[int], list[int]]:
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
    return dropped, inserted


def get_item(x: Array, index: Any) -> Array:
    """``x[index]``."""
    in_mask = _core.in_mask()
    if in_mask:
        _core.check_sizes(arrays_of_positions(index))
    by_user = in_mask and _core.called_by_user(1)
    if isinstance(index, int) and not isinstance(index, bool) and 0 in _core.ragged_axes(x):
        if by_user:
            require_places(x, index)
        return _ragged_row(x, index)
    plan = resolve(index, x)
    if by_user:
        require_places(x, index)
    if plan is None:
        index, x = with_mask_axes(index, x)
        return get_item(x, index)
    if plan.has_window and finds_one(plan, x):
        # Not the windows of all rows for the sake of one.
        _check_lookup(x, plan)
        return get_item(found_in(x, look_up(x, plan, "clip")), without_lookup(plan, index, x))
    window = take_window(x, plan) if plan.has_window else x
    found = None
    result = window
    if plan.looked_up:
        _check_lookup(window, plan)
        found = look_up(window, plan, "clip")
        result = found_in(window, found)
    return shape_result(result, *result_shape(plan, x.ndim, found))


def require_places(x: Array, index: Any) -> None:
    """Constant positions in ragged axes, and sizes as positions, are those of elements.

    What the package looks up for arrays without elements may be outside; the user means an element that there is.
    """
    for item, axis in zip(*items_with_axes(index, x), strict=True):
        number, size = static_index(item), axis_size(x, axis) if axis < x.ndim else 0
        if number is not None and not isinstance(item, (bool, np.bool_)) and isinstance(size, Array):
            require_position(size, number, f"index {number} is out of bounds for axis {axis}")
        elif isinstance(item, Dim):
            if not isinstance(size, Array):
                size = _core.full((), size, "int32")
            what = f"the size {item.owner} as an index is out of bounds for axis {axis}"
            require([size, item.value], lambda n, i: (i < n) & (i >= -n), what, error=IndexError)


def arrays_of_positions(index: Any) -> list[Any]:
    """The arrays of an index whose elements are taken together."""
    items = index if isinstance(index, tuple) else ()
    arrays = [item for item in items if isinstance(item, (Array, np.ndarray)) and item.ndim > 0]
    return [item for item in arrays if item.dtype != bool]


def _ragged_row(x: Array, index: int) -> Array:
    """``x[i]`` of a ragged axis, counted from its end when negative; the nearest element where the length at hand has none there."""
    size = x._bound_shape[0]
    if not -size <= index < size:
        raise IndexError(
            f"index {index} is out of bounds for axis 0 with size {size}\n  use an index from {-size} to {size - 1}"
        )
    row: Any = np.int32(index)
    if index:
        count = axis_size(x, 0)
        row = count + index if index < 0 else primitives.min(*_core.promote([count - 1, index]))
        row = primitives.max(*_core.promote([row, 0]))
    return primitives.gather(x, row, axis=0, batch_dims=0)


def _check_lookup(x: Array, plan: Plan) -> None:
    for axis, index in plan.looked_up:
        if x._bound_shape[axis] == 0 and math.prod(
            np.shape(index) if isinstance(index, np.ndarray) else index._bound_shape
        ):
            raise IndexError(
                f"cannot index axis {axis}, which has no elements, with an array\n"
                "  test its size first, or index it with an empty array"
            )


def shape_result(x: Array, dropped: list[int], inserted: list[int]) -> Array:
    """``x`` without the axes of ints, and with those of None."""
    if dropped:
        x = drop_axes(x, dropped)
    return insert_axes(x, inserted) if inserted else x
