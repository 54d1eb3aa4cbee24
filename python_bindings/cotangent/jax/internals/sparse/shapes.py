"""Functions of shapes on sparse arrays: slices, sums, broadcasts, reshapes, concatenations. Positions are computed with; data stay where they are."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

import cotangent.numpy as cnp
from cotangent import lax
from cotangent.jax.internals.sparse.coordinates import Coordinates, is_inside, padded, per_batch
from cotangent.jax.internals.sparse.layouts import sum_duplicates, transpose, update_layout

__all__ = [
    "axes_of",
    "broadcast_in_dim",
    "concatenate",
    "dynamic_slice",
    "reduce_sum",
    "reshape",
    "reverse",
    "slice_",
    "squeeze",
]

C = TypeVar("C", bound=Coordinates)


def axes_of(mat: Coordinates, axes: Sequence[int]) -> tuple[int, ...]:
    """The axes, counted from the first.

    Raises:
        ValueError: one is out of bounds.
    """
    out = []
    for axis in axes:
        number = operator.index(axis)
        if not -mat.ndim <= number < mat.ndim:
            raise ValueError(
                f"axis {number} is out of bounds for array of dimension {mat.ndim}\n"
                f"  pass an axis from {-mat.ndim} to {mat.ndim - 1}"
            )
        out.append(number % mat.ndim)
    return tuple(out)


def _kept(mat: Coordinates, data: Any, keep: Any) -> Any:
    """The data where a mask over (…, nse) says so, and 0 elsewhere."""
    return per_batch(
        lambda data, keep: cnp.where(
            keep.reshape(keep.shape + (1,) * (data.ndim - 1)), data, cnp.zeros((), data.dtype)
        ),
        mat.n_batch,
        data,
        keep,
    )


def _where_inside(indices: Any, keep: Any, sizes: Sequence[int]) -> Any:
    return cnp.where(keep[..., None], indices, cnp.array(sizes, indices.dtype))


def squeeze(mat: C, dimensions: Sequence[int]) -> C:
    """The array without axes of size 1."""
    axes = axes_of(mat, dimensions)
    if any(mat.shape[axis] != 1 for axis in axes):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, "
            f"got shape={mat.shape} and dimensions={axes}\n"
            f"  its axes of size 1: {[axis for axis, size in enumerate(mat.shape) if size == 1]}"
        )
    first, last = mat.n_batch, mat.n_batch + mat.n_sparse
    batches = tuple(axis for axis in axes if axis < first)
    columns = [axis - first for axis in range(first, last) if axis not in axes]
    dense = tuple(axis - mat.n_sparse + 1 for axis in axes if axis >= last)
    indices = mat.indices[..., np.array(columns, int)] if columns else mat.indices[..., :0]
    if len(columns) < mat.n_sparse:
        keep = is_inside(mat.indices, mat.sparse_shape)
        sizes = [mat.sparse_shape[column] for column in columns]
        indices = _where_inside(indices, keep, sizes)
        data = mat.data if columns else _kept(mat, mat.data, keep)
    else:
        data = mat.data
    shape = [size for axis, size in enumerate(mat.shape) if axis not in axes]
    return mat.of(
        cnp.squeeze(data, batches + dense),
        cnp.squeeze(indices, batches),
        shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices and bool(columns or not mat.n_sparse),
    )


def reverse(mat: C, dimensions: Sequence[int]) -> C:
    """The array with axes the other way round."""
    axes = axes_of(mat, dimensions)
    first, last = mat.n_batch, mat.n_batch + mat.n_sparse
    batches = [axis for axis in axes if axis < first]
    dense = [axis - mat.n_sparse + 1 for axis in axes if axis >= last]
    turned = np.array([first + column in axes for column in range(mat.n_sparse)], bool)
    data = cnp.flip(mat.data, tuple(batches + dense)) if batches or dense else mat.data
    indices = cnp.flip(mat.indices, tuple(batches)) if batches else mat.indices
    if turned.any():
        ends = cnp.array(mat.sparse_shape, indices.dtype) - 1
        flipped = cnp.where(turned, ends - indices, indices)
        indices = _where_inside(flipped, is_inside(indices, mat.sparse_shape), mat.sparse_shape)
    in_order = mat.indices_sorted and not turned.any()
    return mat.of(data, indices, mat.shape, indices_sorted=in_order, unique_indices=mat.unique_indices)


def _cut(mat: C, starts: Any, sizes: Sequence[int], steps: Sequence[int]) -> C:
    """The sparse axes between starts and starts + sizes * steps, of which every step-th is taken."""
    n_sparse = mat.n_sparse
    if not n_sparse:
        return mat
    dtype = mat.indices.dtype
    moved = mat.indices - cnp.asarray(starts).astype(dtype)
    stride = cnp.array(steps, dtype)
    at = cnp.floor_divide(moved, stride)
    keep = cnp.all((moved >= 0) & (at * stride == moved) & (at < cnp.array(sizes, dtype)), axis=-1)
    keep = keep & is_inside(mat.indices, mat.sparse_shape)
    indices = _where_inside(at, keep, sizes)
    data = _kept(mat, mat.data, keep)
    shape = (*mat.shape[: mat.n_batch], *sizes, *mat.shape[mat.n_batch + n_sparse :])
    out = mat.of(data, indices, shape, unique_indices=False)
    most = math.prod(sizes)
    return sum_duplicates(out, most) if mat.nse > most else out


def slice_(mat: C, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None = None) -> C:
    """The part of the array between starts and limits, as `lax.slice` has it."""
    begin, end = [operator.index(i) for i in starts], [operator.index(i) for i in limits]
    step = [1] * mat.ndim if strides is None else [operator.index(i) for i in strides]
    if not len(begin) == len(end) == len(step) == mat.ndim:
        raise ValueError(
            f"slice: starts {begin}, limits {end} and strides {step} must be of the {mat.ndim} axes\n"
            f"  give one number for each of the {mat.ndim} axes"
        )
    if any(not 0 <= i <= j <= size for i, j, size in zip(begin, end, mat.shape, strict=True)):
        raise ValueError(
            f"slice: starts {begin} and limits {end} are out of bounds of the shape {mat.shape}\n"
            "  give 0 <= start <= limit <= size for each axis"
        )
    if any(s <= 0 for s in step):
        raise ValueError(f"slice: strides must be positive; got {step}\n  reverse axes with lax.rev")
    first, last = mat.n_batch, mat.n_batch + mat.n_sparse
    parts = [slice(i, j, s) for i, j, s in zip(begin, end, step, strict=True)]
    sizes = [len(range(i, j, s)) for i, j, s in zip(begin, end, step, strict=True)]

    def batches_of(array: Any) -> tuple[slice, ...]:
        # A batch of size 1 that stands for others stands for the ones taken; none where none is taken.
        return tuple(
            slice(0, min(1, sizes[axis])) if array.shape[axis] == 1 != mat.shape[axis] else parts[axis]
            for axis in range(first)
        )

    data = mat.data[(*batches_of(mat.data), slice(None), *parts[last:])]
    indices = mat.indices[(*batches_of(mat.indices), slice(None), slice(None))]
    cut = mat.of(data, indices, (*sizes[:first], *mat.sparse_shape, *sizes[last:]))
    if all(part == slice(0, size, 1) for part, size in zip(parts[first:last], mat.sparse_shape, strict=True)):
        return cut.of(data, indices, sizes, indices_sorted=mat.indices_sorted, unique_indices=mat.unique_indices)
    return _cut(cut, cnp.array(begin[first:last], indices.dtype), sizes[first:last], step[first:last])


def dynamic_slice(mat: C, starts: Sequence[Any], sizes: Sequence[int]) -> C:
    """The part of the array of these sizes that begins at values of arrays, moved inside of it."""
    if not len(starts) == len(sizes) == mat.ndim:
        raise ValueError(
            f"dynamic_slice: starts and sizes {tuple(sizes)} must be of the {mat.ndim} axes\n"
            f"  give one start and one size for each of the {mat.ndim} axes"
        )
    wanted = [operator.index(size) for size in sizes]
    if any(not 0 <= size <= whole for size, whole in zip(wanted, mat.shape, strict=True)):
        raise TypeError(
            f"slice_sizes must be less than or equal to operand shape, got {tuple(wanted)} for {mat.shape}\n"
            f"  ask for at most {mat.shape}"
        )
    first, last = mat.n_batch, mat.n_batch + mat.n_sparse
    most = [whole - size for whole, size in zip(mat.shape, wanted, strict=True)]
    begin = []
    for i, whole, m in zip(starts, mat.shape, most, strict=True):
        start = cnp.asarray(i)
        start = cnp.where(start < 0, start + whole, start)
        begin.append(cnp.clip(start, 0, m).astype("int32"))
    zero = cnp.array(0, "int32")

    def batch_of(array: Any) -> tuple[list[Any], list[int]]:
        alone = [array.shape[axis] == 1 != mat.shape[axis] for axis in range(first)]
        at = [zero if alone[axis] else begin[axis] for axis in range(first)]
        return at, [min(1, wanted[axis]) if alone[axis] else wanted[axis] for axis in range(first)]

    at, size = batch_of(mat.data)
    data = lax.dynamic_slice(mat.data, [*at, zero, *begin[last:]], [*size, mat.nse, *wanted[last:]])
    at, size = batch_of(mat.indices)
    indices = lax.dynamic_slice(mat.indices, [*at, zero, zero], [*size, mat.nse, mat.n_sparse])
    cut = mat.of(data, indices, (*wanted[:first], *mat.sparse_shape, *wanted[last:]))
    if not mat.n_sparse:
        return cut
    return _cut(cut, cnp.stack(begin[first:last]), wanted[first:last], [1] * mat.n_sparse)


def reduce_sum(mat: C, axes: Sequence[int]) -> C:
    """The sums along axes: of dense axes, of parts that have got the same position, of batches that have become parts of one."""
    gone = axes_of(mat, axes)
    first, last = mat.n_batch, mat.n_batch + mat.n_sparse
    data = mat.data
    dense = tuple(axis - mat.n_sparse + 1 for axis in gone if axis >= last)
    if dense:
        data = cnp.sum(data, axis=dense)
    indices = mat.indices
    columns = [column for column in range(mat.n_sparse) if first + column not in gone]
    if mat.n_sparse:
        keep = is_inside(indices, mat.sparse_shape)
        data = _kept(mat, data, keep)
        indices = indices[..., np.array(columns, int)] if columns else indices[..., :0]
        indices = _where_inside(indices, keep, [mat.sparse_shape[column] for column in columns])
    batches = [axis for axis in gone if axis < first]
    if batches:
        rest = [axis for axis in range(first) if axis not in batches]
        data = cnp.broadcast_to(data, mat.shape[:first] + data.shape[first:])
        indices = cnp.broadcast_to(indices, mat.shape[:first] + indices.shape[first:])
        nse = mat.nse * math.prod(mat.shape[axis] for axis in batches)
        sizes = [mat.shape[axis] for axis in rest]
        data = cnp.transpose(data, (*rest, *batches, *range(first, data.ndim))).reshape(
            *sizes, nse, *data.shape[first + 1 :]
        )
        indices = cnp.transpose(indices, (*rest, *batches, first, first + 1)).reshape(*sizes, nse, len(columns))
    return mat.of(data, indices, [size for axis, size in enumerate(mat.shape) if axis not in gone])


def reshape(mat: C, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> C:
    """The array with other sizes, in which batches, sparse and dense axes do not mix.

    Raises:
        ValueError: they would.
        NotImplementedError: a batch stands for others.
    """
    sizes = [operator.index(size) for size in new_sizes]
    if dimensions is not None:
        mat = transpose(mat, dimensions)
    first = mat.n_batch
    if mat.data.shape[:first] != mat.shape[:first] or mat.indices.shape[:first] != mat.shape[:first]:
        raise NotImplementedError(
            "reshape of arrays with broadcasted batch dimensions.\n"
            "  store them in full: x = x.update_layout(n_batch=0), then reshape"
        )
    if math.prod(sizes) != math.prod(mat.shape):
        raise TypeError(
            f"reshape total size must be unchanged, got new_sizes {tuple(sizes)} for shape {mat.shape}\n"
            f"  give sizes whose product is {math.prod(mat.shape)}"
        )
    batch, sparse = math.prod(mat.shape[:first]), math.prod(mat.sparse_shape)
    running = [int(n) for n in np.cumprod(sizes, dtype=np.int64)]
    for what, size, count in (("batch and sparse", batch, batch), ("sparse and dense", sparse, batch * sparse)):
        if size != 1 and count not in running:
            raise ValueError(
                f"bcoo_reshape: new shape cannot mix {what} dimensions; got {mat.shape} and {tuple(sizes)}\n"
                "  choose another layout first: x.update_layout(n_batch=0, n_dense=0)"
            )
    i, j = (int(np.searchsorted(running, count, side="right")) for count in (batch, batch * sparse))
    if not mat.n_dense:
        j = len(sizes)
    new_sparse = sizes[i:j]
    data = mat.data.reshape(*sizes[:i], mat.nse, *sizes[j:])
    indices = mat.indices.reshape(*sizes[:i], mat.nse, mat.n_sparse)
    flat, strides = cnp.zeros(indices.shape[:-1], indices.dtype), 1
    for column in reversed(range(mat.n_sparse)):
        flat, strides = flat + indices[..., column] * strides, strides * mat.sparse_shape[column]
    columns = []
    for size in reversed(new_sparse):
        columns.append(flat % max(size, 1))
        flat = flat // max(size, 1)
    inside = is_inside(indices, mat.sparse_shape) if mat.n_sparse else cnp.ones(indices.shape[:-1], bool)
    if columns:
        new = _where_inside(cnp.stack(columns[::-1], axis=-1), inside, new_sparse)
    else:
        new = cnp.zeros((*indices.shape[:-1], 0), indices.dtype)
        data = cnp.where(
            inside.reshape(inside.shape + (1,) * (data.ndim - inside.ndim)), data, cnp.zeros((), data.dtype)
        )
    return mat.of(data, new, sizes)


def broadcast_in_dim(mat: C, shape: Sequence[int], dimensions: Sequence[int]) -> C:
    """The array with more axes, as `lax.broadcast_in_dim` has it; new axes before the sparse ones are batches.

    Raises:
        ValueError: axes of one kind would stand among those of another.
        NotImplementedError: a sparse axis would be repeated.
    """
    sizes, dims = tuple(shape), [operator.index(axis) for axis in dimensions]
    if len(dims) != mat.ndim:
        raise ValueError(
            f"broadcast_in_dim: shape={mat.shape} and broadcast_dimensions={tuple(dims)} must have the same length\n"
            f"  give one new axis for each of the {mat.ndim} axes"
        )
    if any(size not in (1, sizes[axis]) for size, axis in zip(mat.shape, dims, strict=True)):
        raise TypeError(
            f"broadcast_in_dim: {mat.shape} does not broadcast to {sizes} by its axes {tuple(dims)}\n"
            "  axes must keep their sizes, or have size 1"
        )
    first, last = mat.n_batch, mat.n_batch + mat.n_sparse
    batches, sparse, dense = dims[:first], dims[first:last], dims[last:]
    if max(batches, default=-1) > min(sparse + dense, default=len(sizes)):
        raise ValueError(
            "Cannot mix batch and sparse dimensions during broadcast_in_dim\n"
            "  keep the batches in front: x.update_layout(n_batch=0) has none"
        )
    if max(sparse, default=-1) > min(dense, default=len(sizes)):
        raise ValueError(
            "Cannot mix sparse and dense dimensions during broadcast_in_dim\n"
            "  keep the dense axes last: x.update_layout(n_dense=0) has none"
        )
    n_batch = min(sparse + dense, default=len(sizes))
    n_dense = len(sizes) - min(dense) if dense else 0
    n_sparse = len(sizes) - n_batch - n_dense
    if math.prod(mat.sparse_shape) != math.prod(sizes[n_batch : n_batch + n_sparse]):
        raise NotImplementedError(
            "Adding sparse dimensions with lengths != 1\n"
            "  add axes in front of the sparse ones, which become batches, or make it dense: x.todense()"
        )
    data, indices = mat.data, mat.indices

    def batch_sizes(array: Any) -> list[int]:
        out = [1] * n_batch
        for axis, number in zip(batches, range(first), strict=True):
            out[axis] = sizes[axis] if array.shape[number] == mat.shape[number] != 1 else array.shape[number]
        return out

    rest = [*sizes[n_batch + n_sparse :]]
    data = lax.broadcast_in_dim(
        data, (*batch_sizes(data), mat.nse, *rest), (*batches, n_batch, *(axis + 1 - n_sparse for axis in dense))
    )
    indices = lax.broadcast_in_dim(
        indices, (*batch_sizes(indices), mat.nse, mat.n_sparse), (*batches, n_batch, n_batch + 1)
    )
    if n_sparse != mat.n_sparse:
        new = cnp.zeros((*indices.shape[:-1], n_sparse), indices.dtype)
        indices = new.at[..., np.array([axis - n_batch for axis in sparse], int)].set(indices) if sparse else new
    out = mat.of(data, indices, sizes)
    return out.full_batches()


def concatenate(operands: Sequence[C], dimension: int) -> C:
    """Arrays one after another along a batch or a sparse axis.

    Raises:
        NotImplementedError: the axis is a dense one, or batches stand for others.
    """
    axis = operator.index(dimension)
    mats = list(operands)
    if not mats or not all(isinstance(mat, Coordinates) for mat in mats):
        raise ValueError(
            f"bcoo_concatenate: expected operands to be a sequence of BCOO arrays. Got {operands}\n"
            "  pass a list of them"
        )
    shapes = [mat.shape for mat in mats]
    if not 0 <= axis < mats[0].ndim or len({(*s[:axis], *s[axis + 1 :], len(s)) for s in shapes}) != 1:
        raise TypeError(
            f"concatenate: shapes {shapes} must be equal but in axis {axis}\n"
            "  join along the axis in which they differ, or slice them to one size"
        )
    if len({mat.n_dense for mat in mats}) > 1:
        raise ValueError(
            "bcoo_concatenate requires inputs to have matching nse dimensions.\n"
            "  give all one layout: x.update_layout(n_dense=0)"
        )
    batches = {mat.n_batch for mat in mats}
    if len(batches) > 1 and max(batches) == 1:
        # One of the operands got its first axis, of size 1, as a batch of its own.
        if all(mat.shape[0] == 1 for mat in mats if mat.n_batch == 0):
            mats = [update_layout(mat, n_batch=1) for mat in mats]
        elif all(mat.shape[0] == 1 for mat in mats if mat.n_batch == 1):
            mats = [update_layout(mat, n_batch=0) for mat in mats]
        batches = {mat.n_batch for mat in mats}
    if len(batches) > 1:
        raise ValueError(
            "bcoo_concatenate requires inputs to have matching batch dimensions.\n"
            "  give all one layout: x.update_layout(n_batch=0)"
        )
    n_batch, n_sparse = mats[0].n_batch, mats[0].n_sparse
    mats = [mat.full_batches() for mat in mats]
    shape = list(mats[0].shape)
    shape[axis] = sum(mat.shape[axis] for mat in mats)
    if axis < n_batch:
        nse = max(mat.nse for mat in mats)
        mats = [padded(mat, nse) for mat in mats]  # type: ignore[misc]
        data = cnp.concatenate([mat.data for mat in mats], axis=axis)
        return mats[0].of(data, cnp.concatenate([mat.indices for mat in mats], axis=axis), shape)
    if axis >= n_batch + n_sparse:
        raise NotImplementedError(
            "Concatenation along dense dimensions.\n  make that axis sparse: x.update_layout(n_dense=0)"
        )
    column, offset, rows, parts = axis - n_batch, 0, [], []
    sizes = shape[n_batch : n_batch + n_sparse]
    for mat in mats:
        keep = is_inside(mat.indices, mat.sparse_shape)
        moved = mat.indices + np.array([offset if c == column else 0 for c in range(n_sparse)], mat.indices.dtype)
        rows.append(_where_inside(moved, keep, sizes))
        parts.append(mat.data)
        offset += mat.shape[axis]
    return mats[0].of(cnp.concatenate(parts, axis=n_batch), cnp.concatenate(rows, axis=n_batch), shape)
