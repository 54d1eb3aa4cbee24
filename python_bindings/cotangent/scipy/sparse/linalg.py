"""Iterative solvers of linear systems, under the names of `scipy.sparse.linalg`: `cg`, `bicgstab`, `gmres`.

The operator is a matrix or a linear function of pytrees. The unknowns are one vector inside. Derivatives of all orders, forward and
reverse, are those of the solution, by `ct.lax.custom_linear_solve`: they solve further systems and do not go through the iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cotangent import _core, lax, tree_util
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._base.names import suggest_names
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent.errors import ShapeError
from cotangent.flatten_util import ravel_pytree

__all__ = ["bicgstab", "cg", "gmres"]

Operator = Callable[[Array], Array]
# (operator, right-hand side, start, preconditioner, tolerance on the residual's square or norm, most iterations) -> solution
Method = Callable[[Operator, Array, Array, Operator, Any, int], Array]


def _identity(x: Array) -> Array:
    return x


def _function(operator: Any, name: str) -> Callable[[Any], Any]:
    """What a linear operator does to a pytree."""
    if callable(operator):
        return operator  # type: ignore[no-any-return]
    shape = getattr(operator, "shape", None)
    if shape is None or not hasattr(operator, "__matmul__"):
        raise TypeError(
            f"{name}: a linear operator must be a function or a matrix; got {type(operator).__name__}\n"
            "  pass a matrix, or a function such as lambda x: A @ x"
        )
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeError(
            f"{name}: the operator must be a square matrix; it has shape {tuple(shape)}\n"
            "  solve the normal equations: pass A.T @ A and A.T @ b"
        )
    return lambda x: operator @ x


def _solve(
    name: str,
    method: Method,
    A: Any,
    b: Any,
    x0: Any,
    tol: float,
    atol: float,
    maxiter: int | None,
    M: Any,
    symmetric: bool,
) -> tuple[Any, None]:
    leaves = [_core.promote([leaf], inexact=True)[0] for leaf in tree_util.tree_leaves(b)]
    b = tree_util.tree_structure(b).unflatten(leaves)
    apply, precondition = _function(A, name), _identity if M is None else _function(M, name)
    if isinstance(A, Array) or hasattr(A, "__array__"):
        b = tree_util.tree_map(lambda leaf: leaf.astype(cnp.result_type(leaf, A)), b)
    if x0 is None:
        x0 = tree_util.tree_map(cnp.zeros_like, b)
    if tree_util.tree_structure(x0) != tree_util.tree_structure(b):
        raise ValueError(
            f"{name}: x0 and b must have the same structure; got {tree_util.tree_structure(x0)} and {tree_util.tree_structure(b)}\n"
            "  leave x0 out to begin with zeros, or nest it as b"
        )
    for start, leaf in zip(tree_util.tree_leaves(x0), tree_util.tree_leaves(b), strict=True):
        if cnp.shape(start) != cnp.shape(leaf):
            raise ShapeError(
                f"{name}: x0 and b must have the same shapes; got {cnp.shape(start)} and {cnp.shape(leaf)}\n"
                "  leave x0 out to begin with zeros, or reshape it"
            )
    side, unravel = ravel_pytree(b)
    first = ravel_pytree(x0)[0].astype(side.dtype)
    most = 10 * side.size if maxiter is None else maxiter

    def flat(function: Callable[[Any], Any]) -> Operator:
        return lambda x: ravel_pytree(function(unravel(x)))[0].astype(side.dtype)

    def solve(operator: Operator, values: Array) -> Array:
        norm = cnp.sqrt(_dot(values, values))
        return method(
            operator, values, lax.stop_gradient(first), flat(precondition), cnp.maximum(tol * norm, atol), most
        )

    real = _core.dtype_kind(side.dtype) == "float"
    result = lax.custom_linear_solve(flat(apply), side, solve, transpose_solve=solve, symmetric=symmetric and real)
    return unravel(result), None


def _dot(x: Array, y: Array) -> Array:
    """The real part of the inner product."""
    return cnp.real(cnp.vdot(x, y))


def _cg(A: Operator, b: Array, x0: Array, M: Operator, tolerance: Any, maxiter: int) -> Array:
    r0 = b - A(x0)
    z0 = M(r0)

    def unfinished(state: Any) -> Any:
        _, r, _, _, k = state
        return (_dot(r, r) > tolerance**2) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, gamma, p, k = state
        q = A(p)
        alpha = (gamma / _dot(p, q)).astype(x.dtype)
        x, r = x + alpha * p, r - alpha * q
        z = M(r)
        following = _dot(r, z)
        return x, r, following, z + (following / gamma).astype(x.dtype) * p, k + 1

    result: Array = lax.while_loop(unfinished, step, (x0, r0, _dot(r0, z0), z0, cnp.int32(0)))[0]
    return result


def _bicgstab(A: Operator, b: Array, x0: Array, M: Operator, tolerance: Any, maxiter: int) -> Array:
    r0 = b - A(x0)
    one = cnp.ones((), b.dtype)

    def unfinished(state: Any) -> Any:
        _, r, *_, k = state
        return (_dot(r, r) > tolerance**2) & (k >= 0) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, alpha, omega, rho, p, q, k = state
        following = cnp.vdot(r0, r)
        p = r + (following / rho) * (alpha / omega) * (p - omega * q)
        p_hat = M(p)
        q = A(p_hat)
        alpha = following / cnp.vdot(r0, q)
        s = r - alpha * q
        close = _dot(s, s) <= tolerance**2
        s_hat = M(s)
        t = A(s_hat)
        omega = cnp.where(close, one, cnp.vdot(t, s) / cnp.vdot(t, t))
        x = x + alpha * p_hat + cnp.where(close, 0, omega) * s_hat
        r = cnp.where(close, s, s - omega * t)
        stuck = (following == 0) | (alpha == 0) | (omega == 0)
        return x, r, alpha, omega, following, p, q, cnp.where(stuck, cnp.int32(-1), k + 1)

    state = (x0, r0, one, one, one, cnp.zeros_like(b), cnp.zeros_like(b), cnp.int32(0))
    result: Array = lax.while_loop(unfinished, step, state)[0]
    return result


def _gmres(restart: int) -> Method:
    def method(A: Operator, b: Array, x0: Array, M: Operator, tolerance: Any, maxiter: int) -> Array:
        count = min(restart, b.size)
        # The tolerance is on what the preconditioner makes of the residual.
        norm = cnp.sqrt(_dot(b, b))
        preconditioned = M(b)
        scale = cnp.sqrt(_dot(preconditioned, preconditioned)) / cnp.where(norm == 0, 1, norm)
        bound = scale * cnp.minimum(norm, tolerance)
        columns, rows = cnp.arange(count + 1), cnp.arange(count)
        epsilon = cnp.finfo(b.dtype).eps

        def arnoldi(k: Any, state: Any) -> Any:
            basis, hessenberg = state
            w = M(A(basis[:, k]))
            before = cnp.sqrt(_dot(w, w))
            h = cnp.zeros(count + 1, b.dtype)
            for _ in range(2):  # the second time for what rounding left of the first
                parts = cnp.conj(basis.T) @ w
                w = w - basis @ parts
                h = h + parts
            length = cnp.sqrt(_dot(w, w))
            ended = length <= 10 * epsilon * before
            w = cnp.where(ended, 0, w / cnp.where(ended, 1, length).astype(b.dtype))
            h = cnp.where(columns == k + 1, cnp.where(ended, 0, length).astype(b.dtype), h)
            basis = cnp.where(columns == k + 1, w[:, None], basis)
            return basis, cnp.where(rows == k, h[:, None], hessenberg)

        def cycle(state: Any) -> Any:
            x, r, length, k = state
            basis = cnp.where(
                columns == 0, (r / length.astype(b.dtype))[:, None], cnp.zeros((b.size, count + 1), b.dtype)
            )
            start = (basis, cnp.zeros((count + 1, count), b.dtype))
            basis, hessenberg = lax.fori_loop(0, count, arnoldi, start)
            target = cnp.where(columns == 0, length, 0).astype(b.dtype)
            x = x + basis[:, :count] @ cnp.linalg.lstsq(hessenberg, target)[0]
            r = M(b - A(x))
            return x, r, cnp.sqrt(_dot(r, r)), k + 1

        r0 = M(b - A(x0))
        state = (x0, r0, cnp.sqrt(_dot(r0, r0)), cnp.int32(0))
        result: Array = lax.while_loop(lambda state: (state[2] > bound) & (state[3] < maxiter), cycle, state)[0]
        return result

    return method


def cg(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Solves ``A x = b`` for a positive definite A by conjugate gradients.

    Derivatives are those of the solution: they solve further systems and do not go through the iterations.

    Parameters
    ----------
    A : array, shape (n, n), or callable
        Symmetric or Hermitian. A function is of values like ``b``.
    b : pytree of arrays
        The right-hand side.
    x0 : pytree of arrays, optional
        Where to start; by default zeros.
    tol, atol : float
        The residual's norm is brought below the larger of ``tol * norm(b)`` and ``atol``.
    maxiter : int, optional
        The most steps; by default ten times the number of unknowns.
    M : array or callable, optional
        An approximation of the inverse of A, in the same forms.

    Returns
    -------
    x : pytree of arrays
        The solution, like ``b``.
    info : None
        There is nothing to tell.

    Raises
    ------
    TypeError
        A or M is neither a function nor a matrix.
    ShapeError
        The matrix is not square, or x0 has other shapes than b.
    ValueError
        x0 has another structure than b.

    References
    ----------
    Magnus R. Hestenes and Eduard Stiefel, "Methods of conjugate gradients for solving linear systems", 1952.

    Examples
    --------
    >>> A = ct.numpy.array([[4.0, 1.0], [1.0, 3.0]])
    >>> ct.scipy.sparse.linalg.cg(A, ct.numpy.array([1.0, 2.0]))[0].round(3)
    Array([0.091, 0.636], dtype=float32)
    """
    return _solve("cg", _cg, A, b, x0, tol, atol, maxiter, M, symmetric=True)


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """Solves ``A x = b`` for any A by the stabilised biconjugate gradient method.

    Derivatives are those of the solution: they solve further systems and do not go through the iterations.

    Parameters
    ----------
    A : array, shape (n, n), or callable
        Any. A function is of values like ``b``.
    b : pytree of arrays
        The right-hand side.
    x0 : pytree of arrays, optional
        Where to start; by default zeros.
    tol, atol : float
        The residual's norm is brought below the larger of ``tol * norm(b)`` and ``atol``.
    maxiter : int, optional
        The most steps; by default ten times the number of unknowns.
    M : array or callable, optional
        An approximation of the inverse of A, in the same forms.

    Returns
    -------
    x : pytree of arrays
        The solution, like ``b``.
    info : None
        There is nothing to tell.

    Raises
    ------
    TypeError
        A or M is neither a function nor a matrix.
    ShapeError
        The matrix is not square, or x0 has other shapes than b.
    ValueError
        x0 has another structure than b.

    References
    ----------
    Henk A. van der Vorst, "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the solution of
    nonsymmetric linear systems", 1992.

    Examples
    --------
    >>> A = ct.numpy.array([[4.0, 1.0], [2.0, 3.0]])
    >>> ct.scipy.sparse.linalg.bicgstab(A, ct.numpy.array([1.0, 2.0]))[0].round(3)
    Array([0.1, 0.6], dtype=float32)
    """
    return _solve("bicgstab", _bicgstab, A, b, x0, tol, atol, maxiter, M, symmetric=False)


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, None]:
    """Solves ``A x = b`` for any A by the generalised minimal residual method.

    Derivatives are those of the solution: they solve further systems and do not go through the iterations.

    Parameters
    ----------
    A : array, shape (n, n), or callable
        Any. A function is of values like ``b``.
    b : pytree of arrays
        The right-hand side.
    x0 : pytree of arrays, optional
        Where to start; by default zeros.
    tol, atol : float
        The residual's norm is brought below the larger of ``tol * norm(b)`` and ``atol``.
    restart : int
        How many directions are kept before it starts again from what was found.
    maxiter : int, optional
        The most restarts; by default ten times the number of unknowns.
    M : array or callable, optional
        An approximation of the inverse of A, in the same forms.
    solve_method : str
        "batched" or "incremental", accepted for compatibility: there is one way to find the minimum.

    Returns
    -------
    x : pytree of arrays
        The solution, like ``b``.
    info : None
        There is nothing to tell.

    Raises
    ------
    TypeError
        A or M is neither a function nor a matrix.
    ShapeError
        The matrix is not square, or x0 has other shapes than b.
    ValueError
        x0 has another structure than b.

    References
    ----------
    Youcef Saad and Martin H. Schultz, "GMRES: a generalized minimal residual algorithm for solving nonsymmetric
    linear systems", 1986.

    Examples
    --------
    >>> A = ct.numpy.array([[4.0, 1.0], [2.0, 3.0]])
    >>> ct.scipy.sparse.linalg.gmres(A, ct.numpy.array([1.0, 2.0]))[0].round(3)
    Array([0.1, 0.6], dtype=float32)
    """
    check_word("gmres", "solve_method", solve_method, ("batched", "incremental"))
    return _solve("gmres", _gmres(restart), A, b, x0, tol, atol, maxiter, M, symmetric=False)


check_arguments(globals())
suggest_names(globals())
