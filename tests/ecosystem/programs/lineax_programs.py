"""Linear systems with lineax."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import lineax as lx


def _matrix():
    a = jax.random.normal(jax.random.key(0), (4, 4))
    return a @ a.T + 2 * jnp.eye(4), jax.random.normal(jax.random.key(1), (4,))


def solvers():
    matrix, b = _matrix()
    plain = lx.MatrixLinearOperator(matrix)
    definite = lx.MatrixLinearOperator(matrix, lx.positive_semidefinite_tag)
    found = [
        lx.linear_solve(plain, b, solver).value
        for solver in (lx.LU(), lx.QR(), lx.SVD(), lx.AutoLinearSolver(well_posed=True))
    ]
    return [*found, *[lx.linear_solve(definite, b, solver).value for solver in (lx.Cholesky(), lx.CG(1e-6, 1e-6))]]


def iterative_of_a_function():
    matrix, b = _matrix()
    operator = lx.FunctionLinearOperator(lambda x: matrix @ x, jax.eval_shape(lambda: b))
    return lx.linear_solve(operator, b, lx.GMRES(1e-5, 1e-5)).value, lx.linear_solve(
        operator, b, lx.BiCGStab(1e-5, 1e-5)
    ).value


def gradients():
    matrix, b = _matrix()
    return jax.grad(lambda m, b: lx.linear_solve(lx.MatrixLinearOperator(m), b).value.sum(), (0, 1))(matrix, b)


def least_squares():
    a, b = jax.random.normal(jax.random.key(2), (6, 3)), jax.random.normal(jax.random.key(3), (6,))
    return lx.linear_solve(lx.MatrixLinearOperator(a), b, lx.QR()).value


def structured():
    tridiagonal = lx.TridiagonalLinearOperator(jnp.full(4, 3.0), jnp.ones(3), jnp.ones(3))
    diagonal = lx.DiagonalLinearOperator(jnp.arange(1.0, 5.0))
    b = jnp.ones(4)
    return lx.linear_solve(tridiagonal, b, lx.Tridiagonal()).value, lx.linear_solve(diagonal, b).value


def batches():
    matrix, b = _matrix()
    return jax.vmap(lambda c: lx.linear_solve(lx.MatrixLinearOperator(matrix + c * jnp.eye(4)), b).value)(
        jnp.arange(3.0)
    )
