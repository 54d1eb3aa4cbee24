"""Systems of equations, and factors that solve many of them."""

from __future__ import annotations

from typing import Any

from numpy.linalg import LinAlgError

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.words import check_word
from cotangent._core import Array
from cotangent._ops.extents import capacity, index_along
from cotangent._ops.matrices import adjoint, check_square, matrices, one_batch
from cotangent._ops.matrices import diagonal as diagonal_of
from cotangent.lax import linalg as lax_linalg
from cotangent.lax import stop_gradient
from cotangent.numpy import linalg as cnp_linalg

__all__ = ["cho_factor", "cho_solve", "det", "inv", "lu_factor", "lu_solve", "solve", "solve_triangular"]


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinants of square matrices; see `cotangent.numpy.linalg.det`.

    Parameters
    ----------
    a : array, shape (..., n, n)
        Numbers.
    overwrite_a, check_finite : optional
        Accepted for SciPy's signature: nothing is overwritten, and NaN is computed with.

    Returns
    -------
    array, shape (...)
        The determinants.

    Raises
    ------
    LinAlgError
        The matrices are not square.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 3.2.

    Examples
    --------
    >>> ct.scipy.linalg.det(ct.numpy.array([[1.0, 2.0], [3.0, 4.0]])).round(4)
    Array(-2., dtype=float32)
    """
    del overwrite_a, check_finite
    return cnp_linalg.det(a)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverses of square matrices; see `cotangent.numpy.linalg.inv`.

    Parameters
    ----------
    a : array, shape (..., n, n)
        Numbers.
    overwrite_a, check_finite : optional
        Accepted for SciPy's signature: nothing is overwritten, and NaN is computed with.

    Returns
    -------
    array, shape (..., n, n)
        The inverses; infinite or NaN for singular matrices.

    Raises
    ------
    LinAlgError
        The matrices are not square.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 3.4.

    Examples
    --------
    >>> ct.scipy.linalg.inv(ct.numpy.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    del overwrite_a, check_finite
    return cnp_linalg.inv(a)


def _cholesky(a: Array, lower: bool) -> Array:
    """The factor of the triangle of ``a`` that ``lower`` names."""
    return primitives.cholesky(a) if lower else primitives.cholesky(a, upper=True)


@matrices()
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, bool]:
    """The Cholesky factor of Hermitian positive definite matrices, for `cho_solve`.

    Parameters
    ----------
    a : array, shape (..., n, n)
        Hermitian, positive definite.
    lower : bool
        Which triangle is read, and which the factor is.
    overwrite_a, check_finite : optional
        Accepted for SciPy's signature: nothing is overwritten, and NaN is computed with.

    Returns
    -------
    c : array, shape (..., n, n)
        The factor.
    lower : bool
        As given.

    Raises
    ------
    LinAlgError
        The matrices are not square.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 4.2.

    Examples
    --------
    >>> c, lower = ct.scipy.linalg.cho_factor(ct.numpy.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> c.tolist(), lower
    ([[2.0, 1.0], [0.0, 2.0]], False)
    """
    del overwrite_a, check_finite
    check_square(a, "cho_factor")
    return _cholesky(a, lower), lower


def _as_columns(a: Array, b: Array, name: str) -> tuple[Array, bool]:
    """The right-hand side as matrices, and whether it was a vector."""
    vector = b.ndim == 1
    right = b[:, None] if vector else b
    if right.ndim < 2 or capacity(right, -2) != capacity(a, -1):
        raise LinAlgError(
            f"{name}: a matrix of shape {a.shape} does not fit a right-hand side of shape {b.shape}\n"
            f"  b must have {capacity(a, -1)} rows: ({capacity(a, -1)},) or ({capacity(a, -1)}, k); transpose it if they are its columns"
        )
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


def _factored(name: str, by: str, pair: Any) -> tuple[Any, Any]:
    """The two results of a factorization."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise TypeError(f"{name} takes the pair that {by} returns; got {type(pair).__name__}\n  pass {by}(a)")
    return pair[0], pair[1]


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Array:
    """The solution of ``a x = b`` from the Cholesky factor of ``a``.

    Parameters
    ----------
    c_and_lower : (array, bool)
        The result of `cho_factor` of ``a``.
    b : array, shape (n,) or (..., n, k)
        The right-hand sides.
    overwrite_b, check_finite : optional
        Accepted for SciPy's signature: nothing is overwritten, and NaN is computed with.

    Returns
    -------
    array
        Of the shape of ``b``.

    Raises
    ------
    LinAlgError
        The shapes do not fit.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 4.2.

    Examples
    --------
    >>> factor = ct.scipy.linalg.cho_factor(ct.numpy.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> ct.scipy.linalg.cho_solve(factor, ct.numpy.array([8.0, 12.0])).round(4)
    Array([1., 2.], dtype=float32)
    """
    del overwrite_b, check_finite
    factor, lower = _factored("cho_solve", "cho_factor", c_and_lower)
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
    """The solution of ``op(a) x = b`` for triangular matrices.

    Parameters
    ----------
    a : array, shape (..., n, n)
        Only one triangle is read.
    b : array, shape (n,) or (..., n, k)
        The right-hand sides.
    trans : int or str
        0 or "N" for ``a``, 1 or "T" for its transpose, 2 or "C" for its conjugate transpose.
    lower : bool
        Which triangle.
    unit_diagonal : bool
        Whether the diagonal is taken to be 1 and not read.
    overwrite_b, debug, check_finite : optional
        Accepted for SciPy's signature: nothing is overwritten, and NaN is computed with.

    Returns
    -------
    array
        Of the shape of ``b``.

    Raises
    ------
    ValueError
        ``trans`` is none of these.
    LinAlgError
        The shapes do not fit.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 3.1.

    Examples
    --------
    >>> a = ct.numpy.array([[2.0, 0.0], [1.0, 4.0]])
    >>> ct.scipy.linalg.solve_triangular(a, ct.numpy.array([2.0, 9.0]), lower=True)
    Array([1., 2.], dtype=float32)
    """
    del overwrite_b, debug, check_finite
    names = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}
    if trans not in names:
        raise ValueError(
            f"solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C'; got {trans!r}\n"
            "  pass 'T' to solve with the transpose, 'C' with its conjugate"
        )
    kind = names[trans]
    return _triangular(a, b, lower, kind > 0, kind == 2, unit_diagonal, "solve_triangular")


