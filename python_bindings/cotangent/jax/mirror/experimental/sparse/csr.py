"""``jax.experimental.sparse.csr``: matrices of elements, their columns, and where rows begin; and those of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

import cotangent.numpy as cnp
from cotangent import tree_util
from cotangent.jax.internals.sparse import rows
from cotangent.jax.mirror.experimental.sparse._base import JAXSparse
from cotangent.jax.mirror.experimental.sparse.bcoo import BCOO
from cotangent.jax.mirror.experimental.sparse.coo import dense_product

__all__ = [
    "CSC",
    "CSR",
    "_csr_fromdense",
    "_csr_matmat",
    "_csr_matvec",
    "_csr_todense",
    "csr_fromdense",
    "csr_matmat",
    "csr_matvec",
    "csr_todense",
]


class _Compressed(JAXSparse):
    """``data``, ``indices`` along one axis and ``indptr``, where in them lines of the other axis begin."""

    indices: Any
    indptr: Any
    _line_axis: int

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]) -> None:
        self.data, self.indices, self.indptr = (cnp.asarray(part) for part in args)
        super().__init__(args, shape=shape)

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.indices, self.indptr

    @property
    def nse(self) -> int:
        """The number of elements that are given."""
        return int(self.data.size)

    @classmethod
    def _of(cls, made: BCOO) -> Self:
        lines = made if cls._line_axis == 0 else made.T
        ordered = lines if lines.indices_sorted else lines.sort_indices()
        indices, indptr = rows.columns_and_starts(ordered.indices, ordered.shape, ordered.indices.dtype)
        return cls((ordered.data, indices, indptr), shape=made.shape)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> Self:
        """The elements of a dense matrix that are not 0."""
        return cls._of(BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype))

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32") -> Self:
        if len(tuple(shape)) != 2:
            raise ValueError(
                f"{cls.__name__} must have ndim=2; got shape={tuple(shape)}\n"
                "  other shapes are for sparse_format='bcoo'"
            )
        starts = cnp.zeros(tuple(shape)[cls._line_axis] + 1, index_dtype)
        return cls((cnp.zeros(0, dtype), cnp.zeros(0, index_dtype), starts), shape=shape)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> Self:
        return cls._of(BCOO._eye(N, M, k, dtype=dtype, index_dtype=index_dtype))

    def _bcoo(self) -> BCOO:
        places = rows.positions(self.indices, self.indptr)
        if self._line_axis:
            places = places[:, ::-1]
        return BCOO((self.data, places), shape=self.shape)

    def todense(self) -> Any:
        """The matrix with all elements."""
        return self._bcoo().todense()

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
        """The arrays that it is made of, and the shape."""
        return self._bufs, {"shape": self.shape}

    @classmethod
    def tree_unflatten(cls, aux: dict[str, Any], children: Sequence[Any]) -> Self:
        """It, of its arrays, which may be anything."""
        made = object.__new__(cls)
        made.data, made.indices, made.indptr = children
        made.shape = aux["shape"]
        return made

    def __matmul__(self, other: Any) -> Any:
        return dense_product(self._bcoo(), other)


@tree_util.register_pytree_node_class
class CSR(_Compressed):
    """A sparse matrix of elements, their columns, and where rows begin."""

    _line_axis = 0

    def transpose(self, axes: Sequence[int] | None = None) -> CSC:
        """The transpose."""
        assert axes is None
        return CSC(self._bufs, shape=self.shape[::-1])


@tree_util.register_pytree_node_class
class CSC(_Compressed):
    """A sparse matrix of elements, their rows, and where columns begin."""

    _line_axis = 1

    def transpose(self, axes: Sequence[int] | None = None) -> CSR:
        """The transpose."""
        assert axes is None
        return CSR(self._bufs, shape=self.shape[::-1])


def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
    """A CSR matrix of a dense one."""
    return CSR.fromdense(mat, nse=nse, index_dtype=index_dtype)


def csr_todense(mat: CSR) -> Any:
    """A dense matrix of a CSR one."""
    return mat.todense()


def csr_matvec(mat: CSR, v: Any, transpose: bool = False) -> Any:
    """The product of a CSR matrix, or its transpose, and a vector."""
    return (mat.T if transpose else mat) @ v


def csr_matmat(mat: CSR, B: Any, *, transpose: bool = False) -> Any:
    """The product of a CSR matrix, or its transpose, and a dense matrix."""
    return (mat.T if transpose else mat) @ B


def _csr_fromdense(mat: Any, *, nse: int, index_dtype: Any = np.int32) -> tuple[Any, Any, Any]:
    return CSR.fromdense(mat, nse=nse, index_dtype=index_dtype)._bufs


def _csr_todense(data: Any, indices: Any, indptr: Any, *, shape: Sequence[int]) -> Any:
    return CSR((data, indices, indptr), shape=shape).todense()


def _csr_matvec(data: Any, indices: Any, indptr: Any, v: Any, *, shape: Sequence[int], transpose: bool = False) -> Any:
    return csr_matvec(CSR((data, indices, indptr), shape=shape), v, transpose)


def _csr_matmat(data: Any, indices: Any, indptr: Any, B: Any, *, shape: Sequence[int], transpose: bool = False) -> Any:
    return csr_matmat(CSR((data, indices, indptr), shape=shape), B, transpose=transpose)
