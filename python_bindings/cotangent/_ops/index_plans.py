"""An index of NumPy's as a plan: slices, lookups, and what becomes of the axes.

It is resolved in three stages:

1. the *window*: a slice on every axis (an int that stands alone is a window of size 1), whose bounds may be sizes inside ``ct.mask``;
2. the *lookup*, if there are index arrays or scalars that are values: their axes are brought together, made one, and
read by a gather;
3. the *result shape*: axes of ints removed, axes of None inserted.

`indexing` runs the stages forward, to read; `numpy.index_updates` runs them backward. Inside ``ct.mask``, ``x[-1]`` and ``x[:-1]`` count from the
length.
"""

from __future__ import annotations

import operator
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.dimensions import Dim, as_dimension, is_scalar_integer
from cotangent._base.messages import placed, with_hint
from cotangent._core import Array
from cotangent._ops.binding import is_integer, literal
from cotangent._ops.positions import is_sized as is_sized_mask
from cotangent._ops.positions import sized_positions
from cotangent._ops.sized_slices import SizedSlice, is_sized, resolve_slice
from cotangent._ops.sizes import axis_size, insert_axes, symbolic_size
from cotangent.errors import ConcretizationError, NonConcreteBooleanIndexError

_INT32 = np.dtype("int32")
_INSTEAD_OF_MASK = (
    "use ct.numpy.where(mask, x, 0), which keeps the shape, or x[ct.numpy.nonzero(mask, size=n)] for the first n"
)
_WHOLE_INDEX = "for a whole number divide with //: x[n // 2]"
_WHOLE = "for a whole number divide with //: x[: n // 2]"
_WHOLE_LABEL = "convert it, x[i.astype('int32')]; a quotient of integers is one by //: x[n // 2]"


class Plan:
    """How an index is resolved."""

    def __init__(self, start: list[int], limit: list[int], stride: list[int]) -> None:
        self.start = start
        self.limit = limit
        self.stride = stride
        self.reversed_axes: list[int] = []
        self.sized: dict[
            int, SizedSlice
        ] = {}  # axes of which sizes are values: their windows, in place of start, limit, stride
        self.looked_up: list[tuple[int, Any]] = []  # (axis, index array) of the lookup
        self.together = True  # whether the looked up axes are adjacent in the index
        self.dropped: list[int] = []  # axes of the array that are ints
        self.inserted: list[int] = []  # number of array axes before each None
        self.has_window = False


def _range_of(size: int) -> str:
    """What an index along an axis of this size may be."""
    inside = f"use an index from {-size} to {size - 1}" if size else "the axis has no elements: test its size first"
    return f"{inside}, or x.at[i].get(mode='fill', fill_value=0) for one that may lie outside"


def is_mask(item: Any) -> bool:
    """Whether an item of an index is a bool or an array of bools."""
    dtype = getattr(item, "dtype", None)
    return (dtype is not None and dtype == bool) or isinstance(item, bool)


def check_mask(mask: Any, axis: int, x: Array) -> None:
    """IndexError unless the mask has the sizes of the axes that it stands for; without elements it selects nothing."""
    shape = mask._bound_shape if isinstance(mask, Array) else mask.shape
    sizes = x._bound_shape[axis : axis + mask.ndim]
    if tuple(shape) != tuple(sizes) and 0 not in shape:
        raise IndexError(
            f"a bool index of shape {tuple(shape)} does not fit axes of sizes {tuple(sizes)}\n"
            "  make the mask of the array that is indexed, as in x[x > 0]"
        )
    for i in range(mask.ndim):
        own = _core.length_of(mask, i) if isinstance(mask, Array) else None
        length = _core.length_of(x, axis + i)
        if own is not length and (own is None or length is None or not _core.same_length(own, length)):
            raise IndexError(
                f"a bool index does not fit axis {axis + i}: their lengths are not known to be equal\n"
                "  make it of the array that is indexed, or cut both to one size"
            )


def _is_scalar_mask(item: Any) -> bool:
    return is_mask(item) and np.ndim(item) == 0


