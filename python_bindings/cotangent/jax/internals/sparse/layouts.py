"""The same sparse array, stored otherwise: sorted, without duplicates, with other batches and dense axes, transposed."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any, TypeVar

import cotangent.numpy as cnp
from cotangent.jax.internals.sparse.coordinates import Coordinates, is_inside, padded, per_batch, sorting

__all__ = [
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "eliminate_zeros",
    "sort_indices",
    "sum_duplicates",
    "transpose",
    "update_layout",
]

C = TypeVar("C", bound=Coordinates)


class SparseEfficiencyError(ValueError):
    """The result would store much more than is given."""


class SparseEfficiencyWarning(UserWarning):
    """The result stores much more than is given."""


def sort_indices(mat: C) -> C:
    """The array with its positions in order."""

    def order_of(indices: Any) -> tuple[Any, Any]:
        order = sorting(indices)
        return order, indices[order]

    order, indices = per_batch(order_of, mat.n_batch, mat.indices)
    data = per_batch(lambda data, order: data[order], mat.n_batch, mat.data, order)
    return mat.of(data, indices, mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)


def _groups(indices: Any, sizes: Sequence[int]) -> tuple[Any, Any, Any]:
    """For one batch: an order of the positions in which those outside are last, the number of the group of each in it, and the rows in it."""
    rows = cnp.where(is_inside(indices, sizes)[:, None], indices, cnp.array(sizes, indices.dtype))
    order = sorting(rows)
    ordered = rows[order]
    starts = cnp.any(ordered[1:] != ordered[:-1], axis=-1)
    group = cnp.concatenate([cnp.zeros(min(1, indices.shape[0]), "int32"), cnp.cumsum(starts.astype("int32"))])
    return order, group, ordered


def sum_duplicates(mat: C, nse: int | None = None) -> C:
    """The array with each position once, in order.

    Args:
        nse: how many there is room for; by default as many as there are, which depends on values.
    """
    n_batch, sizes = mat.n_batch, mat.sparse_shape
    order, group, ordered = per_batch(lambda indices: _groups(indices, sizes), n_batch, mat.indices)
    if nse is None:
        inside = is_inside(ordered, sizes) if mat.n_sparse else cnp.ones(ordered.shape[:-1], bool)
        counts = cnp.max(cnp.where(inside, group + 1, 0), axis=-1, initial=0)
        nse = int(cnp.max(counts, initial=0))
    room = nse

    def positions(group: Any, ordered: Any) -> Any:
        outside = cnp.broadcast_to(cnp.array(sizes, ordered.dtype), (room, len(sizes)))
        return outside.at[group].set(ordered, mode="drop")

    def sums(data: Any, order: Any, group: Any, ordered: Any) -> Any:
        inside = is_inside(ordered, sizes).reshape((-1,) + (1,) * (data.ndim - 1))
        parts = cnp.where(inside, data[order], cnp.zeros((), data.dtype))
        at = cnp.zeros((room, *data.shape[1:]), data.dtype).at[group]
        return at.max(parts, mode="drop") if data.dtype == bool else at.add(parts, mode="drop")

    indices = per_batch(positions, n_batch, group, ordered)
    data = per_batch(sums, n_batch, mat.data, order, group, ordered)
    return mat.of(data, indices, mat.shape, indices_sorted=True, unique_indices=True)


def eliminate_zeros(mat: C, nse: int | None = None) -> C:
    """The array without parts that are 0, with each position once, in order."""
    n_batch = mat.n_batch
    zero = cnp.all(mat.data == 0, axis=tuple(range(n_batch + 1, mat.data.ndim)))
    shared = tuple(axis for axis, size in enumerate(mat.indices.shape[:n_batch]) if size == 1)
    zero = cnp.all(zero, axis=shared, keepdims=True)
    outside = cnp.array(mat.sparse_shape, mat.indices.dtype)
    indices = per_batch(lambda i, z: cnp.where(z[:, None], outside, i), n_batch, mat.indices, zero)
    return sum_duplicates(mat.of(mat.data, indices, mat.shape), nse)


def transpose(mat: C, permutation: Sequence[int]) -> C:
    """The array with its axes in another order, in which batches stay batches, and dense axes dense.

    Raises:
        NotImplementedError: axes of one kind would become those of another.
    """
    order = [operator.index(axis) for axis in permutation]
    if sorted(order) != list(range(mat.ndim)):
        raise ValueError(
            f"transpose: {tuple(order)} is not an order of {mat.ndim} axes\n"
            f"  pass each axis from 0 to {mat.ndim - 1} once"
        )
    first, last = mat.n_batch, mat.n_batch + mat.n_sparse
    batches, sparse, dense = order[:first], order[first:last], order[last:]
    if sorted(batches) != list(range(first)) or sorted(dense) != list(range(last, mat.ndim)):
        kind = "batch" if sorted(batches) != list(range(first)) else "dense"
        raise NotImplementedError(
            f"transpose permutation cannot permute {kind} axes with non-{kind} axes; got {tuple(order)}\n"
            "  choose another layout first: x.update_layout(n_batch=0, n_dense=0)"
        )
    columns = [axis - first for axis in sparse]
    indices = cnp.transpose(mat.indices, (*batches, first, first + 1))
    if columns:
        indices = indices[..., cnp.array(columns)]
    data = cnp.transpose(mat.data, (*batches, first, *(axis - mat.n_sparse + 1 for axis in dense)))
    in_order = columns == sorted(columns) and mat.indices_sorted
    shape = [mat.shape[axis] for axis in order]
    return mat.of(data, indices, shape, indices_sorted=in_order, unique_indices=mat.unique_indices)


# ---- Axes of another kind


def _dense_to_sparse(mat: C) -> C:
    """The first dense axis becomes the last sparse one."""
    n_batch, size = mat.n_batch, mat.shape[mat.ndim - mat.n_dense]
    nse = mat.nse * size

    def one(data: Any, indices: Any) -> tuple[Any, Any]:
        steps = cnp.tile(cnp.arange(size, dtype=indices.dtype), mat.nse)[:, None]
        rows = cnp.repeat(indices, size, axis=0, total_repeat_length=nse)
        return data.reshape(nse, *data.shape[2:]), cnp.concatenate([rows, steps], axis=1)

    data, indices = per_batch(one, n_batch, mat.data, mat.indices)
    return mat.of(data, indices, mat.shape)


def _sparse_to_dense(mat: C) -> C:
    """The last sparse axis becomes the first dense one."""
    size = mat.sparse_shape[-1]

    def one(data: Any, indices: Any) -> tuple[Any, Any]:
        here = cnp.arange(size, dtype=indices.dtype) == indices[:, -1:]
        here = here.reshape(here.shape + (1,) * (data.ndim - 1))
        return cnp.where(here, data[:, None], cnp.zeros((), data.dtype)), indices[:, :-1]

    data, indices = per_batch(one, mat.n_batch, mat.data, mat.indices)
    return mat.of(data, indices, mat.shape)


def _batch_to_sparse(mat: C) -> C:
    """The last batch axis becomes the first sparse one."""
    full = mat.full_batches()
    n_batch, nse, size = mat.n_batch - 1, mat.nse, mat.shape[mat.n_batch - 1]
    data = full.data.reshape(*full.data.shape[:n_batch], size * nse, *full.data.shape[n_batch + 2 :])
    rows = full.indices.reshape(*full.indices.shape[:n_batch], size * nse, mat.n_sparse)
    steps = cnp.repeat(cnp.arange(size, dtype=rows.dtype), nse, total_repeat_length=size * nse)[:, None]
    steps = cnp.broadcast_to(steps, (*rows.shape[:-1], 1))
    return mat.of(data, cnp.concatenate([steps, rows], axis=-1), mat.shape)


def _sparse_to_batch(mat: C) -> C:
    """The first sparse axis becomes the last batch."""
    size, rest = mat.sparse_shape[0], mat.sparse_shape[1:]

    def one(data: Any, indices: Any) -> tuple[Any, Any]:
        here = cnp.arange(size, dtype=indices.dtype)[:, None] == indices[:, 0]
        outside = cnp.array(rest, indices.dtype)
        mask = here.reshape(here.shape + (1,) * (data.ndim - 1))
        return cnp.where(mask, data, cnp.zeros((), data.dtype)), cnp.where(here[..., None], indices[:, 1:], outside)

    data, indices = per_batch(one, mat.n_batch, mat.data, mat.indices)
    return mat.of(data, indices, mat.shape)


def _complain(mat: Coordinates, name: str, old: int, new: int, on_inefficient: str | None) -> None:
    message = f"For matrix of shape {mat.shape}, increasing {name} from {old} to {new} results in inefficient storage."
    if on_inefficient == "error":
        raise SparseEfficiencyError(f"{message}\n  To disable this error, set on_inefficient to 'warn' or None.")
    if on_inefficient == "warn":
        warnings.warn(f"{message} To disable this warning, set on_inefficient to None.", SparseEfficiencyWarning, 3)


def update_layout(
    mat: C, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
) -> C:
    """The array with other numbers of batches and dense axes.

    Raises:
        SparseEfficiencyError: an axis of more than one element would be stored in full, and ``on_inefficient`` is "error".
    """
    batches = mat.n_batch if n_batch is None else operator.index(n_batch)
    dense = mat.n_dense if n_dense is None else operator.index(n_dense)
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(
            f"on_inefficient={on_inefficient!r}; expected one of ['error', 'warn', None].\n"
            "  pass on_inefficient='warn' for a warning, None for nothing"
        )
    if batches < 0:
        raise ValueError(
            f"n_batch must be non-negative; got {batches}\n  pass n_batch=0, or leave it out to keep what it is"
        )
    if dense < 0:
        raise ValueError(
            f"n_dense must be non-negative; got {dense}\n  pass n_dense=0, or leave it out to keep what it is"
        )
    if batches + dense > mat.ndim:
        raise ValueError(
            f"sum of n_batch={batches} and n_dense={dense} cannot be larger than mat.ndim={mat.ndim}.\n"
            f"  pass numbers whose sum is at most {mat.ndim}"
        )
    if dense > mat.n_dense and any(size > 1 for size in mat.shape[mat.ndim - dense : mat.ndim - mat.n_dense]):
        _complain(mat, "n_dense", mat.n_dense, dense, on_inefficient)
    if batches > mat.n_batch and any(size > 1 for size in mat.shape[mat.n_batch : batches]):
        _complain(mat, "n_batch", mat.n_batch, batches, on_inefficient)
    while mat.n_dense > dense:
        mat = _dense_to_sparse(mat)
    while mat.n_batch > batches:
        mat = _batch_to_sparse(mat)
    while mat.n_dense < dense:
        mat = _sparse_to_dense(mat)
    while mat.n_batch < batches:
        mat = _sparse_to_batch(mat)
    return mat


def at_most(mat: C) -> C:
    """The array with no more parts than it has positions."""
    most = math.prod(mat.sparse_shape)
    return sum_duplicates(mat, most) if mat.nse > most else mat


def resized(mat: C, nse: int) -> C:
    """The array with so many parts."""
    return padded(mat, nse)  # type: ignore[return-value]
