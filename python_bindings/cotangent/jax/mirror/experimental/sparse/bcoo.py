"""``jax.experimental.sparse.bcoo``: arrays of parts and their positions, with batches and dense axes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

import cotangent.numpy as cnp
from cotangent import tree_util
from cotangent.jax.internals import batched_objects
from cotangent.jax.internals.sparse import coordinates, layouts, operators, products, shapes
from cotangent.jax.internals.sparse.coordinates import Coordinates, SparseInfo
from cotangent.jax.mirror.experimental.sparse._base import JAXSparse
from cotangent.jax.mirror.experimental.sparse.util import _count_stored_elements

__all__ = [
    "BCOO",
    "_bcoo_dot_general",
    "_bcoo_extract",
    "_bcoo_fromdense",
    "_bcoo_todense",
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_conv_general_dilated",
    "bcoo_dot_general",
    "bcoo_dot_general_sampled",
    "bcoo_dynamic_slice",
    "bcoo_eliminate_zeros",
    "bcoo_extract",
    "bcoo_fromdense",
    "bcoo_multiply_dense",
    "bcoo_multiply_sparse",
    "bcoo_reduce_sum",
    "bcoo_reshape",
    "bcoo_rev",
    "bcoo_slice",
    "bcoo_sort_indices",
    "bcoo_squeeze",
    "bcoo_sum_duplicates",
    "bcoo_todense",
    "bcoo_transpose",
    "bcoo_update_layout",
]


def _densifying(name: str) -> Callable[..., Any]:
    def refuse(self: Any, other: Any) -> Any:
        raise NotImplementedError(
            f"sparse rule for {name} is not implemented because it would result in dense output.\n"
            "  make it dense where that is wanted: x.todense()"
        )

    return refuse


@batched_objects.register
@tree_util.register_pytree_node_class
class BCOO(Coordinates, JAXSparse):
    """A sparse array of ``data`` and their positions, ``indices``, behind axes for batches and before dense axes."""

    __repr__ = JAXSparse.__repr__
    __hash__ = None

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> Self:
        """The parts of a dense array that are not 0: so many that their number is known, or ``nse``."""
        mat = cnp.asarray(mat)
        if nse is None:
            nse = int(_count_stored_elements(mat, n_batch, n_dense))
        parts = coordinates.parts_of_dense(mat, operator.index(nse), n_batch, n_dense, index_dtype)
        return cls(parts, shape=mat.shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> Self:
        """A matrix of `scipy.sparse`."""
        if n_dense or n_batch:
            raise NotImplementedError(
                "BCOO.fromscipy with nonzero n_dense/n_batch\n"
                "  leave them out, and choose them with update_layout afterwards"
            )
        mat = mat.tocoo()
        indices = cnp.asarray(np.stack([mat.row, mat.col], axis=1).astype(index_dtype or np.int32))
        return cls((cnp.asarray(mat.data), indices), shape=mat.shape)

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
        n_sparse = len(sizes) - n_dense - n_batch
        if min(n_sparse, n_dense, n_batch, nse) < 0:
            raise ValueError(
                f"Invalid inputs: shape={sizes}, n_dense={n_dense}, n_batch={n_batch}, nse={nse}\n"
                f"  n_batch + n_dense must be at most {len(sizes)}, and none of them negative"
            )
        batches, sparse, dense = sizes[:n_batch], sizes[n_batch : n_batch + n_sparse], sizes[n_batch + n_sparse :]
        data = cnp.zeros((*batches, nse, *dense), dtype)
        indices = cnp.broadcast_to(cnp.array(sparse, index_dtype), (*batches, nse, n_sparse))
        return cls((data, indices), shape=sizes, indices_sorted=True, unique_indices=True)

    @classmethod
    def _eye(
        cls,
        N: int,
        M: int,
        k: int,
        *,
        dtype: Any = None,
        index_dtype: Any = "int32",
        n_batch: int = 0,
        n_dense: int = 0,
    ) -> Self:
        if n_batch < 0 or n_dense < 0 or n_batch + n_dense > 2:
            raise ValueError(
                f"Invalid inputs: shape={(N, M)}, n_dense={n_dense}, n_batch={n_batch}\n"
                "  n_batch + n_dense must be at most 2, and none of them negative"
            )
        count = min(N, M - k) if k > 0 else min(N + k, M)
        if count <= 0:
            return cls._empty((N, M), dtype=dtype, index_dtype=index_dtype, n_batch=n_batch, n_dense=n_dense)
        eye = cnp.eye(N, M, k, dtype=dtype)
        if n_dense or n_batch:
            return cls.fromdense(eye, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)
        first = np.arange(count)
        indices = np.stack([first - min(k, 0), first + max(k, 0)], axis=1)
        parts = cnp.ones(count, dtype), cnp.asarray(indices.astype(index_dtype))
        return cls(parts, shape=(N, M), indices_sorted=True, unique_indices=True)

    @property
    def _bufs(self) -> tuple[Any, Any]:
        return self.data, self.indices

    def todense(self) -> Any:
        """The array with all elements."""
        return coordinates.dense_of(self.data, self.indices, self.shape)

    def update_layout(
        self, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
    ) -> Self:
        """The array with other numbers of batches and dense axes."""
        return layouts.update_layout(self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> Self:
        """The array with each position once, in order, and without zeros."""
        return layouts.eliminate_zeros(self, nse) if remove_zeros else layouts.sum_duplicates(self, nse)

    def sort_indices(self) -> Self:
        """The array with its positions in order."""
        return layouts.sort_indices(self)

    def transpose(self, axes: Sequence[int] | None = None) -> Self:
        """The array with its axes in another order."""
        return layouts.transpose(self, range(self.ndim)[::-1] if axes is None else axes)

    def reshape(self, *shape: Any, **kwargs: Any) -> Self:
        """The array with other sizes."""
        sizes = shape[0] if len(shape) == 1 and np.ndim(shape[0]) else shape
        sizes = [operator.index(size) for size in sizes]
        if -1 in sizes:
            rest = self.size // max(1, -int(np.prod(sizes, dtype=np.int64)))
            sizes = [rest if size == -1 else size for size in sizes]
        return shapes.reshape(self, sizes)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Self:
        """The array with elements of another dtype."""
        unique = self if self.unique_indices else layouts.sum_duplicates(self, self.nse)
        return unique.with_data(unique.data.astype(dtype))

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """The sum of the elements, dense, or along axes, sparse."""
        axes = range(self.ndim) if axis is None else (axis,) if np.ndim(axis) == 0 else axis
        numbers = shapes.axes_of(self, axes)
        data = self.data if dtype is None else self.data.astype(dtype)
        data = cnp.sum(data[None], axis=0) if dtype is None else data  # in the dtype of sums
        out = shapes.reduce_sum(self.of(data, self.indices, self.shape), numbers)
        if keepdims:
            rest = [number for number in range(self.ndim) if number not in numbers]
            out = shapes.broadcast_in_dim(
                out, [1 if number in numbers else self.shape[number] for number in range(self.ndim)], rest
            )
        return out.todense() if not out.ndim else out

    def __abs__(self) -> Self:
        return operators.unary(cnp.abs, "abs", self)  # type: ignore[return-value]

    def __neg__(self) -> Self:
        return operators.negative(self)  # type: ignore[return-value]

    def __pos__(self) -> Self:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(self.shape[0])])

    def __getitem__(self, item: Any) -> Any:
        return operators.take(self, item)

    __matmul__ = operators.matmul
    __add__ = __radd__ = operators.add
    __mul__ = __rmul__ = operators.multiply
    __sub__ = operators.subtract
    __truediv__ = operators.divide
    __pow__ = operators.power
    __eq__, __ne__ = _densifying("eq"), _densifying("ne")
    __lt__, __le__, __gt__, __ge__ = (_densifying(name) for name in ("lt", "le", "gt", "ge"))

    def __rmatmul__(self, other: Any) -> Any:
        return operators.matmul(other, self)

    def __rsub__(self, other: Any) -> Any:
        return operators.subtract(other, self)

    def __rtruediv__(self, other: Any) -> Any:
        return operators.divide(other, self)

    def __rpow__(self, other: Any) -> Any:
        return operators.power(other, self)


def _of(x: Any, function: str) -> BCOO:
    if not isinstance(x, BCOO):
        raise TypeError(f"{function}: takes a BCOO array; got {type(x)}\n  make one with BCOO.fromdense(x)")
    return x


def bcoo_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCOO:
    """A BCOO array of a dense one."""
    return BCOO.fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)


def bcoo_todense(mat: BCOO) -> Any:
    """A dense array of a BCOO one."""
    return mat.todense()


def bcoo_extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """The parts of a dense array at the positions of a sparse one, which are there once each, or the first of them has it."""
    if not isinstance(sparr, BCOO):
        raise TypeError(
            f"First argument to bcoo_extract should be a BCOO array. Got {type(sparr)}\n"
            "  make one with BCOO.fromdense(x)"
        )
    array = cnp.asarray(arr)
    if array.shape != sparr.shape:
        raise ValueError(f"shape mismatch: sparr.shape={sparr.shape} a.shape={array.shape}\n  give arrays of one shape")
    unique = sparr.unique_indices if assume_unique is None else assume_unique
    return sparr.with_data(coordinates.extracted(sparr.indices, array, unique))


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The array with its axes in another order."""
    return layouts.transpose(mat, permutation)


