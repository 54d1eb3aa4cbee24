"""``jax.experimental.sparse.coo``: matrices of elements, their rows and their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

import cotangent.numpy as cnp
from cotangent import lax, tree_util
from cotangent.jax.mirror.experimental.sparse._base import JAXSparse
from cotangent.jax.mirror.experimental.sparse.bcoo import BCOO

__all__ = [
    "COO",
    "COOInfo",
    "_coo_fromdense",
    "_coo_matmat",
    "_coo_matvec",
    "_coo_todense",
    "coo_fromdense",
    "coo_matmat",
    "coo_matvec",
    "coo_todense",
]


class COOInfo(NamedTuple):
    """What a matrix is beside its arrays."""

    shape: tuple[int, ...]
    rows_sorted: bool = False
    cols_sorted: bool = False


@tree_util.register_pytree_node_class
class COO(JAXSparse):
    """A sparse matrix of ``data``, ``row`` and ``col``."""

    row: Any
    col: Any

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        rows_sorted: bool = False,
        cols_sorted: bool = False,
    ) -> None:
        self.data, self.row, self.col = (cnp.asarray(part) for part in args)
        self._rows_sorted, self._cols_sorted = rows_sorted, cols_sorted
        super().__init__(args, shape=shape)

    @property
    def _info(self) -> COOInfo:
        return COOInfo(self.shape, self._rows_sorted, self._cols_sorted)

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.row, self.col

    @property
    def nse(self) -> int:
        """The number of elements that are given."""
        return int(self.data.size)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> Self:
        """The elements of a dense matrix that are not 0."""
        made = BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype)
        return cls((made.data, made.indices[:, 0], made.indices[:, 1]), shape=made.shape, rows_sorted=True)

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32") -> Self:
        if len(tuple(shape)) != 2:
            raise ValueError(
                f"COO must have ndim=2; got shape={tuple(shape)}\n  other shapes are for sparse_format='bcoo'"
            )
        none = cnp.zeros(0, index_dtype)
        return cls((cnp.zeros(0, dtype), none, none), shape=shape, rows_sorted=True, cols_sorted=True)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> Self:
        made = BCOO._eye(N, M, k, dtype=dtype, index_dtype=index_dtype)
        parts = made.data, made.indices[:, 0], made.indices[:, 1]
        return cls(parts, shape=(N, M), rows_sorted=True, cols_sorted=True)

    def _bcoo(self) -> BCOO:
        return BCOO((self.data, cnp.stack([self.row, self.col], axis=1)), shape=self.shape)

    def _sort_indices(self) -> COO:
        if self._rows_sorted:
            return self
        row, col, data = lax.sort((self.row, self.col, self.data), num_keys=2)
        return type(self)((data, row, col), shape=self.shape, rows_sorted=True)

    def todense(self) -> Any:
        """The matrix with all elements."""
        return self._bcoo().todense()

    def transpose(self, axes: Sequence[int] | None = None) -> COO:
        """The transpose."""
        if axes is not None:
            raise NotImplementedError("axes argument to transpose()\n  leave it out: a matrix has one transpose")
        known = {"rows_sorted": self._cols_sorted, "cols_sorted": self._rows_sorted}
        return type(self)((self.data, self.col, self.row), shape=self.shape[::-1], **known)

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
        """The arrays that it is made of, and the rest."""
        return self._bufs, self._info._asdict()

    @classmethod
    def tree_unflatten(cls, aux: dict[str, Any], children: Sequence[Any]) -> Self:
        """It, of its arrays, which may be anything."""
        made = object.__new__(cls)
        made.data, made.row, made.col = children
        made.shape = aux["shape"]
        made._rows_sorted, made._cols_sorted = aux["rows_sorted"], aux["cols_sorted"]
        return made

    def __matmul__(self, other: Any) -> Any:
        return dense_product(self._bcoo(), other)


def dense_product(mat: BCOO, other: Any) -> Any:
    """The product of a sparse matrix and a dense vector or matrix.

    Raises:
        NotImplementedError: the other is sparse, or has more axes.
    """
    if isinstance(other, JAXSparse):
        raise NotImplementedError("matmul between two sparse objects.\n  make one of them dense: y.todense()")
    other = cnp.asarray(other)
    if other.ndim not in (1, 2):
        raise NotImplementedError(
            f"matmul with object of shape {other.shape}\n"
            "  multiply with a vector or a matrix, or map over the others with jax.vmap"
        )
    return mat @ other


def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
    """A COO matrix of a dense one."""
    return COO.fromdense(mat, nse=nse, index_dtype=index_dtype)


def coo_todense(mat: COO) -> Any:
    """A dense matrix of a COO one."""
    return mat.todense()


def coo_matvec(mat: COO, v: Any, transpose: bool = False) -> Any:
    """The product of a COO matrix, or its transpose, and a vector."""
    return (mat.T if transpose else mat) @ v


def coo_matmat(mat: COO, B: Any, *, transpose: bool = False) -> Any:
    """The product of a COO matrix, or its transpose, and a dense matrix."""
    return (mat.T if transpose else mat) @ B


def _coo_fromdense(mat: Any, *, nse: int, index_dtype: Any = np.int32) -> tuple[Any, Any, Any]:
    return COO.fromdense(mat, nse=nse, index_dtype=index_dtype)._bufs


def _coo_todense(data: Any, row: Any, col: Any, *, spinfo: COOInfo) -> Any:
    return COO((data, row, col), shape=spinfo.shape).todense()


def _coo_matvec(data: Any, row: Any, col: Any, v: Any, *, spinfo: COOInfo, transpose: bool = False) -> Any:
    return coo_matvec(COO((data, row, col), shape=spinfo.shape), v, transpose)


def _coo_matmat(data: Any, row: Any, col: Any, B: Any, *, spinfo: COOInfo, transpose: bool = False) -> Any:
    return coo_matmat(COO((data, row, col), shape=spinfo.shape), B, transpose=transpose)
