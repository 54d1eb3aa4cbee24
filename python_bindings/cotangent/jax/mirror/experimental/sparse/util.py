"""``jax.experimental.sparse.util``: what the formats have in common."""

from __future__ import annotations

from typing import Any

import cotangent.numpy as cnp
from cotangent.jax.internals.sparse import coordinates, rows
from cotangent.jax.internals.sparse.coordinates import SparseInfo
from cotangent.jax.internals.sparse.layouts import SparseEfficiencyError, SparseEfficiencyWarning

__all__ = [
    "CuSparseEfficiencyWarning",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "SparseInfo",
    "_count_stored_elements",
    "_count_stored_elements_per_batch",
    "_csr_to_coo",
]

Shape = tuple[int, ...]


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """A product on a GPU takes another way than its library's. There is none here."""


def _count_stored_elements_per_batch(mat: Any, n_batch: int = 0, n_dense: int = 0) -> Any:
    return coordinates.counted(mat, n_batch, n_dense)


def _count_stored_elements(mat: Any, n_batch: int = 0, n_dense: int = 0) -> Any:
    return cnp.max(coordinates.counted(mat, n_batch, n_dense), initial=0)


def _csr_to_coo(indices: Any, indptr: Any) -> tuple[Any, Any]:
    return rows.rows_of(indptr, indices.shape[0]), indices