def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The product that `lax.dot_general` has: a BCOO array of two of them, else a dense one."""
    return products.dot_general(lhs, rhs, dimension_numbers, preferred_element_type)


def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Any:
    """The parts of a product of dense arrays at positions."""
    return products.sampled(A, B, indices, dimension_numbers)


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The array with its positions in order."""
    return layouts.sort_indices(mat)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """The array with each position once, in order."""
    return layouts.sum_duplicates(mat, nse)


def bcoo_eliminate_zeros(mat: BCOO, nse: int | None = None) -> BCOO:
    """The array without zeros, with each position once, in order."""
    return layouts.eliminate_zeros(mat, nse)


def bcoo_update_layout(
    mat: BCOO, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
) -> BCOO:
    """The array with other numbers of batches and dense axes."""
    return mat.update_layout(n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient)


def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCOO:
    """The array with more axes."""
    return shapes.broadcast_in_dim(mat, shape, broadcast_dimensions)


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Arrays one after another along a batch or a sparse axis."""
    return shapes.concatenate(operands, dimension)


def bcoo_reshape(
    mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, sharding: Any = None
) -> BCOO:
    """The array with other sizes."""
    return shapes.reshape(mat, new_sizes, dimensions)


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """The array with axes the other way round."""
    return shapes.reverse(operand, dimensions)


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """The array without axes of size 1."""
    return shapes.squeeze(arr, dimensions)


def bcoo_slice(
    mat: BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> BCOO:
    """The part of the array between starts and limits."""
    return shapes.slice_(_of(mat, "bcoo_slice"), start_indices, limit_indices, strides)


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """The part of the array of these sizes that begins at values of arrays."""
    return shapes.dynamic_slice(_of(mat, "bcoo_dynamic_slice"), start_indices, slice_sizes)


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sums along axes."""
    return shapes.reduce_sum(mat, axes)


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The product of each pair of elements of two sparse arrays."""
    return products.multiply_sparse(lhs, rhs)


def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """The data of the product of each pair of elements of a sparse array and a dense one."""
    return products.multiply_dense(sp_mat, v)


def bcoo_conv_general_dilated(lhs: Any, rhs: Any, *, window_strides: Any, padding: Any, **options: Any) -> BCOO:
    """A convolution along one axis with one channel, sparse."""
    return products.convolution(BCOO, lhs, rhs, window_strides, padding, **options)  # type: ignore[no-any-return]


# ---- The same on arrays alone


def _bcoo_fromdense(
    mat: Any, *, nse: int, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> tuple[Any, Any]:
    return coordinates.parts_of_dense(cnp.asarray(mat), operator.index(nse), n_batch, n_dense, index_dtype)


def _bcoo_todense(data: Any, indices: Any, *, spinfo: SparseInfo) -> Any:
    return BCOO((data, indices), shape=spinfo.shape).todense()


def _bcoo_extract(indices: Any, arr: Any, *, assume_unique: bool = True) -> Any:
    return coordinates.extracted(cnp.asarray(indices), cnp.asarray(arr), assume_unique)


def _bcoo_dot_general(
    lhs_data: Any,
    lhs_indices: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    preferred_element_type: Any = None,
    lhs_spinfo: SparseInfo,
) -> Any:
    lhs = BCOO((lhs_data, lhs_indices), shape=lhs_spinfo.shape)
    return products.dot_general(lhs, rhs, dimension_numbers, preferred_element_type)
