"""Systems of equations: solve, inv, pinv, lstsq, and powers."""

from __future__ import annotations

import math
import operator
from typing import Any

from numpy.linalg import LinAlgError

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import own, real_dtype
from cotangent._ops.extents import capacities, capacity
from cotangent._ops.matrices import (
    adjoint,
    check_matrix,
    check_square,
    identities,
    matrices,
    symmetrized,
)
from cotangent._ops.sizes import axis_size, bound_size, normalize_axis, several, static_int
from cotangent._transforms.forward import jvp
from cotangent._transforms.rules_by_type import custom_jvp_by_type
from cotangent.lax.linalg import solve_factored
from cotangent.numpy.linalg.decompositions import svd, svdvals

__all__ = ["inv", "lstsq", "matrix_power", "pinv", "solve", "tensorinv", "tensorsolve"]


# ---- Solutions -------------------------------------------------------------------------------------------------------


def solve_matrices(a: Array, b: Array, trans: int = 0) -> Array:
    """The solution of ``op(a) X = b`` for matrices [..., n, n] and [..., n, k]; batch axes broadcast."""
    factors, _, permutation = primitives.lu(primitives.stop_gradient(a))
    return solve_factored(a, factors, permutation, b, trans)


@matrices(2)
def solve(a: Any, b: Any) -> Array:
    """The solution of the linear systems ``a x = b``.

    Where a matrix is singular, it is infinite or NaN: NumPy raises.

    Parameters
    ----------
    a : array, shape (..., n, n)
        The matrices.
    b : array, shape (n,) or (..., n, k)
        One vector, or matrices; batch axes are broadcast.

    Returns
    -------
    array, shape (n,) or (..., n, k)
        The solutions.

    Raises
    ------
    LinAlgError
        ``a`` is not square, or the shapes do not fit.

    Examples
    --------
    >>> ct.numpy.linalg.solve([[2.0, 0.0], [1.0, 4.0]], [2.0, 9.0])
    Array([1., 2.], dtype=float32)
    """
    check_square(a, "solve")
    vector = b.ndim == 1
    right = b[:, None] if vector else b
    if right.ndim < 2 or capacity(right, -2) != capacity(a, -1):
        hint = f"\n  b must have {a.shape[-1]} rows: shape ({a.shape[-1]},) or ({a.shape[-1]}, k)"
        if b.ndim > 1 and a.ndim == b.ndim + 1 and capacity(a, -1) == capacity(b, -1):
            hint = "\n  for a batch of vectors write solve(a, b[..., None])[..., 0]"
        raise LinAlgError(f"solve: a of shape {a.shape} does not fit b of shape {b.shape}{hint}")
    _core.check_sizes([a, right], [a.ndim - 1, right.ndim - 2])
    x = solve_matrices(a, right)
    return x[..., 0] if vector else x


