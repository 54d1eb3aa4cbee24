"""Products and diagonals under their names in the array API's linear algebra extension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base.arguments import check_arguments
from cotangent._base.precision import check_precision
from cotangent._core import Array
from cotangent._ops.extents import capacities, capacity
from cotangent._ops.products import matmul, tensordot, vecdot
from cotangent._ops.shapes import matrix_transpose
from cotangent._ops.sizes import arrays_of
from cotangent.errors import ShapeError

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of 3 elements along an axis.

    Parameters
    ----------
    x1, x2 : array
        Numbers; promoted to a common dtype, other axes broadcast.
    axis : int, default -1
        The axis of the vectors.

    Returns
    -------
    array
        Of the broadcast shape.

    Raises
    ------
    ValueError
        The axis has another size.

    Examples
    --------
    >>> ct.numpy.linalg.cross(ct.numpy.array([1, 0, 0]), ct.numpy.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    x, y = _core.array(x1), _core.array(x2)
    if capacity(x, axis) != 3 or capacity(y, axis) != 3:
        raise ValueError(
            f"cross takes vectors of 3 elements; the shapes are {x.shape} and {y.shape}\n"
            "  ct.numpy.cross takes vectors of 2 elements, too"
        )
    return ops.cross(x, y, axis=axis)


def outer(x1: Any, x2: Any, /) -> Array:
    """The products of all pairs of elements of two vectors.

    Parameters
    ----------
    x1 : array, shape (m,)
        Numbers; promoted with ``x2`` to a common dtype.
    x2 : array, shape (n,)
        Numbers.

    Returns
    -------
    array, shape (m, n)
        The products.

    Raises
    ------
    ValueError
        An argument does not have one axis.

    Examples
    --------
    >>> ct.numpy.linalg.outer(ct.numpy.array([1, 2]), ct.numpy.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    x, y = _core.array(x1), _core.array(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(
            f"outer takes arrays with one axis; the shapes are {x.shape} and {y.shape}\n"
            "  ct.numpy.outer takes arrays of any shape, flattened"
        )
    return ops.outer(x, y)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """The diagonals of matrices.

    Parameters
    ----------
    x : array, shape (..., m, n)
        The matrices.
    offset : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.

    Returns
    -------
    array, shape (..., k)
        The diagonals.

    Examples
    --------
    >>> ct.numpy.linalg.diagonal(ct.numpy.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)
    """
    return ops.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sums of the diagonals of matrices.

    Parameters
    ----------
    x : array, shape (..., m, n)
        The matrices.
    offset : int, default 0
        Which diagonal: 0 the main one, 1 that above it, -1 that below it.
    dtype : dtype, optional
        Of the result. None: as for `sum`.

    Returns
    -------
    array, shape (...)
        The sums.

    Examples
    --------
    >>> ct.numpy.linalg.trace(ct.numpy.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    return ops.trace(x, offset, -2, -1, dtype)


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to divide each product of matrices i … j for the fewest multiplications; matrix i is sizes[i] x sizes[i + 1]."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            splits[i, j] = min(options, key=options.__getitem__)
            cost[i, j] = options[splits[i, j]]
    return splits


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Array:
    """The product of several matrices, in the order that takes the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array
        Two or more matrices; the first and the last may be vectors.
    precision : str, Precision or None, default None
        Looked at only: products have at least the precision of their dtype, which satisfies all of them.

    Returns
    -------
    array
        The product, without the axes that vectors do not have.

    Raises
    ------
    ValueError
        There are fewer than two, or axes do not fit.

    Examples
    --------
    >>> ct.numpy.linalg.multi_dot([np.array([[1, 2], [3, 4]]), np.array([[0, 1], [1, 0]]), np.array([1, 10])])
    Array([12, 34], dtype=int64)
    """
    check_precision(precision)
    factors = [_core.array(x) for x in arrays_of(arrays, "multi_dot")]
    shapes = [x.shape for x in factors]
    if len(factors) < 2:
        raise ValueError(
            f"multi_dot needs at least two arrays; got {len(factors)}\n  give a list of two arrays or more"
        )
    outer_ranks = (factors[0].ndim in (1, 2), factors[-1].ndim in (1, 2))
    if not all(outer_ranks) or any(x.ndim != 2 for x in factors[1:-1]):
        raise ValueError(
            f"multi_dot takes matrices, and vectors only first and last; the shapes are {shapes}\n"
            "  multiply batches of matrices with @"
        )
    if any(capacity(x, -1) != capacity(y, 0) for x, y in zip(factors, factors[1:], strict=False)):
        raise ShapeError(
            f"multi_dot: the last axis of each array must be as long as the first of the next; got {shapes}\n"
            "  transpose one of them: x.T"
        )
    first = [1] if factors[0].ndim == 1 else []
    last = [1] if factors[-1].ndim == 1 else []
    sizes = [*first, *(capacity(x, 0) for x in factors), *capacities(factors[-1])[1:], *last]
    splits = _best_splits(sizes)

    def product(i: int, j: int) -> Array:
        if i == j:
            return factors[i]
        return ops.matmul(product(i, splits[i, j]), product(splits[i, j] + 1, j))

    return product(0, len(factors) - 1)


check_arguments(globals())
