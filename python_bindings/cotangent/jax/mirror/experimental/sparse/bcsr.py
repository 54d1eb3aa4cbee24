"""``jax.experimental.sparse.bcsr``: matrices of parts, their columns, and where rows begin, with batches and dense axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

import cotangent.numpy as cnp
from cotangent import tree_util
from cotangent.jax.internals import batched_objects
from cotangent.jax.internals.sparse import coordinates, operators, products, rows
from cotangent.jax.internals.sparse.coordinates import SparseInfo
from cotangent.jax.mirror.experimental.sparse._base import JAXSparse
from cotangent.jax.mirror.experimental.sparse.bcoo import BCOO, bcoo_broadcast_in_dim, bcoo_concatenate

__all__ = [
    "BCSR",
    "_bcoo_to_bcsr",
    "_bcsr_fromdense",
    "_bcsr_to_bcoo",
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
    "bcsr_dot_general",
    "bcsr_eliminate_zeros",
    "bcsr_extract",
    "bcsr_fromdense",
    "bcsr_sum_duplicates",
    "bcsr_todense",
]


@batched_objects.register
@tree_util.register_pytree_node_class
class BCSR(JAXSparse):
    """A sparse matrix of ``data``, their columns ``indices`` and ``indptr``, where in them rows begin."""

    n_sparse = 2
    indices: Any
    indptr: Any
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices, self.indptr = (cnp.asarray(part) for part in args)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        super().__init__(args, shape=shape)
        self._check()

    def _check(self) -> None:
        n_batch, shape = self.n_batch, self.shape
        if n_batch + 2 + self.n_dense != len(shape) or self.n_dense < 0:
            raise ValueError(
                f"BCSR array must have 2 sparse dimensions; got {len(shape) - n_batch - self.n_dense}\n"
                "  give data (nse,), indices (nse,) and indptr (rows + 1,) for a shape (rows, columns)"
            )
        for name in ("data", "indices", "indptr"):
            sizes = getattr(self, name).shape[:n_batch]
            if any(size not in (1, whole) for size, whole in zip(sizes, shape[:n_batch], strict=True)):
                raise ValueError(
                    f"{name} batch dimensions not compatible for {name} of shape {sizes}, shape={shape}\n"
                    f"  give it the batches of the shape, {shape[:n_batch]}, or ones"
                )
        if self.indptr.shape[n_batch:] != (shape[n_batch] + 1,):
            raise ValueError(
                f"indptr shape must match the matrix shape plus 1.\n"
                f"  give one start for each row, and the end: {shape[n_batch] + 1} numbers"
            )
        if self.data.shape[n_batch:] != (self.nse, *shape[n_batch + 2 :]):
            raise ValueError(
                f"Invalid data of shape {self.data.shape} for nse={self.nse}, n_batch={n_batch}\n"
                "  give as many data as indices"
            )

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.indices, self.indptr

    @property
    def nse(self) -> int:
        """The number of parts that are given in each batch."""
        return int(self.indices.shape[-1])

    @property
    def n_batch(self) -> int:
        """The number of batch axes."""
        return int(self.indices.ndim - 1)

    @property
    def n_dense(self) -> int:
        """The number of dense axes."""
        return int(self.data.ndim - self.indices.ndim)

    @property
    def _sparse_shape(self) -> tuple[int, ...]:
        return self.shape[self.n_batch : self.n_batch + 2]

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
        """The arrays that it is made of, and the rest."""
        return self._bufs, self._info._asdict()

    @classmethod
    def tree_unflatten(cls, aux: dict[str, Any], children: Sequence[Any]) -> Self:
        """It, of its arrays, which may be anything."""
        made = object.__new__(cls)
        made.data, made.indices, made.indptr = children
        made.__dict__.update(aux)
        return made

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: Any = None,
        index_dtype: Any = "int32",
        n_dense: int = 0,
        n_batch: int = 0,
        nse: int = 0,
    ) -> Self:
        sizes = tuple(shape)
        if min(n_dense, n_batch, nse) < 0:
            raise ValueError(
                f"Invalid inputs: shape={sizes}, n_dense={n_dense}, n_batch={n_batch}, nse={nse}\n"
                "  none of n_dense, n_batch and nse may be negative: leave them out for a matrix"
            )
        if len(sizes) - n_dense - n_batch != 2:
            raise ValueError(
                f"BCSR sparse.empty: must have 2 sparse dimensions.\n"
                f"  pass n_batch={max(len(sizes) - n_dense - 2, 0)} for the shape {sizes}"
            )
        batches, (row, column) = sizes[:n_batch], sizes[n_batch : n_batch + 2]
        data = cnp.zeros((*batches, nse, *sizes[n_batch + 2 :]), dtype)
        indices = cnp.full((*batches, nse), column, index_dtype)
        return cls((data, indices, cnp.zeros((*batches, row + 1), index_dtype)), shape=sizes)

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> Self:
        """The parts of a dense array that are not 0: so many that their number is known, or ``nse``."""
        if np.ndim(mat) - n_dense - n_batch != 2:
            raise ValueError(
                f"bcsr_fromdense: must have 2 sparse dimensions.\n"
                f"  pass n_batch={max(np.ndim(mat) - n_dense - 2, 0)} for the shape {np.shape(mat)}"
            )
        made = BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)
        return cls.from_bcoo(made)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> Self:
        """The same array, of a BCOO one."""
        if arr.n_sparse != 2:
            raise NotImplementedError(
                f"BSCR.from_bcoo requires n_sparse=2; got arr.n_sparse={arr.n_sparse}\n"
                f"  choose n_batch with arr.update_layout(n_batch={max(arr.n_sparse - 2, 0)})"
            )
        if not arr.indices_sorted:
            arr = arr.sort_indices()
        indices, indptr = rows.columns_and_starts(arr.indices, arr.sparse_shape, arr.indices.dtype)
        known = {"indices_sorted": arr.indices_sorted, "unique_indices": arr.unique_indices}
        return cls((arr.data, indices, indptr), shape=arr.shape, **known)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> Self:
        """A matrix of `scipy.sparse`."""
        if n_dense or n_batch:
            raise NotImplementedError("BCSR from_scipy_sparse with nonzero n_dense/n_batch.\n  leave them out")
        if mat.ndim != 2:
            raise ValueError(
                f"BCSR from_scipy_sparse requires 2D array; {mat.ndim}D is given.\n"
                "  reshape it to a matrix of one row: mat.reshape(1, -1)"
            )
        mat = mat.tocsr()
        places = [cnp.asarray(part.astype(index_dtype or np.int32)) for part in (mat.indices, mat.indptr)]
        return cls((cnp.asarray(mat.data), places[0], places[1]), shape=mat.shape)

    def to_bcoo(self) -> BCOO:
        """The same array, as a BCOO one."""
        return BCOO((self.data, rows.positions(self.indices, self.indptr)), shape=self.shape)

    def todense(self) -> Any:
        """The array with all elements."""
        return self.to_bcoo().todense()

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> Self:
        """The array with each position once, in order, and without zeros."""
        return type(self).from_bcoo(self.to_bcoo().sum_duplicates(nse, remove_zeros))

    def transpose(self, *args: Any, **kwargs: Any) -> Any:
        """Not there, as in JAX."""
        raise NotImplementedError("Transpose is not implemented.\n  transpose the BCOO form: x.to_bcoo().T")

    def __matmul__(self, other: Any) -> Any:
        return operators.matmul(self.to_bcoo(), other.to_bcoo() if isinstance(other, BCSR) else other)

    def __rmatmul__(self, other: Any) -> Any:
        return operators.matmul(other, self.to_bcoo())

    def __getitem__(self, item: Any) -> Any:
        return self.to_bcoo()[item]


def bcsr_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCSR:
    """A BCSR array of a dense one."""
    return BCSR.fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)


def bcsr_todense(mat: BCSR) -> Any:
    """A dense array of a BCSR one."""
    return mat.todense()


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """The array with each position once, in order."""
    return mat.sum_duplicates(nse, remove_zeros=False)


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """The array without zeros, with each position once, in order."""
    return mat.sum_duplicates(nse)


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    """The parts of a dense array at columns and rows."""
    return coordinates.extracted(rows.positions(cnp.asarray(indices), cnp.asarray(indptr)), cnp.asarray(mat))


def bcsr_dot_general(
    lhs: BCSR,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The product of a BCSR array and a dense one that `lax.dot_general` has."""
    if isinstance(rhs, JAXSparse) or not isinstance(lhs, BCSR):
        raise NotImplementedError(
            f"bcsr_dot_general currently implemented for BCSR lhs and dense rhs; got {type(lhs)} and {type(rhs)}.\n"
            "  make the right one dense: rhs.todense()"
        )
    return products.dot_general(lhs.to_bcoo(), rhs, dimension_numbers, preferred_element_type)


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCSR:
    """The array with more axes."""
    made = bcoo_broadcast_in_dim(mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions)
    return BCSR.from_bcoo(made)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Arrays one after another along a batch or a sparse axis."""
    return BCSR.from_bcoo(bcoo_concatenate([mat.to_bcoo() for mat in operands], dimension=dimension))


def _bcsr_fromdense(
    mat: Any, *, nse: int, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> tuple[Any, Any, Any]:
    return BCSR.fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)._bufs


def _bcsr_to_bcoo(indices: Any, indptr: Any, *, shape: Sequence[int]) -> Any:
    return rows.positions(cnp.asarray(indices), cnp.asarray(indptr))


def _bcoo_to_bcsr(indices: Any, *, shape: Sequence[int], index_dtype: Any = np.int32) -> tuple[Any, Any]:
    n_batch = indices.ndim - 2
    return rows.columns_and_starts(indices, tuple(shape[n_batch : n_batch + 2]), index_dtype)
