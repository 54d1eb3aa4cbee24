"""Products with sparse arrays. Those with dense results go by way of dense arrays: they are right, and no faster than those."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

import cotangent.numpy as cnp
from cotangent import lax
from cotangent.jax.internals.sparse.coordinates import Coordinates, dense_of, extracted, is_inside, per_batch
from cotangent.jax.internals.sparse.layouts import sum_duplicates, update_layout
from cotangent.jax.internals.sparse.shapes import broadcast_in_dim

__all__ = ["convolution", "dot_general", "multiply_dense", "multiply_sparse", "sampled"]

C = TypeVar("C", bound=Coordinates)


def todense(x: Any) -> Any:
    """A dense array of either kind."""
    return dense_of(x.data, x.indices, x.shape) if isinstance(x, Coordinates) else x


def dot_general(lhs: Any, rhs: Any, dimension_numbers: Any, preferred_element_type: Any = None) -> Any:
    """The product that `lax.dot_general` has: sparse of two sparse arrays, else dense."""
    if isinstance(lhs, Coordinates) and isinstance(rhs, Coordinates):
        return _of_two(lhs, rhs, dimension_numbers, preferred_element_type)
    return lax.dot_general(todense(lhs), todense(rhs), dimension_numbers, preferred_element_type=preferred_element_type)


def _batches_first(mat: C, batch: Sequence[int]) -> C:
    """The array whose batches are those of a product, in their order; the others are sparse axes."""
    rest = [axis for axis in range(mat.n_batch) if axis not in batch]
    order = (*batch, *rest)
    full = mat.full_batches()
    first = mat.n_batch
    data = cnp.transpose(full.data, (*order, *range(first, full.data.ndim)))
    indices = cnp.transpose(full.indices, (*order, first, first + 1))
    shape = [mat.shape[axis] for axis in (*order, *range(first, mat.ndim))]
    return update_layout(mat.of(data, indices, shape), n_batch=len(batch))


def _of_two(lhs: C, rhs: C, dimension_numbers: Any, preferred_element_type: Any) -> C:
    """The product of sparse arrays: each pair of parts that meet in the contracted axes is one of the result."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = (
        tuple(tuple(operator.index(a) for a in side) for side in pair) for pair in dimension_numbers
    )
    if lhs.n_dense or rhs.n_dense:
        raise NotImplementedError(
            "bcoo_spdot_general with dense dimensions.\n  make them sparse: x.update_layout(n_dense=0)"
        )
    if any(axis >= lhs.n_batch for axis in lhs_batch) or any(axis >= rhs.n_batch for axis in rhs_batch):
        raise NotImplementedError(
            f"bcoo_spdot_general: batch_dims must correspond to batch dimensions of the sparse representation.\n"
            f"  store them as batches: x.update_layout(n_batch={len(lhs_batch)})"
        )
    sides = []
    for mat, contract, batch in ((lhs, lhs_contract, lhs_batch), (rhs, rhs_contract, rhs_batch)):
        moved = _batches_first(mat, batch)
        order = [*batch, *(axis for axis in range(mat.ndim) if axis not in batch)]
        columns = [order.index(axis) - len(batch) for axis in contract]
        rest = [column for column in range(moved.n_sparse) if column not in columns]
        sides.append((moved, columns, rest))
    (left, left_columns, left_rest), (right, right_columns, right_rest) = sides
    n_batch = len(lhs_batch)
    for (a, i), (b, j) in zip(
        ((lhs, axis) for axis in lhs_contract), ((rhs, axis) for axis in rhs_contract), strict=True
    ):
        if a.shape[i] != b.shape[j]:
            raise TypeError(
                f"dot_general requires contracting dimensions to have the same shape, got {a.shape[i]} and {b.shape[j]}.\n"
                "  transpose an operand, or contract other axes"
            )
    dtype = preferred_element_type or np.promote_types(left.data.dtype, right.data.dtype)
    sizes = [left.sparse_shape[c] for c in left_rest] + [right.sparse_shape[c] for c in right_rest]
    nse = left.nse * right.nse

    def one(data: Any, indices: Any, other: Any, others: Any) -> tuple[Any, Any]:
        meet = is_inside(indices, left.sparse_shape)[:, None] & is_inside(others, right.sparse_shape)[None, :]
        for c, d in zip(left_columns, right_columns, strict=True):
            meet = meet & (indices[:, None, c] == others[None, :, d])
        product = data.astype(dtype)[:, None] * other.astype(dtype)[None, :]
        product = cnp.where(meet, product, cnp.zeros((), product.dtype)).reshape(nse)
        pairs = [cnp.broadcast_to(indices[:, None, c], meet.shape) for c in left_rest]
        pairs += [cnp.broadcast_to(others[None, :, c].astype(indices.dtype), meet.shape) for c in right_rest]
        if not pairs:
            return product, cnp.zeros((nse, 0), indices.dtype)
        rows = cnp.stack(pairs, axis=-1)
        rows = cnp.where(meet[..., None], rows, cnp.array(sizes, rows.dtype))
        return product, rows.reshape(nse, len(pairs))

    data, indices = per_batch(one, n_batch, left.data, left.indices, right.data, right.indices)
    out = left.of(data, indices, [*left.shape[:n_batch], *sizes])
    most = (lhs.nse if lhs.n_sparse > len(lhs_contract) else 1) * (rhs.nse if rhs.n_sparse > len(rhs_contract) else 1)
    extra = math.prod(
        mat.shape[axis]
        for mat, batch in ((lhs, lhs_batch), (rhs, rhs_batch))
        for axis in range(mat.n_batch)
        if axis not in batch
    )
    out = sum_duplicates(out, min(nse, most * extra, math.prod(sizes)))
    wanted = lhs.n_batch + rhs.n_batch - n_batch
    return (
        update_layout(out, n_batch=wanted, on_inefficient=None)
        if wanted > n_batch and rhs.n_batch == len(rhs_batch)
        else out
    )


