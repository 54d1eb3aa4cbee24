"""The record that sparse arrays are, and how it comes from dense arrays and becomes one.

The axes of an array are batches, then sparse ones, then dense ones. ``data`` has shape ``batches + (nse,) + dense``; ``indices`` has shape
``batches + (nse, number of sparse axes)`` and says where the parts of the data belong. Parts at one position are summed, those outside of the
array count for nothing. A batch of size 1 in either stands for all of them. Start at `per_batch`: every function here is one of a single batch.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

import cotangent as ct
import cotangent.numpy as cnp

__all__ = [
    "Coordinates",
    "SparseInfo",
    "counted",
    "dense_of",
    "extracted",
    "is_first",
    "is_inside",
    "padded",
    "parts_of_dense",
    "per_batch",
    "sorting",
]


class SparseInfo(NamedTuple):
    """What a sparse array is beside its arrays."""

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


def per_batch(function: Callable[..., Any], n_batch: int, *arrays: Any) -> Any:
    """The function of one batch, on arrays with ``n_batch`` leading axes of which those of size 1 broadcast."""
    if not n_batch:
        return function(*arrays)
    sizes = np.broadcast_shapes(*(array.shape[:n_batch] for array in arrays))
    arrays = tuple(cnp.broadcast_to(array, sizes + array.shape[n_batch:]) for array in arrays)
    for _ in range(n_batch):
        function = ct.vmap(function)
    return function(*arrays)


def is_inside(indices: Any, sizes: Sequence[int]) -> Any:
    """Which rows of positions (…, number of axes) are in an array of these sizes."""
    return cnp.all((indices >= 0) & (indices < cnp.array(sizes, indices.dtype)), axis=-1)


def sorting(indices: Any) -> Any:
    """The order of rows of positions (nse, number of axes) by their axes, first to last; those that are equal stay as they are."""
    columns = indices.shape[-1]
    if not columns:
        return cnp.arange(indices.shape[0])
    return cnp.lexsort(tuple(indices[:, axis] for axis in reversed(range(columns))))


def _starts(ordered: Any) -> Any:
    """Where in sorted rows another position than before begins."""
    nse = ordered.shape[0]
    if not nse:
        return cnp.zeros(0, bool)
    return cnp.concatenate([cnp.ones(1, bool), cnp.any(ordered[1:] != ordered[:-1], axis=-1)])


def is_first(indices: Any) -> Any:
    """Which rows of positions (nse, number of axes) are not above already."""
    order = sorting(indices)
    return cnp.zeros(indices.shape[0], bool).at[order].set(_starts(indices[order]))


def dense_of(data: Any, indices: Any, shape: Sequence[int]) -> Any:
    """The array with all elements."""
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]

    def one(data: Any, indices: Any) -> Any:
        if not n_sparse:
            return cnp.any(data, axis=0) if data.dtype == bool else cnp.sum(data, axis=0, dtype=data.dtype)
        zeros = cnp.zeros(tuple(shape[n_batch:]), data.dtype)
        at = zeros.at[tuple(indices[:, axis] for axis in range(n_sparse))]
        return at.max(data, mode="drop") if data.dtype == bool else at.add(data, mode="drop")

    return cnp.broadcast_to(per_batch(one, n_batch, data, indices), tuple(shape))


def extracted(indices: Any, array: Any, assume_unique: bool = True) -> Any:
    """The parts of a dense array at positions, 0 outside of it; only the first of those that are there more than once, unless they are not asked for."""
    n_batch, nse, n_sparse = indices.ndim - 2, indices.shape[-2], indices.shape[-1]

    def one(indices: Any, array: Any) -> Any:
        if n_sparse:
            found = array.at[tuple(indices[:, axis] for axis in range(n_sparse))].get(mode="fill", fill_value=0)
        else:
            found = cnp.broadcast_to(array[None], (nse, *array.shape))
        if assume_unique or not nse:
            return found
        first = is_first(indices).reshape((nse,) + (1,) * (found.ndim - 1))
        return cnp.where(first, found, cnp.zeros((), found.dtype))

    return per_batch(one, n_batch, indices, array)


def counted(array: Any, n_batch: int = 0, n_dense: int = 0) -> Any:
    """How many positions of each batch have a part that is not 0."""
    stored = cnp.asarray(array) != 0
    stored = cnp.any(stored, axis=tuple(range(stored.ndim - n_dense, stored.ndim)))
    return cnp.sum(stored, axis=tuple(range(n_batch, stored.ndim)))


def parts_of_dense(array: Any, nse: int, n_batch: int, n_dense: int, index_dtype: Any) -> tuple[Any, Any]:
    """The data and positions of so many parts of a dense array that are not 0."""
    n_sparse = array.ndim - n_batch - n_dense

    def one(array: Any) -> tuple[Any, Any]:
        sizes = array.shape[:n_sparse]
        stored = cnp.any(array != 0, axis=tuple(range(n_sparse, array.ndim)))
        if n_sparse:
            positions = cnp.nonzero(stored, size=nse, fill_value=sizes)
            indices = cnp.stack([p.astype(index_dtype) for p in positions], axis=-1)
            return array.at[positions].get(mode="fill", fill_value=0), indices
        count = stored.astype("int32").reshape((1,) * (1 + n_dense))
        here = cnp.arange(nse).reshape((nse,) + (1,) * n_dense) < count
        data = cnp.where(here, array[None], cnp.zeros((), array.dtype))
        return data, cnp.zeros((nse, 0), index_dtype)

    for _ in range(n_batch):
        one = ct.vmap(one)
    return one(array)


class Coordinates:
    """A sparse array.

    Args:
        args: ``(data, indices)``, as the module says.
        shape: that of the array.
        indices_sorted, unique_indices: what is known of the positions.

    Raises:
        ValueError: the arrays do not fit the shape.
    """

    data: Any
    indices: Any
    shape: tuple[int, ...]
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self, args: tuple[Any, Any], *, shape: Sequence[int], indices_sorted: bool = False, unique_indices: bool = False
    ) -> None:
        self.data, self.indices = cnp.asarray(args[0]), cnp.asarray(args[1])
        self.shape = tuple(operator.index(size) for size in shape)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        self._check()

    def _check(self) -> None:
        n_batch, n_sparse, nse = self.n_batch, self.n_sparse, self.nse
        for name, sizes in (("data", self.data.shape), ("indices", self.indices.shape)):
            pairs = zip(sizes[:n_batch], self.shape[:n_batch], strict=True) if len(sizes) >= n_batch else [(0, 1)]
            if any(size not in (1, whole) for size, whole in pairs):
                raise ValueError(
                    f"{name} batch dimensions not compatible for {name} of shape {sizes}, shape={self.shape}\n"
                    f"  give it the batches of the shape, {self.shape[:n_batch]}, or ones"
                )
        if n_batch + n_sparse > len(self.shape) or self.data.shape[n_batch:] != (
            nse,
            *self.shape[n_batch + n_sparse :],
        ):
            raise ValueError(
                f"Invalid data of shape {self.data.shape} for nse={nse}, n_batch={n_batch}, shape={self.shape}\n"
                "  give data (nse, *dense) and indices (nse, n_sparse), both behind the batches"
            )

    @property
    def nse(self) -> int:
        """The number of parts that are given in each batch."""
        return int(self.indices.shape[-2])

    @property
    def n_batch(self) -> int:
        """The number of batch axes."""
        return int(self.indices.ndim - 2)

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes."""
        return int(self.indices.shape[-1])

    @property
    def n_dense(self) -> int:
        """The number of dense axes."""
        return int(self.data.ndim - 1 - self.n_batch)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def sparse_shape(self) -> tuple[int, ...]:
        """The sizes of the sparse axes."""
        return self.shape[self.n_batch : self.n_batch + self.n_sparse]

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    def of(self, data: Any, indices: Any, shape: Sequence[int], **known: bool) -> Self:
        """Another array of the same class."""
        return type(self)((data, indices), shape=shape, **known)

    def with_data(self, data: Any) -> Self:
        """Other data at the same positions."""
        return self.of(
            data, self.indices, self.shape, indices_sorted=self.indices_sorted, unique_indices=self.unique_indices
        )

    def full_batches(self) -> Self:
        """The same array, in which no batch stands for others."""
        sizes = self.shape[: self.n_batch]
        data = cnp.broadcast_to(self.data, sizes + self.data.shape[self.n_batch :])
        indices = cnp.broadcast_to(self.indices, sizes + self.indices.shape[self.n_batch :])
        return self.of(
            data, indices, self.shape, indices_sorted=self.indices_sorted, unique_indices=self.unique_indices
        )

    def tree_flatten(self) -> tuple[tuple[Any, Any], dict[str, Any]]:
        """The arrays that it is made of, and the rest."""
        return (self.data, self.indices), self._info._asdict()

    @classmethod
    def tree_unflatten(cls, aux: dict[str, Any], children: Sequence[Any]) -> Self:
        """It, of its arrays, which may be anything."""
        made = object.__new__(cls)
        made.data, made.indices = children
        made.__dict__.update(aux)
        return made


def padded(mat: Coordinates, nse: int) -> Coordinates:
    """The array with room for so many parts; those beyond are dropped."""
    n_batch = mat.n_batch
    head = (slice(None),) * n_batch
    if nse <= mat.nse:
        data, indices = mat.data[(*head, slice(nse))], mat.indices[..., :nse, :]
    else:
        more = nse - mat.nse
        sizes = mat.data.shape
        zeros = cnp.zeros((*sizes[:n_batch], more, *sizes[n_batch + 1 :]), mat.data.dtype)
        outside = cnp.array(mat.sparse_shape, mat.indices.dtype)
        outside = cnp.broadcast_to(outside, (*mat.indices.shape[:n_batch], more, mat.n_sparse))
        data = cnp.concatenate([mat.data, zeros], axis=n_batch)
        indices = cnp.concatenate([mat.indices, outside], axis=-2)
    return mat.of(data, indices, mat.shape, indices_sorted=mat.indices_sorted, unique_indices=mat.unique_indices)


def volume(sizes: Sequence[int]) -> int:
    """The number of elements of an array."""
    return math.prod(sizes)
