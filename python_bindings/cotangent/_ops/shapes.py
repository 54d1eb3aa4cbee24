"""The same elements in another arrangement: reshape, transpose, join, split, repeat, flip, pad."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths, set_length
from cotangent._base.device import check_placement
from cotangent._core import Array, entrance
from cotangent._ops.arithmetic import remainder
from cotangent._ops.binding import apart, convert, own
from cotangent._ops.reductions import cumsum
from cotangent._ops.sizes import (
    axis_size,
    bound_size,
    check_rank,
    common_shape,
    insert_axes,
    normalize_axes,
    normalize_axis,
    ragged_length,
    refuse_ragged,
    several,
    static_count,
    static_int,
    static_shape,
    swap_last,
    symbolic_shape,
    type_of,
)
from cotangent._ops.sorting import searchsorted
from cotangent.errors import ConcretizationError, ShapeError

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "matrix_transpose",
    "moveaxis",
    "ndim",
    "permute_dims",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "rollaxis",
    "rot90",
    "shape",
    "size",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "transpose",
    "unstack",
    "vsplit",
    "vstack",
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
def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Any = None) -> Array:
    """The elements in row-major order under another shape; one size may be -1, which the others determine.

    With ``order="F"`` elements are taken and placed in column-major order.

    Raises:
        ShapeError: the sizes do not have the same product.

    >>> import cotangent as ct
    >>> ct.numpy.reshape(ct.numpy.arange(6), (2, -1)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    check_placement(out_sharding, "reshape")
    if order not in ("C", "F", "K", "A"):
        raise ValueError(f"reshape: order must be 'C', 'F', 'A' or 'K'; got {order!r}")
    array = _core.array(a)
    sizes, lengths = static_shape(shape, "reshape", least=-1)
    if sizes.count(-1) > 1:
        raise ValueError(f"reshape: only one size can be -1; got {tuple(sizes)}")
    if lengths and not _core.ragged_axes(array):
        if -1 in sizes:
            raise NotImplementedError(
                f"reshape: the size -1 beside a ragged one of {bound_size(array)} elements depends on values\n"
                "  give all sizes, or leave the mask for it"
            )
        return give_lengths(reshape(array, sizes, order), lengths)
    if -1 in sizes:
        rest = math.prod(item for item in sizes if item != -1)
        if rest == 0 or bound_size(array) % rest:
            raise ShapeError(f"reshape: {array.size} elements of shape {array.shape} do not fill {tuple(sizes)}")
        sizes[sizes.index(-1)] = bound_size(array) // rest
    if tuple(sizes) == array._bound_shape:
        return apart(array, a) if copy else array
    if order == "F":
        return transpose(primitives.reshape(transpose(array), shape=sizes[::-1]))
    return primitives.reshape(array, shape=sizes)


@own
def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Array:
    """All elements along one axis."""
    check_placement(out_sharding, "ravel")
    return reshape(a, (-1,) if bound_size(_core.array(a)) else (0,), order)


@entrance("transpose", primitives.transpose)
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
    return primitives.reshape(array, shape=[item for i, item in enumerate(sizes) if i not in axes]) if axes else array


def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Array:
    """The array stretched to a shape.

    Raises:
        ShapeError: a size is neither equal nor 1.
    """
    check_placement(out_sharding, "broadcast_to")
    sizes, lengths = static_shape(shape, "broadcast_to")
    wide = _core.broadcast_to(array, sizes)
    ragged = _core.ragged_axes(wide) if lengths else ()
    return give_lengths(wide, {axis: length for axis, length in lengths.items() if axis not in ragged})


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The common shape of arrays of these shapes."""
    return common_shape([symbolic_shape(item, "broadcast_shapes") for item in shapes])


@own
def broadcast_arrays(*args: Any) -> list[Array]:
    """The arrays stretched to their common shape."""
    arrays = [_core.array(x) for x in args]
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


# ---- Joining ---------------------------------------------------------------------------------------------------------


def _joined_dtype(arrays: list[Array], dtype: Any) -> list[Array]:
    if dtype is None:
        common = _core.promote_types([(x.dtype, x.weak_type) for x in arrays])[0]
        return [_core.convert(x, common) for x in arrays]
    return [convert(x, dtype) for x in arrays]


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Array:
    """Arrays joined along an axis; with None, flattened first.

    Raises:
        ValueError: there are no arrays, or one has no axes. ShapeError: shapes differ on another axis.

    >>> import cotangent as ct
    >>> ct.numpy.concatenate([ct.numpy.zeros(1), ct.numpy.ones(2)]).tolist()
    [0.0, 1.0, 1.0]
    """
    items = [_core.array(x) for x in arrays]
    if not items:
        raise ValueError("concatenate needs at least one array")
    if axis is None:
        items, axis = [ravel(x) for x in items], 0
    if any(x.ndim == 0 for x in items):
        raise ValueError(
            "concatenate: arrays without axes cannot be joined\n  use stack, or give them an axis with reshape(1)"
        )
    axis = normalize_axis(axis, items[0].ndim, "concatenate")
    return primitives.concatenate(*_joined_dtype(items, dtype), axis=axis)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Array:
    """Arrays joined along an axis; with None, flattened first."""
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Array:
    """Arrays of one shape joined along a new axis.

    Raises:
        ValueError: there are no arrays, or shapes differ.
    """
    if out is not None:
        raise NotImplementedError("stack: the out argument is not supported")
    items = [_core.array(x) for x in arrays]
    if not items:
        raise ValueError("stack needs at least one array")
    if any(x._bound_shape != items[0]._bound_shape for x in items):
        raise ValueError(f"stack: all arrays must have the same shape; got {[x.shape for x in items]}")
    position = normalize_axis(axis, items[0].ndim + 1, "stack")
    return primitives.concatenate(*_joined_dtype([insert_axes(x, [position]) for x in items], dtype), axis=position)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The slices of an axis."""
    moved = moveaxis(x, axis, 0)
    refuse_ragged("unstack", moved, [0], "the number of slices depends on its length")
    return tuple(moved[i] for i in range(moved._bound_shape[0]))


def vstack(tup: Any, dtype: Any = None) -> Array:
    """Arrays of at least two axes joined along the first."""
    return concatenate([atleast_2d(x) for x in tup], 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Array:
    """Arrays joined along the second axis, or the only one."""
    items = [atleast_1d(x) for x in tup]
    if not items:
        raise ValueError("hstack needs at least one array")
    return concatenate(items, 0 if items[0].ndim == 1 else 1, dtype)


def dstack(tup: Any, dtype: Any = None) -> Array:
    """Arrays of at least three axes joined along the third."""
    return concatenate([atleast_3d(x) for x in tup], 2, dtype)


def column_stack(tup: Any) -> Array:
    """One-axis arrays as columns, and two-axis arrays, side by side."""
    items = [_core.array(x) for x in tup]
    return concatenate([insert_axes(atleast_1d(x), [1]) if x.ndim < 2 else x for x in items], 1)


@own
def block(arrays: Any) -> Array:
    """An array from nested lists of blocks: the innermost lists are joined along the last axis, the next along the one before.

    >>> import cotangent as ct
    >>> ct.numpy.block([[ct.numpy.ones((1, 1)), ct.numpy.zeros((1, 2))]]).tolist()
    [[1.0, 0.0, 0.0]]
    """

    def depth_of(item: Any, above: int = 0) -> int:
        if not isinstance(item, list):
            return 0
        if not item:
            raise ValueError("block: a list is empty")
        if above == 64:
            raise ValueError("block: lists nest deeper than the 64 axes of an array, or contain themselves")
        depths = {depth_of(part, above + 1) for part in item}
        if len(depths) != 1:
            raise ValueError(f"block: lists are nested to different depths, {sorted(depths)}")
        return depths.pop() + 1

    def rank_of(item: Any) -> int:
        return max(map(rank_of, item)) if isinstance(item, list) else _core.array(item).ndim

    depth = depth_of(arrays)
    rank = max(depth, rank_of(arrays))

    def join(item: Any, axis: int) -> Array:
        if isinstance(item, list):
            return concatenate([join(part, axis + 1) for part in item], axis)
        array = _core.array(item)
        return insert_axes(array, list(range(rank - array.ndim))) if array.ndim < rank else array

    return join(arrays, rank - depth)


def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """``values`` joined to the end of ``arr``."""
    return concatenate([arr, values], axis)


# ---- Splitting -------------------------------------------------------------------------------------------------------


def slice_axis(x: Array, axis: int, start: int, limit: int) -> Array:
    """The elements [start, limit) of an axis."""
    starts, limits = [0] * x.ndim, list(x._bound_shape)
    starts[axis], limits[axis] = start, limit
    return primitives.slice(x, start=starts, limit=limits, stride=[1] * x.ndim)


def _split(name: str, ary: Any, indices_or_sections: Any, axis: int, equal: bool) -> list[Array]:
    array = _core.array(ary)
    axis = normalize_axis(axis, array.ndim, name)
    if axis in _core.ragged_axes(array):
        raise NotImplementedError(
            f"{name} along a ragged axis is not supported\n  take slices with static bounds instead"
        )
    total = array._bound_shape[axis]
    if isinstance(indices_or_sections, (tuple, list, np.ndarray, Array)) and np.ndim(indices_or_sections) > 0:
        cuts = [static_int(i, f"{name}: an index") for i in indices_or_sections]
        cuts = [min(max(i + total if i < 0 else i, 0), total) for i in cuts]
        bounds = [0, *cuts, total]
    else:
        sections = static_int(indices_or_sections, f"{name}: the number of sections")
        if sections <= 0:
            raise ValueError(f"{name}: the number of sections must be positive; got {sections}")
        if equal and total % sections:
            raise ValueError(
                f"{name}: {total} elements along axis {axis} do not divide into {sections} equal parts\n"
                "  use array_split"
            )
        base, extra = divmod(total, sections)
        bounds = [0]
        for i in range(sections):
            bounds.append(bounds[-1] + base + (1 if i < extra else 0))
    return [
        slice_axis(array, axis, start, max(start, limit)) for start, limit in zip(bounds[:-1], bounds[1:], strict=True)
    ]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Parts of an axis: so many equal ones, or cut at indices.

    Raises:
        ValueError: the axis does not divide into equal parts.
    """
    return _split("split", ary, indices_or_sections, axis, True)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Parts of an axis of sizes that differ by at most 1, or cut at indices."""
    return _split("array_split", ary, indices_or_sections, axis, False)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts along the first axis."""
    return _split("vsplit", ary, indices_or_sections, 0, True)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts along the second axis, or the only one."""
    return _split("hsplit", ary, indices_or_sections, 0 if _core.array(ary).ndim == 1 else 1, True)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Parts along the third axis."""
    return _split("dsplit", ary, indices_or_sections, 2, True)


# ---- Repeating and moving --------------------------------------------------------------------------------------------


@own
def tile(A: Any, reps: int | Sequence[int]) -> Array:
    """The array repeated as a whole, so many times along each axis."""
    counts = [static_int(i, "tile: a count") for i in (reps if several(reps) else (reps,))]
    if any(count < 0 for count in counts):
        raise ValueError(f"tile: counts must not be negative; got {reps}")
    array = _core.array(A)
    if len(counts) > array.ndim:
        array = insert_axes(array, list(range(len(counts) - array.ndim)))
    counts = [1] * (array.ndim - len(counts)) + counts
    ragged = _core.ragged_axes(array)
    for axis in ragged:
        if counts[axis] > 1:
            array = primitives.concatenate(*[array] * counts[axis], axis=axis)
            counts[axis] = 1
    if all(count == 1 for count in counts):
        return array
    sizes = array._bound_shape
    wide: list[int] = []
    kept: list[int] = []
    for count, item in zip(counts, sizes, strict=True):
        if count != 1:
            wide.append(count)
        kept.append(len(wide))
        wide.append(item)
    repeated = primitives.broadcast(array, shape=wide, axes=kept)
    return primitives.reshape(repeated, shape=[count * item for count, item in zip(counts, sizes, strict=True)])


def repeat(
    a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None, out_sharding: Any = None
) -> Array:
    """Each element repeated in place: so many times, or a number for each.

    Args:
        total_repeat_length: the size of the result, cut off or filled up with the last element; needed where the numbers are not known.
    """
    check_placement(out_sharding, "repeat")
    array = _core.array(a)
    if axis is None:
        array, axis = ravel(array), 0
    axis = normalize_axis(axis, array.ndim, "repeat")
    length = array._bound_shape[axis]
    ragged = axis in _core.ragged_axes(array)
    # Behind a length that is a value nothing can be cut or filled up by numbers: the elements are counted in the program.
    counted = ragged and total_repeat_length is not None
    number = None
    if np.ndim(repeats) == 0 and not isinstance(repeats, Array):
        number = static_count(repeats, "repeat: counts")
    if number is not None and not counted:
        sizes = list(array._bound_shape)
        wide = [*sizes[: axis + 1], number, *sizes[axis + 1 :]]
        kept = [i if i <= axis else i + 1 for i in range(array.ndim)]
        sizes[axis] *= number
        result = primitives.reshape(primitives.broadcast(array, shape=wide, axes=kept), shape=sizes)
    elif total_repeat_length is not None and length > 0:
        times = _core.broadcast_to(_core.array(repeats), [length])
        if ragged and not _core.ragged_axes(times):
            times = set_length(times, ragged_length(array, axis), 0)
        ends = cumsum(times)
        position = primitives.iota(shape=[total_repeat_length], dtype=ends.dtype, axis=0)
        reached = _core.convert(searchsorted(ends, position, side="right"), "int32")
        last = _core.full(reached._bound_shape, length - 1, reached.dtype)
        if _core.ragged_axes(ends):
            last = primitives.max(_core.broadcast_to(ragged_length(ends, 0) - 1, last._bound_shape), last - last)
        reached = primitives.min(reached, last)
        return primitives.gather(array, reached, axis=axis, batch_dims=0)
    else:
        counts = np.broadcast_to(_core.to_numpy(repeats), (length,))
        index = np.repeat(np.arange(length, dtype=np.int32), counts)
        result = primitives.gather(array, _core.array(index), axis=axis, batch_dims=0)
    if total_repeat_length is None:
        return result
    available = result._bound_shape[axis]
    if total_repeat_length <= available:
        return slice_axis(result, axis, 0, total_repeat_length)
    index = np.minimum(np.arange(total_repeat_length, dtype=np.int32), available - 1)
    return primitives.gather(result, _core.array(index), axis=axis, batch_dims=0)


@own
def flip(m: Any, axis: int | Sequence[int] | None = None) -> Array:
    """Elements in reverse order along axes."""
    array = _core.array(m)
    axes = normalize_axes(axis, array.ndim, "flip")
    return primitives.reverse(array, axes=axes) if axes else array


def fliplr(m: Any) -> Array:
    """The second axis reversed."""
    return flip(m, 1)


def flipud(m: Any) -> Array:
    """The first axis reversed."""
    return flip(m, 0)


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
        return primitives.reshape(roll(ravel(array), shift, 0), shape=list(array._bound_shape))
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
    index = remainder(index - _core.convert(shift, "int32"), count)
    result = primitives.gather(x, index, axis=axis, batch_dims=0)
    return set_length(result, count, axis) if isinstance(count, Array) else result


check_arguments(globals())
