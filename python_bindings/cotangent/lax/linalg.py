"""Matrix factorisations and systems, under their names in ``jax.lax.linalg``.

Operands are batches of matrices ``[..., m, n]`` of float32, float64, complex64 or complex128; narrower floating dtypes are
computed in float32 and rounded. Nothing else is promoted. `cotangent.numpy.linalg` is the friendlier interface.

LAPACK does the work; see docs/design/011-lapack.md. Failures give NaN, as in JAX: a matrix that is not positive definite,
an iteration that does not converge, input that holds NaN.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._base.names import suggest_names
from cotangent._core import Array
from cotangent._ops.binding import convert, is_integer, literal
from cotangent._ops.extents import (
    alike,
    bound_of,
    capacities,
    capacity,
    index_along,
    join_axes,
    shaped_like,
    without_padding,
)
from cotangent._ops.matrices import matrices, one_batch
from cotangent._ops.sizes import axis_size, is_dimension, ragged_length
from cotangent._transforms.control_flow import scan
from cotangent.errors import DTypeError, ShapeError
from cotangent.lax._operands import check_square
from cotangent.lax._reflectors import hessenberg, householder_product, ormqr, tridiagonal
from cotangent.lax.factorizations import cholesky, eig, eigh, lu, qr, schur, svd

__all__ = [
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "lu_solve",
    "ormqr",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]


# ---- Systems ---------------------------------------------------------------------------------------------------------


@matrices(2, promote=False)
def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """The solution x of ``op(a) x = b`` or ``x op(a) = b`` for triangular matrices.

    Parameters
    ----------
    a : array, shape (..., n, n)
        Only one triangle is read.
    b : array, shape (..., n, k) or (..., k, n)
        The former when ``left_side``; or vectors (..., n), with one axis less than ``a``.
    left_side : bool
        Whether ``a`` stands on the left.
    lower : bool
        Which triangle.
    transpose_a : bool
        Whether ``op`` transposes.
    conjugate_a : bool
        Whether ``op`` conjugates.
    unit_diagonal : bool
        Whether the diagonal is taken to be 1 and not read.

    Returns
    -------
    array
        Of the shape of ``b``.

    Examples
    --------
    >>> a = ct.numpy.array([[2.0, 0.0], [1.0, 4.0]])
    >>> ct.lax.linalg.triangular_solve(a, ct.numpy.array([2.0, 9.0]), left_side=True, lower=True)
    Array([1., 2.], dtype=float32)
    """
    vectors = b.ndim == a.ndim - 1
    if vectors:
        b = b[..., None] if left_side else b[..., None, :]
    _core.check_sizes([a, b], [a.ndim - 1, b.ndim - (2 if left_side else 1)])
    x = primitives.triangular_solve(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )
    if not vectors:
        return x
    return x[..., 0] if left_side else x[..., 0, :]


def solve_factored(a: Array, factors: Array, permutation: Array, b: Array, trans: int = 0) -> Array:
    """The solution X [..., n, k] of ``op(a) X = b``, of matrices, with the results of `lu` of ``a`` given.

    Derivatives are those with respect to ``a`` and ``b``.
    """
    options = {"transpose_a": trans != 0, "conjugate_a": trans == 2}
    if a.ndim == 2 and b.ndim > 2 and not _core.ragged_axes(b):
        # One matrix: the right-hand sides of all batches are columns.
        columns = ops.moveaxis(b, -2, 0)
        x = primitives.lu_solve(a, factors, permutation, join_axes(columns, 1, columns.ndim), **options)
        return ops.moveaxis(shaped_like(x, columns), 0, -2)
    a, b, factors, permutation = one_batch((a, 2), (b, 2), (factors, 2), (permutation, 1))
    return primitives.lu_solve(a, factors, permutation, b, **options)


def take_rows(x: Array, order: Array) -> Array:
    """The rows of matrices [..., n, k] in the order [..., n] of each."""
    return primitives.gather(x, order, axis=x.ndim - 2, batch_dims=x.ndim - 2)


def inverse_order(order: Array) -> Array:
    """The inverse of permutations [..., n]."""
    axis = order.ndim - 1
    positions = index_along(order, axis, order.dtype)
    return primitives.scatter_add(literal(order, 0), order, positions, axis=axis, batch_dims=axis)


def _row_numbers(function: str, what: str, numbers: Any) -> Array:
    """What `lu` returned besides the factors, as int32."""
    array = _core.array(numbers)
    if not is_integer(array):
        raise DTypeError(
            f"{function}: {what} must be integers; got {array.dtype}\n"
            "  pass what lu returns: factors, pivots, permutation = ct.lax.linalg.lu(a)"
        )
    return convert(array, "int32")


@matrices(2, promote=False)
def _solve_by_factors(factors: Array, b: Array, order: Array, trans: int) -> Array:
    factors, order, b = one_batch((factors, 2), (order, 1), (b, 2))
    if trans == 0:
        b = take_rows(b, order)
    for lower in (False, True) if trans else (True, False):
        b = triangular_solve(
            factors,
            b,
            left_side=True,
            lower=lower,
            transpose_a=trans != 0,
            conjugate_a=trans == 2,
            unit_diagonal=lower,
        )
    return take_rows(b, inverse_order(order)) if trans else b


def lu_solve(lu: Any, permutation: Any, b: Any, trans: int = 0) -> Array:
    """The solution of ``op(A) x = b`` from the factors of A.

    Parameters
    ----------
    lu : array, shape (..., n, n)
        The first result of `lu` of A.
    permutation : array of int, shape (..., n)
        Its third result.
    b : array, shape (..., n, k)
        The right-hand sides; or vectors (..., n), with one axis less than ``lu``.
    trans : int
        0, 1 or 2 for A, its transpose, its conjugate transpose.

    Returns
    -------
    array
        Of the shape of ``b``.

    Raises
    ------
    ShapeError
        The shapes do not fit.
    DTypeError
        The permutation is not of integers.
    ValueError
        ``trans`` is none of these; or ``permutation`` is none of the rows, as far as its values are known.

    Examples
    --------
    >>> a = ct.numpy.array([[1.0, 2.0], [4.0, 4.0]])
    >>> factors, _, permutation = ct.lax.linalg.lu(a)
    >>> ct.lax.linalg.lu_solve(factors, permutation, ct.numpy.array([5.0, 12.0]))
    Array([1., 2.], dtype=float32)
    """
    factors, order, b = _core.array(lu), _row_numbers("lu_solve", "the permutation", permutation), _core.array(b)
    if trans not in (0, 1, 2):
        raise ValueError(
            f"lu_solve: trans must be 0, 1 or 2; got {trans}\n"
            "  pass 0 to solve with A, 1 with its transpose, 2 with its conjugate transpose"
        )
    vectors = factors.ndim == b.ndim + 1
    right = b[..., None] if vectors else b
    if factors.ndim < 2 or right.ndim < 2 or capacity(factors, -1) != capacity(right, -2):
        raise ShapeError(
            f"lu_solve: factors of shape {factors.shape} do not fit a right-hand side of shape {b.shape}\n"
            "  give as many rows of b as the factors have: shape (..., n) or (..., n, k)"
        )
    if order.ndim == 0 or capacity(order, -1) != capacity(factors, -1):
        raise ShapeError(
            f"lu_solve: a permutation of shape {order.shape} for factors of shape {factors.shape}\n"
            "  pass the first and the third result of lu"
        )
    if not _core.is_traced(order):
        known = _core.to_numpy(order)
        if (np.sort(known, axis=-1) != np.arange(known.shape[-1])).any():
            raise ValueError(
                f"lu_solve: a permutation of {known.shape[-1]} rows has each of 0 … {known.shape[-1] - 1} once; got {known.tolist()}\n"
                "  pass the third result of lu; of pivots: ct.lax.linalg.lu_pivots_to_permutation(pivots, n)"
            )
    x: Array = _solve_by_factors(factors, right, order, trans)
    return x[..., 0] if vectors else x


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Array:
    """The order of rows that exchanging row i with row ``pivots[i]``, one after the other, leads to.

    Parameters
    ----------
    pivots : array of int, shape (..., k)
        As `lu` returns them.
    permutation_size : int
        The number of rows, at least k.

    Returns
    -------
    array of int32, shape (..., permutation_size)
        The order.

    Raises
    ------
    ShapeError
        There are more pivots than rows.
    DTypeError
        The pivots are not integers.
    ValueError
        A pivot is the number of no row, as far as their values are known.

    Examples
    --------
    >>> ct.lax.linalg.lu_pivots_to_permutation(ct.numpy.array([2, 2, 2]), 3)
    Array([2, 0, 1], dtype=int32)
    """
    exchanges = _row_numbers("lu_pivots_to_permutation", "the pivots", pivots)
    length = None
    if is_dimension(permutation_size):
        length, permutation_size = _core.array(permutation_size), bound_of(permutation_size)
    if exchanges.ndim == 0 or capacity(exchanges, -1) > permutation_size:
        raise ShapeError(
            f"lu_pivots_to_permutation: pivots of shape {exchanges.shape} do not fit {permutation_size} rows\n"
            "  pass the pivots that lu returns, and the number of rows of its matrix"
        )
    if not _core.is_traced(exchanges):
        known = _core.to_numpy(exchanges)
        if known.size and (known.min() < 0 or known.max() >= permutation_size):
            raise ValueError(
                f"lu_pivots_to_permutation: pivots are numbers of {permutation_size} rows, from 0; got {known.tolist()}\n"
                "  pass the pivots that lu returns, and the number of rows of its matrix"
            )
    if exchanges.ndim - 1 in _core.ragged_axes(exchanges):
        count, own = ragged_length(exchanges, exchanges.ndim - 1), index_along(exchanges, exchanges.ndim - 1)
        # Behind the last pivot each row is exchanged with itself.
        exchanges = ops.where(own < count, without_padding(exchanges, [exchanges.ndim - 1]), own)
    *batch, k = capacities(exchanges)
    places = primitives.iota(shape=[*batch, permutation_size], dtype=exchanges.dtype, axis=len(batch))
    steps = primitives.iota(shape=[k], dtype=exchanges.dtype, axis=0)

    def exchange(order: Array, step: tuple[Array, Array]) -> tuple[Array, None]:
        first, second = places == step[0], places == step[1][..., None]

        def at(where: Array) -> Array:
            return ops.sum(ops.where(where, order, 0), -1, keepdims=True)

        return convert(ops.where(first, at(second), ops.where(second, at(first), order)), "int32"), None

    order: Array = scan(exchange, places, (steps, ops.moveaxis(exchanges, -1, 0)))[0]
    return order if length is None else give_lengths(order, {order.ndim - 1: length})


@matrices(4, promote=False)
def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Array:
    """The solution of systems with one diagonal on either side of the main one, by elimination with partial pivoting.

    Parameters
    ----------
    dl : array, shape (..., n)
        The lower diagonal; its first element does not count.
    d : array, shape (..., n)
        The main diagonal.
    du : array, shape (..., n)
        The upper diagonal; its last element does not count.
    b : array, shape (..., n, k)
        The right-hand sides.
    perturb_singular : bool
        Whether pivots that vanish beside the largest element are replaced by so small a number, so that singular
        systems have large solutions instead of infinite ones and NaN.

    Returns
    -------
    array, shape (..., n, k)
        The solutions.

    Raises
    ------
    ShapeError
        The shapes do not fit.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 4.3.

    Examples
    --------
    >>> dl, d, du = ct.numpy.array([0.0, 1.0]), ct.numpy.array([2.0, 2.0]), ct.numpy.array([1.0, 0.0])
    >>> ct.lax.linalg.tridiagonal_solve(dl, d, du, ct.numpy.array([[4.0], [5.0]])).round(4)
    Array([[1.],
           [2.]], dtype=float32)
    """
    if not alike(dl, d, du) or capacities(d) != capacities(b)[:-1] or d.ndim == 0:
        raise ShapeError(
            "tridiagonal_solve takes diagonals [..., n] and right-hand sides [..., n, k]; "
            f"got {dl.shape}, {d.shape}, {du.shape} and {b.shape}\n"
            "  pass b[..., None] for one right-hand side, and three diagonals of equal length"
        )
    if capacity(d, -1) == 0:
        return ops.zeros_like(b)
    length, last = axis_size(d, d.ndim - 1), d.ndim - 1
    if isinstance(length, Array):
        # Behind the system stand equations 1 x = 0 that nothing of it is in.
        dl, main, b = without_padding(dl, [last]), without_padding(d, [last], 1.0), without_padding(b, [last])
        du = ops.where(ops.arange(capacity(d, -1)) < length - 1, without_padding(du, [last]), 0)
        solution = tridiagonal_solve(dl, main, du, b, perturb_singular=perturb_singular)
        return give_lengths(solution, {last: length})
    # Along axis 0 a row a step: three coefficients from the column that is next eliminated on, and the right-hand side.
    lower, main, upper = (ops.moveaxis(x, -1, 0)[..., None] for x in (dl, d, du))
    right = ops.moveaxis(b, -2, 0)
    upper = ops.concatenate([upper[:-1], ops.zeros_like(upper[:1])])
    nothing = ops.zeros_like(main[0])
    Row = tuple[Array, Array, Array, Array]
    least: Array | None = None
    if perturb_singular:
        sizes = [ops.max(ops.abs(x), axis=0) for x in (lower[1:], main, upper) if x.shape[0]]
        largest = functools.reduce(ops.maximum, sizes)
        least = ops.finfo(d.dtype).eps * ops.where(largest > 0, largest, 1.0)

    def pivoted(x: Array) -> Array:
        if least is None:
            return x
        close: Array = ops.where(ops.abs(x) < least, ops.where(ops.real(x) < 0, -least, least).astype(x.dtype), x)
        return close

    def eliminate(row: Row, following: Row) -> tuple[Row, Row]:
        swap = ops.abs(following[0]) > ops.abs(row[0])
        pivot = [ops.where(swap, y, x) for x, y in zip(row, following, strict=True)]
        other = [ops.where(swap, x, y) for x, y in zip(row, following, strict=True)]
        pivot[0] = pivoted(pivot[0])
        factor = other[0] / pivot[0]
        rest = [y - factor * x for x, y in zip(pivot[1:], other[1:], strict=True)]
        return (rest[0], rest[1], nothing, rest[2]), (pivot[0], pivot[1], pivot[2], pivot[3])

    first = (main[0], upper[0], nothing, right[0])
    last, rows = scan(eliminate, first, (lower[1:], main[1:], upper[1:], right[1:]))

    def substitute(known: tuple[Array, Array], row: Row) -> tuple[tuple[Array, Array], Array]:
        x = (row[3] - row[1] * known[0] - row[2] * known[1]) / row[0]
        return (x, known[0]), x

    end = last[3] / pivoted(last[0])
    _, x = scan(substitute, (end, ops.zeros_like(end)), rows, reverse=True)
    return ops.moveaxis(ops.concatenate([x, end[None]]), 0, -2)


@matrices(2, promote=False)
def symmetric_product(
    a_matrix: Any, c_matrix: Any, *, alpha: float = 1.0, beta: float = 0.0, symmetrize_output: bool = False
) -> Array:
    """The matrices ``alpha a a^T + beta c``.

    Parameters
    ----------
    a_matrix : array, shape (..., n, k)
        Real or complex; it is transposed, not conjugated.
    c_matrix : array, shape (..., n, n)
        Symmetric.
    alpha, beta : float
        The factors.
    symmetrize_output : bool
        Accepted for JAX's signature: both triangles are always computed.

    Returns
    -------
    array, shape (..., n, n)
        Symmetric.

    Examples
    --------
    >>> ct.lax.linalg.symmetric_product(ct.numpy.array([[1.0], [2.0]]), ct.numpy.zeros((2, 2)))
    Array([[1., 2.],
           [2., 4.]], dtype=float32)
    """
    del symmetrize_output
    check_square("symmetric_product", c_matrix)
    if a_matrix.ndim < 2 or capacity(a_matrix, -2) != capacity(c_matrix, -1):
        raise ShapeError(
            f"symmetric_product: a has shape {a_matrix.shape} and c {c_matrix.shape}\n"
            f"  a must have the {capacity(c_matrix, -1)} rows that c has: transpose it if they are its columns"
        )
    result: Array = alpha * ops.matmul(a_matrix, a_matrix.mT) + beta * c_matrix
    return result


@matrices(2, promote=False)
def cholesky_update(r_matrix: Any, w_vector: Any) -> Array:
    """The upper triangular factor of ``r^H r + w w^H``, with a positive diagonal.

    Parameters
    ----------
    r_matrix : array, shape (..., n, n)
        Upper triangular.
    w_vector : array, shape (..., n)
        What the product is changed by.

    Returns
    -------
    array, shape (..., n, n)
        Upper triangular.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 6.5.

    Examples
    --------
    >>> ct.lax.linalg.cholesky_update(ct.numpy.array([[3.0, 0.0], [0.0, 2.0]]), ct.numpy.array([4.0, 0.0]))
    Array([[ 5., -0.],
           [ 0.,  2.]], dtype=float32)
    """
    check_square("cholesky_update", r_matrix)
    if w_vector.ndim == 0 or capacity(w_vector, -1) != capacity(r_matrix, -1):
        raise ShapeError(
            f"cholesky_update: w has shape {w_vector.shape} and r {r_matrix.shape}\n"
            f"  pass a vector of {capacity(r_matrix, -1)}; for several update after update"
        )
    rows = ops.concatenate([r_matrix, ops.conj(w_vector)[..., None, :]], -2)
    _, r = primitives.qr(rows, full_matrices=False, pivoting=False)
    negative = ops.real(ops.diagonal(r, axis1=-2, axis2=-1)) < 0
    factor: Array = ops.where(negative[..., None], -r, r)
    return factor


check_arguments(globals())
suggest_names(globals())
