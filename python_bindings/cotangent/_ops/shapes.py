"""The same elements in another arrangement: reshape, transpose, broadcast, flip, roll."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths, set_length
from cotangent._base.device import Placement
from cotangent._core import Array, entrance
from cotangent._ops.arithmetic import remainder
from cotangent._ops.binding import apart, own
from cotangent._ops.extents import check_stretch, drop_axes, slice_axis
from cotangent._ops.reshaping import missing_size, reshaped
from cotangent._ops.sizes import (
    axis_size,
    check_rank,
    common_shape,
    insert_axes,
    normalize_axes,
    normalize_axis,
    ragged_length,
    several,
    static_shape,
    swap_last,
    symbolic_shape,
    symbolic_sizes,
    type_of,
)
from cotangent.errors import ConcretizationError

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "moveaxis",
    "ndim",
    "permute_dims",
    "ravel",
    "reshape",
    "roll",
    "rollaxis",
    "rot90",
    "shape",
    "size",
    "squeeze",
    "swapaxes",
    "transpose",
]


def shape(a: Any) -> tuple[Any, ...]:
    """Sizes of the axes."""
    return type_of(a)[0]


def ndim(a: Any) -> int:
    """Number of axes."""
    return len(type_of(a)[0])


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """Number of elements, or the size of an axis, or the product of the sizes of some."""
    shape, _, _ = type_of(a)
    if axis is None:
        return a.size if isinstance(a, Array) else math.prod(shape)
    sizes = [shape[i] for i in normalize_axes(axis, len(shape), "size")]
    return sizes[0] if len(sizes) == 1 else math.prod(sizes)


@entrance("reshape", primitives.reshape)
@own
def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Placement = None) -> Array:
    """The elements in row-major order under another shape; one size may be -1, which the others determine.

    With ``order="F"`` elements are taken and placed in column-major order.

    Raises:
        ShapeError: the sizes do not have the same product.

    >>> import cotangent as ct
    >>> ct.numpy.reshape(ct.numpy.arange(6), (2, -1)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    if order not in ("C", "F", "K", "A"):
        raise ValueError(f"reshape: order must be 'C', 'F', 'A' or 'K'; got {order!r}")
    array = _core.array(a)
    sizes = list(symbolic_shape(shape, "reshape", least=-1))
    missing = [axis for axis, size in enumerate(sizes) if isinstance(size, int) and size == -1]
    if len(missing) > 1:
        raise ValueError(f"reshape: only one size can be -1; got {tuple(sizes)}")
    if missing:
        sizes[missing[0]] = missing_size(array, sizes)
    if all(isinstance(size, int) for size in sizes) and not _core.ragged_axes(array):
        if tuple(sizes) == array._bound_shape:
            return apart(array, a) if copy else array
        if order == "F":
            return transpose(primitives.reshape(transpose(array), shape=sizes[::-1]))
        return primitives.reshape(array, shape=sizes)
    if order == "F":
        return transpose(reshaped(transpose(array), sizes[::-1]))
    return reshaped(array, sizes)


@own
def ravel(a: Any, order: str = "C", *, out_sharding: Placement = None) -> Array:
    """All elements along one axis."""
    array = _core.array(a)
    return reshape(array, (array.size,), order)


@entrance("transpose", primitives.transpose)
@own
def transpose(a: Any, axes: Sequence[int] | None = None) -> Array:
    """Axes reversed, or in the order ``axes``."""
    array = _core.array(a)
    if axes is None:
        permutation = list(range(array.ndim))[::-1]
    else:
        permutation = [normalize_axis(axis, array.ndim, "transpose") for axis in axes]
    if sorted(permutation) != list(range(array.ndim)):
        raise ValueError(f"transpose: axes {tuple(axes or ())} are not a permutation of the {array.ndim} axes")
    if permutation == list(range(array.ndim)):
        return array
    return primitives.transpose(array, permutation=permutation)


permute_dims = transpose


def matrix_transpose(x: Any, /) -> Array:
    """The last two axes exchanged."""
    array = _core.array(x)
    if array.ndim < 2:
        raise ValueError(f"matrix_transpose needs at least two axes; got shape {array.shape}")
    return swap_last(array)


@own
def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """Two axes exchanged."""
    array = _core.array(a)
    order = list(range(array.ndim))
    i, j = normalize_axis(axis1, array.ndim, "swapaxes"), normalize_axis(axis2, array.ndim, "swapaxes")
    order[i], order[j] = j, i
    return transpose(array, order)


@own
def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Axes ``source`` moved to the positions ``destination``; the others keep their order."""
    array = _core.array(a)
    sources = [normalize_axis(i, array.ndim, "moveaxis") for i in ([source] if isinstance(source, int) else source)]
    targets = [
        normalize_axis(i, array.ndim, "moveaxis")
        for i in ([destination] if isinstance(destination, int) else destination)
    ]
    if len(sources) != len(targets) or len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise ValueError(f"moveaxis: source {source} and destination {destination} must name as many different axes")
    order = [axis for axis in range(array.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return transpose(array, order)


@own
def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """``axis`` moved before the axis that is at ``start``."""
    array = _core.array(a)
    axis = normalize_axis(axis, array.ndim, "rollaxis")
    start = start + array.ndim if start < 0 else start
    return moveaxis(array, axis, start - 1 if axis < start else start)


@own
def expand_dims(a: Any, axis: int | Sequence[int]) -> Array:
    """New axes of size 1 at positions of the result."""
    array = _core.array(a)
    items = axis if several(axis) else [axis]
    rank = check_rank(array.ndim + len(items), "expand_dims")
    return insert_axes(array, normalize_axes(items, rank, "expand_dims")) if len(items) else array


@own
def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Array:
    """Axes of size 1 removed: all, or those named.

    Raises:
        ValueError: a named axis has another size.
        ConcretizationError: no axis is named, and inside ``ct.mask`` one is ragged: it has size 1 for one length, not for others.
    """
    array = _core.array(a)
    sizes = array._bound_shape
    ragged = _core.ragged_axes(array)
    if axis is None:
        axes = [i for i, item in enumerate(sizes) if item == 1]
        for i in ragged:
            if sizes[i] >= 1:
                raise ConcretizationError(
                    f"squeeze: whether axis {i} has size 1 depends on its length, anything from 0 to {sizes[i]}\n"
                    "  name the axes to remove: squeeze(x, axis=...)"
                )
    else:
        axes = normalize_axes(axis, array.ndim, "squeeze")
        for i in axes:
            if sizes[i] != 1 or i in ragged:
                raise ValueError(f"squeeze: axis {i} has size {array.shape[i]}, not 1; the shape is {array.shape}")
    return drop_axes(array, axes) if axes else array


@own
def broadcast_to(array: Any, shape: Any, *, out_sharding: Placement = None) -> Array:
    """The array stretched to a shape.

    Raises:
        ShapeError: a size is neither equal nor 1.
    """
    x = _core.array(array)
    sizes, lengths = static_shape(shape, "broadcast_to")
    check_stretch("broadcast_to", x, sizes, lengths, range(len(sizes) - x.ndim, len(sizes)))
    wide = _core.broadcast_to(x, sizes)
    ragged = _core.ragged_axes(wide) if lengths else ()
    return give_lengths(wide, {axis: length for axis, length in lengths.items() if axis not in ragged})


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The common shape of arrays of these shapes."""
    return common_shape([symbolic_shape(item, "broadcast_shapes") for item in shapes])


@own
def broadcast_arrays(*args: Any) -> list[Array]:
    """The arrays stretched to their common shape."""
    arrays = [_core.array(x) for x in args]
    _core.check_sizes(arrays)
    common = _core.broadcast_shapes([x._bound_shape for x in arrays])
    lengths = {
        axis + len(common) - x.ndim: ragged_length(x, axis) for x in reversed(arrays) for axis in _core.ragged_axes(x)
    }
    return [give_lengths(_core.broadcast_to(x, common), lengths) for x in arrays]


def _atleast(rank: int, args: tuple[Any, ...]) -> Any:
    results = []
    for x in args:
        array = _core.array(x)
        missing = rank - array.ndim
        if missing > 0:
            # Two axes become the first two of three, as in NumPy.
            positions = (
                [0, 2]
                if rank == 3 and array.ndim == 1
                else [2]
                if rank == 3 and array.ndim == 2
                else list(range(missing))
            )
            array = insert_axes(array, positions)
        results.append(array)
    return results[0] if len(results) == 1 else results


@own
def atleast_1d(*args: Any) -> Any:
    """Arrays with at least one axis."""
    return _atleast(1, args)


@own
def atleast_2d(*args: Any) -> Any:
    """Arrays with at least two axes."""
    return _atleast(2, args)


@own
def atleast_3d(*args: Any) -> Any:
    """Arrays with at least three axes."""
    return _atleast(3, args)


@own
def flip(m: Any, axis: int | Sequence[int] | None = None) -> Array:
    """Elements in reverse order along axes."""
    return _flipped("flip", m, axis)


def _flipped(name: str, m: Any, axis: int | Sequence[int] | None) -> Array:
    array = _core.array(m)
    axes = normalize_axes(axis, array.ndim, name)
    return primitives.reverse(array, axes=axes) if axes else array


def fliplr(m: Any) -> Array:
    """The second axis reversed."""
    return _flipped("fliplr", m, 1)


def flipud(m: Any) -> Array:
    """The first axis reversed."""
    return _flipped("flipud", m, 0)


@own
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Rotated by quarter turns in the plane of two axes, from the first toward the second."""
    array = _core.array(m)
    i, j = (normalize_axis(axis, array.ndim, "rot90") for axis in axes)
    if i == j:
        raise ValueError(f"rot90: axes must be different; got {axes}")
    turns = k % 4
    if turns == 0:
        return array
    if turns == 2:
        return flip(array, (i, j))
    return swapaxes(flip(array, j), i, j) if turns == 1 else flip(swapaxes(array, i, j), j)


def roll(a: Any, shift: Any, axis: int | Sequence[int] | None = None) -> Array:
    """Elements moved along axes, those pushed out coming in again at the other end."""
    array = _core.array(a)
    if isinstance(shift, (Array, np.ndarray)) and shift.ndim:
        shift = tuple(shift)
    if axis is None:
        return reshaped(roll(ravel(array), shift, 0), symbolic_sizes(array))
    axes = [normalize_axis(i, array.ndim, "roll") for i in (axis if several(axis) else (axis,))]
    shifts = list(shift) if several(shift) else [shift]
    if len(shifts) != len(axes):
        if 1 not in (len(axes), len(shifts)):
            raise ValueError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
        count = max(len(axes), len(shifts))
        axes, shifts = axes * (count // len(axes)), shifts * (count // len(shifts))
    for amount, position in zip(shifts, axes, strict=True):
        length = array._bound_shape[position]
        if length == 0:
            continue
        if isinstance(amount, Array) or position in _core.ragged_axes(array):
            array = _roll_dynamic(array, amount, position)
            continue
        cut = -int(amount) % length
        if cut:
            array = primitives.concatenate(
                slice_axis(array, position, cut, length),
                slice_axis(array, position, 0, cut),
                axis=position,
            )
    return array


def _roll_dynamic(x: Array, shift: Any, axis: int) -> Array:
    """By computed positions, for a shift or a size that is a value."""
    count = axis_size(x, axis)
    index = primitives.iota(shape=[x._bound_shape[axis]], dtype=np.dtype("int32"), axis=0)
    if isinstance(count, Array):
        index = set_length(index, count, 0)
    index = remainder(index - _core.convert(shift, "int32"), count)
    result = primitives.gather(x, index, axis=axis, batch_dims=0)
    return set_length(result, count, axis) if isinstance(count, Array) else result


check_arguments(globals())
