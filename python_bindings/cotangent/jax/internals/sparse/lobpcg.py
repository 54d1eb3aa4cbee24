"""The largest eigenvalues of a symmetric matrix that is known by its products: `lobpcg_standard`.

The locally optimal block preconditioned conjugate gradient method, without a preconditioner. In each step the best vectors are looked for in the
space that the current ones, their residuals and the last step's directions span. That space has an orthonormal basis; a column of the
basis that would depend on the others is zero, which adds an eigenvalue of zero.

A. V. Knyazev, "Toward the optimal preconditioned eigensolver", SIAM Journal on Scientific Computing 23, 2001.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent.numpy as cnp
from cotangent import lax
from cotangent._core import Array

__all__ = ["lobpcg_standard"]

# What the norm of an orthonormal column may be off by, relative to 1, before it counts as one that depends on the others.
_LEAST_NORM = 0.01


def _unit_columns(x: Array) -> Array:
    norms = cnp.linalg.norm(x, axis=0, keepdims=True)
    unit: Array = x / cnp.where(norms == 0, 1.0, norms)
    return unit


def _orthonormal(x: Array) -> Array:
    """An orthonormal basis of the columns, by the eigenvectors of their inner products; zeros for those that depend on others."""
    x = _unit_columns(x)
    values, vectors = cnp.linalg.eigh(x.T @ x)
    least = cnp.finfo(x.dtype).eps * values[-1]
    basis = x @ (vectors / cnp.sqrt(cnp.maximum(values, cnp.where(least > 0, least, 1.0))))
    norms = cnp.linalg.norm(basis, axis=0)
    kept = (values > least) & (norms > _LEAST_NORM) & (norms < 1 / _LEAST_NORM)
    found: Array = cnp.where(kept, basis, 0.0)
    return found


def _apart(basis: Array, x: Array) -> Array:
    """An orthonormal basis of what the columns add to another basis; twice, as the first leaves rounding errors."""
    for _ in range(2):
        x = _orthonormal(x - basis @ (basis.T @ x))
    return x - basis @ (basis.T @ x)


def lobpcg_standard(A: Any, X: Any, m: int = 100, tol: float | None = None) -> tuple[Array, Array, Array]:
    """The k largest eigenvalues of a positive semidefinite matrix, with their vectors.

    Args:
        A: the matrix (n, n), or a function of (n, k) that multiplies by it.
        X: where to start, of shape (n, k) with 5 k < n.
        m: the number of steps at most.
        tol: of the residuals, relative to the matrix; None: the precision of the dtype.

    Returns:
        The eigenvalues (k), the largest first; their vectors, the columns of (n, k); the number of steps.
    """
    start = cnp.asarray(X)
    if start.ndim != 2:
        raise ValueError(
            f"lobpcg_standard: X must have the shape (n, k); got {start.shape}\n  give k columns to start with"
        )
    n, k = start.shape
    if k < 1:
        raise ValueError(
            "lobpcg_standard: must have search dim > 0 (got 0)\n  give a column in X for each eigenvalue that is wanted"
        )
    if k * 5 >= n:
        raise ValueError(
            f"lobpcg_standard: expected search dim * 5 < matrix dim (got {k * 5}, {n})\n  use jnp.linalg.eigh for so many eigenvalues"
        )
    multiply: Callable[[Array], Array] = A if callable(A) else (lambda x: cnp.asarray(A) @ x)
    product = multiply(start)
    if product.shape != start.shape or product.dtype != start.dtype:
        raise ValueError(
            f"lobpcg_standard: A must be ({n}, {n}), and A, X must have same dtypes:"
            f" A times X must be {start.dtype}{list(start.shape)}, as X is; got {product.dtype}{list(product.shape)}\n"
            "  give a square matrix of the dtype of X"
        )
    precision = cnp.finfo(start.dtype).eps if tol is None else tol

    def improved(basis: Array) -> tuple[Array, Array]:
        """The best eigenvalues in the space of a basis, and how its columns make the vectors."""
        values, vectors = cnp.linalg.eigh(basis.T @ multiply(basis))
        return values[::-1][:k], vectors[:, ::-1][:, :k]

    def residual(values: Array, x: Array) -> tuple[Array, Array]:
        """What is missing, and whether any of it is more than is allowed."""
        wrong = multiply(x) - values * x
        allowed = 10 * n * precision * (cnp.max(cnp.abs(values)) + cnp.abs(values))
        return wrong, cnp.any(cnp.linalg.norm(wrong, axis=0) > allowed)

    def step(state: Any) -> Any:
        count, _, x, directions, wrong, _ = state
        basis = cnp.concatenate([x, directions], axis=1)
        basis = cnp.concatenate([basis, _apart(basis, wrong)], axis=1)
        values, made_of = improved(basis)
        moved = _unit_columns(basis @ made_of)
        directions = _apart(moved, basis[:, k:] @ made_of[k:])
        return (count + 1, values, moved, directions, *residual(values, moved))

    x = _orthonormal(start)
    values, made_of = improved(x)
    x = x @ made_of
    state = (0, values, x, cnp.zeros_like(x), *residual(values, x))
    count, values, x, *_ = lax.while_loop(lambda state: (state[0] < m) & state[-1], step, state)
    return values, x, count
