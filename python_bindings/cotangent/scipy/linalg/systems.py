"""Systems of equations, and factors that solve many of them."""

from __future__ import annotations

from typing import Any

from numpy.linalg import LinAlgError

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.extents import capacity, index_along
from cotangent._ops.matrices import adjoint, check_square, matrices, one_batch
from cotangent._ops.matrices import diagonal as diagonal_of
from cotangent.lax import linalg as lax_linalg
from cotangent.lax import stop_gradient
from cotangent.numpy import linalg as cnp_linalg

__all__ = ["cho_factor", "cho_solve", "det", "inv", "lu_factor", "lu_solve", "solve", "solve_triangular"]


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinants of square matrices; see `cotangent.numpy.linalg.det`."""
    del overwrite_a, check_finite
    return cnp_linalg.det(a)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverse of square matrices; see `cotangent.numpy.linalg.inv`."""
    del overwrite_a, check_finite
    return cnp_linalg.inv(a)


def _cholesky(a: Array, lower: bool) -> Array:
    """The factor of the triangle of ``a`` that ``lower`` names."""
    return primitives.cholesky(a) if lower else primitives.cholesky(a, upper=True)


@matrices()
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, bool]:
    """The Cholesky factor for `cho_solve`, and ``lower``.

    Args:
        a: Hermitian positive definite matrices [..., n, n].
        lower: which triangle is read, and which the factor is.
        overwrite_a: ignored.
        check_finite: ignored.
    """
    del overwrite_a, check_finite
    check_square(a, "cho_factor")
    return _cholesky(a, lower), lower


def _as_columns(a: Array, b: Array, name: str) -> tuple[Array, bool]:
    """The right-hand side as matrices, and whether it was a vector."""
    vector = b.ndim == 1
    right = b[:, None] if vector else b
    if right.ndim < 2 or capacity(right, -2) != capacity(a, -1):
        raise LinAlgError(f"{name}: a matrix of shape {a.shape} does not fit a right-hand side of shape {b.shape}")
    _core.check_sizes([a, right], [a.ndim - 1, right.ndim - 2])
    return right, vector


@matrices(2)
def _triangular(
    a: Array, b: Array, lower: bool, transpose: bool, conjugate: bool, unit_diagonal: bool, name: str
) -> Array:
    check_square(a, name)
    right, vector = _as_columns(a, b, name)
    matrix, right = one_batch((a, 2), (right, 2))
    x = lax_linalg.triangular_solve(
        matrix,
        right,
        left_side=True,
        lower=lower,
        transpose_a=transpose,
        conjugate_a=conjugate,
        unit_diagonal=unit_diagonal,
    )
    return x[..., 0] if vector else x


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Array:
    """The solution of ``a x = b`` from the result of `cho_factor` of ``a``.

    Args:
        c_and_lower: that result.
        b: a vector [n], or matrices [..., n, k].
        overwrite_b: ignored.
        check_finite: ignored.
    """
    del overwrite_b, check_finite
    factor, lower = c_and_lower
    factor = _core.array(factor)
    check_square(factor, "cho_solve")
    right, vector = _as_columns(factor, _core.array(b), "cho_solve")
    half = _triangular(factor, right, lower, not lower, not lower, False, "cho_solve")
    x = _triangular(factor, half, lower, lower, lower, False, "cho_solve")
    return x[..., 0] if vector else x


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """The solution of ``op(a) x = b`` for triangular ``a``.

    Args:
        a: matrices [..., n, n], of which one triangle is read.
        b: a vector [n], or matrices [..., n, k].
        trans: 0 or "N" for ``a``, 1 or "T" for its transpose, 2 or "C" for its conjugate transpose.
        lower: which triangle.
        unit_diagonal: whether the diagonal is taken to be 1 and not read.
        overwrite_b: ignored.
        debug: ignored.
        check_finite: ignored.

    Raises:
        ValueError: ``trans`` is none of these. LinAlgError: the shapes do not fit.
    """
    del overwrite_b, debug, check_finite
    names = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}
    if trans not in names:
        raise ValueError(f"solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C'; got {trans!r}")
    kind = names[trans]
    return _triangular(a, b, lower, kind > 0, kind == 2, unit_diagonal, "solve_triangular")


@matrices()
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """L and U in one matrix, and the pivots, for `lu_solve` where it is square.

    Args:
        a: matrices [..., m, n].
        overwrite_a: ignored.
        check_finite: ignored.
    """
    del overwrite_a, check_finite
    factors, pivots, _ = lax_linalg.lu(a)
    return factors, pivots


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """The solution of ``op(a) x = b`` from the result of `lu_factor` of ``a``.

    Args:
        lu_and_piv: that result.
        b: a vector [n], or matrices [..., n, k].
        trans: 0, 1 or 2 for ``a``, its transpose, its conjugate transpose.
        overwrite_b: ignored.
        check_finite: ignored.
    """
    del overwrite_b, check_finite
    factors, pivots = lu_and_piv

    @matrices(2)
    def run(matrix: Array, right: Array) -> Array:
        columns, vector = _as_columns(matrix, right, "lu_solve")
        order = lax_linalg.lu_pivots_to_permutation(pivots, capacity(matrix, -1))
        x = lax_linalg.lu_solve(matrix, order, columns, trans)
        return x[..., 0] if vector else x

    return run(factors, b)


@matrices(2)
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """The solution of ``a x = b``.

    Args:
        a: matrices [..., n, n].
        b: a vector [n], or matrices [..., n, k].
        lower: for ``assume_a="pos"``: which triangle of ``a`` is factorised.
        overwrite_a: ignored.
        overwrite_b: ignored.
        debug: ignored.
        check_finite: ignored.
        assume_a: "gen", "sym", "her", or "pos": Hermitian positive definite, solved by Cholesky factors (NaN if it is not).

    Raises:
        ValueError: ``assume_a`` is none of these. LinAlgError: the shapes do not fit.
    """
    del overwrite_a, overwrite_b, debug, check_finite
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"solve: assume_a must be 'gen', 'sym', 'her' or 'pos'; got {assume_a!r}")
    if assume_a != "pos":
        return cnp_linalg.solve(a, b)
    check_square(a, "solve")
    right, vector = _as_columns(a, b, "solve")
    factor = _cholesky(stop_gradient(a), lower)
    factor = factor if lower else adjoint(factor)
    # L L^H = (L / d) (d L^H) with d the diagonal of L: factors as of lu without exchanges.
    diagonal = diagonal_of(factor)
    factors = cnp.tril(factor / diagonal[..., None, :], -1) + cnp.triu(diagonal[..., None] * adjoint(factor))
    order = index_along(diagonal, a.ndim - 2)
    x = lax_linalg.solve_factored(a, factors, order, right)
    return x[..., 0] if vector else x


check_arguments(globals())
