"""``jax.experimental.sparse.linalg``: systems of equations, and eigenvalues."""

from __future__ import annotations

from typing import Any

import cotangent.numpy as cnp
from cotangent.jax.internals.sparse.lobpcg import lobpcg_standard
from cotangent.jax.mirror.experimental.sparse.csr import CSR

__all__ = ["lobpcg_standard", "spsolve"]


def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1) -> Any:
    """The solution x of A x = b for a square matrix A in the parts of a `CSR`, by way of a dense one.

    Args:
        data, indices, indptr: the elements (nse,), their columns, and where rows begin (n + 1,).
        b: the right side, of shape (n,).
        tol, reorder: taken as in JAX, and not needed.
    """
    if reorder not in (0, 1, 2, 3):
        raise ValueError(f"reorder={reorder} not valid, must be one of [1, 2, 3, 4]\n  leave reorder out")
    b = cnp.asarray(b)
    if b.ndim != 1:
        raise ValueError(
            f"Expected 1-dimensional b. Got {b.shape}\n"
            "  solve for one column at a time, b[:, i], or with jnp.linalg.solve"
        )
    return cnp.linalg.solve(CSR((data, indices, indptr), shape=(b.size, b.size)).todense(), b)