def items_with_axes(index: Any, x: Array) -> tuple[list[Any], list[int]]:
    """The items of an index, and for each the first axis of ``x`` that it is about."""
    items = list(index) if isinstance(index, tuple) else [index]
    none = (None, Ellipsis)
    taken = [
        0 if any(item is n for n in none) or _is_scalar_mask(item) else np.ndim(item) if is_mask(item) else 1
        for item in items
    ]
    ellipsis = next((i for i, item in enumerate(items) if isinstance(item, EllipsisType)), len(items))
    return items, [sum(taken[:i]) if i < ellipsis else x.ndim - sum(taken[i:]) for i in range(len(items))]


def outside_if_negative(index: Any, x: Array) -> Any:
    """The same index for a look-up in which negative positions count from the end: here they are outside of the array."""
    items, axes = items_with_axes(index, x)
    for i, axis in enumerate(axes):
        item = items[i]
        if isinstance(item, list) or (isinstance(item, (int, np.integer)) and item < 0):
            item = np.asarray(item)
        if is_mask(item) or not isinstance(item, (np.ndarray, Array)) or _core.dtype_kind(item.dtype) != "signed":
            continue
        position = _core.convert(item, np.promote_types(item.dtype, _INT32))
        negative = primitives.lt(position, literal(position, 0))
        items[i] = primitives.select(negative, position - _core.convert(axis_size(x, axis), position.dtype), position)
    return tuple(items)


def axes_used(items: list[Any], x: Array) -> int:
    """How many axes the items of an index are about; IndexError where the array has fewer."""
    about = (item for item in items if item is not None and not isinstance(item, EllipsisType))
    used = sum(np.ndim(item) if is_mask(item) else 1 for item in about)
    if used > x.ndim:
        raise IndexError(
            f"Too many indices: array is {x.ndim}-dimensional, but {used} were indexed\n"
            "  leave indices out, or add axes to the array: x[..., None]"
        )
    return used


def with_mask_axes(index: Any, x: Array) -> tuple[tuple[Any, ...], Array]:
    """The same elements without scalar bools: each is an axis of size 1, of which it takes the one element or none."""
    items, axes = items_with_axes(index, x)
    masks = [i for i, item in enumerate(items) if _is_scalar_mask(item)]
    axes_used(items, x)
    for i in masks:
        mask = items[i]
        items[i] = insert_axes(mask, [0]) if _core.is_traced(mask) else np.zeros(int(bool(mask)), np.int32)
    return tuple(items), insert_axes(x, [axes[i] + count for count, i in enumerate(masks)])


_MOST_AXES = 64