def multiply_dense(mat: Coordinates, other: Any) -> Any:
    """The data of the product of the array and a dense one that broadcasts to its shape.

    Raises:
        NotImplementedError: the product has another shape.
    """
    other = cnp.asarray(other)
    if not other.ndim:
        return mat.data * other
    if np.broadcast_shapes(other.shape, mat.shape) != mat.shape:
        raise NotImplementedError(
            "multiplication between sparse and dense is only implemented for cases where the output shape matches "
            f"the sparse matrix shape. Got shape={mat.shape}, v.shape={other.shape}\n  make it dense: x.todense() * v"
        )
    return mat.data * extracted(mat.indices, cnp.broadcast_to(other, mat.shape))


def multiply_sparse(lhs: C, rhs: C) -> C:
    """The product, element by element, of arrays with as many axes.

    Raises:
        TypeError: they have not.
        NotImplementedError: sparse axes of the first would be repeated, or they have other numbers of dense axes.
    """
    if lhs.ndim != rhs.ndim:
        raise TypeError(
            f"bcoo_multiply_sparse: arrays must have same number of dimensions, got {lhs.shape}, {rhs.shape}\n"
            "  give them axes of size 1 with x[None]"
        )
    if lhs.n_dense != rhs.n_dense:
        raise NotImplementedError(
            f"bcoo_multiply_sparse: arrays with differing numbers of dense dimensions\n"
            f"  give both one layout: y.update_layout(n_dense={lhs.n_dense})"
        )
    shape = np.broadcast_shapes(lhs.shape, rhs.shape)
    if shape != lhs.shape and shape == rhs.shape:
        lhs, rhs = rhs, lhs
    if shape != lhs.shape:
        return _outer(lhs, rhs, shape)
    # Sums of the other's parts times each of these: duplicates need no care.
    return lhs.of(multiply_dense(lhs, todense(rhs)), lhs.indices, shape)


