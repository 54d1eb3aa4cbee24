"""``jax.experimental.sparse``: `BCOO`, matrices of elements and their positions, without batches and dense parts.

Products and sums go by way of dense arrays: they are right, and no faster than those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import cotangent.numpy as cnp
from cotangent import tree_util

__all__ = ["BCOO"]


@tree_util.register_pytree_node_class
class BCOO:
    """An array of which elements are given with their positions; those at one position are summed.

    Args:
        args: ``(data, indices)``, where a row of the indices is the position of an element of the data.
        shape: that of the array. A position outside of it counts for nothing.
    """

    n_batch = 0
    n_dense = 0

    def __init__(
        self, args: tuple[Any, Any], *, shape: Sequence[int], indices_sorted: bool = False, unique_indices: bool = False
    ) -> None:
        self.data, self.indices = args
        self.shape = tuple(shape)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = "int32"
    ) -> BCOO:
        """The elements of a dense array that are not 0: so many that their number is known, or ``nse``.

        Raises:
            NotImplementedError: batches or dense parts are asked for.
        """
        if n_batch or n_dense:
            raise NotImplementedError(
                "BCOO.fromdense: there are no batches and dense parts; n_batch and n_dense must be 0"
            )
        mat = cnp.asarray(mat)
        if nse is None:
            nse = int(np.count_nonzero(np.asarray(mat)))
        positions = cnp.nonzero(mat, size=nse, fill_value=mat.shape)
        indices = cnp.stack(positions, axis=-1).astype(index_dtype)
        data = mat.at[positions].get(mode="fill", fill_value=0)
        return cls((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)

    @property
    def nse(self) -> int:
        """The number of elements that are given."""
        return int(self.indices.shape[0])

    @property
    def dtype(self) -> Any:
        """That of the elements."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    n_sparse = ndim

    @property
    def size(self) -> int:
        """The number of elements, those that are 0 included."""
        return int(np.prod(self.shape, dtype=np.int64))

    def todense(self) -> Any:
        """The array with all elements."""
        positions = tuple(self.indices[:, axis] for axis in range(self.ndim))
        return cnp.zeros(self.shape, self.dtype).at[positions].add(self.data, mode="drop")

    @property
    def T(self) -> BCOO:  # noqa: N802 (NumPy's name)
        """The transpose."""
        return BCOO((self.data, self.indices[:, ::-1]), shape=self.shape[::-1], unique_indices=self.unique_indices)

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """The array with its axes in another order."""
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        shape = [self.shape[axis] for axis in order]
        return BCOO((self.data, self.indices[:, np.array(order)]), shape=shape, unique_indices=self.unique_indices)

    def __matmul__(self, other: Any) -> Any:
        return self.todense() @ _dense(other)

    def __rmatmul__(self, other: Any) -> Any:
        return _dense(other) @ self.todense()

    def __mul__(self, other: Any) -> Any:
        if np.ndim(_dense(other)) == 0:
            return BCOO((self.data * other, self.indices), shape=self.shape, unique_indices=self.unique_indices)
        return BCOO.fromdense(self.todense() * _dense(other), nse=self.nse)

    __rmul__ = __mul__

    def __neg__(self) -> BCOO:
        return BCOO((-self.data, self.indices), shape=self.shape, unique_indices=self.unique_indices)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, BCOO):
            return self.todense() + other
        data, indices = cnp.concatenate([self.data, other.data]), cnp.concatenate([self.indices, other.indices])
        return BCOO((data, indices), shape=self.shape)

    def sum(self, axis: Any = None) -> Any:
        """The sum of the elements, or along axes."""
        return self.data.sum() if axis is None else self.todense().sum(axis)

    def tree_flatten(self) -> tuple[Any, Any]:
        """The arrays that it is made of."""
        return (self.data, self.indices), (self.shape, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> BCOO:
        """It, of its arrays."""
        made = object.__new__(cls)
        made.data, made.indices = children
        made.shape, made.indices_sorted, made.unique_indices = aux
        return made

    def __repr__(self) -> str:
        return f"BCOO({self.dtype}{list(self.shape)}, nse={self.nse})"


def _dense(x: Any) -> Any:
    return x.todense() if isinstance(x, BCOO) else x