@matrices()
def inv(a: Any) -> Array:
    """The inverse of square matrices.

    Where there is none, it is infinite or NaN: NumPy raises.

    Parameters
    ----------
    a : array, shape (..., n, n)
        The matrices.

    Returns
    -------
    array, shape (..., n, n)
        The inverses.

    Raises
    ------
    LinAlgError
        The matrices are not square.

    Examples
    --------
    >>> ct.numpy.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    check_square(a, "inv")
    return solve_matrices(a, identities(a))


def default_cutoff(a: Array, factor: float) -> Array:
    """``factor`` times the precision of ``a`` times its larger size: below it, relative singular values count as 0."""
    rows, columns = axis_size(a, a.ndim - 2), axis_size(a, a.ndim - 1)
    static = isinstance(rows, int) and isinstance(columns, int)
    larger = max(rows, columns) if static else ops.maximum(rows, columns)
    dtype = real_dtype(a.dtype)
    return ops.asarray(larger).astype(dtype) * (factor * float(ops.finfo(dtype).eps))


def _inverted(a: Array, rtol: Array) -> tuple[Array, Array]:
    """The pseudo-inverse, and the singular values that it is made of."""
    u, s, vh = svd(a, full_matrices=False)
    cutoff = (rtol[..., None] if rtol.ndim else rtol) * ops.max(s, -1, keepdims=True, initial=0)
    keep = s > cutoff
    inverse = ops.where(keep, 1 / ops.where(keep, s, 1), 0)
    return ops.matmul(adjoint(vh) * inverse[..., None, :].astype(a.dtype), adjoint(u)), s


@custom_jvp_by_type
def _pinv(a: Array, rtol: Array) -> Array:
    return _inverted(a, rtol)[0]


@_pinv.defjvp
def _pinv_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    inverse = _pinv(*primals)
    return inverse, _pinv_tangent(primals[0], inverse, tangents[0])


@custom_jvp_by_type
def _pinv_and_values(a: Array, rtol: Array) -> tuple[Array, Array]:
    return _inverted(a, rtol)


@_pinv_and_values.defjvp
def _pinv_and_values_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    a, change = primals[0], tangents[0]
    inverse, values = _pinv_and_values(*primals)
    return (inverse, values), (_pinv_tangent(a, inverse, change), jvp(svdvals, (a,), (change,))[1])


def _pinv_tangent(a: Array, p: Array, change: Array) -> Array:
    """At constant rank: Golub, Pereyra, "The differentiation of pseudo-inverses", 1973, theorem 4.3."""
    product, dual = ops.matmul, adjoint(change)
    # The small dimension inside of products: n x n where a has more rows than columns, else m x m.
    if capacity(a, -2) >= capacity(a, -1):
        left, right = product(product(p, adjoint(p)), dual), product(product(dual, adjoint(p)), p)
        correction = left - product(product(left, a), p) + right - product(product(p, a), right)
        return correction - product(product(p, change), p)
    left, right = product(p, product(adjoint(p), dual)), product(dual, product(adjoint(p), p))
    correction = left - product(left, product(a, p)) + right - product(p, product(a, right))
    return correction - product(p, product(change, p))


@matrices()
def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Array:
    """The Moore-Penrose inverse of matrices.

    Derivatives are those at constant rank, and do not mind singular values that coincide.

    Parameters
    ----------
    a : array, shape (..., m, n)
        The matrices.
    rtol : array, optional
        Singular values up to ``rtol`` times the largest count as 0; a number, or of shape (...). None: 10 max(m, n)
        times the precision of the dtype.
    hermitian : bool, default False
        Whether ``a`` is Hermitian; then its Hermitian part is taken.
    rcond : array, optional
        Another name of ``rtol``.

    Returns
    -------
    array, shape (..., n, m)
        The inverses.

    Raises
    ------
    LinAlgError
        There are fewer than two axes.
    ValueError
        Both ``rtol`` and ``rcond`` are given.

    Examples
    --------
    >>> ct.numpy.linalg.pinv([[2.0, 0.0], [0.0, 0.0]])
    Array([[0.5, 0. ],
           [0. , 0. ]], dtype=float32)
    """
    check_matrix(a, "pinv")
    if rcond is not None and rtol is not None:
        raise ValueError("pinv: rtol and rcond are two names of one bound\n  give one of them")
    rtol = rtol if rcond is None else rcond
    cutoff = default_cutoff(a, 10.0) if rtol is None else ops.asarray(rtol).astype(real_dtype(a.dtype))
    inverse: Array = _pinv(symmetrized(a) if hermitian else a, cutoff)
    return inverse


@matrices(2)
def lstsq(
    a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """The x of least norm among those that minimise the norm of ``b - a x``.

    Parameters
    ----------
    a : array, shape (m, n)
        A matrix.
    b : array, shape (m,) or (m, k)
        A vector or a matrix.
    rcond : float, optional
        Singular values up to ``rcond`` times the largest count as 0. None: max(m, n) times the precision.
    numpy_resid : bool, default False
        Whether residuals are left out where NumPy leaves them out; values must be known then.

    Returns
    -------
    tuple of four arrays
        x, shape (n,) or (n, k); the squared norms of ``b - a x``; the rank of ``a``; its singular values.

    Raises
    ------
    LinAlgError
        The shapes do not fit.

    Examples
    --------
    >>> ct.numpy.linalg.lstsq([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], [1.0, 4.0, 1.0])[0].round(3)
    Array([1., 2.], dtype=float32)
    """
    if a.ndim != 2 or b.ndim not in (1, 2) or capacity(a, 0) != capacity(b, 0):
        raise LinAlgError(
            f"lstsq takes a matrix [m, n] and b [m] or [m, k]; the shapes are {a.shape} and {b.shape}\n"
            "  give b a row for each row of a; map over batches with ct.vmap(ct.numpy.linalg.lstsq)"
        )
    right = b[:, None] if b.ndim == 1 else b
    dtype = real_dtype(a.dtype)
    epsilon = float(ops.finfo(dtype).eps)
    if rcond is None:
        cutoff = default_cutoff(a, 1.0)
    else:
        cutoff = ops.asarray(rcond).astype(dtype)
        cutoff = ops.where(cutoff < 0, epsilon, cutoff).astype(dtype)
    inverse, s = _pinv_and_values(a, cutoff)
    rank = ops.sum(s > cutoff * ops.max(s, initial=0))
    x = ops.matmul(inverse, right)
    if numpy_resid and (int(rank) < capacity(a, 1) or capacity(a, 0) <= capacity(a, 1)):
        residual = ops.zeros(0, dtype)
    else:
        rest = right - ops.matmul(a, x)
        residual = ops.sum(ops.real(rest * ops.conj(rest)), 0)
    return (x[:, 0] if b.ndim == 1 else x), residual, rank, s


def _operand(x: Any) -> Array:
    return _core.array(x)


def tensorinv(a: Any, ind: int = 2) -> Array:
    """The inverse of an array for `tensordot` over its first axes.

    Parameters
    ----------
    a : array
        Its first ``ind`` axes have as many elements as the others.
    ind : int, default 2
        How many axes belong to the last part of the inverse.

    Returns
    -------
    array
        The other axes of ``a``, then the first ``ind``.

    Raises
    ------
    ValueError
        ``ind`` is not positive.
    LinAlgError
        The axes do not fit.

    Examples
    --------
    >>> ct.numpy.linalg.tensorinv(np.eye(4).reshape(4, 2, 2), ind=1).shape
    (2, 2, 4)
    """
    x, count = _operand(a), operator.index(ind)
    if count <= 0:
        raise ValueError(f"tensorinv: ind must be positive; got {count}\n  ind=1 is the inverse of a matrix")
    rows, columns = capacities(x)[:count], capacities(x)[count:]
    if math.prod(rows) != math.prod(columns):
        raise LinAlgError(
            f"tensorinv: the first {count} axes of shape {x.shape} must have as many elements as the others\n"
            "  choose ind so that both groups multiply to one number, or reshape the array"
        )
    if len(rows) == len(columns) == 1:
        return inv(x)
    flat = inv(ops.reshape(x, (math.prod(x.shape[:count]), math.prod(x.shape[count:]))))
    return ops.reshape(flat, (*x.shape[count:], *x.shape[:count]))


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Array:
    """The x with ``tensordot(a, x, x.ndim) == b``.

    Parameters
    ----------
    a : array
        Its first axes have the shape of ``b``, the others as many elements.
    b : array
        The right side.
    axes : int or sequence of int, optional
        The axes of ``a`` that are moved to its end first.

    Returns
    -------
    array
        Of the shape of the other axes of ``a``.

    Raises
    ------
    LinAlgError
        The axes do not fit.

    Examples
    --------
    >>> ct.numpy.linalg.tensorsolve(2 * np.eye(4).reshape(4, 2, 2), np.array([2.0, 4.0, 6.0, 8.0]))
    Array([[1., 2.],
           [3., 4.]], dtype=float64)
    """
    x, right = _operand(a), _operand(b)
    if axes is not None:
        moved = [normalize_axis(axis, x.ndim, "tensorsolve") for axis in (axes if several(axes) else (axes,))]
        x = ops.transpose(x, [axis for axis in range(x.ndim) if axis not in moved] + moved)
    rest = capacities(x)[right.ndim :]
    if capacities(x)[: right.ndim] != capacities(right) or bound_size(right) != math.prod(rest):
        raise LinAlgError(
            f"tensorsolve: the shape {x.shape} must begin with that of b, {right.shape}, and go on with as many elements\n"
            "  name the axes of the solution with axes=, or reshape b"
        )
    if right.ndim == 1 and len(rest) == 1:
        return solve(x, right)
    flat = solve(ops.reshape(x, (right.size, right.size)), ops.reshape(right, (right.size,)))
    return ops.reshape(flat, rest)


@own
def matrix_power(a: Any, n: int) -> Array:
    """Square matrices raised to an integer power.

    Parameters
    ----------
    a : array, shape (..., n, n)
        The matrices; floating, where the power is negative.
    n : int
        The power; a negative one is that of the inverse.

    Returns
    -------
    array, shape (..., n, n)
        The powers.

    Raises
    ------
    LinAlgError
        The matrices are not square.
    TypeError
        ``n`` is not an integer.

    Examples
    --------
    >>> ct.numpy.linalg.matrix_power([[1, 1], [0, 1]], 5)
    Array([[1, 5],
           [0, 1]], dtype=int32)
    """
    x = _operand(a)
    check_square(x, "matrix_power")
    power = static_int(n, "matrix_power: the exponent")
    if power == 0:
        return identities(x)
    if power < 0:
        x, power = inv(x), -power
    result = None
    while True:
        if power & 1:
            result = x if result is None else ops.matmul(result, x)
        power >>= 1
        if power == 0:
            assert result is not None
            return result
        x = ops.matmul(x, x)


check_arguments(globals())