def _outer(lhs: C, rhs: C, shape: tuple[int, ...]) -> C:
    """The product of arrays of which each repeats along axes of the other: of all pairs of parts."""
    n_batch = min(lhs.n_batch, rhs.n_batch)
    lhs, rhs = update_layout(lhs, n_batch=n_batch), update_layout(rhs, n_batch=n_batch)
    n_sparse, nse = lhs.n_sparse, lhs.nse * rhs.nse
    sizes = shape[n_batch : n_batch + n_sparse]
    both = [a != 1 and b != 1 for a, b in zip(lhs.sparse_shape, rhs.sparse_shape, strict=True)]
    of_left = np.array([a != 1 for a in lhs.sparse_shape], bool)

    def one(data: Any, indices: Any, other: Any, others: Any) -> tuple[Any, Any]:
        meet = is_inside(indices, lhs.sparse_shape)[:, None] & is_inside(others, rhs.sparse_shape)[None, :]
        rows = cnp.where(of_left, indices[:, None], others[None, :].astype(indices.dtype))
        for column, meets in enumerate(both):
            if meets:
                meet = meet & (indices[:, None, column] == others[None, :, column])
        product = data[:, None] * other[None, :]
        product = cnp.where(meet.reshape(meet.shape + (1,) * (product.ndim - 2)), product, cnp.zeros((), product.dtype))
        rows = cnp.where(meet[..., None], rows, cnp.array(sizes, rows.dtype))
        return product.reshape(nse, *product.shape[2:]), rows.reshape(nse, n_sparse)

    data, indices = per_batch(one, n_batch, lhs.data, lhs.indices, rhs.data, rhs.indices)
    return lhs.of(data, indices, shape).full_batches()


def sampled(lhs: Any, rhs: Any, indices: Any, dimension_numbers: Any) -> Any:
    """The parts of a product of dense arrays at positions."""
    return extracted(indices, lax.dot_general(lhs, rhs, dimension_numbers, precision="highest"))


def convolution(make: Any, lhs: Any, rhs: Any, window_strides: Sequence[int], padding: Any, **options: Any) -> Any:
    """A convolution along one axis with one channel and one batch, of which one operand is sparse, as a sparse array.

    Raises:
        NotImplementedError: there are strides, dilations, groups, channels or other batches.
    """
    ones = tuple(options.pop(name, None) for name in ("lhs_dilation", "rhs_dilation"))
    groups = [options.pop(name, 1) for name in ("feature_group_count", "batch_group_count")]
    if any(any(step != 1 for step in steps) for steps in (window_strides, *(o for o in ones if o is not None))):
        raise NotImplementedError(
            "bcoo convolution with strides or dilations other than 1.\n"
            "  leave them out, or make the operand dense: x.todense()"
        )
    if lhs.ndim != 3 or lhs.shape[:2] != (1, 1) or rhs.shape[:2] != (1, 1) or groups != [1, 1]:
        raise NotImplementedError(
            "bcoo convolution with leading dimensions other than (1, 1)\n"
            "  map over the others with jax.vmap, or make the operand dense: x.todense()"
        )
    if isinstance(padding, str):
        low, high = lax.padtype_to_pads(lhs.shape[2:], rhs.shape[2:], window_strides, padding)[0]
    else:
        low, high = padding[0]
    parts = []
    for side in (lhs, rhs):
        if isinstance(side, Coordinates):
            flat = update_layout(side, n_batch=2, n_dense=0, on_inefficient=None).full_batches()
            indices, data = flat.indices[0, 0, :, 0], flat.data[0, 0]
            data = cnp.where(is_inside(flat.indices, flat.sparse_shape)[0, 0], data, cnp.zeros((), data.dtype))
        else:
            data, indices = cnp.asarray(side)[0, 0], cnp.arange(side.shape[2], dtype="int32")
        parts.append((data, indices))
    (data, at), (kernel, offsets) = parts
    size = max(0, lhs.shape[2] + low + high - rhs.shape[2] + 1)
    places = (at[:, None] + (low - offsets)[None, :]).reshape(-1)
    values = (data[:, None] * kernel[None, :]).reshape(-1)
    inside = (places >= 0) & (places < size)
    values = cnp.where(inside, values, cnp.zeros((), values.dtype))
    places = cnp.where(inside, places, cnp.array(size, places.dtype))
    return make((values[None, None], places[None, None, :, None]), shape=(1, 1, size))


def expanded(mat: C, ndim: int) -> C:
    """The array with axes of size 1 before its own."""
    more = ndim - mat.ndim
    return broadcast_in_dim(mat, (1,) * more + mat.shape, range(more, ndim)) if more else mat