def _expand(index: Any, x: Array) -> list[Any] | None:
    """The items of an index, one for each axis and None; masks as integer arrays, an ellipsis followed by the slices it means.

    None when there are scalar bools, for which the array needs axes first.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    expanded: list[Any] = []
    for item in items:
        if isinstance(item, (list, tuple, range)):
            item = (
                _core.array(item)
                if _contains_arrays(item)
                else np.asarray(item if len(item) else np.zeros(0, np.int32))
            )
        if is_mask(item):
            if np.ndim(item) == 0:
                return None
            sized = is_sized_mask(item)
            try:
                mask: Any = item if sized else np.asarray(_core.to_numpy(item))
            except ConcretizationError as error:
                raise NonConcreteBooleanIndexError(
                    with_hint(error, _INSTEAD_OF_MASK, "shape-that-depends-on-values")
                ) from None
            axis = sum(1 for other in expanded if other is not None and other is not Ellipsis)
            if Ellipsis not in [other for other in expanded if isinstance(other, EllipsisType)]:
                check_mask(mask, axis, x)
            expanded += sized_positions(mask) if sized else [found.astype(np.int32) for found in np.nonzero(mask)]
            continue
        expanded.append(item)
    used = axes_used(expanded, x)
    positions = [i for i, item in enumerate(expanded) if isinstance(item, EllipsisType)]
    if len(positions) > 1:
        raise IndexError(
            "an index can have only one ellipsis (...)\n  write : for each axis that another one stands for"
        )
    fill = [slice(None)] * (x.ndim - used)
    if positions:
        return expanded[: positions[0] + 1] + fill + expanded[positions[0] + 1 :]
    return expanded + fill


def _contains_arrays(item: Any, depth: int = 0) -> bool:
    if isinstance(item, (list, tuple)):
        if depth == _MOST_AXES:
            raise IndexError(
                f"a list in an index has more than {_MOST_AXES} levels, or contains itself\n"
                "  index with an array of integers, or a flat list"
            )
        return any(_contains_arrays(part, depth + 1) for part in item)
    return isinstance(item, Array)


def static_index(item: Any) -> int | None:
    """An int known from the program text, or None."""
    if isinstance(item, (int, np.integer)):
        return int(item)
    if isinstance(item, np.ndarray) and item.ndim == 0 and item.dtype.kind in "iu":
        return int(item)
    return None


# Whether an index outside that is written in the program is clamped and dropped as those in arrays are: so it is in programs for JAX.
constants_are_as_arrays = False


def resolve(index: Any, x: Array) -> Plan | None:
    """The plan of ``x[index]``; None when there are scalar bools, for which `with_mask_axes` makes axes first."""
    items = _expand(index, x)
    if items is None:
        return None
    sizes = x._bound_shape
    ragged = _core.ragged_axes(x)
    plan = Plan([0] * x.ndim, list(sizes), [1] * x.ndim)
    basic = (NoneType, EllipsisType, slice)
    gathers = any(not isinstance(item, basic) and static_index(item) is None for item in items)
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
        elif (number := static_index(item)) is not None:
            outside = not -sizes[axis] <= number < sizes[axis]
            if outside and not constants_are_as_arrays:
                raise IndexError(
                    f"index {number} out of bounds for axis {axis} with size {sizes[axis]}\n  {_range_of(sizes[axis])}"
                    "\n  see docs/errors.md#index-out-of-bounds"
                )
            if gathers or outside or axis in ragged:
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
                f"  {_WHOLE_INDEX if _is_fraction(item) else 'an index is made of ints, slices, None, ... and integer or bool arrays'}"
            ) from None
    if isinstance(item, (np.ndarray, np.generic)):
        array: Any = np.asarray(item)
        numeric = array.dtype.kind in "iu"
    else:
        array = _core.array(item)
        numeric = is_integer(array)
    if not numeric:
        text = f"arrays used as indices must be of integers or bools; axis {axis} is indexed with {array.dtype}"
        raise TypeError(
            # What is made of sizes and numbers alone is weak; what comes from data is not.
            placed(text, _WHOLE if getattr(array, "weak_type", False) else _WHOLE_LABEL)
            if array.ndim == 0 and _is_fraction(array)
            else f"{text}\n  convert them with .astype('int32')"
        )
    return array


def _step(value: Any, axis: int) -> int:
    try:
        step = 1 if value is None else operator.index(value)
    except TypeError:
        raise TypeError(
            f"the step of a slice must be a known integer or None; axis {axis} has {value!r}\n"
            "  write the step as a number, x[::2], or give it to the function as a static argument"
        ) from None
    if step == 0:
        raise ValueError(
            "slice step cannot be zero\n  write x[start:stop] for every element, x[::-1] for the reverse order"
        )
    return step


def _is_fraction(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, Array) and _core.kind(value) == "float")


def _bound(value: Any, axis: int) -> Any:
    """A bound of a slice: an int, None, or a size that is a value."""
    if value is None or isinstance(value, Dim):
        return value
    try:
        return operator.index(value)
    except TypeError:
        if is_scalar_integer(value):
            # Outside of masks this is an error, which the functions that capture may answer with a mask.
            return value if _core.in_mask() else as_dimension(value, f"a slice bound of axis {axis}")
        text = f"slice bounds must be integers or None; axis {axis} has {value!r}"
        raise TypeError(
            placed(text, _WHOLE) if _is_fraction(value) else f"{text}\n  write the bounds as numbers: x[0:2]"
        ) from None


def _window(plan: Plan, x: Array, axis: int, item: slice, ragged: list[int]) -> None:
    if item.start is None and item.stop is None and item.step is None:
        return
    step = _step(item.step, axis)
    plan.has_window = True
    item = slice(_bound(item.start, axis), _bound(item.stop, axis), step)
    if axis in ragged or is_sized(item):
        size = symbolic_size(x, axis)
        plan.sized[axis] = resolve_slice(size, item, step, axis)
        return
    start, stop, stride = item.indices(x._bound_shape[axis])
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
