"""Sparse matrices whose positions are columns, and where each row of them begins."""

from __future__ import annotations

from typing import Any

import cotangent.numpy as cnp
from cotangent.jax.internals.sparse.coordinates import is_inside, per_batch

__all__ = ["columns_and_starts", "positions", "rows_of"]


def rows_of(indptr: Any, nse: int) -> Any:
    """The row of each of so many parts; the number of rows for those after the last."""
    return cnp.searchsorted(indptr, cnp.arange(nse, dtype=indptr.dtype), side="right").astype(indptr.dtype) - 1


def positions(indices: Any, indptr: Any) -> Any:
    """The positions (…, nse, 2) of columns (…, nse) and starts of rows (…, rows + 1)."""

    def one(indices: Any, indptr: Any) -> Any:
        return cnp.stack([rows_of(indptr, indices.shape[0]).astype(indices.dtype), indices], axis=-1)

    return per_batch(one, indices.ndim - 1, indices, indptr)


def columns_and_starts(indices: Any, sizes: tuple[int, ...], index_dtype: Any) -> tuple[Any, Any]:
    """The columns and the starts of rows of positions that are in order and are of a matrix of these sizes."""

    def one(indices: Any) -> tuple[Any, Any]:
        # What is outside of the matrix comes after the last row.
        rows = cnp.where(is_inside(indices, sizes), indices[:, 0], cnp.array(sizes[0], indices.dtype))
        starts = cnp.zeros(sizes[0] + 1, index_dtype).at[rows + 1].add(1, mode="drop")
        return indices[:, 1].astype(index_dtype), cnp.cumsum(starts).astype(index_dtype)

    return per_batch(one, indices.ndim - 2, indices)  # type: ignore[no-any-return]