@matrices()
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """The factors of elimination with partial pivoting, for `lu_solve` where matrices are square.

    Parameters
    ----------
    a : array, shape (..., m, n)
        Numbers.
    overwrite_a, check_finite : optional
        Accepted for SciPy's signature: nothing is overwritten, and NaN is computed with.

    Returns
    -------
    lu : array, shape (..., m, n)
        U, and below its diagonal L, whose diagonal is 1.
    piv : array of int32, shape (..., min(m, n))
        Row i was exchanged with row ``piv[i]``.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 3.4.

    Examples
    --------
    >>> lu, piv = ct.scipy.linalg.lu_factor(ct.numpy.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> lu.tolist(), piv.tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [1, 1])
    """
    del overwrite_a, check_finite
    factors, pivots, _ = lax_linalg.lu(a)
    return factors, pivots


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """The solution of ``op(a) x = b`` from the factors of ``a``.

    Parameters
    ----------
    lu_and_piv : (array, array)
        The result of `lu_factor` of ``a``.
    b : array, shape (n,) or (..., n, k)
        The right-hand sides.
    trans : int
        0, 1 or 2 for ``a``, its transpose, its conjugate transpose.
    overwrite_b, check_finite : optional
        Accepted for SciPy's signature: nothing is overwritten, and NaN is computed with.

    Returns
    -------
    array
        Of the shape of ``b``.

    Raises
    ------
    LinAlgError
        The shapes do not fit.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, section 3.4.

    Examples
    --------
    >>> factors = ct.scipy.linalg.lu_factor(ct.numpy.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> ct.scipy.linalg.lu_solve(factors, ct.numpy.array([5.0, 12.0]))
    Array([1., 2.], dtype=float32)
    """
    del overwrite_b, check_finite
    factors, pivots = _factored("lu_solve", "lu_factor", lu_and_piv)

    @matrices(2)
    def run(matrix: Array, right: Array) -> Array:
        columns, vector = _as_columns(matrix, right, "lu_solve")
        order = lax_linalg.lu_pivots_to_permutation(pivots, capacity(matrix, -1))
        x = lax_linalg.lu_solve(matrix, order, columns, trans)
        return x[..., 0] if vector else x

    return run(factors, b)


_LONG_NAMES = {"general": "gen", "symmetric": "sym", "hermitian": "her", "positive definite": "pos"}


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

    Parameters
    ----------
    a : array, shape (..., n, n)
        Numbers.
    b : array, shape (n,) or (..., n, k)
        The right-hand sides.
    lower : bool
        For ``assume_a="pos"``: which triangle of ``a`` is factorised.
    overwrite_a, overwrite_b, debug, check_finite : optional
        Accepted for SciPy's signature: nothing is overwritten, and NaN is computed with.
    assume_a : str
        "gen", "sym", "her", or "pos": Hermitian positive definite, solved by Cholesky factors (NaN if it is not). Or
        "general", "symmetric", "hermitian", "positive definite".

    Returns
    -------
    array
        Of the shape of ``b``.

    Raises
    ------
    ValueError
        ``assume_a`` is none of these.
    LinAlgError
        The shapes do not fit.

    References
    ----------
    Gene H. Golub and Charles F. Van Loan, "Matrix Computations", 4th edition, 2013, chapters 3 and 4.

    Examples
    --------
    >>> ct.scipy.linalg.solve(ct.numpy.array([[1.0, 2.0], [4.0, 4.0]]), ct.numpy.array([5.0, 12.0])).round(4)
    Array([1., 2.], dtype=float32)
    """
    del overwrite_a, overwrite_b, debug, check_finite
    assume_a = _LONG_NAMES.get(assume_a, assume_a)
    check_word("solve", "assume_a", assume_a, ("gen", "sym", "her", "pos"))
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
