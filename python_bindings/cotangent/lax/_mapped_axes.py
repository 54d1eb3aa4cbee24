"""What collectives are made of: named axes, groups of examples, values of all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.capture import RAGGED_NAMES, axis_text, flatten_arguments, set_length
from cotangent._base.dimensions import Dim
from cotangent._core import Array, Primitive
from cotangent._ops.extents import capacity, join_axes, split_axis
from cotangent._ops.sizes import normalize_axes
from cotangent.errors import ShapeError

Axis = tuple[str, int]  # name and size
Groups = Sequence[Sequence[int]] | None


def _axes(axis_name: Hashable, what: str) -> list[Axis]:
    """The named axes, outermost first."""
    bound: dict[str, int] = {}
    for name, size in _core.named_axes():
        bound.setdefault(name, size)
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    found = []
    for name in names:
        text = axis_text(name)
        if text not in bound:
            known = f"bound here: {', '.join(map(repr, bound))}" if bound else "no axis is bound here"
            raise NameError(
                f"{what}: the axis name {name!r} is not bound; {known}\n  call it in a function under vmap(..., axis_name={name!r})"
                "\n  see docs/errors.md#axis-name-not-bound"
            )
        found.append((text, bound[text]))
    return found


def _parted(axis_name: Hashable, groups: Groups, what: str) -> tuple[list[Axis], list[int]]:
    """The named axes, and the integers, which are axes of the array."""
    given = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    positions = [int(axis) for axis in given if isinstance(axis, int)]
    if positions and groups is not None:
        raise ValueError(
            f"{what}: axis_index_groups are of named axes alone; got {axis_name!r}\n"
            "  take the integers out of it: reduce over axes of the array in a call of its own"
        )
    return _axes(tuple(axis for axis in given if not isinstance(axis, int)), what), positions


def _reduced(primitive: Primitive, x: Array, positions: Sequence[int], what: str) -> Array:
    if not positions:
        return x
    return primitive(x, axes=normalize_axes(tuple(positions), x.ndim, what))


def _bind(primitive: Primitive, operands: list[Array], axis: Axis, **attributes: Any) -> Array:
    return primitive(*operands, axis_name=axis[0], axis_size=axis[1], **attributes)


def _map(f: Callable[[Array], Array], x: Any, what: str) -> Any:
    leaves, structure = flatten_arguments(x, what)
    return structure.unflatten([f(leaf) for leaf in leaves])


def _size(axes: Sequence[Axis]) -> int:
    for name, _ in axes:
        if name in RAGGED_NAMES.get():
            raise NotImplementedError(
                f"the axis named {name!r} is ragged: how many examples there are is not known\n"
                "  use psum, pmean, pmax, pmin and all_gather, which leave the padding out, or map over an exact axis"
            )
    return int(np.prod([size for _, size in axes], dtype=np.int64))


def _count(axes: Sequence[Axis]) -> Any:
    """The number of examples: an int, or a size where an axis is ragged."""
    lengths = RAGGED_NAMES.get()
    sizes = [Dim(size, lengths[name], f"axis {name!r}") if name in lengths else size for name, size in axes]
    return math.prod(sizes)


def _move(x: Array, source: int, target: int) -> Array:
    order = [axis for axis in range(x.ndim) if axis != source]
    order.insert(target, source)
    return primitives.transpose(x, permutation=order) if order != list(range(x.ndim)) else x


def _take(x: Array, index: Any) -> Array:
    return primitives.gather(x, index, axis=0, batch_dims=0)


def _sum(x: Array) -> Array:
    return primitives.reduce_sum(x, axes=[0])


def _gather(x: Array, axes: Sequence[Axis]) -> Array:
    """``x`` of all examples, along a new first axis."""
    for axis in reversed(axes):
        x = _bind(primitives.all_gather, [x], axis)
        length = RAGGED_NAMES.get().get(axis[0])
        if length is not None and 0 not in _core.ragged_axes(x):
            x = set_length(x, length, 0)
    if len(axes) == 1:
        return x
    _size(axes)  # which must be known
    return join_axes(x, 0, len(axes))


def _exchange(x: Array, axes: Sequence[Axis]) -> Array:
    """Entry j of example i becomes entry i of example j."""
    if len(axes) == 1:
        return _bind(primitives.all_to_all, [x], axes[0])
    x = split_axis(x, 0, [size for _, size in axes])
    for position, axis in enumerate(axes):
        x = _move(_bind(primitives.all_to_all, [_move(x, position, 0)], axis), 0, position)
    return join_axes(x, 0, len(axes))


def _index(axes: Sequence[Axis]) -> Array:
    result = _core.full((), 0, "int32")
    for axis in axes:
        result = result * axis[1] + _bind(primitives.axis_index, [], axis)
    return result


def _grouped(groups: Groups, axes: Sequence[Axis], what: str) -> tuple[Any, Array, Array]:
    """The groups as an array, the group that this example is in, and its place there."""
    size = _size(axes)
    members = [list(map(int, group)) for group in groups or ()]
    if sorted(i for group in members for i in group) != list(range(size)):
        raise ValueError(
            f"{what}: axis_index_groups must name each of the {size} examples once; got {groups}\n"
            f"  pass lists that hold each of 0 … {size - 1} once, of equal lengths, as axis_index_groups=[[0, 1], [2, 3]] is for four"
        )
    if len({len(group) for group in members}) > 1:
        raise ValueError(
            f"{what}: the groups of axis_index_groups must have one size; got {groups}\n"
            "  divide the examples evenly, or select with ct.numpy.where before a collective over all of them"
        )
    table = np.array(members, np.int32)
    of, place = np.zeros(size, np.int32), np.zeros(size, np.int32)
    for number, group in enumerate(members):
        of[group] = number
        place[group] = np.arange(len(group))
    index = _index(axes)
    return _core.array(table), _take(_core.array(of), index), _take(_core.array(place), index)


def _gather_group(x: Array, axes: Sequence[Axis], groups: Groups, what: str) -> Array:
    if groups is None:
        return _gather(x, axes)
    table, own, _ = _grouped(groups, axes, what)
    return _take(_take(_gather(x, axes), table), own)


def _number(x: Array) -> Array:
    return _core.convert(x, "int32") if x.dtype == bool else x


def _position(axis: int, rank: int, what: str) -> int:
    if not -rank <= axis < rank:
        range_of = f"pass an axis from {-rank} to {rank - 1}" if rank else "pass arrays with an axis to be divided"
        raise ValueError(f"{what}: there is no axis {axis}; the array has {rank} axes\n  {range_of}")
    return axis % rank


def _split(x: Array, axis: int, parts: int, tiled: bool, what: str) -> Array:
    """The parts of an axis along a new first axis."""
    axis = _position(axis, x.ndim, what)
    size = capacity(x, axis)
    if not tiled:
        if size != parts:
            repair = (
                f"reshape it to ({parts}, {size // parts}) first"
                if size and size % parts == 0
                else f"cut or pad it to {parts}"
            )
            raise ShapeError(
                f"{what}: axis {axis} has size {size}; it must have the size of the named axis, {parts}\n"
                f"  {repair}, or pass tiled=True if each example takes several elements"
            )
        return _move(x, axis, 0)
    if size % parts:
        raise ShapeError(
            f"{what}: axis {axis} of size {size} cannot be divided among {parts} examples\n"
            f"  pad it to {-(-size // parts) * parts} elements, or cut it to {size // parts * parts}"
        )
    return _move(split_axis(x, axis, [parts, size // parts]), axis, 0)
