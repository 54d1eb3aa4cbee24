"""Householder reflections ``I - tau v v^H``: products of them, and reductions that are made of them.

A packed matrix has the vector v of reflection i in column i below the diagonal, where v has a 1 that is not stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import give_lengths
from cotangent._core import Array
from cotangent._ops.binding import kind
from cotangent._ops.extents import capacities, capacity, without_padding
from cotangent._ops.sizes import ragged_length
from cotangent._transforms.control_flow import scan
from cotangent.errors import ShapeError
from cotangent.lax._operands import check_square

__all__ = ["hessenberg", "householder_product", "ormqr", "tridiagonal"]


def _conj(x: Array) -> Array:
    return ops.conj(x) if kind(x) == "complex" else x


def _adjoint(x: Array) -> Array:
    return _conj(x.mT)


def _product_factors(a: Array, taus: Array, name: str) -> tuple[Array, Array]:
    """V [..., m, k] and T [..., k, k] with ``H_1 … H_k = I - V T V^H``."""
    k = capacity(taus, -1) if taus.ndim else -1
    if a.ndim < 2 or k < 0 or k > min(capacities(a)[-2:]):
        raise ShapeError(
            f"{name}: {a.shape} has no place for the reflections of taus of shape {taus.shape}\n"
            "  pass one tau for each reflection, at most as many as rows and columns: a.mT and taus are what ct.numpy.linalg.qr(x, mode='raw') returns"
        )
    m = capacity(a, -2)
    v = ops.tril(a[..., :k], -1) + ops.eye(m, k, dtype=a.dtype)
    # T^-1 = diag(1 / taus) + the strict upper triangle of V^H V, written so that a tau may be 0.
    scaled = taus[..., :, None] * ops.triu(ops.matmul(_adjoint(v), v), 1) + ops.eye(k, dtype=a.dtype)
    t = primitives.triangular_solve(
        scaled,
        taus[..., :, None] * ops.eye(k, dtype=a.dtype),
        left_side=True,
        lower=False,
        transpose_a=False,
        conjugate_a=False,
        unit_diagonal=True,
    )
    return v, t


def householder_product(a: Any, taus: Any) -> Array:
    """The first n columns of the product ``H_1 ... H_k`` of Householder reflections.

    The reflection i is ``I - tau v v^H``; v has zeros in front, then a 1 that is not stored, then the elements
    below the diagonal of column i of ``a``.

    Parameters
    ----------
    a : array, shape (..., m, n)
        The packed vectors.
    taus : array, shape (..., k)
        The factors tau.

    Returns
    -------
    array, shape (..., m, n)
        The columns, which are orthonormal.

    Raises
    ------
    ShapeError
        ``a`` has no place for so many reflections.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 5.1.

    Examples
    --------
    >>> ct.lax.linalg.householder_product(ct.numpy.array([[0.0], [1.0]]), ct.numpy.array([1.0]))
    Array([[ 0.],
           [-1.]], dtype=float32)
    """
    matrix, scales = _core.array(a), _core.array(taus)
    v, t = _product_factors(matrix, scales, "householder_product")
    m, n = capacities(matrix)[-2:]
    return ops.eye(m, n, dtype=matrix.dtype) - ops.matmul(v, ops.matmul(t, _adjoint(v[..., :n, :])))


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Array:
    """The product ``op(Q) c`` or ``c op(Q)`` with the product Q of Householder reflections, which is not formed.

    Parameters
    ----------
    a : array, shape (..., m, n)
        The packed vectors, as of `householder_product`.
    taus : array, shape (..., k)
        The factors.
    c : array, shape (..., m, p) or (..., p, m)
        The former when ``left``.
    left : bool
        On which side of ``c`` Q stands.
    transpose : bool
        Whether it is the adjoint of Q.

    Returns
    -------
    array
        Of the shape of ``c``.

    References
    ----------
    Christian Bischof and Charles Van Loan, "The WY representation for products of Householder matrices", 1987.

    Examples
    --------
    >>> a, taus = ct.numpy.array([[0.0], [1.0]]), ct.numpy.array([1.0])
    >>> ct.lax.linalg.ormqr(a, taus, ct.numpy.array([[1.0], [2.0]]))
    Array([[-2.],
           [-1.]], dtype=float32)
    """
    v, t = _product_factors(_core.array(a), _core.array(taus), "ormqr")
    t = _adjoint(t) if transpose else t
    other = _core.array(c)
    if left:
        return other - ops.matmul(v, ops.matmul(t, ops.matmul(_adjoint(v), other)))
    return other - ops.matmul(ops.matmul(ops.matmul(other, v), t), _adjoint(v))


def _reflection(x: Array, below: Array, at: Array) -> tuple[Array, Array]:
    """The v and tau that take a vector to a multiple of the unit vector ``at``, as LAPACK chooses them.

    ``below`` marks the elements that become 0.
    """
    alpha = ops.sum(ops.where(at, x, 0), -1, keepdims=True)
    rest = ops.where(below, x, 0)
    tail = ops.sum(ops.real(rest * _conj(rest)), -1, keepdims=True)
    trivial = (tail == 0) & (ops.imag(alpha) == 0)
    size = ops.sqrt(ops.where(trivial, 1, tail + ops.real(alpha * _conj(alpha))))
    beta = ops.where(ops.real(alpha) < 0, size, -size).astype(x.dtype)
    tau = ops.where(trivial, 0, (beta - alpha) / beta)
    scale = ops.where(trivial, 1, alpha - beta)
    return ops.where(at, 1, rest / scale).astype(x.dtype), tau.astype(x.dtype)


# Columns that are reduced before those to their left are left out of what the next ones change, and the most such parts.
_COLUMNS, _PARTS = 64, 8


def _reduce(a: Array) -> tuple[Array, Array, Array]:
    """The Hessenberg form Q^H a Q, the vectors of Q's reflections as columns, and their taus."""
    n = capacity(a, -1)
    if n < 2:
        return a, ops.zeros_like(a[..., :0]), ops.zeros((*a.shape[:-2], 0), a.dtype)
    width = max(_COLUMNS, -(-n // _PARTS))
    done, vectors, taus = [], [], []
    rest = a
    for first in range(0, n - 1, width):
        last = min(first + width, n - 1)
        rest, (some_vectors, some_taus) = scan(_reduction_from(first, n), rest, ops.arange(first, last))
        if last < n - 1:
            done.append(rest[..., :width])
            rest = rest[..., width:]
        vectors.append(some_vectors)
        taus.append(some_taus)
    # What is eliminated is exactly 0.
    reduced = ops.triu(ops.concatenate([*done, rest], -1), -1)
    return reduced, ops.moveaxis(ops.concatenate(vectors), 0, -1), ops.moveaxis(ops.concatenate(taus), 0, -1)


def _reduction_from(first: int, n: int) -> Callable[[Array, Array], tuple[Array, tuple[Array, Array]]]:
    """The step for one column of a matrix whose columns before ``first`` are left out."""
    rows = ops.arange(n)

    def step(matrix: Array, j: Array) -> tuple[Array, tuple[Array, Array]]:
        column = ops.take(matrix, j - first, -1, mode="clip")
        v, tau = _reflection(column, rows > j + 1, rows == j + 1)
        # From both sides at once: H^H A H = A - x v^H - v y^H, with x = tau A v and y^H = tau' v^H (A - x v^H).
        along, across = v[..., None], _conj(v)[..., None, :]
        inner = across[..., first:]
        x = ops.matmul(matrix, v[..., first:, None]) * tau[..., None]
        y = (ops.matmul(across, matrix) - ops.matmul(across, x) * inner) * _conj(tau)[..., None]
        return matrix - (x * inner + along * y), (v, tau[..., 0])

    return step


def _square(a: Any, name: str) -> Array:
    matrix = _core.promote([a], inexact=True)[0]
    check_square(name, matrix)
    return matrix


def hessenberg(a: Any) -> tuple[Array, Array]:
    """The reduction ``a = Q H Q^H`` to a matrix H without elements below its first lower diagonal.

    Parameters
    ----------
    a : array, shape (..., n, n)
        Real or complex.

    Returns
    -------
    packed : array, shape (..., n, n)
        H, with the vectors of Q's reflections below its first lower diagonal.
    taus : array, shape (..., n - 1)
        Their factors; see `householder_product`.

    Raises
    ------
    ShapeError
        The matrices are not square.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 7.4.

    Examples
    --------
    >>> packed, taus = ct.lax.linalg.hessenberg(ct.numpy.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0], [4.0, 0.0, 5.0]]))
    >>> ct.numpy.triu(packed, -1).round(4)
    Array([[ 1.  , -1.2 , -1.6 ],
           [-5.  ,  5.12, -0.84],
           [ 0.  ,  0.16,  3.88]], dtype=float32)
    """
    matrix = _square(a, "hessenberg")
    last = matrix.ndim - 1
    if last in _core.ragged_axes(matrix):
        # Behind a matrix stand zeros, of which reflections have nothing to eliminate: they are none.
        length = ragged_length(matrix, last)
        packed, taus = hessenberg(without_padding(matrix, [last - 1, last]))
        fewer = primitives.max(length - 1, _core.full((), 0, "int32"))
        return give_lengths(packed, {last - 1: length, last: length}), give_lengths(taus, {last - 1: fewer})
    reduced, vectors, taus = _reduce(matrix)
    hidden = ops.concatenate(
        [ops.tril(vectors, -2), ops.zeros_like(matrix[..., : capacity(matrix, -1) - capacity(taus, -1)])], -1
    )
    return reduced + hidden, taus


def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """The reduction ``a = Q T Q^H`` of Hermitian matrices to tridiagonal ones.

    Parameters
    ----------
    a : array, shape (..., n, n)
        Hermitian.
    lower : bool
        Which triangle is read, and in which the vectors are left.

    Returns
    -------
    packed : array, shape (..., n, n)
        The vectors of Q's reflections, with T on the diagonals.
    d : array, shape (..., n)
        The diagonal of T, real.
    e : array, shape (..., n - 1)
        The diagonal beside it, real.
    taus : array, shape (..., n - 1)
        The factors of the reflections.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 8.3.

    Examples
    --------
    >>> a = ct.numpy.array([[1.0, 3.0, 4.0], [3.0, 2.0, 0.0], [4.0, 0.0, 2.0]])
    >>> _, d, e, _ = ct.lax.linalg.tridiagonal(a)
    >>> d.round(4).tolist(), ct.numpy.abs(e).round(3).tolist()
    ([1.0, 2.0, 2.0], [5.0, 0.0])
    """
    matrix = _square(a, "tridiagonal")
    strict = ops.tril(matrix, -1) if lower else ops.triu(matrix, 1)
    diagonal = ops.real(ops.diagonal(matrix, axis1=-2, axis2=-1)).astype(matrix.dtype)
    whole = strict + _adjoint(strict) + diagonal[..., None] * ops.eye(capacity(matrix, -1), dtype=matrix.dtype)
    # The upper variant is the lower one of the matrix with its rows and columns reversed.
    turn = (lambda x, *axes: x) if lower else (lambda x, *axes: ops.flip(x, axes))
    packed, taus = hessenberg(turn(whole, -2, -1))
    main = ops.real(ops.diagonal(packed, axis1=-2, axis2=-1))
    beside = ops.real(ops.diagonal(packed, -1, -2, -1))
    kept = ops.triu(matrix, 1) if lower else ops.tril(matrix, -1)
    return turn(ops.tril(packed), -2, -1) + kept, turn(main, -1), turn(beside, -1), turn(taus, -1)


def packed_reflectors(q: Array) -> tuple[Array, Array]:
    """The vectors (below the diagonal) and taus of the reflections of which ``q`` [..., m, k] is the product's columns.

    ``q - I = V U`` with V unit lower trapezoidal and the taus on the diagonal of -U: an elimination without exchanges.
    """
    m, k = capacities(q)[-2:]
    rows, columns = ops.arange(m), ops.arange(k)

    def step(rest: Array, j: Array) -> tuple[Array, tuple[Array, Array]]:
        column = ops.sum(ops.where(columns == j, rest, 0), -1)
        row = ops.sum(ops.where((rows == j)[:, None], rest, 0), -2)
        pivot = ops.sum(ops.where(rows == j, column, 0), -1)
        safe = ops.where(pivot == 0, 1, pivot)[..., None]
        v = ops.where(rows > j, ops.where(pivot[..., None] == 0, 0, column / safe), 0)
        return rest - v[..., None] * row[..., None, :], (v, -pivot)

    _, (vectors, taus) = scan(step, q - ops.eye(m, k, dtype=q.dtype), columns)
    return ops.moveaxis(vectors, 0, -1), ops.moveaxis(taus, 0, -1)


check_arguments(globals())
